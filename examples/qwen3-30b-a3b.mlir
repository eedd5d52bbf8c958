// The experts layer of Qwen3-30B-A3B at full size, for 8 tokens: 128 experts,
// 8 of them for each token, hidden size 2048, intermediate size 768, bf16.
//
//   y[t] = sum over j of weights[t, j] * down_e(silu(gate_e x[t]) * up_e x[t]),
//   with e = indices[t, j]
//
// %x        the tokens
// %indices  the experts of each token, as the router chose them
// %weights  their routing weights
// %gate_up  [experts x (gate rows, then up rows) x hidden]: 805 MB
// %down     [experts x hidden x intermediate]: 403 MB
//
// See it taken apart, and the matmuls swapped:
//
//   moe-opt examples/qwen3-30b-a3b.mlir --moe-decompose-experts --moe-swap-ab

func.func @layer(%x: tensor<8x2048xbf16>, %indices: tensor<8x8xi32>,
                 %weights: tensor<8x8xf32>,
                 %gate_up: tensor<128x1536x2048xbf16>,
                 %down: tensor<128x2048x768xbf16>) -> tensor<8x2048xbf16> {
  %init = tensor.empty() : tensor<8x2048xbf16>
  %y = moe.experts {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %indices, %weights, %gate_up, %down
          : tensor<8x2048xbf16>, tensor<8x8xi32>, tensor<8x8xf32>,
            tensor<128x1536x2048xbf16>, tensor<128x2048x768xbf16>)
      outs(%init : tensor<8x2048xbf16>) -> tensor<8x2048xbf16>
  return %y : tensor<8x2048xbf16>
}
