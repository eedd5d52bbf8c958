# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the benchmark runs: memory, results to compare with, and time; here by
PyTorch. driver_gpu.py does without. Both also run on the fake driver of the unit
tests, to try the scripts themselves."""

import ctypes
import math
import os
import statistics
import subprocess
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(_HERE, "..", "test", "Integration", "GPU"))
import programs

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

# A kernel of 16-bit operands with f32 sums differs from f32 by the rounding of
# its result: 2^-9 for bf16.
LIMIT = 5e-3
# What one graph takes at least, so that its launch and the events do not count.
GRAPH_MICROSECONDS = 1000
MAX_ROUNDS = 16


class Gpu:
    """The way to time, which is the same for everybody."""

    def time(self, calls, milliseconds=200, worth=math.inf):
        """Median microseconds of a call, of replays of a graph that goes through
        all calls, often enough to last a while. What takes more than `worth`
        microseconds a call at first is not timed further."""
        for call in calls:
            call()
        self.synchronize()
        graph = self.capture(calls)
        graph()
        once = graph()
        if once > worth * len(calls):
            return once / len(calls)
        rounds = math.ceil(GRAPH_MICROSECONDS / max(once, 1))
        rounds = max(1, min(MAX_ROUNDS, rounds))
        if rounds > 1:
            graph = self.capture(calls * rounds)
            graph()
        count = int(milliseconds * 1e3 / max(once * rounds, 1))
        times = [graph() for _ in range(max(3, min(25, count)))]
        return statistics.median(times) / rounds / len(calls)

    def check(self, calls, results, expected):
        """The largest relative error of the first results. A call returns its
        result, or None if it wrote the one of `results`."""
        worst = 0.0
        for call, result, reference in zip(calls, results, expected):
            found = call()
            self.synchronize()
            error = self.error(result if found is None else found, reference)
            if not error < LIMIT:
                raise ValueError(f"wrong: relative error {error:.3g}")
            worst = max(worst, error)
        return worst


# ===---------------------------------------------------------------------------
# With PyTorch
# ===---------------------------------------------------------------------------


class TorchGpu(Gpu):
    device = "cuda"

    def __init__(self, torch, runtime, seed):
        self.torch, self.runtime = torch, runtime
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        self.dtypes = {"bf16": torch.bfloat16, "f16": torch.float16,
                       "i32": torch.int32}
        self.generator = torch.Generator(device=self.device).manual_seed(seed)
        self.prepare()

    def prepare(self):
        # Graphs are not captured on the default stream.
        self.stream = self.torch.cuda.Stream()
        self.torch.cuda.set_stream(self.stream)

    def versions(self):
        return {"torch": self.torch.__version__, "cuda": self.torch.version.cuda,
                "triton": triton.__version__ if triton else None}

    def empty(self, shape, element):
        return self.torch.empty(shape, dtype=self.dtypes[element],
                                device=self.device)

    def normal(self, shape, element, deviation=1.0):
        result = self.empty(shape, element)
        # By expert: some generators need as much memory again.
        for part in result if len(shape) == 3 else [result]:
            part.normal_(std=deviation, generator=self.generator)
        return result

    def offsets(self, bounds):
        result = self.empty((len(bounds),), "i32")
        result.copy_(self.torch.tensor(bounds, dtype=self.torch.int32))
        return result

    def poison(self, tensor):
        tensor.fill_(float("nan"))

    def address(self, tensor):
        return tensor.data_ptr()

    def expected(self, x, w, counts, layout):
        """In float32."""
        pieces, first = [], 0
        for expert, count in enumerate(counts):
            if count:
                matrix = w[expert].float()
                matrix = matrix.T if layout == "nk" else matrix
                pieces.append(x[first : first + count].float() @ matrix)
            first += count
        return self.torch.cat(pieces)

    def error(self, found, expected):
        difference = self.torch.linalg.vector_norm(found.float() - expected)
        return float(difference / self.torch.linalg.vector_norm(expected))

    def launcher(self, program, buffers):
        return lambda: program.launch(
            buffers, self.torch.cuda.current_stream().cuda_stream)

    def synchronize(self):
        self.torch.cuda.synchronize()

    def release(self):
        self.torch.cuda.empty_cache()

    def capture(self, calls):
        """A function that replays a graph and returns its microseconds."""
        torch = self.torch
        graph = torch.cuda.CUDAGraph()
        # torch.cuda.graph would collect garbage each time.
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            for call in calls:
                call()
        finally:
            graph.capture_end()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

        def replay():
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            return start.elapsed_time(end) * 1e3
        return replay

    def read_ceiling(self):
        """Bytes a second at which the GPU reads, at best."""
        torch = self.torch
        data = torch.empty(1 << 30, dtype=torch.float32, device="cuda").normal_()
        size = data.numel() * 4
        best = size / (self.time([data.sum]) * 1e-6)
        for parameters in READ_PARAMETERS if triton else ():
            call = _triton_read(torch, data, *parameters)
            best = max(best, size / (self.time([call]) * 1e-6))
        return best

    def matrix_rate(self):
        """Operations a second of a large bf16 matmul."""
        torch = self.torch
        a, b = (torch.randn(8192, 8192, device="cuda").bfloat16()
                for _ in range(2))
        return 2 * 8192**3 / (self.time([lambda: a @ b]) * 1e-6)


READ_PARAMETERS = [(4096, 8, 8), (8192, 8, 8), (4096, 32, 8), (2048, 16, 4)]

if triton:

    @triton.jit
    def read_kernel(source, out, BLOCK: tl.constexpr, STEPS: tl.constexpr):
        total = tl.zeros((BLOCK,), tl.float32)
        first = tl.program_id(0).to(tl.int64) * (BLOCK * STEPS)
        for step in range(STEPS):
            total += tl.load(source + first + step * BLOCK + tl.arange(0, BLOCK))
        tl.store(out + tl.program_id(0), tl.sum(total))


def _triton_read(torch, data, block, steps, warps):
    """A call that reads all of `data`. Its size is a power of two, as are all
    blocks: no masks."""
    grid = data.numel() // (block * steps)
    out = torch.empty(grid, device="cuda")
    return lambda: read_kernel[(grid,)](data, out, BLOCK=block, STEPS=steps,
                                        num_warps=warps)


class EmulatedTorchGpu(TorchGpu):
    """The fake driver runs nothing; torch fills in the results."""

    device = "cpu"

    def prepare(self):
        self.memory = {}

    def launcher(self, program, buffers):
        x, w, off, y = (self.memory[b.data] for b in buffers)
        layout = "nk" if w.shape[2] == x.shape[1] else "kn"

        def launch():
            program.launch(buffers, None)
            y.copy_(self.expected(x, w, off.diff().tolist(), layout))
        return launch

    def empty(self, shape, element):
        size = math.prod(shape) * programs.ELEMENT_BYTES[element]
        address = self.runtime.malloc(size)
        raw = (ctypes.c_uint8 * size).from_address(address)
        dtype = self.dtypes[element]
        result = self.torch.frombuffer(raw, dtype=dtype).view(shape)
        self.memory[address] = result
        return result

    def synchronize(self):
        pass

    release = synchronize

    def time(self, calls, **timing):
        return super().time(calls[:2], **timing)

    def capture(self, calls):
        return lambda: 1e3 * len(calls)

    def read_ceiling(self):
        return 4.5e12

    def matrix_rate(self):
        return 790e12


# ===---------------------------------------------------------------------------
# The machine
# ===---------------------------------------------------------------------------

_QUERY = ["name", "driver_version", "pstate", "clocks.sm", "clocks.mem",
          "clocks.max.sm", "clocks.max.mem", "power.draw", "power.limit",
          "temperature.gpu"]


def nvidia_smi():
    """What nvidia-smi says now, or an empty dict."""
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=" + ",".join(_QUERY),
             "--format=csv,noheader"], capture_output=True, text=True)
    except OSError:
        return {}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return {}
    return dict(zip(_QUERY, (v.strip() for v in lines[0].split(","))))
