//===- SelectSchedule.cpp - choose the tiles of a GPU kernel --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/Transforms/Passes.h"
#include "moe/Dialect/MoE/Transforms/Transforms.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cmath>

namespace mlir {
namespace moe {
#define GEN_PASS_DEF_MOESELECTSCHEDULEPASS
#include "moe/Dialect/MoE/Transforms/Passes.h.inc"
} // namespace moe
} // namespace mlir

#define DEBUG_TYPE "moe-select-schedule"

using namespace mlir;
using namespace mlir::moe;

/// Elements of the contraction that one pipeline stage holds: 128 bytes.
static constexpr int64_t kStageElements = 64;
/// Token tile when nothing is known of the tokens.
static constexpr int64_t kDefaultTokens = kSmallGroup;
/// The same for gathered tokens, of which a larger tile would take a copy.
static constexpr int64_t kDefaultGatheredTokens = 16;

/// The tile when no time can be predicted. An op that stays unswapped has many
/// tokens: as many rows and outputs as two warpgroups share evenly.
static const Tile *getDefaultTile(ArrayRef<Tile> tiles, Orientation orientation,
                                  bool gathers) {
  if (orientation == Orientation::Unswapped) {
    const Tile *best = &tiles.front();
    for (const Tile &tile : tiles)
      if (tile.tokenRows >= best->tokenRows &&
          tile.weightRows <= tile.tokenRows)
        best = &tile;
    return best;
  }
  int64_t tokens = gathers ? kDefaultGatheredTokens : kDefaultTokens;
  const Tile *best = &tiles.front();
  for (const Tile &tile : tiles)
    if (tile.tokenRows > best->tokenRows && tile.tokenRows <= tokens)
      best = &tile;
  return best;
}

/// A swapped `tile` with room for as many tokens as cost no stage: tiles of
/// fewer take no more than they need, and an expert that gets more than
/// expected has its weights read less often.
static Tile widenTokenTile(const Machine &machine, const MatmulShape &shape,
                           const TokenCounts &counts, Tile tile) {
  int64_t stages = getNumStages(machine, tile, shape.experts);
  int64_t n = llvm::PowerOf2Ceil(tile.n + 1);
  for (; n <= kSmallGroup && n < 2 * counts.getTokens(); n *= 2) {
    Tile wider = tile;
    wider.n = wider.tokenRows = n;
    if (getNumStages(machine, wider, shape.experts) < stages ||
        (shape.gathers && !canGather(n, tile.weightRows)))
      break;
    tile = wider;
  }
  return tile;
}

/// The tile of the groups of more tokens than `tile` holds, if there may be
/// large ones and a tile for them. Of such groups nothing is known; that all
/// tokens are in one is where the choice matters most.
static std::optional<Tile> getLargeTile(const Machine &machine,
                                        const MatmulShape &shape,
                                        const TokenCounts &counts, Tile tile) {
  if (counts.getTokens() <= kSmallGroup)
    return std::nullopt;
  Estimate best = estimate(
      machine, shape, TokenCounts::uniform(counts.getTokens(), 1),
      Orientation::Swapped, [&](const Tile &other) {
        return other.n > tile.n &&
               !(shape.gathers && !canGather(other.n, other.weightRows));
      });
  if (!std::isfinite(best.seconds))
    return std::nullopt;
  return best.tile;
}

/// The schedule of a swapped op whose best tile for all groups is `tile`.
static std::pair<Tile, std::optional<Tile>>
splitBySize(const Machine &machine, const MatmulShape &shape,
            const TokenCounts &counts, Tile tile) {
  if (tile.n <= kSmallGroup) {
    tile = widenTokenTile(machine, shape, counts, tile);
    return {tile, getLargeTile(machine, shape, counts, tile)};
  }
  // Most groups are large: what is not gets a tile of its own.
  Estimate rest =
      estimate(machine, shape, counts, Orientation::Swapped,
               [](const Tile &other) { return other.n <= kSmallGroup; });
  return {rest.tile, tile};
}

FailureOr<ScheduleChoice>
mlir::moe::chooseSchedule(GroupedMatmulInterface op, TargetAttr target,
                          const std::optional<TokenCounts> &counts,
                          std::string &reason) {
  if (std::optional<std::string> obstacle = getGPUObstacle(op)) {
    reason = *obstacle;
    return failure();
  }
  Orientation orientation =
      op.isSwapped() ? Orientation::Swapped : Orientation::Unswapped;
  Machine machine =
      getMachine(target, op.getTokens().getType().getElementType());
  std::optional<MatmulShape> shape = getMatmulShape(op);
  // Without sizes, tiles depend on the layouts alone.
  MatmulShape tileShape = shape ? *shape : getMatmulLayout(op);
  SmallVector<Tile> tiles = getTiles(machine, tileShape, orientation);
  if (tiles.empty()) {
    reason = llvm::formatv("no tile fits {0} bytes of shared memory",
                           target.getSharedMemory());
    return failure();
  }

  ScheduleChoice choice;
  if (shape && counts) {
    Estimate best = estimate(machine, *shape, *counts, orientation);
    // More tokens than numbers have room for are as good as unknown.
    if (std::isfinite(best.seconds))
      choice.estimate = best;
  }
  Tile tile = choice.estimate
                  ? choice.estimate->tile
                  : *getDefaultTile(tiles, orientation, tileShape.gathers);
  std::optional<Tile> large;
  if (shape && orientation == Orientation::Swapped) {
    if (choice.estimate)
      std::tie(tile, large) = splitBySize(machine, *shape, *counts, tile);
    else
      large = getLargeTile(machine, *shape, TokenCounts::uniform(kMaxTokens, 1),
                           tile);
  }
  // A target of other instruction shapes than WGMMA's has no schedule.
  std::string message;
  ScopedDiagnosticHandler handler(op->getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    message = diagnostic.str();
                                    return success();
                                  });
  auto getSchedule = [&](const Tile &tile, ScheduleAttr large) {
    return ScheduleAttr::getChecked(
        op.getLoc(), op->getContext(), tile.m, tile.n, kStageElements,
        getNumStages(machine, tile, tileShape.experts), tile.warpgroups, large);
  };
  ScheduleAttr largeSchedule;
  if (large)
    largeSchedule = getSchedule(*large, ScheduleAttr());
  choice.schedule = getSchedule(tile, largeSchedule);
  if (!choice.schedule) {
    reason = message;
    return failure();
  }
  return choice;
}

namespace {
struct SelectSchedulePass
    : public moe::impl::MoESelectSchedulePassBase<SelectSchedulePass> {
  using MoESelectSchedulePassBase::MoESelectSchedulePassBase;

  void runOnOperation() override {
    std::optional<double> tokens;
    if (expectedTokens >= 0 || std::isnan(expectedTokens)) {
      if (!std::isfinite(expectedTokens)) {
        getOperation()->emitError()
            << "option expected-tokens must be a finite number, got "
            << static_cast<double>(expectedTokens);
        return signalPassFailure();
      }
      tokens = expectedTokens;
    }
    // One for all ops, or null for the one around each.
    FailureOr<TargetAttr> given = TargetAttr();
    if (!target.empty())
      given = resolveTarget(getOperation(), target);
    if (failed(given))
      return signalPassFailure();
    getOperation()->walk([&](GroupedMatmulInterface op) {
      schedule(op, *given ? *given : TargetAttr::getAround(op),
               getExpectedCounts(op, tokens));
    });
  }

private:
  void schedule(GroupedMatmulInterface op, TargetAttr target,
                const std::optional<TokenCounts> &counts) {
    if (op.getScheduleAttr()) {
      ++numKept;
      remark::missed(op.getLoc(), getRemark(op, "kept"))
          << remark::metric("Op", op->getName().getStringRef())
          << remark::reason("it has a schedule already");
      return;
    }
    std::string reason;
    FailureOr<ScheduleChoice> choice =
        chooseSchedule(op, target, counts, reason);
    if (failed(choice)) {
      ++numRefused;
      remark::missed(op.getLoc(), getRemark(op, "refused"))
          << remark::metric("Op", op->getName().getStringRef())
          << remark::reason("{0}", reason);
      return;
    }
    ++numScheduled;
    op.setScheduleAttr(choice->schedule);
    emitRemark(op, target, counts, *choice);
  }

  static remark::RemarkOpts getRemark(GroupedMatmulInterface op,
                                      StringRef name) {
    auto function = op->getParentOfType<FunctionOpInterface>();
    return remark::RemarkOpts::name(name)
        .category(DEBUG_TYPE)
        .function(function ? function.getName() : StringRef());
  }

  static void emitRemark(GroupedMatmulInterface op, TargetAttr target,
                         const std::optional<TokenCounts> &counts,
                         const ScheduleChoice &choice) {
    auto remark = remark::passed(op.getLoc(), getRemark(op, "scheduled"));
    if (!remark)
      return;
    remark << remark::metric("Op", op->getName().getStringRef());
    remark << remark::metric("Target", target.getName());
    remark << remark::metric(
        "ExpectedTokens",
        counts
            ? llvm::formatv("{0:f2}", counts->getTokens() / op.getNumExperts())
                  .str()
            : std::string("unknown"));
    if (choice.estimate)
      remark << remark::metric(
          "Predicted",
          llvm::formatv("{0:f1} us", choice.estimate->seconds * 1e6).str());
    remark << remark::metric("Schedule", Attribute(choice.schedule));
  }
};
} // namespace
