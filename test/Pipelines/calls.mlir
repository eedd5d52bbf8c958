// Functions that a program calls, in several layers and more than once, become
// part of it.

// RUN: moe-opt %s --moe-to-nvgpu | FileCheck %s
// RUN: moe-compile %s -o %t.ptx
// RUN: %python %S/../Target/Inputs/print_launch_file.py %t.json | FileCheck %s --check-prefix=JSON

// CHECK-NOT: func.func private
// CHECK: func.func @f
// CHECK-NOT: call
// CHECK: gpu.launch_func {{ *}}@moe_kernels::@grouped_matmul_swapped_0
// CHECK: gpu.launch_func {{ *}}@moe_kernels::@grouped_matmul_swapped_0
// CHECK-NOT: func.func
// JSON: launches:
// JSON: 0: {{.*}}"kernel": "grouped_matmul_swapped_0"
// JSON: 1: {{.*}}"kernel": "grouped_matmul_swapped_0"
// JSON-NOT: "kernel"

func.func private @product(%x: tensor<?x64xbf16>, %w: tensor<4x64x64xbf16>, %off: tensor<5xi32>) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %e = tensor.empty(%rows) : tensor<?x64xbf16>
  %0 = moe.grouped_matmul {expected_tokens = array<i64: 4>}
      ins(%x, %w, %off : tensor<?x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>)
      outs(%e : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return %0 : tensor<?x64xbf16>
}

func.func private @twice(%x: tensor<?x64xbf16>, %w: tensor<4x64x64xbf16>, %off: tensor<5xi32>) -> tensor<?x64xbf16> {
  %0 = call @product(%x, %w, %off) : (tensor<?x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>) -> tensor<?x64xbf16>
  %1 = call @product(%0, %w, %off) : (tensor<?x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>) -> tensor<?x64xbf16>
  return %1 : tensor<?x64xbf16>
}

func.func @f(%x: tensor<?x64xbf16>, %w: tensor<4x64x64xbf16>, %off: tensor<5xi32>) -> tensor<?x64xbf16> {
  %0 = call @twice(%x, %w, %off) : (tensor<?x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>) -> tensor<?x64xbf16>
  return %0 : tensor<?x64xbf16>
}
