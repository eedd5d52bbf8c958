//===- GPUPipeline.h - from the moe dialect to a Hopper GPU -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_PIPELINES_GPUPIPELINE_H
#define MOE_PIPELINES_GPUPIPELINE_H

#include "moe/Dialect/MoE/Transforms/Transforms.h"

#include "mlir/Pass/PassOptions.h"

namespace mlir {
class OpPassManager;

namespace moe {

/// What the kernels are compiled for.
inline constexpr llvm::StringLiteral kGPUChip = "sm_90a";

/// Options of the pipelines `moe-to-nvgpu`, `moe-to-ptx` and `moe-to-cubin`.
struct GPUPipelineOptions : public PassPipelineOptions<GPUPipelineOptions> {
  Option<std::string> target{
      *this, "target",
      llvm::cl::desc("GPU to compile for: a preset (h100-sxm, h200, h20, "
                     "sm_90a) or a #moe.target attribute; empty means the "
                     "moe.target attribute around the op, or h100-sxm"),
      llvm::cl::init("")};
  Option<SwapMode> swap{
      *this, "swap", llvm::cl::desc("Whether to swap operands"),
      llvm::cl::init(SwapMode::Auto),
      llvm::cl::values(
          clEnumValN(SwapMode::Auto, "auto",
                     "where the cost model predicts it to be faster"),
          clEnumValN(SwapMode::Always, "always", "wherever it is possible"),
          clEnumValN(SwapMode::Never, "never", "nowhere"))};
  Option<double> expectedTokens{
      *this, "expected-tokens",
      llvm::cl::desc("Tokens that an expert gets on average, in place of the "
                     "ops' hints; negative means the hints"),
      llvm::cl::init(-1)};
};

/// Adds to `pm`, a pass manager of builtin.module, the passes that raise what
/// a frontend wrote to the moe dialect.
void buildFrontendPipeline(OpPassManager &pm);

/// Adds the passes that raise, take layers apart, and choose the orientation
/// and the schedule of every grouped matmul.
void buildChoicesPipeline(OpPassManager &pm, const GPUPipelineOptions &options);

/// Adds to `pm`, a pass manager of builtin.module, the passes from the moe
/// dialect on tensors or memrefs (or what a frontend wrote, to be raised) to
/// host functions of tensor maps and kernel launches, and kernels of nvgpu ops.
/// Ops that are swapped or have a schedule already keep both.
void buildNVGPUPipeline(OpPassManager &pm, const GPUPipelineOptions &options);

/// Adds the passes from there to the NVVM dialect in the gpu.module.
void buildNVVMPipeline(OpPassManager &pm);

/// Adds the passes from the NVVM dialect to a gpu.binary that holds PTX, or
/// with `cubin` machine code, for which the CUDA toolkit's ptxas is needed.
void buildImagePipeline(OpPassManager &pm, bool cubin);

/// Registers `moe-to-nvgpu`, `moe-to-ptx` and `moe-to-cubin`.
void registerGPUPipelines();

} // namespace moe
} // namespace mlir

#endif // MOE_PIPELINES_GPUPIPELINE_H
