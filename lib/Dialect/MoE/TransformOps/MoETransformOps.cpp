//===- MoETransformOps.cpp - transform ops for moe ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/TransformOps/MoETransformOps.h"

#include "moe/Dialect/MoE/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace mlir::moe;

#define GET_OP_CLASSES
#include "moe/Dialect/MoE/TransformOps/MoETransformOps.cpp.inc"

/// Applies `rewrite` to `target` unless it has an obstacle, which becomes a
/// silenceable failure of `op`.
template <typename RewriteFn>
static DiagnosedSilenceableFailure
applyRewrite(transform::TransformOpInterface op,
             transform::TransformRewriter &rewriter,
             GroupedMatmulInterface target,
             transform::ApplyToEachResultList &results, RewriteFn rewrite) {
  if (std::optional<std::string> obstacle = getSwapObstacle(target)) {
    DiagnosedSilenceableFailure failure = op.emitSilenceableError()
                                          << "cannot exchange the operands: "
                                          << *obstacle;
    failure.attachNote(target->getLoc()) << "of this op";
    return failure;
  }
  rewriter.setInsertionPoint(target);
  auto rewritten = rewrite();
  if (failed(rewritten))
    return op.emitDefiniteFailure("failed to exchange the operands");
  results.push_back(*rewritten);
  return DiagnosedSilenceableFailure::success();
}

DiagnosedSilenceableFailure SwapABTransformOp::applyToOne(
    transform::TransformRewriter &rewriter, GroupedMatmulOp target,
    transform::ApplyToEachResultList &results, transform::TransformState &) {
  return applyRewrite(cast<transform::TransformOpInterface>(getOperation()),
                      rewriter,
                      cast<GroupedMatmulInterface>(target.getOperation()),
                      results, [&] { return swapOperands(rewriter, target); });
}

DiagnosedSilenceableFailure UnswapABTransformOp::applyToOne(
    transform::TransformRewriter &rewriter, GroupedMatmulSwappedOp target,
    transform::ApplyToEachResultList &results, transform::TransformState &) {
  return applyRewrite(
      cast<transform::TransformOpInterface>(getOperation()), rewriter,
      cast<GroupedMatmulInterface>(target.getOperation()), results,
      [&] { return unswapOperands(rewriter, target); });
}

void ApplyFoldTransposesPatternsOp::populatePatterns(
    RewritePatternSet &patterns) {
  populateMoEFoldTransposesPatterns(patterns);
}

namespace {
class MoETransformExtension
    : public transform::TransformDialectExtension<MoETransformExtension> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MoETransformExtension)

  MoETransformExtension() {
    declareDependentDialect<MoEDialect>();
    declareGeneratedDialect<arith::ArithDialect>();
    declareGeneratedDialect<linalg::LinalgDialect>();
    declareGeneratedDialect<tensor::TensorDialect>();
    registerTransformOps<
#define GET_OP_LIST
#include "moe/Dialect/MoE/TransformOps/MoETransformOps.cpp.inc"
        >();
  }
};
} // namespace

void mlir::moe::registerTransformDialectExtension(DialectRegistry &registry) {
  registry.addExtensions<MoETransformExtension>();
}
