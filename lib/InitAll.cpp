//===- InitAll.cpp - Register everything of the project -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/InitAll.h"

#if __has_include("moe/Dialect/MoE/IR/MoE.h")
#include "moe/Dialect/MoE/IR/MoE.h"
#endif
#include "mlir/IR/DialectRegistry.h"

void mlir::moe::registerAllDialects(DialectRegistry &registry) {
#if __has_include("moe/Dialect/MoE/IR/MoE.h")
  registry.insert<MoEDialect>();
#endif
}

void mlir::moe::registerAllExtensions(DialectRegistry &registry) {}

void mlir::moe::registerAllPasses() {}
