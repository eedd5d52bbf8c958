// Which functions are erased with the composites that named them.

// RUN: moe-opt %s --allow-unregistered-dialect --moe-raise-ragged-dot \
// RUN:   --split-input-file | FileCheck %s

#none = dense<> : tensor<0xi64>
#dim0 = dense<0> : tensor<1xi64>
#dim1 = dense<1> : tensor<1xi64>
#kn = [#none, #none, #dim1, #dim1, #dim0, #dim0]
!x = tensor<?x16xf32>
!w = tensor<4x16x16xf32>
!g = tensor<4xi32>

// Unused: with what only it called, and with a call of itself. `@shared` has
// another caller, and `@unrelated` was no decomposition.
// CHECK-LABEL: module @unused
// CHECK-NOT:     @impl
// CHECK-NOT:     @helper
// CHECK-NOT:     @leaf
// CHECK:         func.func private @shared
// CHECK:         func.func private @unrelated
module @unused {
  func.func @main(%x: !x, %w: !w, %g: !g) -> !x {
    %0 = "stablehlo.composite"(%x, %w, %g) <{
        composite_attributes = {ragged_dot_dimension_numbers = #kn},
        decomposition = @impl, name = "chlo.ragged_dot"}>
      : (!x, !w, !g) -> !x
    %1 = call @shared(%0) : (!x) -> !x
    return %1 : !x
  }
  func.func private @impl(%x: !x, %w: !w, %g: !g) -> !x {
    %0 = func.call @helper(%x) : (!x) -> !x
    %1 = func.call @shared(%0) : (!x) -> !x
    %2 = func.call @impl(%1, %w, %g) : (!x, !w, !g) -> !x
    return %2 : !x
  }
  func.func private @helper(%x: !x) -> !x {
    %0 = "stablehlo.custom"(%x) <{to_apply = [@leaf]}> : (!x) -> !x
    return %0 : !x
  }
  func.func private @leaf(%x: !x) -> !x
  func.func private @shared(%x: !x) -> !x
  func.func private @unrelated(%x: !x) -> !x
}

// -----

#none = dense<> : tensor<0xi64>
#dim0 = dense<0> : tensor<1xi64>
#dim1 = dense<1> : tensor<1xi64>
#kn = [#none, #none, #dim1, #dim1, #dim0, #dim0]
!x = tensor<?x16xf32>
!w = tensor<4x16x16xf32>
!g = tensor<4xi32>

// Used: by a composite that is left, from the properties and the discardable
// attributes of unregistered ops, by a nested reference, or by whoever sees a
// public function.
// CHECK-LABEL: module @used
// CHECK:         func.func private @by_composite
// CHECK:         func.func private @in_properties
// CHECK:         func.func private @in_attributes
// CHECK:         func.func private @in_nested_reference
// CHECK:         func.func @public
module @used {
  func.func @main(%x: !x, %w: !w, %g: !g) -> (!x, !x, !x, !x, !x) {
    %0 = "stablehlo.composite"(%x, %w, %g) <{
        composite_attributes = {ragged_dot_dimension_numbers = #kn},
        decomposition = @by_composite, name = "chlo.ragged_dot"}>
      : (!x, !w, !g) -> !x
    %1 = "stablehlo.composite"(%x, %w, %g) <{
        composite_attributes = {ragged_dot_dimension_numbers = #kn},
        decomposition = @in_properties, name = "chlo.ragged_dot"}>
      : (!x, !w, !g) -> !x
    %2 = "stablehlo.composite"(%x, %w, %g) <{
        composite_attributes = {ragged_dot_dimension_numbers = #kn},
        decomposition = @in_attributes, name = "chlo.ragged_dot"}>
      : (!x, !w, !g) -> !x
    %3 = "stablehlo.composite"(%x, %w, %g) <{
        composite_attributes = {ragged_dot_dimension_numbers = #kn},
        decomposition = @in_nested_reference, name = "chlo.ragged_dot"}>
      : (!x, !w, !g) -> !x
    %4 = "stablehlo.composite"(%x, %w, %g) <{
        composite_attributes = {ragged_dot_dimension_numbers = #kn},
        decomposition = @public, name = "chlo.ragged_dot"}>
      : (!x, !w, !g) -> !x
    %5 = "stablehlo.composite"(%x, %w, %g) <{
        composite_attributes = {ragged_dot_dimension_numbers = #none},
        decomposition = @by_composite, name = "chlo.ragged_dot"}>
      : (!x, !w, !g) -> !x
    "test.user"() <{callees = [{callee = @in_properties}]}> ({}) : () -> ()
    "test.user"() {callee = @in_attributes} : () -> ()
    "test.user"() {callee = @used::@in_nested_reference} : () -> ()
    return %0, %1, %2, %3, %4 : !x, !x, !x, !x, !x
  }
  func.func private @by_composite(%x: !x, %w: !w, %g: !g) -> !x
  func.func private @in_properties(%x: !x, %w: !w, %g: !g) -> !x
  func.func private @in_attributes(%x: !x, %w: !w, %g: !g) -> !x
  func.func private @in_nested_reference(%x: !x, %w: !w, %g: !g) -> !x
  func.func @public(%x: !x, %w: !w, %g: !g) -> !x {
    return %x : !x
  }
}

// -----

#none = dense<> : tensor<0xi64>
#dim0 = dense<0> : tensor<1xi64>
#dim1 = dense<1> : tensor<1xi64>
#kn = [#none, #none, #dim1, #dim1, #dim0, #dim0]
!x = tensor<?x16xf32>
!w = tensor<4x16x16xf32>
!g = tensor<4xi32>

// Found from a nested module, from below an unregistered op, and in a module
// that goes with the function around it.
// CHECK-LABEL: module @nested
// CHECK-NOT:     @impl
// CHECK:         module @inner
// CHECK-NEXT:      "test.wrap"
// CHECK:             moe.grouped_matmul
// CHECK-NOT:     @inner_impl
module @nested {
  func.func private @impl() {
    builtin.module {
      func.func private @dead_main(%x: !x, %w: !w, %g: !g) -> !x {
        %0 = "stablehlo.composite"(%x, %w, %g) <{
            composite_attributes = {ragged_dot_dimension_numbers = #kn},
            decomposition = @dead_impl, name = "chlo.ragged_dot"}>
          : (!x, !w, !g) -> !x
        return %0 : !x
      }
      func.func private @dead_impl(%x: !x, %w: !w, %g: !g) -> !x
    }
    return
  }
  module @inner {
    "test.wrap"() ({
    ^bb0(%x: !x, %w: !w, %g: !g):
      %0 = "stablehlo.composite"(%x, %w, %g) <{
          composite_attributes = {ragged_dot_dimension_numbers = #kn},
          decomposition = @inner_impl, name = "chlo.ragged_dot"}>
        : (!x, !w, !g) -> !x
      %1 = "stablehlo.composite"(%0, %w, %g) <{
          composite_attributes = {ragged_dot_dimension_numbers = #kn},
          decomposition = @impl, name = "chlo.ragged_dot"}>
        : (!x, !w, !g) -> !x
      "test.yield"(%1) : (!x) -> ()
    }) : () -> ()
    func.func private @inner_impl(%x: !x, %w: !w, %g: !g) -> !x
  }
}

// -----

#none = dense<> : tensor<0xi64>
#dim0 = dense<0> : tensor<1xi64>
#dim1 = dense<1> : tensor<1xi64>
#kn = [#none, #none, #dim1, #dim1, #dim0, #dim0]
!x = tensor<?x16xf32>
!w = tensor<4x16x16xf32>
!g = tensor<4xi32>

// The decomposition is missing or no function: nothing to erase.
// CHECK-LABEL: module @no_function
// CHECK-COUNT-3: moe.grouped_matmul
// CHECK:         memref.global "private" @global
module @no_function {
  func.func @main(%x: !x, %w: !w, %g: !g) {
    %0 = "stablehlo.composite"(%x, %w, %g) <{
        composite_attributes = {ragged_dot_dimension_numbers = #kn},
        decomposition = @missing, name = "chlo.ragged_dot"}>
      : (!x, !w, !g) -> !x
    %1 = "stablehlo.composite"(%0, %w, %g) <{
        composite_attributes = {ragged_dot_dimension_numbers = #kn},
        decomposition = @global, name = "chlo.ragged_dot"}>
      : (!x, !w, !g) -> !x
    %2 = "stablehlo.composite"(%1, %w, %g) <{
        composite_attributes = {ragged_dot_dimension_numbers = #kn},
        decomposition = "impl", name = "chlo.ragged_dot"}>
      : (!x, !w, !g) -> !x
    return
  }
  memref.global "private" @global : memref<4xf32>
}
