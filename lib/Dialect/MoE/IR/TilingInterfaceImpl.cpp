//===- TilingInterfaceImpl.cpp - Tiling of moe ops ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/IR/TilingInterfaceImpl.h"

#include "GroupedMatmulDims.h"
#include "moe/Dialect/MoE/IR/MoE.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::moe;

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

namespace {
/// Part of one dimension.
struct Interval {
  OpFoldResult offset, size;
};
} // namespace

static OpFoldResult getSize(OpBuilder &builder, Location loc, ValueDim where) {
  if (isa<MemRefType>(where.value.getType()))
    return memref::getMixedSize(builder, loc, where.value, where.dim);
  return tensor::getMixedSize(builder, loc, where.value, where.dim);
}

/// True if `part` is known to be the whole dimension.
static bool isWhole(const Interval &part, ValueDim where) {
  if (!isZeroInteger(part.offset))
    return false;
  int64_t size = cast<ShapedType>(where.value.getType()).getDimSize(where.dim);
  std::optional<int64_t> constant = getConstantIntValue(part.size);
  if (ShapedType::isStatic(size) && constant)
    return size == *constant;
  FailureOr<bool> equal = ValueBoundsConstraintSet::areEqual(
      ValueBoundsConstraintSet::Variable(part.size),
      ValueBoundsConstraintSet::Variable(where.value, where.dim));
  return succeeded(equal) && *equal;
}

/// Reports why a tile of `op` is refused; always fails. Not an error: a
/// transformation may try something else.
static LogicalResult refuse(Operation *op, StringRef reason) {
  remark::missed(op->getLoc(),
                 remark::RemarkOpts::name("untiled").category("moe-tiling"))
      << (op->getName().getStringRef() + " is not tiled: " + reason).str();
  return failure();
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

namespace {
/// Makes the op of one tile: [rows, columns] of the iteration domain.
class TileBuilder {
public:
  TileBuilder(OpBuilder &builder, GroupedMatmulInterface op, Interval rows,
              Interval columns)
      : builder(builder), op(op), loc(op.getLoc()), rows(rows),
        columns(columns) {
    allRows = isWhole(rows, getRowsDim(op));
    allColumns = isWhole(columns, getResultColumnsDim(op));
  }

  FailureOr<TilingResult> build();

private:
  LogicalResult checkTileable();

  /// The operands of the tile, in the order of the op's operands.
  SmallVector<Value> tileOperands();

  /// Slices `source` in the dimensions given; null intervals are whole ones.
  Value slice(Value source, ArrayRef<std::optional<Interval>> parts);

  /// The rows of weights or bias that make the columns of the tile.
  std::optional<Interval> getWeightRows();

  /// Offsets of the groups in the rows of the tile.
  Value tileOffsets();

  std::optional<Interval> getRows() const {
    return allRows ? std::nullopt : std::optional(rows);
  }
  std::optional<Interval> getColumns() const {
    return allColumns ? std::nullopt : std::optional(columns);
  }

  OpBuilder &builder;
  GroupedMatmulInterface op;
  Location loc;
  Interval rows, columns;
  bool allRows, allColumns;
  SmallVector<Operation *> slices;
};
} // namespace

LogicalResult TileBuilder::checkTileable() {
  EpilogueAttr epilogue = op.getEpilogueAttr();
  if (!allColumns && epilogue && epilogue.getGate() == Gate::Concat)
    return refuse(op, "the gate and up rows that make a tile of columns are "
                      "not contiguous with gate = concat; use interleaved");
  if (allRows)
    return success();
  if (op.getScatter())
    return refuse(op, "a tile of rows has no known place in the result with "
                      "scatter");
  if (op.getGroupKind() != GroupKind::Offsets)
    return refuse(op, "a tile of rows needs group_kind = offsets");
  if (isa<MemRefType>(op.getInit().getType()))
    return refuse(op, "a tile of rows needs new offsets, and so an allocation, "
                      "on memrefs; tile before bufferization");
  return success();
}

Value TileBuilder::slice(Value source,
                         ArrayRef<std::optional<Interval>> parts) {
  if (llvm::none_of(parts, [](const auto &part) { return part.has_value(); }))
    return source;
  SmallVector<OpFoldResult> offsets, sizes,
      strides(parts.size(), builder.getIndexAttr(1));
  for (auto [dim, part] : llvm::enumerate(parts)) {
    offsets.push_back(part ? part->offset : builder.getIndexAttr(0));
    sizes.push_back(part
                        ? part->size
                        : getSize(builder, loc,
                                  ValueDim{source, static_cast<int64_t>(dim)}));
  }
  Operation *slice;
  if (isa<MemRefType>(source.getType()))
    slice = memref::SubViewOp::create(builder, loc, source, offsets, sizes,
                                      strides);
  else
    slice = tensor::ExtractSliceOp::create(builder, loc, source, offsets, sizes,
                                           strides);
  slices.push_back(slice);
  return slice->getResult(0);
}

std::optional<Interval> TileBuilder::getWeightRows() {
  if (allColumns || !op.isGated())
    return getColumns();
  // An interleaved gate: each column takes a gate row and the up row after it.
  AffineMap twice = AffineMap::get(1, 0, builder.getAffineDimExpr(0) * 2);
  return Interval{
      affine::makeComposedFoldedAffineApply(builder, loc, twice,
                                            columns.offset),
      affine::makeComposedFoldedAffineApply(builder, loc, twice, columns.size)};
}

/// `clamp(offset, first, last) - first` for every offset. Moving and clamping
/// keep the order of two offsets, so an offset that counts as an earlier,
/// higher one does so in the tile too.
Value TileBuilder::tileOffsets() {
  Value first = getValueOrCreateConstantIndexOp(builder, loc, rows.offset);
  Value size = getValueOrCreateConstantIndexOp(builder, loc, rows.size);
  Value last = arith::AddIOp::create(builder, loc, first, size);
  Value offsets = op.getGroups();
  auto type = cast<RankedTensorType>(offsets.getType());
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, offsets),
      type.getElementType());
  AffineMap identity = builder.getMultiDimIdentityMap(1);
  // In index arithmetic: i32 offsets may lie below, and i64 ones above, what
  // the subtraction of `first` leaves in their range.
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Type index = nested.getIndexType();
    Value offset = arith::IndexCastOp::create(nested, loc, index, args[0]);
    offset = arith::MaxSIOp::create(nested, loc, offset, first);
    offset = arith::MinSIOp::create(nested, loc, offset, last);
    offset = arith::SubIOp::create(nested, loc, offset, first);
    offset =
        arith::IndexCastOp::create(nested, loc, type.getElementType(), offset);
    linalg::YieldOp::create(nested, loc, offset);
  };
  auto moved = linalg::GenericOp::create(
      builder, loc, empty.getType(), offsets, empty,
      ArrayRef<AffineMap>{identity, identity},
      ArrayRef<utils::IteratorType>{utils::IteratorType::parallel}, body);
  return moved.getResult(0);
}

SmallVector<Value> TileBuilder::tileOperands() {
  std::optional<Interval> whole, tileRows = getRows(),
                                 tileColumns = getColumns();
  std::optional<Interval> weightRows = getWeightRows();
  // With `gather`, the tile of rows is one of the indices.
  std::optional<Interval> tokenRows = op.getGather() ? whole : tileRows;
  bool nk = op.getWeightLayout() == WeightLayout::NK;
  auto matrix = [&](Value source, bool transposed,
                    const std::optional<Interval> &sourceRows,
                    const std::optional<Interval> &sourceColumns) {
    return transposed ? slice(source, {sourceColumns, sourceRows})
                      : slice(source, {sourceRows, sourceColumns});
  };
  SmallVector<Value> operands = {
      matrix(op.getTokens(), op.hasTransposedTokens(), tokenRows, whole),
      nk ? slice(op.getWeights(), {whole, weightRows, whole})
         : slice(op.getWeights(), {whole, whole, weightRows})};
  if (op.isSwapped())
    std::swap(operands[0], operands[1]);
  operands.push_back(allRows ? Value(op.getGroups()) : tileOffsets());
  if (Value bias = op.getBias())
    operands.push_back(slice(bias, {whole, weightRows}));
  if (Value gather = op.getGather())
    operands.push_back(slice(gather, {tileRows}));
  if (Value scale = op.getScale())
    operands.push_back(slice(scale, {tileRows}));
  if (Value scatter = op.getScatter())
    operands.push_back(scatter);
  operands.push_back(
      matrix(op.getInit(), op.hasTransposedResult(), tileRows, tileColumns));
  return operands;
}

FailureOr<TilingResult> TileBuilder::build() {
  if (failed(checkTileable()))
    return failure();
  SmallVector<Value> operands = tileOperands();
  SmallVector<Type> types;
  if (op->getNumResults() != 0)
    types.push_back(operands.back().getType());
  Operation *tile = mlir::clone(builder, op, types, operands);
  // Experts have fewer tokens in a tile of rows than the hint says.
  if (!allRows)
    tile->removeAttr("expected_tokens");
  return TilingResult{{tile}, SmallVector<Value>(tile->getResults()), slices};
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

/// The rows and columns of the iteration domain that make a tile of the result.
static FailureOr<std::pair<Interval, Interval>>
getDomainTile(OpBuilder &builder, GroupedMatmulInterface op,
              ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes) {
  int64_t rowDim = getResultRowsDim(op).dim;
  int64_t columnDim = getResultColumnsDim(op).dim;
  Interval rows{offsets[rowDim], sizes[rowDim]};
  Interval columns{offsets[columnDim], sizes[columnDim]};
  if (op.getScatter()) {
    if (!isWhole(rows, getResultRowsDim(op)))
      return refuse(op, "which rows make a tile of the result is not known "
                        "with scatter");
    rows.size = getSize(builder, op.getLoc(), getRowsDim(op));
  }
  return std::make_pair(rows, columns);
}

namespace {
template <typename OpTy>
struct GroupedMatmulTiling
    : public TilingInterface::ExternalModel<GroupedMatmulTiling<OpTy>, OpTy> {
  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *) const {
    return SmallVector<utils::IteratorType>(2, utils::IteratorType::parallel);
  }

  SmallVector<Range> getIterationDomain(Operation *op,
                                        OpBuilder &builder) const {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(op);
    auto matmul = cast<GroupedMatmulInterface>(op);
    OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
    Location loc = op->getLoc();
    return {{zero, getSize(builder, loc, getRowsDim(matmul)), one},
            {zero, getSize(builder, loc, getResultColumnsDim(matmul)), one}};
  }

  FailureOr<TilingResult>
  getTiledImplementation(Operation *op, OpBuilder &builder,
                         ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> sizes) const {
    return TileBuilder(builder, cast<GroupedMatmulInterface>(op),
                       {offsets[0], sizes[0]}, {offsets[1], sizes[1]})
        .build();
  }

  LogicalResult
  getResultTilePosition(Operation *op, OpBuilder &builder, unsigned,
                        ArrayRef<OpFoldResult> offsets,
                        ArrayRef<OpFoldResult> sizes,
                        SmallVector<OpFoldResult> &resultOffsets,
                        SmallVector<OpFoldResult> &resultSizes) const {
    auto matmul = cast<GroupedMatmulInterface>(op);
    resultOffsets = {offsets[0], offsets[1]};
    resultSizes = {sizes[0], sizes[1]};
    // Only all rows are tiled with `scatter`, and they may store any.
    if (matmul.getScatter())
      resultSizes[0] = getSize(builder, op->getLoc(), getResultRowsDim(matmul));
    if (matmul.hasTransposedResult()) {
      std::swap(resultOffsets[0], resultOffsets[1]);
      std::swap(resultSizes[0], resultSizes[1]);
    }
    return success();
  }

  LogicalResult getIterationDomainTileFromResultTile(
      Operation *op, OpBuilder &builder, unsigned,
      ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
      SmallVectorImpl<OpFoldResult> &domainOffsets,
      SmallVectorImpl<OpFoldResult> &domainSizes) const {
    auto tile = getDomainTile(builder, cast<GroupedMatmulInterface>(op),
                              offsets, sizes);
    if (failed(tile))
      return failure();
    domainOffsets.assign({tile->first.offset, tile->second.offset});
    domainSizes.assign({tile->first.size, tile->second.size});
    return success();
  }

  FailureOr<TilingResult>
  generateResultTileValue(Operation *op, OpBuilder &builder, unsigned,
                          ArrayRef<OpFoldResult> offsets,
                          ArrayRef<OpFoldResult> sizes) const {
    auto matmul = cast<GroupedMatmulInterface>(op);
    auto tile = getDomainTile(builder, matmul, offsets, sizes);
    if (failed(tile))
      return failure();
    return TileBuilder(builder, matmul, tile->first, tile->second).build();
  }
};
} // namespace

void mlir::moe::registerTilingInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, MoEDialect *) {
    GroupedMatmulOp::attachInterface<GroupedMatmulTiling<GroupedMatmulOp>>(
        *context);
    GroupedMatmulSwappedOp::attachInterface<
        GroupedMatmulTiling<GroupedMatmulSwappedOp>>(*context);
    // Tiles are made of ops of these.
    context->loadDialect<affine::AffineDialect, arith::ArithDialect,
                         linalg::LinalgDialect, memref::MemRefDialect,
                         tensor::TensorDialect>();
  });
}
