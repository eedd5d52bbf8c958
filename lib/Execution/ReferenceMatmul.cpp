//===- ReferenceMatmul.cpp - grouped matmul in double precision -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceOps.h"

#include "llvm/Support/Parallel.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::moe;

llvm::Error mlir::moe::checkEqual(Operation *op, StringRef what,
                                  ArrayRef<int64_t> sizes) {
  if (llvm::all_equal(sizes))
    return llvm::Error::success();
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "'" << op->getName() << "': its operands disagree on " << what
         << " at run time: ";
  llvm::interleave(sizes, stream, " and ");
  return llvm::createStringError(text);
}

std::vector<double> mlir::moe::multiplyExpert(const Operand &weights, bool nk,
                                              int64_t expert,
                                              ArrayRef<double> rows,
                                              int64_t count) {
  int64_t lines = weights.shape[1], length = weights.shape[2];
  int64_t n = nk ? lines : length, k = nk ? length : lines;
  std::vector<double> products(count * n, 0.0), line(length);
  // One line of the weights, in the order in which they are stored, with all
  // rows.
  for (int64_t l = 0; l < lines; ++l) {
    for (int64_t i = 0; i < length; ++i)
      line[i] = weights.at((expert * lines + l) * length + i);
    for (int64_t r = 0; r < count; ++r) {
      const double *row = rows.data() + r * k;
      double *product = products.data() + r * n;
      for (int64_t i = 0; i < length; ++i) {
        if (nk)
          product[l] += row[i] * line[i];
        else
          product[i] += row[l] * line[i];
      }
    }
  }
  return products;
}

static double activate(Activation activation, double x) {
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

std::vector<double> mlir::moe::applyEpilogue(EpilogueAttr epilogue,
                                             ArrayRef<double> products) {
  if (!epilogue)
    return products.vec();
  Activation activation = epilogue.getActivation();
  bool gated = epilogue.isGated();
  size_t size = gated ? products.size() / 2 : products.size();
  std::vector<double> result(size);
  for (size_t c = 0; c < size; ++c) {
    bool interleaved = epilogue.getGate() == Gate::Interleaved;
    result[c] = activate(activation, products[interleaved ? 2 * c : c]);
    if (gated)
      result[c] *= products[interleaved ? 2 * c + 1 : size + c];
  }
  return result;
}

namespace {
/// One grouped matmul on evaluated operands.
class GroupedMatmul {
public:
  GroupedMatmul(GroupedMatmulInterface op, OperandLookup lookup);
  llvm::Error checkSizes();
  Operand evaluate();

private:
  void evaluateExpert(int64_t expert);
  std::vector<double> gatherTokens(ArrayRef<int64_t> rows);
  void storeRow(int64_t row, ArrayRef<double> values);

  GroupedMatmulInterface op;
  Operand tokens, weights, groups, bias, gather, scale, scatter, init;
  bool nk;
  int64_t numExperts, numRows, contraction, weightRows, resultColumns;
  int64_t numTokens, numResultRows;
  /// Rows of each expert.
  std::vector<SmallVector<int64_t>> rowsOf;
  std::vector<double> result;
};
} // namespace

GroupedMatmul::GroupedMatmul(GroupedMatmulInterface op, OperandLookup lookup)
    : op(op), tokens(lookup(op.getTokens())), weights(lookup(op.getWeights())),
      groups(lookup(op.getGroups())), bias(lookup(op.getBias())),
      gather(lookup(op.getGather())), scale(lookup(op.getScale())),
      scatter(lookup(op.getScatter())), init(lookup(op.getInit())),
      nk(op.getWeightLayout() == WeightLayout::NK) {
  numExperts = weights.shape[0];
  weightRows = weights.shape[nk ? 1 : 2];
  contraction = weights.shape[nk ? 2 : 1];
  numTokens = tokens.shape[op.hasTransposedTokens() ? 1 : 0];
  numRows = gather ? gather.shape[0] : numTokens;
  numResultRows = init.shape[op.hasTransposedResult() ? 1 : 0];
  resultColumns = init.shape[op.hasTransposedResult() ? 0 : 1];
}

llvm::Error GroupedMatmul::checkSizes() {
  SmallVector<int64_t> ks = {contraction,
                             tokens.shape[op.hasTransposedTokens() ? 0 : 1]};
  bool offsets = op.getGroupKind() == GroupKind::Offsets;
  SmallVector<int64_t> es = {numExperts, groups.shape[0] - (offsets ? 1 : 0)};
  SmallVector<int64_t> ns = {op.isGated() ? weightRows / 2 : weightRows,
                             resultColumns};
  SmallVector<int64_t> rs = {numRows};
  SmallVector<int64_t> biasRows = {weightRows};
  if (bias) {
    es.push_back(bias.shape[0]);
    biasRows.push_back(bias.shape[1]);
  }
  if (scale)
    rs.push_back(scale.shape[0]);
  rs.push_back(scatter ? scatter.shape[0] : numResultRows);
  for (auto [what, sizes] :
       {std::pair("K", ks), std::pair("E", es), std::pair("N", ns),
        std::pair("N of the bias", biasRows), std::pair("R", rs)})
    if (llvm::Error error = checkEqual(op, what, sizes))
      return error;
  return llvm::Error::success();
}

std::vector<SmallVector<int64_t>> mlir::moe::findRows(const Operand &groups,
                                                      bool offsets,
                                                      int64_t numExperts,
                                                      int64_t numRows) {
  std::vector<SmallVector<int64_t>> rowsOf(numExperts);
  int64_t begin = 0;
  if (offsets)
    begin = std::clamp<int64_t>(groups.integerAt(0), 0, numRows);
  for (int64_t expert = 0; expert < numExperts; ++expert) {
    int64_t entry = groups.integerAt(offsets ? expert + 1 : expert);
    auto owns = [&](int64_t taken) {
      return begin < numRows && (offsets ? begin < entry : taken < entry);
    };
    for (int64_t taken = 0; owns(taken); ++taken)
      rowsOf[expert].push_back(begin++);
  }
  return rowsOf;
}

Operand GroupedMatmul::evaluate() {
  rowsOf = findRows(groups, op.getGroupKind() == GroupKind::Offsets, numExperts,
                    numRows);
  result = init.copy();
  // Experts write disjoint rows.
  llvm::parallelFor(0, numExperts, [&](size_t e) { evaluateExpert(e); });
  return Operand(init.shape, std::move(result));
}

void GroupedMatmul::evaluateExpert(int64_t expert) {
  ArrayRef<int64_t> rows = rowsOf[expert];
  if (rows.empty())
    return;
  std::vector<double> products =
      multiplyExpert(weights, nk, expert, gatherTokens(rows), rows.size());
  for (auto [i, row] : llvm::enumerate(rows)) {
    MutableArrayRef<double> product(products.data() + i * weightRows,
                                    weightRows);
    if (bias)
      for (int64_t n = 0; n < weightRows; ++n)
        product[n] += bias.at(expert * weightRows + n);
    storeRow(row, applyEpilogue(op.getEpilogueAttr(), product));
  }
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

void GroupedMatmul::storeRow(int64_t row, ArrayRef<double> values) {
  int64_t target = scatter ? scatter.integerAt(row) : row;
  if (target < 0 || target >= numResultRows)
    return;
  for (int64_t c = 0; c < resultColumns; ++c)
    result[op.hasTransposedResult() ? c * numResultRows + target
                                    : target * resultColumns + c] =
        values[c] * (scale ? scale.at(row) : 1.0);
}

llvm::Expected<SmallVector<Operand>>
mlir::moe::evaluateGroupedMatmul(GroupedMatmulInterface op,
                                 OperandLookup lookup) {
  GroupedMatmul matmul(op, lookup);
  if (llvm::Error error = matmul.checkSizes())
    return error;
  return SmallVector<Operand>{matmul.evaluate()};
}
