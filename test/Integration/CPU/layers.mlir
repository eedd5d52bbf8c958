// Whole layers on the CPU against the definition of their ops in double
// precision.

// RUN: moe-run %s --entry=router_and_experts --rows=21 --check | FileCheck %s
// RUN: moe-run %s --entry=router_and_experts --rows=0 --check | FileCheck %s
// RUN: moe-run %s --entry=every_option --rows=19 --check | FileCheck %s
// RUN: moe-run %s --entry=scaled_input --rows=19 --routing=zipf:1.5 --check | FileCheck %s
// RUN: moe-run %s --entry=scaled_input --rows=19 --routing=empty-groups --check | FileCheck %s
// RUN: moe-run %s --entry=deepseek_router --rows=50 --check | FileCheck %s --check-prefix=ROUTER
// RUN: moe-run %s --entry=gpt_oss_router --rows=50 --check | FileCheck %s --check-prefix=ROUTER
// RUN: moe-run %s --entry=pieces --routing=zipf:1 --check | FileCheck %s

// CHECK: check passed

// The indices are the same, exactly.
// ROUTER: result 0: relative error {{.*}} <= 1.0e-05
// ROUTER: result 1: relative error 0.000e+00
// ROUTER: check passed

func.func @router_and_experts(%x: tensor<?x40xbf16>, %logits: tensor<?x8xbf16>,
                              %gate_up: tensor<8x48x40xbf16>,
                              %down: tensor<8x40x24xbf16>) -> tensor<?x40xbf16> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x40xbf16>
  %w = tensor.empty(%t) : tensor<?x3xf32>
  %i = tensor.empty(%t) : tensor<?x3xi64>
  %weights, %indices = moe.route {renormalize} ins(%logits : tensor<?x8xbf16>)
      outs(%w, %i : tensor<?x3xf32>, tensor<?x3xi64>)
      -> tensor<?x3xf32>, tensor<?x3xi64>
  %init = tensor.empty(%t) : tensor<?x40xbf16>
  %y = moe.experts {epilogue = #moe.epilogue<silu, gate = interleaved>}
      ins(%x, %indices, %weights, %gate_up, %down
          : tensor<?x40xbf16>, tensor<?x3xi64>, tensor<?x3xf32>,
            tensor<8x48x40xbf16>, tensor<8x40x24xbf16>)
      outs(%init : tensor<?x40xbf16>) -> tensor<?x40xbf16>
  return %y : tensor<?x40xbf16>
}

func.func @every_option(%x: tensor<?x40xf16>, %i: tensor<?x3xi32>,
                        %p: tensor<?x3xf32>, %gate_up: tensor<8x40x24xf16>,
                        %down: tensor<8x24x40xf16>, %b1: tensor<8x24xf32>,
                        %b2: tensor<8x40xf16>, %y: tensor<?x40xf32>)
    -> tensor<?x40xf32> {
  %0 = moe.experts {weight_layout = #moe.weight_layout<kn>,
                    epilogue = #moe.epilogue<gelu_tanh>}
      ins(%x, %i, %p, %gate_up, %down
          : tensor<?x40xf16>, tensor<?x3xi32>, tensor<?x3xf32>,
            tensor<8x40x24xf16>, tensor<8x24x40xf16>)
      gate_up_bias(%b1 : tensor<8x24xf32>) down_bias(%b2 : tensor<8x40xf16>)
      outs(%y : tensor<?x40xf32>) -> tensor<?x40xf32>
  return %0 : tensor<?x40xf32>
}

func.func @scaled_input(%x: tensor<?x40xf32>, %i: tensor<?x2xi32>,
                        %p: tensor<?x2xf32>, %gate_up: tensor<8x48x40xf32>,
                        %down: tensor<8x40x24xf32>, %y: tensor<?x40xf32>)
    -> tensor<?x40xf32> {
  %0 = moe.experts {scale_input, epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %i, %p, %gate_up, %down
          : tensor<?x40xf32>, tensor<?x2xi32>, tensor<?x2xf32>,
            tensor<8x48x40xf32>, tensor<8x40x24xf32>)
      outs(%y : tensor<?x40xf32>) -> tensor<?x40xf32>
  return %0 : tensor<?x40xf32>
}

func.func @deepseek_router(%logits: tensor<?x32xf32>, %bias: tensor<32xf32>)
    -> (tensor<?x5xf32>, tensor<?x5xi32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %logits, %c0 : tensor<?x32xf32>
  %w = tensor.empty(%t) : tensor<?x5xf32>
  %i = tensor.empty(%t) : tensor<?x5xi32>
  %0, %1 = moe.route {scoring = #moe.scoring<sigmoid>, renormalize,
                      n_group = 8 : i64, topk_group = 3 : i64,
                      scaling = 2.5 : f32, shared_experts = 1 : i64}
      ins(%logits : tensor<?x32xf32>) bias(%bias : tensor<32xf32>)
      outs(%w, %i : tensor<?x5xf32>, tensor<?x5xi32>)
      -> tensor<?x5xf32>, tensor<?x5xi32>
  return %0, %1 : tensor<?x5xf32>, tensor<?x5xi32>
}

func.func @gpt_oss_router(%logits: tensor<?x32xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xi32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %logits, %c0 : tensor<?x32xf32>
  %w = tensor.empty(%t) : tensor<?x4xf32>
  %i = tensor.empty(%t) : tensor<?x4xi32>
  %0, %1 = moe.route {scoring = #moe.scoring<softmax_after_topk>}
      ins(%logits : tensor<?x32xf32>)
      outs(%w, %i : tensor<?x4xf32>, tensor<?x4xi32>)
      -> tensor<?x4xf32>, tensor<?x4xi32>
  return %0, %1 : tensor<?x4xf32>, tensor<?x4xi32>
}

// Dispatch, a swapped matmul that gathers, and combine, written out.
func.func @pieces(%x: tensor<11x40xbf16>, %i: tensor<11x3xi32>,
                  %p: tensor<11x3xf32>, %w: tensor<8x24x40xbf16>)
    -> tensor<11x24xbf16> {
  %t0 = tensor.empty() : tensor<33xi32>
  %r0 = tensor.empty() : tensor<11x3xi32>
  %o0 = tensor.empty() : tensor<9xi32>
  %tokens, %rows, %offsets = moe.dispatch ins(%i : tensor<11x3xi32>)
      outs(%t0, %r0, %o0 : tensor<33xi32>, tensor<11x3xi32>, tensor<9xi32>)
      -> tensor<33xi32>, tensor<11x3xi32>, tensor<9xi32>
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<33x24xbf16>
  %h0 = linalg.fill ins(%zero : bf16) outs(%e : tensor<33x24xbf16>)
      -> tensor<33x24xbf16>
  %h = moe.grouped_matmul_swapped {token_order = #moe.order<row_major>,
                                   result_order = #moe.order<row_major>}
      ins(%w, %x, %offsets : tensor<8x24x40xbf16>, tensor<11x40xbf16>,
                             tensor<9xi32>)
      gather(%tokens : tensor<33xi32>)
      outs(%h0 : tensor<33x24xbf16>) -> tensor<33x24xbf16>
  %y0 = tensor.empty() : tensor<11x24xbf16>
  %y = moe.combine ins(%h, %rows : tensor<33x24xbf16>, tensor<11x3xi32>)
      weights(%p : tensor<11x3xf32>)
      outs(%y0 : tensor<11x24xbf16>) -> tensor<11x24xbf16>
  return %y : tensor<11x24xbf16>
}
