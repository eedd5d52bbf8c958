# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs small cases under compute-sanitizer, and shows that its tools find
faults that are planted in the kernel.

  --compile DIR --moe-compile PATH     compiles the cases; needs no GPU
  --run PACK --runtime LIB             runs them under each of --tools, then the
                                       planted faults; PACK is DIR or pack.zip
  --tools none                         runs and checks them without a tool

A small process without a framework launches the kernels (the sanitizer slows
down everything that a process does): memory through libMoERuntime, arithmetic
through numpy.
"""

import argparse
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import cases as case_list
import programs
import ptx_faults

TOOLS = ("memcheck", "racecheck", "synccheck")
# Largest admissible ||y - ref|| / ||ref||, of the type of the result.
NORM_LIMITS = {"bf16": 5e-3, "f16": 1e-3, "f32": 1e-4}
POISON = {"bf16": 0x7FA5, "f16": 0x7FA5, "f32": 0x7FA5A5A5}
# The case in which faults are planted: unlike others it has a schedule, and
# more k-steps and tiles than stages.
PLANT_CASE = "s02"


# ===---------------------------------------------------------------------------
# The small process
# ===---------------------------------------------------------------------------


class Arrays:
    """Operands of a case in numpy, and what the result must be."""

    def __init__(self, np, case, seed):
        self.np, self.case = np, case
        self.random = np.random.default_rng(seed)
        self.arrays = {}
        for name, element, shape in case.operands():
            self.arrays[name] = getattr(self, "_make_" + name)(element, shape)

    def _floats(self, element, shape, deviation=1.0):
        values = self.random.standard_normal(shape) * deviation
        return self.encode(values, element)

    def encode(self, values, element):
        """Bits of values rounded to an element type."""
        np = self.np
        if element == "f16":
            return values.astype(np.float16).view(np.uint16)
        bits = values.astype(np.float32).view(np.uint32)
        if element == "f32":
            return bits
        bias = 0x7FFF + ((bits >> 16) & 1)
        return ((bits + bias) >> 16).astype(np.uint16)

    def decode(self, bits, element):
        np = self.np
        if element == "f16":
            return bits.view(np.float16).astype(np.float64)
        if element == "bf16":
            bits = bits.astype(np.uint32) << 16
        return bits.view(np.float32).astype(np.float64)

    def _make_tokens(self, element, shape):
        return self._floats(element, shape)

    def _make_weights(self, element, shape):
        return self._floats(element, shape, self.case.depth**-0.5)

    def _make_bias(self, element, shape):
        return self._floats(element, shape)

    def _make_scale(self, element, shape):
        return self.encode(self.random.uniform(0.5, 1.5, shape), element)

    def _make_groups(self, element, shape):
        values = self.case.group_values(self.case.counts())
        return self.np.array(values, dtype=element.replace("i", "int"))

    def _make_scatter(self, element, shape):
        rows = self.random.permutation(self.case.num_result_rows)[: shape[0]]
        rows[1::8] = -1
        return rows.astype(element.replace("i", "int"))

    def _make_result(self, element, shape):
        dtype = self.np.uint32 if element == "f32" else self.np.uint16
        return self.np.full(shape, POISON[element], dtype)

    def value(self, name):
        element = next(t for n, t, _ in self.case.operands() if n == name)
        return self.decode(self.arrays[name], element)

    def activate(self, z):
        np, kind = self.np, self.case.activation
        if kind == "silu":
            return z / (1 + np.exp(-z))
        if kind == "gelu":
            from math import erf

            return z / 2 * (1 + np.vectorize(erf)(z / 2**0.5))
        if kind == "gelu_tanh":
            inner = (2 / np.pi) ** 0.5 * (z + 0.044715 * z**3)
            return z / 2 * (1 + np.tanh(inner))
        if kind in ("relu", "relu2"):
            return np.maximum(z, 0) ** (2 if kind == "relu2" else 1)
        return z

    def expert_rows(self, expert, first, end):
        """Result rows of the rows [first, end) of an expert, in float64."""
        case = self.case
        weights = self.value("weights")[expert]
        if case.layout == "nk":
            weights = weights.T
        z = self.value("tokens")[first:end] @ weights
        if case.bias:
            z = z + self.value("bias")[expert]
        if case.gate == "concat":
            half = case.result_columns
            z = self.activate(z[:, :half]) * z[:, half:]
        elif case.gate == "interleaved":
            z = self.activate(z[:, 0::2]) * z[:, 1::2]
        else:
            z = self.activate(z)
        if case.scale:
            z = z * self.value("scale")[first:end, None]
        return z

    def compare(self, found):
        """The relative error; raises ValueError if `found`, bits of the result,
        is wrong."""
        np, case = self.np, self.case
        expected = np.full(found.shape, np.nan)
        ranges = case_list.row_ranges(
            case, self.arrays["groups"].tolist(), case.num_rows)
        for expert, (first, end) in enumerate(ranges):
            if first == end:
                continue
            rows = np.arange(first, end)
            if case.scatter:
                rows = self.arrays["scatter"][first:end]
            inside = (rows >= 0) & (rows < len(expected))
            values = self.expert_rows(expert, first, end)
            expected[rows[inside]] = values[inside]
        kept = np.isnan(expected)
        if (found[kept] != POISON[case.result_type]).any():
            raise ValueError("rows that no group owns were written")
        values = self.decode(found, case.result_type)[~kept]
        error = np.linalg.norm(values - expected[~kept])
        relative = error / np.linalg.norm(expected[~kept])
        if not relative < NORM_LIMITS[case.result_type]:
            raise ValueError(f"relative error {relative:.3g}")
        return relative


def run_small(np, runtime, case, launch_file, image, missing_rows=0):
    """Launches a case once, with operands in allocations of exactly their size;
    the last `missing_rows` rows of the result have no memory."""
    data = Arrays(np, case, seed=sum(map(ord, case.id)))
    program = runtime.load(launch_file, image)
    if len(program.arguments()) != len(case.operands()):
        raise ValueError(f"the program's arguments are {program.arguments()}")
    operands, addresses = [], []
    for name, element, shape in case.operands():
        bits = data.arrays[name]
        if name == "result" and missing_rows:
            # The caller's mistake: the shape says that all rows are there.
            bits = bits[:-missing_rows]
        address = runtime.malloc(bits.nbytes)
        runtime.to_device(address, bits.tobytes())
        addresses.append(address)
        operands.append((address, element, shape))
    stream = runtime.create_stream()
    program.launch(programs.buffers_of(operands), stream)
    runtime.synchronize(stream)
    if missing_rows:
        return None
    result = data.arrays["result"]
    raw = runtime.to_host(addresses[-1], programs.bytes_of(*operands[-1][1:]))
    for address in addresses:
        runtime.free(address)
    program.destroy()
    return data.compare(np.frombuffer(raw, result.dtype).reshape(result.shape))


def child(args):
    import numpy as np

    runtime = programs.Runtime(args.runtime)
    pack = programs.Pack(args.run)
    known = {c.id: c for c in cases_of(pack)}
    plant = find_plant(args.plant) if args.plant else None
    status = 0
    for name in args.select:
        launch_file, image = pack.read(name)
        missing = 0
        if plant:
            image = plant[1](image.decode()).encode()
            missing = plant[2]
        if args.emulate:
            image = programs.fake_image(launch_file)
        try:
            error = run_small(np, runtime, known[name], launch_file, image,
                              missing)
            print(f"CASE {name} ok relative error {error}", flush=True)
        except (ValueError, programs.RuntimeFailure) as failure:
            print(f"CASE {name} FAILED {failure}", flush=True)
            status = 1
    return status


def find_plant(name):
    return next(p for plants in ptx_faults.PLANTS.values() for p in plants
                if p[0] == name)


def cases_of(pack):
    return map(case_list.case_of, pack.manifest["extra"]["cases"])


# ===---------------------------------------------------------------------------
# The process that runs the tools
# ===---------------------------------------------------------------------------


def find_sanitizer():
    return shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path="/usr/local/cuda/bin")


def run_tool(args, tool, names, plant=None, timeout=300):
    """What a tool found in a run of cases, as a dict."""
    command = [sys.executable, os.path.abspath(__file__), "--child",
               "--run", args.run, "--runtime", args.runtime,
               "--select", *names]
    if plant:
        command += ["--plant", plant]
    if args.emulate:
        command += ["--emulate"]
    if tool != "none":
        # Calls that the driver refuses are the runtime's to report.
        command = [find_sanitizer() or "compute-sanitizer", "--tool", tool,
                   "--report-api-errors", "no", "--print-limit", "20"] + command
    start = time.time()
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=timeout)
        output, status = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired as expired:
        parts = (expired.stdout, expired.stderr)
        output = "".join(p.decode() if isinstance(p, bytes) else p or ""
                         for p in parts)
        status = "timeout"
    except OSError as error:
        output, status = str(error), "not started"
    log = os.path.join(args.logs, f"{tool}{'-' + plant if plant else ''}.log")
    with open(log, "w") as file:
        file.write(output)
    return {
        "tool": tool,
        "plant": plant,
        "status": status,
        "findings": count_findings(output),
        "passed": re.findall(r"^CASE (\S+) ok", output, re.M),
        "failed": re.findall(r"^CASE (\S+) FAILED (.*)", output, re.M),
        "first": first_findings(output),
        "seconds": round(time.time() - start, 1),
        "log": log,
        "end_of_log": output[-4000:],
    }


def count_findings(output):
    """The sum that the tool gives at its end, or None if there is no end."""
    found = re.search(r"ERROR SUMMARY: (\d+) error", output)
    if found:
        return int(found.group(1))
    found = re.search(r"RACECHECK SUMMARY: (\d+) hazard", output)
    return int(found.group(1)) if found else None


def first_findings(output):
    lines = [re.sub(r"^=+\s?", "", line) for line in output.splitlines()
             if line.startswith("=====")]
    kept = [line.strip() for line in lines
            if re.search(r"Invalid|Error|hazard|Barrier|barrier|Divergent|"
                         r"Missing|not supported|Unable", line)
            and "SUMMARY" not in line]
    return kept[:4]


def is_clean(result, names, tool):
    if tool != "none" and result["findings"] != 0:
        return False
    return result["status"] == 0 and set(result["passed"]) == set(names)


def run_plants(args, tool, results):
    """True if the tool finds one of the faults meant for it."""
    found = False
    for plant in ptx_faults.PLANTS[tool]:
        # A broken barrier may hang the kernel; the tool's word comes before.
        result = run_tool(args, tool, [PLANT_CASE], plant[0], timeout=60)
        result["found"] = bool(result["findings"])
        found = found or result["found"]
        results.append(result)
        print(f"{tool} planted {plant[0]}: "
              f"{'found' if result['found'] else 'not found'}, "
              f"{result['findings']} findings, status {result['status']}, "
              f"{result['seconds']} s {result['first'][:1]}", flush=True)
    return found


def run_tools(args, pack):
    names = args.select or [c.id for c in cases_of(pack)]
    for name in names:
        if pack.error(name):
            raise SystemExit(f"error: case {name}: {pack.error(name)}")
    results, ok, start = [], True, time.time()
    for tool in args.tools.split(","):
        if time.time() - start > args.budget:
            print(f"{tool}: not run, the time is used up")
            ok = False
            continue
        result = run_tool(args, tool, names)
        clean = is_clean(result, names, tool)
        results.append(result)
        ok = ok and clean
        print(f"{tool}: {'clean' if clean else 'NOT CLEAN'}, "
              f"{len(result['passed'])} of {len(names)} cases right, "
              f"{result['findings']} findings, status {result['status']}, "
              f"{result['seconds']} s", flush=True)
        for line in result["first"] + [" ".join(f) for f in result["failed"]]:
            print("    " + line[:300], flush=True)
        if tool in ptx_faults.PLANTS and not args.no_plants:
            ok = run_plants(args, tool, results) and ok
    if args.json:
        programs.write_json(args.json, {"cases": names, "results": results})
    print_table(results, len(names))
    print("sanitizer:", "passed" if ok else "FAILED")
    return 0 if ok else 1


def print_table(results, cases):
    print(f"{'tool':10} {'run':22} {'findings':>8}  seconds")
    for r in results:
        what = f"planted {r['plant']}" if r["plant"] else f"{cases} cases"
        print(f"{r['tool']:10} {what:30} {r['findings']!s:>8}  {r['seconds']}")


def compile_phase(args):
    selected = case_list.select(case_list.sanitizer_cases(), args.select)
    _, failures = programs.compile_by(
        args, map(case_list.job, selected),
        extra={"cases": [dataclasses.asdict(c) for c in selected]})
    if not failures:
        check_plants(programs.Pack(args.compile), args.ptxas)
    return 1 if failures else 0


def check_plants(pack, ptxas):
    """Tries all edits, so that they cannot fail on the GPU."""
    if pack.error(PLANT_CASE):
        return
    ptx = pack.read(PLANT_CASE)[1].decode()
    for plants in ptx_faults.PLANTS.values():
        for name, edit, missing_rows in plants:
            text = edit(ptx)
            if text == ptx and not missing_rows:
                raise ptx_faults.PlantFailed(f"{name} changes nothing")
            if not ptxas:
                continue
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "edited.ptx")
                with open(path, "w") as file:
                    file.write(text)
                report = programs.assemble(ptxas, path, path + ".cubin")
            if "error" in report:
                raise ptx_faults.PlantFailed(f"{name}: {report['error']}")
    print("all planted faults apply")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    programs.add_arguments(parser)
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--select", nargs="*", default=[], help="ids of cases")
    parser.add_argument("--no-plants", action="store_true")
    parser.add_argument("--budget", type=float, default=1e9,
                        help="seconds after which no tool starts")
    parser.add_argument("--logs", default=tempfile.gettempdir())
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--plant", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(args)
    status = compile_phase(args) if args.compile else 0
    if args.run and not status:
        status = run_tools(args, programs.Pack(args.run))
    return status


if __name__ == "__main__":
    sys.exit(main())
