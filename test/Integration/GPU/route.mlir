// The router's kernel against the reference: each scoring, groups, a bias,
// shared experts, more experts and more choices than a warp has lanes.
//
// RUN: moe-run %s --entry=softmax --device=cuda --rows=33 --check | FileCheck %s
// RUN: moe-run %s --entry=renormalized --device=cuda --rows=9 --check | FileCheck %s
// RUN: moe-run %s --entry=after_topk --device=cuda --rows=5 --check | FileCheck %s
// RUN: moe-run %s --entry=groups --device=cuda --rows=65 --check | FileCheck %s
// RUN: moe-run %s --entry=single --device=cuda --rows=7 --check | FileCheck %s
// RUN: moe-run %s --entry=wide --device=cuda --rows=3 --check | FileCheck %s
//
// Equal keys, zeros of both signs, infinities and NaNs.
// RUN: %python -c "import numpy as n; i = n.inf; q = n.nan; n.save(r'%t.npy', n.array([[0, 0, 0, 0, 0, 0, 0, 0], [-0.0, 0, -0.0, 0, 1, 1, 1, -1], [q, q, q, q, q, q, q, q], [q, -i, q, 2, -i, q, q, q], [-i] * 8, [3, q, 2, -2, 1e-40, -1e-40, i, -i]], dtype=n.float32))"
// RUN: moe-run %s --entry=special --device=cuda --rows=6 --input=logits=%t.npy --check | FileCheck %s
//
// No token at all.
// RUN: moe-run %s --entry=softmax --device=cuda --rows=0 --check | FileCheck %s
//
// REQUIRES: cuda-sm90
// CHECK: check passed

func.func @softmax(%logits: tensor<?x60xf32>, %w: tensor<?x4xf32>,
                   %i: tensor<?x4xi32>) -> (tensor<?x4xf32>, tensor<?x4xi32>) {
  %0, %1 = moe.route ins(%logits : tensor<?x60xf32>)
      outs(%w, %i : tensor<?x4xf32>, tensor<?x4xi32>)
      -> tensor<?x4xf32>, tensor<?x4xi32>
  return %0, %1 : tensor<?x4xf32>, tensor<?x4xi32>
}

func.func @renormalized(%logits: tensor<?x128xbf16>, %w: tensor<?x8xbf16>,
                        %i: tensor<?x8xi64>) -> (tensor<?x8xbf16>, tensor<?x8xi64>) {
  %0, %1 = moe.route {renormalize} ins(%logits : tensor<?x128xbf16>)
      outs(%w, %i : tensor<?x8xbf16>, tensor<?x8xi64>)
      -> tensor<?x8xbf16>, tensor<?x8xi64>
  return %0, %1 : tensor<?x8xbf16>, tensor<?x8xi64>
}

func.func @after_topk(%logits: tensor<?x32xf16>, %w: tensor<?x4xf32>,
                      %i: tensor<?x4xi32>) -> (tensor<?x4xf32>, tensor<?x4xi32>) {
  %0, %1 = moe.route {scoring = #moe.scoring<softmax_after_topk>}
      ins(%logits : tensor<?x32xf16>)
      outs(%w, %i : tensor<?x4xf32>, tensor<?x4xi32>)
      -> tensor<?x4xf32>, tensor<?x4xi32>
  return %0, %1 : tensor<?x4xf32>, tensor<?x4xi32>
}

func.func @groups(%logits: tensor<?x256xf32>, %bias: tensor<256xf32>,
                  %w: tensor<?x9xf32>, %i: tensor<?x9xi32>) -> (tensor<?x9xf32>, tensor<?x9xi32>) {
  %0, %1 = moe.route {scoring = #moe.scoring<sigmoid>, renormalize,
                      n_group = 8 : i64, topk_group = 4 : i64,
                      scaling = 2.5 : f32, shared_experts = 1 : i64}
      ins(%logits : tensor<?x256xf32>) bias(%bias : tensor<256xf32>)
      outs(%w, %i : tensor<?x9xf32>, tensor<?x9xi32>)
      -> tensor<?x9xf32>, tensor<?x9xi32>
  return %0, %1 : tensor<?x9xf32>, tensor<?x9xi32>
}

// Groups of one expert.
func.func @single(%logits: tensor<?x40xf32>, %w: tensor<?x3xf32>,
                  %i: tensor<?x3xi32>) -> (tensor<?x3xf32>, tensor<?x3xi32>) {
  %0, %1 = moe.route {n_group = 40 : i64, topk_group = 5 : i64}
      ins(%logits : tensor<?x40xf32>)
      outs(%w, %i : tensor<?x3xf32>, tensor<?x3xi32>)
      -> tensor<?x3xf32>, tensor<?x3xi32>
  return %0, %1 : tensor<?x3xf32>, tensor<?x3xi32>
}

func.func @wide(%logits: tensor<?x1000xf32>, %w: tensor<?x70xf32>,
                %i: tensor<?x70xi32>) -> (tensor<?x70xf32>, tensor<?x70xi32>) {
  %0, %1 = moe.route {renormalize, shared_experts = 3 : i64}
      ins(%logits : tensor<?x1000xf32>)
      outs(%w, %i : tensor<?x70xf32>, tensor<?x70xi32>)
      -> tensor<?x70xf32>, tensor<?x70xi32>
  return %0, %1 : tensor<?x70xf32>, tensor<?x70xi32>
}

func.func @special(%logits: tensor<?x8xf32>, %w: tensor<?x5xf32>,
                   %i: tensor<?x5xi32>) -> (tensor<?x5xf32>, tensor<?x5xi32>) {
  %0, %1 = moe.route ins(%logits : tensor<?x8xf32>)
      outs(%w, %i : tensor<?x5xf32>, tensor<?x5xi32>)
      -> tensor<?x5xf32>, tensor<?x5xi32>
  return %0, %1 : tensor<?x5xf32>, tensor<?x5xi32>
}
