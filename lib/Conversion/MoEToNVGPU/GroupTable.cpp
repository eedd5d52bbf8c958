//===- GroupTable.cpp - rows and tiles of the experts ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table holds, for expert e and once more for the end, the first token row
// and the first token tile. One warp makes it, 32 experts a round, one a lane:
//
//   offsets   first row = running maximum of the clamped offsets
//   sizes     first row = running sum of the clamped sizes, at most R
//   tiles     running sum of ceil(rows / tokens of a tile)
//
// Running values go through the warp by shuffles and from round to round in
// registers. Any content of the groups operand gives disjoint ascending row
// ranges within [0, R].
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

using namespace mlir;
using namespace mlir::moe;

GroupTable::GroupTable(KernelBuilder &b, const KernelPlan &plan, Value shared)
    : plan(plan),
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

std::pair<Value, Value> GroupTable::getRows(KernelBuilder &b, Value groups,
                                            Value expert, Value isExpert,
                                            Value numRows, Value lane,
                                            Value carriedRow) const {
  if (plan.groupKind == GroupKind::Offsets) {
    // Lanes behind the last expert read the last offset: their ranges are
    // empty, and the running maximum ends with that offset.
    auto load = [&](int64_t distance) {
      Value position =
          b.minUnsigned(b.add(expert, distance), b.i32(plan.numExperts));
      return loadGroup(b, groups, position, numRows);
    };
    auto maximum = [&](Value lhs, Value rhs) -> Value {
      return arith::MaxSIOp::create(b, lhs, rhs);
    };
    Value first = createWarpScan(b, load(0), lane, maximum);
    first = maximum(first, carriedRow);
    return {first, maximum(first, load(1))};
  }
  Value last = b.i32(plan.numExperts - 1);
  Value size = loadGroup(b, groups, b.minUnsigned(expert, last), numRows);
  size = b.select(isExpert, size, b.i32(0));
  // Both summands are at most R < 2^31, so the unsigned sum does not wrap.
  auto saturatingSum = [&](Value lhs, Value rhs) {
    return b.minUnsigned(b.add(lhs, rhs), numRows);
  };
  Value end = createWarpScan(b, size, lane, saturatingSum);
  end = saturatingSum(end, carriedRow);
  Value previousEnd = b.shuffle(gpu::ShuffleMode::UP, end, 1);
  Value isFirst = b.compare(arith::CmpIPredicate::eq, lane, b.i32(0));
  return {b.select(isFirst, carriedRow, previousEnd), end};
}

void GroupTable::build(KernelBuilder &b, Value groups, Value numRows,
                       Value lane) const {
  int64_t rounds = llvm::divideCeil(plan.numExperts, kWarpThreads);
  Value zero = b.i32(0);
  auto loop = scf::ForOp::create(b, zero, b.i32(rounds), b.i32(1),
                                 ValueRange{zero, zero});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value carriedRow = loop.getRegionIterArg(0);
    Value carriedTile = loop.getRegionIterArg(1);
    Value expert = b.add(b.mul(loop.getInductionVar(), kWarpThreads), lane);
    Value isExpert =
        b.compare(arith::CmpIPredicate::ult, expert, b.i32(plan.numExperts));
    auto [first, end] =
        getRows(b, groups, expert, isExpert, numRows, lane, carriedRow);
    Value rows = b.sub(end, first);
    Value tiles =
        b.divUnsigned(b.add(rows, plan.tileTokens - 1), plan.tileTokens);
    Value endTile = createWarpScan(
        b, tiles, lane, [&](Value lhs, Value rhs) { return b.add(lhs, rhs); });
    endTile = b.add(endTile, carriedTile);
    b.createIf(isExpert, [&] {
      Value position = b.toIndex(expert);
      memref::StoreOp::create(b, first, rowStarts, position);
      memref::StoreOp::create(b, b.sub(endTile, tiles), tileStarts, position);
    });
    scf::YieldOp::create(
        b, ValueRange{
               b.shuffle(gpu::ShuffleMode::IDX, end, kWarpThreads - 1),
               b.shuffle(gpu::ShuffleMode::IDX, endTile, kWarpThreads - 1)});
  }
  Value isFirst = b.compare(arith::CmpIPredicate::eq, lane, zero);
  b.createIf(isFirst, [&] {
    Value position = b.index(plan.numExperts);
    memref::StoreOp::create(b, loop.getResult(0), rowStarts, position);
    memref::StoreOp::create(b, loop.getResult(1), tileStarts, position);
  });
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
