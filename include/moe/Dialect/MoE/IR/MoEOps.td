//===- MoEOps.td - ops of the moe dialect -----------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_DIALECT_MOE_IR_MOEOPS_TD
#define MOE_DIALECT_MOE_IR_MOEOPS_TD

include "moe/Dialect/MoE/IR/MoEAttrs.td"
include "moe/Dialect/MoE/IR/MoEBase.td"
include "moe/Dialect/MoE/IR/MoEInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Operand types: every op works on tensors and, bufferized, on memrefs.
//===----------------------------------------------------------------------===//

class MoE_ShapedOf<list<Type> elements, int rank, string description>
    : AnyTypeOf<[TensorRankOf<elements, [rank]>,
                 MemRefRankOf<elements, [rank]>],
                description, "::mlir::ShapedType">;

def MoE_Vector : MoE_ShapedOf<[F32, F16, BF16], 1,
    "1-D tensor or memref of f32, f16 or bf16">;
def MoE_Matrix : MoE_ShapedOf<[F32, F16, BF16], 2,
    "2-D tensor or memref of f32, f16 or bf16">;
def MoE_ExpertMatrices : MoE_ShapedOf<[F32, F16, BF16], 3,
    "3-D tensor or memref of f32, f16 or bf16">;
def MoE_IndexVector : MoE_ShapedOf<[I32, I64], 1,
    "1-D tensor or memref of i32 or i64">;
def MoE_IndexMatrix : MoE_ShapedOf<[I32, I64], 2,
    "2-D tensor or memref of i32 or i64">;

/// A destination-style op of this dialect: no effect on tensors, reads of its
/// inputs and read-write of its destinations on memrefs.
class MoE_DestinationOp<string mnemonic, list<Trait> traits = []>
    : MoE_Op<mnemonic, !listconcat(traits, [
        DestinationStyleOpInterface, ConditionallySpeculatable,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                                  ["reifyResultShapes"]>])>;

//===----------------------------------------------------------------------===//
// Grouped matmul
//===----------------------------------------------------------------------===//

class MoE_GroupedMatmulBase<string mnemonic>
    : MoE_DestinationOp<mnemonic, [
        AttrSizedOperandSegments,
        DeclareOpInterfaceMethods<MoE_GroupedMatmulInterface,
          ["isSwapped", "hasTransposedTokens", "hasTransposedResult"]>]> {
  code sharedDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getInitMutable();
    }
    ::mlir::Speculation::Speculatability getSpeculatability();
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def MoE_GroupedMatmulOp : MoE_GroupedMatmulBase<"grouped_matmul"> {
  let summary = "one matmul an expert, over the rows of that expert";
  let description = [{
    With `x` the tokens, `W[e]` the weights of expert `e` as an `[N x K]`
    matrix, and `e(r)` the expert that owns row `r`:

    ```
    y[r, :] = epilogue(x[r, :] * W[e(r)]^T + bias[e(r), :])
    ```

    in f32, rounded once to the element type of the result. Rows that no group
    owns keep the value of `outs`.

    * `tokens` `[R x K]`, sorted by expert; with `gather`, `[any x K]`, and row
      `r` reads token `gather[r]`.
    * `weights` `[E x N x K]` (`weight_layout = nk`, the default) or
      `[E x K x N]` (`kn`), of the element type of the tokens.
    * `groups`: offsets `[E + 1]` (the default) or, with
      `group_kind = sizes`, sizes `[E]`, i32 or i64. Offsets are clamped to
      `[0, R]`, and one below an earlier one counts as that one; a negative
      size counts as 0, and sizes beyond `R` rows in all as what is left. So no
      value of `groups` makes an implementation leave its operands.
    * `bias` `[E x N]`, optional.
    * `scale` `[R]`, optional: result row `r` is multiplied by `scale[r]` after
      the epilogue, before rounding.
    * `scatter` `[R]`, optional: result row `r` is stored as row `scatter[r]` of
      a `[any x N]` result. Two rows must not name one result row; an index
      outside the result stores nothing.
    * `gather` likewise: a row whose index is outside the tokens is computed
      from zeros.
    * `outs` `[R x N]`, or `[R x N/2]` with a gated epilogue; of the element
      type of the tokens, or f32.

    `expected_tokens` is a hint to cost models: how many tokens an expert gets,
    one number for all experts or one for each. It never changes the result.
    Optional operands are separate segments: quantized weights add theirs
    without changing this form.

    Example:

    ```mlir
    func.func @gate_up(%x: tensor<?x2048xbf16>,
                       %w: tensor<128x1536x2048xbf16>, %off: tensor<129xi32>,
                       %y: tensor<?x768xbf16>) -> tensor<?x768xbf16> {
      %0 = moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = concat>,
                               expected_tokens = array<i64: 4>}
          ins(%x, %w, %off : tensor<?x2048xbf16>, tensor<128x1536x2048xbf16>,
                             tensor<129xi32>)
          outs(%y : tensor<?x768xbf16>) -> tensor<?x768xbf16>
      return %0 : tensor<?x768xbf16>
    }
    ```
  }];
  let arguments = (ins
    MoE_Matrix:$tokens, MoE_ExpertMatrices:$weights, MoE_IndexVector:$groups,
    Optional<MoE_Matrix>:$bias, Optional<MoE_IndexVector>:$gather,
    Optional<MoE_Vector>:$scale, Optional<MoE_IndexVector>:$scatter,
    MoE_Matrix:$init,
    DefaultValuedAttr<MoE_WeightLayoutAttr,
                      "::mlir::moe::WeightLayout::NK">:$weight_layout,
    DefaultValuedAttr<MoE_GroupKindAttr,
                      "::mlir::moe::GroupKind::Offsets">:$group_kind,
    OptionalAttr<MoE_EpilogueAttr>:$epilogue,
    OptionalAttr<DenseI64ArrayAttr>:$expected_tokens,
    OptionalAttr<MoE_ScheduleAttr>:$schedule);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    attr-dict `ins` `(` $tokens `,` $weights `,` $groups `:` type($tokens) `,`
      type($weights) `,` type($groups) `)`
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`gather` `(` $gather^ `:` type($gather) `)`)?
    (`scale` `(` $scale^ `:` type($scale) `)`)?
    (`scatter` `(` $scatter^ `:` type($scatter) `)`)?
    `outs` `(` $init `:` type($init) `)` (`->` type($results)^)?
  }];
  let extraClassDeclaration = sharedDeclaration;
}

def MoE_GroupedMatmulSwappedOp
    : MoE_GroupedMatmulBase<"grouped_matmul_swapped"> {
  let summary = "a grouped matmul in transpose-and-swap form";
  let description = [{
    The grouped matmul with its operands exchanged and its result transposed
    (Swap-AB):

    ```
    y^T[:, r] = epilogue(W[e(r)] * x^T[:, r] + bias[e(r), :])
    ```

    The output elements of an expert, many, become the rows of the matrix
    instruction, and its tokens, few in the decode phase, the columns.
    Operands mean what they mean in `moe.grouped_matmul`, except for the
    storage order of the two matrices that have a token dimension:

    * `tokens` `[K x R]`, or `[R x K]` with `token_order = row_major`.
    * `outs` `[N x R]`, or `[R x N]` with `result_order = row_major`.

    `--moe-swap-ab` makes the transposed form, `--moe-fold-transposes` turns
    it into the row-major one, which moves no data.

    Example:

    ```mlir
    func.func @down(%x: tensor<64x768xbf16>, %w: tensor<128x2048x768xbf16>,
                    %off: tensor<129xi32>,
                    %y: tensor<64x2048xbf16>) -> tensor<64x2048xbf16> {
      %0 = moe.grouped_matmul_swapped {token_order = #moe.order<row_major>,
                                       result_order = #moe.order<row_major>}
          ins(%w, %x, %off : tensor<128x2048x768xbf16>, tensor<64x768xbf16>,
                             tensor<129xi32>)
          outs(%y : tensor<64x2048xbf16>) -> tensor<64x2048xbf16>
      return %0 : tensor<64x2048xbf16>
    }
    ```
  }];
  let arguments = (ins
    MoE_ExpertMatrices:$weights, MoE_Matrix:$tokens, MoE_IndexVector:$groups,
    Optional<MoE_Matrix>:$bias, Optional<MoE_IndexVector>:$gather,
    Optional<MoE_Vector>:$scale, Optional<MoE_IndexVector>:$scatter,
    MoE_Matrix:$init,
    DefaultValuedAttr<MoE_WeightLayoutAttr,
                      "::mlir::moe::WeightLayout::NK">:$weight_layout,
    DefaultValuedAttr<MoE_GroupKindAttr,
                      "::mlir::moe::GroupKind::Offsets">:$group_kind,
    DefaultValuedAttr<MoE_OperandOrderAttr,
                      "::mlir::moe::OperandOrder::Transposed">:$token_order,
    DefaultValuedAttr<MoE_OperandOrderAttr,
                      "::mlir::moe::OperandOrder::Transposed">:$result_order,
    OptionalAttr<MoE_EpilogueAttr>:$epilogue,
    OptionalAttr<DenseI64ArrayAttr>:$expected_tokens,
    OptionalAttr<MoE_ScheduleAttr>:$schedule);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    attr-dict `ins` `(` $weights `,` $tokens `,` $groups `:` type($weights) `,`
      type($tokens) `,` type($groups) `)`
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`gather` `(` $gather^ `:` type($gather) `)`)?
    (`scale` `(` $scale^ `:` type($scale) `)`)?
    (`scatter` `(` $scatter^ `:` type($scatter) `)`)?
    `outs` `(` $init `:` type($init) `)` (`->` type($results)^)?
  }];
  let extraClassDeclaration = sharedDeclaration;
}

include "moe/Dialect/MoE/IR/MoELayerOps.td"

#endif // MOE_DIALECT_MOE_IR_MOEOPS_TD
