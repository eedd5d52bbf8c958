// RUN: moe-opt %s --transform-interpreter --canonicalize --cse --split-input-file \
// RUN:   --allow-unregistered-dialect | FileCheck %s

// The transform script swaps and folds.
// CHECK-LABEL: func @swap_and_fold
// CHECK-SAME: (%[[X:.+]]: tensor<64x768xbf16>, %[[W:.+]]: tensor<128x2048x768xbf16>, %[[OFF:.+]]: tensor<129xi32>, %[[Y:.+]]: tensor<64x2048xbf16>)
// CHECK-NEXT: moe.grouped_matmul_swapped {found, result_order = #moe.order<row_major>, token_order = #moe.order<row_major>}
// CHECK-SAME: ins(%[[W]], %[[X]], %[[OFF]] : {{.*}}) outs(%[[Y]] :
// CHECK-NEXT: return
func.func @swap_and_fold(%x: tensor<64x768xbf16>, %w: tensor<128x2048x768xbf16>,
                         %off: tensor<129xi32>,
                         %y: tensor<64x2048xbf16>) -> tensor<64x2048xbf16> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<64x768xbf16>, tensor<128x2048x768xbf16>,
                         tensor<129xi32>)
      outs(%y : tensor<64x2048xbf16>) -> tensor<64x2048xbf16>
  return %0 : tensor<64x2048xbf16>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %matmul = transform.structured.match ops{["moe.grouped_matmul"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %swapped = transform.moe.swap_ab %matmul
        : (!transform.any_op) -> !transform.any_op
    transform.annotate %swapped "found" : !transform.any_op
    %function = transform.structured.match ops{["func.func"]} in %root
        : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.moe.fold_transposes
    } : !transform.any_op
    transform.yield
  }
}

// -----

// Swapping and unswapping gives what was there, every operand and option.
// CHECK-LABEL: func @swap_and_unswap
// CHECK-SAME: (%[[X:.+]]: tensor<5x64xf16>, %[[W:.+]]: tensor<8x64x128xf16>, %[[SIZES:.+]]: tensor<8xi64>, %[[BIAS:.+]]: tensor<8x128xf32>, %[[GATHER:.+]]: tensor<20xi32>, %[[SCALE:.+]]: tensor<20xf32>, %[[SCATTER:.+]]: tensor<20xi64>, %[[Y:.+]]: tensor<?x64xf32>)
// CHECK-NEXT: %[[R:.+]] = moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = interleaved>, expected_tokens = array<i64: 4>, group_kind = #moe.group_kind<sizes>, note = "kept", weight_layout = #moe.weight_layout<kn>}
// CHECK-SAME: ins(%[[X]], %[[W]], %[[SIZES]] : {{.*}}) bias(%[[BIAS]] : {{.*}}) gather(%[[GATHER]] : {{.*}}) scale(%[[SCALE]] : {{.*}}) scatter(%[[SCATTER]] : {{.*}}) outs(%[[Y]] :
// CHECK-NEXT: return %[[R]]
func.func @swap_and_unswap(%x: tensor<5x64xf16>, %w: tensor<8x64x128xf16>,
                           %sizes: tensor<8xi64>, %bias: tensor<8x128xf32>,
                           %gather: tensor<20xi32>, %scale: tensor<20xf32>,
                           %scatter: tensor<20xi64>, %y: tensor<?x64xf32>)
    -> tensor<?x64xf32> {
  %0 = moe.grouped_matmul {
      note = "kept",
      weight_layout = #moe.weight_layout<kn>,
      group_kind = #moe.group_kind<sizes>,
      epilogue = #moe.epilogue<silu, gate = interleaved>,
      expected_tokens = array<i64: 4>}
      ins(%x, %w, %sizes : tensor<5x64xf16>, tensor<8x64x128xf16>, tensor<8xi64>)
      bias(%bias : tensor<8x128xf32>) gather(%gather : tensor<20xi32>)
      scale(%scale : tensor<20xf32>) scatter(%scatter : tensor<20xi64>)
      outs(%y : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %matmul = transform.structured.match ops{["moe.grouped_matmul"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %swapped = transform.moe.swap_ab %matmul
        : (!transform.any_op) -> !transform.any_op
    %back = transform.moe.unswap_ab %swapped
        : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// Storage orders: what is row-major is used as it is, what is transposed is
// transposed back.
// CHECK-LABEL: func @unswap_orders
// CHECK-SAME: (%[[X:.+]]: tensor<?x64xbf16>, %[[XT:.+]]: tensor<64x?xbf16>, %{{.+}}: tensor<8x128x64xbf16>, %{{.+}}: tensor<9xi32>, %[[Y:.+]]: tensor<?x128xbf16>, %[[YT:.+]]: tensor<128x?xbf16>)
// CHECK: %[[R1:.+]] = moe.grouped_matmul ins(%[[X]], {{.*}} outs(%[[Y]] :
// CHECK: %[[XR:.+]] = linalg.transpose ins(%[[XT]] : {{.*}}) outs(%{{.+}} : tensor<?x64xbf16>)
// CHECK: %[[YR:.+]] = linalg.transpose ins(%[[YT]] : {{.*}}) outs(%{{.+}} : tensor<?x128xbf16>)
// CHECK: %[[R:.+]] = moe.grouped_matmul ins(%[[XR]], {{.*}} outs(%[[YR]] :
// CHECK: %[[R2:.+]] = linalg.transpose ins(%[[R]] : {{.*}}) outs(%{{.+}} : tensor<128x?xbf16>)
// CHECK: return %[[R1]], %[[R2]]
func.func @unswap_orders(%x: tensor<?x64xbf16>, %xt: tensor<64x?xbf16>,
                         %w: tensor<8x128x64xbf16>, %off: tensor<9xi32>,
                         %y: tensor<?x128xbf16>, %yt: tensor<128x?xbf16>)
    -> (tensor<?x128xbf16>, tensor<128x?xbf16>) {
  %0 = moe.grouped_matmul_swapped {token_order = #moe.order<row_major>,
                                   result_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<8x128x64xbf16>, tensor<?x64xbf16>, tensor<9xi32>)
      outs(%y : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  %1 = moe.grouped_matmul_swapped
      ins(%w, %xt, %off : tensor<8x128x64xbf16>, tensor<64x?xbf16>, tensor<9xi32>)
      outs(%yt : tensor<128x?xbf16>) -> tensor<128x?xbf16>
  return %0, %1 : tensor<?x128xbf16>, tensor<128x?xbf16>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %swapped = transform.structured.match ops{["moe.grouped_matmul_swapped"]}
        in %root : (!transform.any_op) -> !transform.any_op
    %matmul = transform.moe.unswap_ab %swapped
        : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
