//===- MoEBase.td - the moe dialect -----------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_DIALECT_MOE_IR_MOEBASE_TD
#define MOE_DIALECT_MOE_IR_MOEBASE_TD

include "mlir/IR/OpBase.td"

def MoE_Dialect : Dialect {
  let name = "moe";
  let cppNamespace = "::mlir::moe";
  let summary = "Mixture-of-Experts layers";
  let description = [{
    Ops of a Mixture-of-Experts layer: the router, the order of rows that
    groups tokens by expert, the grouped matmul, the weighted sum over the
    experts of a token, and the whole experts layer in one op.

    The letters used for sizes throughout:

    | letter | meaning |
    |--------|---------|
    | `T`    | tokens of the layer |
    | `k`    | experts chosen for one token (top-k) |
    | `R`    | rows of a grouped matmul; `T * k` when nothing is dropped |
    | `E`    | experts |
    | `K`    | elements of one row of the input of a grouped matmul |
    | `N`    | rows of one expert's weight matrix (its output elements) |
    | `H`, `I` | hidden and intermediate size of an experts layer |

    Rows of a grouped matmul are sorted by expert, so that the rows of one
    expert are contiguous. All matmuls accumulate in f32.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Name of the unit attribute of a function that is a program for the GPU
    /// even if no moe op is left in it.
    static constexpr ::llvm::StringLiteral getProgramAttrName() {
      return "moe.program";
    }
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

class MoE_Op<string mnemonic, list<Trait> traits = []>
    : Op<MoE_Dialect, mnemonic, traits>;

#endif // MOE_DIALECT_MOE_IR_MOEBASE_TD
