//===- GroupedMatmulDims.h - Dimensions of grouped matmuls ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which dimension of which operand holds what size, in every storage order: for
// the external models of both grouped matmuls.
//
//===----------------------------------------------------------------------===//

#ifndef MOE_LIB_DIALECT_MOE_IR_GROUPEDMATMULDIMS_H
#define MOE_LIB_DIALECT_MOE_IR_GROUPEDMATMULDIMS_H

#include "moe/Dialect/MoE/IR/MoE.h"

namespace mlir {
namespace moe {

/// A dimension of a tensor or memref.
struct ValueDim {
  Value value;
  int64_t dim;
};

/// Where the tokens hold their rows, and the elements of a row.
inline ValueDim getTokenRowsDim(GroupedMatmulInterface op) {
  return {op.getTokens(), op.hasTransposedTokens() ? 1 : 0};
}
inline ValueDim getTokenElementsDim(GroupedMatmulInterface op) {
  return {op.getTokens(), op.hasTransposedTokens() ? 0 : 1};
}

/// Where the destination (and the result) holds its rows, and its columns.
inline ValueDim getResultRowsDim(GroupedMatmulInterface op) {
  return {op.getInit(), op.hasTransposedResult() ? 1 : 0};
}
inline ValueDim getResultColumnsDim(GroupedMatmulInterface op) {
  return {op.getInit(), op.hasTransposedResult() ? 0 : 1};
}

/// Where the weights hold N, and K.
inline ValueDim getWeightRowsDim(GroupedMatmulInterface op) {
  return {op.getWeights(), op.getWeightLayout() == WeightLayout::NK ? 1 : 2};
}
inline ValueDim getWeightElementsDim(GroupedMatmulInterface op) {
  return {op.getWeights(), op.getWeightLayout() == WeightLayout::NK ? 2 : 1};
}

/// Where R is held, the rows that the groups divide.
inline ValueDim getRowsDim(GroupedMatmulInterface op) {
  if (Value gather = op.getGather())
    return {gather, 0};
  return getTokenRowsDim(op);
}

} // namespace moe
} // namespace mlir

#endif // MOE_LIB_DIALECT_MOE_IR_GROUPEDMATMULDIMS_H
