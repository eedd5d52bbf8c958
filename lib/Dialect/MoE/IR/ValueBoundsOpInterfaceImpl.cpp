//===- ValueBoundsOpInterfaceImpl.cpp - Sizes of moe ops' results ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/IR/ValueBoundsOpInterfaceImpl.h"

#include "GroupedMatmulDims.h"
#include "moe/Dialect/MoE/IR/MoE.h"

#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::moe;

namespace {
template <typename OpTy>
struct GroupedMatmulBounds
    : public ValueBoundsOpInterface::ExternalModel<GroupedMatmulBounds<OpTy>,
                                                   OpTy> {
  void populateBoundsForShapedValueDim(Operation *op, Value value, int64_t dim,
                                       ValueBoundsConstraintSet &set) const {
    auto matmul = cast<GroupedMatmulInterface>(op);
    auto sizeOf = [&](ValueDim where) {
      return set.getExpr(where.value, where.dim);
    };
    set.bound(value)[dim] == sizeOf({matmul.getInit(), dim});
    if (dim == getResultRowsDim(matmul).dim) {
      if (!matmul.getScatter())
        set.bound(value)[dim] == sizeOf(getRowsDim(matmul));
      return;
    }
    ValueDim weightRows = getWeightRowsDim(matmul);
    AffineExpr n = sizeOf(weightRows);
    if (matmul.isGated())
      set.bound(weightRows.value)[weightRows.dim] == sizeOf({value, dim}) * 2;
    else
      set.bound(value)[dim] == n;
  }
};
} // namespace

void mlir::moe::registerValueBoundsOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, MoEDialect *) {
    GroupedMatmulOp::attachInterface<GroupedMatmulBounds<GroupedMatmulOp>>(
        *context);
    GroupedMatmulSwappedOp::attachInterface<
        GroupedMatmulBounds<GroupedMatmulSwappedOp>>(*context);
  });
}
