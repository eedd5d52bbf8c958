# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs commands and times them.

Needs nothing but Python's own library; hyperfine is used where there is one.
"""

import json
import os
import resource
import shlex
import shutil
import signal
import statistics
import subprocess
import tempfile
import time


class Failure(Exception):
    """A command failed, and what it said."""


class OverLimit(Exception):
    """A command was ended after so many seconds."""


def run(command, limit, environment=None, folder=None):
    """What a command prints to standard output and error."""
    try:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment, cwd=folder, start_new_session=True)
    except OSError as reason:
        raise Failure(f"cannot be started: {reason}") from None
    with process:
        try:
            output, errors = process.communicate(timeout=limit)
        except BaseException as reason:
            # What it started as well: compilers start assemblers.
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(reason, subprocess.TimeoutExpired):
                raise OverLimit(limit) from None
            raise
    if process.returncode:
        text = (errors or output).strip()[-1000:]
        raise Failure(f"{os.path.basename(command[0])} ended with status "
                      f"{process.returncode}: {text}")
    return output, errors


def _cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _figures(seconds, cpu=None):
    result = {"median": statistics.median(seconds), "least": min(seconds)}
    if cpu is not None:
        result["cpu"] = cpu
    return {**result, "runs": len(seconds), "seconds": seconds}


class Timer:
    """Measures a warm-up and then up to `runs` runs, as many as `budget` seconds
    hold. The warm-up counts only where there is no time for another run."""

    def __init__(self, runs, budget, limit):
        """limit: seconds after which a command is ended."""
        self.runs, self.budget, self.limit = runs, budget, limit
        self.hyperfine = shutil.which("hyperfine")

    def _number_of_runs(self, seconds):
        return max(1, min(self.runs, int(self.budget / max(seconds, 1e-9))))

    def sample(self, once, is_whole=True):
        """The figures of once(), which runs a command and returns the seconds of
        it, or if not is_whole of a part of it, whose CPU time is not known."""
        start = time.perf_counter()
        seconds, cpu = [once()], None
        number = self._number_of_runs(time.perf_counter() - start)
        if number > 1:
            before = _cpu_seconds()
            seconds = [once() for _ in range(number)]
            if is_whole:
                cpu = (_cpu_seconds() - before) / number
        return _figures(seconds, cpu)

    def command(self, command, environment=None):
        """The figures of a whole process."""

        def once():
            start = time.perf_counter()
            run(command, self.limit, environment)
            return time.perf_counter() - start

        if not self.hyperfine:
            return self.sample(once)
        # hyperfine neither says what went wrong nor ends what takes too long.
        first = once()
        number = self._number_of_runs(first)
        if number == 1:
            return _figures([first])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "hyperfine.json")
            try:
                run([self.hyperfine, "--shell=none", "--style=none",
                     f"--runs={number}", "--export-json", path,
                     shlex.join(command)], number * self.limit, environment)
            except OverLimit:
                # At least one of them took longer than this.
                raise OverLimit(self.limit) from None
            with open(path) as file:
                result = json.load(file)["results"][0]
        return _figures(result["times"], result["user"] + result["system"])
