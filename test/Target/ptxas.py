# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles a kernel of every combination of orientation, weight layout, type,
gate and schedule, and the largest schedules with every operand there is, and
fails if ptxas serializes WGMMA (a warning C75xx) or spills a register.
"""
#
# REQUIRES: ptxas
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %ptxas %t

import concurrent.futures
import itertools
import os
import pathlib
import re
import subprocess
import sys

EXPERTS, K, N = 4, 128, 512
GATES = ("none", "concat")
# What KernelPlan::readSchedule accepts, by the number of warpgroups.
MAX_ACCUMULATORS = {1: 160, 2: 160, 3: 80}


def largest_schedules(swapped):
    """Of as many accumulators as the compiler accepts, in the numbers of slabs
    that the passes choose. With three, which only a person asks for, a kernel
    with every operand spills 8 to 32 bytes in its epilogue."""
    for warpgroups, limit in MAX_ACCUMULATORS.items():
        for slabs in (1, 2):
            n = min(limit * 2 // slabs, 256) // 8 * 8
            m = 64 * warpgroups * slabs
            if swapped or n % 64 == 0:
                yield m, n, 2, warpgroups


def swapped_schedules(gate):
    """(m, n, stages, warpgroups); n is the token tile."""
    slabs = 2 if gate == "concat" else 1
    yield 64 * slabs, 8, 12, 1
    yield from ((64 * slabs, n, 2, 1) for n in (16, 64, 128, 256))
    yield from ((64 * slabs * 2, n, 2, 2) for n in (8, 32, 160))
    yield from ((64 * slabs * 3, n, 2, 3) for n in (8, 80))
    yield 128, 64, 4, 1


def unswapped_schedules(gate):
    """(m, n, stages, warpgroups); m is the token tile."""
    yield from ((64, n, 2, 1) for n in (128, 256))
    yield from ((128, n, 2, 2) for n in (128, 256))
    yield 192, 128, 2, 3
    yield 128, 128, 4, 1
    yield 256, 128, 2, 2
    if gate != "concat":
        yield 64, 64, 12, 1


def fits(m, n, stages, warpgroups):
    """What the compiler accepts: accumulators of a thread, shared memory."""
    accumulators = m // 64 // warpgroups * n // 2
    return (
        accumulators <= MAX_ACCUMULATORS[warpgroups]
        and stages * (m + n) * 128 < 220 << 10
    )


class Case:
    def __init__(self, swapped, layout, dtype, gate, schedule, is_full=False):
        self.swapped, self.layout, self.dtype = swapped, layout, dtype
        self.gate, self.schedule, self.is_full = gate, schedule, is_full

    def __str__(self):
        m, n, stages, warpgroups = self.schedule
        return (
            f"{'swapped' if self.swapped else 'unswapped'} {self.layout} "
            f"{self.dtype} gate={self.gate} m={m} n={n} stages={stages} "
            f"warpgroups={warpgroups}{' all operands' if self.is_full else ''}"
        )

    def function(self):
        m, n, stages, warpgroups = self.schedule
        inner = f"{N}x{K}" if self.layout == "nk" else f"{K}x{N}"
        columns = N if self.gate == "none" else N // 2
        x, w = f"memref<?x{K}x{self.dtype}>", f"memref<{EXPERTS}x{inner}x{self.dtype}>"
        off, y = f"memref<{EXPERTS + 1}xi32>", f"memref<?x{columns}x{self.dtype}>"
        more, more_arguments = "", ""
        if self.is_full:
            y = f"memref<?x{columns}xf32>"
            bias = f"memref<{EXPERTS}x{N}xf32>"
            scale, scatter = "memref<?xf32>", "memref<?xi64>"
            more = (
                f"bias(%b : {bias}) scale(%s : {scale})"
                f" scatter(%d : {scatter})"
            )
            more_arguments = f", %b: {bias}, %s: {scale}, %d: {scatter}"
        attributes = (
            f"weight_layout = #moe.weight_layout<{self.layout}>, schedule = "
            f"#moe.schedule<m = {m}, n = {n}, k = 64, stages = {stages}, "
            f"warpgroups = {warpgroups}>"
        )
        if self.gate != "none":
            attributes += (
                f", epilogue = #moe.epilogue<silu, gate = {self.gate}>"
            )
        operands, types = "%x, %w", f"{x}, {w}"
        op = "grouped_matmul"
        if self.swapped:
            op += "_swapped"
            operands, types = "%w, %x", f"{w}, {x}"
            attributes += (
                ", token_order = #moe.order<row_major>"
                ", result_order = #moe.order<row_major>"
            )
        return (
            f"%x: {x}, %w: {w}, %off: {off}, %y: {y}{more_arguments}",
            f"moe.{op} {{{attributes}}} ins({operands}, %off : {types}, {off}) "
            f"{more} outs(%y : {y})",
        )


def assemble(ptxas, folder, number, cases):
    """Compiles `cases` to one image; what ptxas says of each, with the case."""
    arguments, ops = [], []
    for i, case in enumerate(cases):
        signature, op = case.function()
        arguments.append(re.sub(r"%(\w+)", rf"%\g<1>{i}", signature))
        ops.append(re.sub(r"%(\w+)", rf"%\g<1>{i}", op))
    text = "func.func @f(%s) {\n%s\nreturn\n}\n" % (
        ", ".join(arguments),
        "\n".join(ops),
    )
    ptx = folder / f"{number}.ptx"
    subprocess.run(
        ["moe-compile", "-", "-o", str(ptx)], input=text, text=True, check=True
    )
    run = subprocess.run(
        [ptxas, "-arch=sm_90a", "-v", "-o", os.devnull, str(ptx)],
        capture_output=True,
        text=True,
    )
    log = run.stdout + run.stderr
    faults = re.findall(r".*\bC75\d\d\b.*", log)
    if run.returncode:
        faults.append(log)
    kernels = re.findall(
        r"Compiling entry function '(\w+?)_(\d+)'.*?"
        r"(\d+) bytes spill stores, (\d+) bytes spill loads.*?"
        r"Used (\d+) registers",
        log,
        re.DOTALL,
    )
    spills = {int(index): (int(a), int(b)) for _, index, a, b, _ in kernels}
    assert sorted(spills) == list(range(len(cases))), log
    return faults, [(case, spills[i]) for i, case in enumerate(cases)]


def main():
    ptxas, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    cases = [
        Case(swapped, layout, dtype, gate, schedule)
        for swapped, layout, dtype, gate in itertools.product(
            (True, False), ("nk", "kn"), ("bf16", "f16"), GATES
        )
        for schedule in (swapped_schedules if swapped else unswapped_schedules)(gate)
        if fits(*schedule)
    ]
    cases += [
        Case(swapped, "nk", "bf16", gate, schedule, is_full=True)
        for swapped, gate in itertools.product(
            (True, False), ("none", "interleaved")
        )
        for schedule in largest_schedules(swapped)
    ]
    chunks = [cases[i : i + 12] for i in range(0, len(cases), 12)]
    failed = False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(
            lambda chunk: assemble(ptxas, folder, *chunk), enumerate(chunks)
        )
        for faults, spills in results:
            for fault in faults:
                print(fault)
            for case, (stores, loads) in spills:
                if stores or loads:
                    print(f"{case}: spills {stores} bytes, reloads {loads}")
                    failed = True
            failed |= bool(faults)
    print(len(cases), "kernels")
    sys.exit(failed)


main()
