# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is timed: shapes, routings, and the programs of this project for them.

Needs nothing but Python's own library.
"""

import bisect
import collections
import functools
import itertools
import math
import random
import re
import statistics

SHAPES = {  # name: (experts, experts of a token, K, N)
    # From the models' configurations: hidden size, size of an expert's
    # intermediate, number of experts, experts of a token. gate_up is
    # hidden -> 2 x intermediate, down is intermediate -> hidden.
    "qwen3-30b-a3b.gate_up": (128, 8, 2048, 1536),
    "qwen3-30b-a3b.down": (128, 8, 768, 2048),
    "qwen3-next-80b.gate_up": (512, 10, 2048, 1024),
    "qwen3-next-80b.down": (512, 10, 512, 2048),
    "mixtral-8x7b.gate_up": (8, 2, 4096, 28672),
    "mixtral-8x7b.down": (8, 2, 14336, 4096),
    "gpt-oss-120b.gate_up": (128, 4, 2880, 5760),
    "gpt-oss-120b.down": (128, 4, 2880, 2880),
    "deepseek-v3.gate_up": (256, 8, 7168, 4096),
    "deepseek-v3.down": (256, 8, 2048, 7168),
    "llama-4-scout.gate_up": (16, 1, 5120, 16384),
    "llama-4-scout.down": (16, 1, 8192, 5120),
    # For trying the script without a GPU.
    "tiny": (4, 2, 64, 72),
}
ALL_SHAPES = [s for s in SHAPES if s != "tiny"]
ALL_TOKENS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096]
ALL_ROUTINGS = ["uniform", "zipf:1.2", "one-hot-expert"]
ELEMENTS = ["bf16", "f16"]
LAYOUTS = ["nk", "kn"]
ELEMENT_BYTES = 2

# The weights that the routings of a cell read together are to exceed the L2
# cache (50 MiB on Hopper) by far, so that none of them stays there.
BYTES_OF_ROUTINGS = 512 << 20
MIN_ROUTINGS, MAX_ROUTINGS = 4, 64


class Cell(collections.namedtuple("Cell", "shape tokens routing element layout")):
    """One line of the result: what identifies it."""

    @property
    def experts(self):
        return SHAPES[self.shape][0]

    @property
    def picks(self):
        return SHAPES[self.shape][1]

    @property
    def k(self):
        return SHAPES[self.shape][2]

    @property
    def n(self):
        return SHAPES[self.shape][3]

    @property
    def stem(self):
        """What programs of this cell are called after."""
        return f"{self.shape}.{self.element}.{self.layout}"

    def __str__(self):
        return f"{self.stem} {self.routing} T={self.tokens}"


# ===---------------------------------------------------------------------------
# Routings
# ===---------------------------------------------------------------------------


def routing_kind(text):
    """(kind, exponent) of a routing; for argparse."""
    match = re.fullmatch(r"(uniform|equal|one-hot-expert)|zipf:([0-9.]+)", text)
    if not match:
        raise ValueError(f"no routing: {text}")
    return match[1] or "zipf", float(match[2] or 0)


def _distinct(rng, order, cumulative, picks):
    """Different experts, each drawn by its weight among those left."""
    found = []
    while len(found) < picks:
        drawn = rng.random() * cumulative[-1]
        expert = order[bisect.bisect_left(cumulative, drawn)]
        if expert not in found:
            found.append(expert)
    return found


def routing(cell, number):
    """Tokens of each expert. uniform: each token picks different experts, all
    alike. zipf:S: the same, with popularities 1 / rank^S in random order.
    one-hot-expert: one expert gets all rows, another one for each number.
    equal: every expert gets as many as any other."""
    kind, exponent = routing_kind(cell.routing)
    rng = random.Random(f"{cell.shape} {cell.tokens} {cell.routing} {number}")
    counts = [0] * cell.experts
    if kind == "one-hot-expert":
        counts[number % cell.experts] = cell.tokens * cell.picks
        return counts
    if kind == "equal":
        each, rest = divmod(cell.tokens * cell.picks, cell.experts)
        if rest:
            raise ValueError(f"{cell}: experts cannot get equally many tokens")
        return [each] * cell.experts
    order = list(range(cell.experts))
    rng.shuffle(order)
    cumulative = list(itertools.accumulate(
        (rank + 1) ** -exponent for rank in range(cell.experts)))
    for _ in range(cell.tokens):
        if kind == "uniform":
            picked = rng.sample(order, cell.picks)
        else:
            picked = _distinct(rng, order, cumulative, cell.picks)
        for expert in picked:
            counts[expert] += 1
    return counts


def bytes_and_flops(cell, counts):
    rows = sum(counts)
    hit = sum(c > 0 for c in counts)
    elements = hit * cell.n * cell.k + rows * (cell.k + cell.n)
    return elements * ELEMENT_BYTES, 2 * rows * cell.n * cell.k


@functools.lru_cache(maxsize=None)
def routings(cell):
    first = routing(cell, 0)
    size, _ = bytes_and_flops(cell, first)
    number = math.ceil(BYTES_OF_ROUTINGS / size)
    number = max(MIN_ROUTINGS, min(MAX_ROUTINGS, number))
    return [first] + [routing(cell, i) for i in range(1, number)]


def group_sizes(cell):
    """(mean, largest) of the groups that have tokens."""
    sizes = [c for counts in routings(cell) for c in counts if c]
    return statistics.mean(sizes), max(sizes)


# ===---------------------------------------------------------------------------
# Programs
# ===---------------------------------------------------------------------------


def _mlir_text(cell, attributes, swapped, rows="?"):
    e, k, n, element = cell.experts, cell.k, cell.n, cell.element
    x, y = f"tensor<{rows}x{k}x{element}>", f"tensor<{rows}x{n}x{element}>"
    matrix = f"{n}x{k}" if cell.layout == "nk" else f"{k}x{n}"
    w, off = f"tensor<{e}x{matrix}x{element}>", f"tensor<{e + 1}xi32>"
    if cell.layout == "kn":
        attributes = attributes + ["weight_layout = #moe.weight_layout<kn>"]
    if swapped:
        attributes = attributes + [
            "token_order = #moe.order<row_major>",
            "result_order = #moe.order<row_major>",
        ]
        name, ins, types = "moe.grouped_matmul_swapped", "%w, %x", f"{w}, {x}"
    else:
        name, ins, types = "moe.grouped_matmul", "%x, %w", f"{x}, {w}"
    attribute_text = f" {{{', '.join(attributes)}}}" if attributes else ""
    return (
        f"func.func @main(%x: {x}, %w: {w}, %off: {off}, %y: {y}) -> {y} {{\n"
        f"  %0 = {name}{attribute_text}\n"
        f"      ins({ins}, %off : {types}, {off})\n"
        f"      outs(%y : {y}) -> {y}\n"
        f"  return %0 : {y}\n}}\n"
    )


def auto_job(cell):
    """The passes choose, knowing how many rows there are but not of which
    experts: what is known when a decode step is captured in a CUDA graph."""
    return {
        "name": f"{cell.stem}.T{cell.tokens}.auto",
        "text": _mlir_text(cell, [], False, cell.tokens * cell.picks),
        "options": ["--remarks-filter=moe.*"],
    }


def choice_of(remarks):
    """What moe-compile says about its choice."""
    patterns = {"orientation": r"Choice=(\w+)", "predicted": r'Predicted="(.*?)"',
                "schedule": r'Schedule="(.*?)"'}
    found = {key: re.search(p, remarks) for key, p in patterns.items()}
    return {key: match[1] for key, match in found.items() if match}


# The schedules of a sweep. Limits are those of #moe.schedule and of the kernels
# (lib/Dialect/MoE/Transforms/CostModel.cpp, getTiles and getNumStages).
# Rows of weights by warpgroups, where 64 rows fill a slab; the others are for
# few tokens.
WEIGHT_TILES = {1: (64, 128), 2: (128, 256)}
PARTIAL_TILES = {1: range(40, 64, 8), 2: range(80, 256, 16)}
MAX_PARTIAL_TOKENS = 16
SWAPPED_TILES = [*range(8, 65, 8), 80, 96, 112, 128, 160, 192, 224, 256]
UNSWAPPED_TILES = [64, 128, 192, 256]
MAX_ACCUMULATORS = 160
MAX_STAGES, MIN_STAGES = 12, 3
BYTES_IN_FLIGHT = 108 * 1024
SHARED_BYTES = 227 * 1024


def _stages(cell, tile_rows):
    tables = max(4096, MAX_STAGES * 48 + 8 * (cell.experts + 1))
    stages = (SHARED_BYTES - 1024 - tables) // (tile_rows * 128)
    return min(max(MAX_STAGES, BYTES_IN_FLIGHT // (tile_rows * 128)), stages)


def _heights(swapped, n, layout):
    """(m, warpgroups)"""
    for warpgroups in WEIGHT_TILES:
        for m in WEIGHT_TILES[warpgroups]:
            yield m, warpgroups
        if swapped and n <= MAX_PARTIAL_TOKENS and layout == "nk":
            for m in PARTIAL_TILES[warpgroups]:
                if m // warpgroups % 64:
                    yield m, warpgroups


def schedules(cell):
    """(swapped, m, n, warpgroups, stages) of everything worth a try: every tile
    up to the first that holds the largest group, but far smaller ones than the
    mean group; one or two warpgroups, of one or two slabs each; as many stages
    as fit."""
    mean, largest = group_sizes(cell)
    enough = next((n for n in SWAPPED_TILES if n >= largest), SWAPPED_TILES[-1])
    tiles = [(True, n) for n in SWAPPED_TILES if min(64, mean / 2) <= n <= enough]
    tiles += [(False, n) for n in UNSWAPPED_TILES]
    result = []
    for swapped, n in tiles:
        for m, warpgroups in _heights(swapped, n, cell.layout):
            slabs = math.ceil(m / warpgroups / 64)
            stages = _stages(cell, m + n)
            if slabs * n / 2 <= MAX_ACCUMULATORS and stages >= MIN_STAGES:
                result.append((swapped, m, n, warpgroups, stages))
    return result


def scheduled_job(cell, schedule):
    swapped, m, n, warpgroups, stages = schedule
    text = (f"schedule = #moe.schedule<m = {m}, n = {n}, k = 64, "
            f"stages = {stages}, warpgroups = {warpgroups}>")
    kind = "swapped" if swapped else "unswapped"
    return {
        "name": f"{cell.stem}.{kind}.m{m}.n{n}.wg{warpgroups}.s{stages}",
        "text": _mlir_text(cell, [text], swapped),
        "options": [] if swapped else ["--swap=never"],
    }


def jobs_of(cell, sweep):
    """The passes' choice first."""
    rest = schedules(cell) if sweep else []
    return [auto_job(cell)] + [scheduled_job(cell, s) for s in rest]
