#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what the build needs on Debian 12. Run it, or source it for its
# functions; either way a second run changes nothing and asks no server.
#
#   scripts/setup.sh

set -euo pipefail

moe_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The LLVM packages come from Debian 12's security suite.
moe_packages=(
  cmake
  g++
  libgtest-dev
  libmlir-22-dev
  libomp-22-dev
  llvm-22-dev
  llvm-22-tools
  mlir-22-tools
  ninja-build
  nlohmann-json3-dev
  python3
  python3-numpy
)

# Prints an error and, in lines of their own, what to do about it.
moe_die() {
  printf 'error: %s\n' "$1" >&2
  [ $# = 1 ] || printf '%s\n' "${@:2}" >&2
  exit 1
}

# Runs a command as root.
moe_as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    moe_die "packages are missing: run this as root or install sudo"
  fi
}

# Stops unless this is Debian 12.
moe_check_debian() {
  local id='' version=''
  if [ -r /etc/os-release ]; then
    id=$(. /etc/os-release && echo "${ID:-}")
    version=$(. /etc/os-release && echo "${VERSION_ID:-}")
  fi
  if [ "$id" != debian ] || [ "$version" != 12 ]; then
    moe_die "this script installs packages of Debian 12 only, and this is '$id $version'." \
      "Install LLVM and MLIR 22.1 with development files and tools, then call cmake yourself:" \
      "  cmake --preset release -DCMAKE_PREFIX_PATH=<LLVM 22.1 prefix> && cmake --build build/release"
  fi
}

# Stops, saying what to add, unless apt offers MLIR 22.
moe_check_security_suite() {
  local candidate base
  candidate=$(LC_ALL=C apt-cache policy libmlir-22-dev | sed -n 's/^ *Candidate: //p')
  case $candidate in
    1:22.* | 22.*) return ;;
  esac
  # The security archive usually lies beside the main one on a mirror.
  base=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Codename: bookworm' |
    sed -n '1s,/*$,,p')
  moe_die "apt offers no LLVM 22: Debian 12's security suite, where it comes from, is not among the sources." \
    "Add it, for example by writing this line to /etc/apt/sources.list.d/security.list, and run this script again:" \
    "  deb ${base:-<your mirror>/debian}-security bookworm-security main"
}

# Installs those of the named packages that are missing.
moe_install() {
  local package missing=()
  command -v dpkg-query >/dev/null || moe_check_debian
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      missing+=("$package")
  done
  if [ ${#missing[@]} = 0 ]; then
    return
  fi
  moe_check_debian
  echo "Installing: ${missing[*]}"
  moe_as_root apt-get update -qq
  moe_check_security_suite
  moe_as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null
}

# The number of compile jobs: one per core, but no more than memory allows, for
# a file that includes much of MLIR takes up to 2 GiB.
moe_jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable:/ { print int($2 / 2097152) }' /proc/meminfo)
  if [ "$memory" -lt 1 ]; then
    memory=1
  fi
  echo $((memory < cores ? memory : cores))
}

# Configures and builds a preset in build/<preset>.
#   moe_build PRESET [TARGET...]
moe_build() {
  local preset=$1 target targets=()
  shift
  for target in "$@"; do
    targets+=(--target "$target")
  done
  cd "$moe_root"
  cmake --preset "$preset" --log-level=WARNING >/dev/null
  cmake --build "build/$preset" --parallel \
    "${CMAKE_BUILD_PARALLEL_LEVEL:-$(moe_jobs)}" "${targets[@]}"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  moe_install "${moe_packages[@]}"
fi
