// NaN in the weights of one expert reaches the rows of that expert, and NaN in
// one token the row of that token, no other.

// Expert 1 of 3 is NaN.
// RUN: %python %S/Inputs/npy.py write %t.w.npy u2 3x8x12 0x3F80 96:192=0x7FC0
// Token 7 of 9 is NaN.
// RUN: %python %S/Inputs/npy.py write %t.x.npy u2 9x12 0x3F80 84:96=0x7FC0
// RUN: moe-run %s --entry=nk --dtype=bf16 --input=w=%t.w.npy --input=x=%t.x.npy \
// RUN:   --output=%t.y.npy
// RUN: %python %S/Inputs/npy.py print %t.y.npy | FileCheck %s
// RUN: moe-run %s --entry=kn --dtype=bf16 --input=w=%t.w.npy --input=x=%t.x.npy \
// RUN:   --output=%t.y.npy
// RUN: %python %S/Inputs/npy.py print %t.y.npy | FileCheck %s

// 16704 is 12 in bf16, 32704 NaN.
// CHECK: u2 9x8
// CHECK-COUNT-24: {{ }}16704
// CHECK-NOT: {{ }}16704
// CHECK-COUNT-24: {{ }}32704
// CHECK-COUNT-8: {{ }}16704
// CHECK-NOT: {{ }}16704
// CHECK-COUNT-8: {{ }}32704
// CHECK-COUNT-8: {{ }}16704

func.func @nk(%x: tensor<9x12xbf16>, %w: tensor<3x8x12xbf16>,
              %y: tensor<9x8xbf16>) -> tensor<9x8xbf16> {
  %off = arith.constant dense<[0, 3, 6, 9]> : tensor<4xi32>
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<9x12xbf16>, tensor<3x8x12xbf16>, tensor<4xi32>)
      outs(%y : tensor<9x8xbf16>) -> tensor<9x8xbf16>
  return %0 : tensor<9x8xbf16>
}

// The same weights, transposed.
func.func @kn(%x: tensor<9x12xbf16>, %w: tensor<3x8x12xbf16>,
              %y: tensor<9x8xbf16>) -> tensor<9x8xbf16> {
  %off = arith.constant dense<[0, 3, 6, 9]> : tensor<4xi32>
  %e = tensor.empty() : tensor<3x12x8xbf16>
  %wt = linalg.transpose ins(%w : tensor<3x8x12xbf16>)
      outs(%e : tensor<3x12x8xbf16>) permutation = [0, 2, 1]
  %0 = moe.grouped_matmul {weight_layout = #moe.weight_layout<kn>}
      ins(%x, %wt, %off : tensor<9x12xbf16>, tensor<3x12x8xbf16>, tensor<4xi32>)
      outs(%y : tensor<9x8xbf16>) -> tensor<9x8xbf16>
  return %0 : tensor<9x8xbf16>
}
