// Tiles of both grouped matmuls, by the transform dialect's tiling.

// RUN: moe-opt %s --transform-interpreter --canonicalize --cse | FileCheck %s

// CHECK-DAG: #[[$TWICE:.*]] = affine_map<(d0) -> (d0 * 2)>

// Rows: tokens, scale and destination are sliced, the weights are not, and the
// offsets are clamped to the tile and counted from it. The hint goes.
// CHECK-LABEL: func @rows
// CHECK-SAME:    %[[X:.*]]: tensor<64x32xbf16>, %[[W:.*]]: tensor<4x48x32xbf16>, %[[OFF:.*]]: tensor<5xi32>, %[[SCALE:.*]]: tensor<64xf32>, %[[Y:.*]]: tensor<64x48xf32>
// CHECK:         scf.for %[[R:.*]] = %c0 to %c64 step %c16 iter_args(%[[ACC:.*]] = %[[Y]])
// CHECK-DAG:       %[[LAST:.*]] = arith.addi %[[R]], %c16
// CHECK-DAG:       %[[XT:.*]] = tensor.extract_slice %[[X]][%[[R]], 0] [16, 32] [1, 1]
// CHECK:           %[[OFFT:.*]] = linalg.generic {{.*}} ins(%[[OFF]] : tensor<5xi32>)
// CHECK-NEXT:      ^bb0(%[[IN:.*]]: i32, %{{.*}}: i32):
// CHECK-NEXT:        %[[WIDE:.*]] = arith.index_cast %[[IN]] : i32 to index
// CHECK-NEXT:        %[[MAX:.*]] = arith.maxsi %[[WIDE]], %[[R]]
// CHECK-NEXT:        %[[MIN:.*]] = arith.minsi %[[MAX]], %[[LAST]]
// CHECK-NEXT:        %[[MOVED:.*]] = arith.subi %[[MIN]], %[[R]]
// CHECK-NEXT:        %[[OUT:.*]] = arith.index_cast %[[MOVED]] : index to i32
// CHECK-NEXT:        linalg.yield %[[OUT]]
// CHECK-DAG:       %[[SCALET:.*]] = tensor.extract_slice %[[SCALE]][%[[R]]] [16] [1]
// CHECK-DAG:       %[[YT:.*]] = tensor.extract_slice %[[ACC]][%[[R]], 0] [16, 48] [1, 1]
// CHECK:           %[[TILE:.*]] = moe.grouped_matmul {kept = 1 : i64, rows}
// CHECK-SAME:        ins(%[[XT]], %[[W]], %[[OFFT]] : {{.*}}) scale(%[[SCALET]] : {{.*}}) outs(%[[YT]]
// CHECK:           tensor.insert_slice %[[TILE]] into %[[ACC]][%[[R]], 0] [16, 48] [1, 1]
func.func @rows(%x: tensor<64x32xbf16>, %w: tensor<4x48x32xbf16>,
                %off: tensor<5xi32>, %scale: tensor<64xf32>,
                %y: tensor<64x48xf32>) -> tensor<64x48xf32> {
  %0 = moe.grouped_matmul {rows, kept = 1, expected_tokens = array<i64: 16>}
      ins(%x, %w, %off : tensor<64x32xbf16>, tensor<4x48x32xbf16>, tensor<5xi32>)
      scale(%scale : tensor<64xf32>)
      outs(%y : tensor<64x48xf32>) -> tensor<64x48xf32>
  return %0 : tensor<64x48xf32>
}

// Columns: weights, bias and destination are sliced. Sizes of groups and
// `scatter` are as good as offsets here, and the hint stays.
// CHECK-LABEL: func @columns
// CHECK-SAME:    %[[X:.*]]: tensor<?x32xbf16>, %[[W:.*]]: tensor<4x48x32xbf16>, %[[SIZES:.*]]: tensor<4xi64>, %[[BIAS:.*]]: tensor<4x48xf32>, %[[SCATTER:.*]]: tensor<?xi32>, %[[Y:.*]]: tensor<?x48xbf16>
// CHECK:         scf.for %[[C:.*]] = %c0 to %c48 step %c16 iter_args(%[[ACC:.*]] = %[[Y]])
// CHECK-DAG:       %[[WT:.*]] = tensor.extract_slice %[[W]][0, %[[C]], 0] [4, 16, 32]
// CHECK-DAG:       %[[BT:.*]] = tensor.extract_slice %[[BIAS]][0, %[[C]]] [4, 16]
// CHECK-DAG:       %[[YT:.*]] = tensor.extract_slice %[[ACC]][0, %[[C]]] [%{{.*}}, 16]
// CHECK:           %[[TILE:.*]] = moe.grouped_matmul {columns, expected_tokens = array<i64: 16>, group_kind = #moe.group_kind<sizes>}
// CHECK-SAME:        ins(%[[X]], %[[WT]], %[[SIZES]] : {{.*}}) bias(%[[BT]] : {{.*}}) scatter(%[[SCATTER]] : {{.*}}) outs(%[[YT]]
// CHECK:           tensor.insert_slice %[[TILE]] into %[[ACC]][0, %[[C]]] [%{{.*}}, 16]
func.func @columns(%x: tensor<?x32xbf16>, %w: tensor<4x48x32xbf16>,
                   %sizes: tensor<4xi64>, %bias: tensor<4x48xf32>,
                   %scatter: tensor<?xi32>, %y: tensor<?x48xbf16>)
    -> tensor<?x48xbf16> {
  %0 = moe.grouped_matmul {columns, expected_tokens = array<i64: 16>,
                           group_kind = #moe.group_kind<sizes>}
      ins(%x, %w, %sizes : tensor<?x32xbf16>, tensor<4x48x32xbf16>, tensor<4xi64>)
      bias(%bias : tensor<4x48xf32>) scatter(%scatter : tensor<?xi32>)
      outs(%y : tensor<?x48xbf16>) -> tensor<?x48xbf16>
  return %0 : tensor<?x48xbf16>
}

// An interleaved gate takes twice the weight rows, here columns of `kn`. 24
// columns of the result in tiles of 16: the last one is partial.
// CHECK-LABEL: func @interleaved
// CHECK-SAME:    %{{.*}}: tensor<?x32xbf16>, %[[W:.*]]: tensor<4x32x48xbf16>, %{{.*}}: tensor<5xi32>, %[[BIAS:.*]]: tensor<4x48xf32>
// CHECK:         scf.for %[[C:.*]] = %c0 to %c24 step %c16
// CHECK-DAG:       %[[SIZE:.*]] = affine.min #{{.*}}(%[[C]])
// CHECK-DAG:       %[[C2:.*]] = affine.apply #[[$TWICE]](%[[C]])
// CHECK-DAG:       %[[SIZE2:.*]] = affine.apply #[[$TWICE]](%[[SIZE]])
// CHECK-DAG:       tensor.extract_slice %[[W]][0, 0, %[[C2]]] [4, 32, %[[SIZE2]]]
// CHECK-DAG:       tensor.extract_slice %[[BIAS]][0, %[[C2]]] [4, %[[SIZE2]]]
// CHECK-DAG:       tensor.extract_slice %{{.*}}[0, %[[C]]] [%{{.*}}, %[[SIZE]]]
// CHECK:           moe.grouped_matmul
func.func @interleaved(%x: tensor<?x32xbf16>, %w: tensor<4x32x48xbf16>,
                       %off: tensor<5xi32>, %bias: tensor<4x48xf32>,
                       %y: tensor<?x24xbf16>) -> tensor<?x24xbf16> {
  %0 = moe.grouped_matmul {columns, weight_layout = #moe.weight_layout<kn>,
                           epilogue = #moe.epilogue<silu, gate = interleaved>}
      ins(%x, %w, %off : tensor<?x32xbf16>, tensor<4x32x48xbf16>, tensor<5xi32>)
      bias(%bias : tensor<4x48xf32>)
      outs(%y : tensor<?x24xbf16>) -> tensor<?x24xbf16>
  return %0 : tensor<?x24xbf16>
}

// With `gather`, rows are those of the indices, and the tokens stay whole.
// CHECK-LABEL: func @gathered
// CHECK-SAME:    %[[X:.*]]: tensor<?x32xbf16>, %[[W:.*]]: tensor<4x48x32xbf16>, %{{.*}}: tensor<5xi64>, %[[GATHER:.*]]: tensor<?xi32>
// CHECK:         %[[ROWS:.*]] = tensor.dim %[[GATHER]], %c0
// CHECK:         scf.for %[[R:.*]] = %c0 to %[[ROWS]] step %c16
// CHECK:           %[[GT:.*]] = tensor.extract_slice %[[GATHER]][%[[R]]]
// CHECK:           moe.grouped_matmul {{.*}} ins(%[[X]], %[[W]], {{.*}}) gather(%[[GT]]
func.func @gathered(%x: tensor<?x32xbf16>, %w: tensor<4x48x32xbf16>,
                    %off: tensor<5xi64>, %gather: tensor<?xi32>,
                    %y: tensor<?x48xbf16>) -> tensor<?x48xbf16> {
  %0 = moe.grouped_matmul {rows}
      ins(%x, %w, %off : tensor<?x32xbf16>, tensor<4x48x32xbf16>, tensor<5xi64>)
      gather(%gather : tensor<?xi32>)
      outs(%y : tensor<?x48xbf16>) -> tensor<?x48xbf16>
  return %0 : tensor<?x48xbf16>
}

// The loops of the swapped form are [R, columns] too; its transposed tokens and
// result are sliced in their other dimension.
// CHECK-LABEL: func @swapped
// CHECK-SAME:    %[[X:.*]]: tensor<32x64xbf16>, %[[W:.*]]: tensor<4x48x32xbf16>, %{{.*}}: tensor<5xi32>, %{{.*}}: tensor<48x64xbf16>
// CHECK:         scf.for %[[R:.*]] = %c0 to %c64 step %c16
// CHECK:           scf.for %[[C:.*]] = %c0 to %c48 step %c16 iter_args(%[[ACC:.*]] =
// CHECK-DAG:         %[[XT:.*]] = tensor.extract_slice %[[X]][0, %[[R]]] [32, 16]
// CHECK-DAG:         %[[WT:.*]] = tensor.extract_slice %[[W]][0, %[[C]], 0] [4, 16, 32]
// CHECK-DAG:         %[[YT:.*]] = tensor.extract_slice %[[ACC]][%[[C]], %[[R]]] [16, 16]
// CHECK:             %[[TILE:.*]] = moe.grouped_matmul_swapped {{.*}} ins(%[[WT]], %[[XT]], {{.*}}) outs(%[[YT]]
// CHECK:             tensor.insert_slice %[[TILE]] into %[[ACC]][%[[C]], %[[R]]] [16, 16]
func.func @swapped(%x: tensor<32x64xbf16>, %w: tensor<4x48x32xbf16>,
                   %off: tensor<5xi32>, %y: tensor<48x64xbf16>)
    -> tensor<48x64xbf16> {
  %0 = moe.grouped_matmul_swapped {both}
      ins(%w, %x, %off : tensor<4x48x32xbf16>, tensor<32x64xbf16>, tensor<5xi32>)
      outs(%y : tensor<48x64xbf16>) -> tensor<48x64xbf16>
  return %0 : tensor<48x64xbf16>
}

// CHECK-LABEL: func @swapped_row_major
// CHECK-SAME:    %[[X:.*]]: tensor<64x32xbf16>
// CHECK:         scf.for %[[R:.*]] = %c0 to %c64 step %c16
// CHECK:           scf.for %[[C:.*]] = %c0 to %c48 step %c16 iter_args(%[[ACC:.*]] =
// CHECK-DAG:         tensor.extract_slice %[[X]][%[[R]], 0] [16, 32]
// CHECK-DAG:         tensor.extract_slice %[[ACC]][%[[R]], %[[C]]] [16, 16]
// CHECK:             moe.grouped_matmul_swapped
func.func @swapped_row_major(%x: tensor<64x32xbf16>, %w: tensor<4x48x32xbf16>,
                             %off: tensor<5xi32>, %y: tensor<64x48xbf16>)
    -> tensor<64x48xbf16> {
  %0 = moe.grouped_matmul_swapped {both, token_order = #moe.order<row_major>,
                                   result_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<4x48x32xbf16>, tensor<64x32xbf16>, tensor<5xi32>)
      outs(%y : tensor<64x48xbf16>) -> tensor<64x48xbf16>
  return %0 : tensor<64x48xbf16>
}

// Columns on memrefs are tiled by views.
// CHECK-LABEL: func @memrefs
// CHECK-SAME:    %[[X:.*]]: memref<?x32xbf16>, %[[W:.*]]: memref<4x48x32xbf16>, %[[OFF:.*]]: memref<5xi32>, %[[Y:.*]]: memref<?x48xbf16>
// CHECK:         scf.for %[[C:.*]] = %c0 to %c48 step %c16
// CHECK-DAG:       %[[WT:.*]] = memref.subview %[[W]][0, %[[C]], 0] [4, 16, 32]
// CHECK-DAG:       %[[YT:.*]] = memref.subview %[[Y]][0, %[[C]]] [%{{.*}}, 16]
// CHECK:           moe.grouped_matmul {columns} ins(%[[X]], %[[WT]], %[[OFF]] : {{.*}}) outs(%[[YT]]
func.func @memrefs(%x: memref<?x32xbf16>, %w: memref<4x48x32xbf16>,
                   %off: memref<5xi32>, %y: memref<?x48xbf16>) {
  moe.grouped_matmul {columns}
      ins(%x, %w, %off : memref<?x32xbf16>, memref<4x48x32xbf16>, memref<5xi32>)
      outs(%y : memref<?x48xbf16>)
  return
}

// A producer is fused into the tiles of its consumer.
// CHECK-LABEL: func @producer
// CHECK:         scf.for %[[R:.*]] = %c0 to %c64 step %c16
// CHECK:           scf.for %[[C:.*]] = %c0 to %c48 step %c16
// CHECK:             %[[TILE:.*]] = moe.grouped_matmul {{.*}} outs(%{{.*}} : tensor<16x16xf32>)
// CHECK:             linalg.exp {consumer} ins(%[[TILE]] : tensor<16x16xf32>)
func.func @producer(%x: tensor<64x32xf32>, %w: tensor<4x48x32xf32>,
                    %off: tensor<5xi32>, %y: tensor<64x48xf32>)
    -> tensor<64x48xf32> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<64x32xf32>, tensor<4x48x32xf32>, tensor<5xi32>)
      outs(%y : tensor<64x48xf32>) -> tensor<64x48xf32>
  %1 = linalg.exp {consumer} ins(%0 : tensor<64x48xf32>)
      outs(%y : tensor<64x48xf32>) -> tensor<64x48xf32>
  return %1 : tensor<64x48xf32>
}

// So is one with `scatter`, by tiles of columns; the rows are those of the
// indices again.
// CHECK-LABEL: func @scattering_producer
// CHECK-SAME:    %[[X:.*]]: tensor<?x32xf32>
// CHECK:         scf.for %[[C:.*]] = %c0 to %c48 step %c16
// CHECK:             moe.grouped_matmul ins(%[[X]], {{.*}}) outs(%{{.*}} : tensor<8x16xf32>)
// CHECK:             linalg.exp
func.func @scattering_producer(%x: tensor<?x32xf32>, %w: tensor<4x48x32xf32>,
                               %off: tensor<5xi32>, %scatter: tensor<?xi32>,
                               %y: tensor<8x48xf32>) -> tensor<8x48xf32> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<?x32xf32>, tensor<4x48x32xf32>, tensor<5xi32>)
      scatter(%scatter : tensor<?xi32>)
      outs(%y : tensor<8x48xf32>) -> tensor<8x48xf32>
  %1 = linalg.exp {column_consumer} ins(%0 : tensor<8x48xf32>)
      outs(%y : tensor<8x48xf32>) -> tensor<8x48xf32>
  return %1 : tensor<8x48xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %rows = transform.structured.match attributes {rows} in %root
      : (!transform.any_op) -> !transform.any_op
    %0, %l0 = transform.structured.tile_using_for %rows tile_sizes [16, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %columns = transform.structured.match attributes {columns} in %root
      : (!transform.any_op) -> !transform.any_op
    %1, %l1 = transform.structured.tile_using_for %columns tile_sizes [0, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %both = transform.structured.match attributes {both} in %root
      : (!transform.any_op) -> !transform.any_op
    %2, %l2:2 = transform.structured.tile_using_for %both tile_sizes [16, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %consumer = transform.structured.match attributes {consumer} in %root
      : (!transform.any_op) -> !transform.any_op
    %3, %l3:2 = transform.structured.fuse %consumer tile_sizes [16, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %column_consumer = transform.structured.match attributes {column_consumer}
      in %root : (!transform.any_op) -> !transform.any_op
    %4, %l4 = transform.structured.fuse %column_consumer tile_sizes [0, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
