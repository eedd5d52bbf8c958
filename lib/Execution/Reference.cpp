//===- Reference.cpp - moe programs in double precision -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Execution/Reference.h"

#include "moe/Dialect/MoE/IR/MoE.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Parallel.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::moe;

namespace {
/// A value of the interpreted function: an input, which stays as it is, or
/// computed doubles (integers are exact up to 2^53).
class Operand {
public:
  Operand() = default;
  explicit Operand(const HostTensor *input)
      : shape(input->getShape()), input(input) {}
  Operand(ArrayRef<int64_t> shape, std::vector<double> values)
      : shape(shape),
        values(std::make_shared<std::vector<double>>(std::move(values))) {}

  explicit operator bool() const { return input || values; }
  double at(int64_t i) const {
    return input ? input->getFloat(i) : (*values)[i];
  }
  int64_t integerAt(int64_t i) const {
    return input ? input->getInteger(i) : static_cast<int64_t>((*values)[i]);
  }
  int64_t size() const {
    return input ? input->getNumElements() : values->size();
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
};

/// One grouped matmul on evaluated operands.
class GroupedMatmul {
public:
  GroupedMatmul(GroupedMatmulInterface op, function_ref<Operand(Value)> lookup);
  /// Fails if sizes that the IR leaves dynamic disagree.
  llvm::Error checkSizes();
  Operand evaluate();

private:
  void findOwners();
  void evaluateExpert(int64_t expert);
  std::vector<double> multiply(int64_t expert, ArrayRef<int64_t> rows);
  std::vector<double> gatherTokens(ArrayRef<int64_t> rows);
  void storeRow(int64_t expert, int64_t row, const double *products);
  double activate(double x) const;

  GroupedMatmulInterface op;
  Operand tokens, weights, groups, bias, gather, scale, scatter, init;
  bool nk;
  Activation activation = Activation::None;
  Gate gate = Gate::None;
  int64_t numExperts, numRows, contraction, weightRows, resultColumns;
  int64_t numTokens, numResultRows;
  /// Rows of each expert.
  std::vector<SmallVector<int64_t>> rowsOf;
  std::vector<double> result;
};

class Interpreter {
public:
  llvm::Expected<std::vector<ReferenceTensor>>
  run(func::FuncOp func, ArrayRef<const HostTensor *> inputs);

private:
  llvm::Error evaluate(Operation *op);
  llvm::Error evaluateConstant(arith::ConstantOp op);
  llvm::Error evaluateEmpty(tensor::EmptyOp op);
  llvm::Error evaluateTranspose(linalg::TransposeOp op);
  llvm::Error evaluateFill(linalg::FillOp op);

  DenseMap<Value, Operand> values;
};
} // namespace

//===----------------------------------------------------------------------===//
// Grouped matmul
//===----------------------------------------------------------------------===//

GroupedMatmul::GroupedMatmul(GroupedMatmulInterface op,
                             function_ref<Operand(Value)> lookup)
    : op(op), nk(op.getWeightLayout() == WeightLayout::NK) {
  auto optional = [&](Value value) {
    return value ? lookup(value) : Operand();
  };
  tokens = lookup(op.getTokens());
  weights = lookup(op.getWeights());
  groups = lookup(op.getGroups());
  init = lookup(op.getInit());
  bias = optional(op.getBias());
  gather = optional(op.getGather());
  scale = optional(op.getScale());
  scatter = optional(op.getScatter());
  if (EpilogueAttr epilogue = op.getEpilogueAttr()) {
    activation = epilogue.getActivation();
    gate = epilogue.getGate();
  }
  numExperts = weights.shape[0];
  weightRows = weights.shape[nk ? 1 : 2];
  contraction = weights.shape[nk ? 2 : 1];
  numTokens = tokens.shape[op.hasTransposedTokens() ? 1 : 0];
  numRows = gather ? gather.shape[0] : numTokens;
  numResultRows = init.shape[op.hasTransposedResult() ? 1 : 0];
  resultColumns = init.shape[op.hasTransposedResult() ? 0 : 1];
}

llvm::Error GroupedMatmul::checkSizes() {
  auto differs = [](int64_t size, const Operand &operand, size_t dim) {
    return operand && operand.shape[dim] != size;
  };
  int64_t entries =
      numExperts + (op.getGroupKind() == GroupKind::Offsets ? 1 : 0);
  int64_t columns = gate == Gate::None ? weightRows : weightRows / 2;
  StringRef what;
  if (differs(contraction, tokens, op.hasTransposedTokens() ? 0 : 1))
    what = "K of the tokens and of the weights";
  else if (differs(entries, groups, 0))
    what = "the number of groups and E of the weights";
  else if (differs(numExperts, bias, 0) || differs(weightRows, bias, 1))
    what = "the shape of the bias and of the weights";
  else if (differs(numRows, scale, 0) || differs(numRows, scatter, 0))
    what = "the length of scale or scatter and R";
  else if (resultColumns != columns)
    what = "N of outs and of the weights";
  else if (!scatter && numResultRows != numRows)
    what = "R of outs and of the tokens";
  else
    return llvm::Error::success();
  return llvm::createStringError("'" + op->getName().getStringRef() +
                                 "': " + what + " differ at run time");
}

/// Finds the rows of each expert from the definition of the op: row by row, so
/// that it shares no reasoning about bounds with the lowerings.
void GroupedMatmul::findOwners() {
  rowsOf.resize(numExperts);
  int64_t begin = 0;
  bool offsets = op.getGroupKind() == GroupKind::Offsets;
  if (offsets)
    begin = std::clamp<int64_t>(groups.integerAt(0), 0, numRows);
  for (int64_t expert = 0; expert < numExperts; ++expert) {
    int64_t entry = groups.integerAt(offsets ? expert + 1 : expert);
    int64_t count = offsets ? std::min(entry, numRows) - begin : entry;
    for (int64_t i = 0; i < count && begin < numRows; ++i)
      rowsOf[expert].push_back(begin++);
  }
}

Operand GroupedMatmul::evaluate() {
  findOwners();
  result = init.copy();
  // Experts write disjoint rows.
  llvm::parallelFor(0, numExperts, [&](size_t e) { evaluateExpert(e); });
  return Operand(init.shape, std::move(result));
}

void GroupedMatmul::evaluateExpert(int64_t expert) {
  ArrayRef<int64_t> rows = rowsOf[expert];
  if (rows.empty())
    return;
  std::vector<double> products = multiply(expert, rows);
  for (auto [i, row] : llvm::enumerate(rows))
    storeRow(expert, row, products.data() + i * weightRows);
}

std::vector<double> GroupedMatmul::gatherTokens(ArrayRef<int64_t> rows) {
  std::vector<double> result(rows.size() * contraction, 0.0);
  for (auto [i, row] : llvm::enumerate(rows)) {
    int64_t token = gather ? gather.integerAt(row) : row;
    if (token < 0 || token >= numTokens)
      continue;
    for (int64_t k = 0; k < contraction; ++k)
      result[i * contraction + k] = op.hasTransposedTokens()
                                        ? tokens.at(k * numTokens + token)
                                        : tokens.at(token * contraction + k);
  }
  return result;
}

/// The products of an expert's rows with its weight rows, [rows x N].
std::vector<double> GroupedMatmul::multiply(int64_t expert,
                                            ArrayRef<int64_t> rows) {
  std::vector<double> x = gatherTokens(rows);
  std::vector<double> y(rows.size() * weightRows, 0.0);
  // One line of the weights, in the order in which they are stored.
  int64_t lines = nk ? weightRows : contraction;
  int64_t length = nk ? contraction : weightRows;
  std::vector<double> line(length);
  for (int64_t l = 0; l < lines; ++l) {
    for (int64_t i = 0; i < length; ++i)
      line[i] = weights.at((expert * lines + l) * length + i);
    for (size_t r = 0; r < rows.size(); ++r) {
      const double *token = x.data() + r * contraction;
      double *out = y.data() + r * weightRows;
      if (nk)
        for (int64_t k = 0; k < contraction; ++k)
          out[l] += token[k] * line[k];
      else
        for (int64_t n = 0; n < weightRows; ++n)
          out[n] += token[l] * line[n];
    }
  }
  return y;
}

void GroupedMatmul::storeRow(int64_t expert, int64_t row,
                             const double *products) {
  int64_t target = scatter ? scatter.integerAt(row) : row;
  if (target < 0 || target >= numResultRows)
    return;
  auto projection = [&](int64_t n) {
    return products[n] + (bias ? bias.at(expert * weightRows + n) : 0.0);
  };
  for (int64_t c = 0; c < resultColumns; ++c) {
    double value;
    if (gate == Gate::None)
      value = activate(projection(c));
    else if (gate == Gate::Concat)
      value = activate(projection(c)) * projection(resultColumns + c);
    else
      value = activate(projection(2 * c)) * projection(2 * c + 1);
    if (scale)
      value *= scale.at(row);
    result[op.hasTransposedResult() ? c * numResultRows + target
                                    : target * resultColumns + c] = value;
  }
}

double GroupedMatmul::activate(double x) const {
  switch (activation) {
  case Activation::None:
    return x;
  case Activation::SiLU:
    return x / (1.0 + std::exp(-x));
  case Activation::GELU:
    return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
  case Activation::GELUTanh:
    return 0.5 * x *
           (1.0 + std::tanh(std::sqrt(2.0 / std::acos(-1.0)) *
                            (x + 0.044715 * x * x * x)));
  case Activation::ReLU:
    return x < 0.0 ? 0.0 : x;
  case Activation::ReLU2:
    return x < 0.0 ? 0.0 : x * x;
  }
  llvm_unreachable("unknown activation");
}

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
  auto toDouble = [](Attribute attr) -> std::optional<double> {
    if (auto number = dyn_cast<FloatAttr>(attr))
      return number.getValueAsDouble();
    if (auto number = dyn_cast<IntegerAttr>(attr))
      return static_cast<double>(number.getValue().getSExtValue());
    return std::nullopt;
  };
  std::vector<double> elements;
  SmallVector<int64_t> shape;
  if (auto dense = dyn_cast<DenseElementsAttr>(op.getValue())) {
    shape = llvm::to_vector(dense.getType().getShape());
    for (Attribute attr : dense.getValues<Attribute>()) {
      std::optional<double> number = toDouble(attr);
      if (!number)
        return llvm::createStringError(
            "--check cannot interpret the type of this arith.constant");
      elements.push_back(*number);
    }
  } else if (std::optional<double> number = toDouble(op.getValue())) {
    elements.push_back(*number);
  } else {
    return llvm::createStringError(
        "--check cannot interpret the value of this arith.constant");
  }
  values[op.getResult()] = Operand(shape, std::move(elements));
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

llvm::Error Interpreter::evaluate(Operation *op) {
  return llvm::TypeSwitch<Operation *, llvm::Error>(op)
      .Case([&](GroupedMatmulInterface op) -> llvm::Error {
        GroupedMatmul matmul(op, [&](Value value) { return values[value]; });
        if (llvm::Error error = matmul.checkSizes())
          return error;
        values[op->getResult(0)] = matmul.evaluate();
        return llvm::Error::success();
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
            Operand({}, {static_cast<double>(source.shape[dim])});
        return llvm::Error::success();
      })
      .Default([](Operation *op) {
        return llvm::createStringError("--check cannot interpret '" +
                                       op->getName().getStringRef() + "'");
      });
}

llvm::Expected<std::vector<ReferenceTensor>>
Interpreter::run(func::FuncOp func, ArrayRef<const HostTensor *> inputs) {
  for (auto [argument, input] : llvm::zip_equal(func.getArguments(), inputs))
    values[argument] = Operand(input);
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

llvm::Expected<std::vector<ReferenceTensor>>
mlir::moe::evaluateReference(func::FuncOp func,
                             ArrayRef<const HostTensor *> inputs) {
  return Interpreter().run(func, inputs);
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
