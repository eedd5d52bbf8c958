//===- Reference.h - moe programs in double precision -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_EXECUTION_REFERENCE_H
#define MOE_EXECUTION_REFERENCE_H

#include "moe/Execution/HostTensor.h"

#include <vector>

namespace mlir {
namespace func {
class FuncOp;
} // namespace func

namespace moe {

/// A result of the reference: every float is a double, never rounded to the
/// element type of the IR, so that its error is far below that of any kernel.
struct ReferenceTensor {
  SmallVector<int64_t> shape;
  std::vector<double> values;
};

/// Evaluates `func` on `inputs`, one for each argument, by a plain interpreter
/// that shares no code with the lowerings. The body must be one block of moe
/// ops, tensor.empty, tensor.dim, linalg.fill, linalg.transpose and
/// arith.constant; another op is an error that names it.
llvm::Expected<std::vector<ReferenceTensor>>
evaluateReference(func::FuncOp func, ArrayRef<const HostTensor *> inputs);

/// How far a result is from the reference.
struct Deviation {
  /// ‖y − ref‖₂ / ‖ref‖₂; ‖y‖₂ if the reference is all zeros; infinity if one
  /// of the two is NaN where the other is not.
  double relativeError = 0.0;
  /// Largest |y − ref| of an element, and where it is in row-major order.
  double worstError = 0.0;
  int64_t worstElement = -1;
  double worstValue = 0.0, worstReference = 0.0;
};

Deviation compare(const HostTensor &result, const ReferenceTensor &reference);

} // namespace moe
} // namespace mlir

#endif // MOE_EXECUTION_REFERENCE_H
