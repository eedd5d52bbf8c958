//===- Traffic.cpp - bytes that a run has to move -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Execution/Traffic.h"

#include "ReferenceOps.h"

#include "moe/Execution/Inputs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::moe;

namespace {
/// A tensor of which only the size matters, in a run with known inputs.
struct Extent {
  SmallVector<int64_t> shape;
  uint64_t elementBytes = 0;

  /// Size of the part that one index of dimension `d` selects.
  uint64_t getSliceBytes(size_t d) const {
    uint64_t bytes = elementBytes;
    for (auto [i, size] : llvm::enumerate(shape))
      if (i != d)
        bytes *= static_cast<uint64_t>(size);
    return bytes;
  }
};

class TrafficCounter {
public:
  TrafficCounter(func::FuncOp func, ArrayRef<const HostTensor *> inputs)
      : func(func), inputs(inputs) {
    for (const HostTensor *input : inputs)
      shapes.emplace_back(input->getShape());
  }
  llvm::Expected<Traffic> count();

private:
  llvm::Error add(Operation *op);
  llvm::Error addMatmul(GroupedMatmulInterface op);
  llvm::Error addExperts(ExpertsOp op);
  llvm::Error addCombine(CombineOp op);
  /// Adds what one expert with rows reads: a part of each of `operands`, which
  /// may be null.
  llvm::Error addWeights(ValueRange operands, uint64_t experts);
  llvm::Expected<SmallVector<Extent>> getExtents(ValueRange values);

  func::FuncOp func;
  ArrayRef<const HostTensor *> inputs;
  std::vector<SmallVector<int64_t>> shapes;
  Traffic traffic;
};
} // namespace

llvm::Expected<SmallVector<Extent>>
TrafficCounter::getExtents(ValueRange values) {
  SmallVector<Extent> extents;
  for (Value value : values) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    std::optional<SmallVector<int64_t>> shape;
    if (type)
      shape = resolveShape(value, shapes);
    if (!shape)
      return llvm::createStringError(
          "the size of a tensor is not known before the run");
    extents.push_back({*shape, static_cast<uint64_t>(getByteSize(
                                   *getElementKind(type.getElementType())))});
  }
  return extents;
}

llvm::Error TrafficCounter::addWeights(ValueRange operands, uint64_t experts) {
  auto extents = getExtents(llvm::to_vector(
      llvm::make_filter_range(operands, [](Value operand) -> bool {
        return static_cast<bool>(operand);
      })));
  if (!extents)
    return extents.takeError();
  for (const Extent &extent : *extents)
    traffic.weights += experts * extent.getSliceBytes(0);
  return llvm::Error::success();
}

/// Number of different indices among `indices` that are at least 0 and less
/// than `bound`.
static uint64_t countDistinct(ArrayRef<int64_t> indices, int64_t bound) {
  DenseSet<int64_t> distinct;
  for (int64_t index : indices)
    if (index >= 0 && index < bound)
      distinct.insert(index);
  return distinct.size();
}

llvm::Error TrafficCounter::addMatmul(GroupedMatmulInterface op) {
  auto operands = evaluateValues(
      func, inputs, {op.getGroups(), op.getGather(), op.getScatter()});
  if (!operands)
    return operands.takeError();
  auto [groups, gather, scatter] =
      std::tie((*operands)[0], (*operands)[1], (*operands)[2]);
  auto extents = getExtents({op.getTokens(), op.getInit(), op.getWeights()});
  if (!extents)
    return extents.takeError();
  const Extent &tokens = (*extents)[0], &result = (*extents)[1],
               &weights = (*extents)[2];

  size_t tokenDim = op.hasTransposedTokens() ? 1 : 0;
  size_t resultDim = op.hasTransposedResult() ? 1 : 0;
  int64_t numTokens = tokens.shape[tokenDim];
  int64_t numRows = gather ? gather.size() : numTokens;
  int64_t numResultRows = result.shape[resultDim];
  int64_t experts = weights.shape[0];
  bool offsets = op.getGroupKind() == GroupKind::Offsets;
  if (llvm::Error error =
          checkEqual(op, "E", {experts, groups.size() - (offsets ? 1 : 0)}))
    return error;
  if (llvm::Error error = checkEqual(
          op, "R", {numRows, scatter ? scatter.size() : numResultRows}))
    return error;

  uint64_t busy = 0;
  std::vector<int64_t> read, written;
  for (ArrayRef<int64_t> rows : findRows(groups, offsets, experts, numRows)) {
    busy += !rows.empty();
    for (int64_t row : rows) {
      read.push_back(gather ? gather.integerAt(row) : row);
      written.push_back(scatter ? scatter.integerAt(row) : row);
    }
  }
  traffic.tokens +=
      countDistinct(read, numTokens) * tokens.getSliceBytes(tokenDim);
  traffic.results +=
      countDistinct(written, numResultRows) * result.getSliceBytes(resultDim);
  return addWeights({op.getWeights(), op.getBias()}, busy);
}

llvm::Error TrafficCounter::addExperts(ExpertsOp op) {
  auto operands = evaluateValues(func, inputs, {op.getIndices()});
  if (!operands)
    return operands.takeError();
  const Operand &indices = operands->front();
  auto extents = getExtents({op.getTokens(), op.getInit(), op.getGateUp()});
  if (!extents)
    return extents.takeError();
  const Extent &tokens = (*extents)[0], &result = (*extents)[1],
               &gateUp = (*extents)[2];

  int64_t topK = indices.shape[1];
  std::vector<int64_t> experts, routed;
  for (int64_t pair = 0; pair < indices.size(); ++pair) {
    int64_t expert = indices.integerAt(pair);
    if (expert < 0 || expert >= gateUp.shape[0])
      continue;
    experts.push_back(expert);
    routed.push_back(pair / topK);
  }
  traffic.tokens +=
      countDistinct(routed, tokens.shape[0]) * tokens.getSliceBytes(0);
  traffic.results += result.shape[0] * result.getSliceBytes(0);
  return addWeights(
      {op.getGateUp(), op.getDown(), op.getGateUpBias(), op.getDownBias()},
      countDistinct(experts, gateUp.shape[0]));
}

llvm::Error TrafficCounter::addCombine(CombineOp op) {
  auto operands = evaluateValues(func, inputs, {op.getRowOfPair()});
  if (!operands)
    return operands.takeError();
  auto extents = getExtents({op.getRows(), op.getInit()});
  if (!extents)
    return extents.takeError();
  const Extent &rows = (*extents)[0], &result = (*extents)[1];
  const Operand &rowOfPair = operands->front();
  std::vector<int64_t> read;
  for (int64_t pair = 0; pair < rowOfPair.size(); ++pair)
    read.push_back(rowOfPair.integerAt(pair));
  traffic.tokens += countDistinct(read, rows.shape[0]) * rows.getSliceBytes(0);
  traffic.results += result.shape[0] * result.getSliceBytes(0);
  return llvm::Error::success();
}

llvm::Error TrafficCounter::add(Operation *op) {
  return llvm::TypeSwitch<Operation *, llvm::Error>(op)
      .Case([&](GroupedMatmulInterface op) { return addMatmul(op); })
      .Case([&](ExpertsOp op) { return addExperts(op); })
      .Case([&](CombineOp op) { return addCombine(op); })
      .Default([](Operation *op) { return llvm::Error::success(); });
}

llvm::Expected<Traffic> TrafficCounter::count() {
  if (!func.getBody().hasOneBlock())
    return llvm::createStringError("the function has several blocks");
  for (Operation &op : func.getBody().front()) {
    // Whether and how often the ops inside run is not known.
    WalkResult inside = op.walk([&](Operation *nested) {
      bool counts =
          isa_and_nonnull<MoEDialect>(nested->getDialect()) && nested != &op;
      return counts || isa<CallOpInterface>(nested) ? WalkResult::interrupt()
                                                    : WalkResult::advance();
    });
    if (inside.wasInterrupted())
      return llvm::createStringError("'" + op.getName().getStringRef() +
                                     "' decides which ops run");
    if (llvm::Error error = add(&op))
      return error;
  }
  return traffic;
}

llvm::Expected<Traffic>
mlir::moe::measureTraffic(func::FuncOp func,
                          ArrayRef<const HostTensor *> inputs) {
  return TrafficCounter(func, inputs).count();
}
