//===- Passes.td - conversions from and to the moe dialect -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_CONVERSION_PASSES_TD
#define MOE_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

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
