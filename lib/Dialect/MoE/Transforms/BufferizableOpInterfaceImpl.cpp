//===- BufferizableOpInterfaceImpl.cpp - bufferize moe ops ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/Transforms/BufferizableOpInterfaceImpl.h"

#include "moe/Dialect/MoE/IR/MoE.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::bufferization;

/// Replaces `op` by the same op on the buffers of its operands. The clone keeps
/// every attribute, among them the sizes of the operand segments, so this holds
/// for ops with optional operands as well.
static LogicalResult bufferizeDestinationStyleOp(
    RewriterBase &rewriter, DestinationStyleOpInterface op,
    const BufferizationOptions &options, BufferizationState &state) {
  if (op.hasPureBufferSemantics())
    return success();
  // The verifiers of the dialect refuse mixed operands.
  if (!op.hasPureTensorSemantics())
    return op->emitError("mixes tensors and memrefs; cannot bufferize");

  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  SmallVector<Value> operands;
  operands.reserve(op->getNumOperands());
  for (Value operand : op->getOperands()) {
    if (!isa<TensorType>(operand.getType())) {
      operands.push_back(operand);
      continue;
    }
    FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
    if (failed(buffer))
      return failure();
    operands.push_back(*buffer);
  }
  SmallVector<Value> results;
  for (OpOperand &init : op.getDpsInitsMutable())
    results.push_back(operands[init.getOperandNumber()]);

  OperationState newOp(op->getLoc(), op->getName());
  newOp.addOperands(operands);
  newOp.addAttributes(op->getDiscardableAttrDictionary().getValue());
  newOp.propertiesAttr = op->getPropertiesAsAttribute();
  rewriter.create(newOp);
  replaceOpWithBufferizedValues(rewriter, op, results);
  return success();
}

namespace {
/// The base class answers the rest from the DestinationStyleOpInterface. No
/// access is elementwise, for a row of the inputs is read again after another
/// one of the result has been stored.
template <typename OpTy>
struct DestinationOpModel
    : public DstBufferizableOpInterfaceExternalModel<DestinationOpModel<OpTy>,
                                                     OpTy> {
  /// A grouped matmul keeps the rows of its destination that no group owns; all
  /// other ops overwrite theirs.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return isa<GroupedMatmulInterface>(op) ||
           !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    return bufferizeDestinationStyleOp(
        rewriter, cast<DestinationStyleOpInterface>(op), options, state);
  }
};

/// Attaches the model to `OpTy` if it is destination-style.
template <typename OpTy> void attachModel(MLIRContext *context) {
  if constexpr (OpTy::template hasTrait<DestinationStyleOpInterface::Trait>())
    OpTy::template attachInterface<DestinationOpModel<OpTy>>(*context);
}

template <typename... Ops> void attachModels(MLIRContext *context) {
  (attachModel<Ops>(context), ...);
}
} // namespace

void mlir::moe::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, MoEDialect *) {
    attachModels<
#define GET_OP_LIST
#include "moe/Dialect/MoE/IR/MoEOps.cpp.inc"
        >(context);
  });
}
