//===- MoEOps.cpp - ops of the moe dialect --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpDetail.h"

#include "moe/Dialect/MoE/IR/MoE.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::detail;

#define GET_OP_CLASSES
#include "moe/Dialect/MoE/IR/MoEOps.cpp.inc"

//===----------------------------------------------------------------------===//
// What all destination-style ops share
//===----------------------------------------------------------------------===//

void mlir::moe::detail::getDestinationStyleEffects(
    DestinationStyleOpInterface op, InitUse use,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  SideEffects::Resource *resource = SideEffects::DefaultResource::get();
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    bool isInit = op.isDpsInit(&operand);
    if (!isInit || use == InitUse::Kept)
      effects.emplace_back(MemoryEffects::Read::get(), &operand, resource);
    if (isInit)
      effects.emplace_back(MemoryEffects::Write::get(), &operand, resource);
  }
}

Speculation::Speculatability
mlir::moe::detail::getDestinationStyleSpeculatability(
    DestinationStyleOpInterface op) {
  return op.hasPureTensorSemantics() ? Speculation::Speculatable
                                     : Speculation::NotSpeculatable;
}

LogicalResult mlir::moe::detail::reifyFromInits(
    OpBuilder &builder, DestinationStyleOpInterface op,
    ReifiedRankedShapedTypeDims &reifiedReturnShapes) {
  if (!op.hasPureTensorSemantics())
    return failure();
  for (OpOperand &init : op.getDpsInitsMutable())
    reifiedReturnShapes.push_back(
        tensor::getMixedSizes(builder, op.getLoc(), init.get()));
  return success();
}

LogicalResult mlir::moe::detail::verifyOperandGroups(Operation *op,
                                                     ArrayRef<int32_t> segments,
                                                     size_t firstOptional) {
  for (auto [i, size] : llvm::enumerate(segments)) {
    bool isOptional = i >= firstOptional && i + 1 < segments.size();
    if (size != 1 && !isOptional)
      return op->emitOpError()
             << "operandSegmentSizes gives operand group " << i << " " << size
             << " operands; it takes exactly one";
  }
  return success();
}

LogicalResult
mlir::moe::detail::verifyPureSemantics(DestinationStyleOpInterface op) {
  if (op.hasPureTensorSemantics() || op.hasPureBufferSemantics())
    return success();
  return op->emitOpError("mixes tensors and memrefs; bufferize all operands "
                         "or none");
}

LogicalResult mlir::moe::detail::verifySameSize(Operation *op, int64_t size,
                                                const Twine &what,
                                                int64_t expected,
                                                const Twine &where) {
  if (ShapedType::isDynamic(size) || ShapedType::isDynamic(expected) ||
      size == expected)
    return success();
  return op->emitOpError() << what << " is " << size << ", but " << where
                           << " is " << expected;
}

LogicalResult mlir::moe::detail::verifyExpectedTokens(
    Operation *op, std::optional<ArrayRef<int64_t>> expected, int64_t experts) {
  if (!expected)
    return success();
  int64_t entries = static_cast<int64_t>(expected->size());
  if (entries != 1 && (ShapedType::isDynamic(experts) || entries != experts))
    return op->emitOpError() << "expected_tokens has " << entries
                             << " entries; it needs one, or one for each of "
                                "the E experts";
  if (llvm::any_of(*expected, [](int64_t tokens) { return tokens < 0; }))
    return op->emitOpError("expected_tokens has a negative entry");
  return success();
}

//===----------------------------------------------------------------------===//
// Grouped matmul: what both orientations share
//===----------------------------------------------------------------------===//

static LogicalResult verifyElementTypes(GroupedMatmulInterface op) {
  Type tokens = op.getTokens().getType().getElementType();
  Type weights = op.getWeights().getType().getElementType();
  if (tokens != weights)
    return op->emitOpError() << "tokens are " << tokens << " and weights are "
                             << weights << "; both must have one element type";
  Type result = op.getInit().getType().getElementType();
  if (result != tokens && !result.isF32())
    return op->emitOpError()
           << "outs is " << result << "; it must be f32 or, like the tokens, "
           << tokens;
  return success();
}

static LogicalResult verifyShapes(GroupedMatmulInterface op) {
  bool nk = op.getWeightLayout() == WeightLayout::NK;
  int64_t experts = op.getNumExperts(), rows = op.getNumRows();
  int64_t weightRows = op.getWeightRows();
  if (failed(verifySameSize(
          op, sizeOrDynamic(op.getTokens(), op.hasTransposedTokens() ? 0 : 1),
          "K of the tokens", op.getContractionSize(),
          nk ? "K of the weights (dimension 2, nk)"
             : "K of the weights (dimension 1, kn)")))
    return failure();

  bool offsets = op.getGroupKind() == GroupKind::Offsets;
  int64_t groups = sizeOrDynamic(op.getGroups(), 0);
  if (offsets && groups == 0)
    return op->emitOpError("offsets have no element; E experts need E + 1");
  if (offsets && !ShapedType::isDynamic(groups))
    --groups;
  if (failed(verifySameSize(op, groups,
                            offsets ? "number of offsets less one"
                                    : "number of group sizes",
                            experts, "E of the weights")) ||
      failed(verifySameSize(op, sizeOrDynamic(op.getBias(), 0), "E of the bias",
                            experts, "E of the weights")) ||
      failed(verifySameSize(op, sizeOrDynamic(op.getBias(), 1), "N of the bias",
                            weightRows, "N of the weights")) ||
      failed(verifySameSize(op, sizeOrDynamic(op.getScale(), 0),
                            "length of scale", rows, "R")) ||
      failed(verifySameSize(op, sizeOrDynamic(op.getScatter(), 0),
                            "length of scatter", rows, "R")))
    return failure();

  if (op.isGated() && !ShapedType::isDynamic(weightRows)) {
    if (weightRows % 2 != 0)
      return op->emitOpError()
             << "a gated epilogue needs an even N, got " << weightRows;
    weightRows /= 2;
  }
  if (failed(verifySameSize(op, op.getResultColumns(), "N of outs", weightRows,
                            op.isGated() ? "N/2 of the gated weights"
                                         : "N of the weights")))
    return failure();
  if (op.getScatter())
    return success();
  return verifySameSize(
      op, sizeOrDynamic(op.getInit(), op.hasTransposedResult() ? 1 : 0),
      "R of outs", rows, op.getGather() ? "length of gather" : "R of tokens");
}

/// The first optional operand, of both orientations.
static constexpr size_t kFirstOptional = 3;

static LogicalResult verifyGroupedMatmul(GroupedMatmulInterface op,
                                         ArrayRef<int32_t> segments) {
  if (failed(verifyOperandGroups(op, segments, kFirstOptional)) ||
      failed(verifyElementTypes(op)) || failed(verifyShapes(op)))
    return failure();
  if (failed(verifyPureSemantics(
          cast<DestinationStyleOpInterface>(op.getOperation()))))
    return failure();
  return verifyExpectedTokens(op, op.getExpectedTokens(), op.getNumExperts());
}

/// A grouped matmul without experts, rows or columns leaves its destination as
/// it is.
static LogicalResult foldGroupedMatmul(GroupedMatmulInterface op,
                                       SmallVectorImpl<OpFoldResult> &results) {
  if (op->getNumResults() != 1 ||
      op->getResult(0).getType() != op.getInit().getType())
    return failure();
  if (op.getNumExperts() != 0 && op.getNumRows() != 0 &&
      op.getResultColumns() != 0)
    return failure();
  results.push_back(op.getInit());
  return success();
}

//===----------------------------------------------------------------------===//
// GroupedMatmulOp
//===----------------------------------------------------------------------===//

bool GroupedMatmulOp::isSwapped() { return false; }
bool GroupedMatmulOp::hasTransposedTokens() { return false; }
bool GroupedMatmulOp::hasTransposedResult() { return false; }

LogicalResult GroupedMatmulOp::verify() {
  return verifyGroupedMatmul(*this, getProperties().operandSegmentSizes);
}

LogicalResult GroupedMatmulOp::fold(FoldAdaptor,
                                    SmallVectorImpl<OpFoldResult> &results) {
  return foldGroupedMatmul(*this, results);
}

void GroupedMatmulOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationStyleEffects(*this, InitUse::Kept, effects);
}

Speculation::Speculatability GroupedMatmulOp::getSpeculatability() {
  return getDestinationStyleSpeculatability(*this);
}

LogicalResult GroupedMatmulOp::reifyResultShapes(
    OpBuilder &builder, ReifiedRankedShapedTypeDims &reifiedReturnShapes) {
  return reifyFromInits(builder, *this, reifiedReturnShapes);
}

//===----------------------------------------------------------------------===//
// GroupedMatmulSwappedOp
//===----------------------------------------------------------------------===//

bool GroupedMatmulSwappedOp::isSwapped() { return true; }

bool GroupedMatmulSwappedOp::hasTransposedTokens() {
  return getTokenOrder() == OperandOrder::Transposed;
}

bool GroupedMatmulSwappedOp::hasTransposedResult() {
  return getResultOrder() == OperandOrder::Transposed;
}

LogicalResult GroupedMatmulSwappedOp::verify() {
  return verifyGroupedMatmul(*this, getProperties().operandSegmentSizes);
}

LogicalResult
GroupedMatmulSwappedOp::fold(FoldAdaptor,
                             SmallVectorImpl<OpFoldResult> &results) {
  return foldGroupedMatmul(*this, results);
}

void GroupedMatmulSwappedOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationStyleEffects(*this, InitUse::Kept, effects);
}

Speculation::Speculatability GroupedMatmulSwappedOp::getSpeculatability() {
  return getDestinationStyleSpeculatability(*this);
}

LogicalResult GroupedMatmulSwappedOp::reifyResultShapes(
    OpBuilder &builder, ReifiedRankedShapedTypeDims &reifiedReturnShapes) {
  return reifyFromInits(builder, *this, reifiedReturnShapes);
}
