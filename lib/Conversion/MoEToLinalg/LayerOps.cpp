//===- LayerOps.cpp - route, dispatch and combine as loops ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Conversion/MoEToLinalg/LayerOps.h"

#include "LoopEmitter.h"
#include "moe/Dialect/MoE/IR/MoE.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::moe;

//===----------------------------------------------------------------------===//
// Scratch memory
//===----------------------------------------------------------------------===//

namespace {
class LayerOpEmitter : protected LoopEmitter {
protected:
  using LoopEmitter::LoopEmitter;

  Value constantBool(bool value) {
    return arith::ConstantOp::create(b, b.getBoolAttr(value));
  }
  Value compareF(arith::CmpFPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpFOp::create(b, predicate, lhs, rhs);
  }
  /// Scratch memory of one iteration. On the heap: a stack slot in the body of
  /// a parallel loop would be allocated anew by each iteration.
  Value allocate(Value size, Type elementType) {
    Value memory = memref::AllocOp::create(
        b, MemRefType::get({ShapedType::kDynamic}, elementType),
        ValueRange{size});
    scratch.push_back(memory);
    return memory;
  }
  void deallocateAll() {
    for (Value memory : scratch)
      memref::DeallocOp::create(b, memory);
    scratch.clear();
  }

private:
  SmallVector<Value> scratch;
};
} // namespace

//===----------------------------------------------------------------------===//
// Route
//===----------------------------------------------------------------------===//

namespace {
class RouteEmitter : private LayerOpEmitter {
public:
  RouteEmitter(RewriterBase &rewriter, RouteOp op)
      : LayerOpEmitter(rewriter, op), op(op) {}

  void emit();

private:
  void emitToken(Value token);
  void computeSoftmax(Value values, Value size);
  void computeScores(Value token);
  void computeKeys();
  void dropGroups();
  Value sumOfTwoLargest(Value group);
  void choose(Value keys, Value dropped, Value size, int64_t count,
              function_ref<void(Value, Value)> take);
  Value ranksAbove(Value key, Value other);
  void weigh();
  void storeShared(Value token);

  RouteOp op;
  Value numExperts;
  // Scratch memory of one token: the logits, scores and keys of all experts
  // as f32, which experts are out of the choice, and the weights of the chosen.
  Value logits, scores, keys, dropped, chosen;
};
} // namespace

void RouteEmitter::emit() {
  numExperts = index(op.getNumExperts());
  Value numTokens =
      minimum(dim(op.getLogits(), 0), minimum(dim(op.getWeightsInit(), 0),
                                              dim(op.getIndicesInit(), 0)));
  parallelLoop(numTokens, [&](Value token) { emitToken(token); });
}

void RouteEmitter::emitToken(Value token) {
  Type f32 = b.getF32Type();
  logits = allocate(numExperts, f32);
  scores = allocate(numExperts, f32);
  keys = allocate(numExperts, f32);
  dropped = allocate(numExperts, b.getI1Type());
  chosen = allocate(index(op.getTopK()), f32);

  computeScores(token);
  computeKeys();
  if (op.hasGroups())
    dropGroups();
  choose(keys, dropped, numExperts, op.getTopK(), [&](Value j, Value expert) {
    storeIndex(expert, op.getIndicesInit(), {token, j});
    store(load(scores, expert), chosen, j);
  });
  weigh();
  loop(zero, index(op.getTopK()), [&](Value j) {
    storeF32(load(chosen, j), op.getWeightsInit(), {token, j});
  });
  if (op.getSharedExperts() != 0)
    storeShared(token);
  deallocateAll();
}

/// Replaces `values`, f32, by their softmax.
void RouteEmitter::computeSoftmax(Value values, Value size) {
  Value lowest = constantF32(-std::numeric_limits<float>::infinity());
  Value largest = fold(zero, size, lowest, [&](Value i, ValueRange carried) {
    Value value = load(values, i);
    return SmallVector<Value>{arith::MaximumFOp::create(b, carried[0], value)};
  })[0];
  Value sum =
      fold(zero, size, constantF32(0), [&](Value i, ValueRange carried) {
        Value shifted = arith::SubFOp::create(b, load(values, i), largest);
        Value power = math::ExpOp::create(b, shifted);
        store(power, values, i);
        return SmallVector<Value>{addF(carried[0], power)};
      })[0];
  loop(zero, size,
       [&](Value i) { store(divF(load(values, i), sum), values, i); });
}

void RouteEmitter::computeScores(Value token) {
  bool sigmoid = op.getScoring() == Scoring::Sigmoid;
  loop(zero, numExperts, [&](Value expert) {
    Value logit = loadF32(op.getLogits(), {token, expert});
    store(logit, logits, expert);
    if (sigmoid) {
      Value power =
          math::ExpOp::create(b, arith::NegFOp::create(b, logit).getResult());
      Value unit = constantF32(1);
      store(divF(unit, addF(unit, power)), scores, expert);
    } else {
      store(logit, scores, expert);
    }
  });
  if (op.getScoring() == Scoring::Softmax)
    computeSoftmax(scores, numExperts);
}

/// The keys by which experts are chosen; none is dropped yet, or, with groups,
/// all are.
void RouteEmitter::computeKeys() {
  bool byLogit = !op.getBias() && !op.hasGroups();
  Value isDropped = constantBool(op.hasGroups());
  loop(zero, numExperts, [&](Value expert) {
    store(load(byLogit ? logits : scores, expert), keys, expert);
    store(isDropped, dropped, expert);
  });
  if (!op.getBias())
    return;
  loop(zero, minimum(numExperts, dim(op.getBias(), 0)), [&](Value expert) {
    Value bias = loadF32(op.getBias(), expert);
    store(addF(load(keys, expert), bias), keys, expert);
  });
}

/// True if `key` comes before `other`, a key of a lower index.
Value RouteEmitter::ranksAbove(Value key, Value other) {
  Value isLarger = compareF(arith::CmpFPredicate::OGT, key, other);
  Value isNumber = compareF(arith::CmpFPredicate::ORD, key, key);
  Value isOtherNaN = compareF(arith::CmpFPredicate::UNO, other, other);
  return arith::OrIOp::create(
      b, isLarger, arith::AndIOp::create(b, isNumber, isOtherNaN).getResult());
}

/// Calls `take` with the place, from 0, and the index of each of the `count`
/// highest-ranking keys that are not dropped, in order, and drops them. At
/// least `count` keys must be left.
void RouteEmitter::choose(Value keys, Value dropped, Value size, int64_t count,
                          function_ref<void(Value, Value)> take) {
  Value yes = constantBool(true), no = constantBool(false);
  Value nan = constantF32(std::numeric_limits<float>::quiet_NaN());
  loop(zero, index(count), [&](Value place) {
    SmallVector<Value> start = {no, zero, nan};
    SmallVector<Value> best =
        fold(zero, size, start, [&](Value i, ValueRange carried) {
          Value key = load(keys, i);
          Value isFirst = arith::XOrIOp::create(b, carried[0], yes);
          Value isBetter =
              arith::OrIOp::create(b, isFirst, ranksAbove(key, carried[2]));
          Value isLeft = arith::XOrIOp::create(b, load(dropped, i), yes);
          Value isBest = arith::AndIOp::create(b, isLeft, isBetter);
          return SmallVector<Value>{
              arith::OrIOp::create(b, carried[0], isBest),
              arith::SelectOp::create(b, isBest, i, carried[1]),
              arith::SelectOp::create(b, isBest, key, carried[2])};
        });
    take(place, best[1]);
    store(yes, dropped, best[1]);
  });
}

/// The sum of the two highest-ranking keys of a group, or its only key.
Value RouteEmitter::sumOfTwoLargest(Value group) {
  int64_t size = op.getNumExperts() / op.getNGroup();
  Value first = arith::MulIOp::create(b, group, index(size));
  Value firstKey = load(keys, first);
  if (size == 1)
    return firstKey;
  Value secondKey = load(keys, add(first, one));
  auto pick = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(b, condition, yes, no);
  };
  Value swap = ranksAbove(secondKey, firstKey);
  SmallVector<Value> start = {pick(swap, secondKey, firstKey),
                              pick(swap, firstKey, secondKey)};
  SmallVector<Value> largest = fold(
      add(first, index(2)), add(first, index(size)), start,
      [&](Value expert, ValueRange carried) {
        Value key = load(keys, expert);
        Value aboveFirst = ranksAbove(key, carried[0]);
        Value aboveSecond = ranksAbove(key, carried[1]);
        return SmallVector<Value>{
            pick(aboveFirst, key, carried[0]),
            pick(aboveFirst, carried[0], pick(aboveSecond, key, carried[1]))};
      });
  return addF(largest[0], largest[1]);
}

/// Takes the experts of the chosen groups back into the choice.
void RouteEmitter::dropGroups() {
  Value numGroups = index(op.getNGroup());
  Value groupKeys = allocate(numGroups, b.getF32Type());
  Value groupDropped = allocate(numGroups, b.getI1Type());
  Value no = constantBool(false);
  loop(zero, numGroups, [&](Value group) {
    store(sumOfTwoLargest(group), groupKeys, group);
    store(no, groupDropped, group);
  });
  Value size = index(op.getNumExperts() / op.getNGroup());
  choose(groupKeys, groupDropped, numGroups, op.getTopkGroup(),
         [&](Value, Value group) {
           Value first = arith::MulIOp::create(b, group, size);
           loop(first, add(first, size),
                [&](Value expert) { store(no, dropped, expert); });
         });
}

/// Turns the scores of the chosen experts into their weights.
void RouteEmitter::weigh() {
  Value topK = index(op.getTopK());
  if (op.getScoring() == Scoring::SoftmaxAfterTopK)
    computeSoftmax(chosen, topK);
  if (op.getRenormalize()) {
    Value sum =
        fold(zero, topK, constantF32(0), [&](Value j, ValueRange carried) {
          return SmallVector<Value>{addF(carried[0], load(chosen, j))};
        })[0];
    // Keeps scores that are all zero from becoming NaN.
    Value divisor = addF(sum, constantF32(1e-20f));
    loop(zero, topK,
         [&](Value j) { store(divF(load(chosen, j), divisor), chosen, j); });
  }
  if (op.getScaling().isExactlyValue(1.0))
    return;
  Value scaling = constantF32(op.getScaling().convertToFloat());
  loop(zero, topK,
       [&](Value j) { store(mulF(load(chosen, j), scaling), chosen, j); });
}

void RouteEmitter::storeShared(Value token) {
  Value topK = index(op.getTopK()), weight = constantF32(1);
  loop(zero, index(op.getSharedExperts()), [&](Value i) {
    Value column = add(topK, i);
    storeIndex(add(numExperts, i), op.getIndicesInit(), {token, column});
    storeF32(weight, op.getWeightsInit(), {token, column});
  });
}

LogicalResult mlir::moe::lowerRoute(RewriterBase &rewriter, RouteOp op) {
  if (!op.hasPureBufferSemantics())
    return rewriter.notifyMatchFailure(op, "is on tensors; bufferize it first");
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  RouteEmitter(rewriter, op).emit();
  rewriter.eraseOp(op);
  return success();
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

namespace {
class DispatchEmitter : private LayerOpEmitter {
public:
  DispatchEmitter(RewriterBase &rewriter, DispatchOp op)
      : LayerOpEmitter(rewriter, op), op(op) {}

  void emit();

private:
  void forEachPair(function_ref<void(Value token, Value place)> body);
  void countPairs();
  void placePairs();

  DispatchOp op;
  Value numTokens, topK, numRows, numExperts;
  /// The next free row of each expert; before that, its number of pairs.
  Value nextRow;
};
} // namespace

void DispatchEmitter::emit() {
  numTokens = minimum(dim(op.getIndices(), 0), dim(op.getRowOfPairInit(), 0));
  topK = minimum(dim(op.getIndices(), 1), dim(op.getRowOfPairInit(), 1));
  numRows = dim(op.getTokenOfRowInit(), 0);
  // A dynamic number of offsets may be 0.
  Value numOffsets = dim(op.getOffsetsInit(), 0);
  numExperts = b.createOrFold<arith::MaxSIOp>(
      b.createOrFold<arith::SubIOp>(numOffsets, one), zero);
  nextRow = allocate(numExperts, b.getIndexType());
  loop(zero, numExperts, [&](Value expert) { store(zero, nextRow, expert); });
  loop(zero, numRows,
       [&](Value row) { storeIndex(index(-1), op.getTokenOfRowInit(), row); });
  countPairs();
  placePairs();
  deallocateAll();
}

/// Visits the pairs in the order t * k + j.
void DispatchEmitter::forEachPair(
    function_ref<void(Value token, Value place)> body) {
  loop(zero, numTokens, [&](Value token) {
    loop(zero, topK, [&](Value place) { body(token, place); });
  });
}

/// Counts the pairs of each expert and adds the counts up to offsets.
void DispatchEmitter::countPairs() {
  forEachPair([&](Value token, Value place) {
    Value expert = loadIndex(op.getIndices(), {token, place});
    ifThen(isWithin(expert, numExperts),
           [&] { store(add(load(nextRow, expert), one), nextRow, expert); });
  });
  Value end =
      fold(zero, numExperts, zero, [&](Value expert, ValueRange carried) {
        Value count = load(nextRow, expert);
        storeIndex(carried[0], op.getOffsetsInit(), expert);
        store(carried[0], nextRow, expert);
        return SmallVector<Value>{add(carried[0], count)};
      })[0];
  ifThen(isWithin(numExperts, dim(op.getOffsetsInit(), 0)),
         [&] { storeIndex(end, op.getOffsetsInit(), numExperts); });
}

void DispatchEmitter::placePairs() {
  Value none = index(-1);
  forEachPair([&](Value token, Value place) {
    Value expert = loadIndex(op.getIndices(), {token, place});
    storeIndex(none, op.getRowOfPairInit(), {token, place});
    ifThen(isWithin(expert, numExperts), [&] {
      Value row = load(nextRow, expert);
      store(add(row, one), nextRow, expert);
      storeIndex(row, op.getRowOfPairInit(), {token, place});
      ifThen(isWithin(row, numRows),
             [&] { storeIndex(token, op.getTokenOfRowInit(), row); });
    });
  });
}

LogicalResult mlir::moe::lowerDispatch(RewriterBase &rewriter, DispatchOp op) {
  if (!op.hasPureBufferSemantics())
    return rewriter.notifyMatchFailure(op, "is on tensors; bufferize it first");
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  DispatchEmitter(rewriter, op).emit();
  rewriter.eraseOp(op);
  return success();
}

//===----------------------------------------------------------------------===//
// Combine
//===----------------------------------------------------------------------===//

namespace {
class CombineEmitter : private LayerOpEmitter {
public:
  CombineEmitter(RewriterBase &rewriter, CombineOp op)
      : LayerOpEmitter(rewriter, op), op(op) {}

  void emit();

private:
  void emitToken(Value token);
  void addRow(Value token, Value place, Value row, Value sums);

  CombineOp op;
  Value numTokens, topK, numRows, columns;
};
} // namespace

void CombineEmitter::emit() {
  numTokens = minimum(dim(op.getRowOfPair(), 0), dim(op.getInit(), 0));
  topK = dim(op.getRowOfPair(), 1);
  numRows = dim(op.getRows(), 0);
  columns = minimum(dim(op.getRows(), 1), dim(op.getInit(), 1));
  if (Value weights = op.getWeights()) {
    numTokens = minimum(numTokens, dim(weights, 0));
    topK = minimum(topK, dim(weights, 1));
  }
  parallelLoop(numTokens, [&](Value token) { emitToken(token); });
}

/// Row by row into a row of f32 sums: the rows are read in the order in which
/// they lie in memory.
void CombineEmitter::emitToken(Value token) {
  Value sums = allocate(columns, b.getF32Type());
  Value nothing = constantF32(0);
  loop(zero, columns, [&](Value column) { store(nothing, sums, column); });
  loop(zero, topK, [&](Value place) {
    Value row = loadIndex(op.getRowOfPair(), {token, place});
    ifThen(isWithin(row, numRows), [&] { addRow(token, place, row, sums); });
  });
  loop(zero, columns, [&](Value column) {
    storeF32(load(sums, column), op.getInit(), {token, column});
  });
  deallocateAll();
}

void CombineEmitter::addRow(Value token, Value place, Value row, Value sums) {
  Value weight;
  if (op.getWeights())
    weight = loadF32(op.getWeights(), {token, place});
  loop(zero, columns, [&](Value column) {
    Value element = loadF32(op.getRows(), {row, column});
    if (weight)
      element = mulF(weight, element);
    store(addF(load(sums, column), element), sums, column);
  });
}

LogicalResult mlir::moe::lowerCombine(RewriterBase &rewriter, CombineOp op) {
  if (!op.hasPureBufferSemantics())
    return rewriter.notifyMatchFailure(op, "is on tensors; bufferize it first");
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  CombineEmitter(rewriter, op).emit();
  rewriter.eraseOp(op);
  return success();
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
/// Applies a lowering function to each `OpTy`.
template <typename OpTy, LogicalResult (*lower)(RewriterBase &, OpTy)>
struct LowerByFunction : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    return lower(rewriter, op);
  }
};
} // namespace

void mlir::moe::populateMoELayerOpsToLoopsPatterns(
    RewritePatternSet &patterns) {
  patterns.add<LowerByFunction<RouteOp, lowerRoute>,
               LowerByFunction<DispatchOp, lowerDispatch>,
               LowerByFunction<CombineOp, lowerCombine>>(patterns.getContext());
}
