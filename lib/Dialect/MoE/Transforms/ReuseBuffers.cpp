//===- ReuseBuffers.cpp - one buffer for lifetimes that do not meet -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/Dialect/MoE/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include <queue>

namespace mlir {
namespace moe {
#define GEN_PASS_DEF_MOEREUSEBUFFERSPASS
#include "moe/Dialect/MoE/Transforms/Passes.h.inc"
} // namespace moe
} // namespace mlir

using namespace mlir;
using namespace mlir::moe;

namespace {
/// A buffer and the ops of its block, by their position, from the first to the
/// last of which it is in use.
struct Lifetime {
  memref::AllocOp alloc;
  int64_t first, last;
};
} // namespace

/// True if it is not known that `op` forgets its buffers when it is done. Views
/// of them, and what regions are entered and left with, are looked at as
/// buffers of their own.
static bool mayKeepBuffers(Operation *op) {
  return !isa<ViewLikeOpInterface, RegionBranchOpInterface,
              RegionBranchTerminatorOpInterface, linalg::LinalgOp,
              memref::CopyOp, memref::DimOp>(op) &&
         !isa_and_nonnull<MoEDialect>(op->getDialect());
}

/// The op of `block` that `op` is in, or null if there is none, or if an op
/// around it may be done before those in it are, as async.execute is.
static Operation *getOpAround(Block *block, Operation *op) {
  while (op && op->getBlock() != block) {
    op = op->getParentOp();
    if (!isa_and_nonnull<scf::SCFDialect>(op ? op->getDialect() : nullptr))
      return nullptr;
  }
  return op;
}

/// When `alloc` is in use, or nothing if it may be even when its block is left,
/// if something else frees it, or if it is not used at all. `positions` are
/// those of the ops of its block.
static std::optional<Lifetime>
getLifetime(memref::AllocOp alloc, const BufferViewFlowAnalysis &views,
            const DenseMap<Operation *, int64_t> &positions) {
  Block *block = alloc->getBlock();
  Lifetime lifetime{alloc, std::numeric_limits<int64_t>::max(), -1};
  for (Value view : views.resolve(alloc.getMemref()))
    for (Operation *user : view.getUsers()) {
      Operation *around = getOpAround(block, user);
      if (!around || around == block->getTerminator() || mayKeepBuffers(user))
        return std::nullopt;
      int64_t position = positions.at(around);
      lifetime.first = std::min(lifetime.first, position);
      lifetime.last = std::max(lifetime.last, position);
    }
  if (lifetime.last < 0)
    return std::nullopt;
  return lifetime;
}

/// All known lifetimes of allocations of `block`, those that begin first first.
static SmallVector<Lifetime> getLifetimes(Block &block,
                                          const BufferViewFlowAnalysis &views) {
  DenseMap<Operation *, int64_t> positions;
  for (auto [position, op] : llvm::enumerate(block))
    positions[&op] = position;
  SmallVector<Lifetime> lifetimes;
  for (auto alloc : block.getOps<memref::AllocOp>())
    if (std::optional<Lifetime> lifetime = getLifetime(alloc, views, positions))
      lifetimes.push_back(*lifetime);
  llvm::stable_sort(lifetimes, [](const Lifetime &a, const Lifetime &b) {
    return a.first < b.first;
  });
  return lifetimes;
}

/// Removes from `free` and returns an allocation that is like `alloc`.
static memref::AllocOp takeBuffer(SmallVectorImpl<memref::AllocOp> &free,
                                  memref::AllocOp alloc) {
  for (size_t i = free.size(); i-- > 0;) {
    memref::AllocOp candidate = free[i];
    if (candidate->getOperands() != alloc->getOperands() ||
        candidate->getAttrDictionary() != alloc->getAttrDictionary())
      continue;
    free.erase(free.begin() + i);
    return candidate;
  }
  return nullptr;
}

/// Lets each allocation of `lifetimes` have the buffer of one that is no longer
/// in use when it begins to be. Returns how many do. A free buffer stands
/// before its new uses: its own came before them.
static int64_t reuseBuffers(ArrayRef<Lifetime> lifetimes) {
  auto endsLater = [](const Lifetime &a, const Lifetime &b) {
    return a.last > b.last;
  };
  std::priority_queue<Lifetime, std::vector<Lifetime>, decltype(endsLater)>
      inUse(endsLater);
  DenseMap<Type, SmallVector<memref::AllocOp>> free;
  int64_t numReused = 0;
  for (Lifetime lifetime : lifetimes) {
    for (; !inUse.empty() && inUse.top().last < lifetime.first; inUse.pop()) {
      memref::AllocOp ended = inUse.top().alloc;
      free[ended.getType()].push_back(ended);
    }
    memref::AllocOp alloc = lifetime.alloc;
    if (memref::AllocOp buffer = takeBuffer(free[alloc.getType()], alloc)) {
      alloc.replaceAllUsesWith(buffer.getResult());
      alloc.erase();
      lifetime.alloc = buffer;
      ++numReused;
    }
    inUse.push(lifetime);
  }
  return numReused;
}

namespace {
struct ReuseBuffersPass
    : public moe::impl::MoEReuseBuffersPassBase<ReuseBuffersPass> {
  void runOnOperation() override {
    BufferViewFlowAnalysis views(getOperation());
    SmallVector<SmallVector<Lifetime>> blocks;
    // Before anything is erased that `views` knows.
    getOperation()->walk(
        [&](Block *block) { blocks.push_back(getLifetimes(*block, views)); });
    for (ArrayRef<Lifetime> lifetimes : blocks)
      numReused += reuseBuffers(lifetimes);
  }
};
} // namespace
