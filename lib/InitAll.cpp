//===- InitAll.cpp - Register everything of the project -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/InitAll.h"

#include "moe/Conversion/Passes.h"
#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/Dialect/MoE/IR/RuntimeOpVerification.h"
#include "moe/Dialect/MoE/IR/ShardingInterfaceImpl.h"
#include "moe/Dialect/MoE/IR/TilingInterfaceImpl.h"
#include "moe/Dialect/MoE/IR/ValueBoundsOpInterfaceImpl.h"
#include "moe/Dialect/MoE/TransformOps/MoETransformOps.h"
#include "moe/Dialect/MoE/Transforms/BufferizableOpInterfaceImpl.h"
#include "moe/Dialect/MoE/Transforms/Passes.h"
#include "moe/Pipelines/CPUPipeline.h"
#include "moe/Pipelines/GPUPipeline.h"

#include "mlir/IR/DialectRegistry.h"

void mlir::moe::registerAllDialects(DialectRegistry &registry) {
  registry.insert<MoEDialect>();
}

void mlir::moe::registerAllExtensions(DialectRegistry &registry) {
  registerBufferizableOpInterfaceExternalModels(registry);
  registerRuntimeVerifiableOpInterfaceExternalModels(registry);
  registerShardingInterfaceExternalModels(registry);
  registerTilingInterfaceExternalModels(registry);
  registerTransformDialectExtension(registry);
  registerValueBoundsOpInterfaceExternalModels(registry);
}

void mlir::moe::registerAllPasses() {
  registerMoEConversionPasses();
  registerMoETransformsPasses();
  registerCPUPipeline();
  registerGPUPipelines();
}
