// RUN: moe-opt %s --convert-moe-to-linalg -split-input-file -verify-diagnostics

func.func @route(%logits: tensor<4x8xf32>, %w: tensor<4x2xf32>,
                 %i: tensor<4x2xi32>) -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  // expected-error @below {{'moe.route' op is on tensors; run one-shot-bufferize before convert-moe-to-linalg}}
  %0, %1 = moe.route ins(%logits : tensor<4x8xf32>)
      outs(%w, %i : tensor<4x2xf32>, tensor<4x2xi32>)
      -> tensor<4x2xf32>, tensor<4x2xi32>
  return %0, %1 : tensor<4x2xf32>, tensor<4x2xi32>
}

// -----

func.func @dispatch(%i: tensor<4x2xi32>, %t: tensor<8xi32>, %r: tensor<4x2xi32>,
                    %o: tensor<9xi32>) -> tensor<8xi32> {
  // expected-error @below {{'moe.dispatch' op is on tensors; run one-shot-bufferize before convert-moe-to-linalg}}
  %0, %1, %2 = moe.dispatch ins(%i : tensor<4x2xi32>)
      outs(%t, %r, %o : tensor<8xi32>, tensor<4x2xi32>, tensor<9xi32>)
      -> tensor<8xi32>, tensor<4x2xi32>, tensor<9xi32>
  return %0 : tensor<8xi32>
}

// -----

func.func @combine(%rows: tensor<8x64xf32>, %p: tensor<4x2xi32>,
                   %y: tensor<4x64xf32>) -> tensor<4x64xf32> {
  // expected-error @below {{'moe.combine' op is on tensors; run one-shot-bufferize before convert-moe-to-linalg}}
  %0 = moe.combine ins(%rows, %p : tensor<8x64xf32>, tensor<4x2xi32>)
      outs(%y : tensor<4x64xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// -----

func.func @experts(%x: memref<4x16xf32>, %i: memref<4x2xi32>,
                   %p: memref<4x2xf32>, %w1: memref<8x32x16xf32>,
                   %w2: memref<8x16x32xf32>, %y: memref<4x16xf32>) {
  // expected-error @below {{'moe.experts' op has no lowering to loops}}
  moe.experts ins(%x, %i, %p, %w1, %w2 : memref<4x16xf32>, memref<4x2xi32>,
                  memref<4x2xf32>, memref<8x32x16xf32>, memref<8x16x32xf32>)
      outs(%y : memref<4x16xf32>)
  return
}
