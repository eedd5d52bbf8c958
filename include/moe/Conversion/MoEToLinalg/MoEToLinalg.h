//===- MoEToLinalg.h - moe ops as parallel loops ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_CONVERSION_MOETOLINALG_MOETOLINALG_H
#define MOE_CONVERSION_MOETOLINALG_MOETOLINALG_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class RewritePatternSet;
class RewriterBase;

namespace moe {

class GroupedMatmulInterface;

#define GEN_PASS_DECL_CONVERTMOETOLINALG
#include "moe/Conversion/Passes.h.inc"

/// Replaces a grouped matmul on memrefs, of either orientation, by an
/// `scf.parallel` over (block of result columns, expert) of loops over that
/// expert's tokens. `lanes` is the number of f32 in a vector of the target: a
/// power of two from 4 to 32. Fails, without changing anything, on tensors.
LogicalResult lowerGroupedMatmul(RewriterBase &rewriter,
                                 GroupedMatmulInterface op, int64_t lanes);

/// Adds the lowering of each moe op but `moe.experts`; see lowerGroupedMatmul
/// and LayerOps.h.
void populateMoEToLinalgPatterns(RewritePatternSet &patterns, int64_t lanes);

} // namespace moe
} // namespace mlir

#endif // MOE_CONVERSION_MOETOLINALG_MOETOLINALG_H
