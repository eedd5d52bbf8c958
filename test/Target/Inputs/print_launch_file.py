# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a whole launch file, a line for each part, for FileCheck.

print_launch_file.py FILE
"""

import json
import sys


def line(indent, text, value):
    print(" " * indent + text + json.dumps(value, sort_keys=True))


with open(sys.argv[1], encoding="utf-8") as file:
    program = json.load(file)
for key in sorted(program):
    if not isinstance(program[key], list):
        line(0, key + ": ", program[key])
        continue
    print(key + ":")
    for number, entry in enumerate(program[key]):
        parameters = (
            entry.pop("parameters", []) if isinstance(entry, dict) else []
        )
        line(2, "%d: " % number, entry)
        for parameter in parameters:
            line(4, "", parameter)
