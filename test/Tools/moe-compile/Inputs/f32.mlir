func.func @f(%x: tensor<?x64xf32>, %w: tensor<4x64x64xf32>, %off: tensor<5xi32>,
             %y: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = moe.grouped_matmul {expected_tokens = array<i64: 4>}
      ins(%x, %w, %off : tensor<?x64xf32>, tensor<4x64x64xf32>, tensor<5xi32>)
      outs(%y : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
