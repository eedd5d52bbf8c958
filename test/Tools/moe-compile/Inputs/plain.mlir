func.func @f(%x: tensor<?x64xbf16>, %w: tensor<4x64x64xbf16>, %off: tensor<5xi32>,
             %y: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %0 = moe.grouped_matmul {expected_tokens = array<i64: 4>}
      ins(%x, %w, %off : tensor<?x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>)
      outs(%y : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return %0 : tensor<?x64xbf16>
}
