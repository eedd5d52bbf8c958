// The example of the pass documentation.

// RUN: moe-opt %s --allow-unregistered-dialect --moe-raise-ragged-dot | FileCheck %s

// CHECK:      func.func @main(%[[X:.*]]: tensor<64x2048xbf16>, %[[W:.*]]: tensor<128x2048x1536xbf16>, %[[SIZES:.*]]: tensor<128xi32>)
// CHECK-DAG:    %[[ZERO:.*]] = arith.constant 0.000000e+00 : bf16
// CHECK-DAG:    %[[EMPTY:.*]] = tensor.empty() : tensor<64x1536xbf16>
// CHECK:        %[[INIT:.*]] = linalg.fill ins(%[[ZERO]] : bf16) outs(%[[EMPTY]] : tensor<64x1536xbf16>)
// CHECK:        %[[Y:.*]] = moe.grouped_matmul {group_kind = #moe.group_kind<sizes>, weight_layout = #moe.weight_layout<kn>}
// CHECK-SAME:     ins(%[[X]], %[[W]], %[[SIZES]] : tensor<64x2048xbf16>, tensor<128x2048x1536xbf16>, tensor<128xi32>)
// CHECK-SAME:     outs(%[[INIT]] : tensor<64x1536xbf16>) -> tensor<64x1536xbf16>
// CHECK:        return %[[Y]]
func.func @main(%x: tensor<64x2048xbf16>, %w: tensor<128x2048x1536xbf16>,
                %sizes: tensor<128xi32>) -> tensor<64x1536xbf16> {
  %0 = "stablehlo.composite"(%x, %w, %sizes) <{
      composite_attributes = {
        precision_config = ["DEFAULT", "DEFAULT"],
        // Dimensions of lhs and rhs: batching, contracting, and the ragged
        // one of lhs, the group one of rhs.
        ragged_dot_dimension_numbers = [
          dense<> : tensor<0xi64>, dense<> : tensor<0xi64>,
          dense<1> : tensor<1xi64>, dense<1> : tensor<1xi64>,
          dense<0> : tensor<1xi64>, dense<0> : tensor<1xi64>]},
      decomposition = @chlo.ragged_dot.impl, name = "chlo.ragged_dot",
      version = 1 : i32}>
    : (tensor<64x2048xbf16>, tensor<128x2048x1536xbf16>, tensor<128xi32>)
    -> tensor<64x1536xbf16>
  return %0 : tensor<64x1536xbf16>
}
