//===- MoEToLinalg.cpp - moe ops as parallel loops ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Conversion/MoEToLinalg/MoEToLinalg.h"

#include "moe/Conversion/MoEToLinalg/LayerOps.h"
#include "moe/Dialect/MoE/IR/MoE.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::moe {
#define GEN_PASS_DEF_CONVERTMOETOLINALG
#include "moe/Conversion/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {
struct GroupedMatmulLowering
    : public OpInterfaceRewritePattern<GroupedMatmulInterface> {
  GroupedMatmulLowering(MLIRContext *context, int64_t lanes)
      : OpInterfaceRewritePattern(context), lanes(lanes) {}

  LogicalResult matchAndRewrite(GroupedMatmulInterface op,
                                PatternRewriter &rewriter) const override {
    return lowerGroupedMatmul(rewriter, op, lanes);
  }

  int64_t lanes;
};

struct ConvertMoEToLinalgPass
    : public moe::impl::ConvertMoEToLinalgBase<ConvertMoEToLinalgPass> {
  using ConvertMoEToLinalgBase::ConvertMoEToLinalgBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (vectorLanes < 4 || vectorLanes > 32 ||
        !llvm::isPowerOf2_64(vectorLanes))
      return emitError(UnknownLoc::get(context))
             << "convert-moe-to-linalg: vector-lanes must be a power of two "
                "from 4 to 32, got "
             << vectorLanes.getValue();
    RewritePatternSet set(context);
    populateMoEToLinalgPatterns(set, vectorLanes);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    int64_t matmuls = 0, others = 0;
    getOperation()->walk([&](Operation *op) {
      if (isa_and_nonnull<MoEDialect>(op->getDialect()))
        ++(isa<GroupedMatmulInterface>(op) ? matmuls : others);
    });
    walkAndApplyPatterns(getOperation(), patterns);
    WalkResult result = getOperation()->walk([](Operation *op) {
      if (!isa_and_nonnull<MoEDialect>(op->getDialect()))
        return WalkResult::advance();
      if (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>))
        op->emitOpError("is on tensors; run one-shot-bufferize before "
                        "convert-moe-to-linalg");
      else
        op->emitOpError("has no lowering to loops; run moe-decompose-experts "
                        "before one-shot-bufferize");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    numMatmuls += matmuls;
    numOthers += others;
  }

  FrozenRewritePatternSet patterns;
};
} // namespace

void mlir::moe::populateMoEToLinalgPatterns(RewritePatternSet &patterns,
                                            int64_t lanes) {
  patterns.add<GroupedMatmulLowering>(patterns.getContext(), lanes);
  populateMoELayerOpsToLoopsPatterns(patterns);
}
