// RUN: moe-opt %s --convert-moe-to-linalg --split-input-file --verify-diagnostics
// RUN: not moe-opt %s --convert-moe-to-linalg=vector-lanes=12 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: not moe-opt %s --convert-moe-to-linalg=vector-lanes=64 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: not moe-opt %s --convert-moe-to-linalg=vector-lanes=-8 2>&1 | FileCheck %s --check-prefix=LANES

// LANES: convert-moe-to-linalg: vector-lanes must be a power of two from 4 to 32, got {{12|64|-8}}

func.func @tensors(%x: tensor<20x64xbf16>, %w: tensor<8x192x64xbf16>,
                   %off: tensor<9xi32>, %y: tensor<20x192xbf16>)
    -> tensor<20x192xbf16> {
  // expected-error @+1 {{is on tensors; run one-shot-bufferize before convert-moe-to-linalg}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<20x64xbf16>, tensor<8x192x64xbf16>, tensor<9xi32>)
      outs(%y : tensor<20x192xbf16>) -> tensor<20x192xbf16>
  return %0 : tensor<20x192xbf16>
}

// -----

func.func @experts(%x: memref<?x64xbf16>, %i: memref<?x2xi32>,
                   %p: memref<?x2xf32>, %gate_up: memref<8x64x64xbf16>,
                   %down: memref<8x64x32xbf16>, %y: memref<?x64xbf16>) {
  // expected-error @+1 {{has no lowering to loops; run moe-decompose-experts before one-shot-bufferize}}
  moe.experts {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %i, %p, %gate_up, %down
          : memref<?x64xbf16>, memref<?x2xi32>, memref<?x2xf32>,
            memref<8x64x64xbf16>, memref<8x64x32xbf16>)
      outs(%y : memref<?x64xbf16>)
  return
}
