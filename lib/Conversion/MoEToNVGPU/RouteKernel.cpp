//===- RouteKernel.cpp - the router's kernel ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One warp a token. Entry i of a list (the experts, the groups, or the chosen
// experts of the token) is in lane i % 32, slot i / 32; all slots are
// registers. To choose an entry, all keys become ranks, unsigned numbers in the
// order of the keys, and two warp reductions find the largest rank and the
// first entry that has it.
//
//===----------------------------------------------------------------------===//

#include "RouteKernel.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace mlir::moe;

namespace {

/// One value of each slot of a list.
using Slots = SmallVector<Value>;

/// Ranks: below every key, and of a NaN key. The rank of -inf is 0x7FFFFF.
constexpr int64_t kDroppedRank = 0;
constexpr int64_t kNaNRank = 1;

class RouteKernelBuilder {
public:
  RouteKernelBuilder(KernelBuilder &b, LLVM::LLVMFuncOp function,
                     const RouteShape &shape)
      : b(b), shape(shape), function(function) {}

  void create();

private:
  void createToken();
  Slots loadRow(const GlobalArray &array, Value row, int64_t size, float none);
  Slots createScores(const Slots &logits);
  /// Of all `size` entries of a list; the values past them must be -inf.
  Slots createSoftmax(const Slots &values, int64_t size);
  Value reduce(Value value, function_ref<Value(Value, Value)> combine);
  Value createSum(const Slots &values);

  Slots createRanks(const Slots &keys, int64_t size);
  /// The first entry of the largest rank, the same in every lane.
  Value choose(const Slots &ranks);
  void drop(Slots &ranks, Value entry);
  /// The value of `entry`, which is the same in every lane, in every lane.
  Value broadcast(const Slots &values, Value entry);
  /// Sets entry `entry` of `values`.
  void insert(Slots &values, Value value, Value entry);

  /// Emits a loop of `count` iterations that carries `values` through `body`,
  /// which changes them in place.
  void createLoop(int64_t count, ArrayRef<Slots *> values,
                  function_ref<void(Value)> body);
  void dropGroups(const Slots &keys, Slots &ranks);
  void weigh(Slots &weights);
  void storeChosen(const Slots &weights, const Slots &experts);

  /// Index of the entry in `slot` of this lane.
  Value getEntry(int64_t slot) { return b.add(lane, slot * kWarpThreads); }
  static int64_t getNumSlots(int64_t size) {
    return llvm::divideCeil(size, kWarpThreads);
  }
  Value isEqual(Value lhs, Value rhs) {
    return b.compare(arith::CmpIPredicate::eq, lhs, rhs);
  }
  Value isBelow(Value value, int64_t bound) {
    return b.compare(arith::CmpIPredicate::ult, value, b.i32(bound));
  }

  KernelBuilder &b;
  const RouteShape &shape;
  LLVM::LLVMFuncOp function;
  GlobalArray logits, bias, weights, indices;
  Value lane, token;
};

} // namespace

Value RouteKernelBuilder::reduce(Value value,
                                 function_ref<Value(Value, Value)> combine) {
  for (int64_t distance = kWarpThreads / 2; distance > 0; distance /= 2)
    value = combine(value, b.shuffle(gpu::ShuffleMode::XOR, value, distance));
  return value;
}

Value RouteKernelBuilder::createSum(const Slots &values) {
  auto add = [&](Value lhs, Value rhs) -> Value {
    return arith::AddFOp::create(b, lhs, rhs);
  };
  Value sum = values.front();
  for (Value value : ArrayRef(values).drop_front())
    sum = add(sum, value);
  return reduce(sum, add);
}

Slots RouteKernelBuilder::loadRow(const GlobalArray &array, Value row,
                                  int64_t size, float none) {
  Slots values;
  Value first =
      arith::MulIOp::create(b, b.toI64Unsigned(row), b.i64(size)).getResult();
  for (int64_t slot = 0; slot < getNumSlots(size); ++slot) {
    Value entry = getEntry(slot);
    auto ifOp = scf::IfOp::create(b, b.getF32Type(), isBelow(entry, size),
                                  /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.elseBlock());
    scf::YieldOp::create(b, b.f32(none));
    b.setInsertionPointToStart(ifOp.thenBlock());
    Value position = arith::AddIOp::create(b, first, b.toI64Unsigned(entry));
    scf::YieldOp::create(b, b.toF32(array.load(b, position)));
    values.push_back(ifOp.getResult(0));
  }
  return values;
}

Slots RouteKernelBuilder::createSoftmax(const Slots &values, int64_t size) {
  auto maximum = [&](Value lhs, Value rhs) -> Value {
    return arith::MaximumFOp::create(b, lhs, rhs);
  };
  Value largest = values.front();
  for (Value value : ArrayRef(values).drop_front())
    largest = maximum(largest, value);
  largest = reduce(largest, maximum);
  Slots result;
  for (auto [slot, value] : llvm::enumerate(values)) {
    Value shifted = arith::SubFOp::create(b, value, largest);
    Value power = math::ExpOp::create(b, shifted);
    // If all values are -inf, or one is +inf, those past the last are NaN.
    result.push_back(b.select(isBelow(getEntry(slot), size), power, b.f32(0)));
  }
  Value sum = createSum(result);
  for (Value &value : result)
    value = arith::DivFOp::create(b, value, sum);
  return result;
}

Slots RouteKernelBuilder::createScores(const Slots &logits) {
  if (shape.scoring == Scoring::Softmax)
    return createSoftmax(logits, shape.numExperts);
  Slots scores = logits;
  if (shape.scoring == Scoring::Sigmoid)
    for (Value &score : scores) {
      Value power =
          math::ExpOp::create(b, arith::NegFOp::create(b, score).getResult());
      Value one = b.f32(1);
      score =
          arith::DivFOp::create(b, one, arith::AddFOp::create(b, one, power));
    }
  return scores;
}

/// The bits of an f32 ascend with a positive value and descend with a negative
/// one; zeros of both signs get one rank.
Slots RouteKernelBuilder::createRanks(const Slots &keys, int64_t size) {
  Slots ranks;
  for (auto [slot, key] : llvm::enumerate(keys)) {
    Value isZero =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, key, b.f32(0));
    Value number = b.select(isZero, b.f32(0), key);
    Value bits = arith::BitcastOp::create(b, b.getI32Type(), number);
    Value isNegative = b.compare(arith::CmpIPredicate::slt, bits, b.i32(0));
    Value mask = b.select(isNegative, b.i32(-1),
                          b.i32(std::numeric_limits<int32_t>::min()));
    Value rank = arith::XOrIOp::create(b, bits, mask);
    Value isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, key, key);
    rank = b.select(isNaN, b.i32(kNaNRank), rank);
    ranks.push_back(
        b.select(isBelow(getEntry(slot), size), rank, b.i32(kDroppedRank)));
  }
  return ranks;
}

Value RouteKernelBuilder::choose(const Slots &ranks) {
  Value ownRank = ranks.front(), ownEntry = lane;
  for (auto [i, rank] : llvm::enumerate(ArrayRef(ranks).drop_front())) {
    Value isLarger = b.compare(arith::CmpIPredicate::ugt, rank, ownRank);
    ownRank = b.select(isLarger, rank, ownRank);
    ownEntry = b.select(isLarger, getEntry(i + 1), ownEntry);
  }
  Value allLanes = b.i32(-1);
  Value largest = NVVM::ReduxOp::create(b, b.getI32Type(), ownRank,
                                        NVVM::ReduxKind::UMAX, allLanes);
  Value candidate = b.select(isEqual(ownRank, largest), ownEntry, b.i32(-1));
  return NVVM::ReduxOp::create(b, b.getI32Type(), candidate,
                               NVVM::ReduxKind::UMIN, allLanes);
}

void RouteKernelBuilder::drop(Slots &ranks, Value entry) {
  insert(ranks, b.i32(kDroppedRank), entry);
}

Value RouteKernelBuilder::broadcast(const Slots &values, Value entry) {
  Value slotOfEntry = b.divUnsigned(entry, kWarpThreads);
  Value value = values.front();
  for (auto [i, other] : llvm::enumerate(ArrayRef(values).drop_front()))
    value = b.select(isEqual(slotOfEntry, b.i32(i + 1)), other, value);
  return gpu::ShuffleOp::create(b, value, b.remUnsigned(entry, kWarpThreads),
                                b.i32(kWarpThreads), gpu::ShuffleMode::IDX)
      .getShuffleResult();
}

void RouteKernelBuilder::insert(Slots &values, Value value, Value entry) {
  for (auto [slot, old] : llvm::enumerate(values))
    old = b.select(isEqual(getEntry(slot), entry), value, old);
}

void RouteKernelBuilder::createLoop(int64_t count, ArrayRef<Slots *> values,
                                    function_ref<void(Value)> body) {
  SmallVector<Value> carried;
  for (Slots *slots : values)
    llvm::append_range(carried, *slots);
  auto replace = [&](ValueRange by) {
    for (Slots *slots : values) {
      llvm::copy(by.take_front(slots->size()), slots->begin());
      by = by.drop_front(slots->size());
    }
  };
  auto loop = scf::ForOp::create(b, b.i32(0), b.i32(count), b.i32(1), carried);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    replace(loop.getRegionIterArgs());
    body(loop.getInductionVar());
    carried.clear();
    for (Slots *slots : values)
      llvm::append_range(carried, *slots);
    scf::YieldOp::create(b, carried);
  }
  replace(loop.getResults());
}

/// Drops the experts of all groups but those with the largest sums of their two
/// largest keys.
void RouteKernelBuilder::dropGroups(const Slots &keys, Slots &ranks) {
  int64_t groupSize = shape.numExperts / shape.numGroups;
  auto isOfGroup = [&](int64_t slot, Value group) {
    return isEqual(b.divUnsigned(getEntry(slot), groupSize), group);
  };
  Slots sums(getNumSlots(shape.numGroups), b.f32(0));
  createLoop(shape.numGroups, &sums, [&](Value group) {
    Slots members;
    for (auto [slot, rank] : llvm::enumerate(ranks))
      members.push_back(
          b.select(isOfGroup(slot, group), rank, b.i32(kDroppedRank)));
    Value largest = choose(members);
    Value sum = broadcast(keys, largest);
    if (groupSize > 1) {
      drop(members, largest);
      sum = arith::AddFOp::create(b, sum, broadcast(keys, choose(members)));
    }
    insert(sums, sum, group);
  });
  Slots groupRanks = createRanks(sums, shape.numGroups);
  Slots kept(ranks.size(), b.i32(kDroppedRank));
  createLoop(shape.topKGroups, {&groupRanks, &kept}, [&](Value) {
    Value group = choose(groupRanks);
    drop(groupRanks, group);
    for (auto [slot, rank] : llvm::enumerate(kept))
      rank = b.select(isOfGroup(slot, group), ranks[slot], rank);
  });
  ranks = kept;
}

/// Turns the scores of the chosen experts into their weights. Those past the
/// last chosen are -inf for a softmax, else 0.
void RouteKernelBuilder::weigh(Slots &weights) {
  if (shape.scoring == Scoring::SoftmaxAfterTopK)
    weights = createSoftmax(weights, shape.topK);
  if (shape.renormalize) {
    // Keeps scores that are all zero from becoming NaN.
    Value divisor = arith::AddFOp::create(b, createSum(weights), b.f32(1e-20f));
    for (Value &weight : weights)
      weight = arith::DivFOp::create(b, weight, divisor);
  }
  if (shape.scaling != 1)
    for (Value &weight : weights)
      weight = arith::MulFOp::create(b, weight, b.f32(shape.scaling));
}

/// Shared experts follow the chosen ones.
void RouteKernelBuilder::storeChosen(const Slots &chosenWeights,
                                     const Slots &experts) {
  int64_t columns = shape.topK + shape.sharedExperts;
  Value first =
      arith::MulIOp::create(b, b.toI64Unsigned(token), b.i64(columns));
  for (int64_t slot = 0; slot < getNumSlots(columns); ++slot) {
    Value column = getEntry(slot);
    Value expert = b.add(column, shape.numExperts - shape.topK);
    Value weight = b.f32(1);
    if (slot < static_cast<int64_t>(experts.size())) {
      Value isChosen = isBelow(column, shape.topK);
      expert = b.select(isChosen, experts[slot], expert);
      weight = b.select(isChosen, chosenWeights[slot], weight);
    }
    b.createIf(isBelow(column, columns), [&] {
      Value position = arith::AddIOp::create(b, first, b.toI64Unsigned(column));
      weights.store(b, b.roundTo(shape.weights, weight), position);
      indices.store(
          b, shape.index.getWidth() == 64 ? b.toI64Unsigned(expert) : expert,
          position);
    });
  }
}

void RouteKernelBuilder::createToken() {
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  Slots tokenLogits = loadRow(logits, token, shape.numExperts, lowest);
  Slots scores = createScores(tokenLogits);
  Slots keys = shape.bias || shape.numGroups > 1 ? scores : tokenLogits;
  if (shape.bias) {
    Slots biases = loadRow(bias, b.i32(0), shape.numExperts, 0);
    for (auto [key, value] : llvm::zip_equal(keys, biases))
      key = arith::AddFOp::create(b, key, value);
  }
  Slots ranks = createRanks(keys, shape.numExperts);
  if (shape.numGroups > 1)
    dropGroups(keys, ranks);
  int64_t numSlots = getNumSlots(shape.topK);
  Slots experts(numSlots, b.i32(0));
  Slots chosen(numSlots,
               b.f32(shape.scoring == Scoring::SoftmaxAfterTopK ? lowest : 0));
  createLoop(shape.topK, {&ranks, &experts, &chosen}, [&](Value place) {
    Value expert = choose(ranks);
    drop(ranks, expert);
    insert(experts, expert, place);
    insert(chosen, broadcast(scores, expert), place);
  });
  weigh(chosen);
  storeChosen(chosen, experts);
}

void RouteKernelBuilder::create() {
  unsigned next = 0;
  auto take = [&](Type element) {
    return GlobalArray{function.getArgument(next++), element};
  };
  logits = take(shape.logits);
  if (shape.bias)
    bias = take(shape.bias);
  weights = take(shape.weights);
  indices = take(shape.index);
  Value numTokens = function.getArgument(next);

  ThreadIds ids(b);
  lane = ids.lane;
  Value block = NVVM::BlockIdXOp::create(b, b.getI32Type());
  token = b.add(b.mul(block, kRouteTokens), ids.warp);
  b.createIf(b.compare(arith::CmpIPredicate::ult, token, numTokens),
             [&] { createToken(); });
}

LLVM::LLVMFuncOp mlir::moe::createRouteKernel(KernelBuilder &b, StringRef name,
                                              const RouteShape &shape) {
  int64_t numReadOnly = shape.bias ? 2 : 1;
  SmallVector<Type> parameters(numReadOnly + 2, b.getGlobalPointerType());
  parameters.push_back(b.getI32Type());
  LLVM::LLVMFuncOp function = createKernelFunction(
      b, name, parameters, numReadOnly, kRouteTokens * kWarpThreads);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(function.addEntryBlock(b));
  createDependentsLaunch(b);
  createDependencyWait(b);
  RouteKernelBuilder(b, function, shape).create();
  LLVM::ReturnOp::create(b, ValueRange());
  return function;
}
