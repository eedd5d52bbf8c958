// Branches of the host function that yield memrefs: one buffer in a launch file,
// whichever side runs.

// RUN: split-file %s %t
// RUN: moe-compile %t/results.mlir --target='#moe.target<"h200", swapped_efficiency = 20>' -o %t/results.ptx
// RUN: %python %S/Inputs/print_launch_file.py %t/results.json | FileCheck %t/results.mlir
// RUN: moe-compile %t/nested.mlir -o %t/nested.ptx
// RUN: %python %S/Inputs/print_launch_file.py %t/nested.json | FileCheck %t/nested.mlir

//--- results.mlir
// Both forms of the first matmul copy %y, which is returned as well, and write
// the copy: the first result.
//
// CHECK:      arguments:
// CHECK:      4: {"access": "readwrite", "element_type": "bf16", "name": "arg4", "shape": [-1, 1536]}
// CHECK-NEXT: 5: {"access": "readwrite", "element_type": "bf16", "name": "arg5", "shape": [-1, 2048]}
// CHECK-NEXT: 6: {"access": "write", "element_type": "bf16", "name": "result0", "shape": {{\[\[}}"dim", 4, 0], 1536]}
// CHECK-NEXT: entry:
// CHECK:      launches:
// CHECK-NEXT: 0: {{.*}}"kernel": "copy_0", {{.*}}"when": [{"max": [[MAX:[0-9]+]], "value": ["dim", 0, 0]}]
// CHECK-NEXT:   {"buffer": 4, "kind": "buffer"}
// CHECK-NEXT:   {"buffer": 6, "kind": "buffer"}
// CHECK:      1: {{.*}}"kernel": "grouped_matmul_swapped_1", {{.*}}"when": [{"max": [[MAX]], "value": ["dim", 0, 0]}]
// CHECK:        {"buffer": 6, "kind": "buffer"}
// CHECK:      2: {{.*}}"kernel": "copy_0", {{.*}}"when": [{"min": [[MIN:[0-9]+]], "value": ["dim", 0, 0]}]
// CHECK-NEXT:   {"buffer": 4, "kind": "buffer"}
// CHECK-NEXT:   {"buffer": 6, "kind": "buffer"}
// CHECK:      3: {{.*}}"kernel": "grouped_matmul_2", {{.*}}"when": [{"min": [[MIN]], "value": ["dim", 0, 0]}]
// CHECK:        {"buffer": 6, "kind": "buffer"}
// The second reads what the first wrote, whichever form that was.
// CHECK:      4: {{.*}}"kernel": "grouped_matmul_swapped_3", {{.*}}"when": [{"max": {{[0-9]+}}, "value": ["dim", 4, 0]}]
// CHECK:        {"box": [64, 64, 1], "buffer": 2,
// CHECK-NEXT:   {"box": [64, 8], "buffer": 6, "dims": [1536, ["dim", 4, 0]],
// CHECK-NEXT:   {"box": [64, 16], "buffer": 6, "dims": [1536, ["dim", 4, 0]],
// CHECK-NEXT:   {"box": [64, 32], "buffer": 6, "dims": [1536, ["dim", 4, 0]],
// CHECK-NEXT:   {"box": [64, 64], "buffer": 6, "dims": [1536, ["dim", 4, 0]],
// CHECK:      results:
// CHECK-NEXT: 0: 6
// CHECK-NEXT: 1: 5
// CHECK-NEXT: 2: 4
// CHECK-NEXT: target:
// CHECK-NEXT: temporaries:
// CHECK-NOT:  {{.}}
func.func @f(%x: tensor<?x2048xbf16>, %w: tensor<128x1536x2048xbf16>,
             %w2: tensor<128x2048x1536xbf16>, %off: tensor<129xi32>,
             %y: tensor<?x1536xbf16>, %y2: tensor<?x2048xbf16>)
    -> (tensor<?x1536xbf16>, tensor<?x2048xbf16>, tensor<?x1536xbf16>) {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<?x2048xbf16>, tensor<128x1536x2048xbf16>, tensor<129xi32>)
      outs(%y : tensor<?x1536xbf16>) -> tensor<?x1536xbf16>
  %1 = moe.grouped_matmul
      ins(%0, %w2, %off : tensor<?x1536xbf16>, tensor<128x2048x1536xbf16>, tensor<129xi32>)
      outs(%y2 : tensor<?x2048xbf16>) -> tensor<?x2048xbf16>
  return %0, %1, %y : tensor<?x1536xbf16>, tensor<?x2048xbf16>, tensor<?x1536xbf16>
}

//--- nested.mlir
// Three sides, one temporary; what is in no branch has its own.
//
// CHECK:      launches:
// CHECK-NEXT: 0: {{.*}}"when": [{"max": 8, "value": ["dim", 0, 0]}]
// CHECK:        {"buffer": 4, "kind": "buffer"}
// CHECK:      1: {{.*}}"when": [{"min": 9, "value": ["dim", 0, 0]}, {"max": 99, "value": ["dim", 0, 0]}]
// CHECK:        {"buffer": 4, "kind": "buffer"}
// CHECK:      2: {{.*}}"when": [{"min": 9, "value": ["dim", 0, 0]}, {"min": 100, "value": ["dim", 0, 0]}]
// CHECK:        {"buffer": 4, "kind": "buffer"}
// CHECK:      3: {
// CHECK-NOT:  "when"
// CHECK:        "buffer": 4, "dims": [64, ["dim", 0, 0]]
// CHECK:        {"buffer": 3, "kind": "buffer"}
// CHECK:      temporaries:
// CHECK-NEXT: 0: {"element_type": "bf16", "shape": {{\[\[}}"dim", 0, 0], 64]}
// CHECK-NOT:  {{.}}
func.func @f(%x: tensor<?x64xbf16>, %w: tensor<4x64x64xbf16>, %off: tensor<5xi32>, %y: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %c99 = arith.constant 99 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %few = arith.cmpi ult, %rows, %c9 : index
  %r = scf.if %few -> tensor<?x64xbf16> {
    %e = tensor.empty(%rows) : tensor<?x64xbf16>
    %0 = moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 4, warpgroups = 1>}
        ins(%x, %w, %off : tensor<?x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>)
        outs(%e : tensor<?x64xbf16>) -> tensor<?x64xbf16>
    scf.yield %0 : tensor<?x64xbf16>
  } else {
    %some = arith.cmpi ule, %rows, %c99 : index
    %i = scf.if %some -> tensor<?x64xbf16> {
      %e = tensor.empty(%rows) : tensor<?x64xbf16>
      %0 = moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 16, k = 64, stages = 4, warpgroups = 1>}
          ins(%x, %w, %off : tensor<?x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>)
          outs(%e : tensor<?x64xbf16>) -> tensor<?x64xbf16>
      scf.yield %0 : tensor<?x64xbf16>
    } else {
      %e = tensor.empty(%rows) : tensor<?x64xbf16>
      %0 = moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 32, k = 64, stages = 4, warpgroups = 1>}
          ins(%x, %w, %off : tensor<?x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>)
          outs(%e : tensor<?x64xbf16>) -> tensor<?x64xbf16>
      scf.yield %0 : tensor<?x64xbf16>
    }
    scf.yield %i : tensor<?x64xbf16>
  }
  %1 = moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 64, k = 64, stages = 4, warpgroups = 1>}
      ins(%r, %w, %off : tensor<?x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>)
      outs(%y : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return %1 : tensor<?x64xbf16>
}
