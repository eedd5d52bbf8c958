//===- CostModelAdaptor.cpp - the cost model on IR ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/Transforms/Transforms.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::moe;

static constexpr double kGiga = 1e9, kTera = 1e12, kNano = 1e-9;
static constexpr double kPercent = 1e-2;
/// What the one tensor map of an operand demands of a row: 16 bytes.
static constexpr int64_t kRowAlignment = 16;

/// Bytes of one element of an operand.
static int64_t getElementBytes(Type elementType) {
  return llvm::divideCeilSigned(elementType.getIntOrFloatBitWidth(), 8);
}

Machine mlir::moe::getMachine(TargetAttr target, Type elementType) {
  unsigned bits = elementType.getIntOrFloatBitWidth();
  int64_t peak = bits >= 32   ? target.getPeakF32()
                 : bits >= 16 ? target.getPeak16bit()
                              : target.getPeak8bit();
  return {target.getSmCount(),
          target.getSharedMemory(),
          target.getMemoryBandwidth() * kGiga,
          target.getL2Bandwidth() * kGiga,
          peak * kTera * target.getUnswappedEfficiency() * kPercent,
          peak * kTera * target.getSwappedEfficiency() * kPercent,
          target.getMStep(),
          target.getNStep(),
          target.getNMax(),
          target.getLaunchOverhead() * kNano,
          target.getTileOverhead() * kNano};
}

FailureOr<TargetAttr> mlir::moe::resolveTarget(Operation *op, StringRef text) {
  if (text.empty())
    return TargetAttr::getAround(op);
  return TargetAttr::parseText(op->getContext(), text,
                               [&] { return op->emitError(); });
}

MatmulShape mlir::moe::getMatmulLayout(GroupedMatmulInterface op) {
  MatmulShape shape = {};
  shape.elementBytes =
      getElementBytes(op.getTokens().getType().getElementType());
  shape.resultBytes = getElementBytes(op.getInit().getType().getElementType());
  EpilogueAttr epilogue = op.getEpilogueAttr();
  shape.gathers = op.getGather() != nullptr;
  shape.gateConcat = epilogue && epilogue.getGate() == Gate::Concat;
  shape.knWeights = op.getWeightLayout() == WeightLayout::KN;
  return shape;
}

std::optional<MatmulShape>
mlir::moe::getMatmulShape(GroupedMatmulInterface op) {
  MatmulShape shape = getMatmulLayout(op);
  shape.experts = op.getNumExperts();
  shape.contraction = op.getContractionSize();
  shape.weightRows = op.getWeightRows();
  shape.resultColumns = op.getResultColumns();
  if (llvm::any_of(ArrayRef{shape.experts, shape.contraction, shape.weightRows,
                            shape.resultColumns},
                   ShapedType::isDynamic))
    return std::nullopt;
  return shape;
}

std::optional<TokenCounts>
mlir::moe::getExpectedCounts(GroupedMatmulInterface op,
                             std::optional<double> override) {
  int64_t experts = op.getNumExperts(), rows = op.getNumRows();
  std::optional<ArrayRef<int64_t>> hint = op.getExpectedTokens();
  if (!override && hint && hint->size() > 1)
    return TokenCounts::perExpert(*hint);
  if (ShapedType::isDynamic(experts) || experts == 0)
    return std::nullopt;
  if (override)
    return TokenCounts::uniform(*override, experts);
  if (hint && !hint->empty())
    return TokenCounts::uniform(hint->front(), experts);
  if (ShapedType::isDynamic(rows))
    return std::nullopt;
  return TokenCounts::uniform(static_cast<double>(rows) / experts, experts);
}

/// Why rows of `size` elements, called `what`, cannot be fetched, or nothing.
static std::optional<std::string> getRowObstacle(int64_t size, Type elementType,
                                                 StringRef what,
                                                 StringRef layout) {
  if (ShapedType::isDynamic(size))
    return std::nullopt;
  int64_t bytes = getElementBytes(elementType);
  if (size % (kRowAlignment / bytes) == 0)
    return std::nullopt;
  return llvm::formatv("{0} = {1} makes rows of {2} bytes, and {3} weights "
                       "need a multiple of {4}",
                       what, size,
                       llvm::SaturatingMultiply<uint64_t>(size, bytes), layout,
                       kRowAlignment);
}

std::optional<std::string>
mlir::moe::getGPUObstacle(GroupedMatmulInterface op) {
  Type elementType = op.getTokens().getType().getElementType();
  if (elementType.getIntOrFloatBitWidth() != 16)
    return llvm::formatv("the matrix instruction takes f16 or bf16, not {0}",
                         elementType);
  bool kn = op.getWeightLayout() == WeightLayout::KN;
  StringRef layout = stringifyWeightLayout(op.getWeightLayout());
  if (auto obstacle =
          getRowObstacle(op.getContractionSize(), elementType, "K", layout))
    return obstacle;
  if (kn)
    return getRowObstacle(op.getWeightRows(), elementType, "N", layout);
  return std::nullopt;
}
