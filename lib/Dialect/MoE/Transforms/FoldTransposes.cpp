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
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "moe-fold-transposes"

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

/// True for a tensor that holds nothing, or the same value everywhere.
static bool isUniform(Value value) {
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return isa<SplatElementsAttr>(constant);
  return isa_and_nonnull<tensor::EmptyOp, linalg::FillOp>(
      value.getDefiningOp());
}

/// The transpose of a uniform tensor, made anew.
static Value transposeUniform(RewriterBase &rewriter, Value value) {
  Location loc = value.getLoc();
  SplatElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat))) {
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
  // What is filled is overwritten, so only its sizes matter.
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, fill.output());
  std::swap(sizes[0], sizes[1]);
  Value empty = tensor::EmptyOp::create(rewriter, loc, sizes,
                                        getElementTypeOrSelf(value.getType()));
  return linalg::FillOp::create(rewriter, loc, fill.value(), empty).result();
}

//===----------------------------------------------------------------------===//
// What stands against it
//===----------------------------------------------------------------------===//

/// True if `use` is what a transpose reads.
static bool isReadByTranspose(OpOperand &use) {
  auto user = dyn_cast<linalg::TransposeOp>(use.getOwner());
  return isTranspose(user) && &use == &user.getInputMutable();
}

/// The type of a transposed result once it is row-major.
static RankedTensorType getRowMajorType(RankedTensorType type) {
  return RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)},
                               type.getElementType());
}

/// Why the tokens, which are transposed, are not folded, or nothing.
static std::optional<StringRef> getTokensObstacle(GroupedMatmulSwappedOp op) {
  if (!getTransposed(op.getTokens()))
    return "they are not made by a linalg.transpose";
  return std::nullopt;
}

/// The same for the result.
static std::optional<StringRef> getResultObstacle(GroupedMatmulSwappedOp op) {
  if (op->getNumResults() != 1)
    return "it is a memref; fold before bufferization";
  Value result = op->getResult(0);
  if (result.use_empty() || !llvm::all_of(result.getUses(), isReadByTranspose))
    return "not all of its users are a linalg.transpose";
  // The shapes agree; an encoding may not.
  auto type = cast<RankedTensorType>(result.getType());
  RankedTensorType rowMajorType = getRowMajorType(type);
  Value init = getTransposed(op.getInit());
  if (type.getEncoding() || (init && init.getType() != rowMajorType) ||
      llvm::any_of(result.getUsers(), [&](Operation *user) {
        return user->getResult(0).getType() != rowMajorType;
      }))
    return "a tensor has an encoding";
  if (!init && !isUniform(op.getInit()))
    return "its destination holds data that are not transposed by a "
           "linalg.transpose";
  return std::nullopt;
}

/// The matrices of `op` that are transposed.
static SmallVector<OrderedMatrix, 2>
getTransposedMatrices(GroupedMatmulSwappedOp op) {
  SmallVector<OrderedMatrix, 2> matrices;
  if (op.hasTransposedTokens())
    matrices.push_back(OrderedMatrix::Tokens);
  if (op.hasTransposedResult())
    matrices.push_back(OrderedMatrix::Result);
  return matrices;
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

static StringRef toString(OrderedMatrix matrix) {
  return matrix == OrderedMatrix::Tokens ? "tokens" : "result";
}

/// Says of a matrix of `op` that it was folded or, with a reason, that it was
/// not.
static void emitRemark(GroupedMatmulSwappedOp op, OrderedMatrix matrix,
                       std::optional<StringRef> obstacle = std::nullopt) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  auto opts = remark::RemarkOpts::name(obstacle ? "transposed" : "folded")
                  .category(DEBUG_TYPE)
                  .function(function ? function.getName() : StringRef());
  remark::detail::InFlightRemark remark =
      obstacle ? remark::missed(op.getLoc(), opts)
               : remark::passed(op.getLoc(), opts);
  if (!remark)
    return;
  remark << remark::metric("Op", op->getName().getStringRef())
         << remark::metric("Matrix", toString(matrix));
  if (obstacle)
    remark << remark::reason("{0}", *obstacle);
}

//===----------------------------------------------------------------------===//
// The patterns and the pass
//===----------------------------------------------------------------------===//

namespace {
struct FoldPattern : public OpRewritePattern<GroupedMatmulSwappedOp> {
  FoldPattern(MLIRContext *context, std::function<void(OrderedMatrix)> listener)
      : OpRewritePattern(context), listener(std::move(listener)) {}

  void report(GroupedMatmulSwappedOp op, OrderedMatrix matrix) const {
    emitRemark(op, matrix);
    if (listener)
      listener(matrix);
  }

  std::function<void(OrderedMatrix)> listener;
};

/// swapped(tokens = transpose(x)) -> swapped(tokens = x, row-major).
struct FoldTokens : public FoldPattern {
  using FoldPattern::FoldPattern;

  LogicalResult matchAndRewrite(GroupedMatmulSwappedOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasTransposedTokens())
      return rewriter.notifyMatchFailure(op, "tokens are row-major already");
    if (std::optional<StringRef> obstacle = getTokensObstacle(op))
      return rewriter.notifyMatchFailure(op, *obstacle);
    rewriter.modifyOpInPlace(op, [&] {
      op.getTokensMutable().assign(getTransposed(op.getTokens()));
      op.setTokenOrder(OperandOrder::RowMajor);
    });
    report(op, OrderedMatrix::Tokens);
    return success();
  }
};

/// transpose(swapped(outs = transpose(y))) -> swapped(outs = y, row-major).
///
/// A destination that is empty or uniform is transposed by making it anew. All
/// users of the result must be transposes: the others would need one back.
struct FoldResult : public FoldPattern {
  using FoldPattern::FoldPattern;

  LogicalResult matchAndRewrite(GroupedMatmulSwappedOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasTransposedResult())
      return rewriter.notifyMatchFailure(op, "result is row-major already");
    if (std::optional<StringRef> obstacle = getResultObstacle(op))
      return rewriter.notifyMatchFailure(op, *obstacle);
    Value result = op->getResult(0), init = getTransposed(op.getInit());
    if (!init)
      init = transposeUniform(rewriter, op.getInit());
    auto rowMajor = cast<GroupedMatmulSwappedOp>(rewriter.clone(*op));
    rewriter.modifyOpInPlace(rowMajor, [&] {
      rowMajor.getInitMutable().assign(init);
      rowMajor.setResultOrder(OperandOrder::RowMajor);
      rowMajor->getResult(0).setType(
          getRowMajorType(cast<RankedTensorType>(result.getType())));
    });
    for (Operation *user : llvm::make_early_inc_range(result.getUsers()))
      rewriter.replaceOp(user, rowMajor->getResult(0));
    rewriter.eraseOp(op);
    report(rowMajor, OrderedMatrix::Result);
    return success();
  }
};

struct FoldTransposesPass
    : public moe::impl::MoEFoldTransposesPassBase<FoldTransposesPass> {
  using MoEFoldTransposesPassBase::MoEFoldTransposesPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMoEFoldTransposesPatterns(patterns, [&](OrderedMatrix matrix) {
      ++(matrix == OrderedMatrix::Tokens ? numFoldedTokens : numFoldedResults);
    });
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      return signalPassFailure();
    // What is left for good: the driver may try an op often.
    getOperation()->walk([&](GroupedMatmulSwappedOp op) {
      for (OrderedMatrix matrix : getTransposedMatrices(op)) {
        ++numTransposed;
        emitRemark(op, matrix,
                   matrix == OrderedMatrix::Tokens ? getTokensObstacle(op)
                                                   : getResultObstacle(op));
      }
    });
  }
};
} // namespace

void mlir::moe::populateMoEFoldTransposesPatterns(
    RewritePatternSet &patterns,
    const std::function<void(OrderedMatrix)> &listener) {
  patterns.add<FoldTokens, FoldResult>(patterns.getContext(), listener);
  // Upstream's patterns remove pairs of transposes.
  linalg::TransposeOp::getCanonicalizationPatterns(patterns,
                                                   patterns.getContext());
}
