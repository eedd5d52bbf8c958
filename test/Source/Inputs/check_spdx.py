# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that every file of a git checkout says its license.

    check_spdx.py ROOT

Files that git ignores do not count; new ones that are not added yet do.
"""

import fnmatch
import os
import subprocess
import sys

LINE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
# The line is among the first of a file, behind an interpreter or a title.
HEAD = 512
EXCEPTIONS = (
    # Tests and programs in the formats that the tools read, as upstream's.
    "*.mlir", "*.test", "test/*/Inputs/*.ptx", "*.json",
    # Text and pictures for people.
    "*.md", "*.png", "LICENSE",
    # Lists of patterns and settings.
    ".clang-format", ".editorconfig", ".gitattributes", ".gitignore",
    "tools/moe-fuzz/upstream-crashes.txt",
)


def files(root):
    command = ["git", "-C", root, "ls-files", "-z", "--cached", "--others",
               "--exclude-standard"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return sorted(set(name for name in done.stdout.split("\0") if name))


def lacks_line(path):
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return LINE.encode() not in file.read(HEAD)


def main(root):
    names, missing = files(root), []
    for name in names:
        if any(fnmatch.fnmatch(name, pattern) for pattern in EXCEPTIONS):
            continue
        if lacks_line(os.path.join(root, name)):
            missing.append(name)
    for name in missing:
        print(f"error: {name} lacks the line '{LINE}'", file=sys.stderr)
    print(f"{len(names)} files, {len(missing)} without a license")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
