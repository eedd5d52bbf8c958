//===- MoETargetAttrs.td - description of a GPU -----------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_DIALECT_MOE_IR_MOETARGETATTRS_TD
#define MOE_DIALECT_MOE_IR_MOETARGETATTRS_TD

include "moe/Dialect/MoE/IR/MoEAttrs.td"

def MoE_TargetAttr : MoE_Attr<"Target", "target"> {
  let summary = "what the cost model knows of a GPU";
  let description = [{
    The sizes and sustained rates of a GPU from which `--moe-swap-ab` and
    `--moe-select-schedule` predict times. All rates are what a good kernel
    reaches, not what a data sheet promises.

    | field | unit | meaning |
    |-------|------|---------|
    | `sm_count` | | streaming multiprocessors |
    | `shared_memory` | bytes | shared memory that one block may use |
    | `memory_bandwidth` | GB/s | reads of device memory |
    | `l2_bandwidth` | GB/s | reads by all multiprocessors from the L2 cache |
    | `peak_16bit` | TFLOP/s | dense matrix rate of f16 and bf16, f32 sums |
    | `peak_8bit` | TFLOP/s | dense matrix rate of 8-bit floats, f32 sums |
    | `peak_f32` | TFLOP/s | f32 without tensor cores |
    | `swapped_efficiency` | percent | share of the peak that a swapped kernel reaches when arithmetic bounds it |
    | `unswapped_efficiency` | percent | likewise, unswapped |
    | `m_step` | rows | M of the matrix instruction |
    | `n_step` | columns | step of N of the matrix instruction |
    | `n_max` | columns | largest N of the matrix instruction |
    | `launch_overhead` | ns | from the launch to the first load, once a kernel |
    | `tile_overhead` | ns | from the last multiplication of a tile to the first of the next, where loads do not hide it |

    A name alone is a preset: `h100-sxm`, `h200`, `h20`; `sm_90a` stands for
    `h100-sxm`. After the name, fields override those of the preset. A name that
    is not a preset needs all fields. The attribute `moe.target` of a module
    or a function gives the target of everything in it; the closest one counts,
    and none if a pass is given a target as its option.

    Example:

    ```mlir
    module attributes {moe.target = #moe.target<"h200">} {}
    ```

    and, for a card whose clock is held down, `#moe.target<"h100-sxm",
    peak_16bit = 500>`.
  }];
  let parameters = (ins StringRefParameter<"name of the GPU">:$name,
    "int64_t":$smCount, "int64_t":$sharedMemory, "int64_t":$memoryBandwidth,
    "int64_t":$l2Bandwidth, "int64_t":$peak16bit, "int64_t":$peak8bit,
    "int64_t":$peakF32, "int64_t":$swappedEfficiency,
    "int64_t":$unswappedEfficiency, "int64_t":$mStep, "int64_t":$nStep,
    "int64_t":$nMax, "int64_t":$launchOverhead, "int64_t":$tileOverhead);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The preset called `name`, or null if there is none.
    static TargetAttr getPreset(::mlir::MLIRContext *context,
                                ::llvm::StringRef name);
    /// The names that `getPreset` knows, separated by commas.
    static ::std::string getPresetNames();
    /// The target that `text` describes: the name of a preset, or the attribute
    /// as printed, `#moe.target<...>`. Calls `emitError` if it is neither.
    static ::mlir::FailureOr<TargetAttr>
    parseText(::mlir::MLIRContext *context, ::llvm::StringRef text,
              ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError);
    /// The target of `op`: the `moe.target` attribute of the closest op around
    /// it, or of itself, that has one; else the preset h100-sxm.
    static TargetAttr getAround(::mlir::Operation *op);
    /// Name of the attribute, of a module or a function, that holds the target.
    static constexpr ::llvm::StringLiteral getAttrName() {
      return "moe.target";
    }
  }];
}

#endif // MOE_DIALECT_MOE_IR_MOETARGETATTRS_TD
