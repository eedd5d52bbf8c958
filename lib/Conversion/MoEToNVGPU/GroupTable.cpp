//===- GroupTable.cpp - rows and tiles of the experts ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table holds, for expert e and once more for the end, the first token row
// and, for each phase of the kernel, the first token tile. One warp makes it,
// each lane for some consecutive experts, so that most kernels wait once for
// all their groups to arrive:
//
//   offsets   first row = running maximum of the clamped offsets
//   sizes     first row = running sum of the clamped sizes, at most R
//   tiles     running sum of ceil(rows / tokens of a tile), or of 0 where the
//             rows are so many or so few that another phase has them
//
// Any content of the groups operand gives disjoint ascending row ranges within
// [0, R].
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::moe;

/// Experts of a lane, at most: with more, code grows and registers run out.
static constexpr int64_t kMaxLaneExperts = 8;
/// With so many rounds, the groups of all are loaded before the first of them
/// is worked on, so that a kernel waits for memory once.
static constexpr int64_t kMaxRoundsAtOnce = 2;

GroupTable::GroupTable(KernelBuilder &b, const KernelPlan &plan, Value shared)
    : plan(plan), phases(plan.getPhases()),
      laneExperts(std::min<int64_t>(
          kMaxLaneExperts, llvm::divideCeil(plan.numExperts, kWarpThreads))) {
  auto createArray = [&](int64_t index) {
    int64_t entries = plan.numExperts + 1;
    return b.sharedView(shared, b.index(plan.tableOffset + 4 * index * entries),
                        {entries}, b.getI32Type());
  };
  rowStarts = createArray(0);
  for (size_t phase = 0; phase < phases.size(); ++phase)
    tileStarts.push_back(createArray(phase + 1));
}

Value GroupTable::loadGroup(KernelBuilder &b, Value groups, Value position,
                            Value numRows) const {
  Value value = GlobalArray{groups, plan.groupsType}.load(b, position);
  if (plan.groupsType.getWidth() == 32) {
    value = arith::MaxSIOp::create(b, value, b.i32(0));
    return arith::MinSIOp::create(b, value, numRows);
  }
  value = arith::MaxSIOp::create(b, value, b.i64(0));
  value = arith::MinSIOp::create(b, value, b.toI64Unsigned(numRows));
  return arith::TruncIOp::create(b, b.getI32Type(), value);
}

/// The values of combine(...combine(combine(carried, item of lane 0), ...)...)
/// before each of the `items` of this lane, and after the last. `combine` is
/// associative, and zero changes nothing.
static SmallVector<Value>
createRunningValues(KernelBuilder &b, ArrayRef<Value> items, Value carried,
                    Value lane, function_ref<Value(Value, Value)> combine) {
  SmallVector<Value> own = {items.front()};
  for (Value item : items.drop_front())
    own.push_back(combine(own.back(), item));
  Value before = b.shuffle(gpu::ShuffleMode::UP,
                           createWarpScan(b, own.back(), lane, combine), 1);
  Value isFirst = b.compare(arith::CmpIPredicate::eq, lane, b.i32(0));
  before = combine(carried, b.select(isFirst, b.i32(0), before));
  SmallVector<Value> values = {before};
  for (Value item : own)
    values.push_back(combine(before, item));
  return values;
}

SmallVector<Value> GroupTable::loadGroups(KernelBuilder &b, Value groups,
                                          Value firstExpert,
                                          Value numRows) const {
  SmallVector<Value> items;
  for (int64_t i = 0; i < laneExperts; ++i) {
    if (plan.groupKind == GroupKind::Offsets) {
      // Behind the last expert that is the last offset: empty ranges.
      Value end =
          b.minUnsigned(b.add(firstExpert, i + 1), b.i32(plan.numExperts));
      items.push_back(loadGroup(b, groups, end, numRows));
      continue;
    }
    Value last = b.i32(plan.numExperts - 1);
    Value expert = b.add(firstExpert, i);
    Value size = loadGroup(b, groups, b.minUnsigned(expert, last), numRows);
    Value isExpert = b.compare(arith::CmpIPredicate::ule, expert, last);
    items.push_back(b.select(isExpert, size, b.i32(0)));
  }
  return items;
}

SmallVector<Value> GroupTable::getRowStarts(KernelBuilder &b,
                                            ArrayRef<Value> items,
                                            Value numRows, Value carriedRow,
                                            Value lane) const {
  return createRunningValues(b, items, carriedRow, lane,
                             [&](Value lhs, Value rhs) -> Value {
                               if (plan.groupKind == GroupKind::Offsets)
                                 return arith::MaxSIOp::create(b, lhs, rhs);
                               // Both summands are at most R < 2^31: the
                               // unsigned sum does not wrap.
                               return b.minUnsigned(b.add(lhs, rhs), numRows);
                             });
}

Value GroupTable::getTokenTiles(KernelBuilder &b, size_t phase,
                                Value rows) const {
  int64_t tokens = phases[phase]->tileTokens;
  Value tiles = b.divUnsigned(b.add(rows, tokens - 1), tokens);
  if (!plan.large)
    return tiles;
  bool isLarge = phases[phase] == plan.large.get();
  Value isOfPhase =
      b.compare(isLarge ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::ule,
                rows, b.i32(plan.tileTokens));
  return b.select(isOfPhase, tiles, b.i32(0));
}

SmallVector<Value> GroupTable::createRound(KernelBuilder &b,
                                           ArrayRef<Value> items,
                                           Value firstExpert, Value numRows,
                                           ValueRange carried,
                                           Value lane) const {
  // What becomes of rowStarts, and of the tileStarts of each phase.
  SmallVector<SmallVector<Value>> columns;
  columns.push_back(getRowStarts(b, items, numRows, carried.front(), lane));
  for (size_t phase = 0; phase < phases.size(); ++phase) {
    SmallVector<Value> tiles;
    for (int64_t i = 0; i < laneExperts; ++i)
      tiles.push_back(getTokenTiles(
          b, phase, b.sub(columns.front()[i + 1], columns.front()[i])));
    columns.push_back(createRunningValues(
        b, tiles, carried[1 + phase], lane,
        [&](Value lhs, Value rhs) { return b.add(lhs, rhs); }));
  }
  for (int64_t i = 0; i < laneExperts; ++i) {
    Value expert = b.add(firstExpert, i);
    Value isExpert =
        b.compare(arith::CmpIPredicate::ult, expert, b.i32(plan.numExperts));
    b.createIf(isExpert, [&] {
      storeEntry(b, b.toIndex(expert),
                 llvm::map_to_vector(columns, [&](ArrayRef<Value> column) {
                   return column[i];
                 }));
    });
  }
  return llvm::map_to_vector(columns, [&](ArrayRef<Value> column) {
    return b.shuffle(gpu::ShuffleMode::IDX, column.back(), kWarpThreads - 1);
  });
}

void GroupTable::build(KernelBuilder &b, Value groups, Value numRows,
                       Value lane) const {
  int64_t rounds =
      llvm::divideCeil(plan.numExperts, kWarpThreads * laneExperts);
  Value zero = b.i32(0);
  // The first row of a round, and the first tile of each phase.
  SmallVector<Value> carried(1 + phases.size(), zero);
  if (plan.groupKind == GroupKind::Offsets)
    carried.front() = loadGroup(b, groups, zero, numRows);
  auto getFirstExpert = [&](Value round) {
    return b.mul(b.add(b.mul(round, kWarpThreads), lane), laneExperts);
  };
  if (rounds <= kMaxRoundsAtOnce) {
    SmallVector<SmallVector<Value>> items;
    for (int64_t round = 0; round < rounds; ++round)
      items.push_back(
          loadGroups(b, groups, getFirstExpert(b.i32(round)), numRows));
    for (int64_t round = 0; round < rounds; ++round)
      carried = createRound(b, items[round], getFirstExpert(b.i32(round)),
                            numRows, carried, lane);
  } else {
    auto loop = scf::ForOp::create(b, zero, b.i32(rounds), b.i32(1), carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value firstExpert = getFirstExpert(loop.getInductionVar());
    scf::YieldOp::create(
        b, createRound(b, loadGroups(b, groups, firstExpert, numRows),
                       firstExpert, numRows, loop.getRegionIterArgs(), lane));
    carried = loop.getResults();
  }
  Value isFirst = b.compare(arith::CmpIPredicate::eq, lane, zero);
  b.createIf(isFirst,
             [&] { storeEntry(b, b.index(plan.numExperts), carried); });
  NVVM::SyncWarpOp::create(b, b.i32(-1));
}

void GroupTable::storeEntry(KernelBuilder &b, Value position,
                            ValueRange entry) const {
  memref::StoreOp::create(b, entry.front(), rowStarts, position);
  for (auto [tile, starts] : llvm::zip_equal(entry.drop_front(), tileStarts))
    memref::StoreOp::create(b, tile, starts, position);
}

/// The number fits in 32 bits: with 2^31 tiles, results alone would take 2 TB.
Value GroupTable::getNumTiles(KernelBuilder &b, size_t phase) const {
  Value tokenTiles =
      memref::LoadOp::create(b, tileStarts[phase], b.index(plan.numExperts));
  return b.mul(tokenTiles, phases[phase]->outputTiles);
}

WorkTile GroupTable::getTile(KernelBuilder &b, size_t phase,
                             Value index) const {
  Value starts = tileStarts[phase];
  int64_t outputTiles = phases[phase]->outputTiles;
  // The expert is the last one whose tiles start at or before this one. The
  // entry behind the last expert is never that, so clamping to it is enough.
  Value tokenTile = b.divUnsigned(index, outputTiles);
  Value expert = b.i32(0);
  for (int64_t step = llvm::bit_floor<uint64_t>(plan.numExperts); step > 0;
       step /= 2) {
    Value candidate =
        b.minUnsigned(b.add(expert, step), b.i32(plan.numExperts));
    Value start = memref::LoadOp::create(b, starts, b.toIndex(candidate));
    Value isAtOrBefore = b.compare(arith::CmpIPredicate::ule, start, tokenTile);
    expert = b.select(isAtOrBefore, candidate, expert);
  }
  Value position = b.toIndex(expert);
  Value next = arith::AddIOp::create(b, position, b.index(1));
  Value firstTile = memref::LoadOp::create(b, starts, position);
  Value endTile = memref::LoadOp::create(b, starts, next);
  Value local = b.sub(index, b.mul(firstTile, outputTiles));
  Value tokenTiles = b.sub(endTile, firstTile);
  WorkTile tile;
  tile.expert = expert;
  tile.outputTile = b.divUnsigned(local, tokenTiles);
  Value token = b.sub(local, b.mul(tile.outputTile, tokenTiles));
  Value expertRow = memref::LoadOp::create(b, rowStarts, position);
  tile.endRow = memref::LoadOp::create(b, rowStarts, next);
  Value tokens = b.i32(phases[phase]->tileTokens);
  if (phases[phase] == plan.large.get()) {
    // Tiles of as many tokens each, as far as steps of n go.
    constexpr int64_t step = 8;
    Value rows = b.sub(tile.endRow, expertRow);
    tokens =
        b.divUnsigned(b.add(rows, b.sub(tokenTiles, b.i32(1))), tokenTiles);
    tokens = b.mul(b.divUnsigned(b.add(tokens, step - 1), step), step);
  }
  tile.firstRow = b.add(expertRow, b.mul(token, tokens));
  tile.endRow = b.minUnsigned(tile.endRow, b.add(tile.firstRow, tokens));
  return tile;
}
