// RUN: moe-opt %s --one-shot-bufferize="bufferize-function-boundaries" --split-input-file | FileCheck %s

// A destination that nobody reads later is written in place.
// CHECK-LABEL: func @in_place(
// CHECK-SAME:      %[[X:.*]]: memref<?x64xbf16, {{.*}}>, %[[W:.*]]: memref<8x128x64xbf16, {{.*}}>, %[[OFF:.*]]: memref<9xi32, {{.*}}>, %[[Y:.*]]: memref<?x128xbf16, {{.*}}>
func.func @in_place(%x: tensor<?x64xbf16>, %w: tensor<8x128x64xbf16>,
                    %off: tensor<9xi32>, %y: tensor<?x128xbf16>)
    -> tensor<?x128xbf16> {
  // CHECK-NOT: memref.copy
  // CHECK: moe.grouped_matmul {expected_tokens = array<i64: 4>} ins(%[[X]], %[[W]], %[[OFF]] : {{.*}}) outs(%[[Y]] : {{.*}}>){{$}}
  %0 = moe.grouped_matmul {expected_tokens = array<i64: 4>}
      ins(%x, %w, %off : tensor<?x64xbf16>, tensor<8x128x64xbf16>, tensor<9xi32>)
      outs(%y : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  // CHECK: return %[[Y]]
  return %0 : tensor<?x128xbf16>
}

// -----

// Rows of no group keep the destination's value, so it is copied, not merely
// allocated, when its old value is needed later.
// CHECK-LABEL: func @destination_read_later(
// CHECK-SAME:      %[[Y:[^:]*]]: memref<4x16xf32, {{[^%]*}}) ->
func.func @destination_read_later(%x: tensor<4x8xf32>, %w: tensor<2x16x8xf32>,
                                  %off: tensor<3xi32>, %y: tensor<4x16xf32>)
    -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  // CHECK: %[[NEW:.*]] = memref.alloc() {{.*}} : memref<4x16xf32>
  // CHECK: memref.copy %[[Y]], %[[NEW]]
  // CHECK: moe.grouped_matmul ins({{.*}}) outs(%[[NEW]] : memref<4x16xf32>)
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x8xf32>, tensor<2x16x8xf32>, tensor<3xi32>)
      outs(%y : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0, %y : tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

// The tokens are read while the result is written: never one buffer.
// CHECK-LABEL: func @tokens_as_destination(
// CHECK-SAME:      %[[X:[^:]*]]: memref<4x8xf32
func.func @tokens_as_destination(%x: tensor<4x8xf32>, %w: tensor<2x8x8xf32>,
                                 %off: tensor<3xi32>) -> tensor<4x8xf32> {
  // CHECK: %[[NEW:.*]] = memref.alloc()
  // CHECK: moe.grouped_matmul ins(%[[X]], {{.*}}) outs(%[[NEW]] :
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x8xf32>, tensor<2x8x8xf32>, tensor<3xi32>)
      outs(%x : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Optional operands and every attribute survive.
// CHECK-LABEL: func @swapped_every_operand(
func.func @swapped_every_operand(
    %x: tensor<64x5xf16>, %w: tensor<8x64x128xf16>, %sizes: tensor<8xi64>,
    %bias: tensor<8x128xf32>, %gather: tensor<20xi32>, %scale: tensor<20xf32>,
    %scatter: tensor<20xi64>, %y: tensor<64x?xf32>) -> tensor<64x?xf32> {
  // CHECK: moe.grouped_matmul_swapped {epilogue = #moe.epilogue<silu, gate = concat>, group_kind = #moe.group_kind<sizes>, my.note = 7 : i64, weight_layout = #moe.weight_layout<kn>}
  // CHECK-SAME: bias(%{{.*}} : memref<8x128xf32, {{.*}}>) gather(%{{.*}} : memref<20xi32, {{.*}}>) scale(%{{.*}} : memref<20xf32, {{.*}}>) scatter(%{{.*}} : memref<20xi64, {{.*}}>) outs(%{{.*}} : memref<64x?xf32, {{.*}}>)
  %0 = moe.grouped_matmul_swapped {
      weight_layout = #moe.weight_layout<kn>,
      group_kind = #moe.group_kind<sizes>,
      epilogue = #moe.epilogue<silu, gate = concat>, my.note = 7 : i64}
      ins(%w, %x, %sizes : tensor<8x64x128xf16>, tensor<64x5xf16>, tensor<8xi64>)
      bias(%bias : tensor<8x128xf32>) gather(%gather : tensor<20xi32>)
      scale(%scale : tensor<20xf32>) scatter(%scatter : tensor<20xi64>)
      outs(%y : tensor<64x?xf32>) -> tensor<64x?xf32>
  return %0 : tensor<64x?xf32>
}

// -----

// Destinations that are overwritten need no copy of what they held.
// CHECK-LABEL: func @overwritten(
func.func @overwritten(%i: tensor<4x2xi32>, %t: tensor<8xi32>,
                       %r: tensor<4x2xi32>, %o: tensor<9xi32>)
    -> (tensor<8xi32>, tensor<8xi32>) {
  // CHECK: %[[NEW:.*]] = memref.alloc() {{.*}} : memref<8xi32>
  // CHECK-NOT: memref.copy
  // CHECK: moe.dispatch ins(%{{.*}}) outs(%[[NEW]], %{{.*}}, %{{.*}} :
  %tokens, %rows, %offsets = moe.dispatch ins(%i : tensor<4x2xi32>)
      outs(%t, %r, %o : tensor<8xi32>, tensor<4x2xi32>, tensor<9xi32>)
      -> tensor<8xi32>, tensor<4x2xi32>, tensor<9xi32>
  return %tokens, %t : tensor<8xi32>, tensor<8xi32>
}
