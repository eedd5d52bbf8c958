// The whole launch file of one swapped matmul with a bias, in place.
//
// RUN: moe-compile %s -o %t.ptx
// RUN: %python %S/Inputs/print_launch_file.py %t.json | FileCheck %s --match-full-lines

// CHECK:      abi: 1
// CHECK-NEXT: arguments:
// CHECK-NEXT:   0: {"access": "read", "element_type": "bf16", "name": "arg0", "shape": [-1, 256]}
// CHECK-NEXT:   1: {"access": "read", "element_type": "bf16", "name": "arg1", "shape": [8, 192, 256]}
// CHECK-NEXT:   2: {"access": "read", "element_type": "i32", "name": "arg2", "shape": [9]}
// CHECK-NEXT:   3: {"access": "read", "element_type": "f32", "name": "arg3", "shape": [8, 192]}
// CHECK-NEXT:   4: {"access": "readwrite", "element_type": "bf16", "name": "arg4", "shape": [-1, 192]}
// CHECK-NEXT: entry: "f"
// CHECK-NEXT: image: "launch-file-swapped.mlir.tmp.ptx"
// CHECK-NEXT: launches:
// CHECK-NEXT:   0: {"block": [256, 1, 1], "grid": {{\[\[}}"min", ["mul", ["min", ["dim", 0, 0], ["dim", 4, 0]], 5], 132], 1, 1], "kernel": "grouped_matmul_swapped_0", "programmatic": true, "shared_memory": {{[1-9][0-9]*}}}
// CHECK-NEXT:     {"box": [64, 40, 1], "buffer": 1, "dims": [256, 192, 8], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [512, 98304], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 8], "buffer": 0, "dims": [256, ["dim", 0, 0]], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [512], "swizzle": "128b"}
// CHECK-NEXT:     {"buffer": 2, "kind": "buffer"}
// CHECK-NEXT:     {"buffer": 3, "kind": "buffer"}
// CHECK-NEXT:     {"buffer": 4, "kind": "buffer"}
// CHECK-NEXT:     {"kind": "i32", "value": ["min", ["dim", 0, 0], ["dim", 4, 0]]}
// CHECK-NEXT: results:
// CHECK-NEXT:   0: 4
// CHECK-NEXT: target: "sm_90a"
// CHECK-NEXT: temporaries:
// CHECK-NOT: {{.}}

func.func @f(%x: tensor<?x256xbf16>, %w: tensor<8x192x256xbf16>, %off: tensor<9xi32>, %b: tensor<8x192xf32>, %y: tensor<?x192xbf16>) -> tensor<?x192xbf16> {
  %0 = moe.grouped_matmul {expected_tokens = array<i64: 4>}
      ins(%x, %w, %off : tensor<?x256xbf16>, tensor<8x192x256xbf16>, tensor<9xi32>)
      bias(%b : tensor<8x192xf32>)
      outs(%y : tensor<?x192xbf16>) -> tensor<?x192xbf16>
  return %0 : tensor<?x192xbf16>
}
