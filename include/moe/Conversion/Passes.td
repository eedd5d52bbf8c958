//===- Passes.td - conversions from and to the moe dialect -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_CONVERSION_PASSES_TD
#define MOE_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertMoEToNVGPU : Pass<"convert-moe-to-nvgpu", "::mlir::ModuleOp"> {
  let summary = "lower grouped matmuls and what is around them to Hopper kernels";
  let description = [{
    Lowers `moe.grouped_matmul` and `moe.grouped_matmul_swapped` on contiguous
    memrefs, with a schedule, to one GPU kernel launch each, and in functions
    that hold moe ops, or have the attribute `moe.program`, also `moe.route` (of
    at most 128 out of 1024 experts), `moe.dispatch`, `moe.combine`,
    `linalg.fill` and `memref.copy`. Gathered token rows are loaded by the
    matmul's kernel, or where its tile has many of them copied by a launch
    before. The host side
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
    Option<"target", "target", "std::string", /*default=*/"",
           "GPU to launch on: a preset (h100-sxm, h200, h20, sm_90a) or a "
           "#moe.target attribute; empty means the moe.target attribute around "
           "the op, or h100-sxm. Its multiprocessors are the blocks of a "
           "launch; any number gives the same results">
  ];
  let statistics = [
    Statistic<"numKernels", "kernels", "Kernels made">,
    Statistic<"numLaunches", "launches", "Launches made">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::moe::MoEDialect",
    "::mlir::nvgpu::NVGPUDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
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

    What no WGMMA computes is an error that says why.
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"
  ];
  let statistics = [
    Statistic<"numMmas", "mmas", "nvgpu.warpgroup.mma ops lowered">,
    Statistic<"numInstructions", "wgmmas", "WGMMA instructions made of them">
  ];
}

//===----------------------------------------------------------------------===//
// MoEToLinalg
//===----------------------------------------------------------------------===//

def ConvertMoEToLinalg : Pass<"convert-moe-to-linalg"> {
  let summary = "Lower moe ops on memrefs to parallel loops for a CPU";
  let description = [{
    Replaces `moe.grouped_matmul` and `moe.grouped_matmul_swapped`, in every
    layout, by loops of the `scf`, `vector`, `arith`, `math` and `memref`
    dialects. The outermost loop is an `scf.parallel` over (block of result
    columns, expert), whose iterations write disjoint parts of the result; one
    iteration reads the weights of its block once for every eight tokens of its
    expert. Sums are in f32 and in an order that depends on the shapes and
    `vector-lanes` only, so runs agree bit for bit. Nothing is read or written
    outside the operands, whatever `groups`, `gather` and `scatter` hold.

    `moe.route` and `moe.combine` become loops that are parallel over the
    tokens, `moe.dispatch` a sequential counting sort. `moe.experts` has no
    lowering of its own: run moe-decompose-experts first.

    The pass works on memrefs, so that a row may be written where `scatter`
    says, and the parallel loop needs no proof that tensors are disjoint: run
    one-shot-bufferize first. A moe op that it cannot lower is an error that
    names the op.

    Example:

    ```
    moe-opt --one-shot-bufferize=bufferize-function-boundaries \
            --convert-moe-to-linalg
    ```
  }];
  let options = [
    Option<"vectorLanes", "vector-lanes", "int64_t", "8",
           "f32 elements in one vector register of the CPU (a power of two "
           "from 4 to 32): 16 with AVX-512, 8 with AVX2, 4 with SSE or NEON">,
  ];
  let statistics = [
    Statistic<"numMatmuls", "matmuls", "Grouped matmuls lowered">,
    Statistic<"numOthers", "others", "Other moe ops lowered">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

//===----------------------------------------------------------------------===//
// Cache hints
//===----------------------------------------------------------------------===//

def SetCacheHints : Pass<"moe-set-cache-hints"> {
  let summary = "Say how long the L2 cache is to keep what TMA loads";
  let description = [{
    Gives every TMA load through a tensor map that is an argument of an llvm.func
    the L2 cache hint of that argument: its attribute `moe.cache_hint`, which is
    "evict_first" or "evict_last", and which the pass removes. nvgpu's loads have
    no place for a hint, so that it is set when they have become nvvm's.

    The kernels of grouped matmuls ask for their weights to be given up first
    where few tokens an expert are expected. Arguments that are not maps, and other loads, are left
    alone.

    Example:

    ```
    moe-opt --moe-set-cache-hints
    ```
  }];
  let statistics = [Statistic<"numLoads", "loads", "Loads given a hint">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

//===----------------------------------------------------------------------===//
// Host interface
//===----------------------------------------------------------------------===//

def SetHostInterface : Pass<"moe-set-host-interface", "::mlir::ModuleOp"> {
  let summary = "Give public functions the calling convention of the host";
  let description = [{
    Marks every public function with a body for callers outside the module,
    before bufferization: `llvm.emit_c_interface`, and
    `bufferization.writable = false` on its tensor arguments, so that a caller's
    buffers are read and never written, as tensor arguments are values.
  }];
}

def RejectForeignOps : Pass<"moe-reject-foreign-ops"> {
  let summary = "Report ops that have no lowering";
  let description = [{
    Reports the first op that no registered dialect defines, as an error that
    names it. The pipelines run it behind what raises a frontend's ops: an op
    that is left over would stop some later pass with a message that helps
    nobody, or crash it (see docs/upstream.md).
  }];
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
