// Ops of dialects that nobody here knows are read, and left over an error that
// names them, for every target and form but mlir.
//
// RUN: split-file %s %t
// RUN: not moe-compile %t/used.mlir -o %t/f.ptx 2>&1 | FileCheck %s --check-prefix=USED
// RUN: not moe-compile %t/used.mlir --emit=nvgpu -o %t/f.mlir 2>&1 | FileCheck %s --check-prefix=USED
// RUN: not moe-compile %t/used.mlir --emit=llvm -o %t/f.mlir 2>&1 | FileCheck %s --check-prefix=USED
// RUN: not moe-compile %t/used.mlir --target=cpu --emit=llvm -o %t/f.mlir 2>&1 | FileCheck %s --check-prefix=USED
// RUN: not moe-compile %t/used.mlir --target=cpu --emit=obj -o %t/f.o 2>&1 | FileCheck %s --check-prefix=USED
// RUN: moe-compile %t/used.mlir --emit=mlir | FileCheck %s --check-prefix=KEPT
// RUN: not moe-compile %t/unused.mlir -o %t/f.ptx 2>&1 | FileCheck %s --check-prefix=UNUSED
// RUN: not moe-compile %t/known.mlir -o %t/f.ptx 2>&1 | FileCheck %s --check-prefix=KNOWN
// RUN: ls %t | FileCheck %s --check-prefix=FILES

// USED: used.mlir:5:8: error: 'stablehlo.add' is an op that is not known here, so it has no lowering; lower it to upstream dialects before, or keep it outside of what is compiled
// KEPT: "stablehlo.add"
// UNUSED: error: 'other.note' is an op that is not known here
// An op of a known dialect that has no kernel.
// KNOWN: error: 'memref.store' op has no GPU form in this project; keep it outside of the compiled function, or use --target=cpu
// FILES: known.mlir
// FILES-NEXT: unused.mlir
// FILES-NEXT: used.mlir
// FILES-NOT: {{.}}

//--- used.mlir
func.func @f(%x: tensor<?x64xbf16>, %w: tensor<4x64x64xbf16>, %off: tensor<5xi32>, %y: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %0 = moe.grouped_matmul {expected_tokens = array<i64: 4>}
      ins(%x, %w, %off : tensor<?x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>)
      outs(%y : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  %1 = "stablehlo.add"(%0, %0) : (tensor<?x64xbf16>, tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return %1 : tensor<?x64xbf16>
}
//--- unused.mlir
func.func @f(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  moe.grouped_matmul {expected_tokens = array<i64: 4>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  "other.note"() : () -> ()
  return
}
//--- known.mlir
func.func @f(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>, %z: memref<f32>) {
  moe.grouped_matmul {expected_tokens = array<i64: 4>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  %v = arith.constant 2.0 : f32
  memref.store %v, %z[] : memref<f32>
  return
}
