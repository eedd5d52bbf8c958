//===- MoELayerOps.cpp - ops of a whole experts layer ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpDetail.h"

#include "moe/Dialect/MoE/IR/MoE.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::detail;

/// Fails if `type` is neither f32 nor `other`, the element type of `what`.
static LogicalResult verifyF32Or(Operation *op, StringRef name, Type type,
                                 StringRef what, Type other) {
  if (type.isF32() || type == other)
    return success();
  return op->emitOpError() << name << " is " << type
                           << "; it must be f32 or, like the " << what << ", "
                           << other;
}

static Type elementTypeOf(TypedValue<ShapedType> value) {
  return value.getType().getElementType();
}

/// The all-zero constant of a static tensor type of ints or floats.
static Value createZeros(OpBuilder &builder, Location loc,
                         RankedTensorType type) {
  TypedAttr zero = builder.getZeroAttr(type);
  return arith::ConstantOp::create(builder, loc, type, zero);
}

/// Replaces the one result of `op`, a tensor op whose every element is known to
/// be zero, by a constant. Fails on memrefs and dynamic shapes.
static LogicalResult replaceByZeros(PatternRewriter &rewriter, Operation *op) {
  if (op->getNumResults() != 1)
    return rewriter.notifyMatchFailure(op, "is not on tensors");
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!type.hasStaticShape())
    return rewriter.notifyMatchFailure(op, "the shape of outs is not static");
  rewriter.replaceOp(op, createZeros(rewriter, op->getLoc(), type));
  return success();
}

/// Folds a tensor op whose destinations all have no element to them.
static LogicalResult foldEmptyResults(DestinationStyleOpInterface op,
                                      SmallVectorImpl<OpFoldResult> &results) {
  if (op->getNumResults() == 0)
    return failure();
  for (auto [result, init] :
       llvm::zip_equal(op->getResults(), op.getDpsInits()))
    if (result.getType() != init.getType() ||
        !llvm::is_contained(cast<ShapedType>(init.getType()).getShape(), 0))
      return failure();
  llvm::append_range(results, op.getDpsInits());
  return success();
}

//===----------------------------------------------------------------------===//
// RouteOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyRouteShapes(RouteOp op) {
  int64_t tokens = op.getNumTokens(), experts = op.getNumExperts();
  if (ShapedType::isDynamic(experts))
    return op.emitOpError("needs a static number of experts (dimension 1 of "
                          "the logits)");
  int64_t columns = op.getWeightsInit().getType().getDimSize(1);
  if (ShapedType::isDynamic(columns) ||
      op.getIndicesInit().getType().isDynamicDim(1))
    return op.emitOpError("needs a static number of experts of a token "
                          "(dimension 1 of outs)");
  if (failed(verifySameSize(op, sizeOrDynamic(op.getWeightsInit(), 0),
                            "T of the weights", tokens, "T of the logits")) ||
      failed(verifySameSize(op, sizeOrDynamic(op.getIndicesInit(), 0),
                            "T of the indices", tokens, "T of the logits")) ||
      failed(verifySameSize(op, sizeOrDynamic(op.getIndicesInit(), 1),
                            "dimension 1 of the indices", columns,
                            "dimension 1 of the weights")) ||
      failed(verifySameSize(op, sizeOrDynamic(op.getBias(), 0),
                            "length of the bias", experts, "E of the logits")))
    return failure();
  int64_t shared = op.getSharedExperts();
  if (shared < 0)
    return op.emitOpError()
           << "shared_experts is " << shared << "; it must not be negative";
  if (columns - shared < 1)
    return op.emitOpError()
           << "outs have " << columns << " columns for " << shared
           << " shared experts; at least one more is needed "
              "for a routed expert";
  Type indexType = elementTypeOf(op.getIndicesInit());
  int64_t last = indexType.isInteger(32) ? std::numeric_limits<int32_t>::max()
                                         : std::numeric_limits<int64_t>::max();
  if (experts > last - shared)
    return op.emitOpError()
           << "indices of outs are " << indexType << ", too narrow for "
           << experts << " routed and " << shared << " shared experts";
  return success();
}

static LogicalResult verifyRouteGroups(RouteOp op) {
  int64_t experts = op.getNumExperts(), groups = op.getNGroup();
  int64_t kept = op.getTopkGroup(), topK = op.getTopK();
  if (groups < 1 || experts % groups != 0)
    return op.emitOpError()
           << "n_group is " << groups << "; it must be positive and divide the "
           << experts << " experts";
  if (kept < 1 || kept > groups)
    return op.emitOpError()
           << "topk_group is " << kept
           << "; it must be from 1 to n_group, which is " << groups;
  int64_t eligible = experts / groups * kept;
  if (topK > eligible)
    return op.emitOpError()
           << "cannot choose " << topK
           << " different experts of a token out of " << eligible;
  return success();
}

LogicalResult RouteOp::verify() {
  if (failed(verifyRouteShapes(*this)) || failed(verifyRouteGroups(*this)) ||
      failed(verifyF32Or(*this, "weights of outs",
                         elementTypeOf(getWeightsInit()), "logits",
                         elementTypeOf(getLogits()))))
    return failure();
  if (getRenormalize() && getScoring() == Scoring::SoftmaxAfterTopK)
    return emitOpError("renormalize has no meaning with softmax_after_topk, "
                       "whose weights sum to 1; remove it");
  if (!getScaling().isFinite())
    return emitOpError("scaling must be finite");
  return verifyPureSemantics(*this);
}

LogicalResult RouteOp::fold(FoldAdaptor,
                            SmallVectorImpl<OpFoldResult> &results) {
  return foldEmptyResults(*this, results);
}

void RouteOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationStyleEffects(*this, InitUse::Overwritten, effects);
}

Speculation::Speculatability RouteOp::getSpeculatability() {
  return getDestinationStyleSpeculatability(*this);
}

LogicalResult
RouteOp::reifyResultShapes(OpBuilder &builder,
                           ReifiedRankedShapedTypeDims &reifiedReturnShapes) {
  return reifyFromInits(builder, *this, reifiedReturnShapes);
}

//===----------------------------------------------------------------------===//
// DispatchOp
//===----------------------------------------------------------------------===//

LogicalResult DispatchOp::verify() {
  ArrayRef<int64_t> pairs = getIndices().getType().getShape();
  if (getOffsetsInit().getType().getDimSize(0) == 0)
    return emitOpError("offsets have no element; E experts need E + 1");
  if (failed(verifySameSize(*this, sizeOrDynamic(getRowOfPairInit(), 0),
                            "T of row_of_pair", pairs[0],
                            "T of the indices")) ||
      failed(verifySameSize(*this, sizeOrDynamic(getRowOfPairInit(), 1),
                            "k of row_of_pair", pairs[1], "k of the indices")))
    return failure();
  int64_t rows = ShapedType::kDynamic;
  if (getIndices().getType().hasStaticShape()) {
    if (llvm::MulOverflow(pairs[0], pairs[1], rows) ||
        rows > std::numeric_limits<int32_t>::max())
      return emitOpError() << "T * k = " << pairs[0] << " * " << pairs[1]
                           << " does not fit the i32 row numbers";
  }
  if (failed(verifySameSize(*this, sizeOrDynamic(getTokenOfRowInit(), 0),
                            "length of token_of_row", rows,
                            "T * k of the indices")))
    return failure();
  return verifyPureSemantics(*this);
}

/// Without pairs, all that is left are offsets of zero.
LogicalResult DispatchOp::canonicalize(DispatchOp op,
                                       PatternRewriter &rewriter) {
  if (op->getNumResults() != 3 ||
      !llvm::is_contained(op.getIndices().getType().getShape(), 0))
    return rewriter.notifyMatchFailure(op, "has pairs, or is on memrefs");
  auto offsets = cast<RankedTensorType>(op.getOffsetsInit().getType());
  if (!offsets.hasStaticShape() ||
      !op.getRowOfPairInit().getType().hasStaticShape() ||
      !op.getTokenOfRowInit().getType().hasStaticShape())
    return rewriter.notifyMatchFailure(op, "the shape of outs is not static");
  Value zeros = createZeros(rewriter, op.getLoc(), offsets);
  rewriter.replaceOp(op,
                     {op.getTokenOfRowInit(), op.getRowOfPairInit(), zeros});
  return success();
}

void DispatchOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationStyleEffects(*this, InitUse::Overwritten, effects);
}

Speculation::Speculatability DispatchOp::getSpeculatability() {
  return getDestinationStyleSpeculatability(*this);
}

LogicalResult DispatchOp::reifyResultShapes(
    OpBuilder &builder, ReifiedRankedShapedTypeDims &reifiedReturnShapes) {
  return reifyFromInits(builder, *this, reifiedReturnShapes);
}

//===----------------------------------------------------------------------===//
// CombineOp
//===----------------------------------------------------------------------===//

LogicalResult CombineOp::verify() {
  ArrayRef<int64_t> pairs = getRowOfPair().getType().getShape();
  if (failed(verifySameSize(*this, sizeOrDynamic(getWeights(), 0),
                            "T of the weights", pairs[0],
                            "T of row_of_pair")) ||
      failed(verifySameSize(*this, sizeOrDynamic(getWeights(), 1),
                            "k of the weights", pairs[1],
                            "k of row_of_pair")) ||
      failed(verifySameSize(*this, sizeOrDynamic(getInit(), 0), "T of outs",
                            pairs[0], "T of row_of_pair")) ||
      failed(verifySameSize(*this, sizeOrDynamic(getInit(), 1), "H of outs",
                            sizeOrDynamic(getRows(), 1), "H of the rows")))
    return failure();
  return verifyPureSemantics(*this);
}

LogicalResult CombineOp::fold(FoldAdaptor,
                              SmallVectorImpl<OpFoldResult> &results) {
  return foldEmptyResults(*this, results);
}

/// Without rows or pairs the sums are empty.
LogicalResult CombineOp::canonicalize(CombineOp op, PatternRewriter &rewriter) {
  if (op.getRows().getType().getDimSize(0) != 0 &&
      op.getRowOfPair().getType().getDimSize(1) != 0)
    return rewriter.notifyMatchFailure(op, "has rows and pairs");
  return replaceByZeros(rewriter, op);
}

void CombineOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationStyleEffects(*this, InitUse::Overwritten, effects);
}

Speculation::Speculatability CombineOp::getSpeculatability() {
  return getDestinationStyleSpeculatability(*this);
}

LogicalResult
CombineOp::reifyResultShapes(OpBuilder &builder,
                             ReifiedRankedShapedTypeDims &reifiedReturnShapes) {
  return reifyFromInits(builder, *this, reifiedReturnShapes);
}

//===----------------------------------------------------------------------===//
// ExpertsOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyExpertsElementTypes(ExpertsOp op) {
  Type tokens = elementTypeOf(op.getTokens());
  Type gateUp = elementTypeOf(op.getGateUp()),
       down = elementTypeOf(op.getDown());
  if (gateUp != tokens || down != tokens)
    return op.emitOpError()
           << "tokens are " << tokens << ", gate_up " << gateUp << " and down "
           << down << "; all must have one element type";
  return verifyF32Or(op, "outs", elementTypeOf(op.getInit()), "tokens", tokens);
}

/// Sizes of the operands that have one entry for each token.
static LogicalResult verifyExpertsTokens(ExpertsOp op) {
  ArrayRef<int64_t> tokens = op.getTokens().getType().getShape();
  return success(
      succeeded(verifySameSize(op, sizeOrDynamic(op.getIndices(), 0),
                               "T of the indices", tokens[0],
                               "T of the tokens")) &&
      succeeded(verifySameSize(op, sizeOrDynamic(op.getWeights(), 0),
                               "T of the weights", tokens[0],
                               "T of the tokens")) &&
      succeeded(verifySameSize(op, sizeOrDynamic(op.getWeights(), 1),
                               "k of the weights", op.getTopK(),
                               "k of the indices")) &&
      succeeded(verifySameSize(op, sizeOrDynamic(op.getInit(), 0), "T of outs",
                               tokens[0], "T of the tokens")) &&
      succeeded(verifySameSize(op, sizeOrDynamic(op.getInit(), 1), "H of outs",
                               tokens[1], "H of the tokens")));
}

/// Sizes of the weight matrices and biases.
static LogicalResult verifyExpertsMatrices(ExpertsOp op) {
  bool nk = op.getWeightLayout() == WeightLayout::NK;
  int64_t hidden = op.getTokens().getType().getDimSize(1);
  int64_t experts = op.getNumExperts(), rows = op.getGateUpRows();
  if (failed(verifySameSize(op, sizeOrDynamic(op.getGateUp(), nk ? 2 : 1),
                            nk ? "H of gate_up (dimension 2, nk)"
                               : "H of gate_up (dimension 1, kn)",
                            hidden, "H of the tokens")) ||
      failed(verifySameSize(op, sizeOrDynamic(op.getDown(), 0), "E of down",
                            experts, "E of gate_up")) ||
      failed(verifySameSize(op, sizeOrDynamic(op.getDown(), nk ? 1 : 2),
                            nk ? "H of down (dimension 1, nk)"
                               : "H of down (dimension 2, kn)",
                            hidden, "H of the tokens")) ||
      failed(verifySameSize(op, sizeOrDynamic(op.getGateUpBias(), 0),
                            "E of gate_up_bias", experts, "E of gate_up")) ||
      failed(verifySameSize(op, sizeOrDynamic(op.getGateUpBias(), 1),
                            "N of gate_up_bias", rows, "N of gate_up")) ||
      failed(verifySameSize(op, sizeOrDynamic(op.getDownBias(), 0),
                            "E of down_bias", experts, "E of gate_up")) ||
      failed(verifySameSize(op, sizeOrDynamic(op.getDownBias(), 1),
                            "H of down_bias", hidden, "H of the tokens")))
    return failure();
  if (op.isGated() && !ShapedType::isDynamic(rows)) {
    if (rows % 2 != 0)
      return op.emitOpError() << "a gated epilogue needs an even N of gate_up, "
                                 "got "
                              << rows;
    rows /= 2;
  }
  return verifySameSize(op, op.getIntermediateSize(), "I of down", rows,
                        op.isGated() ? "N/2 of the gated gate_up"
                                     : "N of gate_up");
}

LogicalResult ExpertsOp::verify() {
  constexpr size_t firstOptional = 5;
  if (failed(verifyOperandGroups(*this, getProperties().operandSegmentSizes,
                                 firstOptional)) ||
      failed(verifyExpertsElementTypes(*this)) ||
      failed(verifyExpertsTokens(*this)) ||
      failed(verifyExpertsMatrices(*this)) ||
      failed(verifyExpectedTokens(*this, getExpectedTokens(), getNumExperts())))
    return failure();
  return verifyPureSemantics(*this);
}

LogicalResult ExpertsOp::fold(FoldAdaptor,
                              SmallVectorImpl<OpFoldResult> &results) {
  return foldEmptyResults(*this, results);
}

/// Without experts or pairs no token is taken, and all become zero.
LogicalResult ExpertsOp::canonicalize(ExpertsOp op, PatternRewriter &rewriter) {
  if (op.getNumExperts() != 0 && op.getTopK() != 0)
    return rewriter.notifyMatchFailure(op, "has experts and pairs");
  return replaceByZeros(rewriter, op);
}

void ExpertsOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationStyleEffects(*this, InitUse::Overwritten, effects);
}

Speculation::Speculatability ExpertsOp::getSpeculatability() {
  return getDestinationStyleSpeculatability(*this);
}

LogicalResult
ExpertsOp::reifyResultShapes(OpBuilder &builder,
                             ReifiedRankedShapedTypeDims &reifiedReturnShapes) {
  return reifyFromInits(builder, *this, reifiedReturnShapes);
}
