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

def MoERaiseRaggedDot : Pass<"moe-raise-ragged-dot", "::mlir::ModuleOp"> {
  let summary = "raise JAX's ragged_dot to moe.grouped_matmul";
  let description = [{
    JAX writes `jax.lax.ragged_dot` as a `stablehlo.composite` named
    `chlo.ragged_dot`. Every one that multiplies rows `[R x K]` by weights
    `[E x K x N]` (`kn`) or `[E x N x K]` (`nk`, by its dimension numbers) in
    groups of i32 or i64 `group_sizes` `[E]` becomes a `moe.grouped_matmul`.
    Operands are f16, bf16 or f32, the result is of their type or f32. Rows
    past the last group are zero, as JAX defines: the destination is filled
    with zeros. Accumulation is in f32, which satisfies every precision that a
    ragged_dot can ask for.

    The decomposition function of a raised composite, which holds one dense
    matmul an expert, is erased if it is private and nothing refers to it any
    more; so are private functions that only erased ones referred to. References
    from ops of unregistered dialects count.

    Whatever the op cannot say (batch dimensions, ragged contracting or batch
    dimensions, other types) is left as it is. Remarks of the category
    `moe-raise-ragged-dot` tell what was raised (passed), and what was left and
    why (missed). The input needs no StableHLO dialect: read its generic form
    with `--allow-unregistered-dialect`.

    Example:

    ```mlir
    func.func @main(%x: tensor<64x2048xbf16>, %w: tensor<128x2048x1536xbf16>,
                    %sizes: tensor<128xi32>) -> tensor<64x1536xbf16> {
      %0 = "stablehlo.composite"(%x, %w, %sizes) <{
          composite_attributes = {
            precision_config = ["DEFAULT", "DEFAULT"],
            // Dimensions of lhs and rhs: batching, contracting, and the ragged
            // one of lhs, the group one of rhs.
            ragged_dot_dimension_numbers = [
              dense<> : tensor<0xi64>, dense<> : tensor<0xi64>,
              dense<1> : tensor<1xi64>, dense<1> : tensor<1xi64>,
              dense<0> : tensor<1xi64>, dense<0> : tensor<1xi64>]},
          decomposition = @chlo.ragged_dot.impl, name = "chlo.ragged_dot",
          version = 1 : i32}>
        : (tensor<64x2048xbf16>, tensor<128x2048x1536xbf16>, tensor<128xi32>)
        -> tensor<64x1536xbf16>
      return %0 : tensor<64x1536xbf16>
    }
    ```

    becomes

    ```mlir
    func.func @main(%x: tensor<64x2048xbf16>, %w: tensor<128x2048x1536xbf16>,
                    %sizes: tensor<128xi32>) -> tensor<64x1536xbf16> {
      %zero = arith.constant 0.0 : bf16
      %empty = tensor.empty() : tensor<64x1536xbf16>
      %init = linalg.fill ins(%zero : bf16) outs(%empty : tensor<64x1536xbf16>)
          -> tensor<64x1536xbf16>
      %0 = moe.grouped_matmul {group_kind = #moe.group_kind<sizes>,
                               weight_layout = #moe.weight_layout<kn>}
          ins(%x, %w, %sizes : tensor<64x2048xbf16>,
                               tensor<128x2048x1536xbf16>, tensor<128xi32>)
          outs(%init : tensor<64x1536xbf16>) -> tensor<64x1536xbf16>
      return %0 : tensor<64x1536xbf16>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::moe::MoEDialect", "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numRaised", "raised", "ragged_dot composites raised">,
    Statistic<"numLeft", "left", "ragged_dot composites left as they are">,
    Statistic<"numErased", "erased-functions",
              "decomposition functions erased">];
}

#endif // MOE_CONVERSION_PASSES_TD
