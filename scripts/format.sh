#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks the C++ sources against .clang-format, or with --fix reformats them.
#
#   scripts/format.sh [--fix]

set -euo pipefail

mode=(--dry-run -Werror)
case ${1:-} in
  '') ;;
  --fix) mode=(-i) ;;
  -h | --help)
    sed -n '4,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *)
    echo "error: unknown argument '$1'; see scripts/format.sh --help" >&2
    exit 1
    ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Other versions format differently.
if ! command -v clang-format-22 >/dev/null; then
  echo "error: clang-format-22 is missing; install the package of that name" >&2
  exit 1
fi
git ls-files -z --cached --others --exclude-standard -- '*.c' '*.cpp' '*.cu' '*.h' |
  xargs -0 -r clang-format-22 "${mode[@]}"
