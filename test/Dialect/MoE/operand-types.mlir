// The type of every operand of every op: a wrong one is an error that says which
// operand it is and what it may be.
//
// RUN: moe-opt %s --split-input-file --verify-diagnostics

func.func @grouped_matmul_tokens(%arg0: memref<4x64xf64>,
    %arg1: memref<8x32x64xf32>, %arg2: memref<9xi32>, %arg3: memref<8x32xf32>,
    %arg4: memref<4xi32>, %arg5: memref<4xf32>, %arg6: memref<4xi32>,
    %arg7: memref<4x32xf32>) {
  // expected-error @below {{'moe.grouped_matmul' op operand #0 must be 2-D tensor or memref of f32, f16 or bf16, but got 'memref<4x64xf64>'}}
  moe.grouped_matmul ins(%arg0, %arg1, %arg2 : memref<4x64xf64>,
      memref<8x32x64xf32>, memref<9xi32>) bias(%arg3 : memref<8x32xf32>)
      gather(%arg4 : memref<4xi32>) scale(%arg5 : memref<4xf32>) scatter(%arg6 :
      memref<4xi32>) outs(%arg7 : memref<4x32xf32>)
  return
}

// -----

func.func @grouped_matmul_weights(%arg0: memref<4x64xf32>,
    %arg1: memref<1x8x32x64xf32>, %arg2: memref<9xi32>, %arg3: memref<8x32xf32>,
    %arg4: memref<4xi32>, %arg5: memref<4xf32>, %arg6: memref<4xi32>,
    %arg7: memref<4x32xf32>) {
  // expected-error @below {{'moe.grouped_matmul' op operand #1 must be 3-D tensor or memref of f32, f16 or bf16, but got 'memref<1x8x32x64xf32>'}}
  moe.grouped_matmul ins(%arg0, %arg1, %arg2 : memref<4x64xf32>,
      memref<1x8x32x64xf32>, memref<9xi32>) bias(%arg3 : memref<8x32xf32>)
      gather(%arg4 : memref<4xi32>) scale(%arg5 : memref<4xf32>) scatter(%arg6 :
      memref<4xi32>) outs(%arg7 : memref<4x32xf32>)
  return
}

// -----

func.func @grouped_matmul_groups(%arg0: memref<4x64xf32>,
    %arg1: memref<8x32x64xf32>, %arg2: memref<9xi16>, %arg3: memref<8x32xf32>,
    %arg4: memref<4xi32>, %arg5: memref<4xf32>, %arg6: memref<4xi32>,
    %arg7: memref<4x32xf32>) {
  // expected-error @below {{'moe.grouped_matmul' op operand #2 must be 1-D tensor or memref of i32 or i64, but got 'memref<9xi16>'}}
  moe.grouped_matmul ins(%arg0, %arg1, %arg2 : memref<4x64xf32>,
      memref<8x32x64xf32>, memref<9xi16>) bias(%arg3 : memref<8x32xf32>)
      gather(%arg4 : memref<4xi32>) scale(%arg5 : memref<4xf32>) scatter(%arg6 :
      memref<4xi32>) outs(%arg7 : memref<4x32xf32>)
  return
}

// -----

func.func @grouped_matmul_bias(%arg0: memref<4x64xf32>,
    %arg1: memref<8x32x64xf32>, %arg2: memref<9xi32>, %arg3: memref<1x8x32xf32>,
    %arg4: memref<4xi32>, %arg5: memref<4xf32>, %arg6: memref<4xi32>,
    %arg7: memref<4x32xf32>) {
  // expected-error @below {{'moe.grouped_matmul' op operand #3 must be 2-D tensor or memref of f32, f16 or bf16, but got 'memref<1x8x32xf32>'}}
  moe.grouped_matmul ins(%arg0, %arg1, %arg2 : memref<4x64xf32>,
      memref<8x32x64xf32>, memref<9xi32>) bias(%arg3 : memref<1x8x32xf32>)
      gather(%arg4 : memref<4xi32>) scale(%arg5 : memref<4xf32>) scatter(%arg6 :
      memref<4xi32>) outs(%arg7 : memref<4x32xf32>)
  return
}

// -----

func.func @grouped_matmul_gather(%arg0: memref<4x64xf32>,
    %arg1: memref<8x32x64xf32>, %arg2: memref<9xi32>, %arg3: memref<8x32xf32>,
    %arg4: memref<4xi16>, %arg5: memref<4xf32>, %arg6: memref<4xi32>,
    %arg7: memref<4x32xf32>) {
  // expected-error @below {{'moe.grouped_matmul' op operand #4 must be 1-D tensor or memref of i32 or i64, but got 'memref<4xi16>'}}
  moe.grouped_matmul ins(%arg0, %arg1, %arg2 : memref<4x64xf32>,
      memref<8x32x64xf32>, memref<9xi32>) bias(%arg3 : memref<8x32xf32>)
      gather(%arg4 : memref<4xi16>) scale(%arg5 : memref<4xf32>) scatter(%arg6 :
      memref<4xi32>) outs(%arg7 : memref<4x32xf32>)
  return
}

// -----

func.func @grouped_matmul_scale(%arg0: memref<4x64xf32>,
    %arg1: memref<8x32x64xf32>, %arg2: memref<9xi32>, %arg3: memref<8x32xf32>,
    %arg4: memref<4xi32>, %arg5: memref<1x4xf32>, %arg6: memref<4xi32>,
    %arg7: memref<4x32xf32>) {
  // expected-error @below {{'moe.grouped_matmul' op operand #5 must be 1-D tensor or memref of f32, f16 or bf16, but got 'memref<1x4xf32>'}}
  moe.grouped_matmul ins(%arg0, %arg1, %arg2 : memref<4x64xf32>,
      memref<8x32x64xf32>, memref<9xi32>) bias(%arg3 : memref<8x32xf32>)
      gather(%arg4 : memref<4xi32>) scale(%arg5 : memref<1x4xf32>) scatter(%arg6
      : memref<4xi32>) outs(%arg7 : memref<4x32xf32>)
  return
}

// -----

func.func @grouped_matmul_scatter(%arg0: memref<4x64xf32>,
    %arg1: memref<8x32x64xf32>, %arg2: memref<9xi32>, %arg3: memref<8x32xf32>,
    %arg4: memref<4xi32>, %arg5: memref<4xf32>, %arg6: memref<4xi16>,
    %arg7: memref<4x32xf32>) {
  // expected-error @below {{'moe.grouped_matmul' op operand #6 must be 1-D tensor or memref of i32 or i64, but got 'memref<4xi16>'}}
  moe.grouped_matmul ins(%arg0, %arg1, %arg2 : memref<4x64xf32>,
      memref<8x32x64xf32>, memref<9xi32>) bias(%arg3 : memref<8x32xf32>)
      gather(%arg4 : memref<4xi32>) scale(%arg5 : memref<4xf32>) scatter(%arg6 :
      memref<4xi16>) outs(%arg7 : memref<4x32xf32>)
  return
}

// -----

func.func @grouped_matmul_outs(%arg0: memref<4x64xf32>,
    %arg1: memref<8x32x64xf32>, %arg2: memref<9xi32>, %arg3: memref<8x32xf32>,
    %arg4: memref<4xi32>, %arg5: memref<4xf32>, %arg6: memref<4xi32>,
    %arg7: memref<1x4x32xf32>) {
  // expected-error @below {{'moe.grouped_matmul' op operand #7 must be 2-D tensor or memref of f32, f16 or bf16, but got 'memref<1x4x32xf32>'}}
  moe.grouped_matmul ins(%arg0, %arg1, %arg2 : memref<4x64xf32>,
      memref<8x32x64xf32>, memref<9xi32>) bias(%arg3 : memref<8x32xf32>)
      gather(%arg4 : memref<4xi32>) scale(%arg5 : memref<4xf32>) scatter(%arg6 :
      memref<4xi32>) outs(%arg7 : memref<1x4x32xf32>)
  return
}

// -----

func.func @grouped_matmul_swapped_weights(%arg0: memref<8x32x64xf64>,
    %arg1: memref<64x4xf32>, %arg2: memref<9xi32>, %arg3: memref<8x32xf32>,
    %arg4: memref<4xi32>, %arg5: memref<4xf32>, %arg6: memref<4xi32>,
    %arg7: memref<32x4xf32>) {
  // expected-error @below {{'moe.grouped_matmul_swapped' op operand #0 must be 3-D tensor or memref of f32, f16 or bf16, but got 'memref<8x32x64xf64>'}}
  moe.grouped_matmul_swapped ins(%arg0, %arg1, %arg2 : memref<8x32x64xf64>,
      memref<64x4xf32>, memref<9xi32>) bias(%arg3 : memref<8x32xf32>)
      gather(%arg4 : memref<4xi32>) scale(%arg5 : memref<4xf32>) scatter(%arg6 :
      memref<4xi32>) outs(%arg7 : memref<32x4xf32>)
  return
}

// -----

func.func @grouped_matmul_swapped_tokens(%arg0: memref<8x32x64xf32>,
    %arg1: memref<1x64x4xf32>, %arg2: memref<9xi32>, %arg3: memref<8x32xf32>,
    %arg4: memref<4xi32>, %arg5: memref<4xf32>, %arg6: memref<4xi32>,
    %arg7: memref<32x4xf32>) {
  // expected-error @below {{'moe.grouped_matmul_swapped' op operand #1 must be 2-D tensor or memref of f32, f16 or bf16, but got 'memref<1x64x4xf32>'}}
  moe.grouped_matmul_swapped ins(%arg0, %arg1, %arg2 : memref<8x32x64xf32>,
      memref<1x64x4xf32>, memref<9xi32>) bias(%arg3 : memref<8x32xf32>)
      gather(%arg4 : memref<4xi32>) scale(%arg5 : memref<4xf32>) scatter(%arg6 :
      memref<4xi32>) outs(%arg7 : memref<32x4xf32>)
  return
}

// -----

func.func @grouped_matmul_swapped_groups(%arg0: memref<8x32x64xf32>,
    %arg1: memref<64x4xf32>, %arg2: memref<9xi16>, %arg3: memref<8x32xf32>,
    %arg4: memref<4xi32>, %arg5: memref<4xf32>, %arg6: memref<4xi32>,
    %arg7: memref<32x4xf32>) {
  // expected-error @below {{'moe.grouped_matmul_swapped' op operand #2 must be 1-D tensor or memref of i32 or i64, but got 'memref<9xi16>'}}
  moe.grouped_matmul_swapped ins(%arg0, %arg1, %arg2 : memref<8x32x64xf32>,
      memref<64x4xf32>, memref<9xi16>) bias(%arg3 : memref<8x32xf32>)
      gather(%arg4 : memref<4xi32>) scale(%arg5 : memref<4xf32>) scatter(%arg6 :
      memref<4xi32>) outs(%arg7 : memref<32x4xf32>)
  return
}

// -----

func.func @grouped_matmul_swapped_bias(%arg0: memref<8x32x64xf32>,
    %arg1: memref<64x4xf32>, %arg2: memref<9xi32>, %arg3: memref<1x8x32xf32>,
    %arg4: memref<4xi32>, %arg5: memref<4xf32>, %arg6: memref<4xi32>,
    %arg7: memref<32x4xf32>) {
  // expected-error @below {{'moe.grouped_matmul_swapped' op operand #3 must be 2-D tensor or memref of f32, f16 or bf16, but got 'memref<1x8x32xf32>'}}
  moe.grouped_matmul_swapped ins(%arg0, %arg1, %arg2 : memref<8x32x64xf32>,
      memref<64x4xf32>, memref<9xi32>) bias(%arg3 : memref<1x8x32xf32>)
      gather(%arg4 : memref<4xi32>) scale(%arg5 : memref<4xf32>) scatter(%arg6 :
      memref<4xi32>) outs(%arg7 : memref<32x4xf32>)
  return
}

// -----

func.func @grouped_matmul_swapped_gather(%arg0: memref<8x32x64xf32>,
    %arg1: memref<64x4xf32>, %arg2: memref<9xi32>, %arg3: memref<8x32xf32>,
    %arg4: memref<4xi16>, %arg5: memref<4xf32>, %arg6: memref<4xi32>,
    %arg7: memref<32x4xf32>) {
  // expected-error @below {{'moe.grouped_matmul_swapped' op operand #4 must be 1-D tensor or memref of i32 or i64, but got 'memref<4xi16>'}}
  moe.grouped_matmul_swapped ins(%arg0, %arg1, %arg2 : memref<8x32x64xf32>,
      memref<64x4xf32>, memref<9xi32>) bias(%arg3 : memref<8x32xf32>)
      gather(%arg4 : memref<4xi16>) scale(%arg5 : memref<4xf32>) scatter(%arg6 :
      memref<4xi32>) outs(%arg7 : memref<32x4xf32>)
  return
}

// -----

func.func @grouped_matmul_swapped_scale(%arg0: memref<8x32x64xf32>,
    %arg1: memref<64x4xf32>, %arg2: memref<9xi32>, %arg3: memref<8x32xf32>,
    %arg4: memref<4xi32>, %arg5: memref<1x4xf32>, %arg6: memref<4xi32>,
    %arg7: memref<32x4xf32>) {
  // expected-error @below {{'moe.grouped_matmul_swapped' op operand #5 must be 1-D tensor or memref of f32, f16 or bf16, but got 'memref<1x4xf32>'}}
  moe.grouped_matmul_swapped ins(%arg0, %arg1, %arg2 : memref<8x32x64xf32>,
      memref<64x4xf32>, memref<9xi32>) bias(%arg3 : memref<8x32xf32>)
      gather(%arg4 : memref<4xi32>) scale(%arg5 : memref<1x4xf32>) scatter(%arg6
      : memref<4xi32>) outs(%arg7 : memref<32x4xf32>)
  return
}

// -----

func.func @grouped_matmul_swapped_scatter(%arg0: memref<8x32x64xf32>,
    %arg1: memref<64x4xf32>, %arg2: memref<9xi32>, %arg3: memref<8x32xf32>,
    %arg4: memref<4xi32>, %arg5: memref<4xf32>, %arg6: memref<4xi16>,
    %arg7: memref<32x4xf32>) {
  // expected-error @below {{'moe.grouped_matmul_swapped' op operand #6 must be 1-D tensor or memref of i32 or i64, but got 'memref<4xi16>'}}
  moe.grouped_matmul_swapped ins(%arg0, %arg1, %arg2 : memref<8x32x64xf32>,
      memref<64x4xf32>, memref<9xi32>) bias(%arg3 : memref<8x32xf32>)
      gather(%arg4 : memref<4xi32>) scale(%arg5 : memref<4xf32>) scatter(%arg6 :
      memref<4xi16>) outs(%arg7 : memref<32x4xf32>)
  return
}

// -----

func.func @grouped_matmul_swapped_outs(%arg0: memref<8x32x64xf32>,
    %arg1: memref<64x4xf32>, %arg2: memref<9xi32>, %arg3: memref<8x32xf32>,
    %arg4: memref<4xi32>, %arg5: memref<4xf32>, %arg6: memref<4xi32>,
    %arg7: memref<1x32x4xf32>) {
  // expected-error @below {{'moe.grouped_matmul_swapped' op operand #7 must be 2-D tensor or memref of f32, f16 or bf16, but got 'memref<1x32x4xf32>'}}
  moe.grouped_matmul_swapped ins(%arg0, %arg1, %arg2 : memref<8x32x64xf32>,
      memref<64x4xf32>, memref<9xi32>) bias(%arg3 : memref<8x32xf32>)
      gather(%arg4 : memref<4xi32>) scale(%arg5 : memref<4xf32>) scatter(%arg6 :
      memref<4xi32>) outs(%arg7 : memref<1x32x4xf32>)
  return
}

// -----

func.func @route_logits(%arg0: memref<4x8xf64>, %arg1: memref<8xf32>,
    %arg2: memref<4x2xf32>, %arg3: memref<4x2xi32>) {
  // expected-error @below {{'moe.route' op operand #0 must be 2-D tensor or memref of f32, f16 or bf16, but got 'memref<4x8xf64>'}}
  moe.route ins(%arg0 : memref<4x8xf64>) bias(%arg1 : memref<8xf32>)
      outs(%arg2, %arg3 : memref<4x2xf32>, memref<4x2xi32>)
  return
}

// -----

func.func @route_bias(%arg0: memref<4x8xf32>, %arg1: memref<1x8xf32>,
    %arg2: memref<4x2xf32>, %arg3: memref<4x2xi32>) {
  // expected-error @below {{'moe.route' op operand #1 must be 1-D tensor or memref of f32, f16 or bf16, but got 'memref<1x8xf32>'}}
  moe.route ins(%arg0 : memref<4x8xf32>) bias(%arg1 : memref<1x8xf32>)
      outs(%arg2, %arg3 : memref<4x2xf32>, memref<4x2xi32>)
  return
}

// -----

func.func @route_weights(%arg0: memref<4x8xf32>, %arg1: memref<8xf32>,
    %arg2: memref<4x2xf64>, %arg3: memref<4x2xi32>) {
  // expected-error @below {{'moe.route' op operand #2 must be 2-D tensor or memref of f32, f16 or bf16, but got 'memref<4x2xf64>'}}
  moe.route ins(%arg0 : memref<4x8xf32>) bias(%arg1 : memref<8xf32>)
      outs(%arg2, %arg3 : memref<4x2xf64>, memref<4x2xi32>)
  return
}

// -----

func.func @route_indices(%arg0: memref<4x8xf32>, %arg1: memref<8xf32>,
    %arg2: memref<4x2xf32>, %arg3: memref<1x4x2xi32>) {
  // expected-error @below {{'moe.route' op operand #3 must be 2-D tensor or memref of i32 or i64, but got 'memref<1x4x2xi32>'}}
  moe.route ins(%arg0 : memref<4x8xf32>) bias(%arg1 : memref<8xf32>)
      outs(%arg2, %arg3 : memref<4x2xf32>, memref<1x4x2xi32>)
  return
}

// -----

func.func @dispatch_indices(%arg0: memref<4x2xi16>, %arg1: memref<8xi32>,
    %arg2: memref<4x2xi32>, %arg3: memref<9xi32>) {
  // expected-error @below {{'moe.dispatch' op operand #0 must be 2-D tensor or memref of i32 or i64, but got 'memref<4x2xi16>'}}
  moe.dispatch ins(%arg0 : memref<4x2xi16>) outs(%arg1, %arg2, %arg3 :
      memref<8xi32>, memref<4x2xi32>, memref<9xi32>)
  return
}

// -----

func.func @dispatch_token_of_row(%arg0: memref<4x2xi32>, %arg1: memref<1x8xi32>,
    %arg2: memref<4x2xi32>, %arg3: memref<9xi32>) {
  // expected-error @below {{'moe.dispatch' op operand #1 must be 1-D tensor or memref of i32, but got 'memref<1x8xi32>'}}
  moe.dispatch ins(%arg0 : memref<4x2xi32>) outs(%arg1, %arg2, %arg3 :
      memref<1x8xi32>, memref<4x2xi32>, memref<9xi32>)
  return
}

// -----

func.func @dispatch_row_of_pair(%arg0: memref<4x2xi32>, %arg1: memref<8xi32>,
    %arg2: memref<4x2xi64>, %arg3: memref<9xi32>) {
  // expected-error @below {{'moe.dispatch' op operand #2 must be 2-D tensor or memref of i32, but got 'memref<4x2xi64>'}}
  moe.dispatch ins(%arg0 : memref<4x2xi32>) outs(%arg1, %arg2, %arg3 :
      memref<8xi32>, memref<4x2xi64>, memref<9xi32>)
  return
}

// -----

func.func @dispatch_offsets(%arg0: memref<4x2xi32>, %arg1: memref<8xi32>,
    %arg2: memref<4x2xi32>, %arg3: memref<1x9xi32>) {
  // expected-error @below {{'moe.dispatch' op operand #3 must be 1-D tensor or memref of i32, but got 'memref<1x9xi32>'}}
  moe.dispatch ins(%arg0 : memref<4x2xi32>) outs(%arg1, %arg2, %arg3 :
      memref<8xi32>, memref<4x2xi32>, memref<1x9xi32>)
  return
}

// -----

func.func @combine_rows(%arg0: memref<8x64xf64>, %arg1: memref<4x2xi32>,
    %arg2: memref<4x2xf32>, %arg3: memref<4x64xf32>) {
  // expected-error @below {{'moe.combine' op operand #0 must be 2-D tensor or memref of f32, f16 or bf16, but got 'memref<8x64xf64>'}}
  moe.combine ins(%arg0, %arg1 : memref<8x64xf64>, memref<4x2xi32>)
      weights(%arg2 : memref<4x2xf32>) outs(%arg3 : memref<4x64xf32>)
  return
}

// -----

func.func @combine_row_of_pair(%arg0: memref<8x64xf32>,
    %arg1: memref<1x4x2xi32>, %arg2: memref<4x2xf32>, %arg3: memref<4x64xf32>) {
  // expected-error @below {{'moe.combine' op operand #1 must be 2-D tensor or memref of i32 or i64, but got 'memref<1x4x2xi32>'}}
  moe.combine ins(%arg0, %arg1 : memref<8x64xf32>, memref<1x4x2xi32>)
      weights(%arg2 : memref<4x2xf32>) outs(%arg3 : memref<4x64xf32>)
  return
}

// -----

func.func @combine_weights(%arg0: memref<8x64xf32>, %arg1: memref<4x2xi32>,
    %arg2: memref<4x2xf64>, %arg3: memref<4x64xf32>) {
  // expected-error @below {{'moe.combine' op operand #2 must be 2-D tensor or memref of f32, f16 or bf16, but got 'memref<4x2xf64>'}}
  moe.combine ins(%arg0, %arg1 : memref<8x64xf32>, memref<4x2xi32>)
      weights(%arg2 : memref<4x2xf64>) outs(%arg3 : memref<4x64xf32>)
  return
}

// -----

func.func @combine_outs(%arg0: memref<8x64xf32>, %arg1: memref<4x2xi32>,
    %arg2: memref<4x2xf32>, %arg3: memref<1x4x64xf32>) {
  // expected-error @below {{'moe.combine' op operand #3 must be 2-D tensor or memref of f32, f16 or bf16, but got 'memref<1x4x64xf32>'}}
  moe.combine ins(%arg0, %arg1 : memref<8x64xf32>, memref<4x2xi32>)
      weights(%arg2 : memref<4x2xf32>) outs(%arg3 : memref<1x4x64xf32>)
  return
}

// -----

func.func @experts_tokens(%arg0: memref<4x64xf64>, %arg1: memref<4x2xi32>,
    %arg2: memref<4x2xf32>, %arg3: memref<8x32x64xf32>,
    %arg4: memref<8x64x32xf32>, %arg5: memref<8x32xf32>,
    %arg6: memref<8x64xf32>, %arg7: memref<4x64xf32>) {
  // expected-error @below {{'moe.experts' op operand #0 must be 2-D tensor or memref of f32, f16 or bf16, but got 'memref<4x64xf64>'}}
  moe.experts ins(%arg0, %arg1, %arg2, %arg3, %arg4 : memref<4x64xf64>,
      memref<4x2xi32>, memref<4x2xf32>, memref<8x32x64xf32>,
      memref<8x64x32xf32>) gate_up_bias(%arg5 : memref<8x32xf32>)
      down_bias(%arg6 : memref<8x64xf32>) outs(%arg7 : memref<4x64xf32>)
  return
}

// -----

func.func @experts_indices(%arg0: memref<4x64xf32>, %arg1: memref<1x4x2xi32>,
    %arg2: memref<4x2xf32>, %arg3: memref<8x32x64xf32>,
    %arg4: memref<8x64x32xf32>, %arg5: memref<8x32xf32>,
    %arg6: memref<8x64xf32>, %arg7: memref<4x64xf32>) {
  // expected-error @below {{'moe.experts' op operand #1 must be 2-D tensor or memref of i32 or i64, but got 'memref<1x4x2xi32>'}}
  moe.experts ins(%arg0, %arg1, %arg2, %arg3, %arg4 : memref<4x64xf32>,
      memref<1x4x2xi32>, memref<4x2xf32>, memref<8x32x64xf32>,
      memref<8x64x32xf32>) gate_up_bias(%arg5 : memref<8x32xf32>)
      down_bias(%arg6 : memref<8x64xf32>) outs(%arg7 : memref<4x64xf32>)
  return
}

// -----

func.func @experts_weights(%arg0: memref<4x64xf32>, %arg1: memref<4x2xi32>,
    %arg2: memref<4x2xf64>, %arg3: memref<8x32x64xf32>,
    %arg4: memref<8x64x32xf32>, %arg5: memref<8x32xf32>,
    %arg6: memref<8x64xf32>, %arg7: memref<4x64xf32>) {
  // expected-error @below {{'moe.experts' op operand #2 must be 2-D tensor or memref of f32, f16 or bf16, but got 'memref<4x2xf64>'}}
  moe.experts ins(%arg0, %arg1, %arg2, %arg3, %arg4 : memref<4x64xf32>,
      memref<4x2xi32>, memref<4x2xf64>, memref<8x32x64xf32>,
      memref<8x64x32xf32>) gate_up_bias(%arg5 : memref<8x32xf32>)
      down_bias(%arg6 : memref<8x64xf32>) outs(%arg7 : memref<4x64xf32>)
  return
}

// -----

func.func @experts_gate_up(%arg0: memref<4x64xf32>, %arg1: memref<4x2xi32>,
    %arg2: memref<4x2xf32>, %arg3: memref<1x8x32x64xf32>,
    %arg4: memref<8x64x32xf32>, %arg5: memref<8x32xf32>,
    %arg6: memref<8x64xf32>, %arg7: memref<4x64xf32>) {
  // expected-error @below {{'moe.experts' op operand #3 must be 3-D tensor or memref of f32, f16 or bf16, but got 'memref<1x8x32x64xf32>'}}
  moe.experts ins(%arg0, %arg1, %arg2, %arg3, %arg4 : memref<4x64xf32>,
      memref<4x2xi32>, memref<4x2xf32>, memref<1x8x32x64xf32>,
      memref<8x64x32xf32>) gate_up_bias(%arg5 : memref<8x32xf32>)
      down_bias(%arg6 : memref<8x64xf32>) outs(%arg7 : memref<4x64xf32>)
  return
}

// -----

func.func @experts_down(%arg0: memref<4x64xf32>, %arg1: memref<4x2xi32>,
    %arg2: memref<4x2xf32>, %arg3: memref<8x32x64xf32>,
    %arg4: memref<8x64x32xf64>, %arg5: memref<8x32xf32>,
    %arg6: memref<8x64xf32>, %arg7: memref<4x64xf32>) {
  // expected-error @below {{'moe.experts' op operand #4 must be 3-D tensor or memref of f32, f16 or bf16, but got 'memref<8x64x32xf64>'}}
  moe.experts ins(%arg0, %arg1, %arg2, %arg3, %arg4 : memref<4x64xf32>,
      memref<4x2xi32>, memref<4x2xf32>, memref<8x32x64xf32>,
      memref<8x64x32xf64>) gate_up_bias(%arg5 : memref<8x32xf32>)
      down_bias(%arg6 : memref<8x64xf32>) outs(%arg7 : memref<4x64xf32>)
  return
}

// -----

func.func @experts_gate_up_bias(%arg0: memref<4x64xf32>, %arg1: memref<4x2xi32>,
    %arg2: memref<4x2xf32>, %arg3: memref<8x32x64xf32>,
    %arg4: memref<8x64x32xf32>, %arg5: memref<1x8x32xf32>,
    %arg6: memref<8x64xf32>, %arg7: memref<4x64xf32>) {
  // expected-error @below {{'moe.experts' op operand #5 must be 2-D tensor or memref of f32, f16 or bf16, but got 'memref<1x8x32xf32>'}}
  moe.experts ins(%arg0, %arg1, %arg2, %arg3, %arg4 : memref<4x64xf32>,
      memref<4x2xi32>, memref<4x2xf32>, memref<8x32x64xf32>,
      memref<8x64x32xf32>) gate_up_bias(%arg5 : memref<1x8x32xf32>)
      down_bias(%arg6 : memref<8x64xf32>) outs(%arg7 : memref<4x64xf32>)
  return
}

// -----

func.func @experts_down_bias(%arg0: memref<4x64xf32>, %arg1: memref<4x2xi32>,
    %arg2: memref<4x2xf32>, %arg3: memref<8x32x64xf32>,
    %arg4: memref<8x64x32xf32>, %arg5: memref<8x32xf32>,
    %arg6: memref<8x64xf64>, %arg7: memref<4x64xf32>) {
  // expected-error @below {{'moe.experts' op operand #6 must be 2-D tensor or memref of f32, f16 or bf16, but got 'memref<8x64xf64>'}}
  moe.experts ins(%arg0, %arg1, %arg2, %arg3, %arg4 : memref<4x64xf32>,
      memref<4x2xi32>, memref<4x2xf32>, memref<8x32x64xf32>,
      memref<8x64x32xf32>) gate_up_bias(%arg5 : memref<8x32xf32>)
      down_bias(%arg6 : memref<8x64xf64>) outs(%arg7 : memref<4x64xf32>)
  return
}

// -----

func.func @experts_outs(%arg0: memref<4x64xf32>, %arg1: memref<4x2xi32>,
    %arg2: memref<4x2xf32>, %arg3: memref<8x32x64xf32>,
    %arg4: memref<8x64x32xf32>, %arg5: memref<8x32xf32>,
    %arg6: memref<8x64xf32>, %arg7: memref<1x4x64xf32>) {
  // expected-error @below {{'moe.experts' op operand #7 must be 2-D tensor or memref of f32, f16 or bf16, but got 'memref<1x4x64xf32>'}}
  moe.experts ins(%arg0, %arg1, %arg2, %arg3, %arg4 : memref<4x64xf32>,
      memref<4x2xi32>, memref<4x2xf32>, memref<8x32x64xf32>,
      memref<8x64x32xf32>) gate_up_bias(%arg5 : memref<8x32xf32>)
      down_bias(%arg6 : memref<8x64xf32>) outs(%arg7 : memref<1x4x64xf32>)
  return
}
