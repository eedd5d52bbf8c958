//===- RuntimeOpVerification.cpp - Run-time checks of moe ops -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/IR/RuntimeOpVerification.h"

#include "GroupedMatmulDims.h"
#include "moe/Dialect/MoE/IR/MoE.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"

using namespace mlir;
using namespace mlir::moe;

using GenerateMessage =
    function_ref<std::string(Operation *, StringRef message)>;

namespace {
/// Makes the checks of one op at the place of `builder`.
class GroupedMatmulChecks {
public:
  GroupedMatmulChecks(OpBuilder &builder, Location loc,
                      GroupedMatmulInterface op,
                      GenerateMessage generateMessage)
      : builder(builder), loc(loc), op(op), generateMessage(generateMessage) {}

  void create();

private:
  void checkSizes();
  void checkOffsets();
  void checkGroupSizes();

  void assertThat(OpBuilder &at, arith::CmpIPredicate predicate, Value lhs,
                  Value rhs, const Twine &message);

  /// Asserts `factor * size + addend` of one dimension to be another's size, if
  /// the verifier could not compare them.
  void assertSameSize(ValueDim size, const Twine &what, ValueDim expected,
                      const Twine &where, int64_t factor = 1,
                      int64_t addend = 0);

  Value getSize(ValueDim where);
  Value loadGroup(OpBuilder &at, Value position);
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  OpBuilder &builder;
  Location loc;
  GroupedMatmulInterface op;
  GenerateMessage generateMessage;
};
} // namespace

void GroupedMatmulChecks::assertThat(OpBuilder &at,
                                     arith::CmpIPredicate predicate, Value lhs,
                                     Value rhs, const Twine &message) {
  Value holds = arith::CmpIOp::create(at, loc, predicate, lhs, rhs);
  std::string text =
      (Twine(op->getName().getStringRef()) + ": " + message).str();
  cf::AssertOp::create(at, loc, holds, generateMessage(op, text));
}

Value GroupedMatmulChecks::getSize(ValueDim where) {
  if (isa<MemRefType>(where.value.getType()))
    return builder.createOrFold<memref::DimOp>(loc, where.value, where.dim);
  return builder.createOrFold<tensor::DimOp>(loc, where.value, where.dim);
}

void GroupedMatmulChecks::assertSameSize(ValueDim size, const Twine &what,
                                         ValueDim expected, const Twine &where,
                                         int64_t factor, int64_t addend) {
  auto isDynamic = [](ValueDim of) {
    return cast<ShapedType>(of.value.getType()).isDynamicDim(of.dim);
  };
  if (!size.value || (!isDynamic(size) && !isDynamic(expected)))
    return;
  Value actual = getSize(size);
  if (factor != 1)
    actual = arith::MulIOp::create(builder, loc, actual, constant(factor));
  if (addend != 0)
    actual = arith::AddIOp::create(builder, loc, actual, constant(addend));
  assertThat(builder, arith::CmpIPredicate::eq, actual, getSize(expected),
             what + " does not match " + where);
}

void GroupedMatmulChecks::checkSizes() {
  assertSameSize(getTokenElementsDim(op), "K of the tokens",
                 getWeightElementsDim(op), "K of the weights");
  ValueDim experts{op.getWeights(), 0}, weightRows = getWeightRowsDim(op);
  bool offsets = op.getGroupKind() == GroupKind::Offsets;
  assertSameSize({op.getGroups(), 0},
                 offsets ? "number of offsets less one"
                         : "number of group sizes",
                 experts, "E of the weights", 1, offsets ? -1 : 0);
  assertSameSize({op.getBias(), 0}, "E of the bias", experts,
                 "E of the weights");
  assertSameSize({op.getBias(), 1}, "N of the bias", weightRows,
                 "N of the weights");
  assertSameSize(getResultColumnsDim(op), "N of outs", weightRows,
                 op.isGated() ? "N/2 of the gated weights" : "N of the weights",
                 op.isGated() ? 2 : 1);
  ValueDim rows = getRowsDim(op);
  assertSameSize({op.getScale(), 0}, "length of scale", rows, "R");
  assertSameSize({op.getScatter(), 0}, "length of scatter", rows, "R");
  if (!op.getScatter())
    assertSameSize(getResultRowsDim(op), "R of outs", rows,
                   op.getGather() ? "length of gather" : "R of tokens");
}

Value GroupedMatmulChecks::loadGroup(OpBuilder &at, Value position) {
  Value groups = op.getGroups(), group;
  if (isa<MemRefType>(groups.getType()))
    group = memref::LoadOp::create(at, loc, groups, position);
  else
    group = tensor::ExtractOp::create(at, loc, groups, position);
  return arith::IndexCastOp::create(at, loc, at.getIndexType(), group);
}

void GroupedMatmulChecks::checkOffsets() {
  Value zero = constant(0), one = constant(1);
  Value first = loadGroup(builder, zero);
  assertThat(builder, arith::CmpIPredicate::sge, first, zero,
             "the first offset in groups is negative");
  auto body = [&](OpBuilder &nested, Location, Value i, ValueRange before) {
    Value offset = loadGroup(nested, i);
    assertThat(nested, arith::CmpIPredicate::sge, offset, before[0],
               "an offset in groups is less than the one before it");
    scf::YieldOp::create(nested, loc, offset);
  };
  auto loop = scf::ForOp::create(
      builder, loc, one, getSize({op.getGroups(), 0}), one, first, body);
  assertThat(builder, arith::CmpIPredicate::sle, loop.getResult(0),
             getSize(getRowsDim(op)),
             "the last offset in groups is beyond the R rows");
}

void GroupedMatmulChecks::checkGroupSizes() {
  Value zero = constant(0), one = constant(1);
  // Subtracting from R cannot overflow, unlike a sum of unchecked sizes.
  auto body = [&](OpBuilder &nested, Location, Value i, ValueRange left) {
    Value size = loadGroup(nested, i);
    assertThat(nested, arith::CmpIPredicate::sge, size, zero,
               "a size in groups is negative");
    assertThat(nested, arith::CmpIPredicate::sle, size, left[0],
               "the sizes in groups are more than the R rows in sum");
    Value rest = arith::SubIOp::create(nested, loc, left[0], size);
    scf::YieldOp::create(nested, loc, rest);
  };
  scf::ForOp::create(builder, loc, zero, getSize({op.getGroups(), 0}), one,
                     getSize(getRowsDim(op)), body);
}

void GroupedMatmulChecks::create() {
  checkSizes();
  if (op.getGroupKind() == GroupKind::Offsets)
    checkOffsets();
  else
    checkGroupSizes();
}

namespace {
template <typename OpTy>
struct GroupedMatmulVerification
    : public RuntimeVerifiableOpInterface::ExternalModel<
          GroupedMatmulVerification<OpTy>, OpTy> {
  void generateRuntimeVerification(Operation *op, OpBuilder &builder,
                                   Location loc,
                                   GenerateMessage generateMessage) const {
    GroupedMatmulChecks(builder, loc, cast<GroupedMatmulInterface>(op),
                        generateMessage)
        .create();
  }
};
} // namespace

void mlir::moe::registerRuntimeVerifiableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, MoEDialect *) {
    GroupedMatmulOp::attachInterface<
        GroupedMatmulVerification<GroupedMatmulOp>>(*context);
    GroupedMatmulSwappedOp::attachInterface<
        GroupedMatmulVerification<GroupedMatmulSwappedOp>>(*context);
    // Checks are made of ops of these.
    context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                         memref::MemRefDialect, scf::SCFDialect,
                         tensor::TensorDialect>();
  });
}
