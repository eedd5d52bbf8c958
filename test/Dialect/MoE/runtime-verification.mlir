// The checks that are put before grouped matmuls on request, in order.

// RUN: moe-opt %s --generate-runtime-verification | FileCheck %s

// CHECK-LABEL: func @offsets
// CHECK-SAME:    %[[X:.*]]: tensor<?x?xf32>, %[[W:.*]]: tensor<?x?x?xf32>, %[[OFF:.*]]: tensor<?xi32>, %[[Y:.*]]: tensor<?x?xf32>
// CHECK:         %[[K:.*]] = tensor.dim %[[X]], %c1
// CHECK:         %[[KW:.*]] = tensor.dim %[[W]], %c2
// CHECK:         %[[OK:.*]] = arith.cmpi eq, %[[K]], %[[KW]]
// CHECK:         cf.assert %[[OK]], "{{.*}}moe.grouped_matmul: K of the tokens does not match K of the weights
// CHECK:         cf.assert {{.*}}: number of offsets less one does not match E of the weights
// CHECK:         cf.assert {{.*}}: N of outs does not match N of the weights
// CHECK:         cf.assert {{.*}}: R of outs does not match R of tokens
// CHECK:         %[[FIRST:.*]] = tensor.extract %[[OFF]]
// CHECK:         %[[FIRSTI:.*]] = arith.index_cast %[[FIRST]]
// CHECK:         arith.cmpi sge, %[[FIRSTI]], %c0
// CHECK:         cf.assert {{.*}}: the first offset in groups is negative
// CHECK:         %[[LAST:.*]] = scf.for %[[I:.*]] = %c1{{.*}} to %{{.*}} step %c1{{.*}} iter_args(%[[BEFORE:.*]] = %[[FIRSTI]])
// CHECK:           tensor.extract %[[OFF]][%[[I]]]
// CHECK:           arith.cmpi sge, %{{.*}}, %[[BEFORE]]
// CHECK:           cf.assert {{.*}}: an offset in groups is less than the one before it
// CHECK:         arith.cmpi sle, %[[LAST]], %{{.*}}
// CHECK:         cf.assert {{.*}}: the last offset in groups is beyond the R rows
// CHECK:         moe.grouped_matmul
func.func @offsets(%x: tensor<?x?xf32>, %w: tensor<?x?x?xf32>,
                   %off: tensor<?xi32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<?x?xf32>, tensor<?x?x?xf32>, tensor<?xi32>)
      outs(%y : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// What the verifier compared is not compared again.
// CHECK-LABEL: func @sizes_on_memrefs
// CHECK-SAME:    %{{.*}}: memref<64x32xf32>, %{{.*}}: memref<4x48x32xf32>, %[[SIZES:.*]]: memref<4xi64>
// CHECK-NOT:     cf.assert
// CHECK:         scf.for %[[I:.*]] = %c0 to %c4 step %c1 iter_args(%[[LEFT:.*]] = %c64)
// CHECK:           memref.load %[[SIZES]][%[[I]]]
// CHECK:           cf.assert {{.*}}moe.grouped_matmul_swapped: a size in groups is negative
// CHECK:           arith.cmpi sle, %[[SIZE:.*]], %[[LEFT]]
// CHECK:           cf.assert {{.*}}: the sizes in groups are more than the R rows in sum
// CHECK:           arith.subi %[[LEFT]], %[[SIZE]]
// CHECK:         moe.grouped_matmul_swapped
func.func @sizes_on_memrefs(%x: memref<64x32xf32>, %w: memref<4x48x32xf32>,
                            %sizes: memref<4xi64>, %y: memref<48x64xf32>) {
  moe.grouped_matmul_swapped {group_kind = #moe.group_kind<sizes>,
                              token_order = #moe.order<row_major>}
      ins(%w, %x, %sizes : memref<4x48x32xf32>, memref<64x32xf32>, memref<4xi64>)
      outs(%y : memref<48x64xf32>)
  return
}

// CHECK-LABEL: func @optional_operands
// CHECK:         cf.assert {{.*}}: number of group sizes does not match E of the weights
// CHECK:         cf.assert {{.*}}: E of the bias does not match E of the weights
// CHECK:         cf.assert {{.*}}: N of the bias does not match N of the weights
// CHECK:         arith.muli %{{.*}}, %c2
// CHECK:         cf.assert {{.*}}: N of outs does not match N/2 of the gated weights
// CHECK:         cf.assert {{.*}}: length of scale does not match R
// CHECK:         cf.assert {{.*}}: length of scatter does not match R
// CHECK-NOT:     R of outs
func.func @optional_operands(
    %x: tensor<64x32xf32>, %w: tensor<?x?x32xf32>, %sizes: tensor<?xi32>,
    %bias: tensor<?x?xf32>, %gather: tensor<?xi32>, %scale: tensor<?xf32>,
    %scatter: tensor<?xi32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = moe.grouped_matmul {group_kind = #moe.group_kind<sizes>,
                           epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %w, %sizes : tensor<64x32xf32>, tensor<?x?x32xf32>, tensor<?xi32>)
      bias(%bias : tensor<?x?xf32>) gather(%gather : tensor<?xi32>)
      scale(%scale : tensor<?xf32>) scatter(%scatter : tensor<?xi32>)
      outs(%y : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: func @gathered
// CHECK:         cf.assert {{.*}}: R of outs does not match length of gather
func.func @gathered(%x: tensor<64x32xf32>, %w: tensor<4x48x32xf32>,
                    %off: tensor<5xi32>, %gather: tensor<?xi32>,
                    %y: tensor<?x48xf32>) -> tensor<?x48xf32> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<64x32xf32>, tensor<4x48x32xf32>, tensor<5xi32>)
      gather(%gather : tensor<?xi32>)
      outs(%y : tensor<?x48xf32>) -> tensor<?x48xf32>
  return %0 : tensor<?x48xf32>
}
