#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks the C++ sources against .clang-format, or with --fix reformats them.
#
#   scripts/format.sh [--fix]

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=(--dry-run -Werror)
case ${1:-} in
  '') ;;
  --fix) mode=(-i) ;;
  *)
    echo "error: unknown argument '$1'; the only one is --fix" >&2
    exit 1
    ;;
esac

# Other versions format differently.
if ! command -v clang-format-22 >/dev/null; then
  echo "error: clang-format-22 is missing; install the package of that name" >&2
  exit 1
fi
git ls-files -z --cached --others --exclude-standard -- '*.c' '*.cpp' '*.h' |
  xargs -0 -r clang-format-22 "${mode[@]}"
