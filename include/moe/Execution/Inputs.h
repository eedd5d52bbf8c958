//===- Inputs.h - random inputs of moe programs -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_EXECUTION_INPUTS_H
#define MOE_EXECUTION_INPUTS_H

#include "moe/Execution/HostTensor.h"

#include <vector>

namespace mlir {
class Value;

namespace func {
class FuncOp;
} // namespace func

namespace moe {

/// How the rows of a grouped matmul are spread over the experts.
struct Routing {
  enum class Kind {
    Uniform,    ///< Every row goes to every expert with the same probability.
    Zipf,       ///< To the i-th most popular expert with weight 1 / i^exponent.
    OneExpert,  ///< All rows to one expert.
    EmptyGroups ///< No expert has a row.
  };
  Kind kind = Kind::Uniform;
  double exponent = 0.0;

  /// Parses `uniform`, `zipf:S` with a finite S >= 0, `one-expert` or
  /// `empty-groups`.
  static llvm::Expected<Routing> parse(StringRef text);
};

/// The shape of `value`, of ranked tensor type, when the arguments of its
/// function have the shapes `shapes`; nothing if a dynamic size cannot be
/// followed to an argument or a constant.
std::optional<SmallVector<int64_t>>
resolveShape(Value value, ArrayRef<SmallVector<int64_t>> shapes);

/// Makes the inputs of `func`, whose arguments have the shapes `shapes`, for
/// those arguments that have none in `inputs` yet. The same seed gives the same
/// inputs everywhere, whichever of them are made.
///
/// What an argument means is taken from the moe ops that use it: offsets or
/// sizes follow `routing` and cover all rows, a gather names existing tokens, a
/// scatter is a permutation, tokens and the results of every op have a variance
/// of about one. Fails, naming the argument, for an integer argument whose
/// meaning is unknown.
llvm::Error makeInputs(func::FuncOp func, ArrayRef<SmallVector<int64_t>> shapes,
                       uint64_t seed, Routing routing,
                       std::vector<std::optional<HostTensor>> &inputs);

} // namespace moe
} // namespace mlir

#endif // MOE_EXECUTION_INPUTS_H
