//===- ReferenceLayer.cpp - layer ops in double precision -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceOps.h"

#include "llvm/Support/Parallel.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mlir::moe;

//===----------------------------------------------------------------------===//
// Route
//===----------------------------------------------------------------------===//

/// The positions of `keys` in falling order; NaN last, equal keys by position.
static SmallVector<int64_t> sortFalling(ArrayRef<double> keys) {
  SmallVector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int64_t a, int64_t b) {
    if (std::isnan(keys[a]) != std::isnan(keys[b]))
      return std::isnan(keys[b]);
    if (std::isnan(keys[a]) || keys[a] == keys[b])
      return a < b;
    return keys[a] > keys[b];
  });
  return order;
}

static std::vector<double> softmax(std::vector<double> values) {
  if (values.empty())
    return values;
  double largest = *std::max_element(values.begin(), values.end());
  double sum = 0.0;
  for (double &value : values)
    sum += value = std::exp(value - largest);
  for (double &value : values)
    value /= sum;
  return values;
}

static std::vector<double> getScores(Scoring scoring,
                                     const std::vector<double> &logits) {
  if (scoring == Scoring::Softmax)
    return softmax(logits);
  std::vector<double> scores = logits;
  if (scoring == Scoring::Sigmoid)
    for (double &score : scores)
      score = 1.0 / (1.0 + std::exp(-score));
  return scores;
}

/// True for each expert whose group does not take part.
static std::vector<bool> dropGroups(RouteOp op, ArrayRef<double> keys) {
  std::vector<bool> dropped(keys.size(), false);
  if (!op.hasGroups())
    return dropped;
  size_t size = keys.size() / op.getNGroup();
  std::vector<double> groupKeys;
  for (uint64_t g = 0; g < op.getNGroup(); ++g) {
    ArrayRef<double> members = keys.slice(g * size, size);
    SmallVector<int64_t> order = sortFalling(members);
    groupKeys.push_back(members[order[0]] +
                        (size > 1 ? members[order[1]] : 0.0));
  }
  SmallVector<int64_t> order = sortFalling(groupKeys);
  for (int64_t g : ArrayRef(order).drop_front(op.getTopkGroup()))
    std::fill_n(dropped.begin() + g * size, size, true);
  return dropped;
}

/// Chooses the experts of one token.
static SmallVector<int64_t> chooseExperts(RouteOp op, ArrayRef<double> logits,
                                          ArrayRef<double> scores,
                                          const Operand &bias) {
  std::vector<double> keys = logits;
  if (bias || op.hasGroups())
    keys = scores;
  if (bias)
    for (size_t e = 0; e < keys.size(); ++e)
      keys[e] += bias.at(e);
  std::vector<bool> dropped = dropGroups(op, keys);
  SmallVector<int64_t> chosen;
  for (int64_t e : sortFalling(keys))
    if (!dropped[e] && static_cast<int64_t>(chosen.size()) < op.getTopK())
      chosen.push_back(e);
  return chosen;
}

llvm::Expected<SmallVector<Operand>>
mlir::moe::evaluateRoute(RouteOp op, OperandLookup lookup) {
  Operand logits = lookup(op.getLogits()), bias = lookup(op.getBias());
  Operand init = lookup(op.getWeightsInit());
  if (llvm::Error error = checkEqual(op, "T",
                                     {logits.shape[0], init.shape[0],
                                      lookup(op.getIndicesInit()).shape[0]}))
    return error;
  int64_t experts = logits.shape[1], columns = init.shape[1];
  std::vector<double> allWeights(init.size(), 1.0), indices(init.size());
  for (int64_t t = 0; t < logits.shape[0]; ++t) {
    std::vector<double> row(experts);
    for (int64_t e = 0; e < experts; ++e)
      row[e] = logits.at(t * experts + e);
    std::vector<double> scores = getScores(op.getScoring(), row);
    SmallVector<int64_t> chosen = chooseExperts(op, row, scores, bias);
    std::vector<double> weights;
    for (int64_t e : chosen)
      weights.push_back(scores[e]);
    if (op.getScoring() == Scoring::SoftmaxAfterTopK && !weights.empty())
      weights = softmax(weights);
    double divisor = 1.0;
    if (op.getRenormalize())
      divisor = 1e-20 + std::accumulate(weights.begin(), weights.end(), 0.0);
    for (int64_t c = 0; c < columns; ++c) {
      bool routed = c < static_cast<int64_t>(chosen.size());
      int64_t i = t * columns + c;
      indices[i] = routed ? chosen[c] : experts + c - op.getTopK();
      if (routed)
        allWeights[i] =
            weights[c] / divisor * op.getScaling().convertToDouble();
    }
  }
  return SmallVector<Operand>{Operand(init.shape, std::move(allWeights)),
                              Operand(init.shape, std::move(indices))};
}

//===----------------------------------------------------------------------===//
// Dispatch and combine
//===----------------------------------------------------------------------===//

llvm::Expected<SmallVector<Operand>>
mlir::moe::evaluateDispatch(DispatchOp op, OperandLookup lookup) {
  Operand indices = lookup(op.getIndices());
  Operand rowInit = lookup(op.getRowOfPairInit());
  int64_t experts = lookup(op.getOffsetsInit()).shape[0] - 1;
  int64_t pairs = indices.size(), topK = indices.shape[1];
  if (llvm::Error error = checkEqual(
          op, "the number of pairs",
          {pairs, rowInit.size(), lookup(op.getTokenOfRowInit()).shape[0]}))
    return error;
  std::vector<double> tokenOfRow(pairs, -1.0), rowOfPair(pairs, -1.0);
  std::vector<double> offsets = {0.0};
  int64_t row = 0;
  for (int64_t e = 0; e < experts; ++e) {
    for (int64_t pair = 0; pair < pairs; ++pair) {
      if (indices.integerAt(pair) != e)
        continue;
      tokenOfRow[row] = pair / topK;
      rowOfPair[pair] = row++;
    }
    offsets.push_back(row);
  }
  return SmallVector<Operand>{Operand({pairs}, std::move(tokenOfRow)),
                              Operand(rowInit.shape, std::move(rowOfPair)),
                              Operand({experts + 1}, std::move(offsets))};
}

llvm::Expected<SmallVector<Operand>>
mlir::moe::evaluateCombine(CombineOp op, OperandLookup lookup) {
  Operand rows = lookup(op.getRows()), rowOfPair = lookup(op.getRowOfPair());
  Operand weights = lookup(op.getWeights()), init = lookup(op.getInit());
  int64_t topK = rowOfPair.shape[1], hidden = rows.shape[1];
  if (llvm::Error error = checkEqual(op, "H", {hidden, init.shape[1]}))
    return error;
  if (llvm::Error error =
          checkEqual(op, "the number of pairs",
                     {rowOfPair.size(), init.shape[0] * topK,
                      weights ? weights.size() : rowOfPair.size()}))
    return error;
  std::vector<double> result(init.size(), 0.0);
  for (int64_t pair = 0; pair < rowOfPair.size(); ++pair) {
    int64_t row = rowOfPair.integerAt(pair);
    if (row < 0 || row >= rows.shape[0])
      continue;
    double weight = weights ? weights.at(pair) : 1.0;
    for (int64_t h = 0; h < hidden; ++h)
      result[pair / topK * hidden + h] += weight * rows.at(row * hidden + h);
  }
  return SmallVector<Operand>{Operand(init.shape, std::move(result))};
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

namespace {
/// The whole layer by its definition, not by its decomposition.
class ExpertsLayer {
public:
  ExpertsLayer(ExpertsOp op, OperandLookup lookup)
      : op(op), tokens(lookup(op.getTokens())),
        indices(lookup(op.getIndices())), weights(lookup(op.getWeights())),
        gateUp(lookup(op.getGateUp())), down(lookup(op.getDown())),
        gateUpBias(lookup(op.getGateUpBias())),
        downBias(lookup(op.getDownBias())), init(lookup(op.getInit())),
        nk(op.getWeightLayout() == WeightLayout::NK), topK(indices.shape[1]),
        hidden(tokens.shape[1]) {}
  llvm::Error checkSizes();
  Operand evaluate();

private:
  void evaluateExpert(int64_t expert, ArrayRef<int64_t> pairs);

  ExpertsOp op;
  Operand tokens, indices, weights, gateUp, down, gateUpBias, downBias, init;
  bool nk;
  int64_t topK, hidden;
  /// Pairs of each expert.
  std::vector<SmallVector<int64_t>> pairsOf;
  /// The weighted result of every pair, [T * k x H].
  std::vector<double> resultOfPair;
};
} // namespace

llvm::Error ExpertsLayer::checkSizes() {
  SmallVector<int64_t> ts = {tokens.shape[0], indices.shape[0],
                             weights.shape[0], init.shape[0]};
  SmallVector<int64_t> ks = {topK, weights.shape[1]};
  SmallVector<int64_t> hs = {hidden, init.shape[1], gateUp.shape[nk ? 2 : 1],
                             down.shape[nk ? 1 : 2]};
  SmallVector<int64_t> es = {gateUp.shape[0], down.shape[0]};
  int64_t rows = gateUp.shape[nk ? 1 : 2];
  SmallVector<int64_t> ns = {rows};
  SmallVector<int64_t> is = {op.isGated() ? rows / 2 : rows,
                             down.shape[nk ? 2 : 1]};
  if (gateUpBias) {
    es.push_back(gateUpBias.shape[0]);
    ns.push_back(gateUpBias.shape[1]);
  }
  if (downBias) {
    es.push_back(downBias.shape[0]);
    hs.push_back(downBias.shape[1]);
  }
  for (auto [what, sizes] :
       {std::pair("T", ts), std::pair("k", ks), std::pair("H", hs),
        std::pair("E", es), std::pair("N", ns), std::pair("I", is)})
    if (llvm::Error error = checkEqual(op, what, sizes))
      return error;
  return llvm::Error::success();
}

Operand ExpertsLayer::evaluate() {
  int64_t experts = gateUp.shape[0];
  pairsOf.resize(experts);
  for (int64_t pair = 0; pair < indices.size(); ++pair) {
    int64_t expert = indices.integerAt(pair);
    if (expert >= 0 && expert < experts)
      pairsOf[expert].push_back(pair);
  }
  resultOfPair.assign(indices.size() * hidden, 0.0);
  llvm::parallelFor(0, experts,
                    [&](size_t e) { evaluateExpert(e, pairsOf[e]); });
  std::vector<double> result(init.size(), 0.0);
  for (int64_t pair = 0; pair < indices.size(); ++pair)
    for (int64_t h = 0; h < hidden; ++h)
      result[pair / topK * hidden + h] += resultOfPair[pair * hidden + h];
  return Operand(init.shape, std::move(result));
}

void ExpertsLayer::evaluateExpert(int64_t expert, ArrayRef<int64_t> pairs) {
  if (pairs.empty())
    return;
  auto addBias = [&](const Operand &bias, MutableArrayRef<double> row) {
    for (size_t i = 0; bias && i < row.size(); ++i)
      row[i] += bias.at(expert * row.size() + i);
  };
  bool scaleInput = op.getScaleInput();
  std::vector<double> input, intermediate;
  for (int64_t pair : pairs)
    for (int64_t h = 0; h < hidden; ++h)
      input.push_back(tokens.at(pair / topK * hidden + h) *
                      (scaleInput ? weights.at(pair) : 1.0));
  std::vector<double> products =
      multiplyExpert(gateUp, nk, expert, input, pairs.size());
  size_t rows = products.size() / pairs.size();
  for (size_t p = 0; p < pairs.size(); ++p) {
    MutableArrayRef<double> row(products.data() + p * rows, rows);
    addBias(gateUpBias, row);
    llvm::append_range(intermediate, applyEpilogue(op.getEpilogueAttr(), row));
  }
  std::vector<double> output =
      multiplyExpert(down, nk, expert, intermediate, pairs.size());
  for (auto [p, pair] : llvm::enumerate(pairs)) {
    MutableArrayRef<double> row(output.data() + p * hidden, hidden);
    addBias(downBias, row);
    for (int64_t h = 0; h < hidden; ++h)
      resultOfPair[pair * hidden + h] =
          row[h] * (scaleInput ? 1.0 : weights.at(pair));
  }
}

llvm::Expected<SmallVector<Operand>>
mlir::moe::evaluateExperts(ExpertsOp op, OperandLookup lookup) {
  ExpertsLayer layer(op, lookup);
  if (llvm::Error error = layer.checkSizes())
    return error;
  return SmallVector<Operand>{layer.evaluate()};
}
