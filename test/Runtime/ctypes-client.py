# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The C ABI as ctypes sees it: structure layouts, status codes, messages.
#
# RUN: %python %s %S/Inputs %moe_obj_root
# A library with ASan does not load into a Python without it.
# UNSUPPORTED: asan

import os
import sys
from ctypes import byref, c_int, c_size_t, c_void_p

inputs, build = sys.argv[1:]
sys.path.insert(0, inputs)
import moe_runtime

os.environ["MOE_CUDA_DRIVER"] = (
    build + "/unittests/Runtime/libMoEFakeCudaDriver.so"
)
runtime = moe_runtime.open_library(build)


def check(status):
    assert status == 0, runtime.moeRuntimeLastError().decode()


device = moe_runtime.DeviceInfo()
check(runtime.moeRuntimeDeviceInfo(0, byref(device)))
assert device.name == b"Fake 0" and device.sm_count == 132
assert device.total_memory == 1 << 37

json = b"""{"abi": 1, "target": "sm_90a", "image": "a.ptx", "entry": "f",
  "arguments": [{"name": "x", "element_type": "bf16", "shape": [-1, 8],
                 "access": "readwrite"}],
  "results": [0],
  "launches": [{"kernel": "k", "grid": [["dim", 0, 0], 1, 1],
    "block": [32, 1, 1], "shared_memory": 0,
    "parameters": [{"kind": "buffer", "buffer": 0}]}]}"""
image = b"kernel k 8"
program = c_void_p()
check(
    runtime.moeProgramLoadData(
        json,
        c_size_t(len(json)),
        image,
        c_size_t(len(image)),
        0,
        byref(program),
    )
)

info = moe_runtime.ArgumentInfo()
check(runtime.moeProgramArgument(program, 0, byref(info)))
assert (info.name, info.element_type, info.access) == (b"x", moe_runtime.BF16, 3)
assert info.dims[: info.rank] == [-1, 8]
assert runtime.moeElementTypeName(info.element_type) == b"bf16"

# The result is the operand, written in place.
count, argument = c_int(), c_int()
check(runtime.moeProgramNumResults(program, byref(count)))
assert count.value == 1
check(runtime.moeProgramResultArgument(program, 0, byref(argument)))
assert argument.value == 0

data = c_void_p()
check(runtime.moeDeviceMalloc(0, c_size_t(64), byref(data)))
args = (moe_runtime.Buffer * 1)(
    moe_runtime.buffer(data.value, moe_runtime.BF16, 4, 8)
)
check(runtime.moeProgramLaunch(program, args, 1, None))

args[0] = moe_runtime.buffer(data.value, moe_runtime.BF16, 4, 9)
assert runtime.moeProgramLaunch(program, args, 1, None) == 1
assert runtime.moeRuntimeLastError() == (
    b"argument 0 'x': dimension 1 must be 8, found 9"
)

check(runtime.moeDeviceFree(0, data))
runtime.moeProgramDestroy(program)
