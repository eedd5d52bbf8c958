//===- LayerOps.h - route, dispatch and combine as loops --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_CONVERSION_MOETOLINALG_LAYEROPS_H
#define MOE_CONVERSION_MOETOLINALG_LAYEROPS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir {
namespace moe {

class CombineOp;
class DispatchOp;
class RouteOp;

/// Each replaces one op on memrefs by loops of `scf`, `arith`, `math` and
/// `memref`, and fails, without changing anything, on tensors. Sizes that two
/// operands state, and disagree on at run time, count as the smaller: nothing
/// is read or written outside the operands.

/// An `scf.parallel` over the tokens.
LogicalResult lowerRoute(RewriterBase &rewriter, RouteOp op);

/// A counting sort; sequential, as its result must be stable.
LogicalResult lowerDispatch(RewriterBase &rewriter, DispatchOp op);

/// An `scf.parallel` over the tokens.
LogicalResult lowerCombine(RewriterBase &rewriter, CombineOp op);

/// Adds a pattern for each of the three.
void populateMoELayerOpsToLoopsPatterns(RewritePatternSet &patterns);

} // namespace moe
} // namespace mlir

#endif // MOE_CONVERSION_MOETOLINALG_LAYEROPS_H
