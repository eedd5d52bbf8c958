// RUN: moe-opt %s --moe-select-schedule=target=h200 --split-input-file | FileCheck %s
// RUN: moe-opt %s --moe-select-schedule=target=h200 --remarks-filter='moe.*' \
// RUN:   --split-input-file --verify-diagnostics -o /dev/null
// RUN: moe-opt %s --moe-select-schedule='target=h200 expected-tokens=128' --split-input-file \
// RUN:   | FileCheck %s --check-prefix=MANY
// RUN: moe-opt %s --moe-select-schedule='target=h200 expected-tokens=1e308' --split-input-file \
// RUN:   | FileCheck %s --check-prefix=HUGE

// The example of the documentation: half a token an expert; the token tile has
// room for more, which costs no stage, and holds all 64 tokens should one expert
// get them. With many tokens, two warpgroups share a token tile that fits the
// largest group, and what groups are small have one of their own.
// CHECK-LABEL: func @down
// CHECK: schedule = #moe.schedule<m = 64, n = 64, k = 64, stages = 12, warpgroups = 1>
// MANY-LABEL: func @down
// MANY: schedule = #moe.schedule<m = 128, n = 64, k = 64, stages = 9, warpgroups = 2, large = <m = 256, n = 160, k = 64, stages = 4, warpgroups = 2>>
// Infinite times choose nothing: as if the number were unknown.
// HUGE-LABEL: func @down
// HUGE: schedule = #moe.schedule<m = 64, n = 64, k = 64, stages = 12, warpgroups = 1, large = <m = 128, n = 256,
func.func @down(%x: tensor<64x768xbf16>, %w: tensor<128x2048x768xbf16>,
                %off: tensor<129xi32>,
                %y: tensor<64x2048xbf16>) -> tensor<64x2048xbf16> {
  // expected-remark-re @+1 {{[Passed] scheduled | Category:moe-select-schedule | Function=down | ExpectedTokens=0.50, Op=moe.grouped_matmul_swapped, Predicted="{{[0-9.]+}} us", Schedule="#moe.schedule<m = 64, n = 64, k = 64, stages = 12, warpgroups = 1>", Target=h200}}
  %0 = moe.grouped_matmul_swapped {result_order = #moe.order<row_major>,
                                   token_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<128x2048x768xbf16>, tensor<64x768xbf16>,
                         tensor<129xi32>)
      outs(%y : tensor<64x2048xbf16>) -> tensor<64x2048xbf16>
  return %0 : tensor<64x2048xbf16>
}

// -----

// Unknown tokens: tiles of up to 64 of them, and what suits thousands for groups
// of more. Works on memrefs too.
// CHECK-LABEL: func @unknown
// CHECK: schedule = #moe.schedule<m = 64, n = 64, k = 64, stages = 12, warpgroups = 1, large = <m = 128, n = 256, k = 64, stages = 4, warpgroups = 2>>
func.func @unknown(%x: memref<?x768xf16>, %w: memref<128x2048x768xf16>,
                   %off: memref<129xi32>, %y: memref<?x2048xf16>) {
  // expected-remark @+1 {{ExpectedTokens=unknown, Op=moe.grouped_matmul_swapped, Schedule=}}
  moe.grouped_matmul_swapped {result_order = #moe.order<row_major>,
                              token_order = #moe.order<row_major>}
      ins(%w, %x, %off : memref<128x2048x768xf16>, memref<?x768xf16>,
                         memref<129xi32>)
      outs(%y : memref<?x2048xf16>)
  return
}

// -----

// Gate rows before up rows: a warpgroup takes 64 of each. If one expert gets all
// 512 tokens, tiles of half of one warpgroup's registers are spread best.
// CHECK-LABEL: func @gate_concat
// CHECK: schedule = #moe.schedule<m = 128, n = 16, k = 64, stages = 12, warpgroups = 1, large = <m = 128, n = 104, k = 64, stages = 7, warpgroups = 1>>
// MANY-LABEL: func @gate_concat
// MANY: schedule = #moe.schedule<m = 128, n = 64, k = 64, stages = 9, warpgroups = 1, large = <m = 256, n = 144, k = 64, stages = 4, warpgroups = 2>>
func.func @gate_concat(%x: tensor<512x2048xbf16>, %w: tensor<128x1536x2048xbf16>,
                       %off: tensor<129xi32>,
                       %y: tensor<512x768xbf16>) -> tensor<512x768xbf16> {
  // expected-remark @+1 {{[Passed] scheduled}}
  %0 = moe.grouped_matmul_swapped {epilogue = #moe.epilogue<silu, gate = concat>,
                                   result_order = #moe.order<row_major>,
                                   token_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<128x1536x2048xbf16>, tensor<512x2048xbf16>,
                         tensor<129xi32>)
      outs(%y : tensor<512x768xbf16>) -> tensor<512x768xbf16>
  return %0 : tensor<512x768xbf16>
}

// -----

// Unswapped: m is the token side, n counts weight rows, gate and up together.
// CHECK-LABEL: func @unswapped
// CHECK: moe.grouped_matmul {
// CHECK-SAME: schedule = #moe.schedule<m = 64, n = 96, k = 64, stages = 11, warpgroups = 1>
// MANY-LABEL: func @unswapped
// MANY: schedule = #moe.schedule<m = 128, n = [[#%u,N:]], k = 64, stages = {{[4-9]}}, warpgroups = 2>
// CHECK: moe.grouped_matmul {
// CHECK-SAME: schedule = #moe.schedule<m = 64, n = 128, k = 64, stages = 9, warpgroups = 1>
func.func @unswapped(%x: tensor<4096x2048xbf16>, %w: tensor<128x1536x2048xbf16>,
                     %off: tensor<129xi32>, %y: tensor<4096x1536xbf16>,
                     %g: tensor<4096x768xbf16>)
    -> (tensor<4096x1536xbf16>, tensor<4096x768xbf16>) {
  // expected-remark @+1 {{Op=moe.grouped_matmul,}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4096x2048xbf16>, tensor<128x1536x2048xbf16>,
                         tensor<129xi32>)
      outs(%y : tensor<4096x1536xbf16>) -> tensor<4096x1536xbf16>
  // expected-remark @+1 {{Op=moe.grouped_matmul,}}
  %1 = moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %w, %off : tensor<4096x2048xbf16>, tensor<128x1536x2048xbf16>,
                         tensor<129xi32>)
      outs(%g : tensor<4096x768xbf16>) -> tensor<4096x768xbf16>
  return %0, %1 : tensor<4096x1536xbf16>, tensor<4096x768xbf16>
}

// -----

// Unknown sizes and tokens, unswapped: two warpgroups, as many weight rows as
// tokens.
// CHECK-LABEL: func @unswapped_unknown
// CHECK: schedule = #moe.schedule<m = 128, n = 128, k = 64, stages = 6, warpgroups = 2>
// CHECK: schedule = #moe.schedule<m = 128, n = 128, k = 64, stages = 6, warpgroups = 2>
func.func @unswapped_unknown(%x: tensor<?x?xbf16>, %w: tensor<?x?x?xbf16>,
                             %off: tensor<?xi32>, %y: tensor<?x?xbf16>)
    -> tensor<?x?xbf16> {
  // expected-remark @+1 {{ExpectedTokens=unknown}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<?x?xbf16>, tensor<?x?x?xbf16>, tensor<?xi32>)
      outs(%y : tensor<?x?xbf16>) -> tensor<?x?xbf16>
  // expected-remark @+1 {{ExpectedTokens=unknown}}
  %1 = moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %w, %off : tensor<?x?xbf16>, tensor<?x?x?xbf16>, tensor<?xi32>)
      outs(%0 : tensor<?x?xbf16>) -> tensor<?x?xbf16>
  return %1 : tensor<?x?xbf16>
}

// -----

// What is there stays.
// CHECK-LABEL: func @existing
// CHECK: schedule = #moe.schedule<m = 64, n = 40, k = 64, stages = 3, warpgroups = 1>
func.func @existing(%x: tensor<64x768xbf16>, %w: tensor<128x2048x768xbf16>,
                    %off: tensor<129xi32>,
                    %y: tensor<64x2048xbf16>) -> tensor<64x2048xbf16> {
  // expected-remark @+1 {{[Missed] kept | Category:moe-select-schedule | Function=existing | Op=moe.grouped_matmul_swapped, Reason="it has a schedule already"}}
  %0 = moe.grouped_matmul_swapped {
      schedule = #moe.schedule<m = 64, n = 40, k = 64, stages = 3, warpgroups = 1>,
      result_order = #moe.order<row_major>, token_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<128x2048x768xbf16>, tensor<64x768xbf16>,
                         tensor<129xi32>)
      outs(%y : tensor<64x2048xbf16>) -> tensor<64x2048xbf16>
  return %0 : tensor<64x2048xbf16>
}

// -----

// CHECK-LABEL: func @refused
// CHECK-NOT: schedule =
// CHECK: return
func.func @refused(%x: tensor<8x64xf32>, %w: tensor<2x16x64xf32>,
                   %off: tensor<3xi32>, %y: tensor<8x16xf32>,
                   %x2: tensor<8x60xbf16>, %w2: tensor<2x16x60xbf16>,
                   %y2: tensor<8x16xbf16>)
    -> (tensor<8x16xf32>, tensor<8x16xbf16>) {
  // expected-remark @+1 {{[Missed] refused | Category:moe-select-schedule | Function=refused | Op=moe.grouped_matmul, Reason="the matrix instruction takes f16 or bf16, not f32"}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<8x64xf32>, tensor<2x16x64xf32>, tensor<3xi32>)
      outs(%y : tensor<8x16xf32>) -> tensor<8x16xf32>
  // expected-remark @+1 {{Reason="K = 60 makes rows of 120 bytes, and nk weights need a multiple of 16"}}
  %1 = moe.grouped_matmul
      ins(%x2, %w2, %off : tensor<8x60xbf16>, tensor<2x16x60xbf16>, tensor<3xi32>)
      outs(%y2 : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %0, %1 : tensor<8x16xf32>, tensor<8x16xbf16>
}

// -----

// Panels of kn weights are whole, in both halves of a gate.
// MANY-LABEL: func @kn
// MANY: schedule = #moe.schedule<m = 128, n = {{64|128|192|256}}, k = 64
// MANY: schedule = #moe.schedule<m = 128, n = {{128|256}}, k = 64
func.func @kn(%x: tensor<4096x2048xbf16>, %w: tensor<128x2048x1536xbf16>,
              %off: tensor<129xi32>, %y: tensor<4096x1536xbf16>,
              %g: tensor<4096x768xbf16>)
    -> (tensor<4096x1536xbf16>, tensor<4096x768xbf16>) {
  // expected-remark @+1 {{Op=moe.grouped_matmul,}}
  %0 = moe.grouped_matmul {weight_layout = #moe.weight_layout<kn>}
      ins(%x, %w, %off : tensor<4096x2048xbf16>, tensor<128x2048x1536xbf16>,
                         tensor<129xi32>)
      outs(%y : tensor<4096x1536xbf16>) -> tensor<4096x1536xbf16>
  // expected-remark @+1 {{Op=moe.grouped_matmul,}}
  %1 = moe.grouped_matmul {weight_layout = #moe.weight_layout<kn>,
                           epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %w, %off : tensor<4096x2048xbf16>, tensor<128x2048x1536xbf16>,
                         tensor<129xi32>)
      outs(%g : tensor<4096x768xbf16>) -> tensor<4096x768xbf16>
  return %0, %1 : tensor<4096x1536xbf16>, tensor<4096x768xbf16>
}

// -----

// Bytes beyond what a signed number holds.
// CHECK-LABEL: func @long_rows
// CHECK-NOT: schedule
func.func @long_rows(%x: memref<?x9223372036854775807xbf16>, %w: memref<1x8x9223372036854775807xbf16>,
                     %off: memref<2xi32>, %y: memref<?x8xbf16>) {
  // expected-remark @+1 {{K = 9223372036854775807 makes rows of 18446744073709551614 bytes}}
  moe.grouped_matmul
      ins(%x, %w, %off : memref<?x9223372036854775807xbf16>, memref<1x8x9223372036854775807xbf16>,
                         memref<2xi32>)
      outs(%y : memref<?x8xbf16>)
  return
}

// -----

// 8 rows: their experts' weights spread evenly over the card in tiles of 96
// rows, and no token tile needs room for more than 8.
// CHECK-LABEL: func @one_token
// CHECK: schedule = #moe.schedule<m = 96, n = 8, k = 64, stages = 12, warpgroups = 2>
func.func @one_token(%x: tensor<8x2048xbf16>, %w: tensor<128x1536x2048xbf16>,
                     %off: tensor<129xi32>,
                     %y: tensor<8x1536xbf16>) -> tensor<8x1536xbf16> {
  // expected-remark @+1 {{ExpectedTokens=0.06}}
  %0 = moe.grouped_matmul_swapped {result_order = #moe.order<row_major>,
                                   token_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<128x1536x2048xbf16>, tensor<8x2048xbf16>,
                         tensor<129xi32>)
      outs(%y : tensor<8x1536xbf16>) -> tensor<8x1536xbf16>
  return %0 : tensor<8x1536xbf16>
}
