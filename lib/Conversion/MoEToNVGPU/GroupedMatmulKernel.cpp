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
// A kernel whose schedule has a part for large groups does all of this twice,
// in two phases: their tiles come first in the queue, and then those of the
// other groups. Each phase has a ring of its own, with its own barriers, but
// both rings have their stages in the same memory. A block goes on to the
// second when its next tile belongs there and all stages of the first have been
// given back.
//
//===----------------------------------------------------------------------===//

#include "GroupedMatmulKernel.h"

#include "KernelBuilder.h"

#include "moe/Conversion/SetCacheHints/SetCacheHints.h"

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

/// One of the phases of a kernel.
struct Phase {
  Phase(KernelBuilder &b, const KernelPlan &plan, Value shared)
      : plan(plan), ring(b, plan, shared) {
    for (int64_t tokens : plan.getTokenTiles())
      tilePlans.push_back(plan.withTokenTile(tokens));
  }

  Value getTokenMap(size_t tokenTile) const {
    return tokenMaps.size() == 1 ? tokenMaps.front() : tokenMaps[tokenTile];
  }

  const KernelPlan &plan;
  /// The plan for each token tile.
  SmallVector<KernelPlan, 0> tilePlans;
  Ring ring;
  Value weightMap;
  /// One for each token tile, or one for all.
  SmallVector<Value> tokenMaps;
};

/// The arguments of the kernel by name, but for the tensor maps.
struct KernelArguments {
  Value groups, gather, numRows;
  EpilogueOperands epilogue;
};

class GroupedMatmulKernelBuilder {
public:
  GroupedMatmulKernelBuilder(KernelBuilder &b, const KernelPlan &plan)
      : b(b), plan(plan) {}

  LLVM::LLVMFuncOp create(StringRef name);

private:
  LLVM::LLVMFuncOp createFunction(StringRef name);
  void readArguments(LLVM::LLVMFuncOp function);
  void createPrologue(const ThreadIds &ids);
  void createProducer(const ThreadIds &ids, const GroupTable &table,
                      const TileQueue &queue);
  Value createPhaseOfProducer(size_t number, Value lane, Value first,
                              Value endOfPhase, Value numTiles,
                              const GroupTable &table, const TileQueue &queue);
  RingPosition createTileOfProducer(const Phase &phase, const WorkTile &tile,
                                    RingPosition position,
                                    const OperandStreams &streams);
  void createEndOfProducer(const Phase &phase, Value lane, RingPosition end,
                           bool isLast);
  void createPhaseOfConsumer(const Phase &phase, const ThreadIds &ids);
  RingPosition createTileOfConsumer(const Phase &phase,
                                    const KernelPlan &tilePlan,
                                    const ThreadIds &ids, const WorkTile &tile,
                                    RingPosition position,
                                    const Accumulator &accumulator);

  /// Emits for each token tile what `body` makes of its number and plan, and
  /// runs that of the first that holds the tokens of `tile`.
  RingPosition
  createForTokens(const Phase &phase, const WorkTile &tile,
                  function_ref<RingPosition(size_t, const KernelPlan &)> body,
                  size_t first = 0);

  /// By one thread of a warp, or where a gather takes the whole warp (which
  /// `lane` is of) by its first lane: emits `body`.
  void createOnce(Value lane, function_ref<void()> body);
  /// The same for a `body` that makes an i32, and hands that to all.
  Value createValueOnce(Value lane, function_ref<Value()> body);

  KernelBuilder &b;
  const KernelPlan &plan;
  SmallVector<Phase, 0> phases;
  KernelArguments args;
  /// The block's shared memory.
  Value shared;
};

} // namespace

LLVM::LLVMFuncOp GroupedMatmulKernelBuilder::createFunction(StringRef name) {
  MLIRContext *context = b.getContext();
  Type generic = LLVM::LLVMPointerType::get(context);
  Type global = b.getGlobalPointerType();
  size_t numMaps = 0;
  SmallVector<unsigned, 2> weightMaps;
  for (const KernelPlan *phase : plan.getPhases()) {
    weightMaps.push_back(numMaps);
    numMaps += 1 + phase->getTokenMapTiles().size();
  }
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
  if (plan.readsWeightsOnce)
    for (unsigned map : weightMaps)
      function.setArgAttr(map, kCacheHintAttrName,
                          b.getStringAttr("evict_first"));
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    b.getI32IntegerAttr(1));
  return function;
}

void GroupedMatmulKernelBuilder::readArguments(LLVM::LLVMFuncOp function) {
  unsigned next = 0;
  auto take = [&] { return function.getArgument(next++); };
  auto takeMap = [&](const OperandTile &tile, bool hasExpertDimension) {
    Type type = getTensorMapType(tile, plan.elementType, hasExpertDimension);
    return UnrealizedConversionCastOp::create(b, type, take()).getResult(0);
  };
  for (Phase &phase : phases) {
    phase.weightMap =
        takeMap(phase.plan.getWeightTile(), /*hasExpertDimension=*/true);
    for (const OperandTile &tile : phase.plan.getTokenMapTiles())
      phase.tokenMaps.push_back(takeMap(tile, /*hasExpertDimension=*/false));
  }
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
}

void GroupedMatmulKernelBuilder::createPrologue(const ThreadIds &ids) {
  Value isFirstWarp = b.compare(arith::CmpIPredicate::eq, ids.warp, b.i32(0));
  b.createIf(isFirstWarp, [&] {
    b.createIf(NVVM::ElectSyncOp::create(b, b.getI1Type(), Value()), [&] {
      for (const Phase &phase : phases) {
        nvgpu::TmaPrefetchOp::create(b, phase.weightMap, Value());
        for (Value map : phase.tokenMaps)
          nvgpu::TmaPrefetchOp::create(b, map, Value());
        phase.ring.initBarriers(b);
      }
      NVVM::FenceMbarrierInitOp::create(b);
    });
  });
  // What comes before the wait overlaps the kernel ahead.
  gpu::BarrierOp::create(b);
  createDependencyWait(b);
}

void GroupedMatmulKernelBuilder::createOnce(Value lane,
                                            function_ref<void()> body) {
  if (!plan.gatherType)
    return body();
  b.createIf(b.compare(arith::CmpIPredicate::eq, lane, b.i32(0)), body);
}

Value GroupedMatmulKernelBuilder::createValueOnce(Value lane,
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
    const Phase &phase, const WorkTile &tile,
    function_ref<RingPosition(size_t, const KernelPlan &)> body, size_t first) {
  const KernelPlan &tilePlan = phase.tilePlans[first];
  if (first + 1 == phase.tilePlans.size())
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
  yield(createForTokens(phase, tile, body, first + 1));
  return {ifOp.getResult(0), ifOp.getResult(1)};
}

RingPosition GroupedMatmulKernelBuilder::createTileOfProducer(
    const Phase &phase, const WorkTile &tile, RingPosition position,
    const OperandStreams &streams) {
  SmallVector<Value> tokenRows = streams.getTokenRows(b, tile);
  auto loop = scf::ForOp::create(b, b.i32(0), b.i32(plan.kSteps), b.i32(1),
                                 ValueRange{position.stage, position.phase});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  RingPosition at = {loop.getRegionIterArg(0), loop.getRegionIterArg(1)};
  streams.load(b, phase.ring, at, tile, tokenRows, loop.getInductionVar());
  RingPosition next = phase.ring.advance(b, at);
  scf::YieldOp::create(b, ValueRange{next.stage, next.phase});
  return {loop.getResult(0), loop.getResult(1)};
}

/// Tells the consumers that a phase has no more tiles and, if another follows,
/// waits until they have given back all of its stages.
void GroupedMatmulKernelBuilder::createEndOfProducer(const Phase &phase,
                                                     Value lane,
                                                     RingPosition end,
                                                     bool isLast) {
  phase.ring.waitEmpty(b, end);
  createOnce(lane, [&] { phase.ring.announceEnd(b, end); });
  if (isLast)
    return;
  auto loop = scf::ForOp::create(b, b.i32(1), b.i32(phase.plan.stages),
                                 b.i32(1), ValueRange{end.stage, end.phase});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    RingPosition next = phase.ring.advance(
        b, {loop.getRegionIterArg(0), loop.getRegionIterArg(1)});
    phase.ring.waitEmpty(b, next);
    scf::YieldOp::create(b, ValueRange{next.stage, next.phase});
  }
}

/// Loads the tiles from number `first`, which this block has taken, up to
/// `endOfPhase`, with which those of the next phase begin. Returns the number
/// of a tile taken of that.
Value GroupedMatmulKernelBuilder::createPhaseOfProducer(
    size_t number, Value lane, Value first, Value endOfPhase, Value numTiles,
    const GroupTable &table, const TileQueue &queue) {
  const Phase &phase = phases[number];
  // The tiles of the phase before come first.
  Value firstOfPhase = number == 0 ? Value() : table.getNumTiles(b, number - 1);
  RingPosition start = phase.ring.getProducerStart(b);
  SmallVector<Value> carried = {first, start.stage, start.phase};
  auto loop = scf::WhileOp::create(
      b, ValueRange(carried).getTypes(), carried,
      [&](OpBuilder &, Location, ValueRange values) {
        Value isTile =
            b.compare(arith::CmpIPredicate::ult, values[0], endOfPhase);
        scf::ConditionOp::create(b, isTile, values);
      },
      [&](OpBuilder &, Location, ValueRange values) {
        // Asked for now and needed after this tile's loads, the next tile
        // costs no wait.
        Value next =
            createValueOnce(lane, [&] { return queue.takeNext(b, numTiles); });
        Value index = values[0];
        if (firstOfPhase)
          index = b.sub(index, firstOfPhase);
        WorkTile tile = table.getTile(b, number, index);
        RingPosition end = createForTokens(
            phase, tile, [&](size_t i, const KernelPlan &tilePlan) {
              OperandStreams streams(tilePlan, shared, phase.weightMap,
                                     phase.getTokenMap(i), args.gather,
                                     args.numRows, lane);
              return createTileOfProducer(phase, tile, {values[1], values[2]},
                                          streams);
            });
        scf::YieldOp::create(b, ValueRange{next, end.stage, end.phase});
      });
  createEndOfProducer(phase, lane, {loop.getResult(1), loop.getResult(2)},
                      /*isLast=*/number + 1 == phases.size());
  return loop.getResult(0);
}

void GroupedMatmulKernelBuilder::createProducer(const ThreadIds &ids,
                                                const GroupTable &table,
                                                const TileQueue &queue) {
  auto produce = [&] {
    SmallVector<Value> ends = {table.getNumTiles(b, 0)};
    for (size_t number = 1; number < phases.size(); ++number)
      ends.push_back(b.add(ends.back(), table.getNumTiles(b, number)));
    Value next = queue.getFirst(b);
    for (size_t number = 0; number < phases.size(); ++number)
      next = createPhaseOfProducer(number, ids.lane, next, ends[number],
                                   ends.back(), table, queue);
  };
  Value warp = b.i32(plan.getConsumers() * (kWarpgroupThreads / kWarpThreads));
  b.createIf(b.compare(arith::CmpIPredicate::eq, ids.warp, warp), [&] {
    table.build(b, args.groups, args.numRows, ids.lane);
    // A gather takes all lanes of the warp, one row each.
    if (plan.gatherType)
      return produce();
    b.createIf(NVVM::ElectSyncOp::create(b, b.getI1Type(), Value()), produce);
  });
}

RingPosition GroupedMatmulKernelBuilder::createTileOfConsumer(
    const Phase &phase, const KernelPlan &tilePlan, const ThreadIds &ids,
    const WorkTile &tile, RingPosition position,
    const Accumulator &accumulator) {
  const Ring &ring = phase.ring;
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
  createEpilogue(b, tilePlan, ids, tile, registers, args.epilogue);
  return end;
}

void GroupedMatmulKernelBuilder::createPhaseOfConsumer(const Phase &phase,
                                                       const ThreadIds &ids) {
  RingPosition start = phase.ring.getConsumerStart(b);
  SmallVector<Value> position = {start.stage, start.phase};
  SmallVector<Type> types(6, b.getI32Type());
  scf::WhileOp::create(
      b, types, position,
      [&](OpBuilder &, Location, ValueRange values) {
        RingPosition at = {values[0], values[1]};
        phase.ring.waitFull(b, at);
        auto [tile, isTile] = phase.ring.getTile(b, at, ids.lane);
        scf::ConditionOp::create(b, isTile,
                                 ValueRange{tile.expert, tile.firstRow,
                                            tile.endRow, tile.outputTile,
                                            at.stage, at.phase});
      },
      [&](OpBuilder &, Location, ValueRange values) {
        WorkTile tile = {values[0], values[1], values[2], values[3]};
        RingPosition end = createForTokens(
            phase, tile, [&](size_t i, const KernelPlan &tilePlan) {
              Value mapA = phase.weightMap, mapB = phase.getTokenMap(i);
              if (!plan.isSwapped)
                std::swap(mapA, mapB);
              return createTileOfConsumer(
                  phase, tilePlan, ids, tile, {values[4], values[5]},
                  Accumulator(tilePlan, shared, mapA, mapB));
            });
        scf::YieldOp::create(b, ValueRange{end.stage, end.phase});
      });
}

LLVM::LLVMFuncOp GroupedMatmulKernelBuilder::create(StringRef name) {
  TileQueue queue(TileQueue::createCounter(b, (name + "_counter").str()));
  LLVM::LLVMFuncOp function = createFunction(name);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(function.addEntryBlock(b));
  shared = memref::GetGlobalOp::create(b, b.sharedType({0}, b.getI8Type()),
                                       kSharedMemoryName);
  for (const KernelPlan *phase : plan.getPhases())
    phases.emplace_back(b, *phase, shared);
  readArguments(function);
  ThreadIds ids(b);
  GroupTable table(b, plan, shared);
  createDependentsLaunch(b);
  createPrologue(ids);

  int64_t consumers = plan.getConsumers();
  Value isProducer =
      b.compare(arith::CmpIPredicate::eq, ids.warpgroup, b.i32(consumers));
  auto roles = scf::IfOp::create(b, isProducer, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard roleGuard(b);
    b.setInsertionPointToStart(roles.thenBlock());
    NVVM::SetMaxRegisterOp::create(b, kProducerRegisters,
                                   NVVM::SetMaxRegisterAction::decrease);
    createProducer(ids, table, queue);
    b.setInsertionPointToStart(roles.elseBlock());
    NVVM::SetMaxRegisterOp::create(b, getConsumerRegisters(consumers),
                                   NVVM::SetMaxRegisterAction::increase);
    for (const Phase &phase : phases) {
      if (phase.plan.warpgroups == consumers) {
        createPhaseOfConsumer(phase, ids);
        continue;
      }
      // The barriers of its ring count no other warpgroup.
      b.createIf(b.compare(arith::CmpIPredicate::ult, ids.warpgroup,
                           b.i32(phase.plan.warpgroups)),
                 [&] { createPhaseOfConsumer(phase, ids); });
    }
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
