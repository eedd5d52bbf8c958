// RUN: moe-opt %s --moe-decompose-experts --canonicalize -split-input-file \
// RUN:   | FileCheck %s --check-prefixes=CHECK,OPERAND
// RUN: moe-opt %s --moe-decompose-experts=gather=copy --canonicalize \
// RUN:   -split-input-file | FileCheck %s --check-prefixes=CHECK,COPY
// RUN: moe-opt %s --moe-decompose-experts --remarks-filter='moe.*' \
// RUN:   -split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: not moe-opt %s --moe-decompose-experts=gather=none 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OPTION
// RUN: moe-opt %S/../../../examples/qwen3-30b-a3b.mlir --moe-decompose-experts \
// RUN:   | FileCheck %s --check-prefix=QWEN
// RUN: moe-opt %S/../../../examples/small-layer.mlir --moe-decompose-experts \
// RUN:   | FileCheck %s --check-prefix=SMALL

// OPTION: Cannot find option named 'none'

// QWEN: moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = concat>}
// QWEN-SAME: gather(%{{.*}} : tensor<64xi32>) outs(%{{.*}} : tensor<64x768xbf16>)
// QWEN: moe.grouped_matmul
// QWEN-SAME: outs(%{{.*}} : tensor<64x2048xbf16>)
// QWEN-NOT: moe.experts

// SMALL: moe.route
// SMALL: moe.dispatch
// SMALL-COUNT-2: moe.grouped_matmul
// SMALL: moe.combine
// SMALL-NOT: moe.experts

// CHECK-LABEL: func @gated
// CHECK-SAME: %[[X:.*]]: tensor<4x64xbf16>, %[[I:.*]]: tensor<4x2xi64>,
// CHECK-SAME: %[[P:.*]]: tensor<4x2xf32>, %[[W1:.*]]: tensor<8x32x64xbf16>,
// CHECK-SAME: %[[W2:.*]]: tensor<8x64x16xbf16>, %[[Y:.*]]: tensor<4x64xf32>
// REMARK: moe.experts of 4 tokens, 2 of 8 experts each, became two grouped matmuls; the first reads its rows through gather
func.func @gated(%x: tensor<4x64xbf16>, %i: tensor<4x2xi64>,
                 %p: tensor<4x2xf32>, %w1: tensor<8x32x64xbf16>,
                 %w2: tensor<8x64x16xbf16>, %y: tensor<4x64xf32>)
    -> tensor<4x64xf32> {
  // CHECK: %[[ORDER:.*]]:3 = moe.dispatch ins(%[[I]] : tensor<4x2xi64>)
  // CHECK-SAME: tensor<8xi32>, tensor<4x2xi32>, tensor<9xi32>
  // COPY: %[[ROWS:.*]] = linalg.generic {{.*}} ins(%[[ORDER]]#0 : tensor<8xi32>) outs(%{{.*}} : tensor<8x64xbf16>)
  // COPY: tensor.extract %[[X]]
  // OPERAND: %[[H:.*]] = moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = concat>, expected_tokens = array<i64: 3>} ins(%[[X]], %[[W1]], %[[ORDER]]#2
  // OPERAND-SAME: gather(%[[ORDER]]#0 : tensor<8xi32>)
  // COPY: %[[H:.*]] = moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = concat>, expected_tokens = array<i64: 3>} ins(%[[ROWS]], %[[W1]], %[[ORDER]]#2
  // COPY-NOT: gather(
  // CHECK-SAME: -> tensor<8x16xbf16>
  // CHECK: %[[R:.*]] = moe.grouped_matmul {expected_tokens = array<i64: 3>} ins(%[[H]], %[[W2]], %[[ORDER]]#2
  // CHECK-SAME: -> tensor<8x64xbf16>
  // CHECK: %[[C:.*]] = moe.combine ins(%[[R]], %[[ORDER]]#1 : tensor<8x64xbf16>, tensor<4x2xi32>) weights(%[[P]] : tensor<4x2xf32>) outs(%[[Y]] : tensor<4x64xf32>)
  // CHECK: return %[[C]]
  %0 = moe.experts {epilogue = #moe.epilogue<silu, gate = concat>,
                    expected_tokens = array<i64: 3>}
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi64>,
          tensor<4x2xf32>, tensor<8x32x64xbf16>, tensor<8x64x16xbf16>)
      outs(%y : tensor<4x64xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// -----

// Nothing is static: all sizes are computed from the operands.
// CHECK-LABEL: func @dynamic
// CHECK-SAME: %[[X:.*]]: tensor<?x?xf16>, %[[I:.*]]: tensor<?x?xi32>,
// CHECK-SAME: %[[W1:.*]]: tensor<?x?x?xf16>, %[[W2:.*]]: tensor<?x?x?xf16>,
// REMARK: moe.experts of ? tokens, ? of ? experts each
func.func @dynamic(%x: tensor<?x?xf16>, %i: tensor<?x?xi32>,
                   %p: tensor<?x?xf16>, %w1: tensor<?x?x?xf16>,
                   %w2: tensor<?x?x?xf16>, %b1: tensor<?x?xf32>,
                   %b2: tensor<?x?xf32>, %y: tensor<?x?xf16>)
    -> tensor<?x?xf16> {
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
  // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
  // CHECK-DAG: %[[T:.*]] = tensor.dim %[[I]], %[[C0]]
  // CHECK-DAG: %[[K:.*]] = tensor.dim %[[I]], %[[C1]]
  // CHECK-DAG: %[[PAIRS:.*]] = affine.apply #{{.*}}()[%[[T]], %[[K]]]
  // CHECK-DAG: %[[INTER:.*]] = tensor.dim %[[W2]], %[[C1]]
  // CHECK: moe.dispatch
  // OPERAND: %[[INIT:.*]] = tensor.empty(%[[PAIRS]], %[[INTER]]) : tensor<?x?xf16>
  // OPERAND: moe.grouped_matmul {epilogue = #moe.epilogue<gelu>, weight_layout = #moe.weight_layout<kn>}
  // OPERAND-SAME: bias(%{{.*}} : tensor<?x?xf32>) gather({{.*}}) outs(%[[INIT]]
  // CHECK: moe.grouped_matmul {weight_layout = #moe.weight_layout<kn>}
  // CHECK-SAME: bias(%{{.*}} : tensor<?x?xf32>)
  // CHECK: moe.combine
  %0 = moe.experts {epilogue = #moe.epilogue<gelu>,
                    weight_layout = #moe.weight_layout<kn>}
      ins(%x, %i, %p, %w1, %w2 : tensor<?x?xf16>, tensor<?x?xi32>,
          tensor<?x?xf16>, tensor<?x?x?xf16>, tensor<?x?x?xf16>)
      gate_up_bias(%b1 : tensor<?x?xf32>) down_bias(%b2 : tensor<?x?xf32>)
      outs(%y : tensor<?x?xf16>) -> tensor<?x?xf16>
  return %0 : tensor<?x?xf16>
}

// -----

// The rows are the pairs' scaled tokens; the sum has no weights.
// CHECK-LABEL: func @scale_input
// CHECK-SAME: %[[X:.*]]: tensor<?x64xbf16>, %[[I:.*]]: tensor<?x2xi32>,
// CHECK-SAME: %[[P:.*]]: tensor<?x2xf32>
func.func @scale_input(%x: tensor<?x64xbf16>, %i: tensor<?x2xi32>,
                       %p: tensor<?x2xf32>, %w1: tensor<8x32x64xbf16>,
                       %w2: tensor<8x64x32xbf16>, %y: tensor<?x64xbf16>)
    -> tensor<?x64xbf16> {
  // CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[I]] {{\[}}[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  // CHECK: %[[COLUMN:.*]] = tensor.expand_shape %[[FLAT]] {{.*}} : tensor<?xi32> into tensor<?x1xi32>
  // CHECK: %[[ORDER:.*]]:3 = moe.dispatch ins(%[[COLUMN]] : tensor<?x1xi32>)
  // CHECK: tensor.expand_shape {{.*}} : tensor<?xi32> into tensor<?x2xi32>
  // CHECK: linalg.generic {{.*}} ins(%[[X]], %[[P]] : tensor<?x64xbf16>, tensor<?x2xf32>) outs(%{{.*}} : tensor<?x2x64xbf16>)
  // CHECK: arith.mulf {{.*}} : f32
  // CHECK: arith.truncf {{.*}} : f32 to bf16
  // CHECK: %[[SCALED:.*]] = tensor.collapse_shape %{{.*}} {{\[}}[0, 1], [2]] : tensor<?x2x64xbf16> into tensor<?x64xbf16>
  // OPERAND: moe.grouped_matmul ins(%[[SCALED]]
  // OPERAND-SAME: gather(%[[ORDER]]#0
  // COPY: tensor.extract %[[SCALED]]
  // CHECK: moe.combine ins(%{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<?x2xi32>) outs(
  %0 = moe.experts {scale_input}
      ins(%x, %i, %p, %w1, %w2 : tensor<?x64xbf16>, tensor<?x2xi32>,
          tensor<?x2xf32>, tensor<8x32x64xbf16>, tensor<8x64x32xbf16>)
      outs(%y : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return %0 : tensor<?x64xbf16>
}

// -----

// CHECK-LABEL: func @on_memrefs
// REMARK: moe.experts is on memrefs; decompose it before bufferization
func.func @on_memrefs(%x: memref<4x16xf32>, %i: memref<4x2xi32>,
                      %p: memref<4x2xf32>, %w1: memref<8x32x16xf32>,
                      %w2: memref<8x16x32xf32>, %y: memref<4x16xf32>) {
  // CHECK: moe.experts
  moe.experts ins(%x, %i, %p, %w1, %w2 : memref<4x16xf32>, memref<4x2xi32>,
                  memref<4x2xf32>, memref<8x32x16xf32>, memref<8x16x32xf32>)
      outs(%y : memref<4x16xf32>)
  return
}

// -----

// CHECK-LABEL: func @too_many_pairs
// REMARK: moe.experts has 2^31 or more pairs or experts, which i32 row numbers cannot count; split the tokens
func.func @too_many_pairs(
    %x: tensor<?x64xbf16>, %i: tensor<1073741824x2xi32>,
    %p: tensor<1073741824x2xf32>, %w1: tensor<8x32x64xbf16>,
    %w2: tensor<8x64x32xbf16>, %y: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  // CHECK: moe.experts
  %0 = moe.experts
      ins(%x, %i, %p, %w1, %w2
          : tensor<?x64xbf16>, tensor<1073741824x2xi32>,
            tensor<1073741824x2xf32>, tensor<8x32x64xbf16>,
            tensor<8x64x32xbf16>)
      outs(%y : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return %0 : tensor<?x64xbf16>
}

// -----

// CHECK-LABEL: func @too_many_experts
// REMARK: moe.experts has 2^31 or more pairs or experts
func.func @too_many_experts(
    %x: tensor<4x64xbf16>, %i: tensor<4x2xi64>, %p: tensor<4x2xf32>,
    %w1: tensor<9223372036854775807x?x64xbf16>, %w2: tensor<?x64x?xbf16>,
    %y: tensor<4x64xbf16>) -> tensor<4x64xbf16> {
  // CHECK: moe.experts
  %0 = moe.experts
      ins(%x, %i, %p, %w1, %w2
          : tensor<4x64xbf16>, tensor<4x2xi64>, tensor<4x2xf32>,
            tensor<9223372036854775807x?x64xbf16>, tensor<?x64x?xbf16>)
      outs(%y : tensor<4x64xbf16>) -> tensor<4x64xbf16>
  return %0 : tensor<4x64xbf16>
}
