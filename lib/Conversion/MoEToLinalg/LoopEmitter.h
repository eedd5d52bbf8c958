//===- LoopEmitter.h - short forms of loops and scalar ops ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_CONVERSION_MOETOLINALG_LOOPEMITTER_H
#define LIB_CONVERSION_MOETOLINALG_LOOPEMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir {
namespace moe {

/// Short forms of the scalar ops and loops that the lowerings are made of, at
/// the place of the op that is lowered.
class LoopEmitter {
protected:
  LoopEmitter(RewriterBase &rewriter, Operation *op)
      : b(op->getLoc(), rewriter) {
    zero = index(0);
    one = index(1);
  }

  // Of index type.
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value add(Value lhs, Value rhs) {
    return b.createOrFold<arith::AddIOp>(lhs, rhs);
  }
  Value minimum(Value lhs, Value rhs) {
    return lhs == rhs ? lhs : b.createOrFold<arith::MinSIOp>(lhs, rhs);
  }
  /// True if 0 <= value < bound, for a bound that is not negative.
  Value isWithin(Value value, Value bound) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, value, bound);
  }
  Value dim(Value memref, int64_t dimension) {
    int64_t size = cast<MemRefType>(memref.getType()).getDimSize(dimension);
    if (!ShapedType::isDynamic(size))
      return index(size);
    return memref::DimOp::create(b, memref, dimension);
  }

  // Of f32, or vectors of it.
  Value constantF32(float value) {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  }
  Value toF32(Value value) {
    Type type = value.getType();
    if (getElementTypeOrSelf(type).isF32())
      return value;
    Type f32 = b.getF32Type();
    if (auto vector = dyn_cast<VectorType>(type))
      f32 = vector.clone(f32);
    return arith::ExtFOp::create(b, f32, value);
  }
  /// Rounds an f32 to `type`.
  Value fromF32(Value value, Type type) {
    if (type.isF32())
      return value;
    return arith::TruncFOp::create(b, type, value);
  }
  Value addF(Value lhs, Value rhs) {
    return arith::AddFOp::create(b, lhs, rhs);
  }
  Value mulF(Value lhs, Value rhs) {
    return arith::MulFOp::create(b, lhs, rhs);
  }
  Value divF(Value lhs, Value rhs) {
    return arith::DivFOp::create(b, lhs, rhs);
  }

  Value load(Value memref, ValueRange indices) {
    return memref::LoadOp::create(b, memref, indices);
  }
  void store(Value value, Value memref, ValueRange indices) {
    memref::StoreOp::create(b, value, memref, indices);
  }
  Value loadF32(Value memref, ValueRange indices) {
    return toF32(load(memref, indices));
  }
  /// Rounds an f32 to the element type of `memref` and stores it.
  void storeF32(Value value, Value memref, ValueRange indices) {
    store(fromF32(value, getElementTypeOrSelf(memref.getType())), memref,
          indices);
  }
  /// An element of an i32 or i64 memref, sign-extended.
  Value loadIndex(Value memref, ValueRange indices) {
    return arith::IndexCastOp::create(b, b.getIndexType(),
                                      load(memref, indices));
  }
  void storeIndex(Value value, Value memref, ValueRange indices) {
    Type type = getElementTypeOrSelf(memref.getType());
    store(arith::IndexCastOp::create(b, type, value), memref, indices);
  }

  using LoopBody = function_ref<void(Value)>;
  void loop(Value lower, Value upper, Value step, LoopBody body) {
    auto forOp = scf::ForOp::create(b, lower, upper, step);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forOp.getBody());
    body(forOp.getInductionVar());
  }
  void loop(Value lower, Value upper, LoopBody body) {
    loop(lower, upper, one, body);
  }
  void parallelLoop(Value upper, LoopBody body) {
    auto parallel = scf::ParallelOp::create(b, ValueRange{zero},
                                            ValueRange{upper}, ValueRange{one});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(parallel.getBody());
    body(parallel.getInductionVars()[0]);
  }
  using FoldBody = function_ref<SmallVector<Value>(Value, ValueRange)>;
  /// A loop from `lower` up to `upper` that carries values.
  SmallVector<Value> fold(Value lower, Value upper, Value step,
                          ValueRange start, FoldBody body) {
    auto forOp = scf::ForOp::create(b, lower, upper, step, start);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forOp.getBody());
    scf::YieldOp::create(
        b, body(forOp.getInductionVar(), forOp.getRegionIterArgs()));
    return llvm::to_vector_of<Value>(forOp.getResults());
  }
  SmallVector<Value> fold(Value lower, Value upper, ValueRange start,
                          FoldBody body) {
    return fold(lower, upper, one, start, body);
  }
  void ifThen(Value condition, function_ref<void()> body,
              function_ref<void()> otherwise = nullptr) {
    auto ifOp = scf::IfOp::create(b, condition, static_cast<bool>(otherwise));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    body();
    if (!otherwise)
      return;
    b.setInsertionPointToStart(ifOp.elseBlock());
    otherwise();
  }

  ImplicitLocOpBuilder b;
  Value zero, one;
};

} // namespace moe
} // namespace mlir

#endif // LIB_CONVERSION_MOETOLINALG_LOOPEMITTER_H
