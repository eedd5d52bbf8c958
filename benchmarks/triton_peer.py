# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A grouped matmul in Triton, as a peer: tokens or weights as the rows of the
matrix instruction, operands read through pointers or by TMA, tuned.

A program computes one tile of an expert's result. Which one it finds in a list
that the host made for the counts beforehand; the time of making it is not
counted, which favours this peer. Tiles that share weights are next to each
other, so that those come from the L2 cache.

Kernels are compiled in worker processes, which leave them in Triton's cache on
disk; sizes are arguments, so one compiled kernel serves every shape.
"""

import collections
import concurrent.futures
import itertools
import math
import multiprocessing
import os

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

# Token tiles of an expert that go through its weights together.
GROUP = 8


@triton.jit
def grouped_matmul(x, w, y, tiles, K, N, BT: tl.constexpr, BN: tl.constexpr,
                   BK: tl.constexpr, SWAP: tl.constexpr, TMA: tl.constexpr,
                   EVEN_K: tl.constexpr):
    """x and w are tensor descriptors if TMA, else pointers."""
    entry = tiles + tl.program_id(0) * 4
    expert = tl.load(entry)
    first = tl.load(entry + 1)
    end = tl.load(entry + 2)
    # A multiple of BN; 16 is all that vector loads and stores want to know.
    column = tl.multiple_of(tl.load(entry + 3), 16)
    t = first + tl.arange(0, BT)
    n = column + tl.arange(0, BN)
    if not TMA:
        x_row = x + t.to(tl.int64)[:, None] * K
        w_row = w + (expert.to(tl.int64) * N + n)[:, None] * K
    if SWAP:
        total = tl.zeros((BN, BT), tl.float32)
    else:
        total = tl.zeros((BT, BN), tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        # Rows of other experts and columns past the end only reach results
        # that are not stored; along K, what is missing counts as 0.
        if TMA:
            a = x.load([first, step * BK])
            b = w.load([expert * N + column, step * BK])
        else:
            at = step * BK + tl.arange(0, BK)
            mask_x = (t < end)[:, None]
            mask_w = (n < N)[:, None]
            if not EVEN_K:
                mask_x = mask_x & (at < K)[None, :]
                mask_w = mask_w & (at < K)[None, :]
            a = tl.load(x_row + at[None, :], mask=mask_x, other=0.0)
            b = tl.load(w_row + at[None, :], mask=mask_w, other=0.0)
        if SWAP:
            total = tl.dot(b, a.T, total)
        else:
            total = tl.dot(a, b.T, total)
    result = total.to(y.dtype.element_ty)
    if SWAP:
        tl.store(y + t.to(tl.int64)[None, :] * N + n[:, None], result,
                 mask=(t < end)[None, :] & (n < N)[:, None])
    else:
        tl.store(y + t.to(tl.int64)[:, None] * N + n[None, :], result,
                 mask=(t < end)[:, None] & (n < N)[None, :])


# ===---------------------------------------------------------------------------
# Configurations
# ===---------------------------------------------------------------------------

Config = collections.namedtuple(
    "Config", "swap tma tokens columns depth warps stages")

_TILES = [  # token tile, columns, depth, warps, stages
    (8, 64, 128, 4, 5), (8, 64, 256, 4, 3), (8, 128, 128, 4, 4),
    (16, 64, 64, 4, 8), (16, 64, 128, 4, 4), (16, 64, 128, 4, 6),
    (16, 64, 256, 4, 3), (16, 128, 64, 4, 5), (16, 128, 128, 4, 4),
    (16, 128, 128, 8, 5), (16, 256, 64, 8, 4),
    (32, 64, 128, 4, 4), (32, 64, 256, 4, 3), (32, 128, 64, 4, 5),
    (32, 128, 128, 4, 4), (32, 128, 128, 8, 4), (32, 256, 64, 8, 4),
    (64, 64, 128, 4, 4), (64, 128, 64, 4, 4), (64, 128, 128, 4, 3),
    (64, 128, 128, 8, 4), (64, 256, 64, 4, 4), (64, 256, 64, 8, 4),
    (128, 64, 64, 4, 5), (128, 128, 64, 4, 4), (128, 128, 64, 8, 4),
    (128, 128, 128, 8, 3), (128, 256, 64, 8, 3), (128, 256, 64, 8, 4),
    (256, 128, 64, 8, 3), (256, 128, 64, 8, 4),
]
CONFIGS = [Config(swap, tma, *tile) for tile, swap, tma
           in itertools.product(_TILES, (False, True), (False, True))
           # The fewest rows of a matrix instruction are 16.
           if swap or tile[0] >= 16]


def kind_of(config):
    return (f"{'swapped' if config.swap else 'unswapped'} "
            f"{'TMA' if config.tma else 'pointers'}")


def name_of(config):
    return (f"{kind_of(config)} {config.tokens}x{config.columns}x{config.depth} "
            f"w{config.warps} s{config.stages}")


def candidates(mean, largest):
    """The configurations for groups of such sizes: no token tile that is more
    than twice too large for all groups or far too small for the mean one."""
    upper = max(16, 2 * largest)
    lower = min(64, mean / 4)
    return [c for c in CONFIGS if lower <= c.tokens <= upper]


# ===---------------------------------------------------------------------------
# Compiling
# ===---------------------------------------------------------------------------

_TRITON_ELEMENT = {"bf16": "bf16", "f16": "fp16"}
IS_INTERPRETED = not hasattr(grouped_matmul, "cache_key")


def constants_of(config, k):
    # TMA fills with 0 whatever K is: one kernel for both.
    return {"BT": config.tokens, "BN": config.columns, "BK": config.depth,
            "SWAP": config.swap, "TMA": config.tma,
            "EVEN_K": config.tma or k % config.depth == 0}


def build(config, element, constants, arch):
    """Compiles, or takes from Triton's cache. Every argument is divisible by 16,
    which Triton would find itself at a launch."""
    element = _TRITON_ELEMENT[element]
    signature = {name: "constexpr" for name in constants}
    signature.update(x=f"*{element}", w=f"*{element}", y=f"*{element}",
                     tiles="*i32", K="i32", N="i32")
    aligned = ["y", "tiles", "K", "N"]
    if config.tma:
        signature["x"] = f"tensordesc<{element}[{config.tokens}, {config.depth}]>"
        signature["w"] = f"tensordesc<{element}[{config.columns}, {config.depth}]>"
    else:
        aligned += ["x", "w"]
    names = grouped_matmul.arg_names
    source = ASTSource(
        grouped_matmul, {name: signature[name] for name in names}, constants,
        {(names.index(name),): [["tt.divisibility", 16]] for name in aligned})
    return triton.compile(
        source, target=GPUTarget("cuda", arch, 32),
        options={"num_warps": config.warps, "num_stages": config.stages})


def _build_in_worker(*arguments):
    build(*arguments)


class Kernels:
    """The compiled kernels of configurations, built ahead in the background."""

    def __init__(self, wanted, arch, workers=None):
        """wanted: (configurations, element, K)s."""
        self.arch, self.loaded, self.futures, self.pool = arch, {}, {}, None
        if IS_INTERPRETED:
            return
        self.pool = concurrent.futures.ProcessPoolExecutor(
            workers or min(16, os.cpu_count() or 1),
            mp_context=multiprocessing.get_context("spawn"))
        for configs, element, k in wanted:
            for config in configs:
                key = self._key(config, element, k)
                if key not in self.futures:
                    self.futures[key] = self.pool.submit(
                        _build_in_worker, config, element,
                        constants_of(config, k), arch)

    @staticmethod
    def _key(config, element, k):
        return config, element, constants_of(config, k)["EVEN_K"]

    def launcher(self, config, element, k):
        """Enqueues that kernel on the current stream: f(grid, arguments)."""
        constants = constants_of(config, k)
        if IS_INTERPRETED:
            return lambda grid, args: grouped_matmul[grid](*args, **constants)
        key = self._key(config, element, k)
        if key not in self.loaded:
            if key in self.futures:
                self.futures[key].result()
            self.loaded[key] = build(config, element, constants, self.arch)
        kernel = self.loaded[key]
        return lambda grid, args: kernel[grid](*args, *constants.values())

    def close(self):
        if self.pool:
            self.pool.shutdown(wait=False, cancel_futures=True)


# ===---------------------------------------------------------------------------
# Calls
# ===---------------------------------------------------------------------------


def tile_list(torch, device, counts, n, tokens, columns):
    """[tiles, 4] of (expert, first row, end row, first column). Token tiles of
    one expert are in groups; within a group they go through the columns side by
    side."""
    blocks = []  # expert, first row, end row, size of the group, place in it
    start, first = [], 0  # of the group of each block, in blocks
    for expert, count in enumerate(counts):
        rows = range(first, first + count, tokens)
        for g in range(0, len(rows), GROUP):
            group = rows[g : g + GROUP]
            start += [len(blocks)] * len(group)
            blocks += [(expert, row, first + count, len(group), i)
                       for i, row in enumerate(group)]
        first += count
    per_block = math.ceil(n / columns)
    block = torch.tensor(blocks, dtype=torch.int32)
    start = torch.tensor(start, dtype=torch.int32)
    column = torch.arange(per_block, dtype=torch.int32)
    place = (start[:, None] * per_block + column[None, :] * block[:, 3:4]
             + block[:, 4:5]).flatten().long()
    entries = torch.cat([
        block[:, None, :3].expand(-1, per_block, -1),
        (column * columns)[None, :, None].expand(len(blocks), -1, -1)], dim=2)
    result = torch.empty((len(place), 4), dtype=torch.int32)
    result[place] = entries.reshape(-1, 4)
    return result.to(device)


class Problem:
    """The inputs of a cell, for calls with any configuration."""

    def __init__(self, torch, device, element, w, inputs, counts):
        """inputs: (x, y)s; counts: tokens of each expert, for each of them."""
        self.torch, self.device, self.element, self.w = torch, device, element, w
        self.inputs, self.counts, self.lists = inputs, counts, {}

    def calls(self, kernels, config, number):
        """Calls for the first routings; each writes its y."""
        _, n, k = self.w.shape
        launch = kernels.launcher(config, self.element, k)
        return [self._call(launch, config, i, n, k) for i in range(number)]

    def _call(self, launch, config, i, n, k):
        x, y = self.inputs[i]
        key = i, config.tokens, config.columns
        if key not in self.lists:
            self.lists[key] = tile_list(self.torch, self.device, self.counts[i],
                                        n, config.tokens, config.columns)
        tiles, w = self.lists[key], self.w
        if config.tma:
            x = _descriptor(x, config.tokens, config.depth)
            w = _descriptor(w.view(-1, k), config.columns, config.depth)
        return lambda: launch((len(tiles), 1, 1), (x, w, y, tiles, k, n))


def _descriptor(matrix, rows, columns):
    from triton.tools.tensor_descriptor import TensorDescriptor
    return TensorDescriptor.from_tensor(matrix, [rows, columns])
