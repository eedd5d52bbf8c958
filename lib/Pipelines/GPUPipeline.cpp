//===- GPUPipeline.cpp - from the moe dialect to a Hopper GPU -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Pipelines/GPUPipeline.h"

#include "moe/Conversion/Passes.h"
#include "moe/Dialect/MoE/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::moe;

void mlir::moe::buildFrontendPipeline(OpPassManager &pm) {
  pm.addPass(createMoERaiseRaggedDot());
}

/// Takes layers apart and chooses.
static void addChoices(OpPassManager &pm, const GPUPipelineOptions &options) {
  MoEDecomposeExpertsPassOptions decompose;
  decompose.gather = GatherForm::Operand;
  pm.addPass(createMoEDecomposeExpertsPass(decompose));
  MoESwapABPassOptions swap;
  swap.mode = options.swap;
  swap.target = options.target;
  swap.expectedTokens = options.expectedTokens;
  pm.addPass(createMoESwapABPass(swap));
  pm.addPass(createMoEFoldTransposesPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  MoESelectSchedulePassOptions schedule;
  schedule.target = options.target;
  schedule.expectedTokens = options.expectedTokens;
  pm.addPass(createMoESelectSchedulePass(schedule));
}

void mlir::moe::buildChoicesPipeline(OpPassManager &pm,
                                     const GPUPipelineOptions &options) {
  buildFrontendPipeline(pm);
  addChoices(pm, options);
}

/// Calls to what they call, as a launch file has no functions.
static void addInliner(OpPassManager &pm) {
  pm.addPass(createInlinerPass(llvm::StringMap<OpPassManager>(),
                               [](OpPassManager &) {}));
}

/// Tensors to contiguous memrefs; a destination that is an argument is written
/// in place. Buffers are shared by what comes after each other, which is faster
/// than to have the analysis of tensors find it out.
static void addBufferization(OpPassManager &pm) {
  pm.addPass(createMoESeparateEmptiesPass());
  bufferization::OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  // Also where branches meet.
  options.unknownTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(options));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createMoEReuseBuffersPass());
}

void mlir::moe::buildNVGPUPipeline(OpPassManager &pm,
                                   const GPUPipelineOptions &options) {
  buildFrontendPipeline(pm);
  pm.addPass(createRejectForeignOps());
  addInliner(pm);
  addChoices(pm, options);
  addBufferization(pm);
  ConvertMoEToNVGPUOptions kernels;
  kernels.target = options.target;
  pm.addPass(createConvertMoEToNVGPU(kernels));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void mlir::moe::buildNVVMPipeline(OpPassManager &pm) {
  OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>();
  kernels.addPass(createConvertNVGPUWarpgroupToNVVM());
  kernels.addPass(createConvertNVGPUToNVVMPass());
  kernels.addPass(memref::createExpandStridedMetadataPass());
  kernels.addPass(createLowerAffinePass());
  kernels.addPass(createSCFToControlFlowPass());
  kernels.addPass(createConvertGpuOpsToNVVMOps());
  kernels.addPass(createConvertNVVMToLLVMPass());
  kernels.addPass(createReconcileUnrealizedCastsPass());
  kernels.addPass(createSetCacheHints());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
}

void mlir::moe::buildImagePipeline(OpPassManager &pm, bool cubin) {
  GpuNVVMAttachTargetOptions target;
  target.chip = kGPUChip;
  target.features = "+ptx80";
  target.optLevel = 3;
  pm.addPass(createGpuNVVMAttachTarget(target));
  GpuModuleToBinaryPassOptions binary;
  binary.compilationTarget = cubin ? "bin" : "isa";
  pm.addPass(createGpuModuleToBinaryPass(binary));
}

static void buildPTXPipeline(OpPassManager &pm,
                             const GPUPipelineOptions &options) {
  buildNVGPUPipeline(pm, options);
  buildNVVMPipeline(pm);
  buildImagePipeline(pm, /*cubin=*/false);
}

static void buildCubinPipeline(OpPassManager &pm,
                               const GPUPipelineOptions &options) {
  buildNVGPUPipeline(pm, options);
  buildNVVMPipeline(pm);
  buildImagePipeline(pm, /*cubin=*/true);
}

void mlir::moe::registerGPUPipelines() {
  PassPipelineRegistration<GPUPipelineOptions>(
      "moe-to-nvgpu",
      "Lower the moe dialect to launches of Hopper kernels made of nvgpu ops",
      buildNVGPUPipeline);
  PassPipelineRegistration<GPUPipelineOptions>(
      "moe-to-ptx",
      "Lower the moe dialect to launches of Hopper kernels in PTX; needs no "
      "CUDA toolkit",
      buildPTXPipeline);
  PassPipelineRegistration<GPUPipelineOptions>(
      "moe-to-cubin",
      "Lower the moe dialect to launches of Hopper kernels in machine code; "
      "needs ptxas of the CUDA toolkit",
      buildCubinPipeline);
}
