# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes or prints a .npy file, without NumPy.

usage: npy.py write FILE TYPE SHAPE FILL [BEGIN:END=VALUE ...]
       npy.py print FILE

TYPE is u2, i4, i8, f4 or f8, SHAPE 2x3x4 (or - for no dimension); elements from
BEGIN up to END, in row-major order, have VALUE, all others FILL.
"""

import ast
import math
import struct
import sys

FORMATS = {"u2": "H", "i4": "i", "i8": "q", "f4": "f", "f8": "d", "f2": "e"}


def parse(kind, text):
    return float(text) if kind[0] == "f" else int(text, 0)


def write(path, kind, shape, fill, *ranges):
    sizes = [] if shape == "-" else [int(size) for size in shape.split("x")]
    data = [parse(kind, fill)] * math.prod(sizes)
    for text in ranges:
        where, value = text.split("=")
        begin, end = map(int, where.split(":"))
        data[begin:end] = [parse(kind, value)] * (end - begin)
    header = repr({"descr": "<" + kind, "fortran_order": False, "shape": tuple(sizes)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode())
        file.write(struct.pack(f"<{len(data)}{FORMATS[kind]}", *data))


def show(path):
    with open(path, "rb") as file:
        content = file.read()
    size = struct.unpack_from("<H", content, 8)[0]
    header = ast.literal_eval(content[10 : 10 + size].decode())
    kind = header["descr"].lstrip("<|")
    count = math.prod(header["shape"])
    data = struct.unpack_from(f"<{count}{FORMATS[kind]}", content, 10 + size)
    print(kind, "x".join(map(str, header["shape"])), *data)


if __name__ == "__main__":
    {"write": write, "print": show}[sys.argv[1]](*sys.argv[2:])
