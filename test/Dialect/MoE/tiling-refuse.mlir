// Tiles that the ops refuse, with the reason as a remark.

// RUN: moe-opt %s --transform-interpreter --remarks-filter='moe.*' \
// RUN:   --verify-diagnostics --split-input-file

module attributes {transform.with_named_sequence} {
  func.func @sizes(%x: tensor<64x32xf32>, %w: tensor<4x48x32xf32>,
                   %sizes: tensor<4xi32>, %y: tensor<64x48xf32>)
      -> tensor<64x48xf32> {
    // expected-remark @below {{moe.grouped_matmul is not tiled: a tile of rows needs group_kind = offsets}}
    // expected-error @below {{to tile operation}}
    // expected-error @below {{to generate tiling loops}}
    %0 = moe.grouped_matmul {tiled, group_kind = #moe.group_kind<sizes>}
        ins(%x, %w, %sizes : tensor<64x32xf32>, tensor<4x48x32xf32>, tensor<4xi32>)
        outs(%y : tensor<64x48xf32>) -> tensor<64x48xf32>
    return %0 : tensor<64x48xf32>
  }
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match attributes {tiled} in %root
      : (!transform.any_op) -> !transform.any_op
    %0, %l = transform.structured.tile_using_for %op tile_sizes [16, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  func.func @scatter(%x: tensor<64x32xf32>, %w: tensor<4x48x32xf32>,
                     %off: tensor<5xi32>, %scatter: tensor<64xi32>,
                     %y: tensor<64x48xf32>) -> tensor<64x48xf32> {
    // expected-remark @below {{moe.grouped_matmul is not tiled: a tile of rows has no known place in the result with scatter}}
    // expected-error @below {{to tile operation}}
    // expected-error @below {{to generate tiling loops}}
    %0 = moe.grouped_matmul {tiled}
        ins(%x, %w, %off : tensor<64x32xf32>, tensor<4x48x32xf32>, tensor<5xi32>)
        scatter(%scatter : tensor<64xi32>)
        outs(%y : tensor<64x48xf32>) -> tensor<64x48xf32>
    return %0 : tensor<64x48xf32>
  }
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match attributes {tiled} in %root
      : (!transform.any_op) -> !transform.any_op
    %0, %l = transform.structured.tile_using_for %op tile_sizes [16, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  func.func @concatenated(%x: tensor<64x32xf32>, %w: tensor<4x48x32xf32>,
                          %off: tensor<5xi32>, %y: tensor<64x24xf32>)
      -> tensor<64x24xf32> {
    // expected-remark @below {{moe.grouped_matmul is not tiled: the gate and up rows that make a tile of columns are not contiguous with gate = concat; use interleaved}}
    // expected-error @below {{to tile operation}}
    // expected-error @below {{to generate tiling loops}}
    %0 = moe.grouped_matmul {tiled,
                             epilogue = #moe.epilogue<silu, gate = concat>}
        ins(%x, %w, %off : tensor<64x32xf32>, tensor<4x48x32xf32>, tensor<5xi32>)
        outs(%y : tensor<64x24xf32>) -> tensor<64x24xf32>
    return %0 : tensor<64x24xf32>
  }
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match attributes {tiled} in %root
      : (!transform.any_op) -> !transform.any_op
    %0, %l = transform.structured.tile_using_for %op tile_sizes [0, 8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  func.func @memrefs(%x: memref<64x32xf32>, %w: memref<4x48x32xf32>,
                     %off: memref<5xi32>, %y: memref<64x48xf32>) {
    // expected-remark @below {{moe.grouped_matmul is not tiled: a tile of rows needs new offsets, and so an allocation, on memrefs; tile before bufferization}}
    // expected-error @below {{to tile operation}}
    // expected-error @below {{to generate tiling loops}}
    moe.grouped_matmul {tiled}
        ins(%x, %w, %off : memref<64x32xf32>, memref<4x48x32xf32>, memref<5xi32>)
        outs(%y : memref<64x48xf32>)
    return
  }
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match attributes {tiled} in %root
      : (!transform.any_op) -> !transform.any_op
    %0, %l = transform.structured.tile_using_for %op tile_sizes [16, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Not fused: which rows are scattered to those of a tile is not known. The
// consumer is tiled all the same.
module attributes {transform.with_named_sequence} {
  func.func @scattering_producer(
      %x: tensor<64x32xf32>, %w: tensor<4x48x32xf32>, %off: tensor<5xi32>,
      %scatter: tensor<64xi32>, %y: tensor<64x48xf32>) -> tensor<64x48xf32> {
    // expected-remark @below {{moe.grouped_matmul is not tiled: which rows make a tile of the result is not known with scatter}}
    %0 = moe.grouped_matmul
        ins(%x, %w, %off : tensor<64x32xf32>, tensor<4x48x32xf32>, tensor<5xi32>)
        scatter(%scatter : tensor<64xi32>)
        outs(%y : tensor<64x48xf32>) -> tensor<64x48xf32>
    %1 = linalg.exp {tiled} ins(%0 : tensor<64x48xf32>)
        outs(%y : tensor<64x48xf32>) -> tensor<64x48xf32>
    return %1 : tensor<64x48xf32>
  }
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match attributes {tiled} in %root
      : (!transform.any_op) -> !transform.any_op
    %0, %l = transform.structured.fuse %op tile_sizes [16, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
