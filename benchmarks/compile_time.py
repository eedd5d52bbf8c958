# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the compiler, against targets and against peers. Needs no GPU.

  compile_time.py --moe-compile PATH --moe-opt PATH --json OUT

What is timed:

  - one grouped matmul (Qwen3-30B-A3B gate_up, 64 rows) from its IR to PTX and to
    machine code, by moe-compile; to machine code by nvcc from CUDA C++
    (compile_time_peer.cu), and by Triton (triton_peer.py) with a cold cache
  - a model of 61 layers as DeepSeek-V3 has them. Layers are alike, so a kernel is
    to be compiled once however many of them launch it; and how the time grows
    with the number of layers
  - --moe-swap-ab on up to 100,000 grouped matmuls of the benchmark's shapes, as
    --mlir-timing has it: the pass without the verifier behind it, and with it

All of ours with fixed numbers of tokens, and with numbers that only a run knows.
Machine code needs ptxas. What is not installed is left out.

A command is run once to warm up, then as often as --runs and --budget say, by
hyperfine where that is installed. Targets are for the median. CPU is the mean of
the processors' time, which depends less on what else the machine does. The exit
status is 1 if something fails, and 0 if a target is merely missed.
"""

import argparse
import dataclasses
import datetime
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(_HERE, "..", "test", "Integration", "GPU"))
import problems
import programs
import target_table
import timer

NVCC, TRITON = "nvcc", "triton"
PEERS = [NVCC, TRITON]

MATMUL_SHAPE = "qwen3-30b-a3b.gate_up"
MATMUL_ROWS = 64
LAYER_TOKENS = 8
# In place of a number of tokens or rows: it is not known at compile time.
DYNAMIC = "?"

TARGET_MATMUL = 0.5  # seconds
TARGET_MODEL = 3  # seconds
TARGET_RATE = 100_000  # ops a second
# What a layer costs in the largest module, as a multiple of what it costs in the
# model; n log n would be 1.7.
TARGET_GROWTH = 2


@dataclasses.dataclass(frozen=True)
class Sizes:
    model: int  # layers
    layers: tuple  # of all modules that are compiled: 1, the model's, larger ones
    matmuls: tuple  # of the modules for --moe-swap-ab


FULL = Sizes(61, (1, 10, 61, 250, 1000), (1_000, 10_000, 100_000))
QUICK = Sizes(2, (1, 2, 4), (1, 2))


# ===---------------------------------------------------------------------------
# Modules
# ===---------------------------------------------------------------------------


def _function(name, arguments, body, results):
    """arguments and results are (name, type)s."""
    parameters = ", ".join(f"{a}: {t}" for a, t in arguments)
    values = ", ".join(v for v, _ in results)
    types = ", ".join(t for _, t in results)
    lines = "\n".join(body)
    return (f"func.func @{name}({parameters}) -> ({types}) {{\n{lines}\n"
            f"  return {values} : {types}\n}}\n")


def matmuls_module(shapes, count, rows):
    """`count` grouped matmuls, which take turns among the shapes. Each writes to
    the result of the last one of its shape, so that none is dead."""
    arguments, body, last = [], [], []
    for i, shape in enumerate(shapes):
        experts, _, k, n = problems.SHAPES[shape]
        arguments += [(f"%x{i}", f"tensor<{rows}x{k}xbf16>"),
                      (f"%w{i}", f"tensor<{experts}x{n}x{k}xbf16>"),
                      (f"%offsets{i}", f"tensor<{experts + 1}xi32>"),
                      (f"%y{i}", f"tensor<{rows}x{n}xbf16>")]
        last.append((f"%y{i}", arguments[-1][1]))
    for number in range(count):
        i = number % len(shapes)
        names, types = zip(*arguments[4 * i : 4 * i + 3])
        init, result = last[i]
        body.append(
            f"  %{number} = moe.grouped_matmul\n"
            f"      ins({', '.join(names)} : {', '.join(types)})\n"
            f"      outs({init} : {result}) -> {result}")
        last[i] = f"%{number}", result
    return _function("matmuls", arguments, body, last)


def model_module(layers, tokens):
    """Layers of DeepSeek-V3, one after the other, each with its weights."""
    experts, picks, hidden, gate_up = problems.SHAPES["deepseek-v3.gate_up"]
    _, _, intermediate, _ = problems.SHAPES["deepseek-v3.down"]
    x = f"tensor<{tokens}x{hidden}xbf16>"
    logits = f"tensor<{tokens}x{experts}xf32>"
    weights, indices = (f"tensor<{tokens}x{picks}x{t}>" for t in ("f32", "i32"))
    first = f"tensor<{experts}x{gate_up}x{hidden}xbf16>"
    second = f"tensor<{experts}x{hidden}x{intermediate}xbf16>"
    arguments, body, extent = [("%x0", x)], [], ""
    if tokens == DYNAMIC:
        extent = "%tokens"
        body += ["  %c0 = arith.constant 0 : index",
                 f"  %tokens = tensor.dim %x0, %c0 : {x}"]
    for i in range(layers):
        arguments += [(f"%logits{i}", logits), (f"%gate_up{i}", first),
                      (f"%down{i}", second)]
        body.append(f"""\
  %w{i} = tensor.empty({extent}) : {weights}
  %i{i} = tensor.empty({extent}) : {indices}
  %weights{i}, %indices{i} = moe.route {{renormalize}} ins(%logits{i} : {logits})
      outs(%w{i}, %i{i} : {weights}, {indices}) -> {weights}, {indices}
  %init{i} = tensor.empty({extent}) : {x}
  %x{i + 1} = moe.experts {{epilogue = #moe.epilogue<silu, gate = concat>}}
      ins(%x{i}, %indices{i}, %weights{i}, %gate_up{i}, %down{i}
          : {x}, {indices}, {weights}, {first}, {second})
      outs(%init{i} : {x}) -> {x}""")
    return _function("model", arguments, body, [(f"%x{layers}", x)])


# ===---------------------------------------------------------------------------
# What is measured
# ===---------------------------------------------------------------------------


def counted(number, what):
    if number == DYNAMIC:
        return f"any number of {what}s"
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


class Measurement:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.sizes = QUICK if args.quick else FULL
        self.timer = timer.Timer(args.runs, args.budget, args.limit)
        self.table = target_table.Table()

    def everything(self):
        self.table.print_header()
        for rows in (MATMUL_ROWS, DYNAMIC):
            self.matmul(rows)
        self.peers()
        for tokens in (LAYER_TOKENS, DYNAMIC):
            self.model(tokens)
        self.swap(MATMUL_ROWS, verify=False)
        self.swap(DYNAMIC, verify=False)
        self.swap(MATMUL_ROWS, verify=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def compile(self, stem, emit):
        """The figures of moe-compile on a file in the folder."""
        environment = None
        if emit == "cubin":
            if not self.args.ptxas:
                raise target_table.Absent("there is no ptxas; install the CUDA "
                                          "toolkit or name it by --ptxas")
            binaries = os.path.dirname(os.path.realpath(self.args.ptxas))
            environment = {**os.environ, "CUDA_HOME": os.path.dirname(binaries),
                           "PATH": binaries + os.pathsep + os.environ["PATH"]}
        return self.timer.command(
            [self.args.moe_compile, self.path(stem + ".mlir"), "--target=h200",
             "--emit=" + emit, "-o", self.path(f"{stem}.{emit}")], environment)

    # One grouped matmul.

    def matmul(self, rows):
        self.write("matmul.mlir", matmuls_module([MATMUL_SHAPE], 1, rows))
        name = f"grouped matmul, {counted(rows, 'row')}, to "
        self.table.add(name + "PTX", lambda: self.compile("matmul", "ptx"))
        self.table.add(name + "machine code",
                       lambda: self.compile("matmul", "cubin"), TARGET_MATMUL)

    # Peers.

    def peers(self):
        add, name = self.table.add, "grouped matmul to machine code"
        if NVCC in self.args.peers:
            add(f"nvcc, {name}", self.nvcc)
        if TRITON in self.args.peers:
            add(f"Triton, {name}, the process", lambda: self.triton(True))
            add(f"Triton, {name}, in a warm process", lambda: self.triton(False))

    def nvcc(self):
        if not self.args.nvcc:
            raise target_table.Absent("there is no nvcc; install the CUDA toolkit "
                                      "or name it by --nvcc")
        return self.timer.command(
            [self.args.nvcc, "-arch=sm_90a", "-O3", "-cubin",
             os.path.join(_HERE, "compile_time_peer.cu"), "-o",
             self.path("peer.cubin")])

    def triton(self, is_first):
        if not version_of_triton():
            raise target_table.Absent("this Python has no Triton; install the "
                                      "package triton")
        code = f"import compile_time; compile_time.build_by_triton({is_first})"

        def once():
            with tempfile.TemporaryDirectory(dir=self.folder) as cache:
                start = time.perf_counter()
                output, _ = timer.run(
                    [sys.executable, "-c", code], self.args.limit,
                    {**os.environ, "TRITON_CACHE_DIR": cache}, folder=_HERE)
                seconds = time.perf_counter() - start
            return seconds if is_first else float(output)

        return self.timer.sample(once, is_whole=is_first)

    # A model.

    def model(self, tokens):
        sizes, suffix = self.sizes, ", " + counted(tokens, "token")
        times, kernels = {}, {}
        for layers in sizes.layers:
            self.write("model.mlir", model_module(layers, tokens))
            times[layers] = self.table.add(
                counted(layers, "layer") + suffix + ", to PTX",
                lambda: self.compile("model", "ptx"), layers=layers)
            if "median" not in times[layers]:
                # A larger one would fail as well, or take longer still.
                break
            kernels[layers] = self.count_kernels("model.ptx")

        def if_compiled(measure):
            if sizes.model not in kernels:
                raise target_table.Absent("there is no PTX of it")
            return measure()

        name = counted(sizes.model, "layer") + suffix
        self.write("model.mlir", model_module(sizes.model, tokens))
        self.table.add(
            name + ", to machine code",
            lambda: if_compiled(lambda: self.compile("model", "cubin")),
            TARGET_MODEL, layers=sizes.model)
        # As many as a single layer has.
        self.table.add(
            "kernels of " + name,
            lambda: if_compiled(lambda: {"value": kernels[sizes.model]}),
            kernels.get(1), unit="kernels")
        largest = max(times)
        self.table.add(
            f"a layer more, among {largest} against {sizes.model}{suffix}",
            lambda: if_compiled(lambda: growth(times, sizes.model, largest)),
            TARGET_GROWTH, unit="times")

    def count_kernels(self, name):
        with open(self.path(name)) as file:
            return len(re.findall(r"\.entry\s", file.read()))

    # --moe-swap-ab

    def swap(self, rows, verify):
        what = "moe-swap-ab and the verifier" if verify else "moe-swap-ab"
        for count in self.sizes.matmuls:
            self.write("matmuls.mlir",
                       matmuls_module(problems.ALL_SHAPES, count, rows))
            row = self.table.add(
                f"{what}, {counted(count, 'op')}, {counted(rows, 'row')}",
                lambda: self.timer.sample(lambda: self.swap_once(verify),
                                          is_whole=False),
                None if verify else count / TARGET_RATE, ops=count)
            if "median" not in row:
                break

    def swap_once(self, verify):
        """Seconds of the pass on matmuls.mlir."""
        try:
            _, errors = timer.run(
                [self.args.moe_opt, self.path("matmuls.mlir"),
                 "--moe-swap-ab=target=h200",
                 f"--verify-each={str(verify).lower()}", "--mlir-timing",
                 "--mlir-timing-display=list", "--mlir-output-format=json",
                 "--emit-bytecode", "-o", os.devnull], self.args.limit)
        except timer.OverLimit:
            # Which says nothing of how long the pass itself takes.
            raise target_table.Absent(f"moe-opt was ended after "
                                      f"{self.args.limit:g} s") from None
        for entry in json.loads(errors):
            if entry["name"] == "MoESwapABPass":
                # The last digit is a tenth of a millisecond.
                return max(entry["wall"]["duration"], 1e-4)
        raise timer.Failure(f"--mlir-timing does not tell of the pass: {errors}")


def growth(times, model, largest):
    """How many times as much a layer costs among `largest` layers as in the model.
    What does not depend on their number is left out by subtracting the time of
    one."""
    row, one = times[largest], times[1]["median"]
    seconds = row.get("median", row.get("over"))
    reference = (times[model]["median"] - one) / (model - 1)
    if seconds is None:
        raise target_table.Absent("the larger module failed")
    if reference <= 0:
        raise target_table.Absent("a layer takes too little time to be measured")
    key = "value" if "median" in row else "over"
    return {key: (seconds - one) / (largest - 1) / reference}


def build_by_triton(is_first):
    """Compiles, in a process of its own, the kernel of triton_peer.py that was the
    fastest for the matmul above. If not is_first, compiles another one before, and
    prints the seconds of this one alone: what each further kernel takes, or each
    configuration that a tuner tries."""
    import triton_peer

    k = problems.SHAPES[MATMUL_SHAPE][2]

    def build(config):
        constants = triton_peer.constants_of(config, k)
        if not triton_peer.build(config, "bf16", constants, 90).asm["cubin"]:
            sys.exit("error: Triton made no machine code")

    if not is_first:
        build(triton_peer.Config(False, False, 64, 64, 128, 4, 4))
    start = time.perf_counter()
    build(triton_peer.Config(True, True, 8, 64, 256, 4, 3))
    if not is_first:
        print(time.perf_counter() - start)


# ===---------------------------------------------------------------------------
# The machine
# ===---------------------------------------------------------------------------


def cpu_model():
    try:
        with open("/proc/cpuinfo") as file:
            found = re.search(r"^model name\s*:\s*(.*)$", file.read(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or "unknown"


def version_of_triton():
    try:
        return importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        return None


def version_of(program, pattern):
    """What a program says of itself; None if there is no program."""
    if not program:
        return None
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    found = re.search(pattern, done.stdout)
    return found[1] if found else "unknown"


def description(args, hyperfine):
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(
            timespec="seconds"),
        "versions": {
            "moe-compile": version_of(args.moe_compile, r"(LLVM version \S+)"),
            "moe-opt": version_of(args.moe_opt, r"(LLVM version \S+)"),
            "ptxas": version_of(args.ptxas, r"\bV(\S+)"),
            "nvcc": version_of(args.nvcc, r"\bV(\S+)"),
            "triton": version_of_triton(),
            "hyperfine": version_of(hyperfine, r"hyperfine (\S+)"),
            "python": platform.python_version(),
        },
        "cpu": cpu_model(), "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0], "command": sys.argv[1:],
    }


# ===---------------------------------------------------------------------------
# Command line
# ===---------------------------------------------------------------------------


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--moe-compile", default="moe-compile")
    add("--moe-opt", default="moe-opt")
    add("--ptxas", help="default: looked for in CUDA_HOME, /usr/local/cuda, PATH")
    add("--nvcc", help="the same")
    add("--peers", nargs="*", choices=PEERS, default=PEERS)
    add("--runs", type=int, default=10, help="of each command, at most")
    add("--budget", type=float, default=30,
        help="seconds that the runs of a command may take in all")
    add("--limit", type=float, default=120,
        help="seconds after which a command is ended")
    add("--quick", action="store_true",
        help="small modules and a run of each, to try the script itself")
    add("--json", metavar="OUT")
    args = parser.parse_args()
    for option in ("runs", "budget", "limit"):
        if getattr(args, option) <= 0:
            parser.error(f"--{option} must be more than 0")
    if args.quick:
        args.runs = 1

    def path_of(program, advice):
        found = shutil.which(program)
        if not found:
            parser.error(f"there is no program {program}; {advice}")
        return os.path.abspath(found)

    build = "build the project, then add its bin folder to PATH or name it by "
    args.moe_compile = path_of(args.moe_compile, build + "--moe-compile")
    args.moe_opt = path_of(args.moe_opt, build + "--moe-opt")
    for option in ("ptxas", "nvcc"):
        given = getattr(args, option)
        found = (path_of(given, f"correct --{option} or leave it out") if given
                 else programs.find_cuda_tool(option))
        setattr(args, option, found)
    return args


def main():
    args = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="moe-compile-time-") as folder:
        measurement = Measurement(args, folder)
        content = description(args, measurement.timer.hyperfine)
        print(f"{content['cpu']}, {content['cores']} cores, load "
              f"{content['load']:.1f}, {content['versions']}\n", flush=True)
        table = measurement.table
        try:
            measurement.everything()
        finally:
            # Also of what was measured before somebody lost patience.
            if args.json:
                programs.write_json(args.json, {**content, "rows": table.rows})
    print("\n" + "\n".join(table.summary()))
    return 1 if table.has_failed() else 0


if __name__ == "__main__":
    sys.exit(main())
