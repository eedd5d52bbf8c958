// A result may be written over an operand that the function reads: every run
// starts from the operand as it was, and the last one is checked.

// RUN: moe-run %s --repeat=3 --check --output=%t.3.npy --output=%t.same.npy | FileCheck %s
// RUN: moe-run %s --output=%t.1.npy
// RUN: cmp %t.1.npy %t.3.npy
// RUN: cmp %t.3.npy %t.same.npy

// CHECK: result 0: relative error {{.*}} <= 5.0e-03
// CHECK: result 1: relative error {{.*}} <= 5.0e-03
// CHECK: check passed

func.func @f(%x: tensor<40x64xbf16>, %w: tensor<4x64x64xbf16>,
             %off: tensor<5xi32>, %h: tensor<40x64xbf16>)
    -> (tensor<40x64xbf16>, tensor<40x64xbf16>) {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off
          : tensor<40x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>)
      outs(%h : tensor<40x64xbf16>) -> tensor<40x64xbf16>
  %1 = moe.grouped_matmul
      ins(%0, %w, %off
          : tensor<40x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>)
      outs(%x : tensor<40x64xbf16>) -> tensor<40x64xbf16>
  return %1, %1 : tensor<40x64xbf16>, tensor<40x64xbf16>
}
