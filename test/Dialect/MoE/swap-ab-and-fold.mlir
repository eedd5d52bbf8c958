// The swap's transposes all fold.
//
// RUN: moe-opt %s --moe-swap-ab=mode=always --moe-fold-transposes | FileCheck %s
// RUN: moe-opt %s --moe-swap-ab=target=h20 --moe-fold-transposes | FileCheck %s

// Dynamic rows leave no dims or empty tensors behind; options stay.
// CHECK-LABEL: func @dynamic
// CHECK-NEXT: %[[R:.+]] = moe.grouped_matmul_swapped
// CHECK-SAME: epilogue = #moe.epilogue<silu>
// CHECK-SAME: result_order = #moe.order<row_major>
// CHECK-SAME: bias({{.*}}) gather({{.*}}) scale({{.*}}) scatter({{.*}}) outs(%{{.*}} : tensor<?x128xf32>) -> tensor<?x128xf32>
// CHECK-NEXT: return %[[R]]
func.func @dynamic(%x: tensor<?x64xf16>, %w: tensor<8x64x128xf16>,
    %sizes: tensor<8xi64>, %bias: tensor<8x128xf32>, %gather: tensor<?xi32>,
    %scale: tensor<?xf32>, %scatter: tensor<?xi64>, %y: tensor<?x128xf32>)
    -> tensor<?x128xf32> {
  %0 = moe.grouped_matmul {
      weight_layout = #moe.weight_layout<kn>, expected_tokens = array<i64: 1>,
      group_kind = #moe.group_kind<sizes>, epilogue = #moe.epilogue<silu>}
      ins(%x, %w, %sizes : tensor<?x64xf16>, tensor<8x64x128xf16>, tensor<8xi64>)
      bias(%bias : tensor<8x128xf32>) gather(%gather : tensor<?xi32>)
      scale(%scale : tensor<?xf32>) scatter(%scatter : tensor<?xi64>)
      outs(%y : tensor<?x128xf32>) -> tensor<?x128xf32>
  return %0 : tensor<?x128xf32>
}

// In both versions of an op whose tokens are known at run time only.
// CHECK-LABEL: func @unknown_rows
// CHECK-NOT: linalg.transpose
// CHECK: moe.grouped_matmul_swapped {result_order = #moe.order<row_major>, token_order = #moe.order<row_major>}
// CHECK-NOT: linalg.transpose
func.func @unknown_rows(%x: tensor<?x768xbf16>, %w: tensor<10x2048x768xbf16>,
                        %off: tensor<11xi32>,
                        %y: tensor<?x2048xbf16>) -> tensor<?x2048xbf16> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<?x768xbf16>, tensor<10x2048x768xbf16>,
                         tensor<11xi32>)
      outs(%y : tensor<?x2048xbf16>) -> tensor<?x2048xbf16>
  return %0 : tensor<?x2048xbf16>
}
