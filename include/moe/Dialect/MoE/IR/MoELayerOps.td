//===- MoELayerOps.td - ops of a whole experts layer ------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by MoEOps.td, which defines the operand types and base classes.
//
//===----------------------------------------------------------------------===//

#ifndef MOE_DIALECT_MOE_IR_MOELAYEROPS_TD
#define MOE_DIALECT_MOE_IR_MOELAYEROPS_TD

include "moe/Dialect/MoE/IR/MoEAttrs.td"

def MoE_Scoring : MoE_I32Enum<"Scoring",
    "how a router turns logits into weights", [
      I32EnumAttrCase<"Softmax", 0, "softmax">,
      I32EnumAttrCase<"SoftmaxAfterTopK", 1, "softmax_after_topk">,
      I32EnumAttrCase<"Sigmoid", 2, "sigmoid">]>;
def MoE_ScoringAttr : MoE_EnumAttr<MoE_Scoring, "scoring"> {
  let description = [{
    `softmax`: over all experts, before the choice. `softmax_after_topk`: over
    the logits of the chosen experts only. `sigmoid`: of each logit by itself.
  }];
}

def MoE_I32Vector : MoE_ShapedOf<[I32], 1, "1-D tensor or memref of i32">;
def MoE_I32Matrix : MoE_ShapedOf<[I32], 2, "2-D tensor or memref of i32">;

/// A destination-style op that writes all of its destinations and never reads
/// them.
class MoE_LayerOp<string mnemonic, list<Trait> traits = []>
    : MoE_DestinationOp<mnemonic, traits> {
  let hasVerifier = 1;
  code speculatability = [{
    ::mlir::Speculation::Speculatability getSpeculatability();
  }];
}

//===----------------------------------------------------------------------===//
// Router
//===----------------------------------------------------------------------===//

def MoE_RouteOp : MoE_LayerOp<"route"> {
  let summary = "chooses the experts of each token";
  let description = [{
    For each token, chooses the `k` experts with the largest keys and weighs
    them. `k` is the second size of `outs` less `shared_experts`. All
    arithmetic is in f32; the weights are rounded once, when stored.

    1. Scores, by `scoring`: `softmax` (the default) is the softmax of the
       token's logits over all `E` experts, `sigmoid` the sigmoid of each
       logit. With `softmax_after_topk` the score is the logit.
    2. Keys. With neither `bias` nor groups an expert's key is its logit (each
       scoring is monotone, so no choice depends on how it rounds). Otherwise
       it is its score, plus `bias[e]` if there is a bias.
    3. Groups (`n_group > 1`): `E / n_group` neighbouring experts form a group.
       Only the `topk_group` groups with the largest sum of their two largest
       keys (of the only key, in groups of one) take part; the others count as
       dropped.
    4. The `k` experts with the largest keys that are not dropped, in falling
       order. The same order and the same rules for ties hold for groups.
    5. Their weights: the unbiased scores. With `softmax_after_topk`, the
       softmax over the `k` chosen logits. With `renormalize`, divided by
       `1e-20` plus their sum; then multiplied by `scaling`.
    6. With `shared_experts = s`, columns `k` to `k + s - 1` hold the experts
       `E` to `E + s - 1` with weight 1: experts that every token takes, stored
       after the routed ones.

    Of equal keys the lower index comes first. A NaN key ranks below every
    number, -inf included, and NaNs among themselves by index: an expert with a
    NaN key is chosen only if fewer than `k` others are left. So the chosen
    indices are always different from each other and in `[0, E)`, and a NaN
    logit has no effect beyond its token's row, whose weights follow IEEE
    arithmetic.

    * `logits` `[T x E]`, `E` static.
    * `bias` `[E]`, optional: takes part in the choice, never in the weights.
    * `outs`: weights `[T x (k + s)]` of f32 or the element type of the logits,
      and indices `[T x (k + s)]` of i32 or i64; `k + s` static, both
      overwritten.

    Some routers in these terms: Mixtral, `{renormalize}`; Qwen3 the same, or
    without `renormalize` where `norm_topk_prob` is off; gpt-oss,
    `softmax_after_topk`; Llama 4, `sigmoid` with `k = 1`; DeepSeek-V3,
    `sigmoid`, `renormalize`, a bias, `n_group = 8`, `topk_group = 4`,
    `scaling = 2.5`, one shared expert.

    Example:

    ```mlir
    func.func @router(%logits: tensor<?x256xf32>, %bias: tensor<256xf32>,
                      %w: tensor<?x8xf32>, %i: tensor<?x8xi32>)
        -> (tensor<?x8xf32>, tensor<?x8xi32>) {
      %0, %1 = moe.route {scoring = #moe.scoring<sigmoid>, renormalize,
                          n_group = 8 : i64, topk_group = 4 : i64,
                          scaling = 2.5 : f32}
          ins(%logits : tensor<?x256xf32>) bias(%bias : tensor<256xf32>)
          outs(%w, %i : tensor<?x8xf32>, tensor<?x8xi32>)
          -> tensor<?x8xf32>, tensor<?x8xi32>
      return %0, %1 : tensor<?x8xf32>, tensor<?x8xi32>
    }
    ```
  }];
  let arguments = (ins
    MoE_Matrix:$logits, Optional<MoE_Vector>:$bias,
    MoE_Matrix:$weights_init, MoE_IndexMatrix:$indices_init,
    DefaultValuedAttr<MoE_ScoringAttr,
                      "::mlir::moe::Scoring::Softmax">:$scoring,
    UnitAttr:$renormalize,
    DefaultValuedAttr<I64Attr, "1">:$n_group,
    DefaultValuedAttr<I64Attr, "1">:$topk_group,
    DefaultValuedAttr<F32Attr, "1.0f">:$scaling,
    DefaultValuedAttr<I64Attr, "0">:$shared_experts);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    attr-dict `ins` `(` $logits `:` type($logits) `)`
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    `outs` `(` $weights_init `,` $indices_init `:` type($weights_init) `,`
      type($indices_init) `)` (`->` type($results)^)?
  }];
  let hasFolder = 1;
  let extraClassDeclaration = speculatability # [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(),
                                         getOperation()->getNumOperands() - 2,
                                         2);
    }
    /// Tokens, or dynamic.
    int64_t getNumTokens() { return getLogits().getType().getDimSize(0); }
    /// Routed experts, shared ones not counted.
    int64_t getNumExperts() { return getLogits().getType().getDimSize(1); }
    /// Routed experts chosen for one token, shared ones not counted.
    int64_t getTopK() {
      return getWeightsInit().getType().getDimSize(1) - getSharedExperts();
    }
    /// True if whole groups of experts are dropped before the choice.
    bool hasGroups() { return getNGroup() > 1; }
  }];
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

def MoE_DispatchOp : MoE_LayerOp<"dispatch"> {
  let summary = "orders the token-expert pairs by expert";
  let description = [{
    Each entry `indices[t, j]` is a pair of a token and an expert. Sorts the
    pairs by expert, those of one expert by `t * k + j`, and gives each a row:

    * `offsets` `[E + 1]`: expert `e` owns rows `offsets[e]` up to, but
      without, `offsets[e + 1]`; `offsets[0]` is 0.
    * `token_of_row` `[R]`, `R = T * k`: the token `t` of the pair in each row:
      the `gather` operand of `moe.grouped_matmul`. Rows at or after
      `offsets[E]`, which hold no pair, are -1.
    * `row_of_pair` `[T x k]`: the row of each pair: what `moe.combine` reads.

    Pairs whose index is negative or at least `E` are dropped: no group holds
    them and their row is -1. `E` is the size of `offsets` less one. Two pairs
    may name one expert for one token; each gets its row. All three
    destinations are i32 and are overwritten, so `T * k` must be below 2^31.

    On indices `[(T * k) x 1]`, the same indices reshaped, `token_of_row` holds
    the pair of each row instead of its token.

    Example:

    ```mlir
    func.func @order(%indices: tensor<4x2xi32>, %t: tensor<8xi32>,
                     %r: tensor<4x2xi32>, %o: tensor<9xi32>)
        -> (tensor<8xi32>, tensor<4x2xi32>, tensor<9xi32>) {
      %tokens, %rows, %offsets = moe.dispatch ins(%indices : tensor<4x2xi32>)
          outs(%t, %r, %o : tensor<8xi32>, tensor<4x2xi32>, tensor<9xi32>)
          -> tensor<8xi32>, tensor<4x2xi32>, tensor<9xi32>
      return %tokens, %rows, %offsets
          : tensor<8xi32>, tensor<4x2xi32>, tensor<9xi32>
    }
    ```
  }];
  let arguments = (ins
    MoE_IndexMatrix:$indices, MoE_I32Vector:$token_of_row_init,
    MoE_I32Matrix:$row_of_pair_init, MoE_I32Vector:$offsets_init);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    attr-dict `ins` `(` $indices `:` type($indices) `)`
    `outs` `(` $token_of_row_init `,` $row_of_pair_init `,` $offsets_init `:`
      type($token_of_row_init) `,` type($row_of_pair_init) `,`
      type($offsets_init) `)` (`->` type($results)^)?
  }];
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = speculatability # [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(), 1, 3);
    }
    /// Experts, or dynamic.
    int64_t getNumExperts() {
      int64_t size = getOffsetsInit().getType().getDimSize(0);
      return ::mlir::ShapedType::isDynamic(size) ? size : size - 1;
    }
  }];
}

//===----------------------------------------------------------------------===//
// Combine
//===----------------------------------------------------------------------===//

def MoE_CombineOp : MoE_LayerOp<"combine"> {
  let summary = "adds up the expert results of each token";
  let description = [{
    ```
    y[t, :] = sum over j of weights[t, j] * rows[row_of_pair[t, j], :]
    ```

    in f32, added in the order `j = 0, ..., k - 1` and rounded once to the
    element type of `outs`. A pair whose row is negative or at least `R` adds
    nothing, whatever its weight: it is left out, not multiplied by zero. A
    token without any pair becomes zero.

    * `rows` `[R x H]`.
    * `row_of_pair` `[T x k]`, i32 or i64, as `moe.dispatch` makes it.
    * `weights` `[T x k]`, optional: without them the rows are added as they
      are.
    * `outs` `[T x H]`, overwritten.

    Example:

    ```mlir
    func.func @sum(%rows: tensor<8x64xbf16>, %r: tensor<4x2xi32>,
                   %w: tensor<4x2xf32>, %y: tensor<4x64xbf16>)
        -> tensor<4x64xbf16> {
      %0 = moe.combine ins(%rows, %r : tensor<8x64xbf16>, tensor<4x2xi32>)
          weights(%w : tensor<4x2xf32>)
          outs(%y : tensor<4x64xbf16>) -> tensor<4x64xbf16>
      return %0 : tensor<4x64xbf16>
    }
    ```
  }];
  let arguments = (ins
    MoE_Matrix:$rows, MoE_IndexMatrix:$row_of_pair,
    Optional<MoE_Matrix>:$weights, MoE_Matrix:$init);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    attr-dict `ins` `(` $rows `,` $row_of_pair `:` type($rows) `,`
      type($row_of_pair) `)`
    (`weights` `(` $weights^ `:` type($weights) `)`)?
    `outs` `(` $init `:` type($init) `)` (`->` type($results)^)?
  }];
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = speculatability # [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getInitMutable();
    }
  }];
}

//===----------------------------------------------------------------------===//
// The whole layer
//===----------------------------------------------------------------------===//

def MoE_ExpertsOp : MoE_LayerOp<"experts", [AttrSizedOperandSegments]> {
  let summary = "an experts layer, from router output to token results";
  let description = [{
    With `e = indices[t, j]`, and `W1[e]`, `W2[e]` the expert's matrices as
    `[N x H]` and `[H x I]`:

    ```
    h[t, j, :] = epilogue(tokens[t, :] * W1[e]^T + gate_up_bias[e, :])
    y[t, :] = sum over j of weights[t, j] * (h[t, j, :] * W2[e]^T
                                             + down_bias[e, :])
    ```

    Matmuls and the sum are in f32, the sum in the order `j = 0, ..., k - 1`.
    `h` is rounded to the element type of the tokens, the sum once to that of
    `outs`; whether the result of the second matmul is rounded to the element
    type of the tokens before the sum is left to the implementation.

    With `scale_input` the weights multiply the input instead of the result
    (Llama 4): `h` is computed from `weights[t, j] * tokens[t, :]`, rounded to
    the element type of the tokens, and the sum has no weights.

    Pairs whose index is negative or at least `E` are left out, not multiplied
    by zero: expert-parallel callers pad with them. A token that no expert
    takes becomes zero. An expert may appear more than once among those of a
    token. Experts that every token takes ("shared") are further columns of
    `indices`.

    * `tokens` `[T x H]`.
    * `indices` `[T x k]`, i32 or i64, and `weights` `[T x k]`, as `moe.route`
      makes them.
    * `gate_up` `[E x N x H]` (`weight_layout = nk`, the default) or
      `[E x H x N]` (`kn`): the first matmul. `N = 2 * I` with a gated
      epilogue, otherwise `N = I`.
    * `down` `[E x H x I]` (`nk`) or `[E x I x H]` (`kn`): the second matmul.
    * `gate_up_bias` `[E x N]`, `down_bias` `[E x H]`, optional.
    * `epilogue`: of the first matmul, as in `moe.grouped_matmul`.
    * `outs` `[T x H]`, overwritten; of the element type of the tokens, or f32.

    `expected_tokens` is a hint to cost models: how many tokens an expert gets,
    one number for all experts or one for each. It never changes the result.

    Example:

    ```mlir
    func.func @layer(%x: tensor<8x2048xbf16>, %i: tensor<8x8xi32>,
                     %p: tensor<8x8xf32>, %w1: tensor<128x1536x2048xbf16>,
                     %w2: tensor<128x2048x768xbf16>, %y: tensor<8x2048xbf16>)
        -> tensor<8x2048xbf16> {
      %0 = moe.experts {epilogue = #moe.epilogue<silu, gate = concat>}
          ins(%x, %i, %p, %w1, %w2 : tensor<8x2048xbf16>, tensor<8x8xi32>,
              tensor<8x8xf32>, tensor<128x1536x2048xbf16>,
              tensor<128x2048x768xbf16>)
          outs(%y : tensor<8x2048xbf16>) -> tensor<8x2048xbf16>
      return %0 : tensor<8x2048xbf16>
    }
    ```
  }];
  let arguments = (ins
    MoE_Matrix:$tokens, MoE_IndexMatrix:$indices, MoE_Matrix:$weights,
    MoE_ExpertMatrices:$gate_up, MoE_ExpertMatrices:$down,
    Optional<MoE_Matrix>:$gate_up_bias, Optional<MoE_Matrix>:$down_bias,
    MoE_Matrix:$init,
    DefaultValuedAttr<MoE_WeightLayoutAttr,
                      "::mlir::moe::WeightLayout::NK">:$weight_layout,
    OptionalAttr<MoE_EpilogueAttr>:$epilogue,
    UnitAttr:$scale_input,
    OptionalAttr<DenseI64ArrayAttr>:$expected_tokens);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    attr-dict `ins` `(` $tokens `,` $indices `,` $weights `,` $gate_up `,`
      $down `:` type($tokens) `,` type($indices) `,` type($weights) `,`
      type($gate_up) `,` type($down) `)`
    (`gate_up_bias` `(` $gate_up_bias^ `:` type($gate_up_bias) `)`)?
    (`down_bias` `(` $down_bias^ `:` type($down_bias) `)`)?
    `outs` `(` $init `:` type($init) `)` (`->` type($results)^)?
  }];
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = speculatability # [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getInitMutable();
    }
    /// Experts, or dynamic.
    int64_t getNumExperts() { return getGateUp().getType().getDimSize(0); }
    /// Experts of one token, or dynamic.
    int64_t getTopK() { return getIndices().getType().getDimSize(1); }
    /// Rows of the first matmul's weights, or dynamic: 2 * I if gated, else I.
    int64_t getGateUpRows() {
      return getGateUp().getType().getDimSize(
          getWeightLayout() == ::mlir::moe::WeightLayout::NK ? 1 : 2);
    }
    /// Elements of the hidden activations, or dynamic.
    int64_t getIntermediateSize() {
      return getDown().getType().getDimSize(
          getWeightLayout() == ::mlir::moe::WeightLayout::NK ? 2 : 1);
    }
    /// True if gate and up projection share the first matmul.
    bool isGated() {
      ::mlir::moe::EpilogueAttr epilogue = getEpilogueAttr();
      return epilogue && epilogue.isGated();
    }
  }];
}

#endif // MOE_DIALECT_MOE_IR_MOELAYEROPS_TD
