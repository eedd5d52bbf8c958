//===- MoEAttrs.td - attributes of the moe dialect --------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_DIALECT_MOE_IR_MOEATTRS_TD
#define MOE_DIALECT_MOE_IR_MOEATTRS_TD

include "moe/Dialect/MoE/IR/MoEBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class MoE_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<MoE_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

class MoE_EnumAttr<I32EnumAttr info, string attrMnemonic>
    : EnumAttr<MoE_Dialect, info, attrMnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

class MoE_I32Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::moe";
  let genSpecializedAttr = 0;
}

def MoE_WeightLayout : MoE_I32Enum<"WeightLayout",
    "order of the dimensions of an expert's weight matrix", [
      I32EnumAttrCase<"NK", 0, "nk">,
      I32EnumAttrCase<"KN", 1, "kn">]>;
def MoE_WeightLayoutAttr : MoE_EnumAttr<MoE_WeightLayout, "weight_layout"> {
  let description = [{
    `nk`: `[E x N x K]`, K contiguous (as torch's Linear stores weights).
    `kn`: `[E x K x N]`, N contiguous (as JAX stores them).
  }];
}

def MoE_GroupKind : MoE_I32Enum<"GroupKind",
    "what the groups operand of a grouped matmul holds", [
      I32EnumAttrCase<"Offsets", 0, "offsets">,
      I32EnumAttrCase<"Sizes", 1, "sizes">]>;
def MoE_GroupKindAttr : MoE_EnumAttr<MoE_GroupKind, "group_kind"> {
  let description = [{
    `offsets`: `[E + 1]`; expert `e` owns rows `offsets[e]` up to, but without,
    `offsets[e + 1]`. `sizes`: `[E]`; expert `e` owns the next `sizes[e]` rows.
  }];
}

def MoE_OperandOrder : MoE_I32Enum<"OperandOrder",
    "whether a matrix of a swapped grouped matmul is stored transposed", [
      I32EnumAttrCase<"RowMajor", 0, "row_major">,
      I32EnumAttrCase<"Transposed", 1, "transposed">]>;
def MoE_OperandOrderAttr : MoE_EnumAttr<MoE_OperandOrder, "order"> {
  let description = [{
    `row_major`: one row of the matrix belongs to one token (`[R x K]` tokens,
    `[R x N]` result). `transposed`: one column does (`[K x R]`, `[N x R]`).
  }];
}

def MoE_Activation : MoE_I32Enum<"Activation",
    "function applied to the f32 result of a grouped matmul", [
      I32EnumAttrCase<"None", 0, "none">,
      I32EnumAttrCase<"SiLU", 1, "silu">,
      I32EnumAttrCase<"GELU", 2, "gelu">,
      I32EnumAttrCase<"GELUTanh", 3, "gelu_tanh">,
      I32EnumAttrCase<"ReLU", 4, "relu">,
      I32EnumAttrCase<"ReLU2", 5, "relu2">]>;

def MoE_Gate : MoE_I32Enum<"Gate",
    "how gate and up projection share the rows of a weight matrix", [
      I32EnumAttrCase<"None", 0, "none">,
      I32EnumAttrCase<"Concat", 1, "concat">,
      I32EnumAttrCase<"Interleaved", 2, "interleaved">]>;

def MoE_EpilogueAttr : MoE_Attr<"Epilogue", "epilogue"> {
  let summary = "what is done to the f32 result before it is stored";
  let description = [{
    With `gate = none` the stored value is `act(acc + bias)`. A gated epilogue
    halves N: with `g` and `u` the gate and up values of one output element,
    bias included, the stored value is `act(g) * u`. `concat`: the first `N/2`
    rows of an expert's weights are the gate, the others the up projection.
    `interleaved`: even rows are the gate, odd rows the up projection.

    Activations: `silu` is `x * sigmoid(x)`; `gelu` the exact form
    `x/2 * (1 + erf(x / sqrt 2))`; `gelu_tanh` the tanh form
    `x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))` (Hendrycks and Gimpel,
    "Gaussian Error Linear Units", 2016); `relu` is `max(x, 0)`; `relu2` its
    square.

    Example:

    ```mlir
    #moe.epilogue<silu, gate = concat>
    ```
  }];
  let parameters = (ins
    EnumParameter<MoE_Activation>:$activation,
    DefaultValuedParameter<"::mlir::moe::Gate", "::mlir::moe::Gate::None",
                           "how gate and up rows are stored">:$gate);
  let assemblyFormat = "`<` $activation (`,` `gate` `=` $gate^)? `>`";
  let extraClassDeclaration = [{
    /// True if the result has half as many columns as the weights have rows.
    bool isGated() const { return getGate() != ::mlir::moe::Gate::None; }
  }];
}

def MoE_ScheduleAttr : MoE_Attr<"Schedule", "schedule"> {
  let summary = "how a grouped matmul is cut into tiles on a GPU";
  let description = [{
    One warpgroup-level tile is `m x n x k`: `m` rows (weight rows when the
    matmul is swapped, tokens otherwise) in slabs of 64, `n` columns (tokens
    when swapped, outputs otherwise), `k` elements of the contraction a
    pipeline stage. `warpgroups` consumer warpgroups share one block, each with
    `m / warpgroups` rows; one more warpgroup produces. `stages` is the depth
    of the ring of shared-memory tiles. Swapped, `n` is the most tokens of a
    tile: one that has fewer takes the least power of two that holds them.

    Swapped, an expert may get far more tokens than others. `large` is the
    schedule of those that get more than `n`: a tile of more tokens, whose
    weights are so read less often. The kernel takes their tiles first, and then
    cuts the same shared memory into the stages of the others. It splits the
    tokens of such an expert evenly. `large` has itself no `large`, and a larger
    `n`.

    `m` is a multiple of `8 * warpgroups` (eight rows repeat the swizzle), `n` a
    multiple of 8 from 8 to 256 (the shapes of WGMMA), `k` is 64 (128 bytes of
    16-bit elements: one row of the 128-byte swizzle), `stages` is from 2 to 32
    and `warpgroups` from 1 to 3.

    A warpgroup whose rows are no multiple of 64 computes the last slab whole
    and stores what belongs to it. Swapped matmuls of few tokens, which wait for
    memory and not for the matrix unit, so get tiles that spread evenly over a
    GPU. Kernels do it for swapped matmuls of `nk` weights whose gate, if any,
    is interleaved.

    Example:

    ```mlir
    #moe.schedule<m = 128, n = 16, k = 64, stages = 10, warpgroups = 2>
    #moe.schedule<m = 64, n = 64, k = 64, stages = 12, warpgroups = 1,
                  large = <m = 256, n = 152, k = 64, stages = 4, warpgroups = 2>>
    ```
  }];
  let parameters = (ins "int64_t":$m, "int64_t":$n, "int64_t":$k,
                        "int64_t":$stages, "int64_t":$warpgroups,
                        OptionalParameter<"::mlir::moe::ScheduleAttr">:$large);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

include "moe/Dialect/MoE/IR/MoETargetAttrs.td"

#endif // MOE_DIALECT_MOE_IR_MOEATTRS_TD
