//===- DecomposeExperts.h - take moe.experts apart --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_DIALECT_MOE_TRANSFORMS_DECOMPOSEEXPERTS_H
#define MOE_DIALECT_MOE_TRANSFORMS_DECOMPOSEEXPERTS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir {
namespace moe {

class ExpertsOp;

/// How the first grouped matmul of a layer gets its rows in expert order.
enum class GatherForm {
  /// It reads the tokens through its `gather` operand: no copy in memory.
  Operand,
  /// It reads a copy of the rows, made by a linalg.generic in front of it: for
  /// lowerings of grouped matmul that do not take `gather`.
  Copy,
};

struct DecomposeExpertsOptions {
  GatherForm gather = GatherForm::Operand;
};

/// Replaces a `moe.experts` on tensors by `moe.dispatch`, two
/// `moe.grouped_matmul` and `moe.combine`, and returns what replaces its
/// result. The rows between the three have the element type of the tokens.
/// Fails, changes nothing and says so in a remark (category
/// `moe-decompose-experts`) if the op is on memrefs, or has 2^31 or more pairs
/// of a token and an expert, or experts.
FailureOr<Value> decomposeExperts(RewriterBase &rewriter, ExpertsOp op,
                                  const DecomposeExpertsOptions &options = {});

/// Adds a pattern that applies decomposeExperts.
void populateMoEDecomposeExpertsPatterns(
    RewritePatternSet &patterns, const DecomposeExpertsOptions &options = {});

} // namespace moe
} // namespace mlir

#endif // MOE_DIALECT_MOE_TRANSFORMS_DECOMPOSEEXPERTS_H
