//===- KernelBuilder.h - the parts a kernel is built from -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts that GPU kernels of this project share. Each part emits the IR of
// one concern and knows nothing of the others:
//
//   Ring         stages of shared memory behind full and empty barriers
//   GroupTable   which rows and tiles belong to which expert
//   TileQueue    which block computes which tile
//   WeightStream, TokenStream   TMA loads of one stage
//   Accumulator  matrix instructions of one stage
//   Epilogue     what happens to a finished tile
//
// Arithmetic inside a kernel is on i32; only what indexes a memref is `index`.
//
//===----------------------------------------------------------------------===//

#ifndef LIB_CONVERSION_MOETONVGPU_KERNELBUILDER_H
#define LIB_CONVERSION_MOETONVGPU_KERNELBUILDER_H

#include "KernelPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir {
namespace moe {

/// An op builder with the i32 arithmetic that kernels are made of.
class KernelBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value i32(int64_t value);
  Value index(int64_t value);
  Value toIndex(Value value);
  Value add(Value lhs, Value rhs);
  Value add(Value lhs, int64_t rhs);
  Value sub(Value lhs, Value rhs);
  Value mul(Value lhs, Value rhs);
  Value mul(Value lhs, int64_t rhs);
  Value divUnsigned(Value lhs, Value rhs);
  Value divUnsigned(Value lhs, int64_t rhs);
  Value remUnsigned(Value lhs, int64_t rhs);
  Value minUnsigned(Value lhs, Value rhs);
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs);
  Value logicalAnd(Value lhs, Value rhs);
  Value select(Value condition, Value ifTrue, Value ifFalse);

  Value i64(int64_t value);
  /// `value` as i64; an i32 is extended, by its sign if it has one.
  Value toI64Unsigned(Value value);
  Value toI64Signed(Value value);

  Value f32(float value);
  /// `value`, which has at most 32 bits, as f32.
  Value toF32(Value value);
  /// `value`, an f32, rounded to `type`.
  Value roundTo(Type type, Value value);

  /// A `memref` view of the block's shared memory at a byte offset (index).
  MemRefType sharedType(ArrayRef<int64_t> shape, Type element);
  Value sharedView(Value shared, Value byteOffset, ArrayRef<int64_t> shape,
                   Type element);

  /// Emits `body` under `condition`.
  void createIf(Value condition, function_ref<void()> body);

  /// Pointer to device memory.
  Type getGlobalPointerType();

  /// A value of another lane of the warp.
  Value shuffle(gpu::ShuffleMode mode, Value value, int64_t offset);
};

/// Global memory as an array.
struct GlobalArray {
  Value pointer;
  Type element;

  /// `position` is an i64, or an i32 that is not negative.
  Value getAddress(KernelBuilder &b, Value position) const;
  Value load(KernelBuilder &b, Value position) const;
  void store(KernelBuilder &b, Value value, Value position) const;
};

/// Where a thread stands in its block; the warp and warpgroup indices are the
/// same in every lane, and the compiler can see it.
struct ThreadIds {
  explicit ThreadIds(KernelBuilder &b);
  Value thread, lane, warp, warpgroup;
};

/// Declares kernel `name` for blocks of `numThreads` at the builder's insertion
/// point, without a body. Of the parameters that are device pointers the first
/// `numReadOnly` are only read; the access that a launch file states for a
/// buffer follows from it.
LLVM::LLVMFuncOp createKernelFunction(KernelBuilder &b, StringRef name,
                                      ArrayRef<Type> parameters,
                                      int64_t numReadOnly, int64_t numThreads);

/// Emits, at the start of a kernel, that the kernel behind it in the stream may
/// start as soon as there is room for it.
void createDependentsLaunch(KernelBuilder &b);
/// Waits until the kernels ahead of it in the stream have ended and what they
/// wrote can be seen. By every thread, before it reads or writes memory that
/// another kernel may write or read.
void createDependencyWait(KernelBuilder &b);

/// Inclusive scan of `value` over the lanes of a warp by an associative
/// `combine`.
Value createWarpScan(KernelBuilder &b, Value value, Value lane,
                     function_ref<Value(Value, Value)> combine);

/// One unit of work: some tokens of one expert by some of its outputs. All i32.
struct WorkTile {
  Value expert;
  /// First token row, and one past the last token row.
  Value firstRow, endRow;
  /// Index of the output tile within the expert.
  Value outputTile;
};

/// A place in the ring: which stage, and the parity its barrier is in.
struct RingPosition {
  Value stage, phase;
};

/// `stages` buffers of shared memory that a producer fills and consumers
/// drain. Stage s is full when full[s] completes, empty when empty[s] does.
/// With each stage goes the tile it is a part of, so that only the producer
/// need know which comes next.
class Ring {
public:
  Ring(KernelBuilder &b, const KernelPlan &plan, Value shared);

  /// By one thread, before a fence and any other use: one arrival (and the
  /// bytes of the TMA loads) makes a stage full, one of each consumer warp
  /// empty.
  void initBarriers(KernelBuilder &b) const;

  /// Where the producer starts: the first wait for an empty stage passes.
  RingPosition getProducerStart(KernelBuilder &b) const;
  RingPosition getConsumerStart(KernelBuilder &b) const;
  RingPosition advance(KernelBuilder &b, RingPosition position) const;

  void waitEmpty(KernelBuilder &b, RingPosition position) const;
  void waitFull(KernelBuilder &b, RingPosition position) const;
  /// By one thread, into an empty stage: the bytes to come, and their tile.
  void announce(KernelBuilder &b, RingPosition position, const WorkTile &tile,
                int64_t bytes) const;
  /// The same, that no tile comes any more.
  void announceEnd(KernelBuilder &b, RingPosition position) const;
  /// By a whole warp: the tile of a full stage, and whether there is one. Only
  /// the first lane, which gives the stage back, reads shared memory.
  std::pair<WorkTile, Value> getTile(KernelBuilder &b, RingPosition position,
                                     Value lane) const;
  /// Gives back the stage before `position`.
  void releasePrevious(KernelBuilder &b, RingPosition position) const;

  /// Bytes from the start of shared memory to the stage of `position`.
  Value getStageOffset(KernelBuilder &b, RingPosition position) const;
  Value getFullBarriers() const { return full; }

private:
  void wait(KernelBuilder &b, Value barriers, RingPosition position) const;

  const KernelPlan &plan;
  Value full, empty, records;
};

/// Row and tile ranges of the experts, in shared memory, made from whatever
/// stands in the groups operand: rows ascend and stay within [0, R].
class GroupTable {
public:
  GroupTable(KernelBuilder &b, const KernelPlan &plan, Value shared);

  /// By one whole warp: fills the table from `groups` (a global pointer). Its
  /// lanes may read it afterwards.
  void build(KernelBuilder &b, Value groups, Value numRows, Value lane) const;
  /// Number of tiles of all experts that are for phase number `phase`.
  Value getNumTiles(KernelBuilder &b, size_t phase) const;
  /// Tile number `index` of them: experts ascending; within an expert the token
  /// tiles that share weights are neighbours.
  WorkTile getTile(KernelBuilder &b, size_t phase, Value index) const;

private:
  /// What `groups` has for the experts of a lane, from `firstExpert` on.
  SmallVector<Value> loadGroups(KernelBuilder &b, Value groups,
                                Value firstExpert, Value numRows) const;
  /// The first row of each expert of a lane, and of the one behind them, from
  /// what `groups` has for them; `carriedRow` is where those of lane 0 begin.
  SmallVector<Value> getRowStarts(KernelBuilder &b, ArrayRef<Value> items,
                                  Value numRows, Value carriedRow,
                                  Value lane) const;
  /// Fills the table for as many experts as the lanes of the warp have. Takes
  /// and returns the first row, and the first tile of each phase.
  SmallVector<Value> createRound(KernelBuilder &b, ArrayRef<Value> items,
                                 Value firstExpert, Value numRows,
                                 ValueRange carried, Value lane) const;
  Value loadGroup(KernelBuilder &b, Value groups, Value position,
                  Value numRows) const;
  void storeEntry(KernelBuilder &b, Value position, ValueRange entry) const;
  /// Token tiles that an expert of `rows` tokens has in phase number `phase`.
  Value getTokenTiles(KernelBuilder &b, size_t phase, Value rows) const;

  const KernelPlan &plan;
  SmallVector<const KernelPlan *> phases;
  /// Experts that a lane works on at once.
  int64_t laneExperts;
  Value rowStarts;
  /// One for each phase.
  SmallVector<Value> tileStarts;
};

/// Hands out the numbers of tiles to blocks: to each its own index first, then
/// whichever is next, so that a block which is slow takes fewer. The counter is
/// zero between launches; launches of one kernel must not overlap.
class TileQueue {
public:
  explicit TileQueue(LLVM::GlobalOp counter) : counter(counter) {}

  /// Declares a kernel's counter at the builder's insertion point.
  static LLVM::GlobalOp createCounter(KernelBuilder &b, StringRef name);

  Value getFirst(KernelBuilder &b) const;
  /// By one thread of the block, once for each of the `numTiles` tiles that it
  /// takes: a number that no other block gets, which may be past the last tile.
  Value takeNext(KernelBuilder &b, Value numTiles) const;

private:
  LLVM::GlobalOp counter;
};

/// A TMA descriptor of the kernel, seen as nvgpu's type.
nvgpu::TensorMapDescriptorType getTensorMapType(const OperandTile &tile,
                                                Type element,
                                                bool hasExpertDimension);

/// TMA loads of the weight and the token tile of one stage. Without `gather`
/// (null) one thread issues them all; with it, a global pointer to the token of
/// each row, one warp does, and each lane loads its share of the token rows.
class OperandStreams {
public:
  OperandStreams(const KernelPlan &plan, Value shared, Value weightMap,
                 Value tokenMap, Value gather, Value numRows, Value lane)
      : plan(plan), shared(shared), weightMap(weightMap), tokenMap(tokenMap),
        gather(gather), numRows(numRows), lane(lane) {}

  /// What the token loads of every k-step of a tile have in common: the row of
  /// the tokens at which each box of this thread starts.
  SmallVector<Value> getTokenRows(KernelBuilder &b, const WorkTile &tile) const;

  /// Loads k-step `kStep` of `tile` into the stage at `position`, once it is
  /// empty.
  void load(KernelBuilder &b, const Ring &ring, RingPosition position,
            const WorkTile &tile, ArrayRef<Value> tokenRows, Value kStep) const;

private:
  void loadWeights(KernelBuilder &b, const Ring &ring, RingPosition position,
                   const WorkTile &tile, Value firstDepth) const;
  void loadTokens(KernelBuilder &b, const Ring &ring, RingPosition position,
                  ArrayRef<Value> tokenRows, Value firstDepth) const;
  void loadGatheredTokens(KernelBuilder &b, const Ring &ring,
                          RingPosition position, ArrayRef<Value> tokenRows,
                          Value firstDepth) const;
  Value loadTokenOfRow(KernelBuilder &b, Value row) const;
  /// Bytes from the start of a stage to its token tile.
  int64_t getTokenOffset() const {
    return plan.isSwapped ? plan.a.getBytes() : 0;
  }

  const KernelPlan &plan;
  Value shared, weightMap, tokenMap, gather, numRows, lane;
};

/// The registers of one consumer warpgroup: slabs of 64 rows by n columns.
class Accumulator {
public:
  Accumulator(const KernelPlan &plan, Value shared, Value mapA, Value mapB)
      : plan(plan), shared(shared), mapA(mapA), mapB(mapB) {}

  Value createZero(KernelBuilder &b) const;
  /// Adds the product of the stage at `position`. On return the matrix
  /// instructions of the stage before have completed, its own may be running.
  Value multiply(KernelBuilder &b, const Ring &ring, RingPosition position,
                 Value warpgroup, Value accumulator) const;
  /// Waits for all matrix instructions; the registers may be read after it.
  Value finish(KernelBuilder &b, Value accumulator) const;

private:
  nvgpu::WarpgroupAccumulatorType getType(KernelBuilder &b) const;

  const KernelPlan &plan;
  Value shared, mapA, mapB;
};

/// Global pointers and sizes an epilogue works with; null where absent.
struct EpilogueOperands {
  Value bias, scale, scatter, result;
  Value numResultRows;
};

/// Emits bias, activation, scale and the predicated store of one finished tile.
/// `registers` is the accumulator as a struct of structs of f32.
void createEpilogue(KernelBuilder &b, const KernelPlan &plan,
                    const ThreadIds &ids, const WorkTile &tile, Value registers,
                    const EpilogueOperands &operands);

/// Emits `activation` on an f32 value, without calls into a device library.
Value createActivation(ImplicitLocOpBuilder &b, Activation activation,
                       Value value);

} // namespace moe
} // namespace mlir

#endif // LIB_CONVERSION_MOETONVGPU_KERNELBUILDER_H
