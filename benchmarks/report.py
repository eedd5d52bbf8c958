# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Result files of the benchmark: merging, tables, plots.

A file holds `runs`, what is known of each process that measured, and `rows`, one
for each cell, with `run`, the index of its run, and `results` by name.
"""

import json
import math
import os

import peers
import problems

AUTO = "auto"


def cell_of(row):
    return problems.Cell(*(row[f] for f in problems.Cell._fields))


def read(path):
    with open(path) as file:
        content = json.load(file)
    if "runs" not in content:
        raise SystemExit(f"{path} is no result file of this version")
    return content


def write(path, content):
    """Leaves the old file or the new one, whatever happens."""
    # A line for each cell.
    parts = {key: ",\n  ".join(map(json.dumps, value))
             for key, value in content.items()}
    text = ",\n ".join(f'"{key}": [\n  {part}\n ]' for key, part in parts.items())
    with open(path + ".part", "w") as file:
        file.write("{\n " + text + "\n}\n")
    os.replace(path + ".part", path)


def merge(contents):
    """One content of several; of a cell the last one that worked counts."""
    runs, rows = [], {}
    for content in contents:
        for row in content["rows"]:
            cell = cell_of(row)
            if "error" in row and cell in rows:
                continue
            rows[cell] = {**row, "run": row["run"] + len(runs)}
        runs += content["runs"]
    key = lambda cell: (list(problems.SHAPES).index(cell.shape), cell.element,
                        cell.layout, cell.routing, cell.tokens)
    not_run = [list(c) for c in {
        tuple(c) for content in contents for c in content["not_run"]}
        if problems.Cell(*c) not in rows]
    return {"runs": runs, "rows": [rows[c] for c in sorted(rows, key=key)],
            "not_run": sorted(not_run)}


# ===---------------------------------------------------------------------------
# Figures of a row
# ===---------------------------------------------------------------------------


def microseconds(row, name):
    return row.get("results", {}).get(name, {}).get("us")


def best_peer(row):
    """(microseconds, name) of the fastest peer, or None."""
    found = [(microseconds(row, n), n) for n in peers.NAMES
             if microseconds(row, n)]
    return min(found, default=None)


def advantage(row):
    """How many times as fast as the best peer; None without one."""
    own, other = microseconds(row, AUTO), best_peer(row)
    return other[0] / own if own and other else None


def best_schedule(row):
    """(microseconds, name) of the fastest of a sweep, the passes' choice
    included, or None without a sweep."""
    found = [(r["us"], n) for n, r in row.get("schedules", {}).items()
             if "us" in r]
    own = microseconds(row, AUTO)
    return min(found + [(own, AUTO)]) if found and own else None


def regret(row):
    """How many times as long as the best schedule's the choice takes."""
    best = best_schedule(row)
    return microseconds(row, AUTO) / best[0] if best else None


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


# ===---------------------------------------------------------------------------
# Text
# ===---------------------------------------------------------------------------


def _time_text(row, name):
    result = row["results"].get(name, {})
    if "us" in result:
        return f"{result['us']:.1f} ({result['percent_of_floor']:.0f})"
    return "failed" if "error" in result else "-"


def _number(value, form):
    return "-" if value is None else format(value, form)


def line_of(row):
    """For progress."""
    cell = cell_of(row)
    if "error" in row:
        return f"{cell}: {row['error']}"
    names = [AUTO, *peers.NAMES]
    parts = [f"{n} {_time_text(row, n)}" for n in names]
    parts.append(f"x{_number(advantage(row), '.2f')}")
    if best_schedule(row):
        parts.append(f"best {best_schedule(row)[1]} {best_schedule(row)[0]:.1f}")
    return (f"{cell} hit {row['experts_hit']:.0f} floor {row['floor_us']:.1f} us"
            f" | {' | '.join(parts)}")


def table(content):
    """Markdown lines: microseconds (percent of the floor)."""
    rows = [r for r in content["rows"] if "error" not in r]
    sweep = any(best_schedule(r) for r in rows)
    header = ["shape", "routing", "tokens", "floor, us", AUTO, *peers.NAMES,
              "best peer / auto"]
    header += ["best schedule", "auto / best"] if sweep else []
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    for row in rows:
        cell = cell_of(row)
        columns = [cell.stem, cell.routing, cell.tokens, f"{row['floor_us']:.1f}",
                   *(_time_text(row, n) for n in (AUTO, *peers.NAMES)),
                   _number(advantage(row), ".2f")]
        if sweep:
            best = best_schedule(row)
            columns += [f"{best[1]} {best[0]:.1f}" if best else "-",
                        _number(regret(row), ".2f")]
        lines.append("| " + " | ".join(map(str, columns)) + " |")
    return lines + [""] + summary(content)


def summary(content):
    rows = [r for r in content["rows"] if "error" not in r]
    lines = []
    ratios = [(advantage(r), r) for r in rows if advantage(r)]
    if ratios:
        lost = [(ratio, row) for ratio, row in ratios if ratio < 1]
        mean = geometric_mean([ratio for ratio, _ in ratios])
        lines.append(f"{len(ratios) - len(lost)} of {len(ratios)} cells at least "
                     f"as fast as the best peer, {mean:.2f} times in geometric "
                     f"mean.")
        for ratio, row in sorted(lost, key=lambda pair: pair[0]):
            us, name = best_peer(row)
            config = row["results"][name].get("config_name", "")
            lines.append(f"- lost: {cell_of(row)}: {microseconds(row, AUTO):.1f} "
                         f"us, {name} {us:.1f} us (x{ratio:.2f}) {config}".rstrip())
    torch = [microseconds(r, peers.TORCH) / microseconds(r, AUTO) for r in rows
             if r["tokens"] <= 128 and microseconds(r, AUTO)
             and microseconds(r, peers.TORCH)]
    if torch:
        lines.append(f"Up to 128 tokens: {geometric_mean(torch):.2f} times as fast "
                     f"as {peers.TORCH} in geometric mean.")
    regrets = [(regret(r), r) for r in rows if regret(r)]
    if regrets:
        worst = max(regrets, key=lambda pair: pair[0])
        mean = geometric_mean([value for value, _ in regrets])
        lines.append(f"The passes' choice takes {mean:.3f} times the best "
                     f"schedule's time in geometric mean, at worst "
                     f"{worst[0]:.2f} times ({cell_of(worst[1])}).")
    for row in content["rows"]:
        if "error" in row:
            lines.append(f"- failed: {cell_of(row)}: {row['error']}")
            continue
        for name, result in row["results"].items():
            if "error" in result:
                lines.append(f"- failed: {cell_of(row)}: {name}: "
                             f"{result['error']}")
    if content["not_run"]:
        lines.append(f"- not run: {len(content['not_run'])} cells")
    return lines


# ===---------------------------------------------------------------------------
# Plots
# ===---------------------------------------------------------------------------


def plot(content, path):
    """A PNG for each routing, of percent of the floor over tokens: path is
    PREFIX.png, the files are PREFIX-ROUTING.png. Returns what was written."""
    try:
        import matplotlib
    except ImportError:
        print("matplotlib is not installed: no plot")
        return []
    matplotlib.use("Agg")
    from matplotlib import pyplot

    written = []
    rows = [r for r in content["rows"] if "error" not in r]
    for routing in sorted({r["routing"] for r in rows}):
        chosen = [r for r in rows if r["routing"] == routing]
        stems = list(dict.fromkeys(cell_of(r).stem for r in chosen))
        columns = min(4, len(stems))
        lines = math.ceil(len(stems) / columns)
        figure, axes = pyplot.subplots(
            lines, columns, figsize=(4 * columns, 3 * lines), squeeze=False,
            sharey=True)
        for axis in axes.flat[len(stems):]:
            axis.set_visible(False)
        for axis, stem in zip(axes.flat, stems):
            _plot_shape(axis, stem, [r for r in chosen if cell_of(r).stem == stem])
        axes.flat[0].legend(fontsize=7)
        figure.suptitle(f"percent of the floor, {routing} routing")
        figure.tight_layout()
        name = f"{os.path.splitext(path)[0]}-{routing.replace(':', '')}.png"
        figure.savefig(name, dpi=110)
        pyplot.close(figure)
        written.append(name)
    return written


def _plot_shape(axis, stem, rows):
    rows = sorted(rows, key=lambda r: r["tokens"])
    for name in (AUTO, *peers.NAMES):
        points = [(r["tokens"], 100 * r["floor_us"] / microseconds(r, name))
                  for r in rows if microseconds(r, name)]
        if points:
            axis.plot(*zip(*points), marker="o", markersize=3, label=name,
                      linewidth=2 if name == AUTO else 1)
    best = [(r["tokens"], 100 * r["floor_us"] / best_schedule(r)[0])
            for r in rows if best_schedule(r)]
    if best:
        axis.plot(*zip(*best), "k:", label="best schedule")
    axis.set_xscale("log", base=2)
    axis.set_ylim(0, 105)
    axis.set_title(stem, fontsize=9)
    axis.set_xlabel("tokens", fontsize=8)
    axis.grid(alpha=0.3)
