#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Takes examples/qwen3-30b-a3b.mlir, a whole experts layer, down the road:
# compiles it to PTX for a Hopper GPU, runs it on this machine's CPU and checks
# the result, and with a Hopper GPU runs and checks it there. Installs and
# builds first what is missing. The exit status is 0 only if every step was.
#
#   scripts/run-example.sh [--prebuilt DIR] [--output DIR]
#
#   --prebuilt DIR  use the build in DIR; install and build nothing
#   --output DIR    where the compiled program goes (default: the build's
#                   folder run-example)

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

build=
output=
while [ $# -gt 0 ]; do
  case $1 in
    --prebuilt | --output)
      [ $# -ge 2 ] || moe_die "$1 needs a directory"
      ;;&
    --prebuilt)
      build=$(realpath "$2")
      shift
      ;;
    --output)
      output=$(realpath -m "$2")
      shift
      ;;
    -h | --help)
      sed -n '4,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) moe_die "unknown argument '$1'; see scripts/run-example.sh --help" ;;
  esac
  shift
done

if [ -z "$build" ]; then
  moe_install "${moe_packages[@]}"
  # moe-opt for the pages that start from here.
  moe_build release moe-compile moe-opt moe-run
  build=$moe_root/build/release
fi
for tool in moe-compile moe-run; do
  [ -x "$build/bin/$tool" ] || moe_die "there is no $tool in '$build/bin'"
done
output=${output:-$build/run-example}
mkdir -p "$output"

name=qwen3-30b-a3b
example=examples/$name.mlir
cd "$moe_root"

# What moe-compile decides for its default target, as passes of moe-run.
choices='moe-decompose-experts,moe-swap-ab{target=sm_90a},moe-fold-transposes'

# Prints the remarks among a compiler's messages without the lines of source,
# and keeps all other messages as they are.
show_remarks() {
  awk '/: remark: / { sub(/^.*: remark: /, "  "); print; skip = 2; next }
       skip > 0 { --skip; next }
       { print }'
}

compile_to_ptx() {
  local ptx=$output/$name.ptx log=$output/$name.log
  echo "1. Compile $example to PTX for sm_90a; which matmuls are swapped, and why:"
  if ! "$build/bin/moe-compile" "$example" --target=sm_90a --emit=ptx \
    -o "$ptx" --remarks-filter='moe-(decompose-experts|swap-ab|select-schedule)' \
    >"$log" 2>&1; then
    cat "$log"
    moe_die "moe-compile failed"
  fi
  show_remarks <"$log"
  grep -q 'Category:moe-swap-ab' "$log" || moe_die "moe-compile reported no choice"
  echo "  Matrix instructions of the $(grep -c '^\.visible \.entry' "$ptx") kernels:"
  grep -o 'wgmma\.mma_async[a-z0-9_.]*' "$ptx" | sort | uniq -c |
    awk '{ print "    " $2 ", " $1 " times" }'
  echo "  Written: ${ptx#"$moe_root"/} and its launch file $name.json"
}

# Runs the example, and compares with the layer as it was written.
#   run_on DEVICE MOE_RUN_OPTION...
run_on() {
  "$build/bin/moe-run" "$example" --device="$1" --seed=1 --check \
    --json="$output/$1.json" "${@:2}" 2>&1 | sed 's/^/  /'
}

has_hopper_gpu() {
  /usr/bin/python3 -c '
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, "test")
import moe_lit
sys.exit(not moe_lit.has_sm90_gpu())'
}

compile_to_ptx
echo "2. Run the same choices on the CPU with random weights, and compare with the layer as it was written, unswapped:"
run_on cpu --passes="$choices" --repeat=3
if has_hopper_gpu; then
  echo "3. Run it on the GPU, and compare likewise:"
  run_on cuda --repeat=100
else
  echo "3. No Hopper GPU (compute capability 9.0) was found: not run on one."
fi
