#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that relative links of Markdown pages lead somewhere.

    check_links.py PAGE...

The file must exist, and in a page the heading that `#anchor` names. Prints one
line for each link that does not, and exits with 1 if there is any.
"""

import os
import re
import sys

LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def read(path):
    with open(path, encoding="utf-8") as file:
        return CODE.sub("", file.read())


def anchors(path):
    """The anchors of a page's headings, by GitHub's rules."""
    found = set()
    for heading in HEADING.findall(read(path)):
        words = re.sub(r"[^\w\- ]", "", heading.lower())
        found.add(words.replace(" ", "-"))
    return found


def check(page):
    broken = 0
    for link in LINK.findall(read(page)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        path = os.path.join(os.path.dirname(page), name) if name else page
        if not os.path.exists(path):
            print(f"{page}: there is no file {link}")
        elif anchor and anchor not in anchors(path):
            print(f"{page}: there is no heading {link}")
        else:
            continue
        broken += 1
    return broken


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: check_links.py PAGE...")
    sys.exit(1 if sum(map(check, sys.argv[1:])) else 0)
