//===- MoETransformOps.td - transform ops for moe ---------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_DIALECT_MOE_TRANSFORMOPS_MOETRANSFORMOPS_TD
#define MOE_DIALECT_MOE_TRANSFORMOPS_MOETRANSFORMOPS_TD

include "mlir/Dialect/Transform/IR/TransformDialect.td"
include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpBase.td"

/// Replaces each payload op of one kind by one of another.
class MoE_RewriteTransformOp<string mnemonic, string payload>
    : Op<Transform_Dialect, "moe." # mnemonic,
         [FunctionalStyleTransformOpTrait, MemoryEffectsOpInterface,
          TransformOpInterface, TransformEachOpTrait,
          ReportTrackingListenerFailuresOpTrait]> {
  let arguments = (ins TransformHandleTypeInterface:$target);
  let results = (outs TransformHandleTypeInterface:$transformed);
  let assemblyFormat =
      "$target attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    ::mlir::DiagnosedSilenceableFailure applyToOne(
        ::mlir::transform::TransformRewriter &rewriter,
        }] # payload # [{ target,
        ::mlir::transform::ApplyToEachResultList &results,
        ::mlir::transform::TransformState &state);
  }];
}

def MoE_SwapABTransformOp
    : MoE_RewriteTransformOp<"swap_ab", "::mlir::moe::GroupedMatmulOp"> {
  let cppNamespace = "::mlir::moe";
  let description = [{
    Exchanges the operands of `moe.grouped_matmul` ops, as `--moe-swap-ab` does,
    without asking whether that pays. The transposes around the new op are
    explicit; `transform.apply_patterns.moe.fold_transposes` removes them.

    #### Return modes

    Consumes the handle and returns one to the `moe.grouped_matmul_swapped` ops.
    Fails silenceably, with the reason, if an op cannot be swapped: it is no
    `moe.grouped_matmul`, is on memrefs, has tensors with an encoding, or has a
    schedule.

    Example:

    ```mlir
    %swapped = transform.moe.swap_ab %matmul
        : (!transform.any_op) -> !transform.any_op
    ```
  }];
}

def MoE_UnswapABTransformOp
    : MoE_RewriteTransformOp<"unswap_ab",
                             "::mlir::moe::GroupedMatmulSwappedOp"> {
  let cppNamespace = "::mlir::moe";
  let description = [{
    Turns `moe.grouped_matmul_swapped` ops back into `moe.grouped_matmul`.
    Transposed operands are transposed back, or, if they are transposes
    themselves, replaced by what was transposed.

    #### Return modes

    Consumes the handle and returns one to the `moe.grouped_matmul` ops. Fails
    silenceably, with the reason, if an op is no `moe.grouped_matmul_swapped`,
    is on memrefs, has tensors with an encoding, or has a schedule.

    Example:

    ```mlir
    %matmul = transform.moe.unswap_ab %swapped
        : (!transform.any_op) -> !transform.any_op
    ```
  }];
}

def MoE_ApplyFoldTransposesPatternsOp
    : Op<Transform_Dialect, "apply_patterns.moe.fold_transposes",
         [DeclareOpInterfaceMethods<PatternDescriptorOpInterface>]> {
  let cppNamespace = "::mlir::moe";
  let description = [{
    Collects the patterns of `--moe-fold-transposes`: transposes around
    `moe.grouped_matmul_swapped` become storage orders.

    Example:

    ```mlir
    transform.apply_patterns to %function {
      transform.apply_patterns.moe.fold_transposes
    } : !transform.any_op
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif // MOE_DIALECT_MOE_TRANSFORMOPS_MOETRANSFORMOPS_TD
