#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes the reference pages under docs/generated from the TableGen sources,
# with the mlir-tblgen on PATH (or mlir-tblgen-22, or $MLIR_TBLGEN), and if the
# project's tools are on PATH, what they print into docs/tools.md.
#
#   scripts/update-docs.sh [--check]
#
#   --check  change nothing; fail, with the difference, if a page of
#            docs/generated is stale (tests run the commands of the others)

set -euo pipefail

die() {
  printf 'error: %s\n' "$@" >&2
  exit 1
}

check=
case ${1:-} in
  '') ;;
  --check) check=yes ;;
  -h | --help)
    sed -n '4,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *) die "unknown argument '$1'; see scripts/update-docs.sh --help" ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."

tblgen=${MLIR_TBLGEN:-$(command -v mlir-tblgen-22 || command -v mlir-tblgen || true)}
[ -n "$tblgen" ] || die "there is no mlir-tblgen on PATH; name it by MLIR_TBLGEN"
mlir_include=$(dirname "$(dirname "$(realpath "$tblgen")")")/include
[ -d "$mlir_include/mlir" ] || die "there are no MLIR headers in '$mlir_include'"

pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT

# Writes one page.
#   page FILE TITLE SOURCE GENERATOR_OPTION...
#
# An empty TITLE keeps the generator's own. Its table of contents is for another
# renderer, and it names passes with one dash where the tools print two.
page() {
  local file=$1 title=$2 source=$3
  shift 3
  {
    echo '<!-- Made by scripts/update-docs.sh; change the TableGen source instead. -->'
    if [ -n "$title" ]; then
      printf '\n# %s\n' "$title"
    fi
    "$tblgen" "$@" -I include -I "$mlir_include" "include/moe/$source" |
      sed -e '1d' -e '/^\[TOC\]$/,+1d' -e 's/^### `-\([a-z]\)/### `--\1/' |
      cat -s
  } >"$pages/$file"
}

page dialect.md '' Dialect/MoE/IR/MoEOps.td -gen-dialect-doc -dialect=moe
page interfaces.md '' Dialect/MoE/IR/MoEInterfaces.td -gen-op-interface-docs
page transform-ops.md 'Transform-dialect ops' \
  Dialect/MoE/TransformOps/MoETransformOps.td -gen-op-doc
page passes.md 'Passes over the moe dialect' \
  Dialect/MoE/Transforms/Passes.td -gen-pass-doc
page conversions.md 'Conversions from and to the moe dialect' \
  Conversion/Passes.td -gen-pass-doc

if [ -z "$check" ]; then
  mkdir -p docs/generated
  cp "$pages"/*.md docs/generated/
  if command -v moe-compile moe-opt moe-run >/dev/null; then
    python3 test/Docs/Inputs/doctest.py --update --root . --work "$pages/work" docs/tools.md
  fi
elif ! diff -ru docs/generated "$pages"; then
  die "docs/generated is stale; run scripts/update-docs.sh and commit the result"
fi
