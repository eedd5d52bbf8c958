// RUN: moe-opt %s --resolve-shaped-type-result-dims --canonicalize | FileCheck %s

// Sizes of results come from the destinations; the ops are not needed for them.
// CHECK-LABEL: func @layer_ops
func.func @layer_ops(%logits: tensor<?x8xf32>, %t: index, %r: index)
    -> (index, index, index, index) {
  %w = tensor.empty(%t) : tensor<?x2xf32>
  %i = tensor.empty(%t) : tensor<?x2xi32>
  %tokens = tensor.empty(%r) : tensor<?xi32>
  %off = tensor.empty() : tensor<9xi32>
  %y = tensor.empty(%t) : tensor<?x64xf32>
  %rows = tensor.empty(%r) : tensor<?x64xf32>
  %0, %1 = moe.route ins(%logits : tensor<?x8xf32>)
      outs(%w, %i : tensor<?x2xf32>, tensor<?x2xi32>)
      -> tensor<?x2xf32>, tensor<?x2xi32>
  %2, %3, %4 = moe.dispatch ins(%1 : tensor<?x2xi32>)
      outs(%tokens, %i, %off : tensor<?xi32>, tensor<?x2xi32>, tensor<9xi32>)
      -> tensor<?xi32>, tensor<?x2xi32>, tensor<9xi32>
  %5 = moe.combine ins(%rows, %3 : tensor<?x64xf32>, tensor<?x2xi32>)
      weights(%0 : tensor<?x2xf32>)
      outs(%y : tensor<?x64xf32>) -> tensor<?x64xf32>
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %1, %c0 : tensor<?x2xi32>
  %d1 = tensor.dim %2, %c0 : tensor<?xi32>
  %d2 = tensor.dim %3, %c0 : tensor<?x2xi32>
  %d3 = tensor.dim %5, %c0 : tensor<?x64xf32>
  // CHECK-NEXT: return %arg1, %arg2, %arg1, %arg1
  return %d0, %d1, %d2, %d3 : index, index, index, index
}

// CHECK-LABEL: func @experts
func.func @experts(%x: tensor<?x64xf32>, %i: tensor<?x2xi32>,
                   %p: tensor<?x2xf32>, %w1: tensor<8x32x64xf32>,
                   %w2: tensor<8x64x32xf32>, %t: index) -> index {
  %y = tensor.empty(%t) : tensor<?x64xf32>
  %0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<?x64xf32>, tensor<?x2xi32>,
          tensor<?x2xf32>, tensor<8x32x64xf32>, tensor<8x64x32xf32>)
      outs(%y : tensor<?x64xf32>) -> tensor<?x64xf32>
  %c0 = arith.constant 0 : index
  %d = tensor.dim %0, %c0 : tensor<?x64xf32>
  // CHECK-NEXT: return %arg5
  return %d : index
}
