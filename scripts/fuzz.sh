#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Fuzzes the dialect and its passes: changes the MLIR files of test/ and
# examples/ at random and runs the parser, the verifiers and the passes on them
# in a build with AddressSanitizer and UBSan. The last line is
# `N inputs, N findings`; the exit status is 0 only if there are none.
#
#   scripts/fuzz.sh [--runs N] [--seconds T] [--seed S] [--preset P]
#
#   --runs N     inputs (20000)
#   --seconds T  start no more inputs after T seconds (no limit)
#   --seed S     another S gives other inputs (1)
#   --preset P   the preset to build and run (asan-ubsan)
#
# Findings are printed with their input and the command that shows them again;
# their files are in build/<preset>/fuzz. tools/moe-fuzz/upstream-crashes.txt
# lists the crashes of LLVM and MLIR that are no findings.

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

runs=20000
seconds=0
seed=1
preset=asan-ubsan
while [ $# -gt 0 ]; do
  case $1 in
    --runs | --seconds | --seed | --preset)
      [ $# -ge 2 ] || moe_die "$1 needs a value"
      printf -v "${1#--}" %s "$2"
      shift
      ;;
    -h | --help)
      sed -n '4,19s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) moe_die "unknown argument '$1'; see scripts/fuzz.sh --help" ;;
  esac
  shift
done

moe_install "${moe_packages[@]}"
moe_build "$preset" moe-fuzz

# One process for each core, each with a range of the inputs.
jobs=$(nproc)
part=$(((runs + jobs - 1) / jobs))
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
pids=()
for ((i = 0; i < jobs; i++)); do
  # A sanitizer makes everything slower, LLVM's code generator most of all.
  "$moe_root/build/$preset/bin/moe-fuzz" "$moe_root/test" "$moe_root/examples" \
    --seed="$seed" --start=$((i * part)) --runs="$part" --seconds="$seconds" \
    --known="$moe_root/tools/moe-fuzz/upstream-crashes.txt" \
    --backend --input-seconds=30 --artifacts="$moe_root/build/$preset/fuzz" \
    >"$logs/$i" 2>&1 &
  pids+=($!)
done
status=0
for pid in "${pids[@]}"; do
  wait "$pid" || status=1
done
cat "$logs"/*
# A process that died has found something: it counts as a finding.
awk -v jobs="$jobs" '/^[0-9]+ inputs \(/ { inputs += $1 }
  /^[0-9]+ findings$/ { findings += $1; ended++ }
  END {
    if (ended != jobs)
      print jobs - ended " of " jobs " processes died before their end"
    print inputs + 0 " inputs, " findings + jobs - ended " findings"
    exit ended != jobs
  }' "$logs"/* || status=1
exit $status
