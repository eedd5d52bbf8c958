//===- MoEToNVGPU.cpp - grouped matmuls to GPU kernels --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each op becomes a gpu.launch_func on the host side, with tensor maps where
// the kernel loads by TMA, and a kernel in one gpu.module. Ops that one kernel
// can serve share it.
//
//===----------------------------------------------------------------------===//

#include "GroupedMatmulKernel.h"
#include "KernelBuilder.h"
#include "LayerKernels.h"
#include "RouteKernel.h"

#include "moe/Conversion/Passes.h"
#include "moe/Dialect/MoE/Transforms/Transforms.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"
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
  /// Converts `op` if it is one that has a kernel.
  LogicalResult convert(Operation *op);
  LogicalResult convertGroupedMatmul(GroupedMatmulInterface op);
  /// Gives `op` a copy of the rows that it gathers.
  void copyGatheredRows(GroupedMatmulInterface op);
  LogicalResult convertRoute(RouteOp op);
  LogicalResult convertDispatch(DispatchOp op);
  LogicalResult convertCombine(CombineOp op);
  LogicalResult convertFill(linalg::FillOp op);
  LogicalResult convertCopy(memref::CopyOp op);

  /// The kernel with `key`, or if there is none what `create` builds, under a
  /// name that starts with `prefix`.
  LLVM::LLVMFuncOp
  getKernel(Operation *op, StringRef key, StringRef prefix,
            function_ref<LLVM::LLVMFuncOp(KernelBuilder &, StringRef)> create);
  gpu::GPUModuleOp getKernelModule(Location loc);
  void launch(KernelBuilder &b, LLVM::LLVMFuncOp kernel, Value numBlocks,
              int64_t numThreads, int64_t sharedBytes, ValueRange arguments);
  /// Launches a pointwise kernel for `numElements` (index).
  void launchPointwise(KernelBuilder &b, LLVM::LLVMFuncOp kernel,
                       SmallVector<Value> arguments, Value numElements);

  llvm::StringMap<LLVM::LLVMFuncOp> kernels;
  gpu::GPUModuleOp kernelModule;
};

} // namespace

namespace {
/// exp of an f32 as ex2.approx of x * log2(e): 2 ulp (PTX ISA, "ex2"), far
/// below the rounding to the 16-bit results it is used for.
struct ExpToInstruction : public OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return rewriter.notifyMatchFailure(op, "is not on f32");
    Value log2E = arith::ConstantOp::create(
        rewriter, op.getLoc(), rewriter.getF32FloatAttr(1.4426950408889634f));
    Value exponent =
        arith::MulFOp::create(rewriter, op.getLoc(), op.getOperand(), log2E);
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, op.getType(), rewriter.getStringAttr("llvm.nvvm.ex2.approx"),
        ValueRange(exponent));
    return success();
  }
};

/// fma as the instruction that every GPU has.
struct FmaToInstruction : public OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::FMAOp>(op, op.getType(),
                                             op->getOperands());
    return success();
  }
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

LLVM::LLVMFuncOp ConvertMoEToNVGPU::getKernel(
    Operation *op, StringRef key, StringRef prefix,
    function_ref<LLVM::LLVMFuncOp(KernelBuilder &, StringRef)> create) {
  LLVM::LLVMFuncOp &kernel = kernels[key];
  if (kernel)
    return kernel;
  gpu::GPUModuleOp module = getKernelModule(op->getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  KernelBuilder b(op->getLoc(), builder);
  kernel =
      create(b, llvm::formatv("{0}_{1}", prefix, kernels.size() - 1).str());
  ++numKernels;
  return kernel;
}

void ConvertMoEToNVGPU::launch(KernelBuilder &b, LLVM::LLVMFuncOp kernel,
                               Value numBlocks, int64_t numThreads,
                               int64_t sharedBytes, ValueRange arguments) {
  Value one = b.index(1);
  gpu::LaunchFuncOp::create(b,
                            SymbolRefAttr::get(kernelModule.getNameAttr(),
                                               {SymbolRefAttr::get(kernel)}),
                            gpu::KernelDim3{numBlocks, one, one},
                            gpu::KernelDim3{b.index(numThreads), one, one},
                            b.i32(sharedBytes), arguments);
  ++numLaunches;
}

void ConvertMoEToNVGPU::launchPointwise(KernelBuilder &b,
                                        LLVM::LLVMFuncOp kernel,
                                        SmallVector<Value> arguments,
                                        Value numElements) {
  arguments.push_back(
      arith::IndexCastOp::create(b, b.getI64Type(), numElements));
  Value numBlocks =
      arith::CeilDivUIOp::create(b, numElements, b.index(kPointwiseThreads));
  launch(b, kernel, numBlocks, kPointwiseThreads, 0, arguments);
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
  Value tiles =
      arith::MulIOp::create(b, numRows, b.index(plan.getMostOutputTiles()));
  return arith::MinUIOp::create(b, tiles, b.index(multiprocessors));
}

/// The least of the sizes of dimension 0 of `operands`.
static Value createLeastSize(KernelBuilder &b, ValueRange operands) {
  Value least;
  for (Value operand : operands) {
    Value size = memref::DimOp::create(b, operand, b.index(0));
    least = least ? arith::MinUIOp::create(b, least, size).getResult() : size;
  }
  return least;
}

/// R; if operands that must agree on it do not, what the shortest of them has,
/// so that a launch never leaves an operand.
static Value createNumRows(KernelBuilder &b, GroupedMatmulInterface op) {
  SmallVector<Value> operands = {op.getGather() ? op.getGather()
                                                : op.getTokens()};
  for (Value optional : {Value(op.getScale()), Value(op.getScatter()),
                         op.getScatter() ? Value() : Value(op.getInit())})
    if (optional)
      operands.push_back(optional);
  return createLeastSize(b, operands);
}

/// A key that is equal for two ops whose kernels differ in none of `parts`.
template <typename... Parts> static std::string getKey(const Parts &...parts) {
  std::string key;
  llvm::raw_string_ostream os(key);
  ((os << parts << ','), ...);
  return key;
}

void ConvertMoEToNVGPU::copyGatheredRows(GroupedMatmulInterface op) {
  auto tokensType = cast<MemRefType>(op.getTokens().getType());
  auto element = cast<FloatType>(tokensType.getElementType());
  auto index = cast<IntegerType>(op.getGather().getType().getElementType());
  // That of the tokens may be dynamic.
  int64_t columns = op.getContractionSize();
  LLVM::LLVMFuncOp kernel = getKernel(
      op, getKey("gather", element, index, columns), "gather",
      [&](KernelBuilder &kernelBuilder, StringRef name) {
        return createGatherKernel(kernelBuilder, name, element, index, columns);
      });
  KernelBuilder b(op->getLoc(), OpBuilder(op));
  auto copyType = MemRefType::get(
      {op.getGather().getType().getDimSize(0), columns}, element);
  Value numRows = createLeastSize(b, op.getGather());
  Value copy = memref::AllocOp::create(
      b, copyType,
      copyType.isDynamicDim(0) ? ValueRange(numRows) : ValueRange());
  Value numTokens = arith::IndexCastOp::create(
      b, b.getI64Type(), createLeastSize(b, op.getTokens()));
  launchPointwise(b, kernel, {op.getTokens(), op.getGather(), copy, numTokens},
                  arith::MulIOp::create(b, numRows, b.index(columns)));
  TypeSwitch<Operation *>(op).Case<GroupedMatmulOp, GroupedMatmulSwappedOp>(
      [&](auto matmul) {
        matmul.getTokensMutable().assign(copy);
        matmul.getGatherMutable().clear();
      });
}

LogicalResult
ConvertMoEToNVGPU::convertGroupedMatmul(GroupedMatmulInterface op) {
  FailureOr<KernelPlan> plan = KernelPlan::create(op);
  if (succeeded(plan) && plan->gatherType && !plan->canGather()) {
    copyGatheredRows(op);
    plan = KernelPlan::create(op);
  }
  FailureOr<TargetAttr> device = resolveTarget(op, target);
  if (failed(plan) || failed(device))
    return failure();
  KernelBuilder b(op->getLoc(), OpBuilder(op));
  Value zero = b.index(0);
  Value numRows = createNumRows(b, op);
  auto toI32 = [&](Value value) -> Value {
    return arith::IndexCastOp::create(b, b.getI32Type(), value);
  };
  SmallVector<Value> arguments;
  for (const KernelPlan *phase : plan->getPhases()) {
    arguments.push_back(
        createTensorMap(b, op.getWeights(), phase->getWeightTile(), true));
    for (const OperandTile &tile : phase->getTokenMapTiles())
      arguments.push_back(createTensorMap(b, op.getTokens(), tile, false));
  }
  arguments.push_back(op.getGroups());
  for (Value optional :
       {op.getBias(), op.getGather(), op.getScale(), op.getScatter()})
    if (optional)
      arguments.push_back(optional);
  arguments.append({op.getInit(), toI32(numRows)});
  if (op.getScatter())
    arguments.push_back(toI32(memref::DimOp::create(b, op.getInit(), zero)));

  LLVM::LLVMFuncOp kernel =
      getKernel(op, plan->getKey(),
                plan->isSwapped ? "grouped_matmul_swapped" : "grouped_matmul",
                [&](KernelBuilder &kernelBuilder, StringRef name) {
                  return createGroupedMatmulKernel(kernelBuilder, *plan, name);
                });
  launch(b, kernel, createGridSize(b, *plan, numRows, device->getSmCount()),
         plan->getNumThreads(), plan->sharedBytes, arguments);
  op->erase();
  return success();
}

/// Fails if an operand of `op` is not a contiguous memref in global memory, or
/// if dimension 1 of one of `matrices` is dynamic.
static LogicalResult verifyOperands(Operation *op, ValueRange matrices) {
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (isa<ShapedType>(operand.getType()) &&
        (!type || !type.getLayout().isIdentity()))
      return op->emitOpError("has an operand of type ")
             << operand.getType()
             << "; the GPU kernel needs contiguous memrefs";
    if (type && !isGlobalMemory(type.getMemorySpace()))
      return op->emitOpError("has an operand of type ")
             << type << "; the GPU kernel needs memrefs in global memory";
  }
  for (Value matrix : matrices)
    if (cast<MemRefType>(matrix.getType()).isDynamicDim(1))
      return op->emitOpError("has an operand of type ")
             << matrix.getType()
             << "; the GPU kernel needs rows of a static size";
  return success();
}

static Type getElementType(Value memref) {
  return cast<MemRefType>(memref.getType()).getElementType();
}

LogicalResult ConvertMoEToNVGPU::convertRoute(RouteOp op) {
  if (failed(verifyOperands(
          op, {op.getLogits(), op.getWeightsInit(), op.getIndicesInit()})))
    return failure();
  RouteShape shape;
  shape.logits = cast<FloatType>(getElementType(op.getLogits()));
  if (op.getBias())
    shape.bias = cast<FloatType>(getElementType(op.getBias()));
  shape.weights = cast<FloatType>(getElementType(op.getWeightsInit()));
  shape.index = cast<IntegerType>(getElementType(op.getIndicesInit()));
  shape.scoring = op.getScoring();
  shape.renormalize = op.getRenormalize();
  shape.numExperts = op.getNumExperts();
  shape.topK = op.getTopK();
  shape.sharedExperts = op.getSharedExperts();
  shape.numGroups = op.getNGroup();
  shape.topKGroups = op.getTopkGroup();
  shape.scaling = op.getScaling().convertToFloat();
  if (shape.numExperts > kMaxRouteExperts || shape.topK > kMaxRouteTopK)
    return op.emitOpError("chooses ")
           << shape.topK << " of " << shape.numExperts
           << " experts; the GPU kernel chooses at most " << kMaxRouteTopK
           << " of " << kMaxRouteExperts << ": use --target=cpu";
  if (op.getBias() &&
      !cast<MemRefType>(op.getBias().getType()).hasStaticShape())
    return op.emitOpError("has a bias of a dynamic size; the GPU kernel needs "
                          "it static");
  std::string key =
      getKey("route", op->getAttrDictionary(), shape.logits, Type(shape.bias),
             shape.weights, shape.index, shape.numExperts, shape.topK);
  LLVM::LLVMFuncOp kernel =
      getKernel(op, key, "route", [&](KernelBuilder &b, StringRef name) {
        return createRouteKernel(b, name, shape);
      });
  KernelBuilder b(op.getLoc(), OpBuilder(op));
  Value numTokens = createLeastSize(
      b, {op.getLogits(), op.getWeightsInit(), op.getIndicesInit()});
  SmallVector<Value> arguments = {op.getLogits()};
  if (op.getBias())
    arguments.push_back(op.getBias());
  arguments.append({op.getWeightsInit(), op.getIndicesInit(),
                    arith::IndexCastOp::create(b, b.getI32Type(), numTokens)});
  launch(b, kernel,
         arith::CeilDivUIOp::create(b, numTokens, b.index(kRouteTokens)),
         kRouteTokens * kWarpThreads, 0, arguments);
  op.erase();
  return success();
}

LogicalResult ConvertMoEToNVGPU::convertDispatch(DispatchOp op) {
  if (failed(verifyOperands(op, {op.getIndices(), op.getRowOfPairInit()})))
    return failure();
  int64_t numExperts = op.getNumExperts();
  if (ShapedType::isDynamic(numExperts))
    return op.emitOpError("has offsets of a dynamic size; the GPU kernel needs "
                          "a static number of experts");
  auto indicesType = cast<MemRefType>(op.getIndices().getType());
  auto indexType = cast<IntegerType>(indicesType.getElementType());
  int64_t topK = indicesType.getDimSize(1);
  if (std::max(numExperts, topK) > std::numeric_limits<int32_t>::max())
    return op.emitOpError("has ")
           << numExperts << " experts and " << topK
           << " of them a token; the GPU kernel counts in i32";
  LLVM::LLVMFuncOp kernel = getKernel(
      op, getKey("dispatch", indexType, numExperts, topK), "dispatch",
      [&](KernelBuilder &b, StringRef name) {
        return createDispatchKernel(b, name, indexType, numExperts, topK);
      });
  KernelBuilder b(op.getLoc(), OpBuilder(op));
  Value pairs = arith::MulIOp::create(
      b, createLeastSize(b, {op.getIndices(), op.getRowOfPairInit()}),
      b.index(topK));
  pairs = arith::MinUIOp::create(b, pairs,
                                 createLeastSize(b, op.getTokenOfRowInit()));
  Value numPairs = arith::IndexCastOp::create(b, b.getI32Type(), pairs);
  launch(b, kernel, b.index(1), kDispatchThreads, kDispatchSharedBytes,
         {op.getIndices(), op.getTokenOfRowInit(), op.getRowOfPairInit(),
          op.getOffsetsInit(), numPairs});
  op.erase();
  return success();
}

LogicalResult ConvertMoEToNVGPU::convertCombine(CombineOp op) {
  SmallVector<Value> matrices = {op.getRows(), op.getRowOfPair(), op.getInit()};
  if (op.getWeights())
    matrices.push_back(op.getWeights());
  if (failed(verifyOperands(op, matrices)))
    return failure();
  CombineShape shape;
  shape.rows = cast<FloatType>(getElementType(op.getRows()));
  if (op.getWeights())
    shape.weights = cast<FloatType>(getElementType(op.getWeights()));
  shape.result = cast<FloatType>(getElementType(op.getInit()));
  shape.index = cast<IntegerType>(getElementType(op.getRowOfPair()));
  shape.topK = cast<MemRefType>(op.getRowOfPair().getType()).getDimSize(1);
  shape.columns = cast<MemRefType>(op.getInit().getType()).getDimSize(1);
  std::string key =
      getKey("combine", shape.rows, Type(shape.weights), shape.result,
             shape.index, shape.topK, shape.columns);
  LLVM::LLVMFuncOp kernel =
      getKernel(op, key, "combine", [&](KernelBuilder &b, StringRef name) {
        return createCombineKernel(b, name, shape);
      });
  KernelBuilder b(op.getLoc(), OpBuilder(op));
  SmallVector<Value> arguments = {op.getRows(), op.getRowOfPair()};
  SmallVector<Value> perToken = {op.getInit(), op.getRowOfPair()};
  if (op.getWeights()) {
    arguments.push_back(op.getWeights());
    perToken.push_back(op.getWeights());
  }
  arguments.push_back(op.getInit());
  arguments.push_back(arith::IndexCastOp::create(
      b, b.getI64Type(), createLeastSize(b, op.getRows())));
  launchPointwise(b, kernel, arguments,
                  arith::MulIOp::create(b, createLeastSize(b, perToken),
                                        b.index(shape.columns)));
  op.erase();
  return success();
}

/// Fails if the elements of `memref`, an operand of `op`, which only moves
/// them, are not what both a kernel and a launch file can have.
static LogicalResult verifyElementType(Operation *op, Value memref) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  if (element.isF16() || element.isBF16() || element.isF32() ||
      element.isF64() ||
      llvm::any_of(ArrayRef<unsigned>{8, 16, 32, 64}, [&](unsigned width) {
        return element.isSignlessInteger(width);
      }))
    return success();
  return op->emitOpError("has an operand of type ")
         << memref.getType()
         << "; the GPU kernel moves i8, i16, i32, i64, f16, bf16, f32 and f64: "
            "keep the op outside of the compiled function, or use "
            "--target=cpu";
}

/// Number of elements of a memref.
static Value createNumElements(KernelBuilder &b, Value memref) {
  Value count = b.index(1);
  auto type = cast<MemRefType>(memref.getType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    count = arith::MulIOp::create(
        b, count, memref::DimOp::create(b, memref, b.index(dim)));
  return count;
}

LogicalResult ConvertMoEToNVGPU::convertFill(linalg::FillOp op) {
  if (failed(verifyOperands(op, {})))
    return failure();
  TypedAttr value;
  if (!matchPattern(op.value(), m_Constant(&value)) ||
      value.getType() !=
          cast<MemRefType>(op.output().getType()).getElementType())
    return op.emitOpError("fills with a value that is not a constant of the "
                          "memref's element type; the GPU kernel needs one");
  if (failed(verifyElementType(op, op.output())))
    return failure();
  LLVM::LLVMFuncOp kernel = getKernel(op, getKey("fill", value), "fill",
                                      [&](KernelBuilder &b, StringRef name) {
                                        return createFillKernel(b, name, value);
                                      });
  KernelBuilder b(op.getLoc(), OpBuilder(op));
  launchPointwise(b, kernel, {op.output()}, createNumElements(b, op.output()));
  op.erase();
  return success();
}

LogicalResult ConvertMoEToNVGPU::convertCopy(memref::CopyOp op) {
  if (failed(verifyOperands(op, {})) ||
      failed(verifyElementType(op, op.getSource())))
    return failure();
  Type type = cast<MemRefType>(op.getSource().getType()).getElementType();
  LLVM::LLVMFuncOp kernel = getKernel(op, getKey("copy", type), "copy",
                                      [&](KernelBuilder &b, StringRef name) {
                                        return createCopyKernel(b, name, type);
                                      });
  KernelBuilder b(op.getLoc(), OpBuilder(op));
  Value count = arith::MinUIOp::create(b, createNumElements(b, op.getSource()),
                                       createNumElements(b, op.getTarget()));
  launchPointwise(b, kernel, {op.getSource(), op.getTarget()}, count);
  op.erase();
  return success();
}

LogicalResult ConvertMoEToNVGPU::convert(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](GroupedMatmulInterface op) { return convertGroupedMatmul(op); })
      .Case([&](RouteOp op) { return convertRoute(op); })
      .Case([&](DispatchOp op) { return convertDispatch(op); })
      .Case([&](CombineOp op) { return convertCombine(op); })
      .Case([&](linalg::FillOp op) { return convertFill(op); })
      .Case([&](memref::CopyOp op) { return convertCopy(op); })
      .Default([](Operation *) { return success(); });
}

void ConvertMoEToNVGPU::runOnOperation() {
  kernels.clear();
  kernelModule = nullptr;
  if (failed(resolveTarget(getOperation(), target)))
    return signalPassFailure();
  // Only functions that have grouped matmuls, or parts of a layer, or are said
  // to be one are programs for the GPU: fills and copies of others stay.
  SmallVector<Operation *> ops;
  getOperation()->walk([&](func::FuncOp function) {
    bool isProgram = function->hasAttr(MoEDialect::getProgramAttrName());
    SmallVector<Operation *> candidates;
    function->walk([&](Operation *op) {
      isProgram |= isa_and_nonnull<MoEDialect>(op->getDialect());
      candidates.push_back(op);
    });
    if (isProgram)
      ops.append(candidates);
  });
  for (Operation *op : ops)
    if (failed(convert(op)))
      return signalPassFailure();
  if (!kernelModule)
    return;
  // Without these, erf, exp and fma would be calls into a library that a
  // machine without a CUDA toolkit does not have. The polynomial of erf
  // contains fmas.
  RewritePatternSet erfPatterns(&getContext());
  populatePolynomialApproximateErfPattern(erfPatterns);
  walkAndApplyPatterns(kernelModule, std::move(erfPatterns));
  RewritePatternSet mathPatterns(&getContext());
  mathPatterns.add<ExpToInstruction, FmaToInstruction>(&getContext());
  walkAndApplyPatterns(kernelModule, std::move(mathPatterns));
}
