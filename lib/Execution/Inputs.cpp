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

/// The size of a dimension, followed to the arguments.
static std::optional<int64_t>
resolveDim(Value value, int64_t dimension,
           ArrayRef<SmallVector<int64_t>> shapes) {
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
    return resolveDim(dimOp.getSource(), *dimOp.getConstantIndex(), shapes);
  }
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
    return resolveDim(
        destination.getTiedOpOperand(cast<OpResult>(value))->get(), dimension,
        shapes);
  return std::nullopt;
}

std::optional<SmallVector<int64_t>>
mlir::moe::resolveShape(Value value, ArrayRef<SmallVector<int64_t>> shapes) {
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(value.getType()).getShape());
  for (auto [d, size] : llvm::enumerate(shape)) {
    std::optional<int64_t> resolved = resolveDim(value, d, shapes);
    if (!resolved)
      return std::nullopt;
    size = *resolved;
  }
  return shape;
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
  Values,  ///< Numbers of a variance of one.
  Weights, ///< Matrices of experts.
  Factors, ///< Factors between 0 and 1.
  Groups,
  Gather,
  Scatter,
  Experts, ///< The experts of each token.
  Unknown
};

struct Use {
  Role role = Role::Unknown;
  Operation *op = nullptr;
};

class InputMaker {
public:
  InputMaker(ArrayRef<SmallVector<int64_t>> shapes, uint64_t seed,
             Routing routing)
      : shapes(shapes), seed(seed), routing(routing) {}
  llvm::Error fill(BlockArgument argument, HostTensor &tensor);

private:
  static Use findUse(Value value);
  std::optional<int64_t> dim(Value value, int64_t dimension) const {
    return resolveDim(value, dimension, shapes);
  }
  void fillFloats(Use use, HostTensor &tensor, RandomStream random);
  llvm::Error fillIntegers(Use use, HostTensor &tensor, RandomStream random);
  llvm::Error fillExperts(Operation *op, HostTensor &tensor,
                          RandomStream random);
  std::vector<double> getPopularity(int64_t experts, RandomStream random);
  llvm::Error fillGroups(GroupedMatmulInterface op, HostTensor &tensor,
                         RandomStream random);
  std::vector<int64_t> countRows(int64_t experts, int64_t rows,
                                 RandomStream random);

  ArrayRef<SmallVector<int64_t>> shapes;
  uint64_t seed;
  Routing routing;
};
} // namespace

static Role getRole(Operation *op, Value value) {
  SmallVector<std::pair<Value, Role>> roles;
  if (auto matmul = dyn_cast<GroupedMatmulInterface>(op))
    roles = {{matmul.getWeights(), Role::Weights},
             {matmul.getGroups(), Role::Groups},
             {matmul.getGather(), Role::Gather},
             {matmul.getScale(), Role::Factors},
             {matmul.getScatter(), Role::Scatter}};
  else if (auto experts = dyn_cast<ExpertsOp>(op))
    roles = {{experts.getIndices(), Role::Experts},
             {experts.getWeights(), Role::Factors},
             {experts.getGateUp(), Role::Weights},
             {experts.getDown(), Role::Weights}};
  else if (auto dispatch = dyn_cast<DispatchOp>(op))
    roles = {{dispatch.getIndices(), Role::Experts}};
  else if (auto combine = dyn_cast<CombineOp>(op))
    // The rows of the pairs are a permutation, as dispatch makes it.
    roles = {{combine.getRowOfPair(), Role::Scatter},
             {combine.getWeights(), Role::Factors}};
  for (auto [operand, role] : roles)
    if (operand == value)
      return role;
  return Role::Values;
}

/// The first moe op that takes `value` or a result computed from it.
Use InputMaker::findUse(Value value) {
  SmallVector<Value> worklist = {value};
  DenseSet<Value> seen = {value};
  while (!worklist.empty()) {
    Value current = worklist.pop_back_val();
    for (Operation *user : current.getUsers()) {
      if (isa_and_nonnull<MoEDialect>(user->getDialect()))
        return {getRole(user, current), user};
      for (Value result : user->getResults())
        if (seen.insert(result).second)
          worklist.push_back(result);
    }
  }
  return {};
}

static WeightLayout getWeightLayout(Operation *op) {
  if (auto experts = dyn_cast<ExpertsOp>(op))
    return experts.getWeightLayout();
  return cast<GroupedMatmulInterface>(op).getWeightLayout();
}

void InputMaker::fillFloats(Use use, HostTensor &tensor, RandomStream random) {
  // Uniform numbers of a variance of one; weights so that a sum over K has it.
  double low = -std::sqrt(3.0), high = std::sqrt(3.0);
  if (use.role == Role::Weights) {
    bool nk = getWeightLayout(use.op) == WeightLayout::NK;
    int64_t k = tensor.getShape()[nk ? 2 : 1];
    high = std::sqrt(3.0 / static_cast<double>(std::max<int64_t>(k, 1)));
    low = -high;
  } else if (use.role == Role::Factors) {
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

/// The probabilities of the experts, added up, the most popular one anywhere;
/// the last entry need not be 1.
std::vector<double> InputMaker::getPopularity(int64_t experts,
                                              RandomStream random) {
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
  return upTo;
}

static int64_t drawExpert(ArrayRef<double> upTo, double uniform) {
  auto found = llvm::upper_bound(upTo, uniform * upTo.back()) - upTo.begin();
  return std::min<int64_t>(found, upTo.size() - 1);
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
  std::vector<double> upTo = getPopularity(experts, random);
  for (int64_t r = 0; r < rows; ++r)
    ++counts[drawExpert(upTo, random.uniform(r + 1))];
  return counts;
}

/// Different experts for each token, as long as there are enough; all of one
/// token the same with Routing::OneExpert, none (-1) with EmptyGroups.
llvm::Error InputMaker::fillExperts(Operation *op, HostTensor &tensor,
                                    RandomStream random) {
  std::optional<int64_t> experts;
  if (auto layer = dyn_cast<ExpertsOp>(op)) {
    experts = dim(layer.getGateUp(), 0);
  } else if (std::optional<int64_t> offsets =
                 dim(cast<DispatchOp>(op).getOffsetsInit(), 0)) {
    experts = *offsets - 1;
  }
  if (!experts || *experts < 1)
    return llvm::createStringError("there is no expert that it could name");
  std::vector<double> upTo = getPopularity(*experts, random);
  int64_t topK = tensor.getShape()[1];
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
    int64_t expert = drawExpert(upTo, random.uniform(i + 1));
    auto taken = [&] {
      for (int64_t j = i - i % topK; j < i; ++j)
        if (tensor.getInteger(j) == expert)
          return true;
      return false;
    };
    if (routing.kind == Routing::Kind::EmptyGroups)
      expert = -1;
    else if (routing.kind == Routing::Kind::OneExpert)
      expert = random.below(0, *experts);
    else
      for (int64_t n = 0; n < *experts && taken(); ++n)
        expert = (expert + 1) % *experts;
    tensor.setInteger(i, expert);
  }
  return llvm::Error::success();
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

llvm::Error InputMaker::fillIntegers(Use use, HostTensor &tensor,
                                     RandomStream random) {
  int64_t size = tensor.getNumElements();
  switch (use.role) {
  case Role::Groups:
    return fillGroups(cast<GroupedMatmulInterface>(use.op), tensor, random);
  case Role::Experts:
    return fillExperts(use.op, tensor, random);
  case Role::Gather: {
    auto matmul = cast<GroupedMatmulInterface>(use.op);
    std::optional<int64_t> tokens =
        dim(matmul.getTokens(), matmul.hasTransposedTokens() ? 1 : 0);
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
  case Role::Values:
    // The destination of indices, which its op overwrites.
    return llvm::Error::success();
  default:
    return llvm::createStringError("no moe op says what its integers mean");
  }
}

llvm::Error InputMaker::fill(BlockArgument argument, HostTensor &tensor) {
  Use use = findUse(argument);
  RandomStream random(seed, argument.getArgNumber());
  if (!isFloat(tensor.getKind()))
    return fillIntegers(use, tensor, random);
  fillFloats(use, tensor, random);
  return llvm::Error::success();
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
