//===- LayerKernels.cpp - the small kernels of a layer --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayerKernels.h"

#include "GroupedMatmulKernel.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::moe;

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

namespace {

/// One thread an expert, 1024 experts a round. A thread counts the pairs of its
/// expert, the block sums up the counts before it, and the thread goes over the
/// pairs again and gives them their rows: in the order of the pairs, without
/// atomics. All threads read the same pair at a time.
class DispatchKernelBuilder {
public:
  DispatchKernelBuilder(KernelBuilder &b, LLVM::LLVMFuncOp function,
                        IntegerType indexType, int64_t numExperts, int64_t topK)
      : b(b), numExperts(numExperts), topK(topK) {
    auto array = [&](unsigned i, Type element) {
      return GlobalArray{function.getArgument(i), element};
    };
    indices = array(0, indexType);
    tokenOfRow = array(1, b.getI32Type());
    rowOfPair = array(2, b.getI32Type());
    offsets = array(3, b.getI32Type());
    numPairs = function.getArgument(4);
  }

  void create();

private:
  /// Emits a loop over the pairs that carries an i32; `body` gets the pair,
  /// whether it is one of `expert`, and the carried value.
  Value createPairLoop(Value expert, Value initial,
                       function_ref<Value(Value, Value, Value)> body);
  /// Number of pairs of the experts before this thread's, and of all of the
  /// round.
  std::pair<Value, Value> createBlockScan(Value count);
  void createTail(Value endRow);
  Value isIndex(Value index, Value expert);

  KernelBuilder &b;
  int64_t numExperts, topK;
  GlobalArray indices, tokenOfRow, rowOfPair, offsets;
  Value numPairs, thread, lane, warp, warpSums;
};

} // namespace

Value DispatchKernelBuilder::isIndex(Value index, Value expert) {
  if (index.getType() != expert.getType())
    expert = arith::ExtUIOp::create(b, index.getType(), expert);
  return b.compare(arith::CmpIPredicate::eq, index, expert);
}

Value DispatchKernelBuilder::createPairLoop(
    Value expert, Value initial,
    function_ref<Value(Value, Value, Value)> body) {
  auto loop = scf::ForOp::create(b, b.i32(0), numPairs, b.i32(1), initial);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value pair = loop.getInductionVar();
  Value isOwn = isIndex(indices.load(b, pair), expert);
  scf::YieldOp::create(b, body(pair, isOwn, loop.getRegionIterArg(0)));
  return loop.getResult(0);
}

/// Inclusive sum over the lanes of a warp.
static Value createWarpSum(KernelBuilder &b, Value value, Value lane) {
  return createWarpScan(b, value, lane,
                        [&](Value lhs, Value rhs) { return b.add(lhs, rhs); });
}

std::pair<Value, Value> DispatchKernelBuilder::createBlockScan(Value count) {
  Value inWarp = createWarpSum(b, count, lane);
  auto isEqual = [&](Value lhs, int64_t rhs) {
    return b.compare(arith::CmpIPredicate::eq, lhs, b.i32(rhs));
  };
  // The round before may still be reading the sums.
  gpu::BarrierOp::create(b);
  b.createIf(isEqual(lane, kWarpThreads - 1), [&] {
    memref::StoreOp::create(b, inWarp, warpSums, b.toIndex(warp));
  });
  gpu::BarrierOp::create(b);
  b.createIf(isEqual(warp, 0), [&] {
    Value position = b.toIndex(lane);
    Value sum = memref::LoadOp::create(b, warpSums, position);
    memref::StoreOp::create(b, createWarpSum(b, sum, lane), warpSums, position);
  });
  gpu::BarrierOp::create(b);
  Value isFirstWarp = isEqual(warp, 0);
  Value previous = b.select(isFirstWarp, b.i32(0), b.sub(warp, b.i32(1)));
  Value before = memref::LoadOp::create(b, warpSums, b.toIndex(previous));
  before = b.select(isFirstWarp, b.i32(0), before);
  Value total = memref::LoadOp::create(
      b, warpSums, b.index(kDispatchThreads / kWarpThreads - 1));
  return {b.sub(b.add(before, inWarp), count), total};
}

/// Marks rows that hold no pair and pairs that have no row.
void DispatchKernelBuilder::createTail(Value endRow) {
  Value none = b.i32(-1);
  Value step = b.i32(kDispatchThreads);
  auto createLoop = [&](Value first, function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(b, first, numPairs, step);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  };
  createLoop(b.add(endRow, thread),
             [&](Value row) { tokenOfRow.store(b, none, row); });
  createLoop(thread, [&](Value pair) {
    Value index = indices.load(b, pair);
    Value limit = arith::ConstantIntOp::create(
        b, numExperts, cast<IntegerType>(index.getType()).getWidth());
    b.createIf(b.compare(arith::CmpIPredicate::uge, index, limit),
               [&] { rowOfPair.store(b, none, pair); });
  });
}

void DispatchKernelBuilder::create() {
  ThreadIds ids(b);
  thread = ids.thread;
  lane = ids.lane;
  warp = ids.warp;
  Value shared = memref::GetGlobalOp::create(
      b, b.sharedType({0}, b.getI8Type()), kSharedMemoryName);
  warpSums = b.sharedView(shared, b.index(0), {kDispatchThreads / kWarpThreads},
                          b.getI32Type());
  int64_t rounds = llvm::divideCeil(numExperts, kDispatchThreads);
  auto loop = scf::ForOp::create(b, b.i32(0), b.i32(rounds), b.i32(1),
                                 ValueRange{b.i32(0)});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value expert =
        b.add(b.mul(loop.getInductionVar(), kDispatchThreads), thread);
    Value count = createPairLoop(
        expert, b.i32(0), [&](Value pair, Value isOwn, Value sum) -> Value {
          return b.add(sum, arith::ExtUIOp::create(b, b.getI32Type(), isOwn));
        });
    // Threads behind the last expert have no pairs: indices are below E.
    Value isExpert =
        b.compare(arith::CmpIPredicate::ult, expert, b.i32(numExperts));
    count = b.select(isExpert, count, b.i32(0));
    auto [before, total] = createBlockScan(count);
    Value first = b.add(loop.getRegionIterArg(0), before);
    b.createIf(isExpert, [&] {
      offsets.store(b, first, expert);
      createPairLoop(
          expert, first, [&](Value pair, Value isOwn, Value row) -> Value {
            b.createIf(isOwn, [&] {
              tokenOfRow.store(b, b.divUnsigned(pair, topK), row);
              rowOfPair.store(b, row, pair);
            });
            return b.add(row, arith::ExtUIOp::create(b, b.getI32Type(), isOwn));
          });
    });
    scf::YieldOp::create(b, b.add(loop.getRegionIterArg(0), total));
  }
  Value endRow = loop.getResult(0);
  b.createIf(b.compare(arith::CmpIPredicate::eq, thread, b.i32(0)),
             [&] { offsets.store(b, endRow, b.i32(numExperts)); });
  createTail(endRow);
}

LLVM::LLVMFuncOp mlir::moe::createDispatchKernel(KernelBuilder &b,
                                                 StringRef name,
                                                 IntegerType indexType,
                                                 int64_t numExperts,
                                                 int64_t topK) {
  Type pointer = b.getGlobalPointerType();
  LLVM::LLVMFuncOp function = createKernelFunction(
      b, name, {pointer, pointer, pointer, pointer, b.getI32Type()},
      /*numReadOnly=*/1, kDispatchThreads);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(function.addEntryBlock(b));
  createDependentsLaunch(b);
  createDependencyWait(b);
  DispatchKernelBuilder(b, function, indexType, numExperts, topK).create();
  LLVM::ReturnOp::create(b, ValueRange());
  return function;
}

//===----------------------------------------------------------------------===//
// Pointwise kernels
//===----------------------------------------------------------------------===//

/// A kernel of one thread an element. `parameters` are pointers, the first
/// `numReadOnly` of them read-only, then `numExtra` i64, then the number of
/// elements (i64). `body` gets the arguments and the element's position (i64).
static LLVM::LLVMFuncOp
createPointwiseKernel(KernelBuilder &b, StringRef name, int64_t numPointers,
                      int64_t numReadOnly, int64_t numExtra,
                      function_ref<void(ValueRange, Value)> body) {
  SmallVector<Type> parameters(numPointers, b.getGlobalPointerType());
  parameters.append(numExtra + 1, b.getI64Type());
  LLVM::LLVMFuncOp function =
      createKernelFunction(b, name, parameters, numReadOnly, kPointwiseThreads);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(function.addEntryBlock(b));
  createDependentsLaunch(b);
  createDependencyWait(b);
  Value block = NVVM::BlockIdXOp::create(b, b.getI32Type());
  Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  Value position =
      arith::AddIOp::create(b,
                            arith::MulIOp::create(b, b.toI64Unsigned(block),
                                                  b.i64(kPointwiseThreads)),
                            b.toI64Unsigned(thread));
  SmallVector<Value> arguments(function.getArguments());
  b.createIf(b.compare(arith::CmpIPredicate::ult, position, arguments.back()),
             [&] { body(arguments, position); });
  LLVM::ReturnOp::create(b, ValueRange());
  return function;
}

LLVM::LLVMFuncOp mlir::moe::createCombineKernel(KernelBuilder &b,
                                                StringRef name,
                                                const CombineShape &shape) {
  int64_t numReadOnly = shape.weights ? 3 : 2;
  return createPointwiseKernel(
      b, name, /*numPointers=*/numReadOnly + 1, numReadOnly, /*numExtra=*/1,
      [&](ValueRange args, Value position) {
        GlobalArray rows{args[0], shape.rows};
        GlobalArray rowOfPair{args[1], shape.index};
        GlobalArray result{args[numReadOnly], shape.result};
        Value numRows = args[numReadOnly + 1];
        Value columns = b.i64(shape.columns);
        Value token = arith::DivUIOp::create(b, position, columns);
        Value column = arith::RemUIOp::create(b, position, columns);
        Value firstPair = arith::MulIOp::create(b, token, b.i64(shape.topK));
        Value zero = b.f32(0);
        auto loop =
            scf::ForOp::create(b, b.i64(0), b.i64(shape.topK), b.i64(1), zero);
        {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(loop.getBody());
          Value sum = loop.getRegionIterArg(0);
          Value pair =
              arith::AddIOp::create(b, firstPair, loop.getInductionVar());
          Value row = b.toI64Signed(rowOfPair.load(b, pair));
          // Negative rows are large unsigned ones.
          Value isRow = b.compare(arith::CmpIPredicate::ult, row, numRows);
          auto ifOp = scf::IfOp::create(b, b.getF32Type(), isRow,
                                        /*withElseRegion=*/true);
          OpBuilder::InsertionGuard branch(b);
          b.setInsertionPointToStart(ifOp.elseBlock());
          scf::YieldOp::create(b, sum);
          b.setInsertionPointToStart(ifOp.thenBlock());
          Value at = arith::AddIOp::create(
              b, arith::MulIOp::create(b, row, columns), column);
          Value value = b.toF32(rows.load(b, at));
          if (shape.weights)
            value = arith::MulFOp::create(
                b, value,
                b.toF32(GlobalArray{args[2], shape.weights}.load(b, pair)));
          scf::YieldOp::create(
              b, arith::AddFOp::create(b, sum, value).getResult());
          b.setInsertionPointToEnd(loop.getBody());
          scf::YieldOp::create(b, ifOp.getResult(0));
        }
        result.store(b, b.roundTo(shape.result, loop.getResult(0)), position);
      });
}

LLVM::LLVMFuncOp mlir::moe::createGatherKernel(KernelBuilder &b, StringRef name,
                                               FloatType element,
                                               IntegerType index,
                                               int64_t columns) {
  return createPointwiseKernel(
      b, name, /*numPointers=*/3, /*numReadOnly=*/2, /*numExtra=*/1,
      [&](ValueRange args, Value position) {
        GlobalArray tokens{args[0], element}, gather{args[1], index};
        Value numColumns = b.i64(columns);
        Value row = arith::DivUIOp::create(b, position, numColumns);
        Value column = arith::RemUIOp::create(b, position, numColumns);
        Value token = b.toI64Signed(gather.load(b, row));
        // Negative indices are large unsigned ones.
        Value isToken = b.compare(arith::CmpIPredicate::ult, token, args[3]);
        auto ifOp = scf::IfOp::create(b, element, isToken,
                                      /*withElseRegion=*/true);
        {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(ifOp.elseBlock());
          scf::YieldOp::create(
              b, arith::ConstantOp::create(b, b.getFloatAttr(element, 0))
                     .getResult());
          b.setInsertionPointToStart(ifOp.thenBlock());
          Value at = arith::AddIOp::create(
              b, arith::MulIOp::create(b, token, numColumns), column);
          scf::YieldOp::create(b, tokens.load(b, at));
        }
        GlobalArray{args[2], element}.store(b, ifOp.getResult(0), position);
      });
}

LLVM::LLVMFuncOp mlir::moe::createFillKernel(KernelBuilder &b, StringRef name,
                                             TypedAttr value) {
  return createPointwiseKernel(
      b, name, /*numPointers=*/1, /*numReadOnly=*/0, /*numExtra=*/0,
      [&](ValueRange args, Value position) {
        GlobalArray{args[0], value.getType()}.store(
            b, arith::ConstantOp::create(b, value), position);
      });
}

LLVM::LLVMFuncOp mlir::moe::createCopyKernel(KernelBuilder &b, StringRef name,
                                             Type type) {
  return createPointwiseKernel(
      b, name, /*numPointers=*/2, /*numReadOnly=*/1, /*numExtra=*/0,
      [&](ValueRange args, Value position) {
        Value value = GlobalArray{args[0], type}.load(b, position);
        GlobalArray{args[1], type}.store(b, value, position);
      });
}
