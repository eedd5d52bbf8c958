#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums up lit result files. The last line is `N passed, N failed`.

usage: lit_summary.py RESULTS.json...   (as written by `lit --output`)

Exits with 1 if a test failed or none ran.
"""

import collections
import json
import sys

PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def main(paths):
    counts = collections.Counter()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for test in json.load(file)["tests"]:
                code = test["code"]
                if code in PASSED:
                    counts["passed"] += 1
                elif code in SKIPPED:
                    counts["skipped"] += 1
                else:  # FAIL, XPASS, TIMEOUT, UNRESOLVED
                    counts["failed"] += 1
    ran = counts["passed"] + counts["failed"]
    if not ran:
        print("error: no test ran", file=sys.stderr)
    print(f"{counts['skipped']} tests need hardware or tools that are not here")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return 0 if ran and not counts["failed"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
