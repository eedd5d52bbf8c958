//===- SeparateEmpties.cpp - one empty tensor for each user ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/Transforms/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir {
namespace moe {
#define GEN_PASS_DEF_MOESEPARATEEMPTIESPASS
#include "moe/Dialect/MoE/Transforms/Passes.h.inc"
} // namespace moe
} // namespace mlir

using namespace mlir;
using namespace mlir::moe;

/// Gives all ops of its block that use `op`, themselves or in their regions, a
/// copy of it, but for one. The sides of a branch go on sharing: that what
/// comes out of it is one buffer either way is seen best if it is one tensor.
/// Copies stand beside `op`: in a loop, one would be allocated in every
/// iteration. Returns how many there are.
static int64_t separate(tensor::EmptyOp op) {
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  DenseMap<Operation *, Value> emptyOf;
  for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
    Operation *user = op->getBlock()->findAncestorOpInBlock(*use.getOwner());
    // Those in other blocks of the region count as one.
    auto [it, isNew] = emptyOf.try_emplace(user, op.getResult());
    if (isNew && emptyOf.size() > 1)
      it->second = builder.clone(*op)->getResult(0);
    use.set(it->second);
  }
  return emptyOf.size() - 1;
}

namespace {
struct SeparateEmptiesPass
    : public moe::impl::MoESeparateEmptiesPassBase<SeparateEmptiesPass> {
  void runOnOperation() override {
    SmallVector<tensor::EmptyOp> shared;
    getOperation()->walk([&](tensor::EmptyOp op) {
      if (!op->use_empty() && !op->hasOneUse())
        shared.push_back(op);
    });
    for (tensor::EmptyOp op : shared)
      numCopies += separate(op);
  }
};
} // namespace
