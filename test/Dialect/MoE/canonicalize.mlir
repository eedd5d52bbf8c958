// RUN: moe-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func @matmul_without_experts
func.func @matmul_without_experts(%x: tensor<4x64xf32>, %w: tensor<0x32x64xf32>,
                                  %off: tensor<1xi32>, %y: tensor<4x32xf32>)
    -> tensor<4x32xf32> {
  // CHECK-NEXT: return %arg3
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x64xf32>, tensor<0x32x64xf32>, tensor<1xi32>)
      outs(%y : tensor<4x32xf32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}

// CHECK-LABEL: func @matmul_without_rows
func.func @matmul_without_rows(%x: tensor<0x64xf32>, %w: tensor<8x32x64xf32>,
                               %off: tensor<9xi32>, %y: tensor<0x32xf32>)
    -> tensor<0x32xf32> {
  // CHECK-NEXT: return %arg3
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<0x64xf32>, tensor<8x32x64xf32>, tensor<9xi32>)
      outs(%y : tensor<0x32xf32>) -> tensor<0x32xf32>
  return %0 : tensor<0x32xf32>
}

// Rows may be absent while the scattered-to result is not.
// CHECK-LABEL: func @matmul_without_gathered_rows
func.func @matmul_without_gathered_rows(
    %x: tensor<4x64xf32>, %w: tensor<8x32x64xf32>, %off: tensor<9xi32>,
    %none: tensor<0xi32>, %y: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK-NEXT: return %arg4
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x64xf32>, tensor<8x32x64xf32>, tensor<9xi32>)
      gather(%none : tensor<0xi32>) scatter(%none : tensor<0xi32>)
      outs(%y : tensor<4x32xf32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}

// An empty contraction still stores its epilogue.
// CHECK-LABEL: func @matmul_without_contraction
func.func @matmul_without_contraction(
    %x: tensor<4x0xf32>, %w: tensor<8x32x0xf32>, %off: tensor<9xi32>,
    %y: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK: moe.grouped_matmul
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x0xf32>, tensor<8x32x0xf32>, tensor<9xi32>)
      outs(%y : tensor<4x32xf32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}

// CHECK-LABEL: func @swapped_without_columns
func.func @swapped_without_columns(
    %x: tensor<64x4xf32>, %w: tensor<8x0x64xf32>, %off: tensor<9xi32>,
    %y: tensor<0x4xf32>) -> tensor<0x4xf32> {
  // CHECK-NEXT: return %arg3
  %0 = moe.grouped_matmul_swapped
      ins(%w, %x, %off : tensor<8x0x64xf32>, tensor<64x4xf32>, tensor<9xi32>)
      outs(%y : tensor<0x4xf32>) -> tensor<0x4xf32>
  return %0 : tensor<0x4xf32>
}

// CHECK-LABEL: func @route_without_tokens
func.func @route_without_tokens(%logits: tensor<0x8xf32>, %w: tensor<0x2xf32>,
                                %i: tensor<0x2xi32>)
    -> (tensor<0x2xf32>, tensor<0x2xi32>) {
  // CHECK-NEXT: return %arg1, %arg2
  %0, %1 = moe.route ins(%logits : tensor<0x8xf32>)
      outs(%w, %i : tensor<0x2xf32>, tensor<0x2xi32>)
      -> tensor<0x2xf32>, tensor<0x2xi32>
  return %0, %1 : tensor<0x2xf32>, tensor<0x2xi32>
}

// CHECK-LABEL: func @dispatch_without_tokens
func.func @dispatch_without_tokens(%i: tensor<0x2xi32>, %t: tensor<0xi32>,
                                   %r: tensor<0x2xi32>, %o: tensor<9xi32>)
    -> (tensor<0xi32>, tensor<0x2xi32>, tensor<9xi32>) {
  // CHECK-NEXT: %[[ZERO:.*]] = arith.constant dense<0> : tensor<9xi32>
  // CHECK-NEXT: return %arg1, %arg2, %[[ZERO]]
  %0, %1, %2 = moe.dispatch ins(%i : tensor<0x2xi32>)
      outs(%t, %r, %o : tensor<0xi32>, tensor<0x2xi32>, tensor<9xi32>)
      -> tensor<0xi32>, tensor<0x2xi32>, tensor<9xi32>
  return %0, %1, %2 : tensor<0xi32>, tensor<0x2xi32>, tensor<9xi32>
}

// CHECK-LABEL: func @dispatch_of_dynamic_experts
func.func @dispatch_of_dynamic_experts(
    %i: tensor<0x2xi32>, %t: tensor<0xi32>, %r: tensor<0x2xi32>,
    %o: tensor<?xi32>) -> tensor<?xi32> {
  // CHECK: moe.dispatch
  %0, %1, %2 = moe.dispatch ins(%i : tensor<0x2xi32>)
      outs(%t, %r, %o : tensor<0xi32>, tensor<0x2xi32>, tensor<?xi32>)
      -> tensor<0xi32>, tensor<0x2xi32>, tensor<?xi32>
  return %2 : tensor<?xi32>
}

// CHECK-LABEL: func @combine_without_tokens
func.func @combine_without_tokens(%rows: tensor<8x64xf32>, %r: tensor<0x2xi32>,
                                  %y: tensor<0x64xf32>) -> tensor<0x64xf32> {
  // CHECK-NEXT: return %arg2
  %0 = moe.combine ins(%rows, %r : tensor<8x64xf32>, tensor<0x2xi32>)
      outs(%y : tensor<0x64xf32>) -> tensor<0x64xf32>
  return %0 : tensor<0x64xf32>
}

// CHECK-LABEL: func @combine_without_rows
func.func @combine_without_rows(%rows: tensor<0x64xf32>, %r: tensor<4x2xi32>,
                                %y: tensor<4x64xbf16>) -> tensor<4x64xbf16> {
  // CHECK-NEXT: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<4x64xbf16>
  // CHECK-NEXT: return %[[ZERO]]
  %0 = moe.combine ins(%rows, %r : tensor<0x64xf32>, tensor<4x2xi32>)
      outs(%y : tensor<4x64xbf16>) -> tensor<4x64xbf16>
  return %0 : tensor<4x64xbf16>
}

// CHECK-LABEL: func @combine_of_dynamic_tokens
func.func @combine_of_dynamic_tokens(
    %rows: tensor<0x64xf32>, %r: tensor<?x2xi32>, %y: tensor<?x64xf32>)
    -> tensor<?x64xf32> {
  // CHECK: moe.combine
  %0 = moe.combine ins(%rows, %r : tensor<0x64xf32>, tensor<?x2xi32>)
      outs(%y : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// CHECK-LABEL: func @combine_on_memrefs
func.func @combine_on_memrefs(%rows: memref<0x64xf32>, %r: memref<4x2xi32>,
                              %y: memref<4x64xf32>) {
  // CHECK: moe.combine
  moe.combine ins(%rows, %r : memref<0x64xf32>, memref<4x2xi32>)
      outs(%y : memref<4x64xf32>)
  return
}

// CHECK-LABEL: func @experts_without_tokens
func.func @experts_without_tokens(
    %x: tensor<0x64xf32>, %i: tensor<0x2xi32>, %p: tensor<0x2xf32>,
    %w1: tensor<8x32x64xf32>, %w2: tensor<8x64x32xf32>, %y: tensor<0x64xf32>)
    -> tensor<0x64xf32> {
  // CHECK-NEXT: return %arg5
  %0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<0x64xf32>, tensor<0x2xi32>,
          tensor<0x2xf32>, tensor<8x32x64xf32>, tensor<8x64x32xf32>)
      outs(%y : tensor<0x64xf32>) -> tensor<0x64xf32>
  return %0 : tensor<0x64xf32>
}

// CHECK-LABEL: func @experts_without_experts
func.func @experts_without_experts(
    %x: tensor<4x64xf32>, %i: tensor<4x2xi32>, %p: tensor<4x2xf32>,
    %w1: tensor<0x32x64xf32>, %w2: tensor<0x64x32xf32>, %y: tensor<4x64xf32>)
    -> tensor<4x64xf32> {
  // CHECK-NEXT: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<4x64xf32>
  // CHECK-NEXT: return %[[ZERO]]
  %0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xf32>, tensor<4x2xi32>,
          tensor<4x2xf32>, tensor<0x32x64xf32>, tensor<0x64x32xf32>)
      outs(%y : tensor<4x64xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// Casts of tensors to less static types are looked through.
// CHECK-LABEL: func @cast
func.func @cast(%rows: tensor<8x64xf32>, %r: tensor<4x2xi32>,
                %y: tensor<4x64xf32>) -> tensor<?x64xf32> {
  %rows_dyn = tensor.cast %rows : tensor<8x64xf32> to tensor<?x64xf32>
  %r_dyn = tensor.cast %r : tensor<4x2xi32> to tensor<?x2xi32>
  %y_dyn = tensor.cast %y : tensor<4x64xf32> to tensor<?x64xf32>
  // CHECK: moe.combine ins(%arg0, %arg1 : tensor<8x64xf32>, tensor<4x2xi32>)
  // CHECK-SAME: -> tensor<4x64xf32>
  %0 = moe.combine ins(%rows_dyn, %r_dyn : tensor<?x64xf32>, tensor<?x2xi32>)
      outs(%y_dyn : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// Nothing reads the result of a tensor op: it is gone.
// CHECK-LABEL: func @unused
func.func @unused(%i: tensor<4x2xi32>, %t: tensor<8xi32>, %r: tensor<4x2xi32>,
                  %o: tensor<9xi32>) {
  // CHECK-NEXT: return
  %0, %1, %2 = moe.dispatch ins(%i : tensor<4x2xi32>)
      outs(%t, %r, %o : tensor<8xi32>, tensor<4x2xi32>, tensor<9xi32>)
      -> tensor<8xi32>, tensor<4x2xi32>, tensor<9xi32>
  return
}
