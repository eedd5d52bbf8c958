//===- TileQueue.cpp - which block computes which tile --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::moe;

/// The counters: tiles taken beyond each block's first, and blocks that left.
static constexpr int64_t kTaken = 0, kLeft = 1;

LLVM::GlobalOp TileQueue::createCounters(KernelBuilder &b, StringRef name) {
  auto type = LLVM::LLVMArrayType::get(b.getI32Type(), 2);
  auto zeros = DenseElementsAttr::get(
      RankedTensorType::get({2}, b.getI32Type()), b.getI32IntegerAttr(0));
  unsigned space =
      cast<LLVM::LLVMPointerType>(b.getGlobalPointerType()).getAddressSpace();
  return LLVM::GlobalOp::create(b, type, /*isConstant=*/false,
                                LLVM::Linkage::Internal, name, zeros,
                                /*alignment=*/0, space);
}

Value TileQueue::getFirst(KernelBuilder &b) const {
  return NVVM::BlockIdXOp::create(b, b.getI32Type());
}

static Value createBlockCount(KernelBuilder &b) {
  return NVVM::GridDimXOp::create(b, b.getI32Type());
}

static Value createAtomic(KernelBuilder &b, Value address,
                          LLVM::AtomicBinOp operation, Value operand) {
  return LLVM::AtomicRMWOp::create(b, operation, address, operand,
                                   LLVM::AtomicOrdering::monotonic, "device");
}

Value TileQueue::getCounter(KernelBuilder &b, int64_t counter) const {
  Value base = LLVM::AddressOfOp::create(b, counters);
  return GlobalArray{base, b.getI32Type()}.getAddress(b, b.i64(counter));
}

Value TileQueue::takeNext(KernelBuilder &b) const {
  Value before =
      createAtomic(b, getCounter(b, kTaken), LLVM::AtomicBinOp::add, b.i32(1));
  return b.add(before, createBlockCount(b));
}

void TileQueue::leave(KernelBuilder &b) const {
  // NVPTX drops the ordering of atomics, hence fences: what others took comes
  // before the zero that the last block stores.
  auto fence = [&] {
    LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acq_rel, "device");
  };
  fence();
  // Wraps to zero with the last block.
  Value last = b.sub(createBlockCount(b), b.i32(1));
  Value before =
      createAtomic(b, getCounter(b, kLeft), LLVM::AtomicBinOp::uinc_wrap, last);
  b.createIf(b.compare(arith::CmpIPredicate::eq, before, last), [&] {
    fence();
    LLVM::StoreOp::create(b, b.i32(0), getCounter(b, kTaken));
  });
}
