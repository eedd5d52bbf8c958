//===- GroupedMatmulKernel.cpp - one launch a grouped matmul --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A persistent kernel: every block takes tiles from a queue until there are
// none. In a block, one warpgroup produces and the others consume, through a
// ring of stages:
//
//   warp 0     init barriers |
//   all                      | barrier, wait for the kernels ahead of it
//   producer                 | group table, load 0  load 1  (waits: empty)
//                            |              take the next tile
//   consumers                |                mma 0   mma 1   ...  | store tile
//                            |                        release 0   (waits: full)
//
// The producer runs ahead over the ends of tiles, so the loads of the next tile
// are under way while a consumer still stores the last one.
//
//===----------------------------------------------------------------------===//

#include "GroupedMatmulKernel.h"

#include "KernelBuilder.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::moe;

/// Registers a thread for producers; for consumers by their number of
/// warpgroups. 128 threads a warpgroup share the 64 K registers of an SM, in
/// steps of 8 registers a thread.
static constexpr int64_t kProducerRegisters = 40;
static int64_t getConsumerRegisters(int64_t warpgroups) {
  return warpgroups < 3 ? 232 : 152;
}

namespace {

/// The arguments of the kernel by name.
struct KernelArguments {
  Value weightMap;
  /// One for each token tile, or one for all.
  SmallVector<Value> tokenMaps;
  Value groups, gather, numRows;
  EpilogueOperands epilogue;

  Value getTokenMap(size_t tokenTile) const {
    return tokenMaps.size() == 1 ? tokenMaps.front() : tokenMaps[tokenTile];
  }
};

class GroupedMatmulKernelBuilder {
public:
  GroupedMatmulKernelBuilder(KernelBuilder &b, const KernelPlan &plan)
      : b(b), plan(plan) {
    for (int64_t tokens : plan.getTokenTiles())
      tilePlans.push_back(plan.withTokenTile(tokens));
  }

  LLVM::LLVMFuncOp create(StringRef name);

private:
  LLVM::LLVMFuncOp createFunction(StringRef name);
  KernelArguments readArguments(LLVM::LLVMFuncOp function);
  void createPrologue(const ThreadIds &ids, const KernelArguments &args,
                      const Ring &ring);
  void createProducer(const ThreadIds &ids, const KernelArguments &kernelArgs,
                      Value shared, const Ring &ring, const GroupTable &table,
                      const TileQueue &queue);
  RingPosition createTileOfProducer(const Ring &ring, const WorkTile &tile,
                                    RingPosition position,
                                    const OperandStreams &streams);
  void createConsumer(const ThreadIds &ids, const KernelArguments &kernelArgs,
                      Value shared, const Ring &ring);
  RingPosition createTileOfConsumer(const KernelPlan &tilePlan,
                                    const ThreadIds &ids, const Ring &ring,
                                    const WorkTile &tile, RingPosition position,
                                    const Accumulator &accumulator,
                                    const EpilogueOperands &operands);

  /// Emits for each token tile what `body` makes of its number and plan, and
  /// runs that of the first that holds the tokens of `tile`.
  RingPosition
  createForTokens(const WorkTile &tile,
                  function_ref<RingPosition(size_t, const KernelPlan &)> body,
                  size_t first = 0);

  /// By one thread of a warp, or where a gather takes the whole warp (which
  /// `lane` is of) by its first lane: emits `body`, which makes an i32, and
  /// hands that to all.
  Value createOnce(Value lane, function_ref<Value()> body);

  KernelBuilder &b;
  const KernelPlan &plan;
  /// The plan for each token tile.
  SmallVector<KernelPlan, 0> tilePlans;
};

} // namespace

LLVM::LLVMFuncOp GroupedMatmulKernelBuilder::createFunction(StringRef name) {
  MLIRContext *context = b.getContext();
  Type generic = LLVM::LLVMPointerType::get(context);
  Type global = b.getGlobalPointerType();
  size_t numMaps = 1 + plan.getTokenMapTiles().size();
  SmallVector<Type> parameters(numMaps, generic);
  parameters.push_back(global);
  parameters.append(!!plan.biasType + !!plan.gatherType + !!plan.scaleType +
                        !!plan.scatterType + 1,
                    global);
  parameters.append(plan.scatterType ? 2 : 1, b.getI32Type());
  // All that the kernel has a pointer to is read-only, but for the result.
  int64_t numPointers = llvm::count(parameters, global);
  LLVM::LLVMFuncOp function = createKernelFunction(
      b, name, parameters, numPointers - 1, plan.getNumThreads());
  // Tensor maps are parameters by value, 128 bytes each, that TMA reads where
  // they are; gpu.func cannot say so, hence an llvm.func.
  Type map = LLVM::LLVMArrayType::get(b.getI8Type(), 128);
  for (size_t i = 0; i < numMaps; ++i) {
    function.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(),
                        TypeAttr::get(map));
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(64));
    function.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(),
                        b.getUnitAttr());
  }
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    b.getI32IntegerAttr(1));
  return function;
}

KernelArguments
GroupedMatmulKernelBuilder::readArguments(LLVM::LLVMFuncOp function) {
  KernelArguments args;
  unsigned next = 0;
  auto take = [&] { return function.getArgument(next++); };
  auto takeMap = [&](const OperandTile &tile, bool hasExpertDimension) {
    Type type = getTensorMapType(tile, plan.elementType, hasExpertDimension);
    return UnrealizedConversionCastOp::create(b, type, take()).getResult(0);
  };
  args.weightMap = takeMap(plan.getWeightTile(), /*hasExpertDimension=*/true);
  for (const OperandTile &tile : plan.getTokenMapTiles())
    args.tokenMaps.push_back(takeMap(tile, /*hasExpertDimension=*/false));
  args.groups = take();
  if (plan.biasType)
    args.epilogue.bias = take();
  if (plan.gatherType)
    args.gather = take();
  if (plan.scaleType)
    args.epilogue.scale = take();
  if (plan.scatterType)
    args.epilogue.scatter = take();
  args.epilogue.result = take();
  args.numRows = take();
  if (plan.scatterType)
    args.epilogue.numResultRows = take();
  return args;
}

void GroupedMatmulKernelBuilder::createPrologue(const ThreadIds &ids,
                                                const KernelArguments &args,
                                                const Ring &ring) {
  Value isFirstWarp = b.compare(arith::CmpIPredicate::eq, ids.warp, b.i32(0));
  b.createIf(isFirstWarp, [&] {
    b.createIf(NVVM::ElectSyncOp::create(b, b.getI1Type(), Value()), [&] {
      nvgpu::TmaPrefetchOp::create(b, args.weightMap, Value());
      for (Value map : args.tokenMaps)
        nvgpu::TmaPrefetchOp::create(b, map, Value());
      ring.initBarriers(b);
    });
  });
  // What comes before the wait overlaps the kernel ahead.
  gpu::BarrierOp::create(b);
  createDependencyWait(b);
}

Value GroupedMatmulKernelBuilder::createOnce(Value lane,
                                             function_ref<Value()> body) {
  if (!plan.gatherType)
    return body();
  Value isFirst = b.compare(arith::CmpIPredicate::eq, lane, b.i32(0));
  auto ifOp = scf::IfOp::create(b, b.getI32Type(), isFirst,
                                /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(b, b.i32(0));
  b.setInsertionPointToStart(ifOp.thenBlock());
  scf::YieldOp::create(b, body());
  b.setInsertionPointAfter(ifOp);
  return b.shuffle(gpu::ShuffleMode::IDX, ifOp.getResult(0), 0);
}

RingPosition GroupedMatmulKernelBuilder::createForTokens(
    const WorkTile &tile,
    function_ref<RingPosition(size_t, const KernelPlan &)> body, size_t first) {
  const KernelPlan &tilePlan = tilePlans[first];
  if (first + 1 == tilePlans.size())
    return body(first, tilePlan);
  Value tokens = b.sub(tile.endRow, tile.firstRow);
  Value isHeld = b.compare(arith::CmpIPredicate::ule, tokens,
                           b.i32(tilePlan.getTokenTile().extent));
  SmallVector<Type> types(2, b.getI32Type());
  auto ifOp = scf::IfOp::create(b, types, isHeld, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  auto yield = [&](RingPosition position) {
    scf::YieldOp::create(b, ValueRange{position.stage, position.phase});
  };
  b.setInsertionPointToStart(ifOp.thenBlock());
  yield(body(first, tilePlan));
  b.setInsertionPointToStart(ifOp.elseBlock());
  yield(createForTokens(tile, body, first + 1));
  return {ifOp.getResult(0), ifOp.getResult(1)};
}

RingPosition GroupedMatmulKernelBuilder::createTileOfProducer(
    const Ring &ring, const WorkTile &tile, RingPosition position,
    const OperandStreams &streams) {
  SmallVector<Value> tokenRows = streams.getTokenRows(b, tile);
  auto loop = scf::ForOp::create(b, b.i32(0), b.i32(plan.kSteps), b.i32(1),
                                 ValueRange{position.stage, position.phase});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  RingPosition at = {loop.getRegionIterArg(0), loop.getRegionIterArg(1)};
  streams.load(b, ring, at, tile, tokenRows, loop.getInductionVar());
  RingPosition next = ring.advance(b, at);
  scf::YieldOp::create(b, ValueRange{next.stage, next.phase});
  return {loop.getResult(0), loop.getResult(1)};
}

void GroupedMatmulKernelBuilder::createProducer(
    const ThreadIds &ids, const KernelArguments &kernelArgs, Value shared,
    const Ring &ring, const GroupTable &table, const TileQueue &queue) {
  auto produce = [&] {
    Value numTiles = table.getNumTiles(b);
    RingPosition start = ring.getProducerStart(b);
    SmallVector<Value> carried = {queue.getFirst(b), start.stage, start.phase};
    auto loop = scf::WhileOp::create(
        b, ValueRange(carried).getTypes(), carried,
        [&](OpBuilder &, Location, ValueRange args) {
          Value isTile =
              b.compare(arith::CmpIPredicate::ult, args[0], numTiles);
          scf::ConditionOp::create(b, isTile, args);
        },
        [&](OpBuilder &, Location, ValueRange args) {
          // Asked for now and needed after this tile's loads, the next tile
          // costs no wait.
          Value next =
              createOnce(ids.lane, [&] { return queue.takeNext(b, numTiles); });
          WorkTile tile = table.getTile(b, args[0]);
          RingPosition end =
              createForTokens(tile, [&](size_t i, const KernelPlan &tilePlan) {
                OperandStreams streams(tilePlan, shared, kernelArgs.weightMap,
                                       kernelArgs.getTokenMap(i),
                                       kernelArgs.gather, kernelArgs.numRows,
                                       ids.lane);
                return createTileOfProducer(ring, tile, {args[1], args[2]},
                                            streams);
              });
          scf::YieldOp::create(b, ValueRange{next, end.stage, end.phase});
        });
    RingPosition end = {loop.getResult(1), loop.getResult(2)};
    ring.waitEmpty(b, end);
    auto announceEnd = [&] { ring.announceEnd(b, end); };
    if (!plan.gatherType)
      return announceEnd();
    b.createIf(b.compare(arith::CmpIPredicate::eq, ids.lane, b.i32(0)),
               announceEnd);
  };
  Value warp = b.i32(plan.warpgroups * (kWarpgroupThreads / kWarpThreads));
  b.createIf(b.compare(arith::CmpIPredicate::eq, ids.warp, warp), [&] {
    table.build(b, kernelArgs.groups, kernelArgs.numRows, ids.lane);
    // A gather takes all lanes of the warp, one row each.
    if (plan.gatherType)
      return produce();
    b.createIf(NVVM::ElectSyncOp::create(b, b.getI1Type(), Value()), produce);
  });
}

RingPosition GroupedMatmulKernelBuilder::createTileOfConsumer(
    const KernelPlan &tilePlan, const ThreadIds &ids, const Ring &ring,
    const WorkTile &tile, RingPosition position, const Accumulator &accumulator,
    const EpilogueOperands &operands) {
  Value isLeader = b.compare(arith::CmpIPredicate::eq, ids.lane, b.i32(0));
  auto loop = scf::ForOp::create(
      b, b.i32(0), b.i32(plan.kSteps), b.i32(1),
      ValueRange{accumulator.createZero(b), position.stage, position.phase});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    RingPosition at = {loop.getRegionIterArg(1), loop.getRegionIterArg(2)};
    ring.waitFull(b, at);
    Value sum = accumulator.multiply(b, ring, at, ids.warpgroup,
                                     loop.getRegionIterArg(0));
    // This step may still be running; the one before is done.
    Value hasPrevious =
        b.compare(arith::CmpIPredicate::ne, loop.getInductionVar(), b.i32(0));
    b.createIf(b.logicalAnd(isLeader, hasPrevious),
               [&] { ring.releasePrevious(b, at); });
    RingPosition next = ring.advance(b, at);
    scf::YieldOp::create(b, ValueRange{sum, next.stage, next.phase});
  }
  RingPosition end = {loop.getResult(1), loop.getResult(2)};
  Value registers = accumulator.finish(b, loop.getResult(0));
  b.createIf(isLeader, [&] { ring.releasePrevious(b, end); });
  createEpilogue(b, tilePlan, ids, tile, registers, operands);
  return end;
}

void GroupedMatmulKernelBuilder::createConsumer(
    const ThreadIds &ids, const KernelArguments &kernelArgs, Value shared,
    const Ring &ring) {
  RingPosition start = ring.getConsumerStart(b);
  SmallVector<Value> position = {start.stage, start.phase};
  SmallVector<Type> types(6, b.getI32Type());
  scf::WhileOp::create(
      b, types, position,
      [&](OpBuilder &, Location, ValueRange args) {
        RingPosition at = {args[0], args[1]};
        ring.waitFull(b, at);
        auto [tile, isTile] = ring.getTile(b, at, ids.lane);
        scf::ConditionOp::create(b, isTile,
                                 ValueRange{tile.expert, tile.firstRow,
                                            tile.endRow, tile.outputTile,
                                            at.stage, at.phase});
      },
      [&](OpBuilder &, Location, ValueRange args) {
        WorkTile tile = {args[0], args[1], args[2], args[3]};
        RingPosition end =
            createForTokens(tile, [&](size_t i, const KernelPlan &tilePlan) {
              Value mapA = kernelArgs.weightMap,
                    mapB = kernelArgs.getTokenMap(i);
              if (!plan.isSwapped)
                std::swap(mapA, mapB);
              return createTileOfConsumer(
                  tilePlan, ids, ring, tile, {args[4], args[5]},
                  Accumulator(tilePlan, shared, mapA, mapB),
                  kernelArgs.epilogue);
            });
        scf::YieldOp::create(b, ValueRange{end.stage, end.phase});
      });
}

LLVM::LLVMFuncOp GroupedMatmulKernelBuilder::create(StringRef name) {
  TileQueue queue(TileQueue::createCounter(b, (name + "_counter").str()));
  LLVM::LLVMFuncOp function = createFunction(name);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(function.addEntryBlock(b));
  KernelArguments args = readArguments(function);
  Value shared = memref::GetGlobalOp::create(
      b, b.sharedType({0}, b.getI8Type()), kSharedMemoryName);
  ThreadIds ids(b);
  Ring ring(b, plan, shared);
  GroupTable table(b, plan, shared);
  createDependentsLaunch(b);
  createPrologue(ids, args, ring);

  Value isProducer = b.compare(arith::CmpIPredicate::eq, ids.warpgroup,
                               b.i32(plan.warpgroups));
  auto roles = scf::IfOp::create(b, isProducer, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard roleGuard(b);
    b.setInsertionPointToStart(roles.thenBlock());
    NVVM::SetMaxRegisterOp::create(b, kProducerRegisters,
                                   NVVM::SetMaxRegisterAction::decrease);
    createProducer(ids, args, shared, ring, table, queue);
    b.setInsertionPointToStart(roles.elseBlock());
    NVVM::SetMaxRegisterOp::create(b, getConsumerRegisters(plan.warpgroups),
                                   NVVM::SetMaxRegisterAction::increase);
    createConsumer(ids, args, shared, ring);
  }
  LLVM::ReturnOp::create(b, ValueRange());
  return function;
}

LLVM::LLVMFuncOp mlir::moe::createGroupedMatmulKernel(KernelBuilder &b,
                                                      const KernelPlan &plan,
                                                      StringRef name) {
  return GroupedMatmulKernelBuilder(b, plan).create(name);
}

void mlir::moe::createSharedMemory(OpBuilder &builder, Location loc) {
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(),
                                          gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get({0}, builder.getI8Type(),
                              MemRefLayoutAttrInterface(), space);
  memref::GlobalOp::create(builder, loc, kSharedMemoryName,
                           /*sym_visibility=*/StringAttr(), type,
                           /*initial_value=*/Attribute(), /*constant=*/false,
                           builder.getI64IntegerAttr(1024));
}
