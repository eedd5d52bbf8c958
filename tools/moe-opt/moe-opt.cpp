//===- moe-opt.cpp - The project's optimizer driver -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt with the `moe` dialect and its passes. It knows all upstream
// dialects and passes too, so that every pipeline of the documentation runs in
// one process.
//
//===----------------------------------------------------------------------===//

#include "moe/InitAll.h"
#include "moe/Support/CrashGuard.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;

static int runOptimizer(int argc, char **argv) {
  registerAllPasses();
  moe::registerAllPasses();

  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  // gpu-module-to-binary translates a module to LLVM IR itself.
  registerAllGPUToLLVMIRTranslations(registry);
  moe::registerAllDialects(registry);
  moe::registerAllExtensions(registry);

  return asMainReturnCode(MlirOptMain(
      argc, argv, "Optimizer driver of the moe dialect\n", registry));
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::SmallVector<char *> args = moe::getSingleThreadedArgs(argc, argv);
  return moe::runGuarded(
      "moe-opt", [&] { return runOptimizer(args.size(), args.data()); });
}
