// A whole Mixture-of-Experts layer, router included, small enough to follow by
// hand: 8 experts, 2 of them for each token, hidden size 64, intermediate size
// 32. The number of tokens is known at run time only.
//
// %x        the tokens
// %logits   the router's scores of each token for each expert
// %gate_up  [experts x (gate rows, then up rows) x hidden]
// %down     [experts x hidden x intermediate]

func.func @layer(%x: tensor<?x64xbf16>, %logits: tensor<?x8xf32>,
                 %gate_up: tensor<8x64x64xbf16>, %down: tensor<8x64x32xbf16>)
    -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %tokens = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %w = tensor.empty(%tokens) : tensor<?x2xf32>
  %i = tensor.empty(%tokens) : tensor<?x2xi32>
  %weights, %indices = moe.route {renormalize} ins(%logits : tensor<?x8xf32>)
      outs(%w, %i : tensor<?x2xf32>, tensor<?x2xi32>)
      -> tensor<?x2xf32>, tensor<?x2xi32>
  %init = tensor.empty(%tokens) : tensor<?x64xbf16>
  %y = moe.experts {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %indices, %weights, %gate_up, %down
          : tensor<?x64xbf16>, tensor<?x2xi32>, tensor<?x2xf32>,
            tensor<8x64x64xbf16>, tensor<8x64x32xbf16>)
      outs(%init : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
