# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Test cases of the grouped matmul kernel that cover every pair of properties.

A case is one choice of level for every factor of FACTORS. `pairwise_cases`
makes a list of cases in which every pair of levels of two factors that can stand
together does so; what cannot, CONSTRAINTS say. The list depends on nothing but
this file.

As a program:

  cases.py --check        checks that every possible pair is covered
  cases.py --list         prints the cases, one a line
  cases.py --mlir         prints the IR of all cases, split by `// -----`
  cases.py --mlir ID...   prints the IR of those
"""

import argparse
import dataclasses
import itertools
import random
import sys

# Tokens of an expert that get a launch of their own.
TOKEN_COUNTS = (0, 1, 7, 8, 9, 17, 63, 64, 65, 129, 300)

# Factor -> levels. `auto` in a factor of the schedule leaves the schedule to
# moe-select-schedule.
FACTORS = {
    "experts": (1, 8, 60, 128, 256),
    "depth": (8, 64, 72, 200, 768, 2048, 2880, 7168),
    "outputs": (8, 33, 64, 72, 192, 200, 1536, 5760),
    # A number: some experts have that many tokens, the others none (0: half of
    # the experts have none). mixed: each expert one of TOKEN_COUNTS. one: all
    # rows belong to one expert. empty: rows, but none belongs to an expert.
    # none: R = 0.
    "tokens": TOKEN_COUNTS + ("mixed", "one", "empty", "none"),
    "layout": ("nk", "kn"),
    "swapped": (True, False),
    "dtype": ("bf16", "f16"),
    # own: the element type of the tokens.
    "bias": (None, "f32", "own"),
    "activation": ("none", "silu", "gelu", "gelu_tanh", "relu", "relu2"),
    "gate": ("none", "concat", "interleaved"),
    "result": ("own", "f32"),
    "groups": (
        ("offsets", "i32"),
        ("offsets", "i64"),
        ("sizes", "i32"),
        ("sizes", "i64"),
    ),
    "scale": (None, "f32", "own"),
    "scatter": (None, "i32", "i64"),
    "rows": ("dynamic", "static"),
    "form": ("tensor", "memref"),
    # Rows before the first group (offsets only) and after the last one.
    "slack": (False, True),
    "n": ("auto", 8, 16, 24, 32, 64, 128, 256),
    "warpgroups": ("auto", 1, 2, 3),
    "slabs": ("auto", 1, 2),
    "stages": ("auto", 2, 3, 4, 6, 8, 10, 12),
}

MAX_WEIGHT_BYTES = 3 << 30
# What KernelPlan.cpp allows a block and a thread.
MAX_SHARED_BYTES = 227 * 1024
MAX_ACCUMULATORS = 160
# Four warpgroups of a block start with 128 registers a thread: ptxas gives up
# on one matrix instruction of more than 100 accumulators, and spills before.
MAX_ACCUMULATORS_OF_THREE = 80
SLAB_ROWS = 64


def _fits_memory(experts, depth, outputs):
    return experts * depth * outputs * 2 <= MAX_WEIGHT_BYTES


def _is_auto_or_not(*levels):
    return len({level == "auto" for level in levels}) == 1


def _has_aligned_gate(layout, gate, outputs):
    """TMA starts to read a row at a multiple of 16 bytes, and the up half of
    kn weights starts in the middle of the row."""
    return layout == "nk" or gate != "concat" or outputs % 16 == 0


def _has_gate_slabs(swapped, gate, slabs):
    if slabs == "auto" or not swapped or gate != "concat":
        return True
    return slabs % 2 == 0


def _has_gate_columns(swapped, gate, layout, n):
    if n == "auto" or swapped or gate != "concat":
        return True
    return n % (16 if layout == "nk" else 2 * SLAB_ROWS) == 0


def _has_kn_columns(swapped, layout, n):
    return n == "auto" or swapped or layout == "nk" or n % SLAB_ROWS == 0


def _fits_registers(n, slabs, warpgroups):
    if "auto" in (n, slabs, warpgroups):
        return True
    limit = MAX_ACCUMULATORS_OF_THREE if warpgroups == 3 else MAX_ACCUMULATORS
    return slabs * n // 2 <= limit


def _fits_shared_memory(n, warpgroups, slabs, stages, experts):
    if "auto" in (n, warpgroups, slabs, stages):
        return True
    stage = (SLAB_ROWS * warpgroups * slabs + n) * 128
    total = stages * (stage + 16) + (experts + 1) * 8
    return total <= MAX_SHARED_BYTES


# (factors, predicate on their levels, in that order).
CONSTRAINTS = (
    (("experts", "depth", "outputs"), _fits_memory),
    # TMA wants rows of a multiple of 16 bytes.
    (("outputs", "layout"), lambda n, layout: layout == "nk" or n % 8 == 0),
    (("layout", "gate", "outputs"), _has_aligned_gate),
    (("outputs", "gate"), lambda n, gate: gate == "none" or n % 2 == 0),
    (("tokens", "slack"), lambda tokens, slack: tokens != "none" or not slack),
    # A tensor op of no rows, known when compiling, folds: no kernel is left.
    (
        ("tokens", "rows", "form"),
        lambda *levels: levels != ("none", "static", "tensor"),
    ),
    (("n", "warpgroups"), _is_auto_or_not),
    (("n", "slabs"), _is_auto_or_not),
    (("n", "stages"), _is_auto_or_not),
    (("warpgroups", "slabs"), _is_auto_or_not),
    (("warpgroups", "stages"), _is_auto_or_not),
    (("slabs", "stages"), _is_auto_or_not),
    (("swapped", "gate", "slabs"), _has_gate_slabs),
    (("swapped", "gate", "layout", "n"), _has_gate_columns),
    (("swapped", "layout", "n"), _has_kn_columns),
    (("n", "slabs", "warpgroups"), _fits_registers),
    (
        ("n", "warpgroups", "slabs", "stages", "experts"),
        _fits_shared_memory,
    ),
)


# ===---------------------------------------------------------------------------
# Covering every pair
# ===---------------------------------------------------------------------------

_CONSTRAINTS_OF = {
    name: [c for c in CONSTRAINTS if name in c[0]] for name in FACTORS
}
# Where levels clash, soonest first: a search that follows it fails early.
_SEARCH_ORDER = (
    "n",
    "slabs",
    "warpgroups",
    "stages",
    "swapped",
    "gate",
    "layout",
    "outputs",
    "experts",
    "depth",
    "tokens",
    "slack",
    "rows",
    "form",
)


def _is_consistent(levels, name):
    """True if no constraint on `name` that `levels` decides is violated."""
    return all(
        predicate(*(levels[f] for f in factors))
        for factors, predicate in _CONSTRAINTS_OF[name]
        if all(f in levels for f in factors)
    )


def complete(levels, order=_SEARCH_ORDER, choose=None):
    """Extends a partial choice over the factors of `order`, or None if that is
    impossible. `choose(levels, name)` gives the levels to try, in order."""
    name = next((f for f in order if f not in levels), None)
    if name is None:
        return dict(levels)
    for level in choose(levels, name) if choose else FACTORS[name]:
        extended = {**levels, name: level}
        if _is_consistent(extended, name):
            found = complete(extended, order, choose)
            if found is not None:
                return found
    return None


def all_pairs():
    """Every pair of levels of two factors: ((factor, level), (factor, level))."""
    for first, second in itertools.combinations(FACTORS, 2):
        for levels in itertools.product(FACTORS[first], FACTORS[second]):
            yield (first, levels[0]), (second, levels[1])


def is_possible(pair):
    levels = dict(pair)
    return (
        all(_is_consistent(levels, name) for name in levels)
        and complete(levels) is not None
    )


def _pairs_of(levels):
    return itertools.combinations(
        [(name, levels[name]) for name in FACTORS if name in levels], 2
    )


def _candidate(seed_pair, uncovered, rng):
    """A full choice that holds `seed_pair`, greedy for uncovered pairs."""

    def choose(levels, name):
        def gain(level):
            return sum(
                _ordered(name, level, other, levels[other]) in uncovered
                for other in levels
            )

        shuffled = list(FACTORS[name])
        rng.shuffle(shuffled)
        return sorted(shuffled, key=gain, reverse=True)

    # Factors with constraints first: choices for the others never fail.
    others = [f for f in FACTORS if not _CONSTRAINTS_OF[f]]
    rng.shuffle(others)
    return complete(dict(seed_pair), _SEARCH_ORDER + tuple(others), choose)


_POSITION = {name: i for i, name in enumerate(FACTORS)}


def _ordered(first, first_level, second, second_level):
    pair = ((first, first_level), (second, second_level))
    return pair if _POSITION[first] < _POSITION[second] else pair[::-1]


def pairwise_choices(seed=0, candidates=4, at_least=160):
    """Full choices, as dicts, that cover every possible pair; once they do,
    random ones until there are enough."""
    rng = random.Random(seed)
    # A dict keeps the order of insertion; a set's order changes by process.
    uncovered = dict.fromkeys(p for p in all_pairs() if is_possible(p))
    result = []
    while uncovered:
        pairs = list(uncovered)
        best, best_gain = None, -1
        for _ in range(candidates):
            found = _candidate(rng.choice(pairs), uncovered, rng)
            gain = sum(p in uncovered for p in _pairs_of(found))
            if gain > best_gain:
                best, best_gain = found, gain
        for pair in _pairs_of(best):
            uncovered.pop(pair, None)
        result.append(best)
    possible = [p for p in all_pairs() if is_possible(p)]
    while len(result) < at_least:
        result.append(_candidate(rng.choice(possible), {}, rng))
    return result


# ===---------------------------------------------------------------------------
# Cases
# ===---------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Case:
    """One grouped matmul and the tokens of its experts."""

    id: str
    # See FACTORS for the values of all these.
    experts: int
    depth: int
    outputs: int
    tokens: object
    layout: str = "nk"
    swapped: bool = True
    dtype: str = "bf16"
    bias: object = None
    activation: str = "none"
    gate: str = "none"
    result: str = "own"
    groups: tuple = ("offsets", "i32")
    scale: object = None
    scatter: object = None
    rows: str = "dynamic"
    form: str = "tensor"
    slack: bool = False
    n: object = "auto"
    warpgroups: object = "auto"
    slabs: object = "auto"
    stages: object = "auto"
    # Rows that the slabs of all warpgroups lack.
    short: int = 0
    # Tokens of each expert in place of what `tokens` says.
    fixed_counts: tuple = ()
    # (n, warpgroups, slabs, stages) of the groups of more than n tokens.
    large: tuple = ()

    def type_of(self, kind):
        return self.dtype if kind == "own" else kind

    @property
    def result_type(self):
        return self.type_of(self.result)

    @property
    def result_columns(self):
        return self.outputs // (1 if self.gate == "none" else 2)

    @property
    def group_kind(self):
        return self.groups[0]

    @property
    def group_type(self):
        return self.groups[1]

    @property
    def has_schedule(self):
        return self.n != "auto"

    @property
    def is_through_pass(self):
        """True if moe-swap-ab is to swap the op; False if it is written so."""
        return not self.has_schedule and sum(map(ord, self.id)) % 2 == 0

    def counts(self):
        """Tokens of each expert."""
        if self.fixed_counts:
            return list(self.fixed_counts)
        rng = random.Random("counts " + self.id)
        counts = [0] * self.experts
        if self.tokens == "mixed":
            pool = []
            while len(pool) < self.experts:
                pool += rng.sample(TOKEN_COUNTS, len(TOKEN_COUNTS))
            counts = pool[: self.experts]
        elif self.tokens == "one":
            counts[rng.randrange(self.experts)] = 211
        elif self.tokens == 0:
            counts = [5 * (i % 2) for i in range(self.experts)]
        elif self.tokens not in ("empty", "none"):
            for e in rng.sample(range(self.experts), min(3, self.experts)):
                counts[e] = self.tokens
        return counts

    @property
    def rows_before(self):
        return 3 if self.slack and self.group_kind == "offsets" else 0

    @property
    def rows_after(self):
        if self.slack:
            return 5
        # Only `none` is without rows.
        return 17 if self.tokens != "none" and not sum(self.counts()) else 0

    @property
    def num_rows(self):
        """R."""
        return self.rows_before + sum(self.counts()) + self.rows_after

    @property
    def num_result_rows(self):
        return self.num_rows + (5 if self.scatter else 0)

    def group_values(self, counts):
        """What the groups operand holds for these tokens of each expert."""
        if self.group_kind == "sizes":
            return list(counts)
        return list(itertools.accumulate(counts, initial=self.rows_before))

    def operands(self, num_rows=None, num_result_rows=None):
        """(name, element type, shape) of the operands, inputs first, in the
        order of the launch. Rows are those of this case unless given."""
        rows = self.num_rows if num_rows is None else num_rows
        result_rows = (
            self.num_result_rows if num_result_rows is None else num_result_rows
        )
        weights = (self.outputs, self.depth)
        if self.layout == "kn":
            weights = weights[::-1]
        entries = self.experts + (self.group_kind == "offsets")
        result = [
            ("tokens", self.dtype, (rows, self.depth)),
            ("weights", self.dtype, (self.experts,) + weights),
            ("groups", self.group_type, (entries,)),
        ]
        if self.bias:
            shape = (self.experts, self.outputs)
            result.append(("bias", self.type_of(self.bias), shape))
        if self.scale:
            result.append(("scale", self.type_of(self.scale), (rows,)))
        if self.scatter:
            result.append(("scatter", self.scatter, (rows,)))
        shape = (result_rows, self.result_columns)
        return result + [("result", self.result_type, shape)]

    def describe(self):
        """The levels that differ from the plainest case, in a line."""
        words = [
            f"E{self.experts} K{self.depth} N{self.outputs}",
            "tokens=" + ("fixed" if self.fixed_counts else str(self.tokens)),
            self.layout,
            "swapped" if self.swapped else "unswapped",
            self.dtype,
        ]
        if self.bias:
            words.append(f"bias={self.type_of(self.bias)}")
        if self.activation != "none":
            words.append(self.activation)
        if self.gate != "none":
            words.append(f"gate={self.gate}")
        words.append(f"-> {self.result_type}")
        words.append("{}:{}".format(*self.groups))
        for name in ("scale", "scatter"):
            if getattr(self, name):
                words.append(f"{name}={self.type_of(getattr(self, name))}")
        words.append(f"R={self.num_rows}:{self.rows}")
        words.append(self.form)
        if self.has_schedule:
            words.append(
                f"n={self.n} wg={self.warpgroups} slabs={self.slabs} "
                f"stages={self.stages}"
            )
        if self.large:
            words.append(
                "large n={} wg={} slabs={} stages={}".format(*self.large))
        return " ".join(words)


def row_ranges(case, groups, num_rows):
    """[first, end) of every expert, as the ops define it for any content of the
    groups operand: offsets are clamped to [0, R] and never descend; negative
    sizes are 0, and sizes end at R."""
    result = []
    if case.group_kind == "offsets":
        position = 0
        bounds = []
        for value in groups:
            position = max(position, min(max(value, 0), num_rows))
            bounds.append(position)
        return list(zip(bounds, bounds[1:]))
    position = 0
    for value in groups:
        end = min(position + max(value, 0), num_rows)
        result.append((position, end))
        position = end
    return result


def hostile_groups(case, num_rows, rng):
    """Contents of the groups operand that no correct program would pass."""
    entries = case.experts + (case.group_kind == "offsets")
    bits = int(case.group_type[1:])
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    # With 64 bits also what looks harmless in the lower 32.
    wild = [low, high, -1, num_rows + 1, low + 1, 2**31 - 1, -(2**31)]
    if bits == 64:
        wild += [2**32, 2**32 + 3, -(2**32) + 5, 2**63 - 2**31]

    def draw():
        if rng.random() < 0.4:
            return rng.choice(wild)
        return rng.randrange(-num_rows - 3, 2 * num_rows + 4)

    descending = sorted((draw() for _ in range(entries)), reverse=True)
    sets = [
        [draw() for _ in range(entries)],
        descending,
        [rng.choice((low, high)) for _ in range(entries)],
    ]
    # Every expert starts where a valid launch would, then one entry is wild.
    valid = case.group_values(case.counts())
    valid[rng.randrange(entries)] = rng.choice(wild)
    return sets + [valid]


def _shaped(case, element, shape):
    kind = "tensor" if case.form == "tensor" else "memref"
    dims = "x".join("?" if d < 0 else str(d) for d in shape)
    return f"{kind}<{dims}x{element}>"


def _attributes(case):
    result = []
    if case.layout == "kn":
        result.append("weight_layout = #moe.weight_layout<kn>")
    if case.group_kind == "sizes":
        result.append("group_kind = #moe.group_kind<sizes>")
    if case.activation != "none" or case.gate != "none":
        gate = "" if case.gate == "none" else f", gate = {case.gate}"
        result.append(f"epilogue = #moe.epilogue<{case.activation}{gate}>")
    if not case.has_schedule:
        hint = max(1, max(case.counts()))
        result.append(f"expected_tokens = array<i64: {hint}>")
    else:
        m = SLAB_ROWS * case.warpgroups * case.slabs - case.short
        large = ""
        if case.large:
            n, warpgroups, slabs, stages = case.large
            large = (f", large = <m = {SLAB_ROWS * warpgroups * slabs}, n = {n}, "
                     f"k = 64, stages = {stages}, warpgroups = {warpgroups}>")
        result.append(
            f"schedule = #moe.schedule<m = {m}, n = {case.n}, k = 64, "
            f"stages = {case.stages}, warpgroups = {case.warpgroups}{large}>"
        )
    return result


def mlir_text(case):
    """A function @main in destination style: the result's destination is the
    last argument."""
    if case.rows == "dynamic":
        operands = case.operands(-1, -1)
    else:
        operands = case.operands()
    types = {name: _shaped(case, t, shape) for name, t, shape in operands}
    is_swapped_op = case.swapped and not case.is_through_pass
    attributes = _attributes(case)
    if is_swapped_op:
        attributes += [
            "token_order = #moe.order<row_major>",
            "result_order = #moe.order<row_major>",
        ]
    name = "moe.grouped_matmul" + ("_swapped" if is_swapped_op else "")
    first = ("weights", "tokens") if is_swapped_op else ("tokens", "weights")
    inputs = first + ("groups",)
    lines = [
        "{} {{{}}}".format(name, ", ".join(attributes))
        if attributes
        else name,
        "    ins({} : {})".format(
            ", ".join("%" + i for i in inputs),
            ", ".join(types[i] for i in inputs),
        ),
    ]
    for optional in ("bias", "scale", "scatter"):
        if optional in types:
            lines.append(f"    {optional}(%{optional} : {types[optional]})")
    arguments = ", ".join(f"%{name}: {type}" for name, type in types.items())
    result = types["result"]
    outs = f"    outs(%result : {result})"
    if case.form == "memref":
        head = f"func.func @main({arguments}) {{"
        lines.append(outs)
        tail = "  return"
    else:
        head = f"func.func @main({arguments}) -> {result} {{"
        lines[0] = "%0 = " + lines[0]
        lines.append(f"{outs} -> {result}")
        tail = f"  return %0 : {result}"
    return "\n".join([head] + ["  " + line for line in lines] + [tail, "}", ""])


def compile_options(case):
    """Options of moe-compile beside target, format and output."""
    return ["--swap=always" if case.swapped else "--swap=never"]


def job(case):
    """What `programs.compile_all` takes."""
    return {"name": case.id, "text": mlir_text(case),
            "options": compile_options(case)}


def case_of(fields):
    """The case of a dict that came through JSON."""
    tuples = ("groups", "fixed_counts", "large")
    return Case(**{**fields, **{name: tuple(fields[name]) for name in tuples}})


def _special_cases():
    """What no pair asks for."""
    # 3.0e9 weights, 6 GB: element offsets beyond 2^31.
    yield Case("big-weights", 256, 2048, 5760, "mixed")
    yield Case("big-weights-kn", 256, 2048, 5760, "mixed", layout="kn",
               swapped=False, groups=("sizes", "i64"), form="memref")
    # 2.2e9 results and R itself large.
    yield Case("big-result", 8, 64, 5760, None, dtype="f16",
               fixed_counts=(1, 100000, 0, 90001, 63, 64, 150000, 40001))
    # Slabs that are not full: of one warpgroup, of two, and the second of two;
    # the last tile of an expert full, partial, and less than the rows of one
    # warpgroup. As many stages as fit: the last slab ends behind them.
    for i, (tile, more) in enumerate(itertools.product(
            (dict(warpgroups=1, slabs=1, short=24, stages=32),
             dict(warpgroups=1, slabs=1, short=8, stages=2),
             dict(warpgroups=2, slabs=1, short=48, stages=18),
             dict(warpgroups=2, slabs=1, short=32, stages=4),
             dict(warpgroups=2, slabs=2, short=80, stages=9)),
            (dict(n=8, outputs=1760, depth=2048, experts=8),
             dict(n=16, outputs=200, depth=200, experts=60, dtype="f16",
                  result="f32", bias="f32", scatter="i32", scale="own"),
             dict(n=8, outputs=72, depth=768, experts=1, bias="own",
                  gate="interleaved", activation="silu"),
             dict(n=16, outputs=5760, depth=72, experts=8,
                  groups=("sizes", "i64"))))):
        fixed = [(0, 1, 7, 8, 9, 17, 65, 3)[e % 8] for e in range(more["experts"])]
        yield Case(f"partial-slab-{i}", tokens=None, fixed_counts=tuple(fixed),
                   **tile, **more)
    # Large groups: with more warpgroups than the others have, or fewer, and with
    # more than one tile; all of them, none of them, and more tiles than blocks.
    plain = dict(n=64, warpgroups=1, slabs=1, stages=12, large=(152, 2, 2, 4))
    for i, fields in enumerate((
            dict(plain, experts=128, depth=768, outputs=1536),
            dict(plain, experts=60, depth=200, outputs=400, groups=("sizes", "i32"),
                 gate="interleaved", activation="silu", scale="own", scatter="i64"),
            dict(plain, experts=8, depth=2048, outputs=5760, large=(160, 1, 2, 5),
                 layout="kn", bias="own", dtype="f16"),
            dict(plain, experts=300, depth=64, outputs=72, n=8, stages=8,
                 large=(256, 2, 1, 4), result="f32"),
            dict(plain, experts=8, depth=768, outputs=1536, gate="concat",
                 activation="gelu", warpgroups=2, slabs=2, n=16, stages=4),
            dict(plain, experts=300, depth=200, outputs=200, groups=("sizes", "i64"),
                 bias="f32", result="f32"),
            dict(plain, experts=60, depth=72, outputs=208, gate="interleaved",
                 activation="silu", bias="own", scale="f32", scatter="i32"),
            dict(plain, experts=60, depth=2048, outputs=200, layout="kn"),
            dict(plain, experts=8, depth=768, outputs=5760, gate="concat",
                 activation="gelu", warpgroups=2, slabs=2, n=16, stages=4,
                 dtype="f16"),
            dict(experts=60, depth=200, outputs=1536, n=8, warpgroups=2, slabs=1,
                 short=48, stages=12, large=(256, 2, 1, 4), scatter="i64"),
            dict(experts=60, depth=768, outputs=200, n=16, warpgroups=2, slabs=1,
                 stages=6, large=(160, 1, 2, 5), groups=("offsets", "i64"),
                 scale="own"),
            dict(experts=1024, depth=64, outputs=72, n=8, warpgroups=1, slabs=1,
                 stages=2, large=(24, 1, 1, 3), form="memref"),
            dict(experts=8, depth=8, outputs=33, n=8, warpgroups=3, slabs=1,
                 stages=4, large=(16, 1, 1, 2)))):
        sizes = (0, 1, 8, 9, 64, 65, 16, 17, 152, 153, 300, 640, 24, 25, 7)
        fixed = tuple(sizes[(e + i) % len(sizes)] if e % 3 else 3 * e % 19
                      for e in range(fields["experts"]))
        yield Case(f"large-groups-{i}", tokens=None, fixed_counts=fixed, **fields)
    for name, fixed in (("all", (65, 400, 152, 153)), ("none", (64, 1, 0, 63)),
                        ("one", (0, 0, 20000, 0))):
        yield Case(f"large-groups-{name}", 4, 768, 1536, None, fixed_counts=fixed,
                   **plain)


def sanitizer_cases():
    """Small cases in which every part of the kernel runs, and every barrier
    goes through more than one phase."""
    plain = dict(experts=3, depth=200, outputs=72, tokens=None)
    counts = (9, 0, 70)
    variants = [
        dict(),
        dict(n=8, warpgroups=1, slabs=1, stages=2),
        dict(n=64, warpgroups=2, slabs=1, stages=3),
        dict(n=16, warpgroups=3, slabs=1, stages=4),
        dict(n=32, warpgroups=1, slabs=2, stages=2, outputs=200),
        dict(layout="kn", n=8, warpgroups=1, slabs=1, stages=2),
        dict(layout="kn", n=24, warpgroups=2, slabs=2, stages=3, outputs=200),
        dict(swapped=False),
        dict(swapped=False, n=64, warpgroups=1, slabs=1, stages=2),
        dict(swapped=False, n=24, warpgroups=2, slabs=1, stages=3),
        dict(swapped=False, layout="kn", n=64, warpgroups=1, slabs=1, stages=2),
        dict(swapped=False, layout="kn", n=128, warpgroups=2, slabs=1, stages=3,
             gate="concat", activation="silu", outputs=208),
        dict(gate="concat", activation="silu", n=16, warpgroups=1, slabs=2,
             stages=2),
        dict(gate="concat", activation="gelu", layout="kn", outputs=80),
        dict(gate="interleaved", activation="gelu_tanh", n=16, warpgroups=1,
             slabs=1, stages=2, bias="f32"),
        dict(gate="interleaved", activation="relu", swapped=False, n=32,
             warpgroups=1, slabs=1, stages=2, bias="own"),
        dict(scale="f32", scatter="i32", bias="own", activation="relu2"),
        dict(scale="own", scatter="i64", swapped=False, result="f32"),
        dict(groups=("sizes", "i64"), result="f32", outputs=33),
        dict(groups=("sizes", "i32"), dtype="f16", slack=True),
        dict(groups=("offsets", "i64"), dtype="f16", slack=True, depth=64),
        dict(depth=8, outputs=8, experts=60,
             fixed_counts=tuple(i % 3 for i in range(60))),
        dict(dtype="f16", layout="kn", bias="f32", depth=72, outputs=192),
        dict(depth=768, n=8, warpgroups=1, slabs=1, stages=12),
        dict(n=8, warpgroups=1, slabs=1, short=24, stages=2, outputs=208),
        dict(n=16, warpgroups=2, slabs=2, short=80, stages=3, outputs=200),
        dict(n=8, warpgroups=1, slabs=1, stages=4, large=(24, 2, 1, 2),
             outputs=200, fixed_counts=(8, 50, 9)),
        dict(n=16, warpgroups=2, slabs=1, stages=2, large=(48, 1, 1, 3),
             outputs=200, scatter="i32", fixed_counts=(90, 16, 17)),
        dict(n=8, warpgroups=1, slabs=1, stages=3, large=(64, 2, 1, 2),
             outputs=400, fixed_counts=(8, 70, 0)),
    ]
    plain.update(fixed_counts=counts)
    forms = itertools.cycle(("tensor", "memref"))
    return [
        Case(f"s{i:02}", **{**plain, "form": form, **variant})
        for i, (variant, form) in enumerate(zip(variants, forms))
    ]


def all_cases():
    """The cases that cover all pairs, then the special ones."""
    covering = [
        Case(f"{i:03}", **choice) for i, choice in enumerate(pairwise_choices())
    ]
    return covering + list(_special_cases())


def select(cases, words):
    """The cases that one of the words names: an id, a range of ids A-B, or
    FACTOR=LEVEL; all cases if there are no words. Unknown names are errors."""
    if not words:
        return list(cases)
    chosen = []
    for word in words:
        name, equals, level = word.partition("=")
        low, dash, high = word.partition("-")
        if equals:
            found = [c for c in cases if str(getattr(c, name)) == level]
        elif dash and low.isdigit() and high.isdigit():
            found = [c for c in cases if c.id.isdigit() and
                     int(low) <= int(c.id) <= int(high)]
        else:
            found = [c for c in cases if c.id == word]
        if not found:
            raise SystemExit(f"error: no case is selected by '{word}'")
        chosen += [c for c in found if c not in chosen]
    return sorted(chosen, key=list(cases).index)


# ===---------------------------------------------------------------------------
# Checks
# ===---------------------------------------------------------------------------


def check_coverage(cases):
    """(covered, impossible, missing) pairs. Judges the finished cases and
    shares nothing with the algorithm that made them but the constraints."""
    seen = set()
    for case in cases:
        if case.fixed_counts:
            continue
        levels = [(name, getattr(case, name)) for name in FACTORS]
        seen.update(itertools.combinations(levels, 2))
    covered, impossible, missing = [], [], []
    for pair in all_pairs():
        if pair in seen:
            covered.append(pair)
        elif not is_possible(pair):
            impossible.append(pair)
        else:
            missing.append(pair)
    return covered, impossible, missing


def _broken_constraints(case):
    return [
        factors
        for factors, predicate in CONSTRAINTS
        if not predicate(*(getattr(case, f) for f in factors))
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--mlir", action="store_true")
    parser.add_argument("ids", nargs="*")
    args = parser.parse_args()
    cases = all_cases()
    if args.check:
        covering = [c for c in cases if c.id.isdigit()]
        covered, impossible, missing = check_coverage(covering)
        broken = [c.id for c in covering if _broken_constraints(c)]
        for pair in impossible:
            print("impossible:", *("{}={}".format(*p) for p in pair))
        for pair in missing:
            print("MISSING:", *("{}={}".format(*p) for p in pair))
        print(
            f"{len(covering)} cases, {len(covered)} pairs covered, "
            f"{len(impossible)} impossible, {len(missing)} missing, "
            f"{len(broken)} cases break a constraint"
        )
        return 1 if missing or broken or len(covering) < 150 else 0
    selected = select(cases + sanitizer_cases(), args.ids)
    if args.mlir:
        print("// -----\n".join(mlir_text(c) for c in selected), end="")
    else:
        for case in selected:
            print(case.id, case.describe())
    return 0


if __name__ == "__main__":
    sys.exit(main())
