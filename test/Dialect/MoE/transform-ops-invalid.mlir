// RUN: moe-opt %s --transform-interpreter --split-input-file --verify-diagnostics

func.func @memrefs(%x: memref<8x64xbf16>, %w: memref<2x16x64xbf16>,
                   %off: memref<3xi32>, %y: memref<8x16xbf16>) {
  // expected-note @+1 {{of this op}}
  moe.grouped_matmul
      ins(%x, %w, %off : memref<8x64xbf16>, memref<2x16x64xbf16>, memref<3xi32>)
      outs(%y : memref<8x16xbf16>)
  return
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %matmul = transform.structured.match ops{["moe.grouped_matmul"]} in %root
        : (!transform.any_op) -> !transform.any_op
    // expected-error @+1 {{cannot exchange the operands: its operands are memrefs; exchange operands before bufferization}}
    %swapped = transform.moe.swap_ab %matmul
        : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

func.func @scheduled(%x: tensor<8x64xbf16>, %w: tensor<2x16x64xbf16>,
                     %off: tensor<3xi32>,
                     %y: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-note @+1 {{of this op}}
  %0 = moe.grouped_matmul_swapped {
      token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
      schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 4, warpgroups = 1>}
      ins(%w, %x, %off : tensor<2x16x64xbf16>, tensor<8x64xbf16>, tensor<3xi32>)
      outs(%y : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %0 : tensor<8x16xbf16>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %swapped = transform.structured.match ops{["moe.grouped_matmul_swapped"]}
        in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @+1 {{cannot exchange the operands: it has a schedule, which was made for its orientation; remove the schedule first}}
    %matmul = transform.moe.unswap_ab %swapped
        : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// expected-note @+1 {{when applied to this op}}
func.func @other() {
  return
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %function = transform.structured.match ops{["func.func"]} in %root
        : (!transform.any_op) -> !transform.any_op
    // expected-error @+1 {{transform applied to the wrong op kind}}
    %swapped = transform.moe.swap_ab %function
        : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
