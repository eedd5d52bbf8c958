//===- MoEInterfaces.td - op interfaces of the moe dialect -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_DIALECT_MOE_IR_MOEINTERFACES_TD
#define MOE_DIALECT_MOE_IR_MOEINTERFACES_TD

include "mlir/IR/OpBase.td"

def MoE_GroupedMatmulInterface : OpInterface<"GroupedMatmulInterface"> {
  let cppNamespace = "::mlir::moe";
  let description = [{
    What the two orientations of a grouped matmul, `moe.grouped_matmul` and
    `moe.grouped_matmul_swapped`, have in common, so that lowerings and cost
    models treat them by one piece of code. `R`, `E`, `K` and `N` are sizes as
    the dialect defines them, `ShapedType::kDynamic` when not static.
  }];
  let methods = [
    InterfaceMethod<"Token rows, [R x K] or, transposed, [K x R].",
      "::mlir::TypedValue<::mlir::ShapedType>", "getTokens">,
    InterfaceMethod<"Expert weights, [E x N x K] or [E x K x N].",
      "::mlir::TypedValue<::mlir::ShapedType>", "getWeights">,
    InterfaceMethod<"Offsets [E + 1] or sizes [E] of the groups.",
      "::mlir::TypedValue<::mlir::ShapedType>", "getGroups">,
    InterfaceMethod<"Bias [E x N], or null.",
      "::mlir::TypedValue<::mlir::ShapedType>", "getBias">,
    InterfaceMethod<"Row of the tokens that each row reads [R], or null.",
      "::mlir::TypedValue<::mlir::ShapedType>", "getGather">,
    InterfaceMethod<"Factor of each result row [R], or null.",
      "::mlir::TypedValue<::mlir::ShapedType>", "getScale">,
    InterfaceMethod<"Row of the result that each row writes [R], or null.",
      "::mlir::TypedValue<::mlir::ShapedType>", "getScatter">,
    InterfaceMethod<"Destination, [R x N] or, transposed, [N x R].",
      "::mlir::TypedValue<::mlir::ShapedType>", "getInit">,
    InterfaceMethod<"Storage order of the weights.",
      "::mlir::moe::WeightLayout", "getWeightLayout">,
    InterfaceMethod<"What the groups operand holds.",
      "::mlir::moe::GroupKind", "getGroupKind">,
    InterfaceMethod<"The epilogue, or null for none.",
      "::mlir::moe::EpilogueAttr", "getEpilogueAttr">,
    InterfaceMethod<"Hint: tokens of an expert; one entry, or one an expert.",
      "std::optional<::llvm::ArrayRef<int64_t>>", "getExpectedTokens">,
    InterfaceMethod<"The GPU schedule, or null.",
      "::mlir::moe::ScheduleAttr", "getScheduleAttr">,
    InterfaceMethod<"Sets the GPU schedule.",
      "void", "setScheduleAttr", (ins "::mlir::moe::ScheduleAttr":$schedule)>,
    InterfaceMethod<"True for the Swap-AB orientation.", "bool", "isSwapped">,
    InterfaceMethod<"True if tokens are stored [K x R].",
      "bool", "hasTransposedTokens">,
    InterfaceMethod<"True if the result is stored [N x R].",
      "bool", "hasTransposedResult">,
  ];
  let extraSharedClassDeclaration = [{
    /// Number of experts.
    int64_t getNumExperts() { return $_op.getWeights().getType().getDimSize(0); }
    /// Elements of the contraction.
    int64_t getContractionSize() {
      return $_op.getWeights().getType().getDimSize(
          $_op.getWeightLayout() == ::mlir::moe::WeightLayout::NK ? 2 : 1);
    }
    /// Rows of one expert's weight matrix: before a gated epilogue halves them.
    int64_t getWeightRows() {
      return $_op.getWeights().getType().getDimSize(
          $_op.getWeightLayout() == ::mlir::moe::WeightLayout::NK ? 1 : 2);
    }
    /// Rows that the groups divide among the experts.
    int64_t getNumRows() {
      if (auto gather = $_op.getGather())
        return gather.getType().getDimSize(0);
      return $_op.getTokens().getType().getDimSize(
          $_op.hasTransposedTokens() ? 1 : 0);
    }
    /// Elements of one result row.
    int64_t getResultColumns() {
      return $_op.getInit().getType().getDimSize(
          $_op.hasTransposedResult() ? 0 : 1);
    }
    /// True if the epilogue halves the number of weight rows.
    bool isGated() {
      auto epilogue = $_op.getEpilogueAttr();
      return epilogue && epilogue.isGated();
    }
  }];
}

#endif // MOE_DIALECT_MOE_IR_MOEINTERFACES_TD
