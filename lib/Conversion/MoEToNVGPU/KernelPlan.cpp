//===- KernelPlan.cpp - what a grouped matmul kernel is made of -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelPlan.h"

#include "moe/Dialect/MoE/Transforms/Transforms.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::moe;

/// Shared memory one block can have on sm_90 (CUDA C++ Programming Guide,
/// compute capability 9.0: 227 KiB).
static constexpr int64_t kMaxSharedBytes = 227 * 1024;
/// Tokens an expert, on average, up to which it is faster on an H200 if the L2
/// cache gives up weights first: by 0.5 to 4 % with up to four, while with 16
/// and more it is slower by 1 to 8 % (docs/rationale.md).
static constexpr int64_t kFewTokens = 8;
/// f32 accumulators of a thread in a block of three consumer warpgroups.
static constexpr int64_t kMaxAccumulatorsOfThree = 80;
/// The step of n of WGMMA.
static constexpr int64_t kTokenStep = 8;
/// TMA strides and base addresses are multiples of 16 bytes (CUDA driver API,
/// cuTensorMapEncodeTiled).
static constexpr int64_t kTmaAlignment = 16;

FailureOr<KernelPlan> KernelPlan::create(GroupedMatmulInterface op) {
  KernelPlan plan;
  if (failed(plan.readProblem(op)))
    return failure();
  ScheduleAttr schedule = op.getScheduleAttr();
  if (!schedule)
    return op->emitOpError("has no schedule; run moe-select-schedule before "
                           "convert-moe-to-nvgpu");
  std::shared_ptr<KernelPlan> large;
  if (ScheduleAttr largeSchedule = schedule.getLarge()) {
    if (!plan.isSwapped)
      return op->emitOpError("has a schedule for large groups, which needs "
                             "moe.grouped_matmul_swapped; remove `large` from "
                             "the schedule");
    large = std::make_shared<KernelPlan>(plan);
    large->lesserGroup = schedule.getN();
    if (failed(large->readSchedule(op, largeSchedule)) ||
        failed(large->layOutTiles(op)))
      return failure();
  }
  if (failed(plan.readSchedule(op, schedule)) || failed(plan.layOutTiles(op)) ||
      failed(plan.layOutSharedMemory(op, large.get())))
    return failure();
  plan.large = std::move(large);
  return plan;
}

bool mlir::moe::isGlobalMemory(Attribute space) {
  auto gpuSpace = dyn_cast_or_null<gpu::AddressSpaceAttr>(space);
  return !space ||
         (gpuSpace && gpuSpace.getValue() == gpu::AddressSpace::Global);
}

static LogicalResult verifyOperandLayouts(GroupedMatmulInterface op) {
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (!type)
      return op->emitOpError("is on tensors; bufferize it before "
                             "convert-moe-to-nvgpu");
    if (!type.getLayout().isIdentity())
      return op->emitOpError("has an operand of type ")
             << type << "; the GPU kernel needs contiguous memrefs";
    if (!isGlobalMemory(type.getMemorySpace()))
      return op->emitOpError("has an operand of type ")
             << type << "; the GPU kernel needs memrefs in global memory";
  }
  if (op.hasTransposedTokens() || op.hasTransposedResult())
    return op->emitOpError("has transposed tokens or a transposed result; run "
                           "moe-fold-transposes before convert-moe-to-nvgpu");
  return success();
}

static LogicalResult verifyAlignment(GroupedMatmulInterface op,
                                     int64_t elements, StringRef name,
                                     StringRef operand, unsigned bits) {
  int64_t bytes = elements * bits / 8;
  if (bytes % kTmaAlignment == 0)
    return success();
  return op->emitOpError() << name << " of the " << operand << " is "
                           << elements << " elements, " << bytes
                           << " bytes; TMA needs rows of a multiple of 16 "
                              "bytes: pad "
                           << name << " or use --target=cpu";
}

LogicalResult KernelPlan::readProblem(GroupedMatmulInterface op) {
  if (failed(verifyOperandLayouts(op)))
    return failure();
  Type element = op.getTokens().getType().getElementType();
  if (!element.isBF16() && !element.isF16())
    return op->emitOpError("has ")
           << element
           << " tokens; the GPU kernel takes bf16 and f16: cast the operands "
              "or use --target=cpu";
  auto elementTypeOf = [](TypedValue<ShapedType> value) -> Type {
    return value ? value.getType().getElementType() : Type();
  };
  isSwapped = op.isSwapped();
  weightLayout = op.getWeightLayout();
  groupKind = op.getGroupKind();
  if (EpilogueAttr epilogue = op.getEpilogueAttr()) {
    activation = epilogue.getActivation();
    gate = epilogue.getGate();
  }
  elementType = cast<FloatType>(element);
  resultType = cast<FloatType>(elementTypeOf(op.getInit()));
  biasType = dyn_cast_or_null<FloatType>(elementTypeOf(op.getBias()));
  scaleType = dyn_cast_or_null<FloatType>(elementTypeOf(op.getScale()));
  groupsType = cast<IntegerType>(elementTypeOf(op.getGroups()));
  gatherType = dyn_cast_or_null<IntegerType>(elementTypeOf(op.getGather()));
  scatterType = dyn_cast_or_null<IntegerType>(elementTypeOf(op.getScatter()));
  if (std::optional<TokenCounts> counts = getExpectedCounts(op, std::nullopt))
    readsWeightsOnce = counts->getTokens() <=
                       kFewTokens * static_cast<double>(op.getNumExperts());
  numExperts = op.getNumExperts();
  depth = op.getContractionSize();
  weightRows = op.getWeightRows();
  resultColumns = op.getResultColumns();
  for (int64_t size : {numExperts, depth, weightRows, resultColumns})
    if (ShapedType::isDynamic(size))
      return op->emitOpError("has a dynamic E, K or N; the GPU kernel needs "
                             "weights of a static shape");
  // A kernel counts in 32 bits within an expert, and TMA's coordinates have no
  // more.
  for (int64_t size : {numExperts, depth, weightRows})
    if (size > std::numeric_limits<int32_t>::max())
      return op->emitOpError("has an E, K or N of ")
             << size << "; the GPU kernel takes less than 2^31";
  for (Value operand : {Value(op.getGroups()), Value(op.getBias())})
    if (operand && !cast<MemRefType>(operand.getType()).hasStaticShape())
      return op->emitOpError("has groups or a bias of a dynamic shape; the GPU "
                             "kernel needs them static");
  if (numExperts == 0 || depth == 0 || weightRows == 0)
    return op->emitOpError("has weights without elements; canonicalize first");
  if (failed(verifyAlignment(op, depth, "K", "tokens",
                             element.getIntOrFloatBitWidth())))
    return failure();
  if (weightLayout == WeightLayout::NK)
    return success();
  if (failed(verifyAlignment(op, weightRows, "N", "kn weights",
                             element.getIntOrFloatBitWidth())))
    return failure();
  // Where TMA starts to read has the same granularity along rows.
  return gate == Gate::Concat
             ? verifyAlignment(op, resultColumns, "N/2", "gated kn weights",
                               element.getIntOrFloatBitWidth())
             : success();
}

LogicalResult KernelPlan::readSchedule(GroupedMatmulInterface op,
                                       ScheduleAttr schedule) {
  m = schedule.getM();
  n = schedule.getN();
  kStep = schedule.getK();
  stages = schedule.getStages();
  warpgroups = schedule.getWarpgroups();
  warpgroupRows = m / warpgroups;
  slabs = llvm::divideCeil(warpgroupRows, kSlabRows);
  kSteps = llvm::divideCeil(depth, kStep);
  bool isKMajor = weightLayout == WeightLayout::NK;
  // Boxes of 64 rows cut tiles of more rows than a box can have.
  if (hasPartialSlab() &&
      (!isSwapped || !isKMajor || gate == Gate::Concat || m > kMaxBoxExtent))
    return op->emitOpError(
               "needs a schedule whose m is a multiple of 64 rows for each "
               "warpgroup, unless it is swapped, has nk weights and no "
               "concatenated gate, and m is at most 256; got m = ")
           << m;
  if (isSwapped && gate == Gate::Concat && slabs % 2 != 0)
    return op->emitOpError("needs a schedule whose m is a multiple of 128 for "
                           "each warpgroup (64 gate and 64 up rows), got m = ")
           << m;
  int64_t granule = isKMajor ? 8 : kSlabRows;
  if (!isSwapped && gate == Gate::Concat && n % (2 * granule) != 0)
    return op->emitOpError("needs a schedule whose n is a multiple of ")
           << 2 * granule << " (gate and up), got n = " << n;
  if (!isSwapped && !isKMajor && n % kSlabRows != 0)
    return op->emitOpError("with kn weights needs a schedule whose n is a "
                           "multiple of 64, got n = ")
           << n;
  // Accumulators live in registers: 64 x n elements over 128 threads a slab.
  // The limits leave room for addresses; ptxas 13.0 spills or refuses (C7602)
  // beyond them, with three consumer warpgroups beyond the 128 registers that
  // 512 threads start with.
  int64_t limit = warpgroups < 3 ? kMaxAccumulators : kMaxAccumulatorsOfThree;
  if (int64_t registers = slabs * n / 2; registers > limit)
    return op->emitOpError("needs ")
           << registers << " accumulator registers a thread, more than the "
           << limit << " that fit with " << warpgroups
           << " warpgroups; choose a smaller n or m";
  return success();
}

LogicalResult KernelPlan::layOutTiles(GroupedMatmulInterface op) {
  OperandTile weights, tokens;
  weights.extent = isSwapped ? m : n;
  weights.isKMajor = weightLayout == WeightLayout::NK;
  tokens.extent = isSwapped ? n : m;
  // Gathered tokens come row by row.
  tokens.boxExtent = gatherType                       ? 1
                     : tokens.extent <= kMaxBoxExtent ? tokens.extent
                                                      : kSlabRows;
  tileTokens = tokens.extent;
  tileOutputs = weights.extent / (isGated() ? 2 : 1);
  outputTiles = llvm::divideCeil(resultColumns, tileOutputs);

  // The runs of consecutive weight rows that lie one behind the other in the
  // tile: one, or with gate and up apart one of each for every consumer.
  SmallVector<int64_t> runs = {0};
  int64_t runExtent = weights.extent;
  if (gate == Gate::Concat) {
    runs.clear();
    int64_t consumers = isSwapped ? warpgroups : 1;
    runExtent = tileOutputs / consumers;
    for (int64_t consumer = 0; consumer < consumers; ++consumer)
      for (int64_t half : {0, 1})
        runs.push_back(consumer * runExtent + half * resultColumns);
  }
  weights.boxExtent =
      weights.isKMajor && runExtent <= kMaxBoxExtent ? runExtent : kSlabRows;
  for (auto [index, run] : llvm::enumerate(runs))
    for (int64_t row = 0; row < runExtent; row += weights.boxExtent)
      weightBoxes.push_back(
          {run + row,
           (static_cast<int64_t>(index) * runExtent + row) * kSwizzleBytes});
  a = isSwapped ? weights : tokens;
  b = isSwapped ? tokens : weights;
  return success();
}

int64_t KernelPlan::getRingBytes() const {
  // The last slab of the last stage is read whole.
  int64_t slabRows = (warpgroups - 1) * warpgroupRows + slabs * kSlabRows;
  return (stages - 1) * stageBytes +
         std::max(stageBytes, slabRows * kSwizzleBytes);
}

int64_t KernelPlan::layOutRing(int64_t offset) {
  // For every stage the 16 bytes of a work tile, a full and an empty barrier, 8
  // bytes each.
  recordOffset = offset;
  barrierOffset = recordOffset + stages * 16;
  return barrierOffset + stages * 2 * 8;
}

LogicalResult KernelPlan::layOutSharedMemory(GroupedMatmulInterface op,
                                             KernelPlan *largePlan) {
  stageBytes = getLoadBytes();
  // What is read behind the last stage may be what follows it.
  int64_t end = stages * stageBytes;
  if (largePlan) {
    largePlan->stageBytes = largePlan->getLoadBytes();
    end = std::max(end, largePlan->stages * largePlan->stageBytes);
    end = largePlan->layOutRing(end);
  }
  tableOffset = layOutRing(end);
  // For every expert and for the end the first row and, for either plan, the
  // first token tile, 4 bytes each.
  sharedBytes = tableOffset + (numExperts + 1) * (largePlan ? 3 : 2) * 4;
  sharedBytes = std::max(sharedBytes, getRingBytes());
  if (largePlan)
    sharedBytes = std::max(sharedBytes, largePlan->getRingBytes());
  if (sharedBytes <= kMaxSharedBytes)
    return success();
  return op->emitOpError("needs ")
         << sharedBytes << " bytes of shared memory with its schedule, but a "
         << "block has " << kMaxSharedBytes << "; choose fewer stages";
}

SmallVector<const KernelPlan *> KernelPlan::getPhases() const {
  if (large)
    return {large.get(), this};
  return {this};
}

int64_t KernelPlan::getConsumers() const {
  return large ? std::max(warpgroups, large->warpgroups) : warpgroups;
}

int64_t KernelPlan::getMostOutputTiles() const {
  return large ? std::max(outputTiles, large->outputTiles) : outputTiles;
}

bool KernelPlan::canGather() const {
  return llvm::all_of(getPhases(), [](const KernelPlan *phase) {
    return moe::canGather(phase->getTokenTile().extent,
                          phase->getWeightTile().extent);
  });
}

SmallVector<int64_t> KernelPlan::getTokenTiles() const {
  if (lesserGroup > 0)
    return getLargeTokenTiles(lesserGroup, tileTokens, kTokenStep);
  SmallVector<int64_t> tiles;
  // Unswapped, tokens are the rows of the instruction, of which it has 64.
  if (isSwapped)
    for (int64_t tokens = kTokenStep; tokens < tileTokens; tokens *= 2)
      tiles.push_back(tokens);
  tiles.push_back(tileTokens);
  return tiles;
}

SmallVector<OperandTile> KernelPlan::getTokenMapTiles() const {
  if (gatherType)
    return {getTokenTile()};
  return llvm::map_to_vector(getTokenTiles(), [&](int64_t tokens) {
    return withTokenTile(tokens).getTokenTile();
  });
}

KernelPlan KernelPlan::withTokenTile(int64_t tokens) const {
  KernelPlan plan = *this;
  if (tokens == tileTokens)
    return plan;
  plan.n = tokens;
  plan.b.extent = tokens;
  plan.b.boxExtent = gatherType ? 1 : tokens;
  return plan;
}

std::string KernelPlan::getKey() const {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << isSwapped << ',' << static_cast<int>(weightLayout) << ','
     << static_cast<int>(groupKind) << ',' << static_cast<int>(activation)
     << ',' << static_cast<int>(gate) << ',' << readsWeightsOnce;
  for (Type type :
       {Type(elementType), Type(resultType), Type(biasType), Type(scaleType),
        Type(groupsType), Type(gatherType), Type(scatterType)})
    os << ',' << type;
  for (int64_t size : {numExperts, depth, weightRows, resultColumns})
    os << ',' << size;
  for (const KernelPlan *phase : getPhases())
    for (int64_t size :
         {phase->m, phase->n, phase->kStep, phase->stages, phase->warpgroups})
      os << ',' << size;
  return key;
}
