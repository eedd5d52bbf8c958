// A card whose unswapped kernels are the better ones for many tokens.
// DEFINE: %{target} = target={#moe.target<"h20", swapped_efficiency = 60, unswapped_efficiency = 80>}
// RUN: moe-opt %s --moe-swap-ab='%{target}' --remarks-filter='moe.*' 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t
// A second run leaves the result as it is.
// RUN: moe-opt %s --moe-swap-ab='%{target}' --moe-swap-ab='%{target}' | FileCheck %s
// RUN: moe-opt %s --moe-swap-ab='%{target} multi-version=false' | FileCheck %s --check-prefix=ONE
// Where swapping always is the best rule, no branch is made.
// RUN: moe-opt %s --moe-swap-ab=target=h100-sxm --remarks-filter='moe.*' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ALWAYS

// Nor where never swapping is.
// RUN: moe-opt %s --moe-swap-ab='target={#moe.target<"h20", swapped_efficiency = 1>}' \
// RUN:   --remarks-filter='moe.*' 2>&1 | FileCheck %s --check-prefix=NEVER

// NEVER-NOT: moe.grouped_matmul_swapped
// NEVER: [Missed] kept {{.*}}Reason="the number of tokens is unknown: never swapping is predicted to lose at most 0 percent"

// ONE-NOT: moe.grouped_matmul_swapped
// ALWAYS-NOT: scf.if
// ALWAYS: [Passed] swapped {{.*}}Reason="the number of tokens is unknown: swapping always is predicted to lose at most {{[0-9]+}} percent"
// ALWAYS-NOT: scf.if
// ALWAYS: moe.grouped_matmul_swapped

// REMARK: [Analysis] left-to-run-time | Category:moe-swap-ab | Function=unknown_rows | Choice="left to run time", ExpectedTokens=unknown, {{.*}}Reason="the number of tokens is unknown: swapping below [[#TOKENS:]] tokens an expert is predicted to lose at most {{[0-9]+}} percent"

// CHECK-LABEL: func @unknown_rows
// CHECK-SAME: (%[[X:.+]]: tensor<?x768xbf16>,
func.func @unknown_rows(%x: tensor<?x768xbf16>, %w: tensor<10x2048x768xbf16>,
                        %off: tensor<11xi32>,
                        %y: tensor<?x2048xbf16>) -> tensor<?x2048xbf16> {
  // The threshold is the number of tokens an expert, 10 times in rows.
  // CHECK: %[[ROWS:.+]] = tensor.dim %[[X]]
  // CHECK: %[[LIMIT:.+]] = arith.constant [[#%u,TOKENS:]]0 : index
  // CHECK: %[[FEW:.+]] = arith.cmpi ult, %[[ROWS]], %[[LIMIT]] : index
  // CHECK: %[[R:.+]] = scf.if %[[FEW]] -> (tensor<?x2048xbf16>) {
  // CHECK:   moe.grouped_matmul_swapped ins
  // CHECK:   %[[BACK:.+]] = linalg.transpose
  // CHECK:   scf.yield %[[BACK]]
  // CHECK: } else {
  // CHECK:   %[[KEPT:.+]] = moe.grouped_matmul {expected_tokens = array<i64: [[#TOKENS]]>}
  // CHECK:   scf.yield %[[KEPT]]
  // CHECK: return %[[R]]
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<?x768xbf16>, tensor<10x2048x768xbf16>,
                         tensor<11xi32>)
      outs(%y : tensor<?x2048xbf16>) -> tensor<?x2048xbf16>
  return %0 : tensor<?x2048xbf16>
}

// With a gather, its length is the number of rows.
// CHECK-LABEL: func @unknown_gather
// CHECK-SAME: %[[GATHER:[a-z0-9]+]]: tensor<?xi32>
func.func @unknown_gather(%x: tensor<8x768xbf16>, %w: tensor<10x2048x768xbf16>,
                          %off: tensor<11xi32>, %gather: tensor<?xi32>,
                          %y: tensor<?x2048xbf16>) -> tensor<?x2048xbf16> {
  // CHECK: %[[ROWS:.+]] = tensor.dim %[[GATHER]]
  // CHECK: arith.cmpi ult, %[[ROWS]]
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<8x768xbf16>, tensor<10x2048x768xbf16>,
                         tensor<11xi32>) gather(%gather : tensor<?xi32>)
      outs(%y : tensor<?x2048xbf16>) -> tensor<?x2048xbf16>
  return %0 : tensor<?x2048xbf16>
}
