//===- FoldTransposes.cpp - fold transposes into storage orders -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/Transforms/Passes.h"
#include "moe/Dialect/MoE/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir {
namespace moe {
#define GEN_PASS_DEF_MOEFOLDTRANSPOSESPASS
#include "moe/Dialect/MoE/Transforms/Passes.h.inc"
} // namespace moe
} // namespace mlir

using namespace mlir;
using namespace mlir::moe;

/// True for the transpose of a matrix, on tensors.
static bool isTranspose(linalg::TransposeOp op) {
  return op && op.hasPureTensorSemantics() &&
         op.getPermutation() == ArrayRef<int64_t>{1, 0};
}

/// The matrix whose transpose `value` is, or null.
static Value getTransposed(Value value) {
  auto producer = value.getDefiningOp<linalg::TransposeOp>();
  return isTranspose(producer) ? producer.getInput() : Value();
}

/// The transpose of a tensor that holds nothing, or the same value everywhere,
/// made anew; null if `value` is no such tensor.
static Value transposeUniform(RewriterBase &rewriter, Value value) {
  Location loc = value.getLoc();
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant))) {
    auto splat = dyn_cast<SplatElementsAttr>(constant);
    if (!splat)
      return {};
    ArrayRef<int64_t> shape = splat.getType().getShape();
    auto type = RankedTensorType::get({shape[1], shape[0]},
                                      splat.getType().getElementType());
    return arith::ConstantOp::create(
        rewriter, loc,
        DenseElementsAttr::get(type, splat.getSplatValue<Attribute>()));
  }
  if (auto empty = value.getDefiningOp<tensor::EmptyOp>()) {
    SmallVector<OpFoldResult> sizes = empty.getMixedSizes();
    std::swap(sizes[0], sizes[1]);
    return tensor::EmptyOp::create(rewriter, loc, sizes,
                                   empty.getType().getElementType());
  }
  auto fill = value.getDefiningOp<linalg::FillOp>();
  if (!fill)
    return {};
  // What is filled is overwritten, so only its sizes matter.
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, fill.output());
  std::swap(sizes[0], sizes[1]);
  Value empty = tensor::EmptyOp::create(rewriter, loc, sizes,
                                        getElementTypeOrSelf(value.getType()));
  return linalg::FillOp::create(rewriter, loc, fill.value(), empty).result();
}

namespace {
/// swapped(tokens = transpose(x)) -> swapped(tokens = x, row-major).
struct FoldTokens : public OpRewritePattern<GroupedMatmulSwappedOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GroupedMatmulSwappedOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasTransposedTokens())
      return rewriter.notifyMatchFailure(op, "tokens are row-major already");
    Value tokens = getTransposed(op.getTokens());
    if (!tokens)
      return rewriter.notifyMatchFailure(op, "tokens are not a transpose");
    rewriter.modifyOpInPlace(op, [&] {
      op.getTokensMutable().assign(tokens);
      op.setTokenOrder(OperandOrder::RowMajor);
    });
    return success();
  }
};

/// transpose(swapped(outs = transpose(y))) -> swapped(outs = y, row-major).
///
/// A destination that is empty or uniform is transposed by making it anew. All
/// users of the result must be transposes: the others would need one back.
struct FoldResult : public OpRewritePattern<GroupedMatmulSwappedOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GroupedMatmulSwappedOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasTransposedResult() || op->getNumResults() != 1)
      return rewriter.notifyMatchFailure(op, "result is row-major already");
    Value result = op->getResult(0);
    auto type = cast<RankedTensorType>(result.getType());
    auto rowMajorType = RankedTensorType::get(
        {type.getDimSize(1), type.getDimSize(0)}, type.getElementType());
    if (result.use_empty() || !llvm::all_of(result.getUses(), consumes))
      return rewriter.notifyMatchFailure(
          op, "a user of the result is no transpose");
    // The shapes agree; an encoding may not.
    Value init = getTransposed(op.getInit());
    if (type.getEncoding() || (init && init.getType() != rowMajorType) ||
        llvm::any_of(result.getUsers(), [&](Operation *user) {
          return user->getResult(0).getType() != rowMajorType;
        }))
      return rewriter.notifyMatchFailure(op, "a tensor has an encoding");
    if (!init)
      init = transposeUniform(rewriter, op.getInit());
    if (!init)
      return rewriter.notifyMatchFailure(
          op, "destination is neither a transpose nor uniform");

    auto rowMajor = cast<GroupedMatmulSwappedOp>(rewriter.clone(*op));
    rewriter.modifyOpInPlace(rowMajor, [&] {
      rowMajor.getInitMutable().assign(init);
      rowMajor.setResultOrder(OperandOrder::RowMajor);
      rowMajor->getResult(0).setType(rowMajorType);
    });
    for (Operation *user : llvm::make_early_inc_range(result.getUsers()))
      rewriter.replaceOp(user, rowMajor->getResult(0));
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// True if `use` is what a transpose reads.
  static bool consumes(OpOperand &use) {
    auto user = dyn_cast<linalg::TransposeOp>(use.getOwner());
    return isTranspose(user) && &use == &user.getInputMutable();
  }
};

struct FoldTransposesPass
    : public moe::impl::MoEFoldTransposesPassBase<FoldTransposesPass> {
  using MoEFoldTransposesPassBase::MoEFoldTransposesPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMoEFoldTransposesPatterns(patterns);
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace

void mlir::moe::populateMoEFoldTransposesPatterns(RewritePatternSet &patterns) {
  patterns.add<FoldTokens, FoldResult>(patterns.getContext());
  // Upstream's patterns remove pairs of transposes.
  linalg::TransposeOp::getCanonicalizationPatterns(patterns,
                                                   patterns.getContext());
}
