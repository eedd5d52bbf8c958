// RUN: moe-opt %s --allow-unregistered-dialect --moe-reject-foreign-ops --split-input-file --verify-diagnostics

// Only the first is reported.
func.func @foreign(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  scf.for %i = %c0 to %c0 step %c0 {
    // expected-error @below {{'other.op' is an op that is not known here, so it has no lowering; lower it to upstream dialects before, or keep it outside of what is compiled}}
    %0 = "other.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "other.second"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  }
  return %x : tensor<4xf32>
}

// -----

// An attribute does not matter.
module attributes {other.attribute} {
  func.func @known(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
