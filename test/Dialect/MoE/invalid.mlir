// RUN: moe-opt %s -split-input-file -verify-diagnostics

func.func @element_types(%x: tensor<4x64xbf16>, %w: tensor<8x32x64xf16>,
                         %off: tensor<9xi32>, %y: tensor<4x32xbf16>)
    -> tensor<4x32xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op tokens are 'bf16' and weights are 'f16'; both must have one element type}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<8x32x64xf16>, tensor<9xi32>)
      outs(%y : tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %0 : tensor<4x32xbf16>
}

// -----

func.func @result_type(%x: tensor<4x64xbf16>, %w: tensor<8x32x64xbf16>,
                       %off: tensor<9xi32>, %y: tensor<4x32xf16>)
    -> tensor<4x32xf16> {
  // expected-error @below {{'moe.grouped_matmul' op outs is 'f16'; it must be f32 or, like the tokens, 'bf16'}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<8x32x64xbf16>, tensor<9xi32>)
      outs(%y : tensor<4x32xf16>) -> tensor<4x32xf16>
  return %0 : tensor<4x32xf16>
}

// -----

func.func @k_of_nk(%x: tensor<4x64xbf16>, %w: tensor<8x32x72xbf16>,
                   %off: tensor<9xi32>, %y: tensor<4x32xbf16>)
    -> tensor<4x32xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op K of the tokens is 64, but K of the weights (dimension 2, nk) is 72}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<8x32x72xbf16>, tensor<9xi32>)
      outs(%y : tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %0 : tensor<4x32xbf16>
}

// -----

func.func @k_of_kn(%x: tensor<4x64xbf16>, %w: tensor<8x32x64xbf16>,
                   %off: tensor<9xi32>, %y: tensor<4x64xbf16>)
    -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op K of the tokens is 64, but K of the weights (dimension 1, kn) is 32}}
  %0 = moe.grouped_matmul {weight_layout = #moe.weight_layout<kn>}
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<8x32x64xbf16>, tensor<9xi32>)
      outs(%y : tensor<4x64xbf16>) -> tensor<4x64xbf16>
  return %0 : tensor<4x64xbf16>
}

// -----

func.func @no_offsets(%x: tensor<4x64xbf16>, %w: tensor<8x32x64xbf16>,
                      %off: tensor<0xi32>, %y: tensor<4x32xbf16>)
    -> tensor<4x32xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op offsets have no element; E experts need E + 1}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<8x32x64xbf16>, tensor<0xi32>)
      outs(%y : tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %0 : tensor<4x32xbf16>
}

// -----

func.func @number_of_offsets(%x: tensor<4x64xbf16>, %w: tensor<8x32x64xbf16>,
                             %off: tensor<8xi32>, %y: tensor<4x32xbf16>)
    -> tensor<4x32xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op number of offsets less one is 7, but E of the weights is 8}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<8x32x64xbf16>, tensor<8xi32>)
      outs(%y : tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %0 : tensor<4x32xbf16>
}

// -----

func.func @number_of_sizes(%x: tensor<4x64xbf16>, %w: tensor<8x32x64xbf16>,
                           %off: tensor<9xi32>, %y: tensor<4x32xbf16>)
    -> tensor<4x32xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op number of group sizes is 9, but E of the weights is 8}}
  %0 = moe.grouped_matmul {group_kind = #moe.group_kind<sizes>}
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<8x32x64xbf16>, tensor<9xi32>)
      outs(%y : tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %0 : tensor<4x32xbf16>
}

// -----

func.func @experts_of_bias(%x: tensor<4x64xbf16>, %w: tensor<8x32x64xbf16>,
                           %off: tensor<9xi32>, %bias: tensor<9x32xbf16>,
                           %y: tensor<4x32xbf16>) -> tensor<4x32xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op E of the bias is 9, but E of the weights is 8}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<8x32x64xbf16>, tensor<9xi32>)
      bias(%bias : tensor<9x32xbf16>)
      outs(%y : tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %0 : tensor<4x32xbf16>
}

// -----

func.func @columns_of_bias(%x: tensor<4x64xbf16>, %w: tensor<8x32x64xbf16>,
                           %off: tensor<9xi32>, %bias: tensor<8x33xbf16>,
                           %y: tensor<4x32xbf16>) -> tensor<4x32xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op N of the bias is 33, but N of the weights is 32}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<8x32x64xbf16>, tensor<9xi32>)
      bias(%bias : tensor<8x33xbf16>)
      outs(%y : tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %0 : tensor<4x32xbf16>
}

// -----

func.func @scale(%x: tensor<4x64xbf16>, %w: tensor<8x32x64xbf16>,
                 %off: tensor<9xi32>, %s: tensor<5xf32>, %y: tensor<4x32xbf16>)
    -> tensor<4x32xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op length of scale is 5, but R is 4}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<8x32x64xbf16>, tensor<9xi32>)
      scale(%s : tensor<5xf32>)
      outs(%y : tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %0 : tensor<4x32xbf16>
}

// -----

func.func @scatter(%x: tensor<4x64xbf16>, %w: tensor<8x32x64xbf16>,
                   %off: tensor<9xi32>, %s: tensor<5xi32>,
                   %y: tensor<4x32xbf16>) -> tensor<4x32xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op length of scatter is 5, but R is 4}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<8x32x64xbf16>, tensor<9xi32>)
      scatter(%s : tensor<5xi32>)
      outs(%y : tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %0 : tensor<4x32xbf16>
}

// -----

func.func @odd_gated(%x: tensor<4x64xbf16>, %w: tensor<8x33x64xbf16>,
                     %off: tensor<9xi32>, %y: tensor<4x16xbf16>)
    -> tensor<4x16xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op a gated epilogue needs an even N, got 33}}
  %0 = moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<8x33x64xbf16>, tensor<9xi32>)
      outs(%y : tensor<4x16xbf16>) -> tensor<4x16xbf16>
  return %0 : tensor<4x16xbf16>
}

// -----

func.func @columns(%x: tensor<4x64xbf16>, %w: tensor<8x32x64xbf16>,
                   %off: tensor<9xi32>, %y: tensor<4x33xbf16>)
    -> tensor<4x33xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op N of outs is 33, but N of the weights is 32}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<8x32x64xbf16>, tensor<9xi32>)
      outs(%y : tensor<4x33xbf16>) -> tensor<4x33xbf16>
  return %0 : tensor<4x33xbf16>
}

// -----

func.func @gated_columns(%x: tensor<4x64xbf16>, %w: tensor<8x32x64xbf16>,
                         %off: tensor<9xi32>, %y: tensor<4x32xbf16>)
    -> tensor<4x32xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op N of outs is 32, but N/2 of the gated weights is 16}}
  %0 = moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = interleaved>}
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<8x32x64xbf16>, tensor<9xi32>)
      outs(%y : tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %0 : tensor<4x32xbf16>
}

// -----

func.func @rows(%x: tensor<4x64xbf16>, %w: tensor<8x32x64xbf16>,
                %off: tensor<9xi32>, %y: tensor<5x32xbf16>)
    -> tensor<5x32xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op R of outs is 5, but R of tokens is 4}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<8x32x64xbf16>, tensor<9xi32>)
      outs(%y : tensor<5x32xbf16>) -> tensor<5x32xbf16>
  return %0 : tensor<5x32xbf16>
}

// -----

func.func @gathered_rows(%x: tensor<4x64xbf16>, %w: tensor<8x32x64xbf16>,
                         %off: tensor<9xi32>, %g: tensor<6xi32>,
                         %y: tensor<4x32xbf16>) -> tensor<4x32xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op R of outs is 4, but length of gather is 6}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<8x32x64xbf16>, tensor<9xi32>)
      gather(%g : tensor<6xi32>)
      outs(%y : tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %0 : tensor<4x32xbf16>
}

// -----

func.func @mixed_semantics(%x: tensor<4x64xbf16>, %w: memref<8x32x64xbf16>,
                           %off: tensor<9xi32>, %y: tensor<4x32xbf16>)
    -> tensor<4x32xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op mixes tensors and memrefs; bufferize all operands or none}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x64xbf16>, memref<8x32x64xbf16>, tensor<9xi32>)
      outs(%y : tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %0 : tensor<4x32xbf16>
}

// -----

func.func @number_of_hints(%x: tensor<4x64xbf16>, %w: tensor<8x32x64xbf16>,
                           %off: tensor<9xi32>, %y: tensor<4x32xbf16>)
    -> tensor<4x32xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op expected_tokens has 2 entries; it needs one, or one for each of the E experts}}
  %0 = moe.grouped_matmul {expected_tokens = array<i64: 1, 2>}
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<8x32x64xbf16>, tensor<9xi32>)
      outs(%y : tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %0 : tensor<4x32xbf16>
}

// -----

func.func @hints_of_dynamic_experts(%x: tensor<4x64xbf16>,
                                    %w: tensor<?x32x64xbf16>,
                                    %off: tensor<?xi32>, %y: tensor<4x32xbf16>)
    -> tensor<4x32xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op expected_tokens has 2 entries; it needs one, or one for each of the E experts}}
  %0 = moe.grouped_matmul {expected_tokens = array<i64: 1, 2>}
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<?x32x64xbf16>, tensor<?xi32>)
      outs(%y : tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %0 : tensor<4x32xbf16>
}

// -----

func.func @negative_hint(%x: tensor<4x64xbf16>, %w: tensor<8x32x64xbf16>,
                         %off: tensor<9xi32>, %y: tensor<4x32xbf16>)
    -> tensor<4x32xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op expected_tokens has a negative entry}}
  %0 = moe.grouped_matmul {expected_tokens = array<i64: -1>}
      ins(%x, %w, %off : tensor<4x64xbf16>, tensor<8x32x64xbf16>, tensor<9xi32>)
      outs(%y : tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %0 : tensor<4x32xbf16>
}

// -----

func.func @swapped_element_types(%x: tensor<64x4xbf16>, %w: tensor<8x32x64xf16>,
                                 %off: tensor<9xi32>, %y: tensor<32x4xbf16>)
    -> tensor<32x4xbf16> {
  // expected-error @below {{'moe.grouped_matmul_swapped' op tokens are 'bf16' and weights are 'f16'; both must have one element type}}
  %0 = moe.grouped_matmul_swapped
      ins(%w, %x, %off : tensor<8x32x64xf16>, tensor<64x4xbf16>, tensor<9xi32>)
      outs(%y : tensor<32x4xbf16>) -> tensor<32x4xbf16>
  return %0 : tensor<32x4xbf16>
}

// -----

func.func @swapped_k(%x: tensor<4x64xbf16>, %w: tensor<8x32x64xbf16>,
                     %off: tensor<9xi32>, %y: tensor<32x4xbf16>)
    -> tensor<32x4xbf16> {
  // expected-error @below {{'moe.grouped_matmul_swapped' op K of the tokens is 4, but K of the weights (dimension 2, nk) is 64}}
  %0 = moe.grouped_matmul_swapped
      ins(%w, %x, %off : tensor<8x32x64xbf16>, tensor<4x64xbf16>, tensor<9xi32>)
      outs(%y : tensor<32x4xbf16>) -> tensor<32x4xbf16>
  return %0 : tensor<32x4xbf16>
}

// -----

func.func @swapped_columns(%x: tensor<64x4xbf16>, %w: tensor<8x32x64xbf16>,
                           %off: tensor<9xi32>, %y: tensor<4x32xbf16>)
    -> tensor<4x32xbf16> {
  // expected-error @below {{'moe.grouped_matmul_swapped' op N of outs is 4, but N of the weights is 32}}
  %0 = moe.grouped_matmul_swapped
      ins(%w, %x, %off : tensor<8x32x64xbf16>, tensor<64x4xbf16>, tensor<9xi32>)
      outs(%y : tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %0 : tensor<4x32xbf16>
}

// -----

func.func @swapped_rows(%x: tensor<64x4xbf16>, %w: tensor<8x32x64xbf16>,
                        %off: tensor<9xi32>, %y: tensor<32x5xbf16>)
    -> tensor<32x5xbf16> {
  // expected-error @below {{'moe.grouped_matmul_swapped' op R of outs is 5, but R of tokens is 4}}
  %0 = moe.grouped_matmul_swapped
      ins(%w, %x, %off : tensor<8x32x64xbf16>, tensor<64x4xbf16>, tensor<9xi32>)
      outs(%y : tensor<32x5xbf16>) -> tensor<32x5xbf16>
  return %0 : tensor<32x5xbf16>
}

// -----

func.func @swapped_row_major(%x: tensor<4x64xbf16>, %w: tensor<8x32x64xbf16>,
                             %off: tensor<9xi32>, %y: tensor<32x4xbf16>)
    -> tensor<32x4xbf16> {
  // expected-error @below {{'moe.grouped_matmul_swapped' op N of outs is 4, but N of the weights is 32}}
  %0 = moe.grouped_matmul_swapped {token_order = #moe.order<row_major>,
      result_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<8x32x64xbf16>, tensor<4x64xbf16>, tensor<9xi32>)
      outs(%y : tensor<32x4xbf16>) -> tensor<32x4xbf16>
  return %0 : tensor<32x4xbf16>
}

// -----

func.func @operand_type(%x: tensor<4x64xf64>, %w: tensor<8x32x64xbf16>,
                        %off: tensor<9xi32>, %y: tensor<4x32xbf16>)
    -> tensor<4x32xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op operand #0 must be 2-D tensor or memref of f32, f16 or bf16, but got 'tensor<4x64xf64>'}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<4x64xf64>, tensor<8x32x64xbf16>, tensor<9xi32>)
      outs(%y : tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %0 : tensor<4x32xbf16>
}

// -----

// expected-error @below {{schedule needs 1 to 3 consumer warpgroups, got 4}}
#schedule = #moe.schedule<m = 256, n = 8, k = 64, stages = 4, warpgroups = 4>

// -----

// expected-error @below {{schedule needs m to be a multiple of 8 rows for each of 2 warpgroups, got 72}}
#schedule = #moe.schedule<m = 72, n = 8, k = 64, stages = 4, warpgroups = 2>

// -----

// expected-error @below {{schedule needs n to be a multiple of 8 from 8 to 256, got 12}}
#schedule = #moe.schedule<m = 64, n = 12, k = 64, stages = 4, warpgroups = 1>

// -----

// expected-error @below {{schedule needs k = 64 (one row of the 128-byte swizzle), got 32}}
#schedule = #moe.schedule<m = 64, n = 8, k = 32, stages = 4, warpgroups = 1>

// -----

// expected-error @below {{schedule needs 2 to 32 stages, got 1}}
#schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 1, warpgroups = 1>

// -----

// expected-error @below {{schedule of large groups needs an n of more than 64 (the n of other groups), got 64}}
#schedule = #moe.schedule<m = 64, n = 64, k = 64, stages = 4, warpgroups = 1, large = <m = 128, n = 64, k = 64, stages = 4, warpgroups = 2>>

// -----

// expected-error @below {{schedule of large groups has a schedule of large groups itself; remove the inner one}}
#schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 4, warpgroups = 1, large = <m = 64, n = 16, k = 64, stages = 4, warpgroups = 1, large = <m = 128, n = 64, k = 64, stages = 4, warpgroups = 2>>>

// -----

// What only the generic form can say: two operands in the place of one, or none.

func.func @two_groups(%x: tensor<8x64xf32>, %w: tensor<4x64x64xf32>, %off: tensor<5xi32>, %y: tensor<8x64xf32>) {
  // expected-error @below {{'moe.grouped_matmul' op operandSegmentSizes gives operand group 2 2 operands; it takes exactly one}}
  %0 = "moe.grouped_matmul"(%x, %w, %off, %off, %y) <{operandSegmentSizes = array<i32: 1, 1, 2, 0, 0, 0, 0, 1>}>
      : (tensor<8x64xf32>, tensor<4x64x64xf32>, tensor<5xi32>, tensor<5xi32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}

// -----

func.func @no_groups(%x: tensor<8x64xf32>, %w: tensor<4x64x64xf32>, %bias: tensor<4x64xf32>, %y: tensor<8x64xf32>) {
  // expected-error @below {{'moe.grouped_matmul_swapped' op operandSegmentSizes gives operand group 2 0 operands; it takes exactly one}}
  %0 = "moe.grouped_matmul_swapped"(%w, %x, %bias, %y) <{operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0, 1>, token_order = #moe.order<row_major>, result_order = #moe.order<row_major>}>
      : (tensor<4x64x64xf32>, tensor<8x64xf32>, tensor<4x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}
