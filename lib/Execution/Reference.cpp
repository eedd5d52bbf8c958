//===- Reference.cpp - moe programs in double precision -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Execution/Reference.h"

#include "ReferenceOps.h"

#include "moe/Dialect/MoE/IR/MoE.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::moe;

namespace {
class Interpreter {
public:
  Interpreter(func::FuncOp func, ArrayRef<const HostTensor *> inputs)
      : func(func) {
    for (auto [argument, input] : llvm::zip_equal(func.getArguments(), inputs))
      values[argument] = Operand(input);
  }
  llvm::Expected<std::vector<ReferenceTensor>> run();
  llvm::Expected<SmallVector<Operand>> run(ArrayRef<Value> wanted);

private:
  llvm::Error evaluate(Operation *op);
  llvm::Error setResults(Operation *op,
                         llvm::Expected<SmallVector<Operand>> results);
  llvm::Error evaluateConstant(arith::ConstantOp op);
  llvm::Error evaluateEmpty(tensor::EmptyOp op);
  llvm::Error evaluateTranspose(linalg::TransposeOp op);
  llvm::Error evaluateFill(linalg::FillOp op);

  func::FuncOp func;
  DenseMap<Value, Operand> values;
};
} // namespace

//===----------------------------------------------------------------------===//
// Interpreter
//===----------------------------------------------------------------------===//

static int64_t countElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

llvm::Error Interpreter::evaluateConstant(arith::ConstantOp op) {
  SmallVector<int64_t> shape;
  SmallVector<Attribute> elements = {op.getValue()};
  if (auto dense = dyn_cast<DenseElementsAttr>(op.getValue())) {
    shape = llvm::to_vector(dense.getType().getShape());
    elements = llvm::to_vector(dense.getValues<Attribute>());
  }
  std::vector<double> floats;
  std::vector<int64_t> integers;
  for (Attribute attr : elements) {
    if (auto number = dyn_cast<FloatAttr>(attr))
      floats.push_back(number.getValueAsDouble());
    else if (auto number = dyn_cast<IntegerAttr>(attr);
             number && number.getValue().getSignificantBits() <= 64)
      integers.push_back(number.getValue().getSExtValue());
    else
      return llvm::createStringError(
          "--check cannot interpret the value of an arith.constant");
  }
  Value result = op.getResult();
  if (isa<FloatType>(getElementTypeOrSelf(op.getType())))
    values[result] = Operand(shape, std::move(floats));
  else
    values[result] = Operand(shape, std::move(integers));
  return llvm::Error::success();
}

llvm::Error Interpreter::evaluateEmpty(tensor::EmptyOp op) {
  SmallVector<int64_t> shape(op.getType().getShape());
  unsigned next = 0;
  for (int64_t &size : shape)
    if (ShapedType::isDynamic(size))
      size = values[op.getDynamicSizes()[next++]].integerAt(0);
  // What is read here is undefined; NaN shows where a result depends on it.
  values[op.getResult()] = Operand(
      shape, std::vector<double>(countElements(shape),
                                 std::numeric_limits<double>::quiet_NaN()));
  return llvm::Error::success();
}

llvm::Error Interpreter::evaluateFill(linalg::FillOp op) {
  ArrayRef<int64_t> shape = values[op.getOutputs()[0]].shape;
  double value = values[op.getInputs()[0]].at(0);
  values[op->getResult(0)] =
      Operand(shape, std::vector<double>(countElements(shape), value));
  return llvm::Error::success();
}

llvm::Error Interpreter::evaluateTranspose(linalg::TransposeOp op) {
  const Operand input = values[op.getInput()];
  ArrayRef<int64_t> permutation = op.getPermutation();
  size_t rank = permutation.size();
  SmallVector<int64_t> shape, position(rank, 0), strides(rank, 1);
  for (size_t d = rank; d-- > 1;)
    strides[d - 1] = strides[d] * input.shape[d];
  for (int64_t d : permutation)
    shape.push_back(input.shape[d]);
  std::vector<double> result(input.size());
  for (double &element : result) {
    int64_t source = 0;
    for (size_t d = 0; d < rank; ++d)
      source += position[d] * strides[permutation[d]];
    element = input.at(source);
    for (size_t d = rank; d-- > 0;) {
      if (++position[d] < shape[d])
        break;
      position[d] = 0;
    }
  }
  values[op->getResult(0)] = Operand(shape, std::move(result));
  return llvm::Error::success();
}

llvm::Error
Interpreter::setResults(Operation *op,
                        llvm::Expected<SmallVector<Operand>> results) {
  if (!results)
    return results.takeError();
  for (auto [value, result] : llvm::zip_equal(op->getResults(), *results))
    values[value] = result;
  return llvm::Error::success();
}

llvm::Error Interpreter::evaluate(Operation *op) {
  auto lookup = [&](Value value) { return value ? values[value] : Operand(); };
  return llvm::TypeSwitch<Operation *, llvm::Error>(op)
      .Case([&](GroupedMatmulInterface op) {
        return setResults(op, evaluateGroupedMatmul(op, lookup));
      })
      .Case(
          [&](RouteOp op) { return setResults(op, evaluateRoute(op, lookup)); })
      .Case([&](DispatchOp op) {
        return setResults(op, evaluateDispatch(op, lookup));
      })
      .Case([&](CombineOp op) {
        return setResults(op, evaluateCombine(op, lookup));
      })
      .Case([&](ExpertsOp op) {
        return setResults(op, evaluateExperts(op, lookup));
      })
      .Case([&](arith::ConstantOp op) { return evaluateConstant(op); })
      .Case([&](tensor::EmptyOp op) { return evaluateEmpty(op); })
      .Case([&](linalg::FillOp op) { return evaluateFill(op); })
      .Case([&](linalg::TransposeOp op) { return evaluateTranspose(op); })
      .Case([&](tensor::DimOp op) -> llvm::Error {
        const Operand &source = values[op.getSource()];
        int64_t dim = values[op.getIndex()].integerAt(0);
        if (dim < 0 || dim >= static_cast<int64_t>(source.shape.size()))
          return llvm::createStringError(
              "--check cannot interpret a tensor.dim out of range");
        values[op.getResult()] =
            Operand({}, std::vector<int64_t>{source.shape[dim]});
        return llvm::Error::success();
      })
      .Case([&](affine::AffineApplyOp op) -> llvm::Error {
        SmallVector<Attribute> operands, results;
        Builder builder(op.getContext());
        for (Value operand : op.getOperands())
          operands.push_back(
              builder.getIndexAttr(lookup(operand).integerAt(0)));
        if (failed(op.getAffineMap().constantFold(operands, results)))
          return llvm::createStringError(
              "--check cannot interpret an affine.apply that divides by zero");
        values[op.getResult()] = Operand(
            {}, std::vector<int64_t>{cast<IntegerAttr>(results[0]).getInt()});
        return llvm::Error::success();
      })
      .Default([](Operation *op) {
        return llvm::createStringError("--check cannot interpret '" +
                                       op->getName().getStringRef() + "'");
      });
}

llvm::Expected<std::vector<ReferenceTensor>> Interpreter::run() {
  if (!func.getBody().hasOneBlock())
    return llvm::createStringError(
        "--check cannot interpret a function of several blocks");
  for (Operation &op : func.getBody().front().without_terminator())
    if (llvm::Error error = evaluate(&op))
      return error;
  std::vector<ReferenceTensor> results;
  for (Value value : func.getBody().front().getTerminator()->getOperands())
    results.push_back({values[value].shape, values[value].copy()});
  return results;
}

llvm::Expected<SmallVector<Operand>> Interpreter::run(ArrayRef<Value> wanted) {
  DenseSet<Operation *> needed;
  SmallVector<Value> worklist(wanted);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    Operation *op = value ? value.getDefiningOp() : nullptr;
    if (op && needed.insert(op).second)
      llvm::append_range(worklist, op->getOperands());
  }
  for (Operation &op : func.getBody().front().without_terminator()) {
    if (!needed.contains(&op))
      continue;
    if (isa<GroupedMatmulInterface, ExpertsOp>(op))
      return llvm::createStringError("'" + op.getName().getStringRef() +
                                     "' decides the routing");
    if (llvm::Error error = evaluate(&op))
      return error;
  }
  SmallVector<Operand> results;
  for (Value value : wanted)
    results.push_back(value ? values[value] : Operand());
  return results;
}

llvm::Expected<SmallVector<Operand>>
mlir::moe::evaluateValues(func::FuncOp func,
                          ArrayRef<const HostTensor *> inputs,
                          ArrayRef<Value> wanted) {
  return Interpreter(func, inputs).run(wanted);
}

llvm::Expected<std::vector<ReferenceTensor>>
mlir::moe::evaluateReference(func::FuncOp func,
                             ArrayRef<const HostTensor *> inputs) {
  return Interpreter(func, inputs).run();
}

Deviation mlir::moe::compare(const HostTensor &result,
                             const ReferenceTensor &reference) {
  Deviation deviation;
  double squaredError = 0.0, squaredNorm = 0.0;
  for (int64_t i = 0, e = result.getNumElements(); i < e; ++i) {
    double value = result.getFloat(i), expected = reference.values[i];
    double error = std::abs(value - expected);
    if (std::isnan(expected) && std::isnan(value))
      continue;
    if (std::isnan(error)) // NaN on one side, or equal infinities.
      error = value == expected ? 0.0 : std::numeric_limits<double>::infinity();
    squaredError += error * error;
    squaredNorm += std::isfinite(expected) ? expected * expected : 0.0;
    if (error > deviation.worstError || deviation.worstElement < 0) {
      deviation.worstError = error;
      deviation.worstElement = i;
      deviation.worstValue = value;
      deviation.worstReference = expected;
    }
  }
  deviation.relativeError = std::sqrt(squaredError);
  if (squaredNorm > 0.0)
    deviation.relativeError /= std::sqrt(squaredNorm);
  return deviation;
}
