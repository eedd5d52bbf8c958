// RUN: moe-opt %s --verify-roundtrip | moe-opt | FileCheck %s
// RUN: moe-opt %s --mlir-print-op-generic | moe-opt | FileCheck %s
// RUN: moe-opt %s --emit-bytecode | moe-opt | FileCheck %s

// CHECK-LABEL: func @route
func.func @route(%logits: tensor<?x128xbf16>, %w: tensor<?x8xbf16>,
                 %i: tensor<?x8xi32>) -> (tensor<?x8xbf16>, tensor<?x8xi32>) {
  // CHECK: moe.route ins(%{{.*}} : tensor<?x128xbf16>) outs(%{{.*}}, %{{.*}} : tensor<?x8xbf16>, tensor<?x8xi32>) -> tensor<?x8xbf16>, tensor<?x8xi32>
  %0, %1 = moe.route ins(%logits : tensor<?x128xbf16>)
      outs(%w, %i : tensor<?x8xbf16>, tensor<?x8xi32>)
      -> tensor<?x8xbf16>, tensor<?x8xi32>
  return %0, %1 : tensor<?x8xbf16>, tensor<?x8xi32>
}

// CHECK-LABEL: func @route_every_option
func.func @route_every_option(%logits: tensor<?x256xf16>, %bias: tensor<256xf32>,
                              %w: tensor<?x9xf32>, %i: tensor<?x9xi64>)
    -> (tensor<?x9xf32>, tensor<?x9xi64>) {
  // CHECK: moe.route {n_group = 8 : i64, renormalize, scaling = 2.500000e+00 : f32, scoring = #moe.scoring<sigmoid>, shared_experts = 1 : i64, topk_group = 4 : i64}
  // CHECK-SAME: bias(%{{.*}} : tensor<256xf32>) outs
  %0, %1 = moe.route {scoring = #moe.scoring<sigmoid>, renormalize,
                      n_group = 8 : i64, topk_group = 4 : i64,
                      scaling = 2.5 : f32, shared_experts = 1 : i64}
      ins(%logits : tensor<?x256xf16>) bias(%bias : tensor<256xf32>)
      outs(%w, %i : tensor<?x9xf32>, tensor<?x9xi64>)
      -> tensor<?x9xf32>, tensor<?x9xi64>
  return %0, %1 : tensor<?x9xf32>, tensor<?x9xi64>
}

// CHECK-LABEL: func @dispatch
func.func @dispatch(%indices: tensor<?x2xi64>, %t: tensor<?xi32>,
                    %r: tensor<?x2xi32>, %o: tensor<9xi32>)
    -> (tensor<?xi32>, tensor<?x2xi32>, tensor<9xi32>) {
  // CHECK: moe.dispatch ins(%{{.*}} : tensor<?x2xi64>) outs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?xi32>, tensor<?x2xi32>, tensor<9xi32>) -> tensor<?xi32>, tensor<?x2xi32>, tensor<9xi32>
  %0, %1, %2 = moe.dispatch ins(%indices : tensor<?x2xi64>)
      outs(%t, %r, %o : tensor<?xi32>, tensor<?x2xi32>, tensor<9xi32>)
      -> tensor<?xi32>, tensor<?x2xi32>, tensor<9xi32>
  return %0, %1, %2 : tensor<?xi32>, tensor<?x2xi32>, tensor<9xi32>
}

// CHECK-LABEL: func @combine
func.func @combine(%rows: tensor<?x64xf32>, %r: tensor<?x2xi32>,
                   %w: tensor<?x2xf32>, %y: tensor<?x64xbf16>)
    -> (tensor<?x64xbf16>, tensor<?x64xbf16>) {
  // CHECK: moe.combine ins(%{{.*}}, %{{.*}} : tensor<?x64xf32>, tensor<?x2xi32>) weights(%{{.*}} : tensor<?x2xf32>) outs(%{{.*}} : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  %0 = moe.combine ins(%rows, %r : tensor<?x64xf32>, tensor<?x2xi32>)
      weights(%w : tensor<?x2xf32>)
      outs(%y : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  // CHECK: moe.combine ins(%{{.*}}, %{{.*}} : tensor<?x64xf32>, tensor<?x2xi32>) outs(
  %1 = moe.combine ins(%rows, %r : tensor<?x64xf32>, tensor<?x2xi32>)
      outs(%y : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return %0, %1 : tensor<?x64xbf16>, tensor<?x64xbf16>
}

// CHECK-LABEL: func @experts
func.func @experts(%x: tensor<?x64xbf16>, %i: tensor<?x2xi32>,
                   %p: tensor<?x2xf32>, %w1: tensor<8x256x64xbf16>,
                   %w2: tensor<8x64x128xbf16>, %y: tensor<?x64xbf16>)
    -> tensor<?x64xbf16> {
  // CHECK: moe.experts {epilogue = #moe.epilogue<silu, gate = concat>} ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<?x2xi32>, tensor<?x2xf32>, tensor<8x256x64xbf16>, tensor<8x64x128xbf16>) outs(%{{.*}} : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  %0 = moe.experts {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %i, %p, %w1, %w2 : tensor<?x64xbf16>, tensor<?x2xi32>,
          tensor<?x2xf32>, tensor<8x256x64xbf16>, tensor<8x64x128xbf16>)
      outs(%y : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return %0 : tensor<?x64xbf16>
}

// CHECK-LABEL: func @experts_every_option
func.func @experts_every_option(
    %x: tensor<?x64xf16>, %i: tensor<?x1xi64>, %p: tensor<?x1xf16>,
    %w1: tensor<8x64x128xf16>, %w2: tensor<8x128x64xf16>,
    %b1: tensor<8x128xf32>, %b2: tensor<8x64xf16>, %y: tensor<?x64xf32>)
    -> tensor<?x64xf32> {
  // CHECK: moe.experts {epilogue = #moe.epilogue<relu2>, expected_tokens = array<i64: 4>, scale_input, weight_layout = #moe.weight_layout<kn>}
  // CHECK-SAME: gate_up_bias(%{{.*}} : tensor<8x128xf32>) down_bias(%{{.*}} : tensor<8x64xf16>) outs
  %0 = moe.experts {epilogue = #moe.epilogue<relu2>, scale_input,
                    weight_layout = #moe.weight_layout<kn>,
                    expected_tokens = array<i64: 4>}
      ins(%x, %i, %p, %w1, %w2 : tensor<?x64xf16>, tensor<?x1xi64>,
          tensor<?x1xf16>, tensor<8x64x128xf16>, tensor<8x128x64xf16>)
      gate_up_bias(%b1 : tensor<8x128xf32>) down_bias(%b2 : tensor<8x64xf16>)
      outs(%y : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// CHECK-LABEL: func @on_memrefs
func.func @on_memrefs(%logits: memref<4x8xf32>, %bias: memref<8xf32>,
                      %w: memref<4x2xf32>, %i: memref<4x2xi32>,
                      %t: memref<8xi32>, %r: memref<4x2xi32>,
                      %o: memref<9xi32>, %rows: memref<8x16xf32>,
                      %x: memref<4x16xf32>, %w1: memref<8x32x16xf32>,
                      %w2: memref<8x16x32xf32>, %y: memref<4x16xf32>) {
  // CHECK: moe.route ins({{.*}}) bias({{.*}}) outs({{.*}} : memref<4x2xf32>, memref<4x2xi32>){{$}}
  moe.route ins(%logits : memref<4x8xf32>) bias(%bias : memref<8xf32>)
      outs(%w, %i : memref<4x2xf32>, memref<4x2xi32>)
  // CHECK: moe.dispatch ins({{.*}}) outs({{.*}} : memref<8xi32>, memref<4x2xi32>, memref<9xi32>){{$}}
  moe.dispatch ins(%i : memref<4x2xi32>)
      outs(%t, %r, %o : memref<8xi32>, memref<4x2xi32>, memref<9xi32>)
  // CHECK: moe.combine ins({{.*}}) weights({{.*}}) outs({{.*}} : memref<4x16xf32>){{$}}
  moe.combine ins(%rows, %r : memref<8x16xf32>, memref<4x2xi32>)
      weights(%w : memref<4x2xf32>) outs(%y : memref<4x16xf32>)
  // CHECK: moe.experts ins({{.*}}) outs({{.*}} : memref<4x16xf32>){{$}}
  moe.experts ins(%x, %i, %w, %w1, %w2 : memref<4x16xf32>, memref<4x2xi32>,
                  memref<4x2xf32>, memref<8x32x16xf32>, memref<8x16x32xf32>)
      outs(%y : memref<4x16xf32>)
  return
}

// The attributes of a router whose value is the default are not printed.
// CHECK-LABEL: func @scorings
func.func @scorings(%logits: memref<?x8xf32>, %w: memref<?x2xf32>,
                    %i: memref<?x2xi32>) {
  // CHECK: moe.route {scoring = #moe.scoring<softmax_after_topk>} ins
  moe.route {scoring = #moe.scoring<softmax_after_topk>}
      ins(%logits : memref<?x8xf32>)
      outs(%w, %i : memref<?x2xf32>, memref<?x2xi32>)
  // CHECK: moe.route {scoring = #moe.scoring<sigmoid>} ins
  moe.route {scoring = #moe.scoring<sigmoid>}
      ins(%logits : memref<?x8xf32>)
      outs(%w, %i : memref<?x2xf32>, memref<?x2xi32>)
  // CHECK: moe.route ins
  moe.route {scoring = #moe.scoring<softmax>, n_group = 1 : i64,
             topk_group = 1 : i64, scaling = 1.0 : f32,
             shared_experts = 0 : i64}
      ins(%logits : memref<?x8xf32>)
      outs(%w, %i : memref<?x2xf32>, memref<?x2xi32>)
  return
}
