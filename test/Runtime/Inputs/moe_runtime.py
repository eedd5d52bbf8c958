# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C ABI of libMoERuntime for the tests, through ctypes."""

import ctypes
from ctypes import c_char, c_char_p, c_int32, c_int64, c_uint64, c_void_p

I32 = 7
BF16 = 3


class Buffer(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("element_type", c_int32),
        ("rank", c_int32),
        ("dims", ctypes.POINTER(c_int64)),
    ]


class ArgumentInfo(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("element_type", c_int32),
        ("rank", c_int32),
        ("dims", ctypes.POINTER(c_int64)),
        ("access", c_int32),
    ]


class DeviceInfo(ctypes.Structure):
    _fields_ = [
        ("name", c_char * 256),
        ("major", c_int32),
        ("minor", c_int32),
        ("sm_count", c_int32),
        ("max_shared_memory_per_block", c_int32),
        ("total_memory", c_uint64),
    ]


def open_library(build):
    """Opens the library of a build directory."""
    library = ctypes.CDLL(build + "/lib/libMoERuntime.so")
    library.moeRuntimeLastError.restype = c_char_p
    library.moeElementTypeName.restype = c_char_p
    return library


def buffer(data, element_type, *dims):
    """A Buffer at an address."""
    return Buffer(data, element_type, len(dims), (c_int64 * len(dims))(*dims))
