// The function that a launch file is for: the only public one, or --entry.
//
// RUN: split-file %s %t
// RUN: moe-compile %t/two.mlir --swap=never --entry=first -o %t/first.ptx
// RUN: FileCheck %s --check-prefix=FIRST --input-file=%t/first.json
// RUN: moe-compile %t/two.mlir --swap=never --entry=second -o %t/second.ptx
// RUN: FileCheck %s --check-prefix=SECOND --input-file=%t/second.json
// RUN: moe-compile %t/two.mlir --swap=never --entry=third -o %t/third.ptx
// RUN: FileCheck %s --check-prefix=THIRD --input-file=%t/third.json
// RUN: not moe-compile %t/two.mlir -o %t/f.ptx 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not moe-compile %t/two.mlir --swap=never --entry=fourth -o %t/f.ptx 2>&1 | FileCheck %s --check-prefix=FOURTH
// RUN: not moe-compile %t/two.mlir --swap=never --entry=outside -o %t/f.ptx 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// RUN: not moe-compile %t/private.mlir -o %t/f.ptx 2>&1 | FileCheck %s --check-prefix=PRIVATE
// RUN: not moe-compile %t/nothing.mlir -o %t/f.ptx 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not ls %t/f.ptx
// RUN: not ls %t/f.json

// FIRST: "element_type": "bf16"
// FIRST: "entry": "first"
// FIRST: "kernel": "grouped_matmul_0"
// SECOND: "element_type": "f16"
// SECOND: "entry": "second"
// SECOND: "kernel": "grouped_matmul_0"
// A private function can be named.
// THIRD: "entry": "third"
// TWO: error: @first and @second are public; name one by --entry
// FOURTH: error: the module has no function @fourth with a body
// OUTSIDE: error: the module has no function @outside with a body
// PRIVATE: error: the module has no public function to compile
// NOTHING: error: @f has no op that becomes a GPU kernel; a program for a GPU needs a grouped matmul

//--- two.mlir
func.func private @outside()
func.func @first(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}
func.func @second(%x: memref<?x72xf16>, %w: memref<4x72x72xf16>, %off: memref<5xi32>, %y: memref<?x72xf16>) {
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x72xf16>, memref<4x72x72xf16>, memref<5xi32>)
      outs(%y : memref<?x72xf16>)
  return
}
func.func private @third(%x: memref<?x72xf16>, %w: memref<4x72x72xf16>, %off: memref<5xi32>, %y: memref<?x72xf16>) {
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x72xf16>, memref<4x72x72xf16>, memref<5xi32>)
      outs(%y : memref<?x72xf16>)
  return
}
//--- private.mlir
func.func private @f(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}
//--- nothing.mlir
func.func @f(%x: memref<?x64xbf16>) {
  return
}
