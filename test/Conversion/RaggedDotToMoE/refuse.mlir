// What the op cannot say, and what is malformed, stays as it is; a remark says why.

// RUN: moe-opt %s --allow-unregistered-dialect --moe-raise-ragged-dot \
// RUN:   --remarks-filter='moe.*' --verify-diagnostics \
// RUN:   | FileCheck %s --implicit-check-not=moe.grouped_matmul

#none = dense<> : tensor<0xi64>
#dim0 = dense<0> : tensor<1xi64>
#dim1 = dense<1> : tensor<1xi64>
#dim2 = dense<2> : tensor<1xi64>
// Batching dimensions of lhs and rhs, contracting ones, the ragged one of lhs and
// the group one of rhs.
#kn = [#none, #none, #dim1, #dim1, #dim0, #dim0]

// CHECK-LABEL: func @lhs_batching
// CHECK:         "stablehlo.composite"
func.func @lhs_batching(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: it has batching dimensions}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = [#dim0, #none, #dim1, #dim1, #dim0, #dim0]},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @rhs_batching
// CHECK:         "stablehlo.composite"
func.func @rhs_batching(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: it has batching dimensions}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = [#none, #dim0, #dim1, #dim1, #dim0, #dim0]},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @ragged_contracting
// CHECK:         "stablehlo.composite"
func.func @ragged_contracting(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: its ragged dimension is the contracting one}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = [#none, #none, #dim1, #dim1, #dim1, #none]},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @ragged_columns
// CHECK:         "stablehlo.composite"
func.func @ragged_columns(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: lhs must be ragged in dimension 0 and contracted in dimension 1}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = [#none, #none, #dim0, #dim1, #dim1, #dim0]},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @two_contracting
// CHECK:         "stablehlo.composite"
func.func @two_contracting(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: lhs must be ragged in dimension 0 and contracted in dimension 1}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = [#none, #none, dense<[0,1]> : tensor<2xi64>, dense<[0,1]> : tensor<2xi64>, #dim0, #dim0]},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @group_dimension
// CHECK:         "stablehlo.composite"
func.func @group_dimension(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: dimension 0 of rhs must be the group dimension}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = [#none, #none, #dim1, #dim1, #dim0, #dim2]},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @no_group_dimension
// CHECK:         "stablehlo.composite"
func.func @no_group_dimension(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: dimension 0 of rhs must be the group dimension}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = [#none, #none, #dim1, #dim1, #dim0, #none]},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @rhs_contracting
// CHECK:         "stablehlo.composite"
func.func @rhs_contracting(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: rhs must be contracted in dimension 1 or 2}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = [#none, #none, #dim1, dense<-1> : tensor<1xi64>, #dim0, #dim0]},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @five_lists
// CHECK:         "stablehlo.composite"
func.func @five_lists(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: ragged_dot_dimension_numbers is not an array of six lists of dimensions}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = [#none, #none, #dim1, #dim1, #dim0]},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @no_dimension_numbers
// CHECK:         "stablehlo.composite"
func.func @no_dimension_numbers(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: ragged_dot_dimension_numbers is not an array of six lists of dimensions}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @list_of_another_kind
// CHECK:         "stablehlo.composite"
func.func @list_of_another_kind(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: entry 3 of ragged_dot_dimension_numbers is not a list of at most two i64 dimensions}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = [#none, #none, #dim1, "1", #dim0, #dim0]},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @list_of_i32
// CHECK:         "stablehlo.composite"
func.func @list_of_i32(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: entry 2 of ragged_dot_dimension_numbers is not}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = [#none, #none, dense<1> : tensor<1xi32>, #dim1, #dim0, #dim0]},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @list_of_rank_2
// CHECK:         "stablehlo.composite"
func.func @list_of_rank_2(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: entry 5 of ragged_dot_dimension_numbers is not}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = [#none, #none, #dim1, #dim1, #dim0, dense<0> : tensor<1x1xi64>]},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @long_list
// CHECK:         "stablehlo.composite"
func.func @long_list(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: entry 4 of ragged_dot_dimension_numbers is not}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = [#none, #none, #dim1, #dim1, dense<0> : tensor<4294967296xi64>, #dim0]},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @long_array
// CHECK:         "stablehlo.composite"
func.func @long_array(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: entry 4 of ragged_dot_dimension_numbers is not}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = [#none, #none, #dim1, #dim1, array<i64: 0, 0, 0>, #dim0]},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @no_attributes
// CHECK:         "stablehlo.composite"
func.func @no_attributes(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: composite_attributes is not a dictionary}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      version = 1 : i32,
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @attributes_of_another_kind
// CHECK:         "stablehlo.composite"
func.func @attributes_of_another_kind(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: composite_attributes is not a dictionary}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = [],
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @unknown_attribute
// CHECK:         "stablehlo.composite"
func.func @unknown_attribute(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: composite attribute 'group_offset' is not known}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {group_offset = 1, ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @precision_of_another_kind
// CHECK:         "stablehlo.composite"
func.func @precision_of_another_kind(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: precision_config is not an array}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {precision_config = "HIGH", ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @unknown_precision
// CHECK:         "stablehlo.composite"
func.func @unknown_precision(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: precision_config holds something else than DEFAULT, HIGH and HIGHEST}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {precision_config = ["PACKED_NIBBLE"], ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @newer_version
// CHECK:         "stablehlo.composite"
func.func @newer_version(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: version is not 0 or 1}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn}, version = 2 : i32,
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @version_of_another_kind
// CHECK:         "stablehlo.composite"
func.func @version_of_another_kind(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: version is not 0 or 1}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn}, version = "1",
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @lhs_rank
// CHECK:         "stablehlo.composite"
func.func @lhs_rank(%x: tensor<2x64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: lhs is not a tensor of rank 2}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<2x64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @lhs_unranked
// CHECK:         "stablehlo.composite"
func.func @lhs_unranked(%x: tensor<*xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: lhs is not a tensor of rank 2}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<*xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @lhs_memref
// CHECK:         "stablehlo.composite"
func.func @lhs_memref(%x: memref<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: lhs is not a tensor of rank 2}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (memref<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @lhs_scalar
// CHECK:         "stablehlo.composite"
func.func @lhs_scalar(%x: f32, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: lhs is not a tensor of rank 2}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (f32, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @lhs_encoding
// CHECK:         "stablehlo.composite"
func.func @lhs_encoding(%x: tensor<64x16xf32, "csr">, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: lhs has an encoding}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32, "csr">, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @rhs_rank
// CHECK:         "stablehlo.composite"
func.func @rhs_rank(%x: tensor<64x16xf32>, %w: tensor<16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: rhs is not a tensor of rank 3}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @sizes_rank
// CHECK:         "stablehlo.composite"
func.func @sizes_rank(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<2x4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: group_sizes is not a tensor of rank 1}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<2x4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @result_rank
// CHECK:         "stablehlo.composite"
func.func @result_rank(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<2x64x24xf32> {
  // expected-remark @below {{left as it is: the result is not a tensor of rank 2}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<2x64x24xf32>
  return %0 : tensor<2x64x24xf32>
}

// CHECK-LABEL: func @mixed_types
// CHECK:         "stablehlo.composite"
func.func @mixed_types(%x: tensor<64x16xbf16>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: the element types of lhs and rhs differ}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xbf16>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @f64
// CHECK:         "stablehlo.composite"
func.func @f64(%x: tensor<64x16xf64>, %w: tensor<4x16x24xf64>,
    %g: tensor<4xi32>) -> tensor<64x24xf64> {
  // expected-remark @below {{left as it is: the element type of lhs and rhs is not f16, bf16 or f32}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf64>, tensor<4x16x24xf64>, tensor<4xi32>)
    -> tensor<64x24xf64>
  return %0 : tensor<64x24xf64>
}

// CHECK-LABEL: func @integers
// CHECK:         "stablehlo.composite"
func.func @integers(%x: tensor<64x16xi8>, %w: tensor<4x16x24xi8>,
    %g: tensor<4xi32>) -> tensor<64x24xi32> {
  // expected-remark @below {{left as it is: the element type of lhs and rhs is not f16, bf16 or f32}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xi8>, tensor<4x16x24xi8>, tensor<4xi32>)
    -> tensor<64x24xi32>
  return %0 : tensor<64x24xi32>
}

// CHECK-LABEL: func @result_type
// CHECK:         "stablehlo.composite"
func.func @result_type(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xbf16> {
  // expected-remark @below {{left as it is: the element type of the result is neither that of the operands nor f32}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xbf16>
  return %0 : tensor<64x24xbf16>
}

// CHECK-LABEL: func @sizes_type
// CHECK:         "stablehlo.composite"
func.func @sizes_type(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xui32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: the element type of group_sizes is not i32 or i64}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xui32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @contracting_sizes
// CHECK:         "stablehlo.composite"
func.func @contracting_sizes(%x: tensor<64x15xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: the contracting sizes of lhs and rhs differ}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x15xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @group_count
// CHECK:         "stablehlo.composite"
func.func @group_count(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<5xi32>) -> tensor<64x24xf32> {
  // expected-remark @below {{left as it is: group_sizes does not have one entry for each group of rhs}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<5xi32>)
    -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}

// CHECK-LABEL: func @result_rows
// CHECK:         "stablehlo.composite"
func.func @result_rows(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<63x24xf32> {
  // expected-remark @below {{left as it is: the result does not have the rows of lhs and the columns of rhs}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<63x24xf32>
  return %0 : tensor<63x24xf32>
}

// CHECK-LABEL: func @result_columns
// CHECK:         "stablehlo.composite"
func.func @result_columns(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) -> tensor<64x16xf32> {
  // expected-remark @below {{left as it is: the result does not have the rows of lhs and the columns of rhs}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x16xf32>
  return %0 : tensor<64x16xf32>
}

// CHECK-LABEL: func @operand_count
// CHECK-COUNT-4:   "stablehlo.composite"
func.func @operand_count(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) {
  // expected-remark @below {{left as it is: it has 2 operands; lhs, rhs and group_sizes are expected}}
  %0 = "stablehlo.composite"(%x, %w) <{name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>) -> tensor<64x24xf32>
  // expected-remark @below {{left as it is: it has 4 operands; lhs, rhs and group_sizes are expected}}
  %1 = "stablehlo.composite"(%x, %w, %g, %g) <{name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  // expected-remark @below {{left as it is: it has 0 results; one is expected}}
  "stablehlo.composite"(%x, %w, %g) <{name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>) -> ()
  // expected-remark @below {{left as it is: it has regions or successors}}
  %2 = "stablehlo.composite"(%x, %w, %g) <{name = "chlo.ragged_dot"}> ({})
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
  return
}

// CHECK-LABEL: func @successors
// CHECK:         "stablehlo.composite"
func.func @successors(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) {
  // expected-remark @below {{left as it is: it has regions or successors}}
  %0 = "stablehlo.composite"(%x, %w, %g)[^bb1] <{name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
^bb1:
  return
}

// It may be a terminator, which a grouped matmul is not.
// CHECK-LABEL: func @last_in_its_block
// CHECK:         "stablehlo.composite"
func.func @last_in_its_block(%x: tensor<64x16xf32>, %w: tensor<4x16x24xf32>,
    %g: tensor<4xi32>) {
  // expected-remark @below {{left as it is: it stands where its block must have a terminator}}
  %0 = "stablehlo.composite"(%x, %w, %g) <{
      composite_attributes = {ragged_dot_dimension_numbers = #kn},
      name = "chlo.ragged_dot"}>
    : (tensor<64x16xf32>, tensor<4x16x24xf32>, tensor<4xi32>)
    -> tensor<64x24xf32>
}

// Composites that are no ragged_dot are not this pass's: no remark.
// CHECK-LABEL: func @other_composites
// CHECK-COUNT-4:   "stablehlo.composite"
func.func @other_composites(%x: tensor<16x8xf32>) {
  %0:2 = "stablehlo.composite"(%x) <{
      composite_attributes = {is_stable = true, k = 4 : i64},
      decomposition = @chlo.top_k.impl, name = "chlo.top_k", version = 1 : i32}>
    : (tensor<16x8xf32>) -> (tensor<16x4xf32>, tensor<16x4xi32>)
  "stablehlo.composite"() <{name = @chlo.ragged_dot}> : () -> ()
  "stablehlo.composite"() <"chlo.ragged_dot"> : () -> ()
  "stablehlo.composite"() : () -> ()
  return
}
