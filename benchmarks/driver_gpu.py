# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark's GPU where PyTorch is not installed: the CUDA driver through
ctypes. There are no peers then."""

import array
import ctypes
import os
import random
import struct

import gpu
import programs


class Memory:
    def __init__(self, address, shape, element):
        self.address, self.shape, self.element = address, shape, element


class DriverGpu(gpu.Gpu):
    """Some elements of each result are compared instead of all."""

    SAMPLES = 48
    # Random numbers for large tensors repeat; no expert's matrix of a power of
    # two elements begins at the same place as another's.
    BLOCK_ELEMENTS = (16 << 20) - 4096 + 8

    def __init__(self, runtime, seed, emulated=False):
        self.runtime, self.emulated = runtime, emulated
        self.rng = random.Random(seed)
        name = os.environ.get("MOE_CUDA_DRIVER", "libcuda.so.1")
        self.driver = ctypes.CDLL(name)
        self.stream = ctypes.c_void_p(runtime.create_stream().value)
        self.values = self._random_values()
        self.addresses = []
        # The context of the runtime, also for what is called here.
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context),
                   runtime.device)
        self._call("cuCtxPushCurrent_v2", context)

    def _call(self, name, *arguments):
        status = getattr(self.driver, name)(*arguments)
        if status:
            raise RuntimeError(f"{name} failed with status {status}")

    def _random_values(self):
        """bf16s with magnitudes of 0.5 to 2: two exponents, any mantissa."""
        high = bytes((0x3F if b & 1 else 0xBF) for b in range(256))
        block = bytearray(2 * self.BLOCK_ELEMENTS)
        block[0::2] = self.rng.randbytes(self.BLOCK_ELEMENTS)
        block[1::2] = self.rng.randbytes(self.BLOCK_ELEMENTS).translate(high)
        return bytes(block)

    def versions(self):
        return {"torch": None, "triton": None}

    def empty(self, shape, element):
        size = programs.bytes_of(element, shape)
        address = self.runtime.malloc(size)
        self.addresses.append(address)
        return Memory(address, shape, element)

    def normal(self, shape, element, deviation=1.0):
        """Not normal, and of deviation 1; f16 reads the same bits, of
        magnitudes 1.75 to 2."""
        result = self.empty(shape, element)
        size = programs.bytes_of(element, shape)
        for at in range(0, size, len(self.values)):
            part = self.values[: size - at]
            self.runtime.to_device(result.address + at, part, self.stream)
        return result

    def offsets(self, bounds):
        result = self.empty((len(bounds),), "i32")
        self.runtime.to_device(result.address, array.array("i", bounds),
                               self.stream)
        return result

    def poison(self, tensor):
        size = programs.bytes_of(tensor.element, tensor.shape)
        self.runtime.check(self.runtime.library.moeDeviceMemset(
            self.runtime.device, ctypes.c_void_p(tensor.address), 0xFF,
            ctypes.c_size_t(size), self.stream))

    def address(self, tensor):
        return tensor.address

    def _read(self, tensor, at, count, stride=1):
        """Elements as floats."""
        size = (count - 1) * stride * 2 + 2
        raw = self.runtime.to_host(tensor.address + 2 * at, size, self.stream)
        bits = array.array("H", raw)[::stride]
        if tensor.element == "bf16":
            wide = array.array("I", (b << 16 for b in bits)).tobytes()
            return array.array("f", wide)
        return struct.unpack(f"{count}e", bits.tobytes())

    def expected(self, x, w, counts, layout):
        """{element of the result: value}, in double precision."""
        rows, k = x.shape
        n = w.shape[1] if layout == "nk" else w.shape[2]
        owners = [e for e, count in enumerate(counts) for _ in range(count)]
        result = {}
        for _ in range(self.SAMPLES):
            row, column = self.rng.randrange(rows), self.rng.randrange(n)
            matrix = owners[row] * n * k
            tokens = self._read(x, row * k, k)
            if layout == "nk":
                weights = self._read(w, matrix + column * k, k)
            else:
                weights = self._read(w, matrix + column, k, stride=n)
            result[row * n + column] = sum(a * b for a, b in zip(tokens, weights))
        return result

    def error(self, found, expected):
        """By the largest value: what cancels to near 0 has no relative error."""
        if self.emulated:
            return 0.0
        scale = max(abs(v) for v in expected.values())
        return max(abs(self._read(found, at, 1)[0] - value) / scale
                   for at, value in expected.items())

    def launcher(self, program, buffers):
        return lambda: program.launch(buffers, self.stream)

    def synchronize(self):
        self.runtime.synchronize(self.stream)

    def release(self):
        for address in self.addresses:
            self.runtime.free(address)
        self.addresses = []

    def capture(self, calls):
        thread_local = 1  # CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        graph, replayable = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuStreamBeginCapture_v2", self.stream, thread_local)
        try:
            for call in calls:
                call()
        finally:
            self._call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self._call("cuGraphInstantiateWithFlags", ctypes.byref(replayable),
                   graph, ctypes.c_ulonglong(0))
        self._call("cuGraphDestroy", graph)
        events = ctypes.c_void_p(), ctypes.c_void_p()
        for event in events:
            self._call("cuEventCreate", ctypes.byref(event), 0)

        def replay():
            self._call("cuEventRecord", events[0], self.stream)
            self._call("cuGraphLaunch", replayable, self.stream)
            self._call("cuEventRecord", events[1], self.stream)
            self.synchronize()
            result = ctypes.c_float()
            self._call("cuEventElapsedTime", ctypes.byref(result), *events)
            return result.value * 1e3
        return replay

    def read_ceiling(self):
        """Half of what a copy moves in a second is all that can be measured
        here; reading alone is somewhat faster."""
        size = 1 << 20 if self.emulated else 2 << 30
        source, target = (self.runtime.malloc(size) for _ in range(2))
        copy = lambda: self._call(
            "cuMemcpyDtoDAsync_v2", ctypes.c_void_p(target),
            ctypes.c_void_p(source), ctypes.c_size_t(size), self.stream)
        try:
            return 2 * size / (self.time([copy]) * 1e-6)
        finally:
            self.runtime.free(source)
            self.runtime.free(target)

    def matrix_rate(self):
        return None
