# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The C ABI as ctypes sees it: structure layouts, status codes, messages.
#
# RUN: %python %s %moe_obj_root
# A library with ASan does not load into a Python without it.
# UNSUPPORTED: asan

import ctypes
import os
import sys

build = sys.argv[1]
os.environ["MOE_CUDA_DRIVER"] = (
    build + "/unittests/Runtime/libMoEFakeCudaDriver.so"
)
runtime = ctypes.CDLL(build + "/lib/libMoERuntime.so")
runtime.moeRuntimeLastError.restype = ctypes.c_char_p
runtime.moeElementTypeName.restype = ctypes.c_char_p

BF16 = 3


class Buffer(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("element_type", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
    ]


class ArgumentInfo(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("element_type", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("access", ctypes.c_int32),
    ]


class DeviceInfo(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char * 256),
        ("major", ctypes.c_int32),
        ("minor", ctypes.c_int32),
        ("sm_count", ctypes.c_int32),
        ("max_shared_memory_per_block", ctypes.c_int32),
        ("total_memory", ctypes.c_uint64),
    ]


def check(status):
    assert status == 0, runtime.moeRuntimeLastError().decode()


device = DeviceInfo()
check(runtime.moeRuntimeDeviceInfo(0, ctypes.byref(device)))
assert device.name == b"Fake 0" and device.sm_count == 132
assert device.total_memory == 1 << 37

json = b"""{"abi": 1, "target": "sm_90a", "image": "a.ptx", "entry": "f",
  "arguments": [{"name": "x", "element_type": "bf16", "shape": [-1, 8],
                 "access": "readwrite"}],
  "launches": [{"kernel": "k", "grid": [["dim", 0, 0], 1, 1],
    "block": [32, 1, 1], "shared_memory": 0,
    "parameters": [{"kind": "buffer", "buffer": 0}]}]}"""
image = b"kernel k 8"
program = ctypes.c_void_p()
check(
    runtime.moeProgramLoadData(
        json,
        ctypes.c_size_t(len(json)),
        image,
        ctypes.c_size_t(len(image)),
        0,
        ctypes.byref(program),
    )
)

info = ArgumentInfo()
check(runtime.moeProgramArgument(program, 0, ctypes.byref(info)))
assert (info.name, info.element_type, info.access) == (b"x", BF16, 3)
assert info.dims[: info.rank] == [-1, 8]
assert runtime.moeElementTypeName(info.element_type) == b"bf16"

data = ctypes.c_void_p()
check(runtime.moeDeviceMalloc(0, ctypes.c_size_t(64), ctypes.byref(data)))
dims = (ctypes.c_int64 * 2)(4, 8)
args = (Buffer * 1)(Buffer(data.value, BF16, 2, dims))
check(runtime.moeProgramLaunch(program, args, 1, None))

dims[1] = 9
assert runtime.moeProgramLaunch(program, args, 1, None) == 1
assert runtime.moeRuntimeLastError() == (
    b"argument 0 'x': dimension 1 must be 8, found 9"
)

check(runtime.moeDeviceFree(0, data))
runtime.moeProgramDestroy(program)
