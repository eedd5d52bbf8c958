//===- Traffic.h - bytes that a run has to move -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_EXECUTION_TRAFFIC_H
#define MOE_EXECUTION_TRAFFIC_H

#include "moe/Execution/HostTensor.h"

namespace mlir {
namespace func {
class FuncOp;
} // namespace func

namespace moe {

/// What the moe ops of a function have to read and write for given inputs, in
/// bytes. Every op counts for itself, and whatever it reads or writes several
/// times counts once:
///
///   weights  matrices and biases of the experts that have a row;
///   tokens   of a grouped matmul the different token rows that rows of an
///            expert read, of moe.experts the tokens that have an expert, of
///            moe.combine the rows that it adds up;
///   results  of a grouped matmul the rows that it writes, of moe.experts and
///            moe.combine all of the result.
///
/// What stays inside of moe.experts does not count, nor do indices, offsets and
/// factors, of which a row has a few bytes.
struct Traffic {
  uint64_t weights = 0, tokens = 0, results = 0;
  uint64_t getTotal() const { return weights + tokens + results; }
};

/// Counts the bytes of `func` on `inputs`, one for each argument. Fails if the
/// routing is not known before the run: when an op of the body that is not one
/// of moe's decides it, or a grouped matmul does.
llvm::Expected<Traffic> measureTraffic(func::FuncOp func,
                                       ArrayRef<const HostTensor *> inputs);

} // namespace moe
} // namespace mlir

#endif // MOE_EXECUTION_TRAFFIC_H
