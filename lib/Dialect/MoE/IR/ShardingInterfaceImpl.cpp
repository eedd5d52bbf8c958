//===- ShardingInterfaceImpl.cpp - Sharding of moe ops --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/IR/ShardingInterfaceImpl.h"

#include "GroupedMatmulDims.h"
#include "moe/Dialect/MoE/IR/MoE.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/Shard/Interfaces/ShardingInterface.h"
#include "mlir/Dialect/Shard/Interfaces/ShardingInterfaceImpl.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace mlir::moe;
using shard::Sharding;
using shard::ShardingInterface;
using shard::ShardingOption;

/// The loops that shardings are assigned to. Dimensions that are no loop of the
/// matmul get one too: the interface wants one for each, and none but the
/// columns is ever sharded.
enum Loop : unsigned {
  kRows,
  kColumns,
  kElements,
  kExperts,
  kGroups,
  kTokens,
  kResultRows,
  kNumLoops
};

static AffineMap getMap(MLIRContext *context, ArrayRef<Loop> loops) {
  SmallVector<unsigned> positions(loops.begin(), loops.end());
  return AffineMap::getMultiDimMapWithTargets(kNumLoops, positions, context);
}

/// The loops of tokens and results: `[rows, columns]` or transposed.
static AffineMap getMatrixMap(MLIRContext *context, Loop rows, Loop columns,
                              bool transposed) {
  return transposed ? getMap(context, {columns, rows})
                    : getMap(context, {rows, columns});
}

/// One map an operand, in their order, and one for the result.
static SmallVector<AffineMap> getMaps(GroupedMatmulInterface op) {
  MLIRContext *context = op.getContext();
  AffineMap rows = getMap(context, {kRows});
  SmallVector<AffineMap> maps = {
      getMatrixMap(context, op.getGather() ? kTokens : kRows, kElements,
                   op.hasTransposedTokens()),
      op.getWeightLayout() == WeightLayout::NK
          ? getMap(context, {kExperts, kColumns, kElements})
          : getMap(context, {kExperts, kElements, kColumns})};
  if (op.isSwapped())
    std::swap(maps[0], maps[1]);
  maps.push_back(getMap(context, {kGroups}));
  if (op.getBias())
    maps.push_back(getMap(context, {kExperts, kColumns}));
  unsigned vectors = !!op.getGather() + !!op.getScale() + !!op.getScatter();
  maps.append(vectors, rows);
  AffineMap result =
      getMatrixMap(context, op.getScatter() ? kResultRows : kRows, kColumns,
                   op.hasTransposedResult());
  maps.append(1 + op->getNumResults(), result);
  return maps;
}

static LogicalResult refuse(Operation *op, StringRef reason) {
  remark::missed(op->getLoc(),
                 remark::RemarkOpts::name("unsharded").category("moe-sharding"))
      << (op->getName().getStringRef() + " is not sharded: " + reason).str();
  return failure();
}

/// Checks that `option` shards columns only, and those only where each part of
/// them is made by one part of the weights.
static LogicalResult checkOption(GroupedMatmulInterface op,
                                 const ShardingOption &option) {
  for (auto [loop, axes] : llvm::enumerate(option.shardingArray)) {
    if (axes.empty())
      continue;
    if (loop != kColumns)
      return refuse(op, "only the columns of the result can be, with N of the "
                        "weights");
    EpilogueAttr epilogue = op.getEpilogueAttr();
    if (epilogue && epilogue.getGate() == Gate::Concat)
      return refuse(op, "the gate and up rows of a part of the columns are not "
                        "contiguous with gate = concat; use interleaved");
  }
  return success();
}

namespace {
template <typename OpTy>
struct GroupedMatmulSharding
    : public ShardingInterface::ExternalModel<GroupedMatmulSharding<OpTy>,
                                              OpTy> {
  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *op) const {
    SmallVector<utils::IteratorType> types(kNumLoops,
                                           utils::IteratorType::parallel);
    types[kElements] = utils::IteratorType::reduction;
    return types;
  }

  SmallVector<shard::ReductionKind>
  getReductionLoopIteratorKinds(Operation *op) const {
    return {shard::ReductionKind::Sum};
  }

  SmallVector<AffineMap> getIndexingMaps(Operation *op) const {
    return getMaps(cast<GroupedMatmulInterface>(op));
  }

  FailureOr<ShardingOption>
  getShardingOption(Operation *op, ArrayRef<Sharding> operandShardings,
                    ArrayRef<Sharding> resultShardings) const {
    FailureOr<ShardingOption> option = shard::detail::defaultGetShardingOption(
        op, operandShardings, resultShardings);
    if (failed(option) ||
        failed(checkOption(cast<GroupedMatmulInterface>(op), *option)))
      return failure();
    return option;
  }

  LogicalResult partition(Operation *op, ArrayRef<Value> partitionedOperands,
                          ArrayRef<Sharding> operandShardings,
                          ArrayRef<Sharding> resultShardings,
                          IRMapping &partitionMap,
                          SymbolTableCollection &symbolTable,
                          OpBuilder &builder) const;
};
} // namespace

/// Checks that every dimension of the loop `kColumns` is split by `axes` and no
/// other dimension is split.
static LogicalResult checkSharding(Operation *op, const Sharding &sharding,
                                   AffineMap map,
                                   ArrayRef<shard::GridAxis> axes) {
  if (!sharding.getStaticHaloSizes().empty() ||
      !sharding.getStaticShardedDimsOffsets().empty())
    return op->emitOpError("can not be partitioned with halos or shards of "
                           "given offsets; shard evenly");
  ArrayRef<shard::GridAxesAttr> split = sharding.getSplitAxes();
  for (auto [dim, loop] : llvm::enumerate(map.getResults())) {
    ArrayRef<shard::GridAxis> actual;
    if (dim < split.size())
      actual = split[dim].asArrayRef();
    bool columns = cast<AffineDimExpr>(loop).getPosition() == kColumns;
    if (actual != (columns ? axes : ArrayRef<shard::GridAxis>()))
      return op->emitOpError("can be partitioned along the columns of the "
                             "result and N of the weights and bias only, all "
                             "along one grid axis");
  }
  return success();
}

/// The grid axes that split the columns of the result.
static SmallVector<shard::GridAxis> getColumnAxes(GroupedMatmulInterface op,
                                                  const Sharding &sharding) {
  unsigned dim = getResultColumnsDim(op).dim;
  ArrayRef<shard::GridAxesAttr> split = sharding.getSplitAxes();
  if (dim >= split.size())
    return {};
  return llvm::to_vector(split[dim].asArrayRef());
}

/// With an interleaved gate, a shard of the weights holds the gate and up rows
/// of a shard of the result if both are split without a rest.
static LogicalResult checkGatedShards(GroupedMatmulInterface op,
                                      const Sharding &weights,
                                      const Sharding &result,
                                      SymbolTableCollection &symbolTable) {
  auto shardSize = [&](ValueDim where, const Sharding &sharding) {
    shard::GridOp grid =
        shard::getGridOrNull(op, sharding.getGridAttr(), symbolTable);
    if (!grid)
      return ShapedType::kDynamic;
    Type type = shard::shardType(where.value.getType(), grid, sharding);
    return cast<ShapedType>(type).getDimSize(where.dim);
  };
  int64_t columns = shardSize(getResultColumnsDim(op), result);
  int64_t weightRows = shardSize(getWeightRowsDim(op), weights);
  if (op.getEpilogueAttr().getGate() != Gate::Interleaved ||
      ShapedType::isDynamic(columns) || weightRows != 2 * columns)
    return op->emitOpError("with a gated epilogue can be partitioned with "
                           "gate = interleaved and equal shards only");
  return success();
}

static LogicalResult checkPartition(GroupedMatmulInterface op,
                                    ArrayRef<Sharding> operandShardings,
                                    ArrayRef<Sharding> resultShardings,
                                    SymbolTableCollection &symbolTable) {
  // Memrefs, and so an op without results, have no shardings.
  if (resultShardings.empty())
    return success();
  SmallVector<shard::GridAxis> axes = getColumnAxes(op, resultShardings[0]);
  SmallVector<Sharding, 0> shardings(operandShardings);
  llvm::append_range(shardings, resultShardings);
  for (auto [sharding, map] : llvm::zip_equal(shardings, getMaps(op)))
    if (failed(checkSharding(op, sharding, map, axes)))
      return failure();
  if (!op.isGated() || axes.empty())
    return success();
  return checkGatedShards(op, operandShardings[op.isSwapped() ? 0 : 1],
                          resultShardings[0], symbolTable);
}

template <typename OpTy>
LogicalResult GroupedMatmulSharding<OpTy>::partition(
    Operation *op, ArrayRef<Value> partitionedOperands,
    ArrayRef<Sharding> operandShardings, ArrayRef<Sharding> resultShardings,
    IRMapping &partitionMap, SymbolTableCollection &symbolTable,
    OpBuilder &builder) const {
  if (failed(checkPartition(cast<GroupedMatmulInterface>(op), operandShardings,
                            resultShardings, symbolTable)))
    return failure();
  shard::partitionTriviallyShardableOperation(
      *op, partitionedOperands, operandShardings, resultShardings, partitionMap,
      symbolTable, builder);
  return success();
}

void mlir::moe::registerShardingInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, MoEDialect *,
                            shard::ShardDialect *) {
    GroupedMatmulOp::attachInterface<GroupedMatmulSharding<GroupedMatmulOp>>(
        *context);
    GroupedMatmulSwappedOp::attachInterface<
        GroupedMatmulSharding<GroupedMatmulSwappedOp>>(*context);
  });
}
