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

void OperandStreams::load(KernelBuilder &b, const Ring &ring,
                          RingPosition position, const Tile &tile,
                          Value kStep) const {
  Value firstDepth = b.mul(kStep, plan.kStep);
  loadWeights(b, ring, position, tile, firstDepth);
  loadTokens(b, ring, position, tile, firstDepth);
}

void OperandStreams::loadWeights(KernelBuilder &b, const Ring &ring,
                                 RingPosition position, const Tile &tile,
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
    Value byteOffset = arith::AddIOp::create(
        b, stage, b.index(tileOffset + box.byteOffset));
    createLoad(b, ring, position, shared, weightMap, coordinates, byteOffset);
  }
}

void OperandStreams::loadTokens(KernelBuilder &b, const Ring &ring,
                                RingPosition position, const Tile &tile,
                                Value firstDepth) const {
  Value stage = ring.getStageOffset(b, position);
  const OperandTile &tokens = plan.getTokenTile();
  int64_t tileOffset = plan.isSwapped ? plan.a.getBytes() : 0;
  for (int64_t row = 0; row < tokens.extent; row += tokens.boxExtent) {
    Value byteOffset = arith::AddIOp::create(
        b, stage, b.index(tileOffset + row * kSwizzleBytes));
    createLoad(
        b, ring, position, shared, tokenMap,
        {b.toIndex(b.add(tile.firstRow, row)), b.toIndex(firstDepth)},
        byteOffset);
  }
}
