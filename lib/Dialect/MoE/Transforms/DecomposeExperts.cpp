//===- DecomposeExperts.cpp - take moe.experts apart ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/Transforms/DecomposeExperts.h"

#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/Dialect/MoE/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Remarks.h"

namespace mlir {
namespace moe {
#define GEN_PASS_DEF_MOEDECOMPOSEEXPERTSPASS
#include "moe/Dialect/MoE/Transforms/Passes.h.inc"
} // namespace moe
} // namespace mlir

#define DEBUG_TYPE "moe-decompose-experts"

using namespace mlir;
using namespace mlir::moe;

namespace {
/// The sizes of a layer, as the dialect names them.
struct LayerSizes {
  OpFoldResult tokens, topK, pairs, experts, hidden, intermediate;
};

/// The results of moe.dispatch.
struct RowOrder {
  Value tokenOfRow, rowOfPair, offsets;
};
} // namespace

static OpFoldResult sizeOf(ImplicitLocOpBuilder &b, Value value, int64_t dim) {
  return tensor::getMixedSize(b, b.getLoc(), value, dim);
}

static OpFoldResult multiply(ImplicitLocOpBuilder &b, OpFoldResult lhs,
                             OpFoldResult rhs) {
  AffineExpr d0 = b.getAffineSymbolExpr(0), d1 = b.getAffineSymbolExpr(1);
  return affine::makeComposedFoldedAffineApply(b, b.getLoc(), d0 * d1,
                                               {lhs, rhs});
}

static Value createEmpty(ImplicitLocOpBuilder &b, ArrayRef<OpFoldResult> sizes,
                         Type elementType) {
  return tensor::EmptyOp::create(b, sizes, elementType);
}

static Type elementTypeOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

static LayerSizes getLayerSizes(ImplicitLocOpBuilder &b, ExpertsOp op) {
  LayerSizes sizes;
  sizes.tokens = sizeOf(b, op.getIndices(), 0);
  sizes.topK = sizeOf(b, op.getIndices(), 1);
  sizes.pairs = multiply(b, sizes.tokens, sizes.topK);
  sizes.experts = sizeOf(b, op.getGateUp(), 0);
  sizes.hidden = sizeOf(b, op.getTokens(), 1);
  sizes.intermediate =
      sizeOf(b, op.getDown(), op.getWeightLayout() == WeightLayout::NK ? 2 : 1);
  return sizes;
}

//===----------------------------------------------------------------------===//
// Row order
//===----------------------------------------------------------------------===//

/// Orders the pairs `indices` [tokens x topK] by expert.
static RowOrder createDispatch(ImplicitLocOpBuilder &b, Value indices,
                               OpFoldResult pairs, OpFoldResult experts) {
  Type i32 = b.getI32Type();
  OpFoldResult numOffsets = affine::makeComposedFoldedAffineApply(
      b, b.getLoc(), b.getAffineSymbolExpr(0) + 1, {experts});
  SmallVector<Value> inits = {
      createEmpty(b, {pairs}, i32),
      createEmpty(b, {sizeOf(b, indices, 0), sizeOf(b, indices, 1)}, i32),
      createEmpty(b, {numOffsets}, i32)};
  auto dispatch = DispatchOp::create(b, TypeRange(ValueRange(inits)), indices,
                                     inits[0], inits[1], inits[2]);
  return {dispatch.getResult(0), dispatch.getResult(1), dispatch.getResult(2)};
}

/// Reinterprets `source` [a x b] as [(a * b)].
static Value flattenMatrix(ImplicitLocOpBuilder &b, Value source) {
  return tensor::CollapseShapeOp::create(
      b, source, ArrayRef<ReassociationIndices>{{0, 1}});
}

/// Reinterprets `source`, 1-D, as a matrix of the given sizes.
static Value unflattenMatrix(ImplicitLocOpBuilder &b, Value source,
                             OpFoldResult rows, OpFoldResult columns) {
  SmallVector<OpFoldResult> sizes = {rows, columns};
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamicSizes;
  dispatchIndexOpFoldResults(sizes, dynamicSizes, shape);
  auto type = RankedTensorType::get(shape, elementTypeOf(source));
  return tensor::ExpandShapeOp::create(
      b, type, source, ArrayRef<ReassociationIndices>{{0, 1}}, sizes);
}

/// As createDispatch, but with the pair `t * k + j` of each row in place of its
/// token.
static RowOrder createPairDispatch(ImplicitLocOpBuilder &b, Value indices,
                                   const LayerSizes &sizes) {
  Value column = unflattenMatrix(b, flattenMatrix(b, indices), sizes.pairs,
                                 b.getIndexAttr(1));
  RowOrder order = createDispatch(b, column, sizes.pairs, sizes.experts);
  order.rowOfPair = unflattenMatrix(b, flattenMatrix(b, order.rowOfPair),
                                    sizes.tokens, sizes.topK);
  return order;
}

//===----------------------------------------------------------------------===//
// Input rows
//===----------------------------------------------------------------------===//

static Value extendToF32(OpBuilder &b, Location loc, Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(b, loc, b.getF32Type(), value);
}

static Value truncateFromF32(OpBuilder &b, Location loc, Type type,
                             Value value) {
  if (type.isF32())
    return value;
  return arith::TruncFOp::create(b, loc, type, value);
}

/// A row for each pair, [(T * k) x H]: the token's, times the pair's weight.
static Value createScaledTokens(ImplicitLocOpBuilder &b, ExpertsOp op,
                                const LayerSizes &sizes) {
  AffineExpr t, j, h;
  bindDims(b.getContext(), t, j, h);
  auto maps = AffineMap::inferFromExprList(
      ArrayRef<ArrayRef<AffineExpr>>{{t, h}, {t, j}, {t, j, h}},
      b.getContext());
  Type type = elementTypeOf(op.getTokens());
  Value init = createEmpty(b, {sizes.tokens, sizes.topK, sizes.hidden}, type);
  SmallVector<utils::IteratorType> iterators(3, utils::IteratorType::parallel);
  auto scaled = linalg::GenericOp::create(
      b, init.getType(), ValueRange{op.getTokens(), op.getWeights()}, init,
      maps, iterators, [&](OpBuilder &nested, Location loc, ValueRange args) {
        Value product = arith::MulFOp::create(
            nested, loc, extendToF32(nested, loc, args[0]),
            extendToF32(nested, loc, args[1]));
        linalg::YieldOp::create(nested, loc,
                                truncateFromF32(nested, loc, type, product));
      });
  return tensor::CollapseShapeOp::create(
      b, scaled.getResult(0), ArrayRef<ReassociationIndices>{{0, 1}, {2}});
}

/// A copy of the rows of `source` [any x H] that `rows` [R] names, zeros where
/// it names none.
static Value createRowCopy(ImplicitLocOpBuilder &b, Value source, Value rows,
                           OpFoldResult numRows, OpFoldResult columns) {
  AffineExpr r, c;
  bindDims(b.getContext(), r, c);
  auto maps = AffineMap::inferFromExprList(
      ArrayRef<ArrayRef<AffineExpr>>{{r}, {r, c}}, b.getContext());
  Type type = elementTypeOf(source);
  Value init = createEmpty(b, {numRows, columns}, type);
  SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
  auto copy = linalg::GenericOp::create(
      b, init.getType(), rows, init, maps, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        // moe.dispatch writes rows of the source and, for no row, -1: clamping
        // that to the first row keeps the read inside.
        Value none =
            arith::ConstantIntOp::create(nested, loc, args[0].getType(),
                                         /*value=*/0);
        Value isRow = arith::CmpIOp::create(
            nested, loc, arith::CmpIPredicate::sge, args[0], none);
        Value row = arith::IndexCastOp::create(
            nested, loc, nested.getIndexType(),
            arith::MaxSIOp::create(nested, loc, args[0], none));
        Value column = linalg::IndexOp::create(nested, loc, 1);
        Value element = tensor::ExtractOp::create(nested, loc, source,
                                                  ValueRange{row, column});
        Value zero =
            arith::ConstantOp::create(nested, loc, nested.getZeroAttr(type));
        linalg::YieldOp::create(
            nested, loc,
            arith::SelectOp::create(nested, loc, isRow, element, zero)
                .getResult());
      });
  return copy.getResult(0);
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

/// One matmul of the layer. `gather` and `bias` may be null.
static Value createMatmul(ImplicitLocOpBuilder &b, ExpertsOp op, Value rows,
                          Value weights, Value bias, Value gather,
                          const RowOrder &order, Value init,
                          EpilogueAttr epilogue) {
  return GroupedMatmulOp::create(
             b, init.getType(), rows, weights, order.offsets, bias, gather,
             /*scale=*/Value(), /*scatter=*/Value(), init, op.getWeightLayout(),
             GroupKind::Offsets, epilogue, op.getExpectedTokensAttr(),
             /*schedule=*/ScheduleAttr())
      .getResult(0);
}

static std::string toText(int64_t size) {
  return ShapedType::isDynamic(size) ? "?" : std::to_string(size);
}

static void emitDecomposedRemark(ExpertsOp op,
                                 const DecomposeExpertsOptions &options) {
  // One string: each piece streamed into a remark becomes an argument of its
  // own.
  std::string text;
  llvm::raw_string_ostream(text)
      << "moe.experts of " << toText(op.getTokens().getType().getDimSize(0))
      << " tokens, " << toText(op.getTopK()) << " of "
      << toText(op.getNumExperts())
      << " experts each, became two grouped matmuls; the first reads its rows "
      << (options.gather == GatherForm::Operand ? "through gather"
                                                : "from a copy");
  remark::passed(op.getLoc(),
                 remark::RemarkOpts::name("Decomposed").category(DEBUG_TYPE))
      << text;
}

/// Why `op` cannot be taken apart, or null.
static const char *getRefusal(ExpertsOp op) {
  if (!op.hasPureTensorSemantics())
    return "is on memrefs; decompose it before bufferization";
  // Row numbers are i32, and E + 1 is the size of a tensor.
  int64_t limit = std::numeric_limits<int32_t>::max(), pairs = 0;
  ShapedType indices = op.getIndices().getType();
  bool tooManyPairs =
      indices.hasStaticShape() &&
      (llvm::MulOverflow(indices.getDimSize(0), indices.getDimSize(1), pairs) ||
       pairs > limit);
  if (tooManyPairs || op.getNumExperts() >= limit)
    return "has 2^31 or more pairs or experts, which i32 row numbers cannot "
           "count; split the tokens";
  return nullptr;
}

FailureOr<Value>
mlir::moe::decomposeExperts(RewriterBase &rewriter, ExpertsOp op,
                            const DecomposeExpertsOptions &options) {
  if (const char *refusal = getRefusal(op)) {
    remark::missed(
        op.getLoc(),
        remark::RemarkOpts::name("NotDecomposed").category(DEBUG_TYPE))
        << (Twine("moe.experts ") + refusal).str();
    return rewriter.notifyMatchFailure(op, refusal);
  }
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  LayerSizes sizes = getLayerSizes(b, op);
  Type type = elementTypeOf(op.getTokens());

  bool scaleInput = op.getScaleInput();
  RowOrder order = scaleInput ? createPairDispatch(b, op.getIndices(), sizes)
                              : createDispatch(b, op.getIndices(), sizes.pairs,
                                               sizes.experts);
  Value source =
      scaleInput ? createScaledTokens(b, op, sizes) : Value(op.getTokens());
  Value gather = order.tokenOfRow;
  if (options.gather == GatherForm::Copy) {
    source = createRowCopy(b, source, gather, sizes.pairs, sizes.hidden);
    gather = Value();
  }

  Value hidden = createMatmul(
      b, op, source, op.getGateUp(), op.getGateUpBias(), gather, order,
      createEmpty(b, {sizes.pairs, sizes.intermediate}, type),
      op.getEpilogueAttr());
  Value rows = createMatmul(b, op, hidden, op.getDown(), op.getDownBias(),
                            /*gather=*/Value(), order,
                            createEmpty(b, {sizes.pairs, sizes.hidden}, type),
                            /*epilogue=*/EpilogueAttr());
  auto combine = CombineOp::create(
      b, op->getResultTypes(), rows, order.rowOfPair,
      scaleInput ? Value() : Value(op.getWeights()), op.getInit());
  emitDecomposedRemark(op, options);
  Value result = combine.getResult(0);
  rewriter.replaceOp(op, result);
  return result;
}

namespace {
struct DecomposeExperts : public OpRewritePattern<ExpertsOp> {
  DecomposeExperts(MLIRContext *context, const DecomposeExpertsOptions &options)
      : OpRewritePattern(context), options(options) {}

  LogicalResult matchAndRewrite(ExpertsOp op,
                                PatternRewriter &rewriter) const override {
    return decomposeExperts(rewriter, op, options);
  }

  DecomposeExpertsOptions options;
};

struct MoEDecomposeExpertsPass
    : public moe::impl::MoEDecomposeExpertsPassBase<MoEDecomposeExpertsPass> {
  using MoEDecomposeExpertsPassBase::MoEDecomposeExpertsPassBase;

  /// A walk instead of a pattern driver: each op is visited once, so that a
  /// refusal is reported once.
  void runOnOperation() override {
    SmallVector<ExpertsOp> ops;
    getOperation()->walk([&](ExpertsOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (ExpertsOp op : ops)
      if (succeeded(decomposeExperts(rewriter, op, {gather})))
        ++numDecomposed;
  }
};
} // namespace

void mlir::moe::populateMoEDecomposeExpertsPatterns(
    RewritePatternSet &patterns, const DecomposeExpertsOptions &options) {
  patterns.add<DecomposeExperts>(patterns.getContext(), options);
}
