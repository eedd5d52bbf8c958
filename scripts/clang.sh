#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds everything with clang 22, warnings being errors, and runs the tests on
# that build.
#
#   scripts/clang.sh

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

moe_install "${moe_packages[@]}" clang-22
moe_build clang
exec "$moe_root/scripts/test.sh" --prebuilt "$moe_root/build/clang"
