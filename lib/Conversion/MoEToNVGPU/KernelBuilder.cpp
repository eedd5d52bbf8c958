//===- KernelBuilder.cpp - arithmetic, shared memory, threads -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::moe;

Value KernelBuilder::i32(int64_t value) {
  return arith::ConstantIntOp::create(*this, value, 32);
}

Value KernelBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(*this, value);
}

Value KernelBuilder::toIndex(Value value) {
  return arith::IndexCastUIOp::create(*this, getIndexType(), value);
}

Value KernelBuilder::add(Value lhs, Value rhs) {
  return arith::AddIOp::create(*this, lhs, rhs);
}

Value KernelBuilder::add(Value lhs, int64_t rhs) {
  return rhs == 0 ? lhs : add(lhs, i32(rhs));
}

Value KernelBuilder::sub(Value lhs, Value rhs) {
  return arith::SubIOp::create(*this, lhs, rhs);
}

Value KernelBuilder::mul(Value lhs, Value rhs) {
  return arith::MulIOp::create(*this, lhs, rhs);
}

Value KernelBuilder::mul(Value lhs, int64_t rhs) {
  return rhs == 1 ? lhs : mul(lhs, i32(rhs));
}

Value KernelBuilder::divUnsigned(Value lhs, Value rhs) {
  return arith::DivUIOp::create(*this, lhs, rhs);
}

Value KernelBuilder::divUnsigned(Value lhs, int64_t rhs) {
  return divUnsigned(lhs, i32(rhs));
}

Value KernelBuilder::remUnsigned(Value lhs, int64_t rhs) {
  return arith::RemUIOp::create(*this, lhs, i32(rhs));
}

Value KernelBuilder::minUnsigned(Value lhs, Value rhs) {
  return arith::MinUIOp::create(*this, lhs, rhs);
}

Value KernelBuilder::compare(arith::CmpIPredicate predicate, Value lhs,
                             Value rhs) {
  return arith::CmpIOp::create(*this, predicate, lhs, rhs);
}

Value KernelBuilder::logicalAnd(Value lhs, Value rhs) {
  return arith::AndIOp::create(*this, lhs, rhs);
}

Value KernelBuilder::select(Value condition, Value ifTrue, Value ifFalse) {
  return arith::SelectOp::create(*this, condition, ifTrue, ifFalse);
}

Value KernelBuilder::i64(int64_t value) {
  return arith::ConstantIntOp::create(*this, value, 64);
}

Value KernelBuilder::toI64Unsigned(Value value) {
  if (value.getType().isInteger(64))
    return value;
  return arith::ExtUIOp::create(*this, getI64Type(), value);
}

Value KernelBuilder::toI64Signed(Value value) {
  if (value.getType().isInteger(64))
    return value;
  return arith::ExtSIOp::create(*this, getI64Type(), value);
}

Value KernelBuilder::f32(float value) {
  return arith::ConstantOp::create(*this, getF32FloatAttr(value));
}

Value KernelBuilder::toF32(Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(*this, getF32Type(), value);
}

Value KernelBuilder::roundTo(Type type, Value value) {
  if (type.isF32())
    return value;
  return arith::TruncFOp::create(*this, type, value);
}

MemRefType KernelBuilder::sharedType(ArrayRef<int64_t> shape, Type element) {
  return MemRefType::get(
      shape, element, MemRefLayoutAttrInterface(),
      gpu::AddressSpaceAttr::get(getContext(), gpu::AddressSpace::Workgroup));
}

Value KernelBuilder::sharedView(Value shared, Value byteOffset,
                                ArrayRef<int64_t> shape, Type element) {
  return memref::ViewOp::create(*this, sharedType(shape, element), shared,
                                byteOffset, ValueRange());
}

void KernelBuilder::createIf(Value condition, function_ref<void()> body) {
  auto ifOp = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(ifOp.thenBlock());
  body();
}

Type KernelBuilder::getGlobalPointerType() {
  return LLVM::LLVMPointerType::get(getContext(), 1);
}

Value KernelBuilder::shuffle(gpu::ShuffleMode mode, Value value,
                             int64_t offset) {
  return gpu::ShuffleOp::create(*this, value, i32(offset), i32(kWarpThreads),
                                mode)
      .getShuffleResult();
}

Value GlobalArray::getAddress(KernelBuilder &b, Value position) const {
  return LLVM::GEPOp::create(b, pointer.getType(), element, pointer,
                             ArrayRef<LLVM::GEPArg>{b.toI64Unsigned(position)});
}

Value GlobalArray::load(KernelBuilder &b, Value position) const {
  return LLVM::LoadOp::create(b, element, getAddress(b, position));
}

void GlobalArray::store(KernelBuilder &b, Value value, Value position) const {
  LLVM::StoreOp::create(b, value, getAddress(b, position));
}

ThreadIds::ThreadIds(KernelBuilder &b) {
  thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  lane = b.remUnsigned(thread, kWarpThreads);
  // A shuffle makes the index uniform for ptxas too, which otherwise moves
  // descriptor registers into predicated code.
  warp =
      b.shuffle(gpu::ShuffleMode::IDX, b.divUnsigned(thread, kWarpThreads), 0);
  warpgroup = b.divUnsigned(warp, kWarpgroupThreads / kWarpThreads);
}

LLVM::LLVMFuncOp mlir::moe::createKernelFunction(KernelBuilder &b,
                                                 StringRef name,
                                                 ArrayRef<Type> parameters,
                                                 int64_t numReadOnly,
                                                 int64_t numThreads) {
  auto function = LLVM::LLVMFuncOp::create(
      b, name,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                  parameters));
  for (auto [i, type] : llvm::enumerate(parameters))
    if (type == b.getGlobalPointerType() && numReadOnly-- > 0)
      function.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(),
                          b.getUnitAttr());
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    b.getUnitAttr());
  function->setAttr(
      NVVM::NVVMDialect::getReqntidAttrName(),
      b.getDenseI32ArrayAttr({static_cast<int32_t>(numThreads), 1, 1}));
  return function;
}

void mlir::moe::createDependentsLaunch(KernelBuilder &b) {
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::launch_dependents);
}

void mlir::moe::createDependencyWait(KernelBuilder &b) {
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait);
}

Value mlir::moe::createWarpScan(KernelBuilder &b, Value value, Value lane,
                                function_ref<Value(Value, Value)> combine) {
  for (int64_t distance = 1; distance < kWarpThreads; distance *= 2) {
    Value other = b.shuffle(gpu::ShuffleMode::UP, value, distance);
    Value hasOther =
        b.compare(arith::CmpIPredicate::uge, lane, b.i32(distance));
    value = b.select(hasOther, combine(value, other), value);
  }
  return value;
}
