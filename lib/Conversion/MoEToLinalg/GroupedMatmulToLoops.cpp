//===- GroupedMatmulToLoops.cpp - grouped matmul as parallel loops --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops that a grouped matmul becomes, `bounds` being the row at which each
// group starts, clamped to [0, R] and ascending:
//
//   bounds = ...                                  one pass over `groups`
//   scf.parallel (block, expert)                  disjoint parts of the result
//     for row = bounds[e] to bounds[e + 1] step 8   a tile of tokens
//       tokenTile = f32(tokens of these rows), zero where there is none
//       accTile   = tokenTile * weights[e, rows of this block]^T
//       for each row and column: bias, activation, gate, scale, one rounding
//
// The weights are by far the largest operand in the decode phase. They are read
// in the order in which they are stored, once a tile of tokens, so the vectors
// run along K for `nk` weights and along N for `kn` weights.
//
//===----------------------------------------------------------------------===//

#include "moe/Conversion/MoEToLinalg/MoEToLinalg.h"

#include "LoopEmitter.h"
#include "moe/Dialect/MoE/IR/MoE.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::moe;

/// Rows of a tile of tokens: the weights are read once for so many tokens, and
/// so many accumulators are live.
static constexpr int64_t kTokenTile = 8;
/// Weight rows of a parallel iteration. Amortizes the conversion of the token
/// tile; small enough to give every thread work.
static constexpr int64_t kBlockRows = 128;

namespace {
/// Columns of the accumulator tile and the weight rows that they hold.
struct Segment {
  int64_t accColumn; ///< First column of the accumulator tile.
  Value weightRow;   ///< First weight row.
  Value size;        ///< Number of weight rows wanted, at least one.
};

/// Emits the loops of one grouped matmul. Values are of index type unless said
/// otherwise.
class GroupedMatmulEmitter : private LoopEmitter {
public:
  GroupedMatmulEmitter(RewriterBase &rewriter, GroupedMatmulInterface op,
                       int64_t lanes);

  /// Emits everything before the op, which it leaves alone.
  void emit();

private:
  // Small pieces.
  Value sub(Value lhs, Value rhs) {
    return b.createOrFold<arith::SubIOp>(lhs, rhs);
  }
  Value mul(Value lhs, Value rhs) {
    return b.createOrFold<arith::MulIOp>(lhs, rhs);
  }
  Value isBelow(Value lhs, Value rhs) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, lhs, rhs);
  }
  /// A vector of `lanes` weights of the current expert as f32.
  Value loadWeights(Value outer, Value inner);
  /// The same, with zeros from innermost index `end` (at least one) on.
  Value loadWeightTail(Value outer, Value inner, Value end);
  SmallVector<Value> tileIndices(Value token, Value k) {
    return isNK ? SmallVector<Value>{token, k} : SmallVector<Value>{k, token};
  }
  Value multiplyAdd(Value lhs, Value rhs, Value accumulator);
  VectorType vectorType() { return VectorType::get(lanes, b.getF32Type()); }
  SmallVector<Value> zeroVectors(int64_t count) {
    return SmallVector<Value>(
        count, arith::ConstantOp::create(b, b.getZeroAttr(vectorType())));
  }

  // The stages, outermost first.
  void computeSizes();
  void emitBounds();
  void emitOffsetBounds();
  void emitSizeBounds();
  void emitBlock(Value block, Value expertIndex);
  void emitSegments();
  void packTokens(Value firstRow, Value size);
  void packTokenRow(Value token, Value source);
  void zeroTokenTile(Value token, Value from);
  void multiplyRows(const Segment &segment);
  void multiplyRowGroup(const Segment &segment, Value offset);
  void multiplyColumns(const Segment &segment);
  void multiplyColumnGroup(const Segment &segment, Value offset, bool tail);
  void storeRow(Value token, Value row);
  Value finish(Value token, Value column, Value scale);
  Value biased(Value token, Value accColumn, Value weightRow);
  Value activate(Value x);

  GroupedMatmulInterface op;
  const int64_t lanes;
  /// Weight rows (`nk`) or vectors of columns (`kn`) that one pass over K
  /// keeps in registers: as many registers as the wider vectors leave.
  const int64_t unroll;
  const bool isNK;
  const Gate gate;
  /// Columns of the result that one parallel iteration computes.
  const int64_t blockColumns;

  Value tokenTileSize;
  Value numExperts, numRows, contraction, weightRows, resultColumns;
  Value numTokens, numResultRows;
  /// K rounded up so that whole vectors can be read from the token tile.
  Value paddedContraction;
  Value bounds;
  // Of the current parallel iteration.
  Value expert, firstColumn, numColumns, tokenTile, accTile;
};
} // namespace

static Gate getGate(GroupedMatmulInterface op) {
  EpilogueAttr epilogue = op.getEpilogueAttr();
  return epilogue ? epilogue.getGate() : Gate::None;
}

GroupedMatmulEmitter::GroupedMatmulEmitter(RewriterBase &rewriter,
                                           GroupedMatmulInterface op,
                                           int64_t lanes)
    : LoopEmitter(rewriter, op), op(op), lanes(lanes),
      unroll(lanes >= 16 ? 2 : 1),
      isNK(op.getWeightLayout() == WeightLayout::NK), gate(getGate(op)),
      blockColumns(gate == Gate::None ? kBlockRows : kBlockRows / 2) {}

//===----------------------------------------------------------------------===//
// Small pieces
//===----------------------------------------------------------------------===//

Value GroupedMatmulEmitter::loadWeights(Value outer, Value inner) {
  auto weights = cast<MemRefType>(op.getWeights().getType());
  Type element = weights.getElementType();
  Value padding = arith::ConstantOp::create(b, b.getZeroAttr(element));
  auto map = AffineMap::getMinorIdentityMap(3, 1, b.getContext());
  return toF32(vector::TransferReadOp::create(
      b, VectorType::get(lanes, element), op.getWeights(),
      ValueRange{expert, outer, inner}, padding, map, ArrayRef<bool>{true}));
}

/// Element by element: a masked load of bf16 becomes calls of conversion
/// functions, which no library has, on a CPU without instructions for bf16.
Value GroupedMatmulEmitter::loadWeightTail(Value outer, Value inner,
                                           Value end) {
  SmallVector<Value> elements;
  Value last = sub(end, one), none = constantF32(0.0);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value position = add(inner, index(lane));
    Value element = loadF32(op.getWeights(),
                            ValueRange{expert, outer, minimum(position, last)});
    elements.push_back(
        arith::SelectOp::create(b, isBelow(position, end), element, none));
  }
  return vector::FromElementsOp::create(b, vectorType(), elements);
}

/// Leaves the choice of a fused instruction to the target: without one,
/// `math.fma` would call a function.
Value GroupedMatmulEmitter::multiplyAdd(Value lhs, Value rhs,
                                        Value accumulator) {
  auto contract = arith::FastMathFlags::contract;
  Value product = arith::MulFOp::create(b, lhs, rhs, contract);
  return arith::AddFOp::create(b, product, accumulator, contract);
}

//===----------------------------------------------------------------------===//
// Sizes and group bounds
//===----------------------------------------------------------------------===//

/// Sizes that several operands state agree when they are static, which the
/// verifier checks; of dynamic ones the smallest counts, so that no operand is
/// left however a caller got them wrong.
void GroupedMatmulEmitter::computeSizes() {
  Value tokens = op.getTokens(), weights = op.getWeights(), out = op.getInit();
  bool transposedTokens = op.hasTransposedTokens();
  bool transposedResult = op.hasTransposedResult();
  tokenTileSize = index(kTokenTile);

  numTokens = dim(tokens, transposedTokens ? 1 : 0);
  numResultRows = dim(out, transposedResult ? 1 : 0);
  numRows = op.getGather() ? dim(op.getGather(), 0) : numTokens;
  if (!op.getScatter())
    numRows = minimum(numRows, numResultRows);
  for (Value perRow : {Value(op.getScale()), Value(op.getScatter())})
    if (perRow)
      numRows = minimum(numRows, dim(perRow, 0));

  numExperts = dim(op.getGroups(), 0);
  if (op.getGroupKind() == GroupKind::Offsets)
    numExperts = b.createOrFold<arith::MaxSIOp>(sub(numExperts, one), zero);
  numExperts = minimum(numExperts, dim(weights, 0));
  contraction = minimum(dim(weights, isNK ? 2 : 1),
                        dim(tokens, transposedTokens ? 0 : 1));
  weightRows = dim(weights, isNK ? 1 : 2);
  resultColumns = dim(out, transposedResult ? 0 : 1);
  if (Value bias = op.getBias()) {
    numExperts = minimum(numExperts, dim(bias, 0));
    weightRows = minimum(weightRows, dim(bias, 1));
  }
  Value available = weightRows;
  if (gate != Gate::None)
    available = b.createOrFold<arith::DivUIOp>(weightRows, index(2));
  resultColumns = minimum(resultColumns, available);

  // Whole vectors, and one more that a tail may read.
  Value vectors = b.createOrFold<arith::DivUIOp>(
      add(contraction, index(lanes - 1)), index(lanes));
  paddedContraction = mul(vectors, index(lanes));
}

void GroupedMatmulEmitter::emitBounds() {
  bounds = memref::AllocOp::create(
      b, MemRefType::get({ShapedType::kDynamic}, b.getIndexType()),
      ValueRange{add(numExperts, one)});
  if (op.getGroupKind() == GroupKind::Offsets)
    emitOffsetBounds();
  else
    emitSizeBounds();
}

/// bounds[i] = max(bounds[i - 1], clamp(offsets[i], 0, R)).
void GroupedMatmulEmitter::emitOffsetBounds() {
  // A dynamic number of offsets may be 0, which leaves no expert: no entry is
  // read then.
  Value numBounds = minimum(add(numExperts, one), dim(op.getGroups(), 0));
  fold(zero, numBounds, zero, [&](Value i, ValueRange previous) {
    Value offset = minimum(loadIndex(op.getGroups(), i), numRows);
    Value bound = arith::MaxSIOp::create(b, offset, previous[0]);
    store(bound, bounds, i);
    return SmallVector<Value>{bound};
  });
}

/// bounds[i + 1] = min(bounds[i] + max(sizes[i], 0), R). A size is clamped
/// before it is added: the sum cannot overflow.
void GroupedMatmulEmitter::emitSizeBounds() {
  store(zero, bounds, zero);
  fold(zero, numExperts, zero, [&](Value i, ValueRange previous) {
    Value size = arith::MaxSIOp::create(b, loadIndex(op.getGroups(), i), zero);
    size = minimum(size, sub(numRows, previous[0]));
    Value bound = add(previous[0], size);
    store(bound, bounds, add(i, one));
    return SmallVector<Value>{bound};
  });
}

//===----------------------------------------------------------------------===//
// Parallel loop and token tiles
//===----------------------------------------------------------------------===//

void GroupedMatmulEmitter::emit() {
  computeSizes();
  emitBounds();
  Value numBlocks = b.createOrFold<arith::DivUIOp>(
      add(resultColumns, index(blockColumns - 1)), index(blockColumns));
  // Blocks outermost: a contiguous share of the iterations holds all experts,
  // so threads are busy alike however skewed the routing is.
  auto parallel = scf::ParallelOp::create(b, ValueRange{zero, zero},
                                          ValueRange{numBlocks, numExperts},
                                          ValueRange{one, one});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(parallel.getBody());
    emitBlock(parallel.getInductionVars()[0], parallel.getInductionVars()[1]);
  }
  memref::DeallocOp::create(b, bounds);
}

void GroupedMatmulEmitter::emitBlock(Value block, Value expertIndex) {
  expert = expertIndex;
  firstColumn = mul(block, index(blockColumns));
  numColumns = minimum(index(blockColumns), sub(resultColumns, firstColumn));
  Value begin = memref::LoadOp::create(b, bounds, ValueRange{expert});
  Value end = memref::LoadOp::create(b, bounds, ValueRange{add(expert, one)});
  ifThen(isBelow(begin, end), [&] {
    int64_t dynamic = ShapedType::kDynamic;
    SmallVector<int64_t> tileShape = {kTokenTile, dynamic};
    if (!isNK)
      std::swap(tileShape[0], tileShape[1]);
    tokenTile = memref::AllocOp::create(
        b, MemRefType::get(tileShape, b.getF32Type()),
        ValueRange{paddedContraction}, b.getI64IntegerAttr(64));
    accTile = memref::AllocOp::create(
        b, MemRefType::get({kTokenTile, kBlockRows}, b.getF32Type()),
        b.getI64IntegerAttr(64));
    loop(begin, end, tokenTileSize, [&](Value firstRow) {
      Value size = minimum(tokenTileSize, sub(end, firstRow));
      packTokens(firstRow, size);
      emitSegments();
      loop(zero, size, one,
           [&](Value token) { storeRow(token, add(firstRow, token)); });
    });
    memref::DeallocOp::create(b, accTile);
    memref::DeallocOp::create(b, tokenTile);
  });
}

/// Multiplies the token tile with the weight rows of this block.
void GroupedMatmulEmitter::emitSegments() {
  auto multiply = [&](int64_t accColumn, Value weightRow, Value size) {
    Segment segment{accColumn, weightRow, size};
    if (isNK)
      multiplyRows(segment);
    else
      multiplyColumns(segment);
  };
  Value two = index(2);
  switch (gate) {
  case Gate::None:
    return multiply(0, firstColumn, numColumns);
  case Gate::Interleaved:
    return multiply(0, mul(firstColumn, two), mul(numColumns, two));
  case Gate::Concat: {
    multiply(0, firstColumn, numColumns);
    Value half = b.createOrFold<arith::DivUIOp>(weightRows, two);
    return multiply(blockColumns, add(half, firstColumn), numColumns);
  }
  }
}

/// Fills the token tile with the tokens of `size` rows, starting at
/// `firstRow`, and with zeros below them.
void GroupedMatmulEmitter::packTokens(Value firstRow, Value size) {
  loop(zero, size, one, [&](Value token) {
    Value row = add(firstRow, token);
    if (!op.getGather())
      return packTokenRow(token, row);
    Value source = loadIndex(op.getGather(), row);
    ifThen(
        isWithin(source, numTokens), [&] { packTokenRow(token, source); },
        [&] { zeroTokenTile(token, zero); });
  });
  loop(size, tokenTileSize, one,
       [&](Value token) { zeroTokenTile(token, zero); });
}

void GroupedMatmulEmitter::packTokenRow(Value token, Value source) {
  loop(zero, contraction, one, [&](Value k) {
    SmallVector<Value> indices = {source, k};
    if (op.hasTransposedTokens())
      std::swap(indices[0], indices[1]);
    memref::StoreOp::create(b, loadF32(op.getTokens(), indices), tokenTile,
                            tileIndices(token, k));
  });
  zeroTokenTile(token, contraction);
}

/// Zeroes one token of the tile from element `from` on.
void GroupedMatmulEmitter::zeroTokenTile(Value token, Value from) {
  loop(from, paddedContraction, one, [&](Value k) {
    memref::StoreOp::create(b, constantF32(0.0), tokenTile,
                            tileIndices(token, k));
  });
}

//===----------------------------------------------------------------------===//
// nk weights: vectors along K, summed at the end
//===----------------------------------------------------------------------===//

void GroupedMatmulEmitter::multiplyRows(const Segment &segment) {
  loop(zero, segment.size, index(unroll),
       [&](Value offset) { multiplyRowGroup(segment, offset); });
}

/// `unroll` weight rows with all tokens of the tile.
void GroupedMatmulEmitter::multiplyRowGroup(const Segment &segment,
                                            Value offset) {
  // Beyond the last weight row, that row is computed again, into columns of the
  // accumulator tile that nobody reads: no branch in the loop over K.
  Value lastRow = sub(weightRows, one);
  SmallVector<Value> rows;
  for (int64_t u = 0; u < unroll; ++u)
    rows.push_back(
        minimum(add(segment.weightRow, add(offset, index(u))), lastRow));

  auto step = [&](Value k, ValueRange accumulators, bool tail) {
    SmallVector<Value> weights, sums;
    for (Value row : rows)
      weights.push_back(tail ? loadWeightTail(row, k, contraction)
                             : loadWeights(row, k));
    for (int64_t t = 0; t < kTokenTile; ++t) {
      Value token = vector::LoadOp::create(b, vectorType(), tokenTile,
                                           ValueRange{index(t), k});
      for (int64_t u = 0; u < unroll; ++u)
        sums.push_back(
            multiplyAdd(weights[u], token, accumulators[t * unroll + u]));
    }
    return sums;
  };
  Value wholeVectors = mul(
      b.createOrFold<arith::DivUIOp>(contraction, index(lanes)), index(lanes));
  SmallVector<Value> sums =
      fold(zero, wholeVectors, index(lanes), zeroVectors(kTokenTile * unroll),
           [&](Value k, ValueRange sums) { return step(k, sums, false); });
  // The tail, at most one vector; without one this loop has no iteration.
  sums = fold(wholeVectors, contraction, index(lanes), sums,
              [&](Value k, ValueRange sums) { return step(k, sums, true); });

  for (int64_t t = 0; t < kTokenTile; ++t)
    for (int64_t u = 0; u < unroll; ++u) {
      Value column = add(index(segment.accColumn + u), offset);
      // Lets the target add pairs instead of one lane after another; whatever
      // order it takes is compiled in, so runs agree.
      Value sum = vector::ReductionOp::create(b, vector::CombiningKind::ADD,
                                              sums[t * unroll + u],
                                              arith::FastMathFlags::reassoc);
      memref::StoreOp::create(b, sum, accTile, ValueRange{index(t), column});
    }
}

//===----------------------------------------------------------------------===//
// kn weights: vectors along N, tokens broadcast
//===----------------------------------------------------------------------===//

void GroupedMatmulEmitter::multiplyColumns(const Segment &segment) {
  Value step = index(unroll * lanes);
  loop(zero, segment.size, step, [&](Value offset) {
    Value end = add(add(segment.weightRow, offset), step);
    Value whole =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sle, end, weightRows);
    ifThen(
        whole, [&] { multiplyColumnGroup(segment, offset, /*tail=*/false); },
        [&] { multiplyColumnGroup(segment, offset, /*tail=*/true); });
  });
}

/// `unroll` vectors of weight columns with all tokens of the tile.
void GroupedMatmulEmitter::multiplyColumnGroup(const Segment &segment,
                                               Value offset, bool tail) {
  SmallVector<Value> columns;
  for (int64_t u = 0; u < unroll; ++u)
    columns.push_back(add(segment.weightRow, add(offset, index(u * lanes))));
  SmallVector<Value> sums = fold(
      zero, contraction, one, zeroVectors(kTokenTile * unroll),
      [&](Value k, ValueRange accumulators) {
        SmallVector<Value> weights, sums;
        for (Value column : columns)
          weights.push_back(tail ? loadWeightTail(k, column, weightRows)
                                 : loadWeights(k, column));
        for (int64_t t = 0; t < kTokenTile; ++t) {
          Value element =
              memref::LoadOp::create(b, tokenTile, ValueRange{k, index(t)});
          Value token = vector::BroadcastOp::create(b, vectorType(), element);
          for (int64_t u = 0; u < unroll; ++u)
            sums.push_back(
                multiplyAdd(weights[u], token, accumulators[t * unroll + u]));
        }
        return sums;
      });
  for (int64_t t = 0; t < kTokenTile; ++t)
    for (int64_t u = 0; u < unroll; ++u)
      vector::StoreOp::create(
          b, sums[t * unroll + u], accTile,
          ValueRange{index(t),
                     add(index(segment.accColumn + u * lanes), offset)});
}

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

/// Stores one row of the accumulator tile as result row `row`, or where
/// `scatter` says, or nowhere if that is outside the result.
void GroupedMatmulEmitter::storeRow(Value token, Value row) {
  Value scale;
  if (op.getScale())
    scale = loadF32(op.getScale(), ValueRange{row});
  Type type = cast<MemRefType>(op.getInit().getType()).getElementType();
  auto storeColumns = [&](Value target) {
    loop(zero, numColumns, one, [&](Value column) {
      SmallVector<Value> indices = {target, add(firstColumn, column)};
      if (op.hasTransposedResult())
        std::swap(indices[0], indices[1]);
      memref::StoreOp::create(b, fromF32(finish(token, column, scale), type),
                              op.getInit(), indices);
    });
  };
  if (!op.getScatter())
    return storeColumns(row);
  Value target = loadIndex(op.getScatter(), row);
  ifThen(isWithin(target, numResultRows), [&] { storeColumns(target); });
}

/// The f32 result in column `column` of this block.
Value GroupedMatmulEmitter::finish(Value token, Value column, Value scale) {
  Value resultColumn = add(firstColumn, column), result;
  switch (gate) {
  case Gate::None:
    result = activate(biased(token, column, resultColumn));
    break;
  case Gate::Concat: {
    Value half = b.createOrFold<arith::DivUIOp>(weightRows, index(2));
    Value g = activate(biased(token, column, resultColumn));
    Value u = biased(token, add(column, index(blockColumns)),
                     add(resultColumn, half));
    result = arith::MulFOp::create(b, g, u);
    break;
  }
  case Gate::Interleaved: {
    Value even = mul(column, index(2)), row = mul(resultColumn, index(2));
    Value g = activate(biased(token, even, row));
    Value u = biased(token, add(even, one), add(row, one));
    result = arith::MulFOp::create(b, g, u);
    break;
  }
  }
  return scale ? arith::MulFOp::create(b, result, scale) : result;
}

/// An element of the accumulator tile plus the bias of its weight row.
Value GroupedMatmulEmitter::biased(Value token, Value accColumn,
                                   Value weightRow) {
  Value value =
      memref::LoadOp::create(b, accTile, ValueRange{token, accColumn});
  if (!op.getBias())
    return value;
  return arith::AddFOp::create(
      b, value, loadF32(op.getBias(), ValueRange{expert, weightRow}));
}

/// The activation of the epilogue, as MoE_EpilogueAttr defines it.
Value GroupedMatmulEmitter::activate(Value x) {
  auto times = [&](Value lhs, Value rhs) -> Value {
    return arith::MulFOp::create(b, lhs, rhs);
  };
  auto plus = [&](Value lhs, Value rhs) -> Value {
    return arith::AddFOp::create(b, lhs, rhs);
  };
  EpilogueAttr epilogue = op.getEpilogueAttr();
  switch (epilogue ? epilogue.getActivation() : Activation::None) {
  case Activation::None:
    return x;
  case Activation::SiLU: {
    Value exp = math::ExpOp::create(b, arith::NegFOp::create(b, x));
    return arith::DivFOp::create(b, x, plus(constantF32(1.0), exp));
  }
  case Activation::GELU: {
    Value erf = math::ErfOp::create(
        b, times(x, constantF32(1.0 / llvm::numbers::sqrt2)));
    return times(times(x, constantF32(0.5)), plus(constantF32(1.0), erf));
  }
  case Activation::GELUTanh: {
    Value cube = times(times(x, x), times(x, constantF32(0.044715)));
    Value inner = times(plus(x, cube), constantF32(llvm::numbers::sqrt2 *
                                                   llvm::numbers::inv_sqrtpi));
    Value tanh = math::TanhOp::create(b, inner);
    return times(times(x, constantF32(0.5)), plus(constantF32(1.0), tanh));
  }
  case Activation::ReLU:
    return arith::MaximumFOp::create(b, x, constantF32(0.0));
  case Activation::ReLU2: {
    Value positive = arith::MaximumFOp::create(b, x, constantF32(0.0));
    return times(positive, positive);
  }
  }
  llvm_unreachable("unknown activation");
}

LogicalResult mlir::moe::lowerGroupedMatmul(RewriterBase &rewriter,
                                            GroupedMatmulInterface op,
                                            int64_t lanes) {
  if (!isa<MemRefType>(op.getInit().getType()))
    return rewriter.notifyMatchFailure(op, "is on tensors; bufferize it first");
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  GroupedMatmulEmitter(rewriter, op, lanes).emit();
  rewriter.eraseOp(op);
  return success();
}
