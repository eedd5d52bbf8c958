#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what is missing, builds, and runs every test suite. The last line is
# `N passed, N failed`; the exit status is 0 only if tests ran and
# none failed.
#
#   scripts/test.sh [--prebuilt DIR] [--sanitize]
#
#   --prebuilt DIR  test the build in DIR; install and build nothing
#   --sanitize      then build with AddressSanitizer and UBSan and test that too

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

prebuilt=
sanitize=
while [ $# -gt 0 ]; do
  case $1 in
    --prebuilt)
      [ $# -ge 2 ] || moe_die "--prebuilt needs a build directory"
      prebuilt=$(realpath "$2")
      shift
      ;;
    --sanitize) sanitize=yes ;;
    -h | --help)
      sed -n '4,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) moe_die "unknown argument '$1'; see scripts/test.sh --help" ;;
  esac
  shift
done

# A suite that could not run leaves no file, which the summary reports.
shopt -s nullglob
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
status=0

# Runs the lit suites of the build in directory $1; $2 names the results.
run_suites() {
  [ -f "$1/test/lit.site.cfg.py" ] ||
    moe_die "'$1' is not a configured build with tests"
  /usr/bin/python3 /usr/lib/llvm-22/bin/lit -sv --output "$results/$2.json" \
    "$1/test" "$1/unittests" || status=1
}

if [ -n "$prebuilt" ]; then
  run_suites "$prebuilt" prebuilt
else
  moe_install "${moe_packages[@]}"
  moe_build release
  run_suites "$moe_root/build/release" release
fi

if [ -n "$sanitize" ]; then
  moe_build asan-ubsan
  run_suites "$moe_root/build/asan-ubsan" asan-ubsan
fi

/usr/bin/python3 "$moe_root/scripts/lit_summary.py" "$results"/*.json || status=1
exit $status
