// RUN: moe-opt %s --moe-swap-ab --remarks-filter='moe.*' --split-input-file \
// RUN:   --verify-diagnostics | FileCheck %s
// RUN: moe-opt %s --moe-swap-ab=mode=always --split-input-file \
// RUN:   | FileCheck %s --check-prefixes=ALWAYS

// CHECK-NOT: moe.grouped_matmul_swapped

// ALWAYS-LABEL: func @memrefs
// ALWAYS: moe.grouped_matmul ins
func.func @memrefs(%x: memref<8x64xbf16>, %w: memref<2x16x64xbf16>,
                   %off: memref<3xi32>, %y: memref<8x16xbf16>) {
  // expected-remark @+1 {{[Missed] kept | Category:moe-swap-ab | Function=memrefs | Choice=unswapped, ExpectedTokens=unknown, Op=moe.grouped_matmul, Reason="its operands are memrefs; exchange operands before bufferization"}}
  moe.grouped_matmul
      ins(%x, %w, %off : memref<8x64xbf16>, memref<2x16x64xbf16>, memref<3xi32>)
      outs(%y : memref<8x16xbf16>)
  return
}

// -----

// ALWAYS-LABEL: func @encoding
// ALWAYS: moe.grouped_matmul ins
func.func @encoding(%x: tensor<8x64xbf16, "tiled">, %w: tensor<2x16x64xbf16>,
                    %off: tensor<3xi32>,
                    %y: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-remark @+1 {{Reason="its tensors have an encoding, whose transpose is unknown"}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<8x64xbf16, "tiled">, tensor<2x16x64xbf16>,
                         tensor<3xi32>)
      outs(%y : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %0 : tensor<8x16xbf16>
}

// -----

// ALWAYS-LABEL: func @scheduled
// ALWAYS: moe.grouped_matmul {schedule
func.func @scheduled(%x: tensor<8x64xbf16>, %w: tensor<2x16x64xbf16>,
                     %off: tensor<3xi32>,
                     %y: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-remark @+1 {{Reason="it has a schedule, which was made for its orientation; remove the schedule first"}}
  %0 = moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 64, k = 64,
                                                    stages = 4, warpgroups = 1>}
      ins(%x, %w, %off : tensor<8x64xbf16>, tensor<2x16x64xbf16>, tensor<3xi32>)
      outs(%y : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %0 : tensor<8x16xbf16>
}

// -----

// ALWAYS-LABEL: func @short_rows_nk
// ALWAYS: moe.grouped_matmul ins
func.func @short_rows_nk(%x: tensor<8x60xbf16>, %w: tensor<2x16x60xbf16>,
                         %off: tensor<3xi32>,
                         %y: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-remark @+1 {{Reason="K = 60 makes rows of 120 bytes, and nk weights need a multiple of 16"}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<8x60xbf16>, tensor<2x16x60xbf16>, tensor<3xi32>)
      outs(%y : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %0 : tensor<8x16xbf16>
}

// -----

// ALWAYS-LABEL: func @short_rows_kn
// ALWAYS: moe.grouped_matmul {weight_layout
func.func @short_rows_kn(%x: tensor<8x64xf16>, %w: tensor<2x64x33xf16>,
                         %off: tensor<3xi32>,
                         %y: tensor<8x33xf16>) -> tensor<8x33xf16> {
  // expected-remark @+1 {{Reason="N = 33 makes rows of 66 bytes, and kn weights need a multiple of 16"}}
  %0 = moe.grouped_matmul {weight_layout = #moe.weight_layout<kn>}
      ins(%x, %w, %off : tensor<8x64xf16>, tensor<2x64x33xf16>, tensor<3xi32>)
      outs(%y : tensor<8x33xf16>) -> tensor<8x33xf16>
  return %0 : tensor<8x33xf16>
}

// -----

// ALWAYS-LABEL: func @short_columns_kn
// ALWAYS: moe.grouped_matmul {weight_layout
func.func @short_columns_kn(%x: tensor<8x60xf16>, %w: tensor<2x60x64xf16>,
                            %off: tensor<3xi32>,
                            %y: tensor<8x64xf16>) -> tensor<8x64xf16> {
  // expected-remark @+1 {{Reason="K = 60 makes rows of 120 bytes, and kn weights need a multiple of 16"}}
  %0 = moe.grouped_matmul {weight_layout = #moe.weight_layout<kn>}
      ins(%x, %w, %off : tensor<8x60xf16>, tensor<2x60x64xf16>, tensor<3xi32>)
      outs(%y : tensor<8x64xf16>) -> tensor<8x64xf16>
  return %0 : tensor<8x64xf16>
}

// -----

// f32 may be swapped if someone asks for it.
// ALWAYS-LABEL: func @f32
// ALWAYS: moe.grouped_matmul_swapped
func.func @f32(%x: tensor<8x3xf32>, %w: tensor<2x16x3xf32>, %off: tensor<3xi32>,
               %y: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-remark @+1 {{Reason="the matrix instruction takes f16 or bf16, not f32"}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<8x3xf32>, tensor<2x16x3xf32>, tensor<3xi32>)
      outs(%y : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// Nothing can be predicted for dynamic sizes; to swap them all the same is safe.
// ALWAYS-LABEL: func @dynamic_weights
// ALWAYS: moe.grouped_matmul_swapped
func.func @dynamic_weights(%x: tensor<8x?xbf16>, %w: tensor<2x16x?xbf16>,
                           %off: tensor<3xi32>,
                           %y: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-remark @+1 {{Reason="E, K or N is dynamic, so no time can be predicted"}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<8x?xbf16>, tensor<2x16x?xbf16>, tensor<3xi32>)
      outs(%y : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %0 : tensor<8x16xbf16>
}

// -----

func.func @no_experts(%x: tensor<8x64xbf16>, %w: tensor<0x16x64xbf16>,
                      %off: tensor<1xi32>,
                      %y: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-remark @+1 {{Reason="it has no experts or no outputs"}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<8x64xbf16>, tensor<0x16x64xbf16>, tensor<1xi32>)
      outs(%y : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %0 : tensor<8x16xbf16>
}

// -----

func.func @too_many_experts(%x: tensor<8x64xbf16>,
                            %w: tensor<4611686018427387904x16x64xbf16>,
                            %off: tensor<?xi32>,
                            %y: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-remark @+1 {{Reason="it has too many experts to count their tokens"}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<8x64xbf16>,
                         tensor<4611686018427387904x16x64xbf16>, tensor<?xi32>)
      outs(%y : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %0 : tensor<8x16xbf16>
}

// -----

module attributes {moe.target = #moe.target<"h200", shared_memory = 16384>} {
  func.func @no_tile(%x: tensor<8x64xbf16>, %w: tensor<2x16x64xbf16>,
                     %off: tensor<3xi32>,
                     %y: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
    // expected-remark @+1 {{Reason="no tile fits the target's shared memory"}}
    %0 = moe.grouped_matmul
        ins(%x, %w, %off : tensor<8x64xbf16>, tensor<2x16x64xbf16>, tensor<3xi32>)
        outs(%y : tensor<8x16xbf16>) -> tensor<8x16xbf16>
    return %0 : tensor<8x16xbf16>
  }
}
