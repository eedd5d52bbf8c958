# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles every file of a folder but `common`, which they start with, and
looks for the error that a line `// error: ...` of it announces.

check_refusals.py FOLDER
"""

import pathlib
import re
import subprocess
import sys

CONSTANTS = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
"""

folder = pathlib.Path(sys.argv[1])
common = (folder / "common").read_text()
failed = False
count = 0
for path in sorted(folder.iterdir()):
    if path.name == "common":
        continue
    count += 1
    text = path.read_text()
    (expected,) = re.findall("^// (error: .*)$", text, re.MULTILINE)
    body = re.sub(r"^(  func\.func .*\{)$", r"\1" + CONSTANTS, text, flags=re.M)
    run = subprocess.run(
        ["moe-compile", "-", "--entry=f", "-o", str(folder / "out.ptx")],
        input=common + body + "}\n",
        capture_output=True,
        text=True,
    )
    errors = re.findall("error: .*", run.stderr)
    if run.returncode != 1 or len(errors) != 1 or expected not in errors[0]:
        failed = True
        print(path.name + ": expected\n" + expected + "\nfound")
        print(run.stderr or "no error", "status", run.returncode)
    assert not (folder / "out.ptx").exists(), path.name
assert count > 20, "there are too few files"
sys.exit(failed)
