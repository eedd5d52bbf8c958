// Groups that leave the rows, go backwards or overflow: they are clamped as the
// op says, and rows that no group owns keep what they held.

// RUN: moe-run %s --entry=offsets --check | FileCheck %s
// RUN: moe-run %s --entry=offsets_i64 --check | FileCheck %s
// RUN: moe-run %s --entry=sizes --check | FileCheck %s
// RUN: moe-run %s --entry=sizes_i64 --check | FileCheck %s
// RUN: moe-run %s --entry=no_expert --check --shape=g=1 | FileCheck %s
// RUN: %python %S/Inputs/npy.py write %t.npy i4 0 0
// RUN: moe-run %s --entry=no_expert --input=g=%t.npy

// CHECK: check passed

func.func @offsets(%x: tensor<20x16xf32>, %w: tensor<6x24x16xf32>,
                   %y: tensor<20x24xf32>) -> tensor<20x24xf32> {
  %g = arith.constant dense<[-5, 3, 2, 7, 2147483647, 4, -2147483648]> : tensor<7xi32>
  %0 = moe.grouped_matmul
      ins(%x, %w, %g : tensor<20x16xf32>, tensor<6x24x16xf32>, tensor<7xi32>)
      outs(%y : tensor<20x24xf32>) -> tensor<20x24xf32>
  return %0 : tensor<20x24xf32>
}

func.func @offsets_i64(%x: tensor<20x16xf32>, %w: tensor<4x16x24xf32>,
                       %y: tensor<20x24xf32>) -> tensor<20x24xf32> {
  %g = arith.constant dense<[4, -9223372036854775808, 6, 9223372036854775807, 1]> : tensor<5xi64>
  %0 = moe.grouped_matmul_swapped {
      weight_layout = #moe.weight_layout<kn>,
      token_order = #moe.order<row_major>, result_order = #moe.order<row_major>}
      ins(%w, %x, %g : tensor<4x16x24xf32>, tensor<20x16xf32>, tensor<5xi64>)
      outs(%y : tensor<20x24xf32>) -> tensor<20x24xf32>
  return %0 : tensor<20x24xf32>
}

func.func @sizes(%x: tensor<20x16xf32>, %w: tensor<5x24x16xf32>,
                 %y: tensor<20x24xf32>) -> tensor<20x24xf32> {
  %g = arith.constant dense<[2, -7, 5, -2147483648, 2147483647]> : tensor<5xi32>
  %0 = moe.grouped_matmul {group_kind = #moe.group_kind<sizes>}
      ins(%x, %w, %g : tensor<20x16xf32>, tensor<5x24x16xf32>, tensor<5xi32>)
      outs(%y : tensor<20x24xf32>) -> tensor<20x24xf32>
  return %0 : tensor<20x24xf32>
}

// The sum of the sizes overflows.
func.func @sizes_i64(%x: tensor<20x16xf32>, %w: tensor<4x24x16xf32>,
                     %y: tensor<20x24xf32>) -> tensor<20x24xf32> {
  %g = arith.constant dense<[2, 9223372036854775807, 9223372036854775807, 1]> : tensor<4xi64>
  %0 = moe.grouped_matmul {group_kind = #moe.group_kind<sizes>}
      ins(%x, %w, %g : tensor<20x16xf32>, tensor<4x24x16xf32>, tensor<4xi64>)
      outs(%y : tensor<20x24xf32>) -> tensor<20x24xf32>
  return %0 : tensor<20x24xf32>
}

// No expert at all, and not even the one offset that this needs.
func.func @no_expert(%x: tensor<20x16xf32>, %w: tensor<0x24x16xf32>,
                     %g: tensor<?xi32>, %y: tensor<20x24xf32>)
    -> tensor<20x24xf32> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %g : tensor<20x16xf32>, tensor<0x24x16xf32>, tensor<?xi32>)
      outs(%y : tensor<20x24xf32>) -> tensor<20x24xf32>
  return %0 : tensor<20x24xf32>
}
