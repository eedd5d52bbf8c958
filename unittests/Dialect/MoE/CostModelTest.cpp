//===- CostModelTest.cpp - Tests of the cost model ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/Transforms/CostModel.h"

#include "gtest/gtest.h"

#include <cmath>
#include <map>

using namespace mlir::moe;

namespace {

/// The presets' numbers, for 16-bit operands.
Machine makeMachine(int64_t multiprocessors, double memory, double peak) {
  return {multiprocessors, 232448, memory, 7000e9, 0.65 * peak,
          0.75 * peak,     64,     8,      256,    3.5e-6,
          0.5e-6};
}
const Machine kH100 = makeMachine(132, 3190e9, 790e12);
const Machine kH200 = makeMachine(132, 4570e9, 790e12);
const Machine kH20 = makeMachine(78, 3810e9, 118e12);

/// A machine whose unswapped kernels are the better ones for many tokens.
Machine withFastUnswapped(Machine machine) {
  machine.unswappedRate *= 1.4;
  machine.swappedRate /= 1.4;
  return machine;
}
const Machine kFastUnswappedH200 = withFastUnswapped(kH200);
const Machine kFastUnswappedH20 = withFastUnswapped(kH20);

MatmulShape makeShape(int64_t experts, int64_t contraction,
                      int64_t weightRows) {
  return {experts, contraction, weightRows, weightRows, 2, 2};
}
const MatmulShape kQwen3GateUp = makeShape(128, 2048, 1536);
const MatmulShape kQwen3Down = makeShape(128, 768, 2048);
const MatmulShape kMixtralGateUp = makeShape(8, 4096, 28672);
const MatmulShape kGptOssGateUp = makeShape(128, 2880, 5760);
const MatmulShape kDeepseekGateUp = makeShape(256, 7168, 4096);
const MatmulShape kShapes[] = {kQwen3GateUp, kQwen3Down, kMixtralGateUp,
                               kGptOssGateUp, kDeepseekGateUp};

double getSeconds(const Machine &machine, const MatmulShape &shape, double mean,
                  Orientation orientation) {
  return estimate(machine, shape, TokenCounts::uniform(mean, shape.experts),
                  orientation)
      .seconds;
}

//===----------------------------------------------------------------------===//
// TokenCounts
//===----------------------------------------------------------------------===//

TEST(TokenCountsTest, noTokensHitNoExpert) {
  TokenCounts counts = TokenCounts::uniform(0, 128);
  EXPECT_EQ(counts.getTokens(), 0);
  EXPECT_EQ(counts.getHitExperts(), 0);
  EXPECT_EQ(counts.getTiles(8), 0);
}

TEST(TokenCountsTest, fewTokensHitSomeExperts) {
  TokenCounts counts = TokenCounts::uniform(0.5, 128);
  EXPECT_DOUBLE_EQ(counts.getTokens(), 64);
  EXPECT_NEAR(counts.getHitExperts(), 128 * (1 - std::exp(-0.5)), 1e-9);
  // A tile of all tokens of an expert is needed once for each hit expert.
  EXPECT_NEAR(counts.getTiles(1000), counts.getHitExperts(), 1e-9);
  // A tile of one token is needed once a token.
  EXPECT_NEAR(counts.getTiles(1), counts.getTokens(), 1e-9);
}

TEST(TokenCountsTest, tilesLieBetweenTheirBounds) {
  for (double mean : {0.01, 1.0, 7.5, 64.0, 300.0, 5000.0, 1e7}) {
    TokenCounts counts = TokenCounts::uniform(mean, 10);
    for (int64_t rows : {1, 8, 24, 64, 256}) {
      double tiles = counts.getTiles(rows);
      EXPECT_GE(tiles * (1 + 1e-9), counts.getTokens() / rows);
      EXPECT_LE(tiles, (counts.getTokens() / rows + 10) * (1 + 1e-9));
    }
  }
}

/// Columns that `count` tokens take in tiles of `rows`: of the last tile, the
/// least power of two times `step` that holds its tokens. Where tiles are for
/// large groups, those of one are alike, as wide as the first of `widths` that
/// holds what each gets.
static int64_t getColumns(int64_t count, int64_t rows, int64_t step) {
  std::map<int64_t, std::vector<int64_t>> widths = {
      {104, {72, 96, 104}}, {152, {96, 128, 152}}, {256, {128, 192, 256}}};
  if (count > 64 && widths.count(rows)) {
    int64_t tiles = (count + rows - 1) / rows;
    for (int64_t width : widths[rows])
      if (width * tiles >= count)
        return width * tiles;
  }
  int64_t columns = count / rows * rows, width = step;
  if (columns == count)
    return columns;
  while (width < count - columns)
    width *= 2;
  return columns + std::min(width, rows);
}

TEST(TokenCountsTest, paddingIsThatOfEveryCount) {
  for (double mean : {0.3, 1.0, 7.5, 63.0, 200.0, 800.0})
    for (int64_t rows : {8, 16, 24, 64, 104, 152, 256}) {
      double expected = 0;
      for (int64_t count = 0; count < 2000; ++count)
        expected +=
            getColumns(count, rows, /*step=*/8) *
            std::exp(count * std::log(mean) - mean - std::lgamma(count + 1.0));
      EXPECT_NEAR(
          TokenCounts::uniform(mean, 10).getPaddedTokens(rows, /*step=*/8),
          10 * expected, 1e-9 * expected)
          << mean << " tokens in tiles of " << rows;
    }
}

TEST(TokenCountsTest, expertsOfOneDistributionAreUniform) {
  for (double mean : {0.5, 30.0, 1e7}) {
    TokenCounts uniform = TokenCounts::uniform(mean, 12);
    TokenCounts counts = TokenCounts::uniform(mean, 1).ofExperts(12);
    EXPECT_EQ(counts.getTokens(), uniform.getTokens());
    EXPECT_EQ(counts.getHitExperts(), uniform.getHitExperts());
    EXPECT_EQ(counts.getTiles(16), uniform.getTiles(16));
    EXPECT_EQ(counts.getPaddedTokens(16, 8), uniform.getPaddedTokens(16, 8));
  }
}

TEST(TokenCountsTest, entriesOfExpertsAddUp) {
  TokenCounts counts = TokenCounts::perExpert({0, 3, 3, 100});
  EXPECT_DOUBLE_EQ(counts.getTokens(), 106);
  EXPECT_NEAR(counts.getHitExperts(), 3 - 2 * std::exp(-3.0), 1e-6);
  EXPECT_NEAR(counts.getTiles(16),
              TokenCounts::uniform(3, 2).getTiles(16) +
                  TokenCounts::uniform(100, 1).getTiles(16),
              1e-9);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

TEST(TilesTest, stagesFillSharedMemory) {
  Tile tile{64, 16, 1, 64, 16};
  EXPECT_EQ(tile.getStageBytes(), 80 * 128);
  EXPECT_EQ(getNumStages(kH200, tile, 128), kMaxStages);
  tile = {128, 128, 2, 128, 128};
  EXPECT_EQ(getNumStages(kH200, tile, 128), (232448 - 5 * 1024) / (256 * 128));
  // The table of many experts takes stages away.
  EXPECT_EQ(getNumStages(kH200, tile, 10000),
            (232448 - 1024 - 2 * 8 * kMaxStages - 10001 * 12) / (256 * 128));
  Machine small = kH200;
  small.sharedMemory = 1024;
  EXPECT_EQ(getNumStages(small, tile, 128), 0);
}

TEST(TilesTest, everyTileFitsTheKernel) {
  for (bool gateConcat : {false, true}) {
    MatmulShape shape = kQwen3GateUp;
    shape.gateConcat = gateConcat;
    for (Orientation orientation :
         {Orientation::Swapped, Orientation::Unswapped}) {
      llvm::SmallVector<Tile> tiles = getTiles(kH200, shape, orientation);
      EXPECT_FALSE(tiles.empty());
      for (const Tile &tile : tiles) {
        EXPECT_EQ(tile.m % (8 * tile.warpgroups), 0);
        // A slab that is not full is for few tokens.
        if (tile.m % (64 * tile.warpgroups) != 0) {
          EXPECT_EQ(orientation, Orientation::Swapped);
          EXPECT_FALSE(gateConcat);
          EXPECT_LE(tile.n, 16);
        }
        EXPECT_EQ(tile.n % 8, 0);
        EXPECT_LE(tile.n, 256);
        EXPECT_GE(getNumStages(kH200, tile, 128), kMinStages);
        // f32 accumulators of the block, over its threads.
        EXPECT_LE(tile.weightRows * tile.tokenRows / (128 * tile.warpgroups),
                  160);
      }
    }
  }
}

TEST(TilesTest, gatedTileTakesBothHalves) {
  MatmulShape shape = kQwen3GateUp;
  shape.gateConcat = true;
  // A slab of each for every warpgroup.
  for (const Tile &tile : getTiles(kH200, shape, Orientation::Swapped))
    EXPECT_EQ(tile.weightRows, 128 * tile.warpgroups);
  // Columns of each, in steps of the instruction.
  for (const Tile &tile : getTiles(kH200, shape, Orientation::Unswapped))
    EXPECT_EQ(tile.n % 16, 0);
}

TEST(TilesTest, panelsOfTransposedWeightsAreWhole) {
  MatmulShape shape = kQwen3GateUp;
  shape.knWeights = true;
  for (const Tile &tile : getTiles(kH200, shape, Orientation::Unswapped))
    EXPECT_EQ(tile.n % 64, 0);
  shape.gateConcat = true;
  for (const Tile &tile : getTiles(kH200, shape, Orientation::Unswapped))
    EXPECT_EQ(tile.n % 128, 0);
}

TEST(TilesTest, noTileFitsATinyMachine) {
  Machine tiny = kH200;
  tiny.sharedMemory = 16 * 1024;
  EXPECT_TRUE(getTiles(tiny, kQwen3GateUp, Orientation::Swapped).empty());
  EXPECT_TRUE(
      std::isinf(getSeconds(tiny, kQwen3GateUp, 4, Orientation::Swapped)));
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

TEST(EstimateTest, noTokensCostTheLaunchOnly) {
  EXPECT_EQ(getSeconds(kH200, kQwen3GateUp, 0, Orientation::Swapped),
            kH200.launchOverhead);
}

TEST(EstimateTest, moreTokensNeverTakeLess) {
  for (const MatmulShape &shape : kShapes) {
    for (Orientation orientation :
         {Orientation::Swapped, Orientation::Unswapped}) {
      double last = 0;
      for (double mean = 0.01; mean < 5000; mean *= 1.3) {
        double seconds = getSeconds(kH200, shape, mean, orientation);
        // But for rounding.
        EXPECT_GE(seconds * (1 + 1e-9), last) << "at " << mean;
        last = seconds;
      }
    }
  }
}

TEST(EstimateTest, bestTileIsTheBestOfAll) {
  for (double tokens : {0.0, 0.5, 4.0, 70.0, 1000.0})
    for (Orientation orientation :
         {Orientation::Swapped, Orientation::Unswapped}) {
      TokenCounts counts = TokenCounts::uniform(tokens, kQwen3GateUp.experts);
      Estimate best = estimate(kH200, kQwen3GateUp, counts, orientation);
      EXPECT_EQ(best.seconds,
                estimate(kH200, kQwen3GateUp, counts, orientation, best.tile)
                    .seconds);
      for (const Tile &tile : getTiles(kH200, kQwen3GateUp, orientation))
        // Larger tiles have to be better by more than nothing.
        EXPECT_LE(
            best.seconds * 0.997,
            estimate(kH200, kQwen3GateUp, counts, orientation, tile).seconds);
    }
}

TEST(EstimateTest, fasterMachinesTakeLess) {
  for (const MatmulShape &shape : kShapes) {
    for (double mean : {0.5, 8.0, 64.0, 512.0}) {
      for (Orientation orientation :
           {Orientation::Swapped, Orientation::Unswapped}) {
        EXPECT_LE(getSeconds(kH200, shape, mean, orientation),
                  getSeconds(kH100, shape, mean, orientation));
        Machine slow = kH200;
        slow.l2Bandwidth /= 2;
        EXPECT_LE(getSeconds(kH200, shape, mean, orientation),
                  getSeconds(slow, shape, mean, orientation));
      }
    }
  }
}

TEST(EstimateTest, noTimeIsBelowTheRoofline) {
  for (const MatmulShape &shape : kShapes) {
    for (double mean : {0.1, 4.0, 100.0, 2000.0}) {
      TokenCounts counts = TokenCounts::uniform(mean, shape.experts);
      double bytes = counts.getHitExperts() * shape.weightRows *
                     shape.contraction * shape.elementBytes;
      double operations =
          2.0 * counts.getTokens() * shape.weightRows * shape.contraction;
      Prediction prediction = predict(kH200, shape, counts);
      for (double seconds :
           {prediction.swapped.seconds, prediction.unswapped.seconds}) {
        EXPECT_GT(seconds, bytes / kH200.memoryBandwidth);
        EXPECT_GT(seconds, operations / kH200.swappedRate);
      }
    }
  }
}

TEST(EstimateTest, tokenTileFitsTheLargestGroup) {
  // Best tiles measured on an H200: 16 to 32 at 8 tokens an expert, 96 at 64
  // (largest group 85), 160 at 128 (largest group 157).
  auto tileOf = [](const MatmulShape &shape, double mean) {
    return estimate(kH200, shape, TokenCounts::uniform(mean, shape.experts),
                    Orientation::Swapped)
        .tile;
  };
  EXPECT_EQ(tileOf(kQwen3GateUp, 0.06).n, 8);
  EXPECT_EQ(tileOf(kQwen3GateUp, 4).n, 16);
  EXPECT_NEAR(tileOf(kQwen3GateUp, 8).n, 24, 8);
  EXPECT_NEAR(tileOf(kMixtralGateUp, 64).n, 96, 16);
  EXPECT_NEAR(tileOf(kMixtralGateUp, 128).n, 160, 16);
  // An expert's 1536 rows by 16 are as many tiles as there are
  // multiprocessors for 8 experts, but for 4.
  EXPECT_EQ(tileOf(kQwen3GateUp, 0.0625).m, 96);
  EXPECT_EQ(tileOf(kQwen3GateUp, 4).warpgroups, 1);
  EXPECT_EQ(tileOf(kMixtralGateUp, 128).warpgroups, 2);
}

TEST(EstimateTest, agreesWithMeasuredKernels) {
  // Share of the memory's ceiling that a swapped kernel reached on an H200.
  struct Measured {
    MatmulShape shape;
    double tokens, share;
  };
  const Measured kMeasured[] = {
      {kQwen3GateUp, 0.0625, 0.70},     {kQwen3GateUp, 0.5, 0.94},
      {kQwen3GateUp, 2, 0.97},          {kQwen3GateUp, 8, 0.95},
      {kQwen3GateUp, 32, 0.90},         {kQwen3Down, 0.0625, 0.59},
      {kQwen3Down, 0.5, 0.90},          {kQwen3Down, 8, 0.94},
      {kMixtralGateUp, 0.25, 0.94},     {kMixtralGateUp, 8, 0.98},
      {kMixtralGateUp, 32, 0.90},       {kMixtralGateUp, 128, 0.83},
      {kGptOssGateUp, 0.03125, 0.81},   {kGptOssGateUp, 16, 0.94},
      {kDeepseekGateUp, 0.03125, 0.94}, {kDeepseekGateUp, 16, 0.96}};
  for (const Measured &measured : kMeasured) {
    const MatmulShape &shape = measured.shape;
    TokenCounts counts = TokenCounts::uniform(measured.tokens, shape.experts);
    double floor = counts.getHitExperts() * shape.weightRows *
                   shape.contraction * shape.elementBytes /
                   kH200.memoryBandwidth;
    double predicted =
        floor / estimate(kH200, shape, counts, Orientation::Swapped).seconds;
    EXPECT_NEAR(predicted, measured.share, 0.15)
        << shape.experts << " experts, " << measured.tokens << " tokens";
  }
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

TEST(ChoiceTest, swappingPaysForFewTokens) {
  for (const Machine &machine : {kH100, kH200, kH20})
    for (const MatmulShape &shape : kShapes)
      for (double mean : {0.06, 0.5, 1.0, 4.0, 8.0, 16.0})
        EXPECT_TRUE(
            predict(machine, shape, TokenCounts::uniform(mean, shape.experts))
                .swapPays())
            << mean;
}

TEST(ChoiceTest, crossoverIsWhereTheSignChanges) {
  for (const MatmulShape &shape : kShapes) {
    std::optional<int64_t> h200 = getCrossover(kFastUnswappedH200, shape);
    std::optional<int64_t> h20 = getCrossover(kFastUnswappedH20, shape);
    ASSERT_TRUE(h200 && h20);
    for (auto [machine, crossover] : {std::pair(kFastUnswappedH200, *h200),
                                      std::pair(kFastUnswappedH20, *h20)}) {
      EXPECT_FALSE(predict(machine, shape,
                           TokenCounts::uniform(crossover, shape.experts))
                       .swapPays());
      EXPECT_TRUE(predict(machine, shape,
                          TokenCounts::uniform(crossover - 1, shape.experts))
                      .swapPays());
    }
  }
}

TEST(ChoiceTest, crossoverFallsWithTheRateOfTheSwappedKernel) {
  Machine worse = kFastUnswappedH20;
  worse.swappedRate *= 0.8;
  EXPECT_LT(*getCrossover(worse, kQwen3GateUp),
            *getCrossover(kFastUnswappedH20, kQwen3GateUp));
}

TEST(ChoiceTest, runTimeThresholdIsWhereSwappingDoesNotPay) {
  for (const Machine &machine :
       {kH100, kH200, kH20, kFastUnswappedH200, kFastUnswappedH20}) {
    for (const MatmulShape &shape : kShapes) {
      RunTimeChoice choice = chooseAtRunTime(machine, shape);
      EXPECT_GE(choice.worstLoss, 1);
      EXPECT_LT(choice.worstLoss, 1.3);
      if (!choice.threshold)
        continue;
      EXPECT_FALSE(
          predict(machine, shape,
                  TokenCounts::uniform(*choice.threshold, shape.experts))
              .swapPays());
    }
  }
}

TEST(ChoiceTest, swapsAlwaysWhereSwappedKernelsAreTheBetterOnes) {
  for (const Machine &machine : {kH100, kH200, kH20})
    for (const MatmulShape &shape : kShapes) {
      EXPECT_FALSE(getCrossover(machine, shape));
      EXPECT_FALSE(chooseAtRunTime(machine, shape).threshold);
    }
}

TEST(ChoiceTest, neverSwapsWhereItNeverPays) {
  Machine hopeless = kH20;
  hopeless.swappedRate /= 1000;
  EXPECT_EQ(chooseAtRunTime(hopeless, kQwen3GateUp).threshold, 0);
}

TEST(ChoiceTest, runTimeThresholdIsNoWorseThanTheCrossover) {
  // The crossover as the threshold: its loss beyond it.
  for (const MatmulShape &shape : kShapes) {
    int64_t crossover = *getCrossover(kFastUnswappedH20, shape);
    double loss = 1;
    for (int64_t tokens = crossover; tokens <= kMaxTokens; tokens += 31) {
      Prediction prediction =
          predict(kFastUnswappedH20, shape,
                  TokenCounts::uniform(tokens, shape.experts));
      loss = std::max(loss, prediction.unswapped.seconds /
                                prediction.swapped.seconds);
    }
    EXPECT_LE(chooseAtRunTime(kFastUnswappedH20, shape).worstLoss,
              loss * 1.001);
  }
}

} // namespace
