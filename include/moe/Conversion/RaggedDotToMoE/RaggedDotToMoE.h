//===- RaggedDotToMoE.h - Raise JAX's ragged_dot ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// JAX writes `jax.lax.ragged_dot` as a `stablehlo.composite` named
// `chlo.ragged_dot`. This raises it to `moe.grouped_matmul`. The composite is
// read by name and attributes, whether or not the StableHLO dialect is
// registered.
//
//===----------------------------------------------------------------------===//

#ifndef MOE_CONVERSION_RAGGEDDOTTOMOE_RAGGEDDOTTOMOE_H
#define MOE_CONVERSION_RAGGEDDOTTOMOE_RAGGEDDOTTOMOE_H

#include "mlir/Support/LLVM.h"

namespace mlir {
class Operation;
class RewritePatternSet;
class RewriterBase;

namespace moe {
class GroupedMatmulOp;

/// True if `op` is a `stablehlo.composite` named `chlo.ragged_dot`, well-formed
/// or not.
bool isRaggedDot(Operation *op);

/// Replaces the ragged_dot `composite` by a `moe.grouped_matmul` whose
/// destination is filled with zeros, so that rows past the last group are zero
/// as JAX defines. Fails, leaving the IR as it is, if `composite` is no
/// ragged_dot or asks for something that the op cannot say; for a ragged_dot
/// the reason is a missed remark of category `moe-raise-ragged-dot`. A raised
/// one gets a passed remark of the same category.
FailureOr<GroupedMatmulOp> raiseRaggedDot(RewriterBase &rewriter,
                                          Operation *composite);

/// Adds the pattern that calls `raiseRaggedDot`.
void populateRaggedDotToMoEPatterns(RewritePatternSet &patterns);

} // namespace moe
} // namespace mlir

#endif // MOE_CONVERSION_RAGGEDDOTTOMOE_RAGGEDDOTTOMOE_H
