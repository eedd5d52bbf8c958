//===- Random.h - random numbers that repeat --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_TOOLS_MOEFUZZ_RANDOM_H
#define MOE_TOOLS_MOEFUZZ_RANDOM_H

#include <cassert>
#include <cstddef>
#include <cstdint>

namespace mlir::moe::fuzz {

/// SplitMix64. Unlike the distributions of <random>, it gives the same numbers
/// with every standard library.
class Random {
public:
  /// The numbers of input `index` of the campaign `seed`: independent of the
  /// inputs before it, so that any one can be made again alone.
  Random(uint64_t seed, uint64_t index)
      : state(seed * 0x9e3779b97f4a7c15 ^ index * 0xd1342543de82ef95) {
    next();
  }

  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  /// A number from 0 to `limit` - 1; `limit` is positive. Its bias does not
  /// matter here.
  size_t below(size_t limit) {
    assert(limit > 0);
    return next() % limit;
  }

  /// True once in `n` times.
  bool oneIn(size_t n) { return below(n) == 0; }

  /// An element of `range`, which is not empty.
  template <typename Range> auto &pick(Range &range) {
    return range[below(range.size())];
  }
  template <typename T, size_t n> T &pick(T (&array)[n]) {
    return array[below(n)];
  }

private:
  uint64_t state;
};

} // namespace mlir::moe::fuzz

#endif // MOE_TOOLS_MOEFUZZ_RANDOM_H
