//===- TileQueue.cpp - which block computes which tile --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block starts with the tile of its own index and asks once for another for
// each tile it takes. So there are as many requests as tiles, and a counter
// that wraps after that many is zero again when the last block is done, with no
// block having to know that it is the last.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::moe;

LLVM::GlobalOp TileQueue::createCounter(KernelBuilder &b, StringRef name) {
  unsigned space =
      cast<LLVM::LLVMPointerType>(b.getGlobalPointerType()).getAddressSpace();
  return LLVM::GlobalOp::create(b, b.getI32Type(), /*isConstant=*/false,
                                LLVM::Linkage::Internal, name,
                                b.getI32IntegerAttr(0), /*alignment=*/0, space);
}

Value TileQueue::getFirst(KernelBuilder &b) const {
  return NVVM::BlockIdXOp::create(b, b.getI32Type());
}

Value TileQueue::takeNext(KernelBuilder &b, Value numTiles) const {
  Value address = LLVM::AddressOfOp::create(b, counter);
  Value before = LLVM::AtomicRMWOp::create(
      b, LLVM::AtomicBinOp::uinc_wrap, address, b.sub(numTiles, b.i32(1)),
      LLVM::AtomicOrdering::monotonic, "device");
  return b.add(before, NVVM::GridDimXOp::create(b, b.getI32Type()));
}
