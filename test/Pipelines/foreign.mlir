// An op that no pass lowers is an error that names it, before a pass of upstream
// comes to it.

// RUN: not moe-opt %s --allow-unregistered-dialect --moe-to-cpu 2>&1 | FileCheck %s
// RUN: not moe-opt %s --allow-unregistered-dialect --moe-to-nvgpu 2>&1 | FileCheck %s
// RUN: not moe-opt %s --allow-unregistered-dialect --moe-to-ptx 2>&1 | FileCheck %s
// CHECK: foreign.mlir:[[#@LINE+7]]:3: error: 'other.note' is an op that is not known here, so it has no lowering
// CHECK-NOT: error

func.func @f(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  moe.grouped_matmul
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  "other.note"() : () -> ()
  return
}
