//===- Accumulator.cpp - matrix instructions of one stage -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "moe/Conversion/NVGPUWarpgroupToNVVM/NVGPUWarpgroupToNVVM.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::moe;

nvgpu::WarpgroupAccumulatorType Accumulator::getType(KernelBuilder &b) const {
  auto fragment =
      VectorType::get({plan.slabs * kSlabRows, plan.n}, b.getF32Type());
  return nvgpu::WarpgroupAccumulatorType::get(b.getContext(), fragment);
}

Value Accumulator::createZero(KernelBuilder &b) const {
  return nvgpu::WarpgroupMmaInitAccumulatorOp::create(b, getType(b));
}

/// The memref through which a matrix descriptor sees the first `rows` (or
/// panel) of an operand tile at `byteOffset`. An MN-major operand is the
/// transposed view of how it is stored.
static Value createOperandView(KernelBuilder &b, Value shared, Value byteOffset,
                               const OperandTile &tile, int64_t rows,
                               Type element) {
  constexpr int64_t depth = kSwizzleBytes / 2;
  if (tile.isKMajor)
    return b.sharedView(shared, byteOffset, {rows, depth}, element);
  Value stored = b.sharedView(shared, byteOffset, {depth, kSlabRows}, element);
  auto swap =
      AffineMap::getPermutationMap(ArrayRef<int64_t>{1, 0}, b.getContext());
  return memref::TransposeOp::create(b, stored, AffineMapAttr::get(swap));
}

Value Accumulator::multiply(KernelBuilder &b, const Ring &ring,
                            RingPosition position, Value warpgroup,
                            Value accumulator) const {
  MLIRContext *context = b.getContext();
  int64_t rows = plan.slabs * kSlabRows;
  auto space =
      gpu::AddressSpaceAttr::get(context, gpu::AddressSpace::Workgroup);
  Value stage = ring.getStageOffset(b, position);
  Value offsetA = arith::AddIOp::create(
      b, stage,
      b.toIndex(b.mul(warpgroup, plan.warpgroupRows * kSwizzleBytes)));
  Value offsetB = arith::AddIOp::create(b, stage, b.index(plan.a.getBytes()));

  // The op wants A as [M x K], whose strides say how it is stored, and B as
  // [K x N], whose strides do not: transposeB does.
  Value viewA =
      createOperandView(b, shared, offsetA, plan.a, rows, plan.elementType);
  Value viewB =
      createOperandView(b, shared, offsetB, plan.b, plan.n, plan.elementType);
  MemRefLayoutAttrInterface layoutA;
  if (!plan.a.isKMajor)
    layoutA = StridedLayoutAttr::get(context, 0, {1, kSlabRows});
  auto typeA = nvgpu::WarpgroupMatrixDescriptorType::get(
      context,
      MemRefType::get({rows, plan.kStep}, plan.elementType, layoutA, space));
  auto typeB = nvgpu::WarpgroupMatrixDescriptorType::get(
      context, MemRefType::get({plan.kStep, plan.n}, plan.elementType,
                               MemRefLayoutAttrInterface(), space));
  Value descriptorA =
      nvgpu::WarpgroupGenerateDescriptorOp::create(b, typeA, viewA, mapA);
  Value descriptorB =
      nvgpu::WarpgroupGenerateDescriptorOp::create(b, typeB, viewB, mapB);
  return nvgpu::WarpgroupMmaOp::create(
      b, getType(b), descriptorA, descriptorB,
      /*waitGroup=*/b.getI64IntegerAttr(1), /*transposeA=*/UnitAttr(),
      /*transposeB=*/plan.b.isKMajor ? UnitAttr() : b.getUnitAttr(),
      accumulator);
}

Value Accumulator::finish(KernelBuilder &b, Value accumulator) const {
  NVVM::WgmmaWaitGroupSyncOp::create(b, 0);
  SmallVector<Type> registers(plan.n / 2, b.getF32Type());
  SmallVector<Type> slabTypes(
      plan.slabs, LLVM::LLVMStructType::getLiteral(b.getContext(), registers));
  Type type = LLVM::LLVMStructType::getLiteral(b.getContext(), slabTypes);
  Value raw =
      UnrealizedConversionCastOp::create(b, type, accumulator).getResult(0);
  return createAccumulatorCopy(b, b.getLoc(), raw);
}
