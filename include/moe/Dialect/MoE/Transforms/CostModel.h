//===- CostModel.h - time of a grouped matmul -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicts how long a grouped matmul takes on a GPU in either orientation, and
// with which tile. Arithmetic only: nothing here knows of IR. All times are in
// seconds, sizes in bytes and rates in bytes or floating-point operations a
// second; every number of the machine comes from the caller.
//
// The kernel it has in mind is persistent: each multiprocessor streams a tile
// of weights and a tile of tokens through shared memory, multiplies, stores,
// and takes the next tile from a counter. Its time is
//
//   launch + max(memory, l2, arithmetic, busiest)
//
//   memory      weights of the experts that have tokens, once for each of their
//               token tiles, and tokens and results once
//   l2          what all tiles load into shared memory, padding included
//   arithmetic  what the matrix units compute, padding included
//   busiest     what the busiest two neighbouring multiprocessors load: they
//               share a port, and are no faster where others are idle
//
// How near its choices come to the best schedule is in docs/rationale.md.
//
// A weight tile that several token tiles need is assumed to come from memory
// each time: a cache hit is likely when they run at the same time, but nothing
// orders them, and kernels with a token tile below the largest group were
// measured to lose a quarter of their speed.
//
//===----------------------------------------------------------------------===//

#ifndef MOE_DIALECT_MOE_TRANSFORMS_COSTMODEL_H
#define MOE_DIALECT_MOE_TRANSFORMS_COSTMODEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace mlir {
namespace moe {

/// The two ways to map a grouped matmul to a matrix instruction: tokens as its
/// rows, or (Swap-AB) weight rows as its rows and tokens as its columns.
enum class Orientation { Unswapped, Swapped };

/// A GPU, for operands of one element type.
struct Machine {
  int64_t multiprocessors;
  /// Bytes of shared memory a block may use.
  int64_t sharedMemory;
  /// Bytes a second.
  double memoryBandwidth, l2Bandwidth;
  /// Operations a second that a kernel of each orientation sustains.
  double unswappedRate, swappedRate;
  /// Shape of the matrix instruction.
  int64_t mStep, nStep, nMax;
  /// Seconds before the first load of a launch, and between two tiles.
  double launchOverhead, tileOverhead;

  double getRate(Orientation orientation) const {
    return orientation == Orientation::Swapped ? swappedRate : unswappedRate;
  }
};

/// A grouped matmul but for its tokens.
struct MatmulShape {
  int64_t experts;
  /// Elements of the contraction.
  int64_t contraction;
  /// Rows of an expert's weight matrix.
  int64_t weightRows;
  /// Elements of a result row.
  int64_t resultColumns;
  int64_t elementBytes, resultBytes;
  /// Gate rows come before up rows, so that a tile takes rows from both halves.
  bool gateConcat = false;
  /// Weights are stored [K x N], fetched in panels of 64 rows of N.
  bool knWeights = false;
  /// Rows of the tokens are gathered: by the kernel itself where its token tile
  /// is small beside its weight tile, else by a copy in a launch before it.
  bool gathers = false;
};

/// How many tokens the experts get. Only means are known beforehand; counts are
/// taken to be Poisson distributed, as uniform routing makes them, so that
/// rounding up to a tile is averaged instead of jumping at its multiples.
class TokenCounts {
public:
  /// `experts` experts that get `mean` tokens each on average.
  static TokenCounts uniform(double mean, int64_t experts);
  /// One expert for each entry of `means`.
  static TokenCounts perExpert(llvm::ArrayRef<int64_t> means);
  /// The counts of `experts` experts that each get what the only one of these
  /// gets. Cheap: it shares the distribution.
  TokenCounts ofExperts(int64_t experts) const;

  /// Expected number of tokens of all experts.
  double getTokens() const;
  /// Expected number of experts that get a token.
  double getHitExperts() const;
  /// Expected number of tiles of `rows` tokens that hold all tokens, none of
  /// which holds tokens of two experts.
  double getTiles(int64_t rows) const;
  /// Expected number of tokens that these tiles are computed for if each is as
  /// wide as the kernel makes it for its tokens: the least power of two times
  /// `step` that holds them, and `rows` at most (KernelPlan::getTokenTiles); or
  /// where that is more than kSmallGroup, as its part for large groups does.
  double getPaddedTokens(int64_t rows, int64_t step) const;

private:
  /// Experts of one mean, with the distribution of their count.
  struct Class {
    Class(double mean, double experts);
    double getExpectedTiles(int64_t rows) const;
    double getExpectedPadded(int64_t rows, int64_t step) const;

    double mean, experts;
    /// Probability of at most `first + i` tokens; 0 below, 1 above.
    int64_t first = 0;
    llvm::ArrayRef<double> cumulative;

  private:
    /// Holds what `cumulative` refers to, which copies share.
    std::shared_ptr<const std::vector<double>> storage;
  };
  std::vector<Class> classes;
};

/// Groups of up to this many tokens are small, and have a tile of their own
/// where there are larger ones, since what they take is to be loaded and little
/// is to be computed.
constexpr int64_t kSmallGroup = 64;

/// Tokens, ascending, of the tiles for groups of more than `lesserGroup` tokens
/// that the kernel has code for: at most three, evenly spaced, multiples of
/// `step`. Split evenly, no tile of a group that needs more than one of
/// `tileTokens` tokens has less than half of that.
llvm::SmallVector<int64_t> getLargeTokenTiles(int64_t lesserGroup,
                                              int64_t tileTokens, int64_t step);

/// A tile of the schedule. `m` and `n` are the schedule attribute's; the other
/// two say which operand they cut.
struct Tile {
  int64_t m, n, warpgroups;
  int64_t weightRows, tokenRows;

  /// Bytes that one pipeline stage of the tile takes in shared memory.
  int64_t getStageBytes() const;
};

/// Pipeline stages of `tile` that fit the shared memory of `machine` besides
/// the kernel's tables for `experts` experts, at most as many as are of use.
int64_t getNumStages(const Machine &machine, const Tile &tile, int64_t experts);

/// True if a kernel gathers tokens fast enough itself. A row of a stage that is
/// loaded by itself took about 30 ns on an H200, as long as eight rows of
/// weights take at the bandwidth that one of its multiprocessors has.
constexpr bool canGather(int64_t tokenRows, int64_t weightRows) {
  return tokenRows * 8 <= weightRows;
}

/// More stages than this, or than kBytesInFlight take, were measured to lose up
/// to 3 % of launches of few tiles (a block takes its next tile that much
/// earlier, and so less evenly) and to gain nothing elsewhere; fewer to lose
/// more than a tenth.
constexpr int64_t kMaxStages = 12;
constexpr int64_t kBytesInFlight = 108 * 1024;
constexpr int64_t kMinStages = 4;

/// f32 accumulators that a thread of a consumer can hold besides what else it
/// needs.
constexpr int64_t kMaxAccumulators = 160;

/// Every tile of `orientation` that the generated kernels can run: its
/// accumulators fit the registers and at least kMinStages stages the shared
/// memory. Smaller tiles come first.
llvm::SmallVector<Tile> getTiles(const Machine &machine,
                                 const MatmulShape &shape,
                                 Orientation orientation);

/// A predicted time and what makes it.
struct Estimate {
  /// Whole time; infinite if there is no tile.
  double seconds;
  /// The three bounds of which the largest counts.
  double memory, l2, arithmetic;
  Tile tile;
};

/// Predicts the time with a given tile.
Estimate estimate(const Machine &machine, const MatmulShape &shape,
                  const TokenCounts &counts, Orientation orientation,
                  const Tile &tile);

/// Predicts the time with the best of `getTiles`, or of those of them that
/// `isAllowed` returns true for.
Estimate estimate(const Machine &machine, const MatmulShape &shape,
                  const TokenCounts &counts, Orientation orientation,
                  llvm::function_ref<bool(const Tile &)> isAllowed = nullptr);

/// Both orientations of one grouped matmul.
struct Prediction {
  Estimate unswapped, swapped;

  /// True if swapping is faster. A tie keeps the op as it was written.
  bool swapPays() const { return swapped.seconds < unswapped.seconds; }
};

Prediction predict(const Machine &machine, const MatmulShape &shape,
                   const TokenCounts &counts);

/// The smallest number of tokens an expert, at least 1, from which swapping no
/// longer pays, or nothing if it always does up to kMaxTokens. It may pay again
/// at some larger numbers, where padding hits the unswapped form harder.
std::optional<int64_t> getCrossover(const Machine &machine,
                                    const MatmulShape &shape);

/// Up to which number of tokens an expert the two functions about ranges look:
/// both forms are bound by arithmetic, and equal in padding, long before.
constexpr int64_t kMaxTokens = 4096;

/// How to choose at run time by one comparison.
struct RunTimeChoice {
  /// Swap below this number of tokens an expert; 0 means never, nothing means
  /// always.
  std::optional<int64_t> threshold;
  /// How much slower than the better form the chosen one is predicted to be at
  /// worst, as a factor of at least 1.
  double worstLoss;
};

/// The choice whose worst loss over 1 to kMaxTokens tokens an expert is the
/// smallest. Swapping does not pay at the threshold itself.
RunTimeChoice chooseAtRunTime(const Machine &machine, const MatmulShape &shape);

} // namespace moe
} // namespace mlir

#endif // MOE_DIALECT_MOE_TRANSFORMS_COSTMODEL_H
