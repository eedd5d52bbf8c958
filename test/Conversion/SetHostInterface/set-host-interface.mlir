// RUN: moe-opt %s --moe-set-host-interface | FileCheck %s

// CHECK: func.func @public(%{{.*}}: tensor<4xf32> {bufferization.writable = false}, %{{.*}}: index) -> tensor<4xf32> attributes {llvm.emit_c_interface}
func.func @public(%x: tensor<4xf32>, %i: index) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// CHECK: func.func private @private(%{{.*}}: tensor<4xf32>) -> tensor<4xf32> {
func.func private @private(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// CHECK: func.func private @declared(tensor<4xf32>){{$}}
func.func private @declared(tensor<4xf32>)
