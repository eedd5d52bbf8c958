//===- OperandStreams.cpp - TMA loads of one stage ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

using namespace mlir;
using namespace mlir::moe;

/// Rows and columns of one box as they lie in shared memory.
static SmallVector<int64_t> getBoxShape(const OperandTile &tile,
                                        bool hasExpertDimension) {
  constexpr int64_t depth = kSwizzleBytes / 2;
  SmallVector<int64_t> shape;
  if (hasExpertDimension)
    shape.push_back(1);
  if (tile.isKMajor)
    shape.append({tile.boxExtent, depth});
  else
    shape.append({depth, tile.boxExtent});
  return shape;
}

nvgpu::TensorMapDescriptorType
mlir::moe::getTensorMapType(const OperandTile &tile, Type element,
                            bool hasExpertDimension) {
  MLIRContext *context = element.getContext();
  auto space =
      gpu::AddressSpaceAttr::get(context, gpu::AddressSpace::Workgroup);
  auto box = MemRefType::get(getBoxShape(tile, hasExpertDimension), element,
                             MemRefLayoutAttrInterface(), space);
  // Promotion to 128 bytes beat 256 by 3 to 4 % of bandwidth on an H200: one
  // row of a box is 128 bytes.
  return nvgpu::TensorMapDescriptorType::get(
      context, box, nvgpu::TensorMapSwizzleKind::SWIZZLE_128B,
      nvgpu::TensorMapL2PromoKind::L2PROMO_128B,
      nvgpu::TensorMapOOBKind::OOB_ZERO,
      nvgpu::TensorMapInterleaveKind::INTERLEAVE_NONE);
}

/// Loads one box at `coordinates`, outermost first as memrefs have them, to
/// `byteOffset` (index) of shared memory.
static void createLoad(KernelBuilder &b, const Ring &ring,
                       RingPosition position, Value shared, Value map,
                       ValueRange coordinates, Value byteOffset) {
  auto type = cast<nvgpu::TensorMapDescriptorType>(map.getType());
  Value destination =
      b.sharedView(shared, byteOffset, type.getTensor().getShape(),
                   type.getTensor().getElementType());
  // The op hands its coordinates to the instruction, which counts from the
  // innermost dimension.
  auto innermostFirst = llvm::to_vector(llvm::reverse(coordinates));
  nvgpu::TmaAsyncLoadOp::create(b, destination, ring.getFullBarriers(), map,
                                innermostFirst, b.toIndex(position.stage),
                                /*multicastMask=*/Value(),
                                /*predicate=*/Value());
}

SmallVector<Value> OperandStreams::getTokenRows(KernelBuilder &b,
                                                const WorkTile &tile) const {
  const OperandTile &tokens = plan.getTokenTile();
  SmallVector<Value> rows;
  if (!gather) {
    for (int64_t row = 0; row < tokens.extent; row += tokens.boxExtent)
      rows.push_back(b.add(tile.firstRow, row));
    return rows;
  }
  for (int64_t row = 0; row < tokens.extent; row += kWarpThreads)
    rows.push_back(loadTokenOfRow(b, b.add(b.add(tile.firstRow, row), lane)));
  return rows;
}

/// The token that `row` reads, -1 for a row past the last or an index that does
/// not fit: TMA fills what lies outside the tokens with zeros.
Value OperandStreams::loadTokenOfRow(KernelBuilder &b, Value row) const {
  Value none = b.i32(-1);
  Value isRow = b.compare(arith::CmpIPredicate::ult, row, numRows);
  auto ifOp = scf::IfOp::create(b, b.getI32Type(), isRow,
                                /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(b, none);
  b.setInsertionPointToStart(ifOp.thenBlock());
  Value token = GlobalArray{gather, plan.gatherType}.load(b, row);
  if (plan.gatherType.getWidth() == 64) {
    Value low = arith::TruncIOp::create(b, b.getI32Type(), token);
    Value fits = b.compare(arith::CmpIPredicate::eq, token, b.toI64Signed(low));
    token = b.select(fits, low, none);
  }
  scf::YieldOp::create(b, token);
  return ifOp.getResult(0);
}

void OperandStreams::load(KernelBuilder &b, const Ring &ring,
                          RingPosition position, const WorkTile &tile,
                          ArrayRef<Value> tokenRows, Value kStep) const {
  Value firstDepth = b.mul(kStep, plan.kStep);
  ring.waitEmpty(b, position);
  if (!gather) {
    ring.announce(b, position, tile, plan.getLoadBytes());
    loadWeights(b, ring, position, tile, firstDepth);
    return loadTokens(b, ring, position, tokenRows, firstDepth);
  }
  // The bytes of a lane may arrive before the first lane has announced them:
  // the stage is full only when both have happened.
  b.createIf(b.compare(arith::CmpIPredicate::eq, lane, b.i32(0)), [&] {
    ring.announce(b, position, tile, plan.getLoadBytes());
    loadWeights(b, ring, position, tile, firstDepth);
  });
  loadGatheredTokens(b, ring, position, tokenRows, firstDepth);
}

/// A row coordinate, which may be negative.
static Value toCoordinate(KernelBuilder &b, Value row) {
  return arith::IndexCastOp::create(b, b.getIndexType(), row);
}

void OperandStreams::loadWeights(KernelBuilder &b, const Ring &ring,
                                 RingPosition position, const WorkTile &tile,
                                 Value firstDepth) const {
  Value stage = ring.getStageOffset(b, position);
  Value tileRow = b.mul(tile.outputTile, plan.getTileRowStride());
  int64_t tileOffset = plan.isSwapped ? 0 : plan.a.getBytes();
  for (const WeightBox &box : plan.weightBoxes) {
    Value row = b.toIndex(b.add(tileRow, box.rowOffset));
    Value depth = b.toIndex(firstDepth);
    SmallVector<Value> coordinates = {b.toIndex(tile.expert)};
    if (plan.getWeightTile().isKMajor)
      coordinates.append({row, depth});
    else
      coordinates.append({depth, row});
    Value byteOffset =
        arith::AddIOp::create(b, stage, b.index(tileOffset + box.byteOffset));
    createLoad(b, ring, position, shared, weightMap, coordinates, byteOffset);
  }
}

void OperandStreams::loadTokens(KernelBuilder &b, const Ring &ring,
                                RingPosition position,
                                ArrayRef<Value> tokenRows,
                                Value firstDepth) const {
  Value stage = ring.getStageOffset(b, position);
  int64_t boxBytes = plan.getTokenTile().boxExtent * kSwizzleBytes;
  for (auto [i, row] : llvm::enumerate(tokenRows)) {
    int64_t offset = getTokenOffset() + static_cast<int64_t>(i) * boxBytes;
    Value byteOffset = arith::AddIOp::create(b, stage, b.index(offset));
    createLoad(b, ring, position, shared, tokenMap,
               {toCoordinate(b, row), b.toIndex(firstDepth)}, byteOffset);
  }
}

/// Lane l loads rows l, l + 32, ... of the tile. The swizzle is a function of
/// shared memory addresses, so a row by itself lands as it would in a box.
void OperandStreams::loadGatheredTokens(KernelBuilder &b, const Ring &ring,
                                        RingPosition position,
                                        ArrayRef<Value> tokenRows,
                                        Value firstDepth) const {
  Value stage = ring.getStageOffset(b, position);
  int64_t extent = plan.getTokenTile().extent;
  for (auto [i, row] : llvm::enumerate(tokenRows)) {
    int64_t firstRow = static_cast<int64_t>(i) * kWarpThreads;
    Value rowInTile = b.add(lane, firstRow);
    auto load = [&, row = row] {
      Value offset = b.add(b.mul(rowInTile, kSwizzleBytes), getTokenOffset());
      Value byteOffset = arith::AddIOp::create(b, stage, b.toIndex(offset));
      createLoad(b, ring, position, shared, tokenMap,
                 {toCoordinate(b, row), b.toIndex(firstDepth)}, byteOffset);
    };
    if (firstRow + kWarpThreads <= extent)
      load();
    else
      b.createIf(b.compare(arith::CmpIPredicate::ult, rowInTile, b.i32(extent)),
                 load);
  }
}
