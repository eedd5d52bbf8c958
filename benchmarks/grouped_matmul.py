# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times grouped matmuls of public MoE models at few tokens on a Hopper GPU,
against torch._grouped_mm and against what the memory allows.

  --compile DIR --moe-compile PATH     compiles the kernels; needs no GPU. Writes
                                       DIR/pack.zip, which is all that --run needs
  --run PACK --runtime LIB --json OUT  times them; PACK is DIR or pack.zip
  --table OUT                          prints a result file as Markdown

y[r, :] = x[r, :] * W[e(r)]^T, bf16 with f32 accumulation, rows sorted by expert.
Every time is per launch, the median of replays of a CUDA graph that goes through
several routings, so that weights come from memory and not from a cache. Results
are compared with float32 before they are timed.

floor = max(bytes / read ceiling, operations / matrix rate), both measured in the
same run; bytes are the weights of the experts that have tokens, and all tokens
and results, once.
"""

import argparse
import datetime
import json
import math
import os
import platform
import random
import statistics
import subprocess
import sys
import time
import traceback

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(_HERE, "..", "test", "Integration", "GPU"))
import programs

SHAPES = {  # name: (experts, experts of a token, K, N)
    "qwen3-30b-a3b.gate_up": (128, 8, 2048, 1536),
    "qwen3-30b-a3b.down": (128, 8, 768, 2048),
    "mixtral-8x7b.gate_up": (8, 2, 4096, 28672),
    "mixtral-8x7b.down": (8, 2, 14336, 4096),
    "gpt-oss-120b.gate_up": (128, 4, 2880, 5760),
    "gpt-oss-120b.down": (128, 4, 2880, 2880),
    "deepseek-v3.gate_up": (256, 8, 7168, 4096),
    "deepseek-v3.down": (256, 8, 2048, 7168),
    # For trying this script without a GPU.
    "tiny": (4, 2, 64, 72),
}
TOKENS = (1, 8, 32, 128)
MAX_SHARED_BYTES = 227 * 1024
MAX_STAGES = 16
# Routings whose weights together are to exceed the L2 cache by far.
BYTES_OF_ROUTINGS = 512 << 20
LIMIT = 5e-3


# ===---------------------------------------------------------------------------
# Problems
# ===---------------------------------------------------------------------------


def routing(shape, tokens, number):
    """Tokens of each expert when each token picks different experts evenly."""
    experts, picks = SHAPES[shape][:2]
    rng = random.Random(f"{shape} {tokens} {number}")
    counts = [0] * experts
    for _ in range(tokens):
        for expert in rng.sample(range(experts), picks):
            counts[expert] += 1
    return counts


def bytes_and_flops(shape, counts):
    _, _, k, n = SHAPES[shape]
    rows = sum(counts)
    hit = sum(c > 0 for c in counts)
    return (hit * n * k + rows * (k + n)) * 2, 2 * rows * n * k


def routings(shape, tokens):
    size, _ = bytes_and_flops(shape, routing(shape, tokens, 0))
    number = max(4, min(16, math.ceil(BYTES_OF_ROUTINGS / size)))
    return [routing(shape, tokens, i) for i in range(number)]


def schedules(shape, tokens):
    """(n, warpgroups, stages) worth a try: token tiles that hold the mean and
    the largest group, one and two warpgroups, as many stages as fit."""
    experts = SHAPES[shape][0]
    counts = [c for r in routings(shape, tokens) for c in r if c]

    def tile(rows):
        return min(128, max(8, math.ceil(rows / 8) * 8))

    widths = {tile(statistics.mean(counts)), tile(max(counts)),
              tile(statistics.median(counts) * 1.5)}
    result = []
    for n in sorted(widths):
        for warpgroups in (1, 2):
            stage = (64 * warpgroups + n) * 128 + 32
            stages = (MAX_SHARED_BYTES - 8 * (experts + 1)) // stage
            result.append((n, warpgroups, min(MAX_STAGES, stages)))
    return result


def mlir_text(shape, attributes, swapped):
    experts, _, k, n = SHAPES[shape]
    x, w = f"tensor<?x{k}xbf16>", f"tensor<{experts}x{n}x{k}xbf16>"
    off, y = f"tensor<{experts + 1}xi32>", f"tensor<?x{n}xbf16>"
    if swapped:
        attributes = attributes + [
            "token_order = #moe.order<row_major>",
            "result_order = #moe.order<row_major>",
        ]
        name, ins, types = "moe.grouped_matmul_swapped", "%w, %x", f"{w}, {x}"
    else:
        name, ins, types = "moe.grouped_matmul", "%x, %w", f"{x}, {w}"
    return (
        f"func.func @main(%x: {x}, %w: {w}, %off: {off}, %y: {y}) -> {y} {{\n"
        f"  %0 = {name} {{{', '.join(attributes)}}}\n"
        f"      ins({ins}, %off : {types}, {off})\n"
        f"      outs(%y : {y}) -> {y}\n"
        f"  return %0 : {y}\n}}\n"
    )


def auto_job(shape, tokens):
    """The passes choose: orientation, tile, stages."""
    experts, picks = SHAPES[shape][:2]
    hint = max(1, round(tokens * picks / experts))
    return {
        "name": f"{shape}.T{tokens}.auto",
        "text": mlir_text(shape, [f"expected_tokens = array<i64: {hint}>"],
                          swapped=False),
        "options": [],
    }


def scheduled_job(shape, schedule):
    n, warpgroups, stages = schedule
    text = (f"schedule = #moe.schedule<m = {64 * warpgroups}, n = {n}, k = 64, "
            f"stages = {stages}, warpgroups = {warpgroups}>")
    return {
        "name": f"{shape}.n{n}.wg{warpgroups}.s{stages}",
        "text": mlir_text(shape, [text], swapped=True),
        "options": [],
    }


def jobs_of(shape, tokens, only_auto=False):
    rest = [] if only_auto else schedules(shape, tokens)
    return [auto_job(shape, tokens)] + [scheduled_job(shape, s) for s in rest]


def compile_phase(args):
    jobs = {}
    for shape in args.shapes:
        for tokens in args.tokens:
            for job in jobs_of(shape, tokens, args.only_auto):
                jobs[job["name"]] = job
    manifest = programs.compile_all(
        list(jobs.values()), args.compile, args.moe_compile, args.target,
        args.ptxas, args.jobs)
    failures = programs.report_failures(manifest)
    print(f"{len(manifest['programs']) - failures} kernels compiled, "
          f"{failures} failed")
    return 1 if failures else 0


# ===---------------------------------------------------------------------------
# The GPU
# ===---------------------------------------------------------------------------


if triton:

    @triton.jit
    def read_kernel(source, out, BLOCK: tl.constexpr, STEPS: tl.constexpr):
        total = tl.zeros((BLOCK,), tl.float32)
        first = tl.program_id(0).to(tl.int64) * (BLOCK * STEPS)
        for step in range(STEPS):
            total += tl.load(source + first + step * BLOCK + tl.arange(0, BLOCK))
        tl.store(out + tl.program_id(0), tl.sum(total))


class Gpu:
    device = "cuda"

    def __init__(self, torch, runtime):
        self.torch, self.runtime = torch, runtime
        self.stream = torch.cuda.Stream()
        torch.cuda.set_stream(self.stream)

    def launcher(self, program, buffers):
        def launch():
            program.launch(
                buffers, self.torch.cuda.current_stream().cuda_stream)
        return launch

    def empty(self, shape, dtype):
        return self.torch.empty(shape, dtype=dtype, device="cuda")

    def synchronize(self):
        self.torch.cuda.synchronize()

    def time(self, calls, rounds=4, replays=15):
        """Median microseconds of a call: a graph of all calls, some rounds."""
        torch = self.torch
        for call in calls:
            call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(rounds):
                for call in calls:
                    call()
        for _ in range(3):
            graph.replay()
        times = []
        for _ in range(replays):
            start = torch.cuda.Event(enable_timing=True)
            end = torch.cuda.Event(enable_timing=True)
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) * 1e3 / rounds / len(calls))
        return statistics.median(times)

    def read_ceiling(self):
        """Bytes a second at which the GPU reads, at best."""
        torch = self.torch
        data = torch.empty(1 << 30, dtype=torch.float32, device="cuda").normal_()
        size = data.numel() * 4
        best = size / (self.time([lambda: data.sum()], rounds=1) * 1e-6)
        try:
            for block, steps, warps in ((4096, 8, 8), (8192, 8, 8),
                                        (4096, 32, 8), (2048, 16, 4)):
                call = _triton_read(torch, data, block, steps, warps)
                best = max(best, size / (self.time([call], rounds=1) * 1e-6))
        except Exception as error:
            print(f"note: no read kernel by Triton ({error}); the read ceiling "
                  f"is torch.sum's", flush=True)
        return best

    def matrix_rate(self):
        """Operations a second of a large bf16 matmul."""
        torch = self.torch
        a, b = (torch.randn(8192, 8192, device="cuda").bfloat16()
                for _ in range(2))
        return 2 * 8192**3 / (self.time([lambda: a @ b], replays=5) * 1e-6)


def _triton_read(torch, data, block, steps, warps):
    """A call that reads all of `data`. Its size is a power of two, as are all
    blocks: no masks."""
    grid = data.numel() // (block * steps)
    out = torch.empty(grid, device="cuda")
    return lambda: read_kernel[(grid,)](data, out, BLOCK=block, STEPS=steps,
                                        num_warps=warps)


class EmulatedGpu(Gpu):
    """The fake driver runs nothing; torch fills in the results."""

    device = "cpu"

    def __init__(self, torch, runtime):
        self.torch, self.runtime = torch, runtime
        self.memory = {}

    def launcher(self, program, buffers):
        x, w, off, y = (self.memory[b.data] for b in buffers)

        def launch():
            program.launch(buffers, None)
            y.copy_(reference(self.torch, x, w, off.diff().tolist()))
        return launch

    def empty(self, shape, dtype):
        import ctypes

        size = math.prod(shape) * dtype.itemsize
        address = self.runtime.malloc(size)
        raw = (ctypes.c_uint8 * size).from_address(address)
        result = self.torch.frombuffer(raw, dtype=dtype).view(shape)
        self.memory[address] = result
        return result

    def synchronize(self):
        pass

    def time(self, calls, rounds=1, replays=1):
        start = time.perf_counter()
        for call in calls:
            call()
        return (time.perf_counter() - start) * 1e6 / len(calls)

    def read_ceiling(self):
        return 4.5e12

    def matrix_rate(self):
        return 790e12


def reference(torch, x, w, counts):
    """In float32, without TF32."""
    pieces, first = [], 0
    for expert, count in enumerate(counts):
        if count:
            rows = x[first : first + count].float()
            pieces.append(rows @ w[expert].float().T)
        first += count
    return torch.cat(pieces)


# ===---------------------------------------------------------------------------
# Measuring
# ===---------------------------------------------------------------------------


class Cell:
    """One shape at one number of tokens, with some routings."""

    def __init__(self, gpu, torch, shape, tokens, w, generator):
        self.gpu, self.torch = gpu, torch
        self.shape, self.tokens, self.w = shape, tokens, w
        self.counts = routings(shape, tokens)
        _, _, k, n = SHAPES[shape]
        self.inputs = []
        for counts in self.counts:
            rows = sum(counts)
            x = gpu.empty((rows, k), torch.bfloat16)
            x.normal_(generator=generator)
            off = gpu.empty((len(counts) + 1,), torch.int32)
            bounds = [sum(counts[:i]) for i in range(len(counts) + 1)]
            off.copy_(torch.tensor(bounds, dtype=torch.int32))
            y = gpu.empty((rows, n), torch.bfloat16)
            self.inputs.append((x, off, y))
        # Two routings are compared: more would cost more than they tell.
        self.expected = [
            reference(torch, x, w, counts)
            for (x, _, _), counts in list(zip(self.inputs, self.counts))[:2]
        ]

    def check(self, calls, results):
        """The larger relative error of the first two routings."""
        worst = 0.0
        for call, result, expected in zip(calls, results, self.expected):
            found = call()
            found = result if found is None else found
            self.gpu.synchronize()
            error = (found.float() - expected).norm() / expected.norm()
            if not float(error) < LIMIT:
                raise ValueError(f"wrong: relative error {float(error):.3g}")
            worst = max(worst, float(error))
        return worst

    def time_program(self, program):
        calls = []
        for x, off, y in self.inputs:
            y.fill_(float("nan"))
            operands = [(t.data_ptr(), element, tuple(t.shape)) for t, element in
                        ((x, "bf16"), (self.w, "bf16"), (off, "i32"),
                         (y, "bf16"))]
            calls.append(self.gpu.launcher(program,
                                           programs.buffers_of(operands)))
        error = self.check(calls, [y for _, _, y in self.inputs])
        return self.gpu.time(calls), error

    def time_torch(self):
        w = self.w.transpose(1, 2)
        calls = [
            lambda x=x, off=off[1:].contiguous():
                self.torch._grouped_mm(x, w, offs=off)
            for x, off, _ in self.inputs
        ]
        error = self.check(calls, [None] * len(calls))
        return self.gpu.time(calls), error

    def floor(self, ceiling, rate):
        """(microseconds, bytes, experts with tokens), means over routings."""
        both = [bytes_and_flops(self.shape, c) for c in self.counts]
        size = statistics.mean(b for b, _ in both)
        flops = statistics.mean(f for _, f in both)
        hit = statistics.mean(sum(x > 0 for x in c) for c in self.counts)
        return max(size / ceiling, flops / rate) * 1e6, size, hit


def measure_cell(gpu, cell, loader, ceiling, rate, names):
    floor, size, hit = cell.floor(ceiling, rate)
    row = {"shape": cell.shape, "tokens": cell.tokens,
           "rows": sum(cell.counts[0]), "routings": len(cell.counts),
           "experts_hit": hit, "bytes": size, "floor_us": floor,
           "kernels": {}}

    def attempt(name, action):
        try:
            us, error = action()
            return {"us": us, "percent_of_floor": 100 * floor / us,
                    "GB_per_s": size / us * 1e-3, "relative_error": error}
        except Exception as failure:
            text = f"{type(failure).__name__}: {failure}"[:300]
            print(f"  {name}: {text}", flush=True)
            return {"error": text}

    row["torch._grouped_mm"] = attempt("torch._grouped_mm", cell.time_torch)
    for name in names:
        def timed():
            program, report = loader.load(name)
            try:
                us, error = cell.time_program(program)
            finally:
                gpu.synchronize()
                program.destroy()
            return us, error
        key = name[len(cell.shape) + 1 :]
        row["kernels"][key] = attempt(name, timed)
    return row


def best_of(row, want_auto):
    """(name, result) of the fastest kernel, or of the one the passes chose."""
    found = {
        name: result for name, result in row["kernels"].items()
        if "us" in result and name.endswith("auto") == want_auto
    }
    if not found:
        return "-", None
    name = min(found, key=lambda n: found[n]["us"])
    return name, found[name]


def run_phase(args):
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    runtime = programs.Runtime(args.runtime)
    gpu = (EmulatedGpu if args.emulate else Gpu)(torch, runtime)
    pack = programs.Pack(args.run)
    start = time.time()
    wanted = {(s, t): [j["name"] for j in jobs_of(s, t, args.only_auto)]
              for s in args.shapes for t in args.tokens}
    names = sorted({n for ns in wanted.values() for n in ns})
    missing = [n for n in names if pack.error(n)]
    for name in missing:
        print(f"not compiled: {name}: {pack.error(name)[:200]}", flush=True)
    transform = None
    if args.emulate:
        transform = lambda launch, ptx: (launch, programs.fake_image(launch))
    loader = programs.Loader(pack, runtime, names,
                             image="ptx" if args.emulate else "cubin",
                             transform=transform)
    ceiling, rate = gpu.read_ceiling(), gpu.matrix_rate()
    content = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(
            timespec="seconds"),
        "device": runtime.device_info(), "versions": versions(torch, args),
        "read_ceiling_TB_per_s": ceiling * 1e-12,
        "matrix_rate_TFLOP_per_s": rate * 1e-12, "seed": args.seed,
        "pack": pack.digest(), "rows": [], "not_run": [], "emulated": args.emulate,
    }
    print(f"{content['device']['name']} {content['versions']} read ceiling "
          f"{ceiling * 1e-12:.2f} TB/s, matrix rate {rate * 1e-12:.0f} TFLOP/s",
          flush=True)
    for shape in args.shapes:
        run_shape(args, gpu, torch, shape, loader, wanted, missing, content,
                  start, ceiling, rate)
    loader.close()
    print("\n".join(table(content)))
    bad = [r for r in content["rows"] if "error" in r or
           any("error" in k for k in r["kernels"].values())]
    return 1 if bad or missing or content["not_run"] else 0


def run_shape(args, gpu, torch, shape, loader, wanted, missing, content, start,
              ceiling, rate):
    experts, _, k, n = SHAPES[shape]
    generator = torch.Generator(device=gpu.device).manual_seed(args.seed)
    w = None
    for tokens in args.tokens:
        if time.time() - start > args.budget:
            content["not_run"].append([shape, tokens])
            continue
        try:
            if w is None:
                w = gpu.empty((experts, n, k), torch.bfloat16)
                for expert in range(experts):
                    w[expert].normal_(std=k**-0.5, generator=generator)
            cell = Cell(gpu, torch, shape, tokens, w, generator)
            names = [x for x in wanted[shape, tokens] if x not in missing]
            row = measure_cell(gpu, cell, loader, ceiling, rate, names)
        except Exception as error:
            row = {"shape": shape, "tokens": tokens, "kernels": {},
                   "error": f"{type(error).__name__}: {error}"[:500],
                   "trace": traceback.format_exc()[-1500:]}
        content["rows"].append(row)
        print(f"[{time.time() - start:.0f}s] " + line_of(row), flush=True)
        if args.json:
            with open(args.json, "w") as file:
                json.dump(content, file, indent=1)
    del w
    if not args.emulate:
        torch.cuda.empty_cache()


def versions(torch, args):
    result = {"torch": torch.__version__, "python": platform.python_version()}
    if not args.emulate:
        result["cuda"] = torch.version.cuda
        result["triton"] = triton.__version__ if triton else None
        try:
            done = subprocess.run(
                ["nvidia-smi", "--query-gpu=driver_version",
                 "--format=csv,noheader"], capture_output=True, text=True)
            result["driver"] = done.stdout.strip().splitlines()[0]
        except (OSError, IndexError):
            result["driver"] = "unknown"
    return result


def cell_text(result):
    if result is None or "us" not in result:
        return "-"
    return f"{result['us']:.1f} ({result['percent_of_floor']:.0f})"


def line_of(row):
    if "error" in row:
        return f"{row['shape']} T={row['tokens']} {row['error']}"
    name, best = best_of(row, want_auto=False)
    return (f"{row['shape']:22} T={row['tokens']:<4} hit {row['experts_hit']:.0f} "
            f"floor {row['floor_us']:.1f} us | torch "
            f"{cell_text(row['torch._grouped_mm'])} | chosen by the passes "
            f"{cell_text(best_of(row, want_auto=True)[1])} | best "
            f"{cell_text(best)} {name}")


def table(content):
    """Microseconds (percent of the floor)."""
    lines = [
        "| shape | tokens | floor, us | torch._grouped_mm | chosen by the passes "
        "| best schedule | which |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in content["rows"]:
        if "error" in row:
            lines.append(f"| {row['shape']} | {row['tokens']} | error | | | | |")
            continue
        name, best = best_of(row, want_auto=False)
        lines.append(
            f"| {row['shape']} | {row['tokens']} | {row['floor_us']:.1f} | "
            f"{cell_text(row['torch._grouped_mm'])} | "
            f"{cell_text(best_of(row, want_auto=True)[1])} | {cell_text(best)} | "
            f"{name} |")
    if content["not_run"]:
        lines.append(f"not run: {content['not_run']}")
    return lines


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--compile", metavar="DIR")
    parser.add_argument("--moe-compile", default="moe-compile")
    parser.add_argument("--target", default="h200")
    parser.add_argument("--ptxas", help="also assemble, to see warnings")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--run", metavar="PACK")
    parser.add_argument("--runtime", metavar="LIB")
    parser.add_argument("--json", metavar="OUT")
    parser.add_argument("--shapes", nargs="*", choices=list(SHAPES),
                        default=[s for s in SHAPES if s != "tiny"])
    parser.add_argument("--tokens", nargs="*", type=int, default=list(TOKENS))
    parser.add_argument("--only-auto", action="store_true",
                        help="only what moe-select-schedule chooses")
    parser.add_argument("--budget", type=float, default=1e9,
                        help="seconds after which no cell starts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--emulate", action="store_true",
                        help="on the fake driver, to try the script itself")
    parser.add_argument("--table", metavar="RESULTS")
    args = parser.parse_args()
    if args.table:
        with open(args.table) as file:
            print("\n".join(table(json.load(file))))
        return 0
    status = compile_phase(args) if args.compile else 0
    if args.run:
        status = run_phase(args) or status
    return status


if __name__ == "__main__":
    sys.exit(main())
