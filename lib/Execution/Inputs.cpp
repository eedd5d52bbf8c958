//===- Inputs.cpp - random inputs of moe programs -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Execution/Inputs.h"

#include "moe/Dialect/MoE/IR/MoE.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/Parallel.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mlir::moe;

llvm::Expected<Routing> Routing::parse(StringRef text) {
  if (text == "uniform")
    return Routing{Kind::Uniform, 0.0};
  if (text == "one-expert")
    return Routing{Kind::OneExpert, 0.0};
  if (text == "empty-groups")
    return Routing{Kind::EmptyGroups, 0.0};
  StringRef exponent = text;
  double value;
  if (exponent.consume_front("zipf:") && !exponent.getAsDouble(value) &&
      std::isfinite(value) && value >= 0.0)
    return Routing{Kind::Zipf, value};
  return llvm::createStringError(
      "unknown routing '" + text +
      "'; use uniform, zipf:S with S >= 0, one-expert or empty-groups");
}

namespace {
/// Random numbers by position, so that threads can share the work: the
/// splitmix64 finalizer (Steele, Lea and Flood, 2014) of a counter.
class RandomStream {
public:
  RandomStream(uint64_t seed, uint64_t stream)
      : key(mix(seed * 0x9e3779b97f4a7c15 + stream + 1)) {}

  uint64_t bits(uint64_t i) const { return mix(key + i * 0x9e3779b97f4a7c15); }
  /// Uniform in [0, 1).
  double uniform(uint64_t i) const {
    return static_cast<double>(bits(i) >> 11) * 0x1p-53;
  }
  /// Uniform in [0, bound).
  int64_t below(uint64_t i, int64_t bound) const {
    return std::min(static_cast<int64_t>(uniform(i) * bound), bound - 1);
  }

private:
  static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  uint64_t key;
};

/// What a moe op takes an argument for.
enum class Role {
  Unknown,
  Tokens,
  Weights,
  Groups,
  Bias,
  Gather,
  Scale,
  Scatter,
  Init
};

struct Use {
  Role role = Role::Unknown;
  GroupedMatmulInterface op;
};

class InputMaker {
public:
  InputMaker(ArrayRef<SmallVector<int64_t>> shapes, uint64_t seed,
             Routing routing)
      : shapes(shapes), seed(seed), routing(routing) {}
  llvm::Error fill(BlockArgument argument, HostTensor &tensor);

private:
  static Use findUse(Value value);
  std::optional<int64_t> dim(Value value, int64_t dimension) const;
  void fillFloats(Use use, HostTensor &tensor, RandomStream random);
  llvm::Error fillGroups(GroupedMatmulInterface op, HostTensor &tensor,
                         RandomStream random);
  std::vector<int64_t> countRows(int64_t experts, int64_t rows,
                                 RandomStream random);

  ArrayRef<SmallVector<int64_t>> shapes;
  uint64_t seed;
  Routing routing;
};
} // namespace

static Role getRole(GroupedMatmulInterface op, Value value) {
  std::pair<Value, Role> roles[] = {
      {op.getTokens(), Role::Tokens},   {op.getWeights(), Role::Weights},
      {op.getGroups(), Role::Groups},   {op.getBias(), Role::Bias},
      {op.getGather(), Role::Gather},   {op.getScale(), Role::Scale},
      {op.getScatter(), Role::Scatter}, {op.getInit(), Role::Init}};
  for (auto [operand, role] : roles)
    if (operand == value)
      return role;
  return Role::Unknown;
}

/// The first moe op that takes `value` or a result computed from it.
Use InputMaker::findUse(Value value) {
  SmallVector<Value> worklist = {value};
  DenseSet<Value> seen = {value};
  while (!worklist.empty()) {
    Value current = worklist.pop_back_val();
    for (Operation *user : current.getUsers()) {
      if (auto op = dyn_cast<GroupedMatmulInterface>(user))
        return {getRole(op, current), op};
      for (Value result : user->getResults())
        if (seen.insert(result).second)
          worklist.push_back(result);
    }
  }
  return {};
}

/// The size of a dimension, followed to the arguments.
std::optional<int64_t> InputMaker::dim(Value value, int64_t dimension) const {
  int64_t size = cast<ShapedType>(value.getType()).getDimSize(dimension);
  if (!ShapedType::isDynamic(size))
    return size;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return shapes[argument.getArgNumber()][dimension];
  Operation *op = value.getDefiningOp();
  if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    Value operand = empty.getDynamicSize(dimension);
    IntegerAttr constant;
    if (matchPattern(operand, m_Constant(&constant)))
      return constant.getInt();
    auto dimOp = operand.getDefiningOp<tensor::DimOp>();
    if (!dimOp || !dimOp.getConstantIndex())
      return std::nullopt;
    return dim(dimOp.getSource(), *dimOp.getConstantIndex());
  }
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
    return dim(destination.getTiedOpOperand(cast<OpResult>(value))->get(),
               dimension);
  return std::nullopt;
}

void InputMaker::fillFloats(Use use, HostTensor &tensor, RandomStream random) {
  // Uniform numbers of a variance of one; weights so that a sum over K has it.
  double low = -std::sqrt(3.0), high = std::sqrt(3.0);
  if (use.role == Role::Weights) {
    bool nk = use.op.getWeightLayout() == WeightLayout::NK;
    int64_t k = tensor.getShape()[nk ? 2 : 1];
    high = std::sqrt(3.0 / static_cast<double>(std::max<int64_t>(k, 1)));
    low = -high;
  } else if (use.role == Role::Scale) {
    low = 0.0;
    high = 1.0;
  }
  constexpr int64_t chunk = 1 << 16;
  int64_t size = tensor.getNumElements();
  llvm::parallelFor(0, llvm::divideCeil(size, chunk), [&](size_t c) {
    int64_t begin = c * chunk, end = std::min(begin + chunk, size);
    for (int64_t i = begin; i < end; ++i)
      tensor.setFloat(i, low + (high - low) * random.uniform(i));
  });
}

/// The number of rows of each expert.
std::vector<int64_t> InputMaker::countRows(int64_t experts, int64_t rows,
                                           RandomStream random) {
  std::vector<int64_t> counts(experts, 0);
  if (experts == 0 || routing.kind == Routing::Kind::EmptyGroups)
    return counts;
  if (routing.kind == Routing::Kind::OneExpert) {
    counts[random.below(0, experts)] = rows;
    return counts;
  }
  // Cumulative probabilities, the most popular expert anywhere.
  std::vector<double> upTo(experts);
  double total = 0.0;
  int64_t shift = random.below(0, experts);
  for (int64_t e = 0; e < experts; ++e) {
    int64_t rank = (e + shift) % experts + 1;
    total += routing.kind == Routing::Kind::Zipf
                 ? std::pow(static_cast<double>(rank), -routing.exponent)
                 : 1.0;
    upTo[e] = total;
  }
  for (int64_t r = 0; r < rows; ++r) {
    auto found =
        llvm::upper_bound(upTo, random.uniform(r + 1) * total) - upTo.begin();
    ++counts[std::min<int64_t>(found, experts - 1)];
  }
  return counts;
}

llvm::Error InputMaker::fillGroups(GroupedMatmulInterface op,
                                   HostTensor &tensor, RandomStream random) {
  Value perRow = op.getGather() ? Value(op.getGather()) : op.getTokens();
  int64_t rowDim = !op.getGather() && op.hasTransposedTokens() ? 1 : 0;
  std::optional<int64_t> rows = dim(perRow, rowDim);
  if (!rows)
    return llvm::createStringError("cannot find the number of rows");
  bool offsets = op.getGroupKind() == GroupKind::Offsets;
  int64_t entries = tensor.getNumElements();
  if (offsets && entries == 0)
    return llvm::createStringError("offsets need at least one element");
  std::vector<int64_t> counts =
      countRows(offsets ? entries - 1 : entries, *rows, random);
  int64_t end = 0;
  for (auto [e, count] : llvm::enumerate(counts)) {
    end += count;
    tensor.setInteger(offsets ? e + 1 : e, offsets ? end : count);
  }
  return llvm::Error::success();
}

llvm::Error InputMaker::fill(BlockArgument argument, HostTensor &tensor) {
  Use use = findUse(argument);
  RandomStream random(seed, argument.getArgNumber());
  if (isFloat(tensor.getKind())) {
    fillFloats(use, tensor, random);
    return llvm::Error::success();
  }
  int64_t size = tensor.getNumElements();
  switch (use.role) {
  case Role::Groups:
    return fillGroups(use.op, tensor, random);
  case Role::Gather: {
    std::optional<int64_t> tokens =
        dim(use.op.getTokens(), use.op.hasTransposedTokens() ? 1 : 0);
    if (!tokens || *tokens == 0)
      return llvm::createStringError("there is no token that it could name");
    for (int64_t i = 0; i < size; ++i)
      tensor.setInteger(i, random.below(i, *tokens));
    return llvm::Error::success();
  }
  case Role::Scatter: {
    std::vector<int64_t> order(size);
    std::iota(order.begin(), order.end(), 0);
    for (int64_t i = size - 1; i > 0; --i)
      std::swap(order[i], order[random.below(i, i + 1)]);
    for (int64_t i = 0; i < size; ++i)
      tensor.setInteger(i, order[i]);
    return llvm::Error::success();
  }
  default:
    return llvm::createStringError("no moe op says what its integers mean");
  }
}

llvm::Error
mlir::moe::makeInputs(func::FuncOp func, ArrayRef<SmallVector<int64_t>> shapes,
                      uint64_t seed, Routing routing,
                      std::vector<std::optional<HostTensor>> &inputs) {
  InputMaker maker(shapes, seed, routing);
  for (BlockArgument argument : func.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (inputs[i])
      continue;
    Type type = cast<RankedTensorType>(argument.getType()).getElementType();
    llvm::Expected<HostTensor> tensor =
        HostTensor::create(*getElementKind(type), shapes[i]);
    if (!tensor)
      return tensor.takeError();
    if (llvm::Error error = maker.fill(argument, *tensor))
      return llvm::createStringError(
          "cannot make argument " + llvm::Twine(i) + " of @" + func.getName() +
          ": " + llvm::toString(std::move(error)) +
          "; give it with --input=" + llvm::Twine(i) + "=FILE.npy");
    inputs[i] = std::move(*tensor);
  }
  return llvm::Error::success();
}
