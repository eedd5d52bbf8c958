# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times grouped matmuls swapped against unswapped, over tokens of an expert: how
far swapping pays, and whether the cost model knows.

  --compile DIR --moe-compile PATH     compiles the kernels and asks the cost
                                       model; needs no GPU. Writes DIR/pack.zip,
                                       which is all that --run needs
  --run PACK --runtime LIB --json OUT  times them; PACK is DIR or pack.zip
  --table RESULTS                      prints a result file as Markdown
  --plot PNG RESULTS                   draws it: time swapped / time unswapped

Both forms come from one op by the same compiler, with --swap=always and with
--swap=never, each with the schedule that the passes choose for that number of
rows. Every expert has exactly equally many tokens, so that the number stands for
itself. The passes do not know that: they take it for the mean of Poisson
distributed counts, of which some do not fit a tile that the mean fits. Multiples
of 64 tokens, the unswapped form's tiles, therefore favour it beyond prediction;
--routing uniform runs the same programs on counts as the passes expect them.

Operands, checks and times are those of grouped_matmul.py. The two forms of a
point are timed in turns, and the lower time of each counts. Where a model has
more experts than are needed to exceed the L2 cache, there are fewer here, as on
one GPU of several.
"""

import argparse
import collections
import concurrent.futures
import datetime
import itertools
import math
import platform
import re
import subprocess
import sys
import time
import traceback

# First: `gpu` adds a folder that has another module of this name.
import grouped_matmul
import gpu
import problems
import programs
import report

SHAPES = ["qwen3-30b-a3b.gate_up", "qwen3-30b-a3b.down", "mixtral-8x7b.gate_up",
          "deepseek-v3.down", "gpt-oss-120b.gate_up"]
TOKENS = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256]
# What the model is asked about, besides the target of --compile.
MODEL_TARGETS = ["h200", "h100-sxm", "h20"]
MODES = {"swapped": "always", "unswapped": "never"}
ELEMENT, LAYOUT = "bf16", "nk"

# Experts of a point: enough to keep all multiprocessors busy, and weights of so
# many times the L2 cache (50 MiB on an H200) that next to none stay in it.
FEW_EXPERTS = 32
WEIGHT_BYTES = 4 * (50 << 20)
# How often each form is timed.
ROUNDS = 2
# A smaller difference of the two is none: runs differ by as much.
EVEN = 0.01


class Point(problems.Cell):
    """A cell with fewer experts, and with rows in place of tokens that pick
    several of them."""

    __slots__ = ()
    picks = 1

    @property
    def experts(self):
        return experts_of(self.shape)

    @property
    def each(self):
        """Tokens of an expert."""
        return self.tokens // self.experts

    @property
    def name(self):
        return f"{self.stem}.E{self.experts}.each{self.each}"


def experts_of(shape):
    experts, _, k, n = problems.SHAPES[shape]
    found = FEW_EXPERTS
    while found * n * k * problems.ELEMENT_BYTES < WEIGHT_BYTES:
        found *= 2
    return min(found, experts)


def points_of(args):
    """Weights are made once a shape, so that one comes after the other."""
    return [Point(shape, each * experts_of(shape), args.routing, ELEMENT, LAYOUT)
            for shape, each in itertools.product(args.shapes, args.tokens)]


# ===---------------------------------------------------------------------------
# Compiling
# ===---------------------------------------------------------------------------


def mlir_text(point):
    rows, e, k, n = point.tokens, point.experts, point.k, point.n
    x, y = f"tensor<{rows}x{k}x{ELEMENT}>", f"tensor<{rows}x{n}x{ELEMENT}>"
    w, off = f"tensor<{e}x{n}x{k}x{ELEMENT}>", f"tensor<{e + 1}xi32>"
    return (
        f"func.func @main(%x: {x}, %w: {w}, %off: {off}, %y: {y}) -> {y} {{\n"
        f"  %0 = moe.grouped_matmul ins(%x, %w, %off : {x}, {w}, {off})\n"
        f"      outs(%y : {y}) -> {y}\n"
        f"  return %0 : {y}\n}}\n"
    )


def program_of(point, form):
    return f"{point.name}.{form}"


def jobs_of(point):
    return [{"name": program_of(point, form), "text": mlir_text(point),
             "options": [f"--swap={mode}", "--remarks-filter=moe.*"]}
            for form, mode in MODES.items()]


def predict(moe_compile, point, target):
    """What the cost model says of a point on a target."""
    done = subprocess.run(
        [moe_compile, "-", "--emit=mlir", "--swap=auto", "--target=" + target,
         "--remarks-filter=moe-swap-ab"],
        input=mlir_text(point), capture_output=True, text=True)
    times = dict(re.findall(r'(Swapped|Unswapped)="([0-9.]+) us"', done.stderr))
    choice = problems.choice_of(done.stderr).get("orientation")
    if done.returncode or len(times) != len(MODES) or choice not in MODES:
        raise SystemExit(f"{point.name}: no prediction for {target}: "
                         f"{done.stderr.strip()[-2000:]}")
    return {"choice": choice,
            **{form: float(times[form.capitalize()]) for form in MODES}}


def compile_phase(args):
    points = points_of(args)
    targets = list(dict.fromkeys([args.target, *MODEL_TARGETS]))
    pairs = list(itertools.product(points, targets))
    predictions = {point.name: {} for point in points}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        found = pool.map(lambda pair: predict(args.moe_compile, *pair), pairs)
        for (point, target), prediction in zip(pairs, found):
            predictions[point.name][target] = prediction
    compiled, failures = programs.compile_by(
        args, [job for point in points for job in jobs_of(point)],
        extra={"predictions": predictions})
    print(f"{len(points)} points, {compiled} kernels compiled, "
          f"{failures} failed")
    return 1 if failures else 0


# ===---------------------------------------------------------------------------
# Running
# ===---------------------------------------------------------------------------


def measure_form(data, loader, pack, form, results):
    """Times one form once more; results[form] becomes the best time so far, or
    why there is none."""
    known = results.setdefault(form, {})
    name = program_of(data.cell, form)
    if "error" in known:
        return
    try:
        if pack.error(name):
            raise RuntimeError(f"not compiled: {pack.error(name)}")
        choice = problems.choice_of(pack.entry(name).get("stderr", ""))
        if choice.get("orientation") != form:
            raise RuntimeError(f"the compiler chose {choice}")
        timed = data.program(loader, name)
    except Exception as failure:
        text = f"{type(failure).__name__}: {failure}"[:300]
        print(f"  {name}: {text}", flush=True)
        results[form] = {"error": text}
        return
    every = known.get("every_us", []) + [timed["us"]]
    known.update(timed, us=min(every), every_us=every,
                 schedule=choice.get("schedule"))


def measure_point(data, loader, pack, ceiling, rate):
    point = data.cell
    row = data.description(ceiling, rate)
    # Of the point, which has rows, and of both forms.
    del row["tokens"]
    row.update(experts=point.experts, k=point.k, n=point.n, each=point.each)
    row["predictions"] = pack.manifest["extra"]["predictions"][point.name]
    row["results"] = {}
    for _ in range(ROUNDS):
        for form in MODES:
            measure_form(data, loader, pack, form, row["results"])
    return row


def run_phase(args):
    start = time.time()
    runtime = programs.Runtime(args.runtime)
    machine = grouped_matmul.open_gpu(args, runtime)
    pack, points = programs.Pack(args.run), points_of(args)
    transform = None
    if args.emulate:
        transform = lambda launch, ptx: (launch, programs.fake_image(launch))
    info = runtime.device_info()
    ceiling, rate = machine.read_ceiling(), machine.matrix_rate()
    run = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(
            timespec="seconds"),
        "device": info, "target": pack.manifest["target"],
        "emulated": args.emulate, "nvidia_smi": gpu.nvidia_smi(),
        "versions": {"python": platform.python_version(), **machine.versions()},
        "read_ceiling_TB_per_s": ceiling * 1e-12,
        "matrix_rate_TFLOP_per_s": rate and rate * 1e-12, "seed": args.seed,
        "pack": pack.digest(), "command": sys.argv[1:],
    }
    content = {"runs": [run], "rows": []}
    print(f"{info['name']} {run['versions']} {run['nvidia_smi']}\n"
          f"{len(points)} points", flush=True)
    loader = programs.Loader(
        pack, runtime, [job["name"] for p in points for job in jobs_of(p)],
        image="ptx" if args.emulate else "cubin", transform=transform)
    try:
        for shape, group in itertools.groupby(points, lambda p: p.shape):
            run_shape(args, machine, list(group), loader, pack, content, start,
                      ceiling, rate)
            # The clocks under load, more or less.
            run.setdefault("nvidia_smi_after", {})[shape] = gpu.nvidia_smi()
    finally:
        loader.close()
    if args.json:
        report.write(args.json, content)
    print("\n".join(table(content)))
    return 0 if all(ratio_of(row) for row in content["rows"]) else 1


def run_shape(args, machine, points, loader, pack, content, start, ceiling, rate):
    w = None
    for point in points:
        try:
            if w is None:
                # So that results are about as large as tokens.
                w = machine.normal((point.experts, point.n, point.k), ELEMENT,
                                   point.k**-0.5)
            data = grouped_matmul.CellData(machine, point, w)
            row = measure_point(data, loader, pack, ceiling, rate)
        except Exception as error:
            row = {"shape": point.shape, "routing": point.routing,
                   "each": point.each, "results": {},
                   "error": f"{type(error).__name__}: {error}"[:500],
                   "trace": traceback.format_exc()[-1500:]}
        data = None
        content["rows"].append(row)
        print(f"[{time.time() - start:.0f}s] {line_of(row)}", flush=True)
        if args.json:
            report.write(args.json, content)
    w = None
    machine.release()


# ===---------------------------------------------------------------------------
# Figures
# ===---------------------------------------------------------------------------


def microseconds(row, form):
    return row["results"].get(form, {}).get("us")


def ratio_of(row):
    """Time swapped / time unswapped, as measured, or None."""
    times = [microseconds(row, form) for form in MODES]
    return times[0] / times[1] if all(times) else None


def by_shape(content):
    shapes = collections.defaultdict(list)
    for row in sorted(content["rows"], key=lambda row: row["each"]):
        shapes[row["shape"]].append(row)
    return {s: shapes[s] for s in problems.SHAPES if s in shapes}


def routing_of(content):
    """All points of a file have the same."""
    return content["rows"][0]["routing"] if content["rows"] else "no"


def measured_curve(rows):
    """[(tokens of an expert, time swapped / time unswapped)]"""
    return [(row["each"], ratio_of(row)) for row in rows if ratio_of(row)]


def predicted_curve(rows, target):
    found = [(row["each"], row.get("predictions", {}).get(target))
             for row in rows]
    return [(each, p["swapped"] / p["unswapped"]) for each, p in found if p]


def crossover(curve):
    """From how many tokens of an expert on swapping does not pay: where the curve
    passes 1 after the last point at which swapping is faster, by a straight line
    between points on logarithmic axes. 0 if it never is, infinity if it still is
    at the last point, None if there is no point."""
    if not curve:
        return None
    paying = [i for i, (_, ratio) in enumerate(curve) if ratio < 1 - EVEN]
    if not paying:
        return 0
    if paying[-1] == len(curve) - 1:
        return math.inf
    (x0, ratio0), (x1, ratio1) = curve[paying[-1]:paying[-1] + 2]
    if ratio1 <= 1:
        return x1
    part = math.log(ratio0) / math.log(ratio0 / ratio1)
    return x0 * (x1 / x0) ** part


def loss_of_choice(row, target):
    """Time of the form that the model chooses for a target / time of the faster
    one, or None."""
    prediction = row.get("predictions", {}).get(target)
    if not prediction or not ratio_of(row):
        return None
    best = min(microseconds(row, form) for form in MODES)
    return microseconds(row, prediction["choice"]) / best


# ===---------------------------------------------------------------------------
# Text
# ===---------------------------------------------------------------------------


def crossover_text(curve):
    found = crossover(curve)
    if found is None:
        return "-"
    if found == 0:
        return "never pays"
    return f"above {curve[-1][0]}" if found == math.inf else f"{found:.0f}"


def spans_text(curve, condition):
    """The points whose ratio meets the condition, neighbours together, with the
    range of their ratios."""
    def range_text(low, high):
        return low if low == high else f"{low} to {high}"

    parts = []
    for is_met, group in itertools.groupby(curve, lambda p: condition(p[1])):
        tokens, ratios = zip(*group)
        if is_met:
            span = range_text(str(tokens[0]), str(tokens[-1]))
            ratio = range_text(f"{min(ratios):.2f}", f"{max(ratios):.2f}")
            parts.append(f"{span} ({ratio})")
    return ", ".join(parts) or "-"


def line_of(row):
    """For progress."""
    head = f"{row['shape']} {row['each']} tokens an expert: "
    if "error" in row:
        return head + row["error"]
    if not ratio_of(row):
        return head + "failed"
    times = ", ".join(f"{form} {microseconds(row, form):.1f} us"
                      for form in MODES)
    return head + f"{times}, {ratio_of(row):.3f}"


def table(content):
    """Markdown lines."""
    run_target = content["runs"][0]["target"]
    targets = list(dict.fromkeys([run_target, *MODEL_TARGETS]))
    header = ["shape", "experts", "crossover, measured",
              *(f"{target}, model" for target in targets),
              "swapping is faster at", "even at", "does not pay at",
              "choice / better at worst"]
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    for shape, rows in by_shape(content).items():
        curve = measured_curve(rows)
        losses = [(loss_of_choice(r, run_target), r["each"]) for r in rows
                  if loss_of_choice(r, run_target)]
        loss, at = max(losses, default=(None, None))
        columns = [
            shape, rows[0].get("experts", "-"), crossover_text(curve),
            *(crossover_text(predicted_curve(rows, t)) for t in targets),
            spans_text(curve, lambda ratio: ratio < 1 - EVEN),
            spans_text(curve, lambda ratio: 1 - EVEN <= ratio <= 1 + EVEN),
            spans_text(curve, lambda ratio: ratio > 1 + EVEN),
            f"{loss:.2f} at {at}" if loss else "-"]
        lines.append("| " + " | ".join(map(str, columns)) + " |")
    return lines + [
        "",
        f"Tokens of an expert, {routing_of(content)} routing; in parentheses "
        f"time swapped / time unswapped, where a difference of {100 * EVEN:.0f} "
        f"% is none. The choice is the model's for {run_target}.",
        *failures(content)]


def failures(content):
    for row in content["rows"]:
        errors = [row.get("error")] + [
            f"{form}: {result['error']}" for form, result
            in row["results"].items() if "error" in result]
        for error in filter(None, errors):
            yield (f"- failed: {row['shape']} {row['each']} tokens an expert: "
                   f"{error}")


# ===---------------------------------------------------------------------------
# Plot
# ===---------------------------------------------------------------------------


def plot(content, path):
    try:
        import matplotlib
    except ImportError:
        raise SystemExit("--plot needs matplotlib: install python3-matplotlib, "
                         "or run `pip install matplotlib`")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    shapes = by_shape(content)
    columns = min(3, len(shapes))
    lines = math.ceil(len(shapes) / columns)
    figure, axes = pyplot.subplots(lines, columns, squeeze=False,
                                   figsize=(4.5 * columns, 3.5 * lines))
    for axis in axes.flat[len(shapes):]:
        axis.set_visible(False)
    for axis, (shape, rows) in zip(axes.flat, shapes.items()):
        _plot_shape(axis, shape, rows, content["runs"][0])
    axes.flat[0].legend(fontsize=7)
    figure.suptitle(f"time swapped / time unswapped, {ELEMENT}, "
                    f"{routing_of(content)} routing")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    print(f"wrote {path}")


def _plot_shape(axis, shape, rows, run):
    axis.axhline(1, color="black", linewidth=0.8)
    curve = measured_curve(rows)
    if curve:
        axis.plot(*zip(*curve), "C0-o", markersize=3, linewidth=2,
                  label=f"{run['device']['name']}, measured")
    # The model of the GPU that measured has the colour of the measurement.
    targets = list(dict.fromkeys([run["target"], *MODEL_TARGETS]))
    for number, target in enumerate(targets):
        curve = predicted_curve(rows, target)
        if curve:
            axis.plot(*zip(*curve), f"C{number}{':' if number else '--'}",
                      label=f"{target}, model")
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_formatter("{x:.0f}")
    axis.set_ylim(bottom=0)
    axis.set_title(f"{shape}, {rows[0].get('experts', '?')} experts", fontsize=9)
    axis.set_xlabel("tokens of an expert", fontsize=8)
    axis.grid(alpha=0.3)


# ===---------------------------------------------------------------------------
# Command line
# ===---------------------------------------------------------------------------


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    programs.add_arguments(parser)
    add = parser.add_argument
    add("--shapes", nargs="*", choices=list(problems.SHAPES), default=SHAPES)
    add("--tokens", nargs="*", type=int, default=TOKENS,
        help="of each expert")
    add("--routing", choices=["equal", "uniform"], default="equal",
        help="uniform: --tokens is the mean")
    add("--seed", type=int, default=1)
    add("--table", metavar="RESULTS")
    add("--plot", nargs=2, metavar=("PNG", "RESULTS"))
    return parser.parse_args()


def main():
    args = parse_arguments()
    status = 0
    if args.compile:
        status = compile_phase(args)
    if args.run:
        status = run_phase(args) or status
    if args.table:
        print("\n".join(table(report.read(args.table))))
    if args.plot:
        plot(report.read(args.plot[1]), args.plot[0])
    return status


if __name__ == "__main__":
    sys.exit(main())
