//===- Passes.td - passes over the moe dialect ------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_DIALECT_MOE_TRANSFORMS_PASSES_TD
#define MOE_DIALECT_MOE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def MoEDecomposeExpertsPass : Pass<"moe-decompose-experts"> {
  let summary = "take moe.experts apart into dispatch, matmuls and combine";
  let description = [{
    Replaces every `moe.experts` on tensors by

    1. `moe.dispatch`, which orders the pairs of a token and an expert;
    2. `moe.grouped_matmul` with the layer's epilogue, which reads the row of
       each token through its `gather` operand;
    3. `moe.grouped_matmul` with the `down` weights;
    4. `moe.combine`, which adds up the rows of each token, weighted.

    Rows between these have the element type of the tokens. With `scale_input`
    the tokens are multiplied by their routing weights first, one copy for each
    pair, and the last step has no weights. `expected_tokens` is carried to both
    matmuls. A `moe.experts` on memrefs stays, with a remark: decompose before
    bufferization. So does one of 2^31 or more pairs or experts.

    Remarks have the category `moe-decompose-experts`.
  }];
  let options = [
    Option<"gather", "gather", "::mlir::moe::GatherForm",
           /*default=*/"::mlir::moe::GatherForm::Operand",
           "how the first matmul gets its rows in expert order",
           [{::llvm::cl::values(
               clEnumValN(::mlir::moe::GatherForm::Operand, "operand",
                          "through its gather operand, without a copy"),
               clEnumValN(::mlir::moe::GatherForm::Copy, "copy",
                          "from a copy of the rows"))}]>,
  ];
  let statistics = [
    Statistic<"numDecomposed", "num-decomposed",
              "Number of moe.experts taken apart">,
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::moe::MoEDialect",
    "::mlir::tensor::TensorDialect",
  ];
}

def MoESwapABPass : Pass<"moe-swap-ab"> {
  let summary = "Exchange the operands of grouped matmuls with few tokens";
  let description = [{
    Rewrites `moe.grouped_matmul` on tensors to `moe.grouped_matmul_swapped`
    (Swap-AB) where the cost model predicts that to be faster, with explicit
    transposes of the tokens, of the destination and of the result, which
    `--moe-fold-transposes` removes again.

    How many tokens an expert gets decides. It is, in this order: the option
    `expected-tokens`, the op's `expected_tokens`, or `R / E` where both are
    static. Else the choice is left to run time: an `scf.if` on the number of
    rows holds both forms, with the threshold that loses least at any number of
    tokens, or, if that is to swap always, the swapped form alone. (The
    unswapped form there gets the threshold as its `expected_tokens`.) Pipelines
    that cannot hold control flow set `multi-version=false`, which leaves such
    ops as they are.

    An op stays as it is, with a remark that says why, if

    * its operands are memrefs, its tensors have an encoding, or it has a
      schedule already;
    * the GPU's bulk copies cannot fetch its weights: `K * sizeof(element)` must
      be a multiple of 16 bytes, and with `kn` weights `N * sizeof(element)`;
    * its operands are f32 (in mode `auto`): the matrix instruction takes 16-bit
      floats;
    * E, K or N is dynamic (in mode `auto`), so that no time can be predicted.

    Every decision is a remark of category `moe-swap-ab`, shown with
    `--remarks-filter='moe.*'`: the op, the tokens expected, both predicted
    times and the choice.

    Example (`--moe-swap-ab`):

    ```mlir
    func.func @down(%x: tensor<64x768xbf16>, %w: tensor<128x2048x768xbf16>,
                    %off: tensor<129xi32>,
                    %y: tensor<64x2048xbf16>) -> tensor<64x2048xbf16> {
      %0 = moe.grouped_matmul
          ins(%x, %w, %off : tensor<64x768xbf16>, tensor<128x2048x768xbf16>,
                             tensor<129xi32>)
          outs(%y : tensor<64x2048xbf16>) -> tensor<64x2048xbf16>
      return %0 : tensor<64x2048xbf16>
    }
    ```

    becomes

    ```mlir
    func.func @down(%x: tensor<64x768xbf16>, %w: tensor<128x2048x768xbf16>,
                    %off: tensor<129xi32>,
                    %y: tensor<64x2048xbf16>) -> tensor<64x2048xbf16> {
      %0 = tensor.empty() : tensor<768x64xbf16>
      %xt = linalg.transpose ins(%x : tensor<64x768xbf16>)
                             outs(%0 : tensor<768x64xbf16>) permutation = [1, 0]
      %1 = tensor.empty() : tensor<2048x64xbf16>
      %yt = linalg.transpose ins(%y : tensor<64x2048xbf16>)
                             outs(%1 : tensor<2048x64xbf16>) permutation = [1, 0]
      %2 = moe.grouped_matmul_swapped
          ins(%w, %xt, %off : tensor<128x2048x768xbf16>, tensor<768x64xbf16>,
                              tensor<129xi32>)
          outs(%yt : tensor<2048x64xbf16>) -> tensor<2048x64xbf16>
      %3 = linalg.transpose ins(%2 : tensor<2048x64xbf16>)
                            outs(%y : tensor<64x2048xbf16>) permutation = [1, 0]
      return %3 : tensor<64x2048xbf16>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::moe::MoEDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect",
  ];
  let options = [
    Option<"mode", "mode", "::mlir::moe::SwapMode",
           /*default=*/"::mlir::moe::SwapMode::Auto",
           "Whether to swap: auto asks the cost model",
           [{::llvm::cl::values(
              clEnumValN(::mlir::moe::SwapMode::Auto, "auto",
                         "where it is predicted to be faster"),
              clEnumValN(::mlir::moe::SwapMode::Always, "always",
                         "wherever it is possible"),
              clEnumValN(::mlir::moe::SwapMode::Never, "never", "nowhere"))}]>,
    Option<"target", "target", "std::string", /*default=*/"",
           "GPU to predict for: a preset (h100-sxm, h200, h20, sm_90a) or a "
           "#moe.target attribute (in braces if it has commas); empty means the moe.target attribute around "
           "the op, or h100-sxm">,
    Option<"expectedTokens", "expected-tokens", "double", /*default=*/"-1",
           "Tokens that an expert gets on average, in place of the ops' hints; "
           "negative means the hints">,
    Option<"multiVersion", "multi-version", "bool", /*default=*/"true",
           "Make both forms and branch where the choice is left to run time">,
  ];
  let statistics = [
    Statistic<"numSwapped", "swapped", "Grouped matmuls that were swapped">,
    Statistic<"numKept", "kept", "Grouped matmuls that stay unswapped">,
    Statistic<"numLeftToRunTime", "left-to-run-time",
              "Grouped matmuls whose choice is left to run time">,
    Statistic<"numDecided", "decided",
              "Decisions of the cost model, one for all ops that are alike">,
  ];
}

def MoEFoldTransposesPass : Pass<"moe-fold-transposes"> {
  let summary = "Fold transposes into the storage orders of swapped matmuls";
  let description = [{
    Folds `linalg.transpose` of the tokens of `moe.grouped_matmul_swapped` into
    `token_order = row_major`, and transposes of its destination and its result
    into `result_order = row_major`: the kernel loads tokens and stores results
    in the order it is told, so no data moves for a transpose. Pairs of
    transposes are removed as well.

    The result is folded if all its users are transposes, and the destination
    is a transpose, an empty tensor, or uniform (a fill or a splat constant).

    Remarks of the category `moe-fold-transposes` tell of each matrix that was
    made row-major (passed), and of each that stays transposed and why (missed).

    Example: the output of `--moe-swap-ab` above becomes

    ```mlir
    func.func @down(%x: tensor<64x768xbf16>, %w: tensor<128x2048x768xbf16>,
                    %off: tensor<129xi32>,
                    %y: tensor<64x2048xbf16>) -> tensor<64x2048xbf16> {
      %0 = moe.grouped_matmul_swapped {result_order = #moe.order<row_major>,
                                       token_order = #moe.order<row_major>}
          ins(%w, %x, %off : tensor<128x2048x768xbf16>, tensor<64x768xbf16>,
                             tensor<129xi32>)
          outs(%y : tensor<64x2048xbf16>) -> tensor<64x2048xbf16>
      return %0 : tensor<64x2048xbf16>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::moe::MoEDialect", "::mlir::tensor::TensorDialect",
  ];
  let statistics = [
    Statistic<"numFoldedTokens", "folded-tokens",
              "Grouped matmuls whose tokens were made row-major">,
    Statistic<"numFoldedResults", "folded-results",
              "Grouped matmuls whose result was made row-major">,
    Statistic<"numTransposed", "transposed",
              "Tokens and results that stay transposed">,
  ];
}

def MoESelectSchedulePass : Pass<"moe-select-schedule"> {
  let summary = "Choose tile sizes and pipeline stages of grouped matmuls";
  let description = [{
    Gives every grouped matmul of either orientation, on tensors or memrefs, the
    schedule with the shortest time that the cost model predicts for the target
    and the expected tokens (found as `--moe-swap-ab` finds them; a swapped op
    gets a token tile of 16 when they are unknown). Stages are as many as shared
    memory holds, at most 16. A schedule that an op has is kept, so that a
    person can choose another one.

    * Swapped: `m` weight rows, 64 for each warpgroup, or 128 (64 gate and 64 up
      rows) with a `concat` gate; `n` tokens, a multiple of 8; two warpgroups
      from 64 tokens on.
    * Unswapped: `m` tokens, 64 for each of one or two warpgroups; `n` weight
      rows, from 64 to 256 (with a `concat` gate, half of them gate and half of
      them up rows), and with `kn` weights whole panels of 64 of them.

    Ops that the generated GPU kernels cannot run get none, with a remark that
    says why. Remarks have the category `moe-select-schedule`.

    Example (`--moe-select-schedule=target=h200`):

    ```mlir
    func.func @down(%x: tensor<64x768xbf16>, %w: tensor<128x2048x768xbf16>,
                    %off: tensor<129xi32>,
                    %y: tensor<64x2048xbf16>) -> tensor<64x2048xbf16> {
      %0 = moe.grouped_matmul_swapped {
          result_order = #moe.order<row_major>,
          token_order = #moe.order<row_major>,
          schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 16,
                                   warpgroups = 1>}
          ins(%w, %x, %off : tensor<128x2048x768xbf16>, tensor<64x768xbf16>,
                             tensor<129xi32>)
          outs(%y : tensor<64x2048xbf16>) -> tensor<64x2048xbf16>
      return %0 : tensor<64x2048xbf16>
    }
    ```

    has the schedule that the pass gives to this op.
  }];
  let dependentDialects = ["::mlir::moe::MoEDialect"];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"",
           "GPU to schedule for: a preset (h100-sxm, h200, h20, sm_90a) or a "
           "#moe.target attribute (in braces if it has commas); empty means the moe.target attribute around "
           "the op, or h100-sxm">,
    Option<"expectedTokens", "expected-tokens", "double", /*default=*/"-1",
           "Tokens that an expert gets on average, in place of the ops' hints; "
           "negative means the hints">,
  ];
  let statistics = [
    Statistic<"numScheduled", "scheduled",
              "Grouped matmuls that got a schedule">,
    Statistic<"numKept", "kept", "Grouped matmuls that had a schedule">,
    Statistic<"numRefused", "refused",
              "Grouped matmuls that the GPU kernels cannot run">,
  ];
}

def MoESeparateEmptiesPass : Pass<"moe-separate-empties"> {
  let summary = "Give every op that uses an empty tensor one of its own";
  let description = [{
    Copies every `tensor.empty` that several ops of its block use, themselves or
    in their regions, so that each has its own.

    What an empty tensor holds is undefined, so they share nothing but the name.
    But bufferization has to find out that they can do without each other's
    contents, which takes time with the square of their number. `--cse` makes one
    `tensor.empty` out of those of all layers of a model: run this pass behind
    it, and `--moe-reuse-buffers` when there are buffers.

    Example:

    ```mlir
    func.func @twice(%a: tensor<4xf32>, %b: tensor<4xf32>)
        -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = tensor.empty() : tensor<4xf32>
      %1 = linalg.copy ins(%a : tensor<4xf32>)
                       outs(%0 : tensor<4xf32>) -> tensor<4xf32>
      %2 = linalg.copy ins(%b : tensor<4xf32>)
                       outs(%0 : tensor<4xf32>) -> tensor<4xf32>
      return %1, %2 : tensor<4xf32>, tensor<4xf32>
    }
    ```

    becomes

    ```mlir
    func.func @twice(%a: tensor<4xf32>, %b: tensor<4xf32>)
        -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = tensor.empty() : tensor<4xf32>
      %1 = tensor.empty() : tensor<4xf32>
      %2 = linalg.copy ins(%a : tensor<4xf32>)
                       outs(%1 : tensor<4xf32>) -> tensor<4xf32>
      %3 = linalg.copy ins(%b : tensor<4xf32>)
                       outs(%0 : tensor<4xf32>) -> tensor<4xf32>
      return %2, %3 : tensor<4xf32>, tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numCopies", "copies", "Empty tensors that were added">,
  ];
}

def MoEReuseBuffersPass : Pass<"moe-reuse-buffers"> {
  let summary = "Let buffers that are not in use at the same time be one";
  let description = [{
    Replaces a `memref.alloc` by an earlier one of the same type, sizes and
    attributes in the same block, if that one's last use comes before the first
    use of this one. An op that uses both keeps them apart. All layers of a model
    thus work in the buffers of the first one.

    Views of a buffer, and what branches and loops make of it, count as uses. A
    buffer is left alone if it leaves its block, if it is freed, if an op uses it
    that may keep it (any but those of `moe` and `linalg`, `memref.copy` and
    `memref.dim`), or if it is used in a region of another dialect than `scf`.

    Example:

    ```mlir
    func.func @chain(%x: memref<4xf32>, %y: memref<4xf32>) {
      %0 = memref.alloc() : memref<4xf32>
      linalg.copy ins(%x : memref<4xf32>) outs(%0 : memref<4xf32>)
      linalg.copy ins(%0 : memref<4xf32>) outs(%y : memref<4xf32>)
      %1 = memref.alloc() : memref<4xf32>
      linalg.copy ins(%y : memref<4xf32>) outs(%1 : memref<4xf32>)
      linalg.copy ins(%1 : memref<4xf32>) outs(%x : memref<4xf32>)
      return
    }
    ```

    becomes

    ```mlir
    func.func @chain(%x: memref<4xf32>, %y: memref<4xf32>) {
      %0 = memref.alloc() : memref<4xf32>
      linalg.copy ins(%x : memref<4xf32>) outs(%0 : memref<4xf32>)
      linalg.copy ins(%0 : memref<4xf32>) outs(%y : memref<4xf32>)
      linalg.copy ins(%y : memref<4xf32>) outs(%0 : memref<4xf32>)
      linalg.copy ins(%0 : memref<4xf32>) outs(%x : memref<4xf32>)
      return
    }
    ```
  }];
  let statistics = [
    Statistic<"numReused", "reused",
              "Allocations that became one that was there before">,
  ];
}

#endif // MOE_DIALECT_MOE_TRANSFORMS_PASSES_TD
