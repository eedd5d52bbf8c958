// The whole launch file of gathered matmuls: one kernel gathers by itself, the
// other multiplies a copy, which is a temporary.
//
// RUN: moe-compile %s -o %t.ptx
// RUN: %python %S/Inputs/print_launch_file.py %t.json | FileCheck %s --match-full-lines

// CHECK:      abi: 1
// CHECK-NEXT: arguments:
// CHECK-NEXT:   0: {"access": "read", "element_type": "f16", "name": "arg0", "shape": [-1, 256]}
// CHECK-NEXT:   1: {"access": "read", "element_type": "f16", "name": "arg1", "shape": [8, 192, 256]}
// CHECK-NEXT:   2: {"access": "read", "element_type": "i64", "name": "arg2", "shape": [9]}
// CHECK-NEXT:   3: {"access": "read", "element_type": "i32", "name": "arg3", "shape": [-1]}
// CHECK-NEXT:   4: {"access": "readwrite", "element_type": "f32", "name": "arg4", "shape": [-1, 192]}
// CHECK-NEXT:   5: {"access": "readwrite", "element_type": "f32", "name": "arg5", "shape": [-1, 192]}
// CHECK-NEXT: entry: "f"
// CHECK-NEXT: image: "launch-file-gather.mlir.tmp.ptx"
// CHECK-NEXT: launches:
// CHECK-NEXT:   0: {"block": [256, 1, 1], "grid": {{\[\[}}"min", ["mul", ["min", ["dim", 3, 0], ["dim", 4, 0]], 3], 132], 1, 1], "kernel": "grouped_matmul_swapped_0", "programmatic": true, "shared_memory": {{[1-9][0-9]*}}}
// CHECK-NEXT:     {"box": [64, 64, 1], "buffer": 1, "dims": [256, 192, 8], "element_type": "f16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [512, 98304], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 1], "buffer": 0, "dims": [256, ["dim", 0, 0]], "element_type": "f16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [512], "swizzle": "128b"}
// CHECK-NEXT:     {"buffer": 2, "kind": "buffer"}
// CHECK-NEXT:     {"buffer": 3, "kind": "buffer"}
// CHECK-NEXT:     {"buffer": 4, "kind": "buffer"}
// CHECK-NEXT:     {"kind": "i32", "value": ["min", ["dim", 3, 0], ["dim", 4, 0]]}
// CHECK-NEXT:   1: {"block": [256, 1, 1], "grid": {{\[\[}}"ceildiv", ["mul", ["dim", 3, 0], 256], 256], 1, 1], "kernel": "gather_1", "programmatic": true, "shared_memory": 0}
// CHECK-NEXT:     {"buffer": 0, "kind": "buffer"}
// CHECK-NEXT:     {"buffer": 3, "kind": "buffer"}
// CHECK-NEXT:     {"buffer": 6, "kind": "buffer"}
// CHECK-NEXT:     {"kind": "i64", "value": ["dim", 0, 0]}
// CHECK-NEXT:     {"kind": "i64", "value": ["mul", ["dim", 3, 0], 256]}
// CHECK-NEXT:   2: {"block": [256, 1, 1], "grid": {{\[\[}}"min", ["mul", ["min", ["dim", 3, 0], ["dim", 5, 0]], 3], 132], 1, 1], "kernel": "grouped_matmul_2", "programmatic": true, "shared_memory": {{[1-9][0-9]*}}}
// CHECK-NEXT:     {"box": [64, 64, 1], "buffer": 1, "dims": [256, 192, 8], "element_type": "f16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [512, 98304], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 64], "buffer": 6, "dims": [256, ["dim", 3, 0]], "element_type": "f16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [512], "swizzle": "128b"}
// CHECK-NEXT:     {"buffer": 2, "kind": "buffer"}
// CHECK-NEXT:     {"buffer": 5, "kind": "buffer"}
// CHECK-NEXT:     {"kind": "i32", "value": ["min", ["dim", 3, 0], ["dim", 5, 0]]}
// CHECK-NEXT: results:
// CHECK-NEXT:   0: 4
// CHECK-NEXT:   1: 5
// CHECK-NEXT: target: "sm_90a"
// CHECK-NEXT: temporaries:
// CHECK-NEXT:   0: {"element_type": "f16", "shape": {{\[\[}}"dim", 3, 0], 256]}
// CHECK-NOT: {{.}}

func.func @f(%x: tensor<?x256xf16>, %w: tensor<8x192x256xf16>, %off: tensor<9xi64>, %token: tensor<?xi32>, %y: tensor<?x192xf32>, %z: tensor<?x192xf32>)
    -> (tensor<?x192xf32>, tensor<?x192xf32>) {
  %0 = moe.grouped_matmul {expected_tokens = array<i64: 1>}
      ins(%x, %w, %off : tensor<?x256xf16>, tensor<8x192x256xf16>, tensor<9xi64>)
      gather(%token : tensor<?xi32>)
      outs(%y : tensor<?x192xf32>) -> tensor<?x192xf32>
  %1 = moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 64, k = 64, stages = 4, warpgroups = 1>}
      ins(%x, %w, %off : tensor<?x256xf16>, tensor<8x192x256xf16>, tensor<9xi64>)
      gather(%token : tensor<?xi32>)
      outs(%z : tensor<?x192xf32>) -> tensor<?x192xf32>
  return %0, %1 : tensor<?x192xf32>, tensor<?x192xf32>
}
