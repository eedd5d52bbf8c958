// What JAX writes for ragged dots of either weight layout.
#none = dense<> : tensor<0xi64>
#dim0 = dense<0> : tensor<1xi64>
#dim1 = dense<1> : tensor<1xi64>
#dim2 = dense<2> : tensor<1xi64>
#kn = [#none, #none, #dim1, #dim1, #dim0, #dim0]
#nk = [#none, #none, #dim1, #dim2, #dim0, #dim0]

func.func @nk(%x: tensor<64x256xbf16>, %w: tensor<8x192x256xbf16>, %sizes: tensor<8xi32>) -> tensor<64x192xbf16> {
  %0 = "stablehlo.composite"(%x, %w, %sizes) <{
      composite_attributes = {ragged_dot_dimension_numbers = #nk}, name = "chlo.ragged_dot"}>
    : (tensor<64x256xbf16>, tensor<8x192x256xbf16>, tensor<8xi32>) -> tensor<64x192xbf16>
  return %0 : tensor<64x192xbf16>
}

func.func @kn(%x: tensor<64x512xbf16>, %w: tensor<8x512x192xbf16>, %sizes: tensor<8xi32>) -> tensor<64x192xbf16> {
  %0 = "stablehlo.composite"(%x, %w, %sizes) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn}, name = "chlo.ragged_dot"}>
    : (tensor<64x512xbf16>, tensor<8x512x192xbf16>, tensor<8xi32>) -> tensor<64x192xbf16>
  return %0 : tensor<64x192xbf16>
}
