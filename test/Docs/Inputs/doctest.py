#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the commands of Markdown pages and compares what they print.

    doctest.py [--update] --root DIR --work DIR PAGE...

The fenced blocks of a page, in order, by their info strings:

    ```mlir file=NAME   is written to the file NAME in --work;
    ```sh               is run there by bash, which stops at the first error;
    ```LANG output      is what the block of commands before it prints, standard
                        error included;
    anything else       is left alone: ```sh norun, for one.

In an output block, `...` stands for any text within a line, and a line that is
only `...` for any lines. --root is the project's folder: its `examples` is
linked into --work. Commands do not see a CUDA toolkit. --update rewrites the output blocks that differ and hold no
`...` in place of failing.
"""

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys

FENCE = re.compile(r"^```([^`\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def matches(expected, actual):
    """True if the lines `actual` are what the lines `expected` describe."""
    patterns = []
    for line in expected:
        if line.strip() == "...":
            patterns.append(r"(?:[^\n]*\n)*?")
        else:
            parts = (re.escape(part) for part in line.split("..."))
            patterns.append(r"[^\n]*?".join(parts) + r"\n")
    text = "".join(line + "\n" for line in actual)
    return re.fullmatch("".join(patterns), text) is not None


def lines_of(text):
    """The lines without what nobody sees: spaces at line ends, blank lines at
    both ends."""
    return [line.rstrip() for line in text.strip("\n").rstrip().split("\n")]


class Page:
    def __init__(self, path, work, update):
        self.path, self.work, self.update = path, work, update
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.environment = {
            name: value for name, value in os.environ.items()
            if name not in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")}
        self.printed = None
        self.failures = 0
        self.commands = 0
        self.outputs = 0
        self.replacements = []

    def check(self):
        for block in FENCE.finditer(self.text):
            self.handle(block)
        if self.replacements:
            self.rewrite()
        print(f"{self.path}: {self.commands} blocks of commands, "
              f"{self.outputs} outputs, {self.failures} failures")
        if self.commands == 0:
            self.fail(0, "the page has no commands to run")
        return self.failures == 0

    def handle(self, block):
        words = block.group(1).split()
        options = dict(word.split("=", 1) for word in words if "=" in word)
        line = self.text.count("\n", 0, block.start()) + 1
        if "file" in options:
            path = os.path.join(self.work, options["file"])
            with open(path, "w", encoding="utf-8") as file:
                file.write(block.group(2))
        elif words == ["sh"]:
            self.run(line, block.group(2))
        elif words[1:] == ["output"]:
            self.compare(line, block)
        elif words not in ([], ["mlir"], ["text"], ["json"], ["c++"], ["cmake"],
                           ["sh", "norun"]):
            self.fail(line, f"unknown kind of block: {block.group(1)}")

    def run(self, line, script):
        self.commands += 1
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script], cwd=self.work,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, text=True, env=self.environment)
        self.printed = done.stdout
        if done.returncode:
            self.fail(line, f"exit status {done.returncode}:\n{done.stdout}")

    def compare(self, line, block):
        self.outputs += 1
        if self.printed is None:
            self.fail(line, "an output with no commands before it")
            return
        expected, actual = lines_of(block.group(2)), lines_of(self.printed)
        if matches(expected, actual):
            return
        if self.update and "..." not in block.group(2):
            self.replacements.append((block.span(2), actual))
            return
        difference = "\n".join(
            difflib.unified_diff(expected, actual, "the page", "the commands",
                                 lineterm=""))
        self.fail(line, f"prints something else (doctest.py --update rewrites "
                        f"the page):\n{difference}")

    def rewrite(self):
        text = self.text
        for (begin, end), lines in reversed(self.replacements):
            text = text[:begin] + "\n".join(lines) + "\n" + text[end:]
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)
        print(f"{self.path}: rewrote {len(self.replacements)} outputs")

    def fail(self, line, message):
        self.failures += 1
        print(f"{self.path}:{line}: error: {message}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--root", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("pages", nargs="+", metavar="PAGE")
    args = parser.parse_args()
    passed = True
    for page in args.pages:
        shutil.rmtree(args.work, ignore_errors=True)
        os.makedirs(args.work)
        os.symlink(os.path.join(os.path.abspath(args.root), "examples"),
                   os.path.join(args.work, "examples"))
        passed &= Page(page, args.work, args.update).check()
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
