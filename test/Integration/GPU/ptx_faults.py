# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plants faults in the PTX of a grouped matmul kernel, to show that the tools
that watch it would find such faults.

Every edit is sure to have been applied: it raises PlantFailed if the PTX does
not look as expected.
"""

import re


class PlantFailed(Exception):
    """The PTX does not hold what the edit needs."""


_BARRIER = re.compile(r"^\s*(?:bar\.sync|barrier\.sync\.aligned|barrier\.sync)"
                      r"\s+0;\s*$", re.M)
_WAIT = re.compile(r"mbarrier\.try_wait\.parity\.\S+\s+(\w+),[^;]*;")


def _first_barrier(ptx):
    found = _BARRIER.search(ptx)
    if not found:
        raise PlantFailed("no barrier of the whole block in the PTX")
    return found


def _add_registers(ptx, declarations):
    """Declares registers at the start of the kernel's body."""
    found = re.search(r"^\{\s*$", ptx, re.M)
    if not found:
        raise PlantFailed("no body of a kernel in the PTX")
    return ptx[: found.end()] + "\n" + declarations + ptx[found.end() :]


def without_full_wait(ptx):
    """The consumers' waits for a full stage pass at once: the matrix unit reads
    a tile that TMA may not have written yet."""
    matrix = [m.start() for m in re.finditer(r"wgmma\.mma_async", ptx)]
    fences = [m.start() for m in re.finditer(r"wgmma\.fence", ptx)]
    if not matrix or not fences:
        raise PlantFailed("no matrix instruction in the PTX")
    loads = [m.start() for m in re.finditer(r"cp\.async\.bulk\.tensor", ptx)]
    pieces, end, edited = [], 0, 0
    for wait in _WAIT.finditer(ptx):
        def next_of(places):
            return min((p for p in places if p > wait.start()),
                       default=len(ptx))
        # Whose wait it is: that of who multiplies next, not who loads next.
        is_consumer = next_of(fences) < next_of(loads)
        if is_consumer:
            pieces += [ptx[end : wait.start()],
                       f"setp.eq.u32 {wait.group(1)}, 0, 0;"]
            end = wait.end()
            edited += 1
    if not edited:
        raise PlantFailed("no wait of a consumer in the PTX")
    return "".join(pieces) + ptx[end:]


def without_table_barrier(ptx):
    """The lanes of the producer warp do not wait for each other between making
    the group table and reading it."""
    found = re.search(r"bar\.warp\.sync\s+[^;]*;", ptx)
    if not found:
        raise PlantFailed("no barrier of a warp in the PTX")
    return ptx[: found.start()] + "\n" + ptx[found.end() :]


def foreign_table_write(ptx):
    """A thread of a consumer writes an entry of the group table again, which
    only the producer warp may touch, with the value that it finds there."""
    stores = re.findall(r"st\.shared\.(?:b|u)32\s+\[(\w+\+\d+)\],", ptx)
    if not stores:
        raise PlantFailed("no store to a fixed place of shared memory")
    ptx = _add_registers(
        ptx, "\t.reg .pred %moe_p;\n\t.reg .b32 %moe_r<2>;\n")
    found = _first_barrier(ptx)
    code = (
        "\n\tmov.u32 %moe_r0, %tid.x;"
        "\n\tsetp.eq.u32 %moe_p, %moe_r0, 32;"
        f"\n\t@%moe_p ld.volatile.shared.b32 %moe_r1, [{stores[-1]}];"
        f"\n\t@%moe_p st.volatile.shared.b32 [{stores[-1]}], %moe_r1;\n"
    )
    return ptx[: found.end()] + code + ptx[found.end() :]


def divergent_barrier(ptx):
    """Half of the lanes of warp 0 meet at a barrier that is for all of them."""
    ptx = _add_registers(
        ptx, "\t.reg .pred %moe_p;\n\t.reg .b32 %moe_r0;\n")
    found = _first_barrier(ptx)
    code = (
        "\n\tmov.u32 %moe_r0, %tid.x;"
        "\n\tsetp.lt.u32 %moe_p, %moe_r0, 16;"
        "\n\t@!%moe_p bra $L_moe_past;"
        "\n\tbar.sync 15, 32;"
        "\n$L_moe_past:\n"
    )
    return ptx[: found.end()] + code + ptx[found.end() :]


def half_block_barrier(ptx):
    """The barrier of the whole block is reached by half of each warp only."""
    ptx = _add_registers(
        ptx, "\t.reg .pred %moe_p;\n\t.reg .b32 %moe_r0;\n")
    found = _first_barrier(ptx)
    code = (
        "\n\tmov.u32 %moe_r0, %laneid;"
        "\n\tsetp.lt.u32 %moe_p, %moe_r0, 16;"
        "\n\t@!%moe_p bra $L_moe_past;"
        "\n\tbar.sync 0;"
        "\n$L_moe_past:\n"
    )
    return ptx[: found.start()] + code + ptx[found.end() :]


def uninitialized_barrier(ptx):
    """The first barrier of the ring is used but never initialized."""
    found = re.search(r"mbarrier\.init\.\S+\s+[^;]*;", ptx)
    if not found:
        raise PlantFailed("no mbarrier.init in the PTX")
    return ptx[: found.start()] + ptx[found.end() :]


def _same(text):
    return text


# Tool -> faults that it should find: (name, edit of the PTX, rows that the
# result's memory lacks).
PLANTS = {
    "memcheck": [("short-result", _same, 1)],
    "racecheck": [
        ("foreign-table-write", foreign_table_write, 0),
        ("no-full-wait", without_full_wait, 0),
        ("no-table-barrier", without_table_barrier, 0),
    ],
    "synccheck": [
        ("divergent-barrier", divergent_barrier, 0),
        ("half-block-barrier", half_block_barrier, 0),
        ("uninitialized-barrier", uninitialized_barrier, 0),
    ],
}
