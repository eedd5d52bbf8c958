# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times grouped matmuls of public MoE models on a Hopper GPU, against peers and
against what the hardware allows.

  --compile DIR --moe-compile PATH     compiles the kernels; needs no GPU. Writes
                                       DIR/pack.zip, which is all that --run needs
  --run PACK --runtime LIB --json OUT  times them; PACK is DIR or pack.zip
  --merge OUT IN...                    puts result files together
  --table RESULTS                      prints a result file as Markdown
  --plot PNG                           draws the results of --run, --merge or
                                       --table, one file for each routing

Without more, 1, 8, 32 and 128 tokens with uniform routing; --grid is everything,
--budget and --skip cut it into slices. --compile and --run want the same choice
of cells. --sweep also times every schedule, to see what the choice costs.

auto is the passes' choice for the number of rows, whatever the routing. Peers:
torch._grouped_mm; torch.bmm over the experts with tokens, where these have
equally many; a kernel in Triton, tuned for each cell. The ones that are not
installed are left out.

y[r, :] = x[r, :] * W[e(r)]^T, with f32 accumulation, rows sorted by expert. Every
time is per launch, the median of replays of a CUDA graph that goes through
several routings, so that weights come from memory and not from a cache. Results
are compared with float32 before they are timed.

floor = max(bytes / read ceiling, operations / matrix rate), both measured in the
same run; bytes are the weights of the experts that have tokens, and all tokens
and results, once.
"""

import argparse
import datetime
import itertools
import os
import platform
import statistics
import sys
import time
import traceback


def _emulate_triton():
    """Triton has to know before it is imported."""
    if "--emulate" in sys.argv:
        os.environ["TRITON_INTERPRET"] = "1"


_emulate_triton()

import driver_gpu
import gpu
import peers
import problems
import programs
import report

QUICK_TOKENS = [1, 8, 32, 128]


def cells_of(args):
    """Weights are made once a shape, so that one comes after the other."""
    cells = [
        problems.Cell(shape, tokens, routing, args.element, args.layout)
        for shape, routing, tokens in itertools.product(
            args.shapes, args.routing, args.tokens)
    ]
    done = set()
    for path in args.skip:
        done |= {report.cell_of(r) for r in report.read(path)["rows"]
                 if "error" not in r}
    return [c for c in cells if c not in done]


def compile_phase(args):
    jobs = {job["name"]: job for cell in cells_of(args)
            for job in problems.jobs_of(cell, args.sweep)}
    manifest = programs.compile_all(
        list(jobs.values()), args.compile, args.moe_compile, args.target,
        args.ptxas, args.jobs)
    failures = programs.report_failures(manifest)
    print(f"{len(manifest['programs']) - failures} kernels compiled, "
          f"{failures} failed")
    return 1 if failures else 0


# ===---------------------------------------------------------------------------
# One cell
# ===---------------------------------------------------------------------------


class CellData:
    """The operands of a cell on the GPU, and results to compare with."""

    # Of how many routings results are compared.
    CHECKED = 2

    def __init__(self, gpu, cell, w):
        self.gpu, self.cell, self.w = gpu, cell, w
        self.counts = problems.routings(cell)
        self.inputs = []
        for counts in self.counts:
            bounds = [0, *itertools.accumulate(counts)]
            self.inputs.append((
                gpu.normal((bounds[-1], cell.k), cell.element),
                gpu.offsets(bounds),
                gpu.empty((bounds[-1], cell.n), cell.element)))
        self.expected = [
            gpu.expected(x, w, counts, cell.layout) for (x, _, _), counts
            in list(zip(self.inputs, self.counts))[: self.CHECKED]
        ]

    def timed(self, calls, checks=CHECKED, **timing):
        """Checks, then times. A call returns its result or writes its y."""
        results = [y for _, _, y in self.inputs][:checks]
        for result in results:
            self.gpu.poison(result)
        error = self.gpu.check(calls, results, self.expected[:checks])
        return {"us": self.gpu.time(calls, **timing), "relative_error": error}

    def program(self, loader, name, **timing):
        program, _ = loader.load(name)
        try:
            calls = []
            for x, off, y in self.inputs:
                operands = [
                    (self.gpu.address(t), element, tuple(t.shape))
                    for t, element in ((x, self.cell.element),
                                       (self.w, self.cell.element), (off, "i32"),
                                       (y, self.cell.element))]
                calls.append(self.gpu.launcher(program,
                                               programs.buffers_of(operands)))
            return self.timed(calls, **timing)
        finally:
            self.gpu.synchronize()
            program.destroy()

    def description(self, ceiling, rate):
        both = [problems.bytes_and_flops(self.cell, c) for c in self.counts]
        size = statistics.mean(b for b, _ in both)
        flops = statistics.mean(f for _, f in both)
        memory = size / ceiling * 1e6
        arithmetic = flops / rate * 1e6 if rate else 0
        mean, largest = problems.group_sizes(self.cell)
        return {
            **self.cell._asdict(), "rows": sum(self.counts[0]),
            "routings": len(self.counts), "mean_group": mean,
            "largest_group": largest, "bytes": size, "operations": flops,
            "experts_hit": statistics.mean(
                sum(c > 0 for c in counts) for counts in self.counts),
            "floor_us": max(memory, arithmetic),
            "bound": "memory" if memory >= arithmetic else "arithmetic",
        }


def best_so_far(row):
    best = report.best_schedule(row)
    return best and best[0]


def measure_cell(data, loader, pack, all_peers, args, ceiling, rate):
    row = data.description(ceiling, rate)
    row.update(results={}, schedules={})

    def attempt(where, name, action):
        try:
            result = action()
            result.update(
                percent_of_floor=100 * row["floor_us"] / result["us"],
                GB_per_s=row["bytes"] / result["us"] * 1e-3,
                TFLOP_per_s=row["operations"] / result["us"] * 1e-6)
        except peers.Absent as reason:
            result = {"absent": str(reason)}
        except Exception as failure:
            text = f"{type(failure).__name__}: {failure}"[:300]
            print(f"  {name}: {text}", flush=True)
            result = {"error": text}
        where[name] = result

    for name, peer in all_peers.items():
        if isinstance(peer, str):
            row["results"][name] = {"absent": peer}
        else:
            attempt(row["results"], name, lambda: peer.measure(data))
    auto, *rest = [job["name"]
                   for job in problems.jobs_of(data.cell, args.sweep)]
    attempt(row["results"], report.AUTO, lambda: data.program(loader, auto))
    if not pack.error(auto):
        row["results"][report.AUTO].update(
            problems.choice_of(pack.entry(auto).get("stderr", "")))
    for name in rest:
        key = name[len(data.cell.stem) + 1 :]
        if pack.error(name):
            row["schedules"][key] = {"error": pack.error(name)[:200]}
        else:
            attempt(row["schedules"], key,
                    lambda: data.program(loader, name, milliseconds=50,
                                         worth=2 * (best_so_far(row) or 1e9)))
    row["regret"] = report.regret(row)
    return row


# ===---------------------------------------------------------------------------
# A run
# ===---------------------------------------------------------------------------


def open_gpu(args, runtime):
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: no peers, and samples of the results "
              "are compared", flush=True)
        return driver_gpu.DriverGpu(runtime, args.seed, args.emulate)
    kind = gpu.EmulatedTorchGpu if args.emulate else gpu.TorchGpu
    return kind(torch, runtime, args.seed)


def known_configs(paths):
    """{cell: the best configurations in result files}"""
    result = {}
    for path in paths:
        for row in report.read(path)["rows"]:
            tuning = row.get("results", {}).get(peers.TRITON, {}).get("tuning")
            if tuning:
                result[report.cell_of(row)] = [c for c, _ in tuning[:3]]
    return result


def run_phase(args):
    start = time.time()
    runtime = programs.Runtime(args.runtime)
    machine, pack = open_gpu(args, runtime), programs.Pack(args.run)
    cells = cells_of(args)
    names = sorted({job["name"] for cell in cells
                    for job in problems.jobs_of(cell, args.sweep)})
    for name in filter(pack.error, names):
        print(f"not compiled: {name}: {pack.error(name)[:200]}", flush=True)
    transform = None
    if args.emulate:
        transform = lambda launch, ptx: (launch, programs.fake_image(launch))
    info = runtime.device_info()
    major, minor = info["capability"]
    all_peers = peers.all_peers(args.peers, machine, cells, 10 * major + minor,
                                known_configs(args.tuned), args.workers)
    ceiling, rate = machine.read_ceiling(), machine.matrix_rate()
    run = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(
            timespec="seconds"),
        "device": info, "emulated": args.emulate, "nvidia_smi": gpu.nvidia_smi(),
        "versions": {"python": platform.python_version(), **machine.versions()},
        "read_ceiling_TB_per_s": ceiling * 1e-12,
        "matrix_rate_TFLOP_per_s": rate and rate * 1e-12, "seed": args.seed,
        "pack": pack.digest(), "command": sys.argv[1:],
    }
    content = {"runs": [run], "rows": [], "not_run": []}
    print(f"{info['name']} {run['versions']} {run['nvidia_smi']}\nread ceiling "
          f"{ceiling * 1e-12:.2f} TB/s, matrix rate {(rate or 0) * 1e-12:.0f} "
          f"TFLOP/s, {len(cells)} cells", flush=True)
    loader = programs.Loader(pack, runtime, names,
                             image="ptx" if args.emulate else "cubin",
                             transform=transform)
    try:
        for shape, group in itertools.groupby(cells, lambda c: c.shape):
            run_shape(args, machine, list(group), loader, pack, all_peers,
                      content, start, ceiling, rate)
    finally:
        loader.close()
        if hasattr(all_peers.get(peers.TRITON), "close"):
            all_peers[peers.TRITON].close()
    return finish(args, content)


def finish(args, content):
    """Shows everything; the exit status."""
    print("\n".join(report.table(content)))
    show_plot(args, content)
    bad = [r for r in content["rows"] if "us" not in
           r.get("results", {}).get(report.AUTO, {}) or
           any("wrong" in s.get("error", "") for s in r["schedules"].values())]
    return 1 if bad or content["not_run"] else 0


def show_plot(args, content):
    for path in report.plot(content, args.plot) if args.plot else ():
        print(f"wrote {path}")


def run_shape(args, machine, cells, loader, pack, all_peers, content, start,
              ceiling, rate):
    w = None
    for cell in cells:
        if time.time() - start > args.budget:
            content["not_run"].append(list(cell))
            continue
        began = time.time()
        try:
            if w is None:
                matrix = (cell.n, cell.k) if cell.layout == "nk" else (
                    cell.k, cell.n)
                # So that results are about as large as tokens.
                w = machine.normal((cell.experts, *matrix), cell.element,
                                   cell.k**-0.5)
            data = CellData(machine, cell, w)
            row = measure_cell(data, loader, pack, all_peers, args, ceiling, rate)
        except Exception as error:
            row = {**cell._asdict(), "results": {}, "schedules": {},
                   "error": f"{type(error).__name__}: {error}"[:500],
                   "trace": traceback.format_exc()[-1500:]}
        data = None
        row.update(run=0, seconds=round(time.time() - began, 2))
        content["rows"].append(row)
        print(f"[{time.time() - start:.0f}s +{row['seconds']:.1f}] "
              f"{report.line_of(row)}", flush=True)
        if args.json:
            report.write(args.json, content)
    w = None
    machine.release()
    # The clocks under load, more or less.
    content["runs"][0].setdefault("nvidia_smi_after", {})[cells[0].shape] = (
        gpu.nvidia_smi())
    if args.json:
        report.write(args.json, content)


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--compile", metavar="DIR")
    add("--moe-compile", default="moe-compile")
    add("--target", default="h200")
    add("--ptxas", help="also assemble, to see warnings")
    add("--jobs", type=int, default=2)
    add("--run", metavar="PACK")
    add("--runtime", metavar="LIB")
    add("--json", metavar="OUT")
    add("--shapes", nargs="*", choices=list(problems.SHAPES),
        default=problems.ALL_SHAPES)
    add("--tokens", nargs="*", type=int)
    add("--routing", nargs="*",
        help="uniform, equal, zipf:EXPONENT, one-hot-expert")
    add("--grid", action="store_true",
        help="1 to 4096 tokens and all three routings")
    add("--element", choices=problems.ELEMENTS, default="bf16")
    add("--layout", choices=problems.LAYOUTS, default="nk",
        help="of the weights")
    add("--peers", nargs="*", choices=peers.NAMES, default=peers.NAMES)
    add("--sweep", action="store_true",
        help="also every schedule, to see what the passes' choice costs")
    add("--skip", nargs="*", default=[], metavar="RESULTS",
        help="leave out the cells that these files hold")
    add("--tuned", nargs="*", default=[], metavar="RESULTS",
        help="tune Triton among the best three configurations of these files")
    add("--budget", type=float, default=1e9,
        help="seconds after which no cell starts")
    add("--workers", type=int, help="processes that compile Triton's kernels")
    add("--seed", type=int, default=1)
    add("--emulate", action="store_true",
        help="on the fake driver, to try the script itself")
    add("--merge", nargs="+", metavar=("OUT", "IN"))
    add("--table", metavar="RESULTS")
    add("--plot", metavar="PNG")
    args = parser.parse_args()
    args.tokens = args.tokens or (
        problems.ALL_TOKENS if args.grid else QUICK_TOKENS)
    args.routing = args.routing or (
        problems.ALL_ROUTINGS if args.grid else ["uniform"])
    for routing in args.routing:
        try:
            problems.routing_kind(routing)
        except ValueError as error:
            parser.error(f"{error}; there are uniform, equal, zipf:EXPONENT "
                         f"and one-hot-expert")
    return args


def main():
    args = parse_arguments()
    if args.merge or args.table:
        if args.merge:
            content = report.merge([report.read(p) for p in args.merge[1:]])
            report.write(args.merge[0], content)
        else:
            content = report.read(args.table)
        print("\n".join(report.table(content)))
        show_plot(args, content)
        return 0
    status = compile_phase(args) if args.compile else 0
    if args.run:
        status = run_phase(args) or status
    return status


if __name__ == "__main__":
    sys.exit(main())
