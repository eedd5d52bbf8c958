//===- Passes.td - conversions from and to the moe dialect -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_CONVERSION_PASSES_TD
#define MOE_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertMoEToNVGPU : Pass<"convert-moe-to-nvgpu", "::mlir::ModuleOp"> {
  let summary = "lower grouped matmuls to Hopper kernels";
  let description = [{
    Lowers `moe.grouped_matmul` and `moe.grouped_matmul_swapped` on contiguous
    memrefs, with a schedule, to one GPU kernel launch each. The host side
    becomes tensor maps (`nvgpu.tma.create.descriptor`) and `gpu.launch_func`;
    the kernels, in `gpu.module @moe_kernels`, hold `nvgpu` ops wherever those
    can say the thing, and `nvvm` ops elsewhere. A kernel reads the groups on
    the device: one launch is right for any counts. Ops that one kernel can
    serve share it.

    Takes bf16 and f16 with rows of a multiple of 16 bytes, and static E, K and
    N; R may be dynamic. Run `--moe-fold-transposes` and `--moe-select-schedule`
    before, and bufferize with identity layouts.
  }];
  let options = [
    Option<"multiprocessors", "multiprocessors", "int64_t", /*default=*/"132",
           "blocks to launch at most: the multiprocessors of the GPU (132 on "
           "H100 SXM and H200); any number gives the same results">
  ];
  let statistics = [
    Statistic<"numKernels", "kernels", "Kernels made">,
    Statistic<"numLaunches", "launches", "Launches made">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::nvgpu::NVGPUDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"
  ];
}

def ConvertNVGPUWarpgroupToNVVM
    : Pass<"convert-nvgpu-warpgroup-to-nvvm"> {
  let summary = "lower nvgpu.warpgroup ops to NVVM, right for every layout";
  let description = [{
    Lowers `nvgpu.warpgroup.generate.descriptor`, `nvgpu.warpgroup.mma` and
    `nvgpu.warpgroup.mma.init.accumulator` on f16 and bf16 tiles in the 128-byte
    swizzle, at most 64 elements deep in K, and what carries their results
    through `scf` ops. It is to run before upstream's `convert-nvgpu-to-nvvm`,
    which lowers the other nvgpu ops and would compute wrong addresses for a
    K-major B (see docs/upstream.md).

    * A is K-major if the type of its descriptor says so, MN-major if that type
      has strides `[1, ...]`.
    * B is K-major, or MN-major with the `transposeB` flag.
    * M may be any multiple of 64: one WGMMA for each slab of 64 rows.
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"
  ];
}

#endif // MOE_CONVERSION_PASSES_TD
