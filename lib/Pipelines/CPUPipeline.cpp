//===- CPUPipeline.cpp - from the moe dialect to a CPU --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Pipelines/CPUPipeline.h"

#include "moe/Conversion/Passes.h"
#include "moe/Dialect/MoE/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Tensors to memrefs, with every buffer freed where its last use ends.
static void addBufferization(OpPassManager &pm) {
  pm.addPass(moe::createSetHostInterface());
  bufferization::OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  // Identity layouts: the loads of the weights become vector instructions.
  options.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(options));
  // Before the moe ops are lowered: their loops own their buffers already.
  bufferization::buildBufferDeallocationPipeline(pm);
  pm.addPass(createConvertBufferizationToMemRefPass());
}

/// moe and linalg ops to parallel loops.
static void addLoops(OpPassManager &pm, int64_t vectorLanes) {
  moe::ConvertMoEToLinalgOptions options;
  options.vectorLanes = vectorLanes;
  pm.addPass(moe::createConvertMoEToLinalg(options));
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToParallelLoopsPass());
  pm.addNestedPass<func::FuncOp>(createConvertVectorToSCFPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
}

/// Arithmetic on bf16 and f16 to f32 and integers: a conversion from f32 to
/// bf16 is otherwise a call of a function that no library has on a CPU without
/// instructions for it.
static void addSmallFloats(OpPassManager &pm) {
  math::MathExtendToSupportedTypesOptions math;
  math.targetTypeStr = "f32";
  pm.addPass(math::createMathExtendToSupportedTypes(math));
  arith::ArithEmulateUnsupportedFloatsOptions arith;
  arith.sourceTypeStrs = {"bf16", "f16"};
  arith.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(arith));
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expand));
}

/// Loops to OpenMP regions and branches, and everything to the LLVM dialect.
static void addLLVM(OpPassManager &pm, bool openmp) {
  pm.addNestedPass<func::FuncOp>(memref::createExpandOpsPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  if (openmp) {
    pm.addPass(createConvertSCFToOpenMPPass());
    // Dissolves the alloca scopes, which may hold one block only, before their
    // loops become branches.
    pm.addPass(createCanonicalizerPass());
  }
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  if (openmp)
    pm.addPass(createConvertOpenMPToLLVMPass());
  pm.addPass(createConvertToLLVMPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void mlir::moe::buildCPUPipeline(OpPassManager &pm,
                                 const CPUPipelineOptions &options) {
  pm.addPass(createRejectForeignOps());
  pm.addPass(createMoEDecomposeExpertsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  addBufferization(pm);
  addLoops(pm, options.vectorLanes);
  addSmallFloats(pm);
  addLLVM(pm, options.openmp);
}

void mlir::moe::registerCPUPipeline() {
  PassPipelineRegistration<CPUPipelineOptions>(
      "moe-to-cpu",
      "Lower the moe dialect, on tensors or memrefs, to the LLVM dialect for a "
      "CPU: decompose experts layers, bufferize, convert to parallel loops, "
      "run those on OpenMP threads",
      buildCPUPipeline);
}
