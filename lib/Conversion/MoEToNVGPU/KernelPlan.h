//===- KernelPlan.h - what a grouped matmul kernel is made of ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every size and place that a grouped matmul kernel needs, worked out once from
// the op and its schedule. The builders of the kernel's parts read it; none
// does layout arithmetic of its own.
//
//===----------------------------------------------------------------------===//

#ifndef LIB_CONVERSION_MOETONVGPU_KERNELPLAN_H
#define LIB_CONVERSION_MOETONVGPU_KERNELPLAN_H

#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/Dialect/MoE/Transforms/CostModel.h"

#include <memory>

namespace mlir {
namespace moe {

/// Bytes of one row of the 128-byte swizzle.
inline constexpr int64_t kSwizzleBytes = 128;
/// Rows of a WGMMA instruction.
inline constexpr int64_t kSlabRows = 64;
/// Largest extent of a TMA box in one dimension (CUDA driver API,
/// cuTensorMapEncodeTiled).
inline constexpr int64_t kMaxBoxExtent = 256;
inline constexpr int64_t kWarpThreads = 32;
inline constexpr int64_t kWarpgroupThreads = 128;

/// Whether `space`, of a memref, is the memory of all blocks.
bool isGlobalMemory(Attribute space);

/// A tile of one operand of a stage in shared memory: `extent` rows (weight
/// rows or tokens) of `depth` elements of K, loaded by boxes of `boxExtent`
/// rows. K-major: one row of 128 bytes below the other. MN-major: panels of 64
/// rows, each 64 k deep with 128 bytes of contiguous rows.
struct OperandTile {
  int64_t extent = 0;
  int64_t boxExtent = 0;
  bool isKMajor = true;

  int64_t getBytes() const { return extent * kSwizzleBytes; }
};

/// One TMA box of a stage's weight tile: it starts at weight row
/// `tileRow + rowOffset` of the expert and lands `byteOffset` into the tile.
struct WeightBox {
  int64_t rowOffset;
  int64_t byteOffset;
};

/// See the file comment.
struct KernelPlan {
  /// Works out the plan of `op`, which is on memrefs, or reports what stands
  /// against it as an error on `op`.
  static FailureOr<KernelPlan> create(GroupedMatmulInterface op);

  // The problem.
  bool isSwapped = false;
  WeightLayout weightLayout = WeightLayout::NK;
  GroupKind groupKind = GroupKind::Offsets;
  Activation activation = Activation::None;
  Gate gate = Gate::None;
  FloatType elementType, resultType;
  /// Null where the op has no such operand.
  FloatType biasType, scaleType;
  IntegerType groupsType, gatherType, scatterType;
  /// True if so few tokens are expected that hardly any weights are read by
  /// more than one tile.
  bool readsWeightsOnce = false;
  int64_t numExperts = 0, depth = 0, weightRows = 0, resultColumns = 0;

  /// The plan for the groups of more tokens than a tile of this one, which the
  /// kernel computes first, in the same shared memory. Null if there is none.
  std::shared_ptr<const KernelPlan> large;
  /// The most tokens of a group that is not for this plan: 0 if there is no
  /// other.
  int64_t lesserGroup = 0;

  // The schedule.
  int64_t m = 0, n = 0, kStep = 0, stages = 0, warpgroups = 0;

  // What follows from them.
  OperandTile a, b;
  SmallVector<WeightBox> weightBoxes;
  /// Rows of A that a consumer warpgroup has, and the slabs of 64 rows that it
  /// accumulates. The last slab may reach beyond its rows: what it reads there
  /// is some other part of shared memory, and what comes of it is not stored.
  int64_t warpgroupRows = 0, slabs = 0;
  /// Tokens, at most, and result columns of one tile.
  int64_t tileTokens = 0, tileOutputs = 0;
  int64_t outputTiles = 0, kSteps = 0;
  /// Bytes of a stage, and where what follows the stages begins in shared
  /// memory.
  int64_t stageBytes = 0, recordOffset = 0, barrierOffset = 0, tableOffset = 0,
          sharedBytes = 0;

  bool isGated() const { return gate != Gate::None; }
  const OperandTile &getWeightTile() const { return isSwapped ? a : b; }
  const OperandTile &getTokenTile() const { return isSwapped ? b : a; }
  /// The plans of a kernel in the order in which it follows them.
  SmallVector<const KernelPlan *> getPhases() const;
  /// Consumer warpgroups of a block: as many as the phase with most has.
  int64_t getConsumers() const;
  int64_t getNumThreads() const {
    return kWarpgroupThreads * (getConsumers() + 1);
  }
  /// The most tiles that a row of tokens can be part of.
  int64_t getMostOutputTiles() const;
  /// Weight rows from the start of one tile to the start of the next.
  int64_t getTileRowStride() const {
    return gate == Gate::Concat ? tileOutputs : getWeightTile().extent;
  }
  /// True if the kernel gathers its tokens fast enough.
  bool canGather() const;
  /// True if the last slab of a warpgroup has rows that are not its own.
  bool hasPartialSlab() const { return warpgroupRows % kSlabRows != 0; }
  /// True if the last tile of an expert has fewer outputs than the others.
  bool hasPartialOutputs() const { return resultColumns % tileOutputs != 0; }

  /// Tokens of the tiles that the kernel has code for, ascending. A tile that
  /// has fewer than `tileTokens` takes the first of them that holds its tokens:
  /// it loads and computes no more. Powers of two, and the schedule's own; for
  /// large groups up to three, evenly spaced.
  SmallVector<int64_t> getTokenTiles() const;
  /// What the tensor maps of the tokens load: one for each of the token tiles,
  /// or one for all where a gather loads rows one by one.
  SmallVector<OperandTile> getTokenMapTiles() const;
  /// This plan, in the same shared memory, for tiles that hold `tokens`.
  KernelPlan withTokenTile(int64_t tokens) const;
  /// Bytes that the loads of one stage bring.
  int64_t getLoadBytes() const { return a.getBytes() + b.getBytes(); }

  /// Equal for two ops that one kernel can serve.
  std::string getKey() const;

private:
  LogicalResult readProblem(GroupedMatmulInterface op);
  LogicalResult readSchedule(GroupedMatmulInterface op, ScheduleAttr schedule);
  LogicalResult layOutTiles(GroupedMatmulInterface op);
  /// Bytes of shared memory that the stages take or that are read as if.
  int64_t getRingBytes() const;
  /// Places what belongs to the stages but for their tiles, from `offset` on;
  /// returns the end of it.
  int64_t layOutRing(int64_t offset);
  /// Of this plan, and of `largePlan` if it is not null.
  LogicalResult layOutSharedMemory(GroupedMatmulInterface op,
                                   KernelPlan *largePlan);
};

} // namespace moe
} // namespace mlir

#endif // LIB_CONVERSION_MOETONVGPU_KERNELPLAN_H
