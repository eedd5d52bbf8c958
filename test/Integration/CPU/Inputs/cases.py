# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs grouped matmuls of many shapes and forms on the CPU.

usage: cases.py --shard I/N [--random M] DIRECTORY [-- moe-run options]

The cases cover every pair of values of the parameters below that may stand
together, with few rows and experts where the matrices are large; M random ones
are added. A case is a function that computes one grouped matmul in both
orientations from the same inputs; transposed operands and results of the
swapped one are transposed explicitly. `moe-run --check` compares both results
with the reference in double precision, and this script compares the two with
each other: bit for bit, because every result element is the same sum.
"""

import argparse
import itertools
import pathlib
import random
import subprocess
import sys

# Tokens of an expert.
TOKENS = [0, 1, 7, 8, 9, 17, 63, 64, 65, 129, 300]
PARAMETERS = {
    "experts": [1, 8, 60, 128, 256],
    "k": [8, 64, 72, 200, 768, 2048, 2880, 7168],
    "n": [8, 33, 64, 72, 192, 200, 1536, 5760],
    "tokens": TOKENS,
    "layout": ["nk", "kn"],
    "type": ["bf16", "f16", "f32"],
    "result": ["same", "f32"],
    "tokens_order": ["row_major", "transposed"],
    "result_order": ["row_major", "transposed"],
    "groups": ["offsets", "sizes"],
    "index": ["i32", "i64"],
    "rows": ["mixed", "one_expert", "empty", "none", "unowned"],
    "bias": ["none", "f32", "same"],
    "activation": ["none", "silu", "gelu", "gelu_tanh", "relu", "relu2"],
    "gate": ["none", "concat", "interleaved"],
    "gather": [False, True],
    "scale": [False, True],
    "scatter": [False, True],
    "dynamic": [False, True],
}
# What a case may cost: elements of all weights, and products. The largest
# matrix of one expert must be possible, with a tile of 8 tokens.
MAX_WEIGHTS = 7168 * 5760
MAX_PRODUCTS = 8 * MAX_WEIGHTS
MAX_ROWS = 2000


def allowed(case):
    """Whether a case, or a pair of values with all others as small as can be,
    may be: gated epilogues need an even N, without rows there are no tokens,
    and a case must not cost too much."""
    if case.get("gate", "none") != "none" and case.get("n", 8) % 2 != 0:
        return False
    if case.get("rows") in ("empty", "none") and case.get("tokens", 0) != 0:
        return False
    size = case.get("k", 8) * case.get("n", 8)
    return (
        case.get("experts", 1) * size <= MAX_WEIGHTS
        and case.get("tokens", 0) * size <= MAX_PRODUCTS
    )


def random_case(rng):
    while True:
        case = {name: rng.choice(values) for name, values in PARAMETERS.items()}
        if allowed(case):
            return case


def covered_pairs(case):
    """The pairs that a case tests: without rows, hardly anything runs."""
    pairs = set(itertools.combinations(case.items(), 2))
    if case["rows"] in ("empty", "none"):
        pairs = {pair for pair in pairs if "rows" in dict(pair)}
    return pairs


def cover(rng):
    """Cases that hold every allowed pair of values."""
    missing = set()
    for (a, left), (b, right) in itertools.combinations(PARAMETERS.items(), 2):
        for x, y in itertools.product(left, right):
            if allowed({a: x, b: y}):
                missing.add(((a, x), (b, y)))
    cases = []
    while missing:
        best, best_new, best_gain = None, None, 0
        seed = min(missing, key=repr)
        for _ in range(40):
            case = {name: rng.choice(values) for name, values in PARAMETERS.items()}
            case.update(dict(seed))
            if not allowed(case):
                continue
            new = missing & covered_pairs(case)
            # A case as large as can be has to be worth half a dozen small ones.
            weights = case["experts"] * case["k"] * case["n"]
            gain = len(new) / (1 + 5 * weights / MAX_WEIGHTS)
            if gain > best_gain:
                best, best_new, best_gain = case, new, gain
        if best is not None:
            cases.append(best)
            missing -= best_new
    return cases


def count_tokens(case, rng):
    """The tokens of each expert. In a mixed case some expert has those of the
    case, and the others all numbers in turn for which rows are left."""
    experts = case["experts"]
    counts = [0] * experts
    if case["rows"] in ("empty", "none"):
        return counts
    counts[0] = case["tokens"]
    if case["rows"] != "one_expert":
        left = min(MAX_ROWS, MAX_PRODUCTS // (case["k"] * case["n"])) - counts[0]
        for expert in range(1, experts):
            tokens = TOKENS[expert % len(TOKENS)]
            counts[expert] = tokens if tokens <= left else min(left, 1)
            left -= counts[expert]
    rng.shuffle(counts)
    return counts


class Function:
    """Builds the text of one function."""

    def __init__(self, case, rng):
        self.case, self.rng = case, rng
        self.arguments, self.body = [], []
        counts = count_tokens(case, rng)
        # Rows of no group keep `outs`: some before the first, some at the end.
        self.first = 3 if case["rows"] == "unowned" and case["groups"] == "offsets" else 0
        self.owned = sum(counts)
        self.rows = self.first + self.owned
        self.rows += {"unowned": 5, "empty": 11}.get(case["rows"], 0)
        self.counts = counts

    def argument(self, name, shape, element, dynamic=()):
        sizes = ["?" if d in dynamic and self.case["dynamic"] else s for d, s in enumerate(shape)]
        kind = f"tensor<{'x'.join(map(str, sizes + [element]))}>"
        self.arguments.append((name, shape, kind))
        return kind

    def constant(self, name, values):
        kind = f"tensor<{len(values)}x{self.case['index']}>"
        data = f"dense<{values}>" if values else "dense<>"
        self.body.append(f"%{name} = arith.constant {data} : {kind}")
        return kind

    def indices(self, bound, unique):
        """Row indices, among them some outside the operand."""
        low, high = (-2, -(2**31)), (bound, 2**31 - 1)
        if unique:
            inside = list(range(bound))
            self.rng.shuffle(inside)
            values = inside[: self.rows]
        else:
            values = [self.rng.randrange(bound) for _ in range(self.rows)]
        for i in range(0, self.rows, 6):
            values[i] = self.rng.choice(low + high)
        return values

    def transpose(self, name, source, kind, flipped):
        rows, cols = [s for s in kind[len("tensor<"):].split("x")[:2]]
        dims = []
        for d, size in ((1, cols), (0, rows)):
            if size == "?":
                self.body.append(f"%{name}_c{d} = arith.constant {d} : index")
                self.body.append(
                    f"%{name}_d{d} = tensor.dim %{source}, %{name}_c{d} : {kind}"
                )
                dims.append(f"%{name}_d{d}")
        self.body.append(f"%{name}_e = tensor.empty({', '.join(dims)}) : {flipped}")
        self.body.append(
            f"%{name} = linalg.transpose ins(%{source} : {kind}) "
            f"outs(%{name}_e : {flipped}) permutation = [1, 0]"
        )

    def emit(self):
        case, element = self.case, self.case["type"]
        experts, k, n = case["experts"], case["k"], case["n"]
        columns = n if case["gate"] == "none" else n // 2
        tokens = 13 if case["gather"] else self.rows
        targets = self.rows + 4 if case["scatter"] else self.rows
        result = element if case["result"] == "same" else "f32"

        x = self.argument("x", [tokens, k], element, {0})
        shape = [experts, n, k] if case["layout"] == "nk" else [experts, k, n]
        w = self.argument("w", shape, element)
        y = self.argument("y", [targets, columns], result, {0})
        ends = [self.first + s for s in itertools.accumulate([0] + self.counts)]
        g = self.constant("g", ends if case["groups"] == "offsets" else self.counts)
        optional = ""
        if case["bias"] != "none":
            kind = "f32" if case["bias"] == "f32" else element
            kind = self.argument("b", [experts, n], kind)
            optional += f" bias(%b : {kind})"
        if case["gather"]:
            kind = self.constant("ga", self.indices(tokens, False))
            optional += f" gather(%ga : {kind})"
        if case["scale"]:
            kind = self.argument("s", [self.rows], "f32", {0} if not case["gather"] else ())
            optional += f" scale(%s : {kind})"
        if case["scatter"]:
            kind = self.constant("sc", self.indices(targets, True))
            optional += f" scatter(%sc : {kind})"

        attributes = [
            f"weight_layout = #moe.weight_layout<{case['layout']}>",
            f"group_kind = #moe.group_kind<{case['groups']}>",
        ]
        if case["activation"] != "none" or case["gate"] != "none":
            attributes.append(
                f"epilogue = #moe.epilogue<{case['activation']}, gate = {case['gate']}>"
            )
        plain = ", ".join(attributes)
        self.body.append(
            f"%0 = moe.grouped_matmul {{{plain}}} ins(%x, %w, %g : {x}, {w}, {g})"
            f"{optional} outs(%y : {y}) -> {y}"
        )
        self.emit_swapped(attributes, (x, w, y, g), optional, (tokens, targets, columns))
        arguments = ", ".join(f"%{name}: {kind}" for name, _, kind in self.arguments)
        lines = "\n  ".join(self.body)
        return f"func.func @main({arguments}) -> ({y}, {y}) {{\n  {lines}\n}}\n"

    def emit_swapped(self, attributes, kinds, optional, sizes):
        x, w, y, g = kinds
        tokens, targets, columns = sizes
        case = self.case
        dynamic = case["dynamic"]
        tokens = "?" if dynamic else tokens
        targets = "?" if dynamic else targets
        tokens_name, tokens_kind, out_name, out_kind = "x", x, "y", y
        if case["tokens_order"] == "transposed":
            tokens_name, tokens_kind = "xt", f"tensor<{case['k']}x{tokens}x{case['type']}>"
            self.transpose("xt", "x", x, tokens_kind)
        if case["result_order"] == "transposed":
            element = y.rstrip(">").split("x")[-1]
            out_name, out_kind = "yt", f"tensor<{columns}x{targets}x{element}>"
            self.transpose("yt", "y", y, out_kind)
        attributes = attributes + [
            f"token_order = #moe.order<{case['tokens_order']}>",
            f"result_order = #moe.order<{case['result_order']}>",
        ]
        self.body.append(
            f"%1 = moe.grouped_matmul_swapped {{{', '.join(attributes)}}} "
            f"ins(%w, %{tokens_name}, %g : {w}, {tokens_kind}, {g}){optional} "
            f"outs(%{out_name} : {out_kind}) -> {out_kind}"
        )
        last = "1"
        if case["result_order"] == "transposed":
            last = "back"
            self.transpose("back", "1", out_kind, y)
        self.body.append(f"return %0, %{last} : {y}, {y}")


def run(number, case, directory, options):
    rng = random.Random(number)
    function = Function(case, rng)
    text = function.emit()
    path = directory / f"case{number}.mlir"
    path.write_text(f"// {case}\n{text}")
    results = [directory / f"case{number}.{i}.npy" for i in range(2)]
    command = ["moe-run", str(path), "--check", f"--seed={number}"]
    command += [f"--output={result}" for result in results]
    for name, shape, kind in function.arguments:
        if "?" in kind:
            command.append(f"--shape={name}={'x'.join(map(str, shape))}")
    done = subprocess.run(command + options, capture_output=True, text=True)
    if done.returncode != 0 or "check passed" not in done.stdout:
        print(f"FAILED {path}\n{case}\n{done.stdout}{done.stderr}")
        return False
    if results[0].read_bytes() != results[1].read_bytes():
        print(f"FAILED {path}: the two orientations differ\n{case}")
        return False
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shard", required=True)
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("options", nargs="*")
    arguments = parser.parse_args()
    shard, shards = map(int, arguments.shard.split("/"))
    arguments.directory.mkdir(parents=True, exist_ok=True)
    rng = random.Random(22)
    cases = cover(rng) + [random_case(rng) for _ in range(arguments.random)]
    chosen = list(enumerate(cases))[shard::shards]
    failed = [
        number
        for number, case in chosen
        if not run(number, case, arguments.directory, arguments.options)
    ]
    print(f"{len(chosen)} of {len(cases)} cases, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
