//===- Compile.h - compile a module for a device ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_TARGET_COMPILE_H
#define MOE_TARGET_COMPILE_H

#include "moe/Pipelines/GPUPipeline.h"

#include "mlir/Support/LLVM.h"
#include "llvm/Support/JSON.h"

namespace llvm {
class raw_pwrite_stream;
} // namespace llvm

namespace mlir {
class DialectRegistry;
class ModuleOp;
namespace func {
class FuncOp;
} // namespace func

namespace moe {

/// Registers what compiling for a GPU or a CPU needs beside the project's own
/// dialects and extensions: upstream dialects, interfaces and translations.
void registerCompilerDialects(DialectRegistry &registry);

/// The function called `entry`, or if that is empty the only public function
/// of `module`; reports an error and returns null if there is none.
func::FuncOp findEntry(ModuleOp module, StringRef entry);

/// Erases the functions of the module that are not needed to run `entry`, which
/// is one of them: those that neither it, nor a function or other op of the
/// module that stays, refers to by symbol. Ops that are not functions stay.
/// `entry` becomes public, so that no pass erases it.
void eraseUnreachableFunctions(func::FuncOp entry);

/// Kernels compiled for a GPU and how to launch them.
struct GPUProgram {
  /// PTX text or machine code.
  std::string image;
  /// The launch file (docs/abi.md).
  llvm::json::Value launchFile;
};

/// Lowers `module` in place by the pipeline `moe-to-nvgpu`.
LogicalResult lowerToNVGPU(ModuleOp module, const GPUPipelineOptions &options);

/// Compiles the function `entry` of `module`, which is lowered in place and
/// loses the functions that `entry` does not need, to PTX
/// or with `cubin` to machine code, for which ptxas must be on PATH or under
/// CUDA_HOME. `imageName` is the file name that the launch file gives the
/// image. Errors go to the context's diagnostics.
FailureOr<GPUProgram> compileForGPU(ModuleOp module, StringRef entry,
                                    const GPUPipelineOptions &options,
                                    bool cubin, StringRef imageName);

/// Writes `module`, in the LLVM dialect, as an object file for this machine's
/// CPU.
LogicalResult emitObjectFile(ModuleOp module, llvm::raw_pwrite_stream &os);

} // namespace moe
} // namespace mlir

#endif // MOE_TARGET_COMPILE_H
