// RUN: moe-opt %s --allow-unregistered-dialect --moe-raise-ragged-dot \
// RUN:   | FileCheck %s
// RUN: moe-opt %s --allow-unregistered-dialect --moe-raise-ragged-dot \
// RUN:   --remarks-filter='moe.*' --verify-diagnostics

#none = dense<> : tensor<0xi64>
#dim0 = dense<0> : tensor<1xi64>
#dim1 = dense<1> : tensor<1xi64>
#dim2 = dense<2> : tensor<1xi64>
// Batching dimensions of lhs and rhs, contracting ones, the ragged one of lhs and
// the group one of rhs.
#kn = [#none, #none, #dim1, #dim1, #dim0, #dim0]
#nk = [#none, #none, #dim1, #dim2, #dim0, #dim0]

// CHECK-LABEL: func @kn_bf16
// CHECK-SAME:  %[[X:.*]]: tensor<64x16xbf16>, %[[W:.*]]: tensor<4x16x24xbf16>, %[[G:.*]]: tensor<4xi32>
// CHECK-DAG:   %[[ZERO:.*]] = arith.constant 0.000000e+00 : bf16
// CHECK-DAG:   %[[EMPTY:.*]] = tensor.empty() : tensor<64x24xbf16>
// CHECK:       %[[INIT:.*]] = linalg.fill ins(%[[ZERO]] : bf16) outs(%[[EMPTY]] : tensor<64x24xbf16>)
// CHECK:       %[[Y:.*]] = moe.grouped_matmul {group_kind = #moe.group_kind<sizes>, weight_layout = #moe.weight_layout<kn>}
// CHECK-SAME:  ins(%[[X]], %[[W]], %[[G]] : {{.*}}) outs(%[[INIT]] : tensor<64x24xbf16>) -> tensor<64x24xbf16>
// CHECK-NEXT:  return %[[Y]]
func.func @kn_bf16(%x: tensor<64x16xbf16>, %w: tensor<4x16x24xbf16>,
    %g: tensor<4xi32>) -> tensor<64x24xbf16> {
  // expected-remark @below {{ragged_dot raised to moe.grouped_matmul with kn weights}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {precision_config = ["DEFAULT", "HIGHEST"], ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xbf16>, tensor<4x16x24xbf16>, tensor<4xi32>)
    -> tensor<64x24xbf16>
  return %0 : tensor<64x24xbf16>
}

// CHECK-LABEL: func @nk_f16_to_f32
// CHECK: arith.constant 0.000000e+00 : f32
// CHECK: moe.grouped_matmul {group_kind = #moe.group_kind<sizes>} ins({{.*}} : tensor<64x16xf16>, tensor<4x24x16xf16>, tensor<4xi64>) outs({{.*}} : tensor<64x24xf32>)
func.func @nk_f16_to_f32(%x: tensor<64x16xf16>, %w: tensor<4x24x16xf16>,
    %g: tensor<4xi64>) -> tensor<64x24xf32> {
  // expected-remark @below {{ragged_dot raised to moe.grouped_matmul with nk weights}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #nk},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf16>, tensor<4x24x16xf16>, tensor<4xi64>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @f32
// CHECK: moe.grouped_matmul {{.*}} outs({{.*}} : tensor<64x24xf32>)
func.func @f32(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{ragged_dot raised to moe.grouped_matmul with kn weights}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {precision_config = ["HIGH", "HIGH"], ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @f16
// CHECK: moe.grouped_matmul {{.*}} outs({{.*}} : tensor<64x24xf16>)
func.func @f16(%x: tensor<64x16xf16>, %w: tensor<4x16x24xf16>,
    %g: tensor<4xi32>) -> tensor<64x24xf16> {
  // expected-remark @below {{ragged_dot raised to moe.grouped_matmul with kn weights}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf16>, tensor<4x16x24xf16>, tensor<4xi32>)
    -> tensor<64x24xf16>
  return %0 : tensor<64x24xf16>
}

// CHECK-LABEL: func @bf16_to_f32
// CHECK: moe.grouped_matmul {{.*}} outs({{.*}} : tensor<64x24xf32>)
func.func @bf16_to_f32(%x: tensor<64x16xbf16>, %w: tensor<4x16x24xbf16>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{ragged_dot raised to moe.grouped_matmul with kn weights}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xbf16>, tensor<4x16x24xbf16>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @dynamic_rows
// CHECK-SAME: %[[X:.*]]: tensor<?x16xbf16>
// CHECK:      %[[R:.*]] = tensor.dim %[[X]], %c0
// CHECK:      tensor.empty(%[[R]]) : tensor<?x24xbf16>
// CHECK:      moe.grouped_matmul {{.*}} -> tensor<?x24xbf16>
func.func @dynamic_rows(%x: tensor<?x16xbf16>, %w: tensor<4x16x24xbf16>,
    %g: tensor<4xi32>) -> tensor<?x24xbf16> {
  // expected-remark @below {{ragged_dot raised to moe.grouped_matmul with kn weights}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<?x16xbf16>, tensor<4x16x24xbf16>, tensor<4xi32>)
    -> tensor<?x24xbf16>
  return %0 : tensor<?x24xbf16>
}

// CHECK-LABEL: func @all_dynamic
// CHECK-SAME: %[[X:.*]]: tensor<?x?xbf16>, %[[W:.*]]: tensor<?x?x?xbf16>
// CHECK-DAG:  %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:  %[[R:.*]] = tensor.dim %[[X]], %c0
// CHECK-DAG:  %[[N:.*]] = tensor.dim %[[W]], %[[C1]]
// CHECK:      tensor.empty(%[[R]], %[[N]]) : tensor<?x?xbf16>
func.func @all_dynamic(%x: tensor<?x?xbf16>, %w: tensor<?x?x?xbf16>,
    %g: tensor<?xi32>) -> tensor<?x?xbf16> {
  // expected-remark @below {{ragged_dot raised to moe.grouped_matmul with nk weights}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #nk},
      name = "chlo.ragged_dot"}>
    : (tensor<?x?xbf16>, tensor<?x?x?xbf16>, tensor<?xi32>)
    -> tensor<?x?xbf16>
  return %0 : tensor<?x?xbf16>
}

// CHECK-LABEL: func @dynamic_result_of_static_operands
// CHECK: moe.grouped_matmul {{.*}} outs({{.*}} : tensor<?x?xf32>) -> tensor<?x?xf32>
func.func @dynamic_result_of_static_operands(%x: tensor<8x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<?x?xf32> {
  // expected-remark @below {{ragged_dot raised to moe.grouped_matmul with kn weights}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<8x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: func @empty
// CHECK: moe.grouped_matmul {{.*}} outs({{.*}} : tensor<0x0xf32>)
func.func @empty(%x: tensor<0x0xf32>, %w: tensor<0x0x0xf32>,
    %g: tensor<0xi32>) -> tensor<0x0xf32> {
  // expected-remark @below {{ragged_dot raised to moe.grouped_matmul with kn weights}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<0x0xf32>, tensor<0x0x0xf32>, tensor<0xi32>)
    -> tensor<0x0xf32>
  return %0 : tensor<0x0xf32>
}

// Attributes of the form before properties, and dimensions as a plain array.
// CHECK-LABEL: func @other_spelling
// CHECK: moe.grouped_matmul
func.func @other_spelling(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{ragged_dot raised to moe.grouped_matmul with kn weights}}
  %0 = "stablehlo.composite"(%x, %w, %g) {
      composite_attributes = {ragged_dot_dimension_numbers = [array<i64>, array<i64>, array<i64: 1>, array<i64: 1>, array<i64: 0>, array<i64: 0>]},
      decomposition = 1 : i32, name = "chlo.ragged_dot", version = 0 : i32}
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// In a region of an op of an unregistered dialect, outside of any function, and
// the composite and its rows in a cycle.
// CHECK-LABEL: "stablehlo.while"
// CHECK: moe.grouped_matmul
// CHECK: "stablehlo.return"
"stablehlo.while"() ({
  %w, %g = "test.operands"() : () -> (tensor<4x16x16xf32>, tensor<4xi32>)
  // expected-remark @below {{ragged_dot raised to moe.grouped_matmul with kn weights}}
  %0 = "stablehlo.composite"(%1, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<?x16xf32>, tensor<4x16x16xf32>, tensor<4xi32>)
    -> tensor<?x16xf32>
  %1 = "test.relu"(%0) : (tensor<?x16xf32>) -> tensor<?x16xf32>
  "stablehlo.return"() : () -> ()
}) : () -> ()
