// What is known of the sizes of results: a minimum with one less folds to that,
// a maximum with one more likewise.

// RUN: moe-opt %s --pass-pipeline='builtin.module(func.func(affine-simplify-min-max,canonicalize,cse))' \
// RUN:   | FileCheck %s

// By itself a destination-style op says that these are the destination's sizes,
// which are dynamic here.
// CHECK-LABEL: func @rows_and_columns
// CHECK-DAG:     %[[R:.*]] = arith.constant 63 : index
// CHECK-DAG:     %[[N:.*]] = arith.constant 49 : index
// CHECK:         return %[[R]], %[[N]]
func.func @rows_and_columns(%x: tensor<64x32xf32>, %w: tensor<4x32x48xf32>,
                            %off: tensor<5xi32>, %y: tensor<?x?xf32>)
    -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = moe.grouped_matmul {weight_layout = #moe.weight_layout<kn>}
      ins(%x, %w, %off : tensor<64x32xf32>, tensor<4x32x48xf32>, tensor<5xi32>)
      outs(%y : tensor<?x?xf32>) -> tensor<?x?xf32>
  %rows = tensor.dim %0, %c0 : tensor<?x?xf32>
  %columns = tensor.dim %0, %c1 : tensor<?x?xf32>
  %1 = affine.min affine_map<()[s0] -> (s0, 63)>()[%rows]
  %2 = affine.max affine_map<()[s0] -> (s0, 49)>()[%columns]
  return %1, %2 : index, index
}

// CHECK-LABEL: func @swapped_and_gated
// CHECK-DAG:     %[[N:.*]] = arith.constant 23 : index
// CHECK-DAG:     %[[R:.*]] = arith.constant 17 : index
// CHECK:         return %[[N]], %[[R]]
func.func @swapped_and_gated(%x: tensor<32x?xf32>, %w: tensor<4x48x32xf32>,
                             %off: tensor<5xi32>, %gather: tensor<16xi32>,
                             %y: tensor<?x?xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = moe.grouped_matmul_swapped {
      epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%w, %x, %off : tensor<4x48x32xf32>, tensor<32x?xf32>, tensor<5xi32>)
      gather(%gather : tensor<16xi32>)
      outs(%y : tensor<?x?xf32>) -> tensor<?x?xf32>
  %columns = tensor.dim %0, %c0 : tensor<?x?xf32>
  %rows = tensor.dim %0, %c1 : tensor<?x?xf32>
  %1 = affine.min affine_map<()[s0] -> (s0, 23)>()[%columns]
  %2 = affine.max affine_map<()[s0] -> (s0, 17)>()[%rows]
  return %1, %2 : index, index
}

// With `scatter` the rows are those of the destination, not R.
// CHECK-LABEL: func @scattered
// CHECK-SAME:    %[[SIZE:[^:]*]]: index
// CHECK:         %[[OTHER:.*]] = affine.min
// CHECK:         return %[[SIZE]], %[[OTHER]]
func.func @scattered(%size: index, %x: tensor<64x32xf32>,
                     %w: tensor<4x48x32xf32>, %off: tensor<5xi32>,
                     %scatter: tensor<64xi32>, %other: tensor<?x48xf32>)
    -> (index, index) {
  %c0 = arith.constant 0 : index
  %y = tensor.empty(%size) : tensor<?x48xf32>
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<64x32xf32>, tensor<4x48x32xf32>, tensor<5xi32>)
      scatter(%scatter : tensor<64xi32>)
      outs(%y : tensor<?x48xf32>) -> tensor<?x48xf32>
  %rows = tensor.dim %0, %c0 : tensor<?x48xf32>
  %1 = affine.min affine_map<()[s0, s1] -> (s0, s1)>()[%rows, %size]
  %2 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<64x32xf32>, tensor<4x48x32xf32>, tensor<5xi32>)
      scatter(%scatter : tensor<64xi32>)
      outs(%other : tensor<?x48xf32>) -> tensor<?x48xf32>
  %others = tensor.dim %2, %c0 : tensor<?x48xf32>
  %3 = affine.min affine_map<()[s0] -> (s0, 63)>()[%others]
  return %1, %3 : index, index
}
