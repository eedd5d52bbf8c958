//===- ReferenceOps.h - moe ops in double precision -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the files of the reference interpreter share; not for others.
//
//===----------------------------------------------------------------------===//

#ifndef MOE_LIB_EXECUTION_REFERENCEOPS_H
#define MOE_LIB_EXECUTION_REFERENCEOPS_H

#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/Execution/HostTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace mlir::moe {

/// A value of the interpreted function: an input, which stays as it is,
/// computed doubles (integers among them are exact up to 2^53), or constant
/// integers.
class Operand {
public:
  Operand() = default;
  explicit Operand(const HostTensor *input)
      : shape(input->getShape()), input(input) {}
  Operand(ArrayRef<int64_t> shape, std::vector<double> values)
      : shape(shape),
        values(std::make_shared<std::vector<double>>(std::move(values))) {}
  Operand(ArrayRef<int64_t> shape, std::vector<int64_t> integers)
      : shape(shape),
        integers(std::make_shared<std::vector<int64_t>>(std::move(integers))) {}

  /// False for an optional operand that is absent.
  explicit operator bool() const { return input || values || integers; }
  double at(int64_t i) const {
    if (input)
      return input->getFloat(i);
    return values ? (*values)[i] : static_cast<double>((*integers)[i]);
  }
  int64_t integerAt(int64_t i) const {
    if (input)
      return input->getInteger(i);
    return integers ? (*integers)[i] : static_cast<int64_t>((*values)[i]);
  }
  int64_t size() const {
    if (input)
      return input->getNumElements();
    return static_cast<int64_t>(values ? values->size() : integers->size());
  }
  std::vector<double> copy() const {
    std::vector<double> result(size());
    for (int64_t i = 0, e = size(); i < e; ++i)
      result[i] = at(i);
    return result;
  }

  SmallVector<int64_t> shape;

private:
  const HostTensor *input = nullptr;
  std::shared_ptr<std::vector<double>> values;
  std::shared_ptr<std::vector<int64_t>> integers;
};

/// Finds the operand of an op; a null value gives an absent operand.
using OperandLookup = function_ref<Operand(Value)>;

/// The products of `rows` [count x K] with the weight rows of one expert of
/// `weights` ([E x N x K] if `nk`, else [E x K x N]): [count x N].
std::vector<double> multiplyExpert(const Operand &weights, bool nk,
                                   int64_t expert, ArrayRef<double> rows,
                                   int64_t count);

/// The epilogue, which may be null, of one row of N products: N values, or N/2
/// with a gate.
std::vector<double> applyEpilogue(EpilogueAttr epilogue,
                                  ArrayRef<double> products);

/// The rows of each expert by the definition of the groups operand, row by row,
/// so that it shares no reasoning about bounds with the lowerings.
std::vector<SmallVector<int64_t>> findRows(const Operand &groups, bool offsets,
                                           int64_t numExperts, int64_t numRows);

/// Each evaluates one op; the results are in the order of the op's.
llvm::Expected<SmallVector<Operand>>
evaluateGroupedMatmul(GroupedMatmulInterface op, OperandLookup lookup);
llvm::Expected<SmallVector<Operand>> evaluateRoute(RouteOp op,
                                                   OperandLookup lookup);
llvm::Expected<SmallVector<Operand>> evaluateDispatch(DispatchOp op,
                                                      OperandLookup lookup);
llvm::Expected<SmallVector<Operand>> evaluateCombine(CombineOp op,
                                                     OperandLookup lookup);
llvm::Expected<SmallVector<Operand>> evaluateExperts(ExpertsOp op,
                                                     OperandLookup lookup);

/// Evaluates `wanted`, null values among them, and of `func` only what they
/// depend on. Fails if that is a product with weights: all else is cheap.
llvm::Expected<SmallVector<Operand>>
evaluateValues(func::FuncOp func, ArrayRef<const HostTensor *> inputs,
               ArrayRef<Value> wanted);

/// An error if `sizes`, which the op needs to be equal, are not.
llvm::Error checkEqual(Operation *op, StringRef what, ArrayRef<int64_t> sizes);

} // namespace mlir::moe

#endif // MOE_LIB_EXECUTION_REFERENCEOPS_H
