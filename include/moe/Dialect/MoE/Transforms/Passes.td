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

#endif // MOE_DIALECT_MOE_TRANSFORMS_PASSES_TD
