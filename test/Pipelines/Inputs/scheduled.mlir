// Swapped, with a schedule that nobody would choose.
func.func @nk(%x: tensor<?x256xbf16>, %w: tensor<8x192x256xbf16>, %off: tensor<9xi32>, %y: tensor<?x192xbf16>) -> tensor<?x192xbf16> {
  %0 = moe.grouped_matmul_swapped {
      schedule = #moe.schedule<m = 64, n = 24, k = 64, stages = 3, warpgroups = 1>,
      token_order = #moe.order<row_major>, result_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<8x192x256xbf16>, tensor<?x256xbf16>, tensor<9xi32>)
      outs(%y : tensor<?x192xbf16>) -> tensor<?x192xbf16>
  return %0 : tensor<?x192xbf16>
}

func.func @kn(%x: tensor<?x512xbf16>, %w: tensor<8x512x192xbf16>, %off: tensor<9xi32>, %y: tensor<?x192xbf16>) -> tensor<?x192xbf16> {
  %0 = moe.grouped_matmul_swapped {
      schedule = #moe.schedule<m = 64, n = 24, k = 64, stages = 3, warpgroups = 1>,
      weight_layout = #moe.weight_layout<kn>,
      token_order = #moe.order<row_major>, result_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<8x512x192xbf16>, tensor<?x512xbf16>, tensor<9xi32>)
      outs(%y : tensor<?x192xbf16>) -> tensor<?x192xbf16>
  return %0 : tensor<?x192xbf16>
}
