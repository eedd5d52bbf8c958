//===- GroupTable.cpp - rows and tiles of the experts ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table holds, for expert e and once more for the end, the first token row
// and the first token tile. One warp makes it, each lane for some consecutive
// experts, so that most kernels wait once for all their groups to arrive:
//
//   offsets   first row = running maximum of the clamped offsets
//   sizes     first row = running sum of the clamped sizes, at most R
//   tiles     running sum of ceil(rows / tokens of a tile)
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

GroupTable::GroupTable(KernelBuilder &b, const KernelPlan &plan, Value shared)
    : plan(plan),
      laneExperts(std::min<int64_t>(
          kMaxLaneExperts, llvm::divideCeil(plan.numExperts, kWarpThreads))),
      rowStarts(b.sharedView(shared, b.index(plan.tableOffset),
                             {plan.numExperts + 1}, b.getI32Type())),
      tileStarts(b.sharedView(
          shared, b.index(plan.tableOffset + 4 * (plan.numExperts + 1)),
          {plan.numExperts + 1}, b.getI32Type())) {}

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

SmallVector<Value> GroupTable::getRowStarts(KernelBuilder &b, Value groups,
                                            Value firstExpert, Value numRows,
                                            Value carriedRow,
                                            Value lane) const {
  SmallVector<Value> items;
  if (plan.groupKind == GroupKind::Offsets) {
    // Behind the last expert that is the last offset: empty ranges.
    Value last = b.i32(plan.numExperts);
    for (int64_t i = 0; i < laneExperts; ++i)
      items.push_back(loadGroup(
          b, groups, b.minUnsigned(b.add(firstExpert, i + 1), last), numRows));
    return createRunningValues(b, items, carriedRow, lane,
                               [&](Value lhs, Value rhs) -> Value {
                                 return arith::MaxSIOp::create(b, lhs, rhs);
                               });
  }
  Value last = b.i32(plan.numExperts - 1);
  for (int64_t i = 0; i < laneExperts; ++i) {
    Value expert = b.add(firstExpert, i);
    Value size = loadGroup(b, groups, b.minUnsigned(expert, last), numRows);
    Value isExpert = b.compare(arith::CmpIPredicate::ule, expert, last);
    items.push_back(b.select(isExpert, size, b.i32(0)));
  }
  // Both summands are at most R < 2^31, so the unsigned sum does not wrap.
  return createRunningValues(b, items, carriedRow, lane,
                             [&](Value lhs, Value rhs) {
                               return b.minUnsigned(b.add(lhs, rhs), numRows);
                             });
}

void GroupTable::build(KernelBuilder &b, Value groups, Value numRows,
                       Value lane) const {
  int64_t rounds =
      llvm::divideCeil(plan.numExperts, kWarpThreads * laneExperts);
  Value zero = b.i32(0);
  Value firstRow = plan.groupKind == GroupKind::Offsets
                       ? loadGroup(b, groups, zero, numRows)
                       : zero;
  auto loop = scf::ForOp::create(b, zero, b.i32(rounds), b.i32(1),
                                 ValueRange{firstRow, zero});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value round = b.mul(loop.getInductionVar(), kWarpThreads);
    Value firstExpert = b.mul(b.add(round, lane), laneExperts);
    SmallVector<Value> rows = getRowStarts(b, groups, firstExpert, numRows,
                                           loop.getRegionIterArg(0), lane);
    SmallVector<Value> tiles;
    for (auto [start, end] : llvm::zip(rows, ArrayRef(rows).drop_front()))
      tiles.push_back(b.divUnsigned(
          b.add(b.sub(end, start), plan.tileTokens - 1), plan.tileTokens));
    tiles = createRunningValues(
        b, tiles, loop.getRegionIterArg(1), lane,
        [&](Value lhs, Value rhs) { return b.add(lhs, rhs); });
    for (int64_t i = 0; i < laneExperts; ++i) {
      Value expert = b.add(firstExpert, i);
      Value isExpert =
          b.compare(arith::CmpIPredicate::ult, expert, b.i32(plan.numExperts));
      b.createIf(isExpert, [&] {
        memref::StoreOp::create(b, rows[i], rowStarts, b.toIndex(expert));
        memref::StoreOp::create(b, tiles[i], tileStarts, b.toIndex(expert));
      });
    }
    auto broadcastLast = [&](Value value) {
      return b.shuffle(gpu::ShuffleMode::IDX, value, kWarpThreads - 1);
    };
    scf::YieldOp::create(
        b, ValueRange{broadcastLast(rows.back()), broadcastLast(tiles.back())});
  }
  Value isFirst = b.compare(arith::CmpIPredicate::eq, lane, zero);
  b.createIf(isFirst, [&] {
    Value position = b.index(plan.numExperts);
    memref::StoreOp::create(b, loop.getResult(0), rowStarts, position);
    memref::StoreOp::create(b, loop.getResult(1), tileStarts, position);
  });
  NVVM::SyncWarpOp::create(b, b.i32(-1));
}

/// The number fits in 32 bits: with 2^31 tiles, results alone would take 2 TB.
Value GroupTable::getNumTiles(KernelBuilder &b) const {
  Value tokenTiles =
      memref::LoadOp::create(b, tileStarts, b.index(plan.numExperts));
  return b.mul(tokenTiles, plan.outputTiles);
}

WorkTile GroupTable::getTile(KernelBuilder &b, Value index) const {
  // The expert is the last one whose tiles start at or before this one. The
  // entry behind the last expert is never that, so clamping to it is enough.
  Value tokenTile = b.divUnsigned(index, plan.outputTiles);
  Value expert = b.i32(0);
  for (int64_t step = llvm::bit_floor<uint64_t>(plan.numExperts); step > 0;
       step /= 2) {
    Value candidate =
        b.minUnsigned(b.add(expert, step), b.i32(plan.numExperts));
    Value start = memref::LoadOp::create(b, tileStarts, b.toIndex(candidate));
    Value isAtOrBefore = b.compare(arith::CmpIPredicate::ule, start, tokenTile);
    expert = b.select(isAtOrBefore, candidate, expert);
  }
  Value position = b.toIndex(expert);
  Value next = arith::AddIOp::create(b, position, b.index(1));
  Value firstTile = memref::LoadOp::create(b, tileStarts, position);
  Value endTile = memref::LoadOp::create(b, tileStarts, next);
  Value local = b.sub(index, b.mul(firstTile, plan.outputTiles));
  Value tokenTiles = b.sub(endTile, firstTile);
  WorkTile tile;
  tile.expert = expert;
  tile.outputTile = b.divUnsigned(local, tokenTiles);
  Value token = b.sub(local, b.mul(tile.outputTile, tokenTiles));
  Value expertRow = memref::LoadOp::create(b, rowStarts, position);
  tile.firstRow = b.add(expertRow, b.mul(token, plan.tileTokens));
  tile.endRow = memref::LoadOp::create(b, rowStarts, next);
  return tile;
}
