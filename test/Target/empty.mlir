// Programs that launch nothing, or nothing but a fill, because a matmul has no
// rows: they compile, and the runtime takes them.

// RUN: split-file %s %t
// RUN: moe-compile %t/nothing.mlir -o %t/nothing.ptx
// RUN: FileCheck %t/nothing.mlir --check-prefix=PTX --input-file=%t/nothing.ptx
// RUN: %python %S/Inputs/print_launch_file.py %t/nothing.json | FileCheck %t/nothing.mlir
// RUN: moe-compile %t/fill.mlir -o %t/fill.ptx
// RUN: FileCheck %t/fill.mlir --check-prefix=PTX --input-file=%t/fill.ptx
// RUN: %python %S/Inputs/print_launch_file.py %t/fill.json | FileCheck %t/fill.mlir

//--- nothing.mlir
// PTX: .target sm_90a
// PTX-NOT: .entry
// CHECK:      arguments:
// CHECK:      3: {"access": "write", "element_type": "bf16", "name": "result0", "shape": [0, 72]}
// CHECK-NEXT: entry: "f"
// CHECK-NEXT: image: "nothing.ptx"
// CHECK-NEXT: launches:
// CHECK-NEXT: results:
// CHECK-NEXT: 0: 3
func.func @f(%x: tensor<0x64xbf16>, %w: tensor<4x72x64xbf16>, %off: tensor<5xi32>) -> tensor<0x72xbf16> {
  %y = tensor.empty() : tensor<0x72xbf16>
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<0x64xbf16>, tensor<4x72x64xbf16>, tensor<5xi32>)
      outs(%y : tensor<0x72xbf16>) -> tensor<0x72xbf16>
  return %0 : tensor<0x72xbf16>
}

//--- fill.mlir
// Rows that no group owns keep what the destination holds.
// PTX: .visible .entry fill_0(
// PTX-NOT: .entry
// CHECK:      launches:
// CHECK-NEXT: 0: {"block": [256, 1, 1], "grid": [3, 1, 1], "kernel": "fill_0", {{.*}}"shared_memory": 0}
// CHECK-NEXT:   {"buffer": 4, "kind": "buffer"}
// CHECK-NEXT:   {"kind": "i64", "value": 576}
// CHECK-NEXT: results:
// CHECK-NEXT: 0: 4
func.func @f(%x: tensor<0x64xbf16>, %w: tensor<4x72x64xbf16>, %off: tensor<5xi32>, %to: tensor<0xi32>) -> tensor<8x72xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<8x72xbf16>
  %y = linalg.fill ins(%zero : bf16) outs(%e : tensor<8x72xbf16>) -> tensor<8x72xbf16>
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<0x64xbf16>, tensor<4x72x64xbf16>, tensor<5xi32>)
      scatter(%to : tensor<0xi32>)
      outs(%y : tensor<8x72xbf16>) -> tensor<8x72xbf16>
  return %0 : tensor<8x72xbf16>
}
