//===- CostModel.cpp - time of a grouped matmul ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/Transforms/CostModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>

using namespace mlir::moe;

//===----------------------------------------------------------------------===//
// TokenCounts
//===----------------------------------------------------------------------===//

/// Deviations from the mean beyond which a count is taken to be impossible.
static constexpr double kDeviations = 8;
/// Tokens by which small means may be exceeded as well.
static constexpr double kSlack = 16;
/// From this mean on, the deviation is below a thousandth and is ignored.
static constexpr double kLargeMean = 1 << 20;

TokenCounts::Class::Class(double mean, double experts)
    : mean(mean), experts(experts) {
  if (mean <= 0 || mean >= kLargeMean)
    return;
  double spread = kDeviations * std::sqrt(mean);
  first = std::max<int64_t>(0, static_cast<int64_t>(mean - spread));
  int64_t last = static_cast<int64_t>(mean + spread + kSlack);
  double sum = 0, logarithm = std::log(mean);
  std::vector<double> sums;
  sums.reserve(last - first + 1);
  for (int64_t count = first; count <= last; ++count) {
    sum += std::exp(count * logarithm - mean - std::lgamma(count + 1.0));
    sums.push_back(std::min(sum, 1.0));
  }
  storage = std::make_shared<const std::vector<double>>(std::move(sums));
  cumulative = *storage;
}

double TokenCounts::Class::getExpectedTiles(int64_t rows) const {
  if (mean <= 0)
    return 0;
  if (cumulative.empty())
    return std::ceil(mean / rows);
  // The expectation of ceil(count / rows) is the sum of the probabilities of
  // more than 0, rows, 2 * rows, ... tokens; those below `first` are certain.
  int64_t certain = llvm::divideCeilSigned(first, rows);
  double tiles = certain;
  for (size_t i = certain * rows - first; i < cumulative.size(); i += rows)
    tiles += 1 - cumulative[i];
  return tiles;
}

llvm::SmallVector<int64_t> mlir::moe::getLargeTokenTiles(int64_t lesserGroup,
                                                         int64_t tileTokens,
                                                         int64_t step) {
  constexpr int64_t number = 3;
  int64_t least = llvm::alignDown(std::min(lesserGroup, tileTokens / 2), step);
  int64_t spacing =
      llvm::alignTo(llvm::divideCeil(tileTokens - least, number), step);
  llvm::SmallVector<int64_t> tiles;
  for (int64_t tokens = least + spacing; tokens < tileTokens; tokens += spacing)
    tiles.push_back(tokens);
  tiles.push_back(tileTokens);
  return tiles;
}

/// Columns that `tokens` of one expert, at least one, take in tiles of `rows`.
/// As many take as many up to that number of tokens.
static int64_t getPadded(int64_t tokens, int64_t rows, int64_t step) {
  if (rows <= kSmallGroup || tokens <= kSmallGroup) {
    rows = std::min(rows, kSmallGroup);
    int64_t whole = (tokens - 1) / rows * rows, width = step;
    while (width < tokens - whole && width < rows)
      width *= 2;
    return whole + std::min(width, rows);
  }
  // Split evenly.
  int64_t tiles = llvm::divideCeilSigned(tokens, rows);
  for (int64_t width : getLargeTokenTiles(kSmallGroup, rows, step))
    if (tiles * width >= tokens)
      return tiles * width;
  return tiles * rows;
}

double TokenCounts::Class::getExpectedPadded(int64_t rows, int64_t step) const {
  if (mean <= 0)
    return 0;
  if (cumulative.empty())
    return std::ceil(mean / rows) * rows;
  int64_t last = first + cumulative.size() - 1;
  double padded = 0, below = first == 0 ? cumulative.front() : 0;
  for (int64_t tokens = std::max<int64_t>(first, 1); tokens <= last;) {
    int64_t taken = getPadded(tokens, rows, step);
    double upTo = cumulative[std::min(taken, last) - first];
    padded += (upTo - below) * taken;
    below = upTo;
    tokens = taken + 1;
  }
  return padded;
}

TokenCounts TokenCounts::uniform(double mean, int64_t experts) {
  TokenCounts counts;
  counts.classes.emplace_back(mean, experts);
  return counts;
}

TokenCounts TokenCounts::perExpert(llvm::ArrayRef<int64_t> means) {
  std::map<int64_t, int64_t> experts;
  for (int64_t mean : means)
    ++experts[mean];
  TokenCounts counts;
  for (auto [mean, number] : experts)
    counts.classes.emplace_back(mean, number);
  return counts;
}

TokenCounts TokenCounts::ofExperts(int64_t experts) const {
  assert(classes.size() == 1 && classes.front().experts == 1 &&
         "expected the counts of one expert");
  TokenCounts counts = *this;
  counts.classes.front().experts = experts;
  return counts;
}

double TokenCounts::getTokens() const {
  double tokens = 0;
  for (const Class &entry : classes)
    tokens += entry.experts * entry.mean;
  return tokens;
}

double TokenCounts::getHitExperts() const {
  double hit = 0;
  for (const Class &entry : classes) {
    if (entry.mean <= 0)
      continue;
    bool mayBeZero = entry.first == 0 && !entry.cumulative.empty();
    hit += entry.experts * (mayBeZero ? 1 - entry.cumulative.front() : 1);
  }
  return hit;
}

double TokenCounts::getTiles(int64_t rows) const {
  double tiles = 0;
  for (const Class &entry : classes)
    tiles += entry.experts * entry.getExpectedTiles(rows);
  return tiles;
}

double TokenCounts::getPaddedTokens(int64_t rows, int64_t step) const {
  double tokens = 0;
  for (const Class &entry : classes)
    tokens += entry.experts * entry.getExpectedPadded(rows, step);
  return tokens;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// One stage holds 128 bytes of every row of the tile: a row of the swizzle.
static constexpr int64_t kStageRowBytes = 128;
/// Shared memory that is not for stages: alignment of the swizzle; barriers and
/// a table of the experts, for which at least 4 KiB are set aside. Two rings,
/// if large groups have one, are taken to have that many stages together.
static constexpr int64_t kAlignmentBytes = 1024;
static constexpr int64_t kTableBytes = 4096;
/// Stages that #moe.schedule can have.
static constexpr int64_t kStageLimit = 32;
static constexpr int64_t kStageRecordBytes = (2 * 8 + 16) * kStageLimit;
static constexpr int64_t kExpertBytes = 12;
static constexpr int64_t kThreadsOfWarpgroup = 128;
/// Rows after which the swizzle repeats: the step of a tile's weight rows.
static constexpr int64_t kSwizzleRows = 8;
/// Up to this token tile, waiting for memory hides what a slab that is not full
/// computes in vain.
static constexpr int64_t kMaxPartialTokens = 16;
/// Least weight rows of such a tile: below, tokens are too much of its loads.
static constexpr int64_t kMinPartialRows = 40;
/// By how much of its time a larger tile must be better than a smaller one.
static constexpr double kLeastGain = 0.002;
/// Weight rows of the tile of an unswapped kernel: the least, and the step,
/// half a row of the swizzle, or a panel of `kn` weights.
static constexpr int64_t kMinWeightRows = 64;
static constexpr int64_t kWeightRowStep = 32;
static constexpr int64_t kPanelRows = 64;

int64_t Tile::getStageBytes() const {
  return (weightRows + tokenRows) * kStageRowBytes;
}

int64_t mlir::moe::getNumStages(const Machine &machine, const Tile &tile,
                                int64_t experts) {
  // More experts than bytes leave no stage, whatever their number.
  int64_t rows = std::min(experts, machine.sharedMemory) + 1;
  int64_t tableBytes =
      std::max(kTableBytes, kStageRecordBytes + rows * kExpertBytes);
  // What the last slab of the last stage reads behind it (KernelPlan).
  int64_t slabRows = llvm::alignTo(tile.m / tile.warpgroups, machine.mStep);
  tableBytes =
      std::max(tableBytes,
               (slabRows - tile.m / tile.warpgroups - tile.n) * kStageRowBytes);
  int64_t stages = (machine.sharedMemory - kAlignmentBytes - tableBytes) /
                   tile.getStageBytes();
  int64_t ofUse = std::clamp(kBytesInFlight / tile.getStageBytes(), kMaxStages,
                             kStageLimit);
  return std::clamp<int64_t>(stages, 0, ofUse);
}

/// Accumulators of a thread when its warpgroup computes `slabs` products of
/// mStep x n.
static int64_t getAccumulators(const Machine &machine, int64_t slabs,
                               int64_t n) {
  return slabs * machine.mStep * n / kThreadsOfWarpgroup;
}

/// Tiles whose warpgroups have slabs that are not full, so that there is one
/// which spreads the weights of a few experts evenly.
static void addPartialTiles(const Machine &machine, int64_t n,
                            llvm::SmallVectorImpl<Tile> &tiles) {
  auto add = [&](int64_t warpgroups, int64_t first, int64_t last) {
    int64_t step = kSwizzleRows * warpgroups;
    for (int64_t m = first; m < last; m += step)
      if (m / warpgroups % machine.mStep != 0)
        tiles.push_back({m, n, warpgroups, m, n});
  };
  add(1, kMinPartialRows, machine.mStep);
  add(2, machine.mStep + 2 * kSwizzleRows, 4 * machine.mStep);
}

/// Weight rows are the rows of the instruction, tokens its columns. With gate
/// rows before up rows, a warpgroup computes a slab of each. One slab, a second
/// one by another warpgroup, then two for each: two slabs of one warpgroup were
/// measured to be no faster than two warpgroups.
static void addSwappedTiles(const Machine &machine, const MatmulShape &shape,
                            llvm::SmallVectorImpl<Tile> &tiles) {
  for (int64_t n = machine.nStep; n <= machine.nMax; n += machine.nStep) {
    for (auto [warpgroups, slabs] :
         {std::pair(1, 1), std::pair(2, 1), std::pair(1, 2), std::pair(2, 2)}) {
      bool isOfUse = shape.gateConcat ? slabs == 2 : warpgroups >= slabs;
      if (!isOfUse || getAccumulators(machine, slabs, n) > kMaxAccumulators)
        continue;
      int64_t m = slabs * warpgroups * machine.mStep;
      tiles.push_back({m, n, warpgroups, m, n});
    }
    if (n <= kMaxPartialTokens && !shape.gateConcat && !shape.knWeights)
      addPartialTiles(machine, n, tiles);
  }
}

/// Tokens are the rows of the instruction, weight rows its columns. With gate
/// rows before up rows, half of the columns are gate and half are up.
static void addUnswappedTiles(const Machine &machine, const MatmulShape &shape,
                              llvm::SmallVectorImpl<Tile> &tiles) {
  int64_t step = shape.knWeights ? kPanelRows : kWeightRowStep;
  if (shape.gateConcat && shape.knWeights)
    step *= 2;
  for (int64_t warpgroups : {1, 2}) {
    for (int64_t n = std::max(step, kMinWeightRows); n <= machine.nMax;
         n += step) {
      if (getAccumulators(machine, /*slabs=*/1, n) > kMaxAccumulators)
        break;
      if (n % machine.nStep != 0)
        continue;
      int64_t m = warpgroups * machine.mStep;
      tiles.push_back({m, n, warpgroups, n, m});
    }
  }
}

llvm::SmallVector<Tile> mlir::moe::getTiles(const Machine &machine,
                                            const MatmulShape &shape,
                                            Orientation orientation) {
  llvm::SmallVector<Tile> tiles;
  if (orientation == Orientation::Swapped)
    addSwappedTiles(machine, shape, tiles);
  else
    addUnswappedTiles(machine, shape, tiles);
  llvm::erase_if(tiles, [&](const Tile &tile) {
    return getNumStages(machine, tile, shape.experts) < kMinStages;
  });
  return tiles;
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

/// Where memory bounds them, unswapped kernels took 4 to 6 % longer on an H200
/// than the bytes explain; their token tile of 64 rows comes with every stage.
static constexpr double kUnswappedMemory = 1.05;

/// Pairs of multiprocessors that share a port.
static double getPairs(const Machine &machine) {
  return std::max(1.0, machine.multiprocessors / 2.0);
}

/// Bytes a second that a pair takes with both of its multiprocessors at work,
/// and with one; measured on an H200 with launches of 32 to 200 tiles. A pair
/// of a GPU of fewer multiprocessors is taken to bear its share of the memory.
static constexpr double kPairBandwidth = 85e9, kLoneBandwidth = 74e9;
static constexpr double kShareOfMemory = 1.2;
/// Tokens of a tile that count beside its weights: those of larger tiles were
/// seen to come from the cache without hindering them.
static constexpr double kBusiestTokens = 16;
/// With this many hit experts a token row, each row is taken to have its own.
static constexpr double kDistinct = 0.88;

/// Time of the pair that has most of the `tiles`, each of `tileBytes`. Blocks
/// are spread over pairs first; later ones go to whichever multiprocessor is
/// done, and so may meet.
static double getBusiestSeconds(const Machine &machine,
                                const TokenCounts &counts, double tiles,
                                double tileBytes) {
  double pairs = getPairs(machine);
  double rate = std::max(kPairBandwidth,
                         kShareOfMemory * machine.memoryBandwidth / pairs);
  double hit = counts.getHitExperts();
  // Where the number of hits varies, so does what the busiest pair has beyond
  // the others: half a tile.
  if (hit < kDistinct * counts.getTokens())
    return std::max(tiles > pairs ? 2.0 : 1.0, tiles / pairs + 0.5) *
           tileBytes / rate;
  tiles *= std::ceil(hit) / hit;
  if (tiles <= pairs)
    return tileBytes / (rate * kLoneBandwidth / kPairBandwidth);
  double most = tiles <= 2 * pairs ? 2 : std::ceil(tiles / pairs) + 0.5;
  return most * tileBytes / rate;
}

/// Tiles after the last one of an even share count whole up to this many rounds
/// of one tile for each multiprocessor, and as half a round on average beyond.
static constexpr double kCountedRounds = 4;

/// Time that the multiprocessor with most of the `tiles` computes.
static double getArithmeticSeconds(const Machine &machine, double tiles,
                                   double tileSeconds) {
  double rounds = tiles / machine.multiprocessors;
  rounds = rounds <= kCountedRounds ? std::ceil(rounds) : rounds + 0.5;
  return rounds *
         (tileSeconds * machine.multiprocessors + machine.tileOverhead);
}

static double getRowBytes(const MatmulShape &shape) {
  return static_cast<double>(shape.contraction) * shape.elementBytes;
}

static double getMemorySeconds(const Machine &machine, const MatmulShape &shape,
                               const TokenCounts &counts,
                               Orientation orientation, double tokenTiles) {
  double rowBytes = getRowBytes(shape);
  double seconds = (tokenTiles * shape.weightRows * rowBytes +
                    counts.getTokens() *
                        (rowBytes + static_cast<double>(shape.resultColumns) *
                                        shape.resultBytes)) /
                   machine.memoryBandwidth;
  return orientation == Orientation::Unswapped ? seconds * kUnswappedMemory
                                               : seconds;
}

/// Tokens that one of `tokenTiles` tiles of `rows` tokens is computed for.
/// Swapped, the kernel makes it fit.
static double getTileTokens(const Machine &machine, const TokenCounts &counts,
                            Orientation orientation, int64_t rows,
                            double tokenTiles) {
  return orientation == Orientation::Swapped
             ? counts.getPaddedTokens(rows, machine.nStep) / tokenTiles
             : rows;
}

/// The time with `tile`, whose tokens make `tokenTiles` tiles, each computed
/// for `tileTokens` of them.
static Estimate estimateTile(const Machine &machine, const MatmulShape &shape,
                             const TokenCounts &counts, Orientation orientation,
                             const Tile &tile, double tokenTiles,
                             double tileTokens) {
  double tokens = counts.getTokens();
  if (tokens <= 0)
    return {machine.launchOverhead, 0, 0, 0, tile};
  double rate = machine.getRate(orientation);
  double rowBytes = getRowBytes(shape);
  double tiles =
      tokenTiles * llvm::divideCeilSigned(shape.weightRows, tile.weightRows);

  // One tile: what it loads and computes.
  double tileBytes = (tile.weightRows + tileTokens) * rowBytes;
  double tileOperations = 2.0 * tile.weightRows * tileTokens *
                          static_cast<double>(shape.contraction);
  Estimate result{0, 0, 0, 0, tile};
  result.memory =
      getMemorySeconds(machine, shape, counts, orientation, tokenTiles);
  result.l2 = tiles * tileBytes / machine.l2Bandwidth;
  result.arithmetic =
      getArithmeticSeconds(machine, tiles, tileOperations / rate);
  double busiest = getBusiestSeconds(
      machine, counts, tiles,
      (tile.weightRows + std::min(tileTokens, kBusiestTokens)) * rowBytes);
  result.seconds =
      machine.launchOverhead +
      std::max({result.memory, result.l2, result.arithmetic, busiest});
  if (shape.gathers && !canGather(tile.tokenRows, tile.weightRows))
    result.seconds += machine.launchOverhead +
                      2 * tokens * rowBytes / machine.memoryBandwidth;
  return result;
}

Estimate mlir::moe::estimate(const Machine &machine, const MatmulShape &shape,
                             const TokenCounts &counts, Orientation orientation,
                             const Tile &tile) {
  double tokenTiles = counts.getTiles(tile.tokenRows);
  return estimateTile(
      machine, shape, counts, orientation, tile, tokenTiles,
      getTileTokens(machine, counts, orientation, tile.tokenRows, tokenTiles));
}

/// The time with the best of `tiles`. What depends on their token rows alone is
/// computed once for neighbours that have the same; and nothing else of those
/// whose memory time alone is too long.
static Estimate estimateBest(const Machine &machine, const MatmulShape &shape,
                             const TokenCounts &counts, Orientation orientation,
                             llvm::ArrayRef<Tile> tiles) {
  Estimate best{std::numeric_limits<double>::infinity(), 0, 0, 0, {}};
  int64_t rows = 0;
  double tokenTiles = 0, least = 0;
  std::optional<double> tileTokens;
  for (const Tile &tile : tiles) {
    if (tile.tokenRows != rows) {
      rows = tile.tokenRows;
      tokenTiles = counts.getTiles(rows);
      least = machine.launchOverhead +
              getMemorySeconds(machine, shape, counts, orientation, tokenTiles);
      tileTokens.reset();
    }
    double limit = best.seconds * (1 - kLeastGain);
    if (least >= limit)
      continue;
    if (!tileTokens)
      tileTokens =
          getTileTokens(machine, counts, orientation, rows, tokenTiles);
    Estimate candidate = estimateTile(machine, shape, counts, orientation, tile,
                                      tokenTiles, *tileTokens);
    if (candidate.seconds < limit)
      best = candidate;
  }
  return best;
}

Estimate mlir::moe::estimate(const Machine &machine, const MatmulShape &shape,
                             const TokenCounts &counts, Orientation orientation,
                             llvm::function_ref<bool(const Tile &)> isAllowed) {
  llvm::SmallVector<Tile> tiles = getTiles(machine, shape, orientation);
  if (isAllowed)
    llvm::erase_if(tiles, [&](const Tile &tile) { return !isAllowed(tile); });
  return estimateBest(machine, shape, counts, orientation, tiles);
}

Prediction mlir::moe::predict(const Machine &machine, const MatmulShape &shape,
                              const TokenCounts &counts) {
  return {estimate(machine, shape, counts, Orientation::Unswapped),
          estimate(machine, shape, counts, Orientation::Swapped)};
}

/// The next number of tokens to look at: steps of a sixteenth, finer than any
/// effect of the model.
static int64_t getNextTokens(int64_t tokens) {
  return tokens + std::max<int64_t>(1, tokens / 16);
}

static bool swapPaysAt(const Machine &machine, const MatmulShape &shape,
                       double tokens) {
  return predict(machine, shape, TokenCounts::uniform(tokens, shape.experts))
      .swapPays();
}

std::optional<int64_t> mlir::moe::getCrossover(const Machine &machine,
                                               const MatmulShape &shape) {
  int64_t lastPaying = 0;
  for (int64_t tokens = 1; tokens <= kMaxTokens;
       tokens = getNextTokens(tokens)) {
    if (swapPaysAt(machine, shape, tokens)) {
      lastPaying = tokens;
      continue;
    }
    // Between the last two numbers, where it stops to pay.
    int64_t crossover = tokens;
    for (int64_t between = lastPaying + 1; between < crossover; ++between)
      if (!swapPaysAt(machine, shape, between))
        crossover = between;
    return crossover;
  }
  return std::nullopt;
}

/// The counts of one expert for every number of tokens that chooseAtRunTime
/// looks at. They take longer to make than the choice itself and are the same
/// for all machines and shapes.
static llvm::ArrayRef<TokenCounts> getRunTimeCounts() {
  static const std::vector<TokenCounts> allCounts = [] {
    std::vector<TokenCounts> result;
    for (int64_t tokens = 1; tokens <= kMaxTokens;
         tokens = getNextTokens(tokens))
      result.push_back(TokenCounts::uniform(tokens, /*experts=*/1));
    return result;
  }();
  return allCounts;
}

RunTimeChoice mlir::moe::chooseAtRunTime(const Machine &machine,
                                         const MatmulShape &shape) {
  llvm::SmallVector<Tile> swappedTiles =
      getTiles(machine, shape, Orientation::Swapped);
  llvm::SmallVector<Tile> unswappedTiles =
      getTiles(machine, shape, Orientation::Unswapped);
  // Loss of swapping and of not swapping, as a factor, at each number.
  std::vector<int64_t> numbers;
  std::vector<double> swapLoss, keepLoss;
  for (const TokenCounts &ofOne : getRunTimeCounts()) {
    TokenCounts counts = ofOne.ofExperts(shape.experts);
    double ratio =
        estimateBest(machine, shape, counts, Orientation::Swapped, swappedTiles)
            .seconds /
        estimateBest(machine, shape, counts, Orientation::Unswapped,
                     unswappedTiles)
            .seconds;
    numbers.push_back(static_cast<int64_t>(ofOne.getTokens()));
    swapLoss.push_back(std::max(1.0, ratio));
    keepLoss.push_back(std::max(1.0, 1 / ratio));
  }
  // Largest loss of not swapping from each number on.
  std::vector<double> keepFrom(numbers.size() + 1, 1.0);
  for (size_t i = numbers.size(); i-- > 0;)
    keepFrom[i] = std::max(keepFrom[i + 1], keepLoss[i]);

  RunTimeChoice best{std::nullopt, *llvm::max_element(swapLoss)};
  double swapBefore = 1;
  for (size_t i = 0; i < numbers.size(); ++i) {
    double loss = std::max(swapBefore, keepFrom[i]);
    if (keepLoss[i] == 1 && loss < best.worstLoss)
      best = {numbers[i], loss};
    swapBefore = std::max(swapBefore, swapLoss[i]);
  }
  // Below one token an expert the two forms compare as they do at a half.
  if (best.threshold == 1 && !swapPaysAt(machine, shape, 0.5))
    best.threshold = 0;
  return best;
}
