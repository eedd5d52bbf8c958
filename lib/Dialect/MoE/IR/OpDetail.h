//===- OpDetail.h - what the ops of the dialect share -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_LIB_DIALECT_MOE_IR_OPDETAIL_H
#define MOE_LIB_DIALECT_MOE_IR_OPDETAIL_H

#include "moe/Dialect/MoE/IR/MoE.h"

namespace mlir {
namespace moe {
namespace detail {

/// What an op does with the old value of its destinations.
enum class InitUse {
  /// Part of it may stay, as rows that no group owns do.
  Kept,
  /// All of it is overwritten.
  Overwritten,
};

/// Memrefs among the inputs are read, those among the destinations written
/// and, if part of them is kept, read.
void getDestinationStyleEffects(
    DestinationStyleOpInterface op, InitUse use,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects);

/// The tensor form is defined for all values of its operands, so it may be
/// speculated.
Speculation::Speculatability
getDestinationStyleSpeculatability(DestinationStyleOpInterface op);

/// Every result has the shape of the destination it is tied to.
LogicalResult reifyFromInits(OpBuilder &builder, DestinationStyleOpInterface op,
                             ReifiedRankedShapedTypeDims &reifiedReturnShapes);

/// Fails unless the groups of operands whose sizes `segments` holds have one
/// operand each. The groups from `firstOptional` on may have none, except for
/// the last one, the destination. ODS sees to it that they have no more, and
/// leaves the others unchecked.
LogicalResult verifyOperandGroups(Operation *op, ArrayRef<int32_t> segments,
                                  size_t firstOptional);

/// Fails if some operands are tensors and others memrefs.
LogicalResult verifyPureSemantics(DestinationStyleOpInterface op);

/// Fails, naming both operands, if two static sizes that must agree differ.
LogicalResult verifySameSize(Operation *op, int64_t size, const Twine &what,
                             int64_t expected, const Twine &where);

/// Fails if the hint has the wrong number of entries or a negative one.
/// `experts` may be dynamic.
LogicalResult
verifyExpectedTokens(Operation *op,
                     std::optional<ArrayRef<int64_t>> expectedTokens,
                     int64_t experts);

/// The size of an operand in one dimension, dynamic if the operand is absent.
inline int64_t sizeOrDynamic(TypedValue<ShapedType> value, int64_t dim) {
  return value ? value.getType().getDimSize(dim) : ShapedType::kDynamic;
}

} // namespace detail
} // namespace moe
} // namespace mlir

#endif // MOE_LIB_DIALECT_MOE_IR_OPDETAIL_H
