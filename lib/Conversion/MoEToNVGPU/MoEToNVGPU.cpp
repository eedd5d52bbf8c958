//===- MoEToNVGPU.cpp - grouped matmuls to GPU kernels --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each op becomes tensor maps and a gpu.launch_func on the host side, and a
// kernel in one gpu.module. Ops that one kernel can serve share it.
//
//===----------------------------------------------------------------------===//

#include "GroupedMatmulKernel.h"
#include "KernelBuilder.h"

#include "moe/Conversion/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir {
namespace moe {
#define GEN_PASS_DEF_CONVERTMOETONVGPU
#include "moe/Conversion/Passes.h.inc"
} // namespace moe
} // namespace mlir

using namespace mlir;
using namespace mlir::moe;

static constexpr llvm::StringLiteral kKernelModuleName = "moe_kernels";

namespace {

struct ConvertMoEToNVGPU
    : public moe::impl::ConvertMoEToNVGPUBase<ConvertMoEToNVGPU> {
  using ConvertMoEToNVGPUBase::ConvertMoEToNVGPUBase;

  void runOnOperation() override;

private:
  LogicalResult convert(GroupedMatmulInterface op);
  LLVM::LLVMFuncOp getKernel(GroupedMatmulInterface op, const KernelPlan &plan);
  gpu::GPUModuleOp getKernelModule(Location loc);

  llvm::StringMap<LLVM::LLVMFuncOp> kernels;
  gpu::GPUModuleOp kernelModule;
};

} // namespace

gpu::GPUModuleOp ConvertMoEToNVGPU::getKernelModule(Location loc) {
  if (kernelModule)
    return kernelModule;
  ModuleOp module = getOperation();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  kernelModule = gpu::GPUModuleOp::create(builder, loc, kKernelModuleName);
  // A module of that name may stand there already; insert renames ours then.
  SymbolTable(module).insert(kernelModule);
  module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                  builder.getUnitAttr());
  builder.setInsertionPointToStart(kernelModule.getBody());
  createSharedMemory(builder, loc);
  return kernelModule;
}

LLVM::LLVMFuncOp ConvertMoEToNVGPU::getKernel(GroupedMatmulInterface op,
                                              const KernelPlan &plan) {
  LLVM::LLVMFuncOp &kernel = kernels[plan.getKey()];
  if (kernel)
    return kernel;
  gpu::GPUModuleOp module = getKernelModule(op->getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  std::string name =
      llvm::formatv("{0}_{1}",
                    plan.isSwapped ? "grouped_matmul_swapped"
                                   : "grouped_matmul",
                    kernels.size() - 1);
  kernel = createGroupedMatmulKernel(builder, op->getLoc(), plan, name);
  ++numKernels;
  return kernel;
}

/// The host-side tensor map of `operand`.
static Value createTensorMap(KernelBuilder &b, Value operand,
                             const OperandTile &tile, bool hasExpertDimension) {
  auto memref = cast<MemRefType>(operand.getType());
  nvgpu::TensorMapDescriptorType type =
      getTensorMapType(tile, memref.getElementType(), hasExpertDimension);
  Value unranked = memref::CastOp::create(
      b,
      UnrankedMemRefType::get(memref.getElementType(), memref.getMemorySpace()),
      operand);
  SmallVector<Value> box;
  for (int64_t extent : type.getTensor().getShape())
    box.push_back(b.index(extent));
  return nvgpu::TmaCreateDescriptorOp::create(b, type, unranked, box);
}

/// Blocks of a launch: one for each multiprocessor of the target, unless there
/// are certainly fewer tiles.
static Value createGridSize(KernelBuilder &b, const KernelPlan &plan,
                            Value numRows, int64_t multiprocessors) {
  Value tiles = arith::MulIOp::create(b, numRows, b.index(plan.outputTiles));
  return arith::MinUIOp::create(b, tiles, b.index(multiprocessors));
}

/// R; if operands that must agree on it do not, what the shortest of them has,
/// so that a launch never leaves an operand.
static Value createNumRows(KernelBuilder &b, GroupedMatmulInterface op) {
  Value zero = b.index(0);
  Value rows = memref::DimOp::create(b, op.getTokens(), zero);
  SmallVector<Value> others = {op.getScale(), op.getScatter()};
  if (!op.getScatter())
    others.push_back(op.getInit());
  for (Value other : others) {
    if (!other || !cast<MemRefType>(other.getType()).isDynamicDim(0))
      continue;
    rows = arith::MinUIOp::create(b, rows,
                                  memref::DimOp::create(b, other, zero));
  }
  return rows;
}

LogicalResult ConvertMoEToNVGPU::convert(GroupedMatmulInterface op) {
  FailureOr<KernelPlan> plan = KernelPlan::create(op);
  if (failed(plan))
    return failure();
  OpBuilder builder(op);
  KernelBuilder b(op->getLoc(), builder);
  b.setInsertionPoint(op);
  Value zero = b.index(0);
  Value numRows = createNumRows(b, op);
  auto toI32 = [&](Value value) -> Value {
    return arith::IndexCastOp::create(b, b.getI32Type(), value);
  };
  SmallVector<Value> arguments = {
      createTensorMap(b, op.getWeights(), plan->getWeightTile(), true),
      createTensorMap(b, op.getTokens(), plan->getTokenTile(), false),
      op.getGroups()};
  for (Value optional : {op.getBias(), op.getScale(), op.getScatter()})
    if (optional)
      arguments.push_back(optional);
  arguments.append({op.getInit(), toI32(numRows)});
  if (op.getScatter())
    arguments.push_back(toI32(memref::DimOp::create(b, op.getInit(), zero)));

  LLVM::LLVMFuncOp kernel = getKernel(op, *plan);
  Value one = b.index(1);
  Value grid = createGridSize(b, *plan, numRows, multiprocessors);
  gpu::LaunchFuncOp::create(
      b,
      SymbolRefAttr::get(kernelModule.getNameAttr(),
                         {SymbolRefAttr::get(kernel)}),
      gpu::KernelDim3{grid, one, one},
      gpu::KernelDim3{b.index(plan->getNumThreads()), one, one},
      b.i32(plan->sharedBytes), arguments);
  op->erase();
  ++numLaunches;
  return success();
}

void ConvertMoEToNVGPU::runOnOperation() {
  kernels.clear();
  kernelModule = nullptr;
  SmallVector<GroupedMatmulInterface> ops;
  getOperation()->walk(
      [&](GroupedMatmulInterface op) { ops.push_back(op); });
  for (GroupedMatmulInterface op : ops)
    if (failed(convert(op)))
      return signalPassFailure();
  if (!kernelModule)
    return;
  // erf has no instruction; without this it would be a library call.
  RewritePatternSet patterns(&getContext());
  populatePolynomialApproximateErfPattern(patterns);
  walkAndApplyPatterns(kernelModule, std::move(patterns));
}
