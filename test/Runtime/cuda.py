# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Every kind of kernel parameter, memory, streams, timing and errors with a real
# driver and GPU.
#
# RUN: %python %s %S/Inputs %moe_obj_root
# REQUIRES: cuda-sm90
# A library with ASan does not load into a Python without it.
# UNSUPPORTED: asan

import sys
from ctypes import addressof, byref, sizeof
from ctypes import c_float, c_int32, c_size_t, c_void_p

inputs, build = sys.argv[1:]
sys.path.insert(0, inputs)
import moe_runtime

runtime = moe_runtime.open_library(build)
STREAM, GRAPH, RESTORE = 0, 1, 2


def check(status):
    assert status == 0, runtime.moeRuntimeLastError().decode()


def expect_error(status, expected, message):
    found = runtime.moeRuntimeLastError().decode()
    assert status == expected and message in found, (status, found)


def device_memory(count):
    data = c_void_p()
    check(runtime.moeDeviceMalloc(0, c_size_t(4 * count), byref(data)))
    return data


def to_device(data, values):
    host = (c_int32 * len(values))(*values)
    check(
        runtime.moeCopyToDevice(
            0, c_void_p(data), host, c_size_t(sizeof(host)), stream
        )
    )


def to_host(data, count):
    host = (c_int32 * count)()
    check(
        runtime.moeCopyToHost(
            0, host, c_void_p(data), c_size_t(sizeof(host)), stream
        )
    )
    return list(host)


def load(path):
    program = c_void_p()
    check(runtime.moeProgramLoad(path.encode(), 0, byref(program)))
    return program


def arguments(rows):
    return (moe_runtime.Buffer * 3)(
        moe_runtime.buffer(source if rows else None, moe_runtime.I32, rows, 32),
        moe_runtime.buffer(out, moe_runtime.I32, 4, 32),
        moe_runtime.buffer(counter, moe_runtime.I32, 1),
    )


def expected(values, rows):
    """The kernel's result: rows 4 to 7, zeros from `rows` on."""
    tile = (values[: rows * 32] + [0] * 256)[4 * 32 : 8 * 32]
    return [value * -3 + 4 for value in tile]


stream = c_void_p()
check(runtime.moeStreamCreate(0, byref(stream)))
out, counter, source = (device_memory(n).value for n in (128, 1, 256))
values = [7 * i - 500 for i in range(256)]
to_device(source, values)
check(runtime.moeDeviceMemset(0, c_void_p(counter), 0, c_size_t(4), stream))
program = load(inputs + "/copy_tile.json")

# All rows there, some beyond the end, all beyond it, an empty buffer.
for rows in (8, 6, 4, 0):
    check(runtime.moeDeviceMemset(0, c_void_p(out), 0x55, c_size_t(512), stream))
    check(runtime.moeProgramLaunch(program, arguments(rows), 3, stream))
    assert to_host(out, 128) == expected(values, rows), rows
assert to_host(counter, 1) == [4]

# Replays of a captured launch see new contents.
values = [-11 * i for i in range(256)]
to_device(source, values)
times = (c_float * 3)()
for mode, launches in ((STREAM, 1 + 3 * 10), (GRAPH, 1 + 10 + 3 * 10)):
    for on in (stream, None):
        check(runtime.moeDeviceMemset(0, c_void_p(counter), 0, c_size_t(4), stream))
        check(
            runtime.moeProgramTime(
                program, arguments(8), 3, on, mode, 3, 10, times
            )
        )
        assert all(0 < time < 1000 for time in times), list(times)
        assert to_host(out, 128) == expected(values, 8)
        assert to_host(counter, 1) == [launches], (mode, on)
        print("mode", mode, "us per launch", list(times))

# The counter is read and written: each sample starts from the same count, and
# what remains is that of one sample.
for mode in (STREAM, GRAPH):
    to_device(counter, [100])
    check(
        runtime.moeProgramTime(
            program, arguments(8), 3, stream, mode | RESTORE, 3, 10, times
        )
    )
    assert all(0 < time < 1000 for time in times), list(times)
    assert to_host(counter, 1) == [110], mode

# What the driver refuses comes with its reasons.
host = (c_int32 * 256)()
args = arguments(8)
args[0].data = addressof(host)
expect_error(
    runtime.moeProgramLaunch(program, args, 3, stream),
    1,
    "argument 0 'source' is at 0x",
)
json = open(inputs + "/copy_tile.json", "rb").read()
ptx = open(inputs + "/copy_tile.ptx", "rb").read()


def load_data(json, ptx):
    other = c_void_p()
    return runtime.moeProgramLoadData(
        json, c_size_t(len(json)), ptx, c_size_t(len(ptx)), 0, byref(other)
    )


expect_error(load_data(json, ptx.replace(b"ret;", b"rat;")), 6, "rat")
expect_error(
    load_data(json.replace(b"150000", b"300000"), ptx),
    6,
    "launches[0].shared_memory: cannot give kernel 'copy_tile' 300000 bytes",
)
expect_error(
    load_data(json.replace(b'"kind": "i64"', b'"kind": "i32"'), ptx),
    6,
    "launches[0].parameters[5]: 4 bytes, but kernel 'copy_tile' takes 8",
)
expect_error(
    load_data(json.replace(b'"kernel": "copy', b'"kernel": "move'), ptx),
    6,
    "has no kernel 'move_tile'",
)

runtime.moeProgramDestroy(program)
for data in (out, counter, source):
    check(runtime.moeDeviceFree(0, c_void_p(data)))
check(runtime.moeStreamDestroy(0, stream))
print("done")
