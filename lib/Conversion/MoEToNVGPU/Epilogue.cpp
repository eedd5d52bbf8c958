//===- Epilogue.cpp - what happens to a finished tile ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a thread's registers stand in the 64 x n result of a slab (PTX ISA,
// "Register Fragments for wgmma.mma_async", accumulator D): register
// 4 j + 2 h + c of lane l in warp w is
//
//   row    16 w + l / 4 + 8 h
//   column 8 j + 2 (l % 4) + c
//
// Swapped, rows are outputs and columns are tokens; unswapped the other way
// round. Every store is predicated: rows of other experts and outputs past the
// last one are computed and thrown away.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::moe;

namespace {

/// One value to be stored: output column `output` (i32) of the token row that
/// is being stored, `gate` and, if gated, `up` with their bias added.
struct OutputValue {
  Value output, gate, up;
};

class EpilogueBuilder {
public:
  EpilogueBuilder(KernelBuilder &b, const KernelPlan &plan,
                  const ThreadIds &ids, const WorkTile &tile, Value registers,
                  const EpilogueOperands &operands)
      : b(b), plan(plan), ids(ids), tile(tile), registers(registers),
        operands(operands) {}

  void create() {
    laneRow = b.divUnsigned(ids.lane, 4);
    laneColumn = b.mul(b.remUnsigned(ids.lane, 4), 2);
    Value warpRow = b.mul(b.remUnsigned(ids.warp, 4), 16);
    slabRow = b.add(warpRow, laneRow);
    groupRow = b.add(b.mul(ids.warpgroup, plan.warpgroupRows), slabRow);
    if (plan.isSwapped)
      createSwapped();
    else
      createUnswapped();
  }

private:
  void createSwapped();
  void createSwappedInterleaved();
  void createUnswapped();
  void createUnswappedRow(int64_t slab, int64_t half);

  Value getRegister(int64_t slab, int64_t j, int64_t half, int64_t column) {
    return LLVM::ExtractValueOp::create(
        b, registers, ArrayRef<int64_t>{slab, 4 * j + 2 * half + column});
  }

  Value getOwnOutput(Value row, Value output);
  Value loadBias(Value weightRow);
  Value addBias(Value value, Value bias) {
    return bias ? arith::AddFOp::create(b, value, bias).getResult() : value;
  }

  /// Stores the values that `getValues` makes as parts of the result row of
  /// token row `row` (i32), if that is one of the tile's expert.
  void storeRow(Value row,
                function_ref<void(Value rowPointer, Value scale)> storeValues);
  void storeValue(Value rowPointer, Value scale, const OutputValue &value);
  Value finishValue(const OutputValue &value, Value scale);
  Value getTileOutput() { return b.mul(tile.outputTile, plan.tileOutputs); }

  KernelBuilder &b;
  const KernelPlan &plan;
  const ThreadIds &ids;
  const WorkTile &tile;
  Value registers;
  const EpilogueOperands &operands;
  /// First row of this thread in the 16 rows of its warp, in a slab and in the
  /// tile, and its first column.
  Value laneRow, slabRow, groupRow, laneColumn;
};

} // namespace

/// `output`, which comes of row `row` of a warpgroup (i32), if that is one of
/// its own; else an output that is past the last and so is not stored.
Value EpilogueBuilder::getOwnOutput(Value row, Value output) {
  if (!plan.hasPartialSlab())
    return output;
  Value isOwn =
      b.compare(arith::CmpIPredicate::ult, row, b.i32(plan.warpgroupRows));
  return b.select(isOwn, output, b.i32(plan.resultColumns));
}

/// The bias of a weight row of the tile's expert. Rows past the last weight
/// row are not stored; they read the last one's bias.
Value EpilogueBuilder::loadBias(Value weightRow) {
  if (!operands.bias)
    return Value();
  Value row = b.minUnsigned(weightRow, b.i32(plan.weightRows - 1));
  Value first = arith::MulIOp::create(b, b.toI64Unsigned(tile.expert),
                                      b.i64(plan.weightRows));
  Value position = arith::AddIOp::create(b, first, b.toI64Unsigned(row));
  return b.toF32(GlobalArray{operands.bias, plan.biasType}.load(b, position));
}

Value EpilogueBuilder::finishValue(const OutputValue &value, Value scale) {
  Value result = createActivation(b, plan.activation, value.gate);
  if (value.up)
    result = arith::MulFOp::create(b, result, value.up);
  if (scale)
    result = arith::MulFOp::create(b, result, scale);
  return b.roundTo(plan.resultType, result);
}

void EpilogueBuilder::storeValue(Value rowPointer, Value scale,
                                 const OutputValue &value) {
  auto store = [&] {
    GlobalArray{rowPointer, plan.resultType}.store(b, finishValue(value, scale),
                                                   value.output);
  };
  if (!plan.hasPartialOutputs() && !plan.hasPartialSlab())
    return store();
  b.createIf(b.compare(arith::CmpIPredicate::ult, value.output,
                       b.i32(plan.resultColumns)),
             store);
}

void EpilogueBuilder::storeRow(Value row,
                               function_ref<void(Value, Value)> storeValues) {
  Value isOwn = b.compare(arith::CmpIPredicate::ult, row, tile.endRow);
  b.createIf(isOwn, [&] {
    auto storeAt = [&](Value resultRow) {
      Value scale;
      if (operands.scale)
        scale =
            b.toF32(GlobalArray{operands.scale, plan.scaleType}.load(b, row));
      Value first =
          arith::MulIOp::create(b, resultRow, b.i64(plan.resultColumns));
      Value rowPointer =
          GlobalArray{operands.result, plan.resultType}.getAddress(b, first);
      storeValues(rowPointer, scale);
    };
    if (!operands.scatter)
      return storeAt(b.toI64Unsigned(row));
    Value target = b.toI64Signed(
        GlobalArray{operands.scatter, plan.scatterType}.load(b, row));
    Value limit = b.toI64Unsigned(operands.numResultRows);
    b.createIf(b.compare(arith::CmpIPredicate::ult, target, limit),
               [&] { storeAt(target); });
  });
}

void EpilogueBuilder::createSwapped() {
  if (plan.gate == Gate::Interleaved)
    return createSwappedInterleaved();
  // With gate and up apart, the first half of a warpgroup's slabs are gate rows
  // and the second half the up rows of the same outputs.
  bool isGated = plan.isGated();
  int64_t outputSlabs = isGated ? plan.slabs / 2 : plan.slabs;
  int64_t outputRows = isGated ? plan.warpgroupRows / 2 : plan.warpgroupRows;
  Value warpgroupOutput = b.mul(ids.warpgroup, outputRows);
  Value firstOutput = b.add(b.add(getTileOutput(), warpgroupOutput), slabRow);

  struct Row {
    Value output, gateBias, upBias;
  };
  SmallVector<Row> rows;
  for (int64_t slab = 0; slab < outputSlabs; ++slab)
    for (int64_t half : {0, 1}) {
      int64_t distance = slab * kSlabRows + 8 * half;
      Value output = b.add(firstOutput, distance);
      Value upBias;
      if (isGated)
        upBias = loadBias(b.add(output, plan.resultColumns));
      rows.push_back({getOwnOutput(b.add(slabRow, distance), output),
                      loadBias(output), upBias});
    }
  for (int64_t j = 0; j < plan.n / 8; ++j)
    for (int64_t column : {0, 1}) {
      Value row = b.add(b.add(tile.firstRow, laneColumn), 8 * j + column);
      storeRow(row, [&](Value rowPointer, Value scale) {
        for (auto [i, info] : llvm::enumerate(rows)) {
          int64_t slab = i / 2, half = i % 2;
          OutputValue value;
          value.output = info.output;
          value.gate =
              addBias(getRegister(slab, j, half, column), info.gateBias);
          if (isGated)
            value.up = addBias(getRegister(slab + outputSlabs, j, half, column),
                               info.upBias);
          storeValue(rowPointer, scale, value);
        }
      });
    }
}

/// Gate and up of one output stand in neighbouring rows, four lanes apart.
/// Lanes of even rows take over the even column of the pair, those of odd rows
/// the odd one, so that one shuffle serves two outputs.
void EpilogueBuilder::createSwappedInterleaved() {
  Value isUp = b.compare(arith::CmpIPredicate::ne,
                         arith::AndIOp::create(b, laneRow, b.i32(1)), b.i32(0));
  Value ownColumn = b.select(isUp, b.i32(1), b.i32(0));
  Value tileRow = b.mul(tile.outputTile, plan.getTileRowStride());
  for (int64_t slab = 0; slab < plan.slabs; ++slab)
    for (int64_t half : {0, 1}) {
      int64_t distance = slab * kSlabRows + 8 * half;
      Value weightRow = b.add(b.add(tileRow, groupRow), distance);
      Value bias = loadBias(weightRow);
      Value output =
          getOwnOutput(b.add(slabRow, distance), b.divUnsigned(weightRow, 2));
      for (int64_t j = 0; j < plan.n / 8; ++j) {
        Value even = addBias(getRegister(slab, j, half, 0), bias);
        Value odd = addBias(getRegister(slab, j, half, 1), bias);
        Value received =
            b.shuffle(gpu::ShuffleMode::XOR, b.select(isUp, even, odd), 4);
        OutputValue value;
        value.output = output;
        value.gate = b.select(isUp, received, even);
        value.up = b.select(isUp, odd, received);
        Value row =
            b.add(b.add(b.add(tile.firstRow, laneColumn), 8 * j), ownColumn);
        storeRow(row, [&](Value rowPointer, Value scale) {
          storeValue(rowPointer, scale, value);
        });
      }
    }
}

void EpilogueBuilder::createUnswapped() {
  for (int64_t slab = 0; slab < plan.slabs; ++slab)
    for (int64_t half : {0, 1})
      createUnswappedRow(slab, half);
}

void EpilogueBuilder::createUnswappedRow(int64_t slab, int64_t half) {
  Value row =
      b.add(b.add(tile.firstRow, groupRow), slab * kSlabRows + 8 * half);
  Value tileRow = b.mul(tile.outputTile, plan.getTileRowStride());
  bool isConcat = plan.gate == Gate::Concat;
  bool isInterleaved = plan.gate == Gate::Interleaved;
  int64_t upDistance = plan.tileOutputs / 8;
  storeRow(row, [&](Value rowPointer, Value scale) {
    for (int64_t j = 0; j < plan.n / 8 / (isConcat ? 2 : 1); ++j) {
      for (int64_t column : {0, 1}) {
        Value weightRow = b.add(b.add(tileRow, laneColumn), 8 * j + column);
        OutputValue value;
        value.output = weightRow;
        value.gate =
            addBias(getRegister(slab, j, half, column), loadBias(weightRow));
        if (isConcat)
          value.up = addBias(getRegister(slab, j + upDistance, half, column),
                             loadBias(b.add(weightRow, plan.resultColumns)));
        if (isInterleaved) {
          value.up = addBias(getRegister(slab, j, half, 1),
                             loadBias(b.add(weightRow, 1)));
          value.output = b.divUnsigned(weightRow, 2);
        }
        storeValue(rowPointer, scale, value);
        if (isInterleaved)
          break;
      }
    }
  });
}

void mlir::moe::createEpilogue(KernelBuilder &b, const KernelPlan &plan,
                               const ThreadIds &ids, const WorkTile &tile,
                               Value registers,
                               const EpilogueOperands &operands) {
  EpilogueBuilder(b, plan, ids, tile, registers, operands).create();
}

/// x / (1 + exp(-y)): x times the logistic function of y.
static Value createLogisticProduct(ImplicitLocOpBuilder &b, Value x, Value y) {
  Value exponential = math::ExpOp::create(b, arith::NegFOp::create(b, y));
  Value one = arith::ConstantOp::create(b, b.getF32FloatAttr(1.0f));
  return arith::DivFOp::create(b, x,
                               arith::AddFOp::create(b, exponential, one));
}

Value mlir::moe::createActivation(ImplicitLocOpBuilder &b,
                                  Activation activation, Value x) {
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  switch (activation) {
  case Activation::None:
    return x;
  case Activation::SiLU:
    return createLogisticProduct(b, x, x);
  case Activation::GELU: {
    Value scaled = arith::MulFOp::create(b, x, constant(0.70710678118654752f));
    Value half = arith::MulFOp::create(b, x, constant(0.5f));
    Value erf = math::ErfOp::create(b, scaled);
    return arith::MulFOp::create(b, half,
                                 arith::AddFOp::create(b, erf, constant(1.0f)));
  }
  case Activation::GELUTanh: {
    // x/2 (1 + tanh u) = x / (1 + exp(-2 u)).
    Value square = arith::MulFOp::create(b, x, x);
    Value cubic = arith::MulFOp::create(b, square, constant(0.044715f));
    cubic = arith::AddFOp::create(b, cubic, constant(1.0f));
    Value twice = arith::MulFOp::create(b, x, constant(1.5957691216057308f));
    return createLogisticProduct(b, x, arith::MulFOp::create(b, twice, cubic));
  }
  case Activation::ReLU:
    return arith::MaximumFOp::create(b, x, constant(0.0f));
  case Activation::ReLU2: {
    Value positive = arith::MaximumFOp::create(b, x, constant(0.0f));
    return arith::MulFOp::create(b, positive, positive);
  }
  }
  llvm_unreachable("unknown activation");
}
