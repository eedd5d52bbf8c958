// The whole launch file of a matmul in two versions, of which the number of rows
// chooses one.
//
// RUN: moe-compile %s --target='#moe.target<"h200", swapped_efficiency = 20>' -o %t.ptx
// RUN: %python %S/Inputs/print_launch_file.py %t.json | FileCheck %s --match-full-lines

// CHECK:      abi: 1
// CHECK-NEXT: arguments:
// CHECK-NEXT:   0: {"access": "read", "element_type": "bf16", "name": "arg0", "shape": [-1, 2048]}
// CHECK-NEXT:   1: {"access": "read", "element_type": "bf16", "name": "arg1", "shape": [128, 1536, 2048]}
// CHECK-NEXT:   2: {"access": "read", "element_type": "i32", "name": "arg2", "shape": [129]}
// CHECK-NEXT:   3: {"access": "write", "element_type": "bf16", "name": "result0", "shape": {{\[\[}}"dim", 0, 0], 1536]}
// CHECK-NEXT: entry: "f"
// CHECK-NEXT: image: "launch-file-versions.mlir.tmp.ptx"
// CHECK-NEXT: launches:
// CHECK-NEXT:   0: {"block": [384, 1, 1], "grid": {{\[\[}}"min", ["mul", ["min", ["dim", 0, 0], ["dim", 0, 0]], 24], 132], 1, 1], "kernel": "grouped_matmul_swapped_0", "programmatic": true, "shared_memory": {{[1-9][0-9]*}}, "when": [{"max": 3967, "value": ["dim", 0, 0]}]}
// CHECK-NEXT:     {"box": [64, 256, 1], "buffer": 1, "dims": [2048, 1536, 128], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [4096, 6291456], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 64], "buffer": 0, "dims": [2048, ["dim", 0, 0]], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [4096], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 80], "buffer": 0, "dims": [2048, ["dim", 0, 0]], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [4096], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 96], "buffer": 0, "dims": [2048, ["dim", 0, 0]], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [4096], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 64, 1], "buffer": 1, "dims": [2048, 1536, 128], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [4096, 6291456], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 8], "buffer": 0, "dims": [2048, ["dim", 0, 0]], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [4096], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 16], "buffer": 0, "dims": [2048, ["dim", 0, 0]], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [4096], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 32], "buffer": 0, "dims": [2048, ["dim", 0, 0]], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [4096], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 64], "buffer": 0, "dims": [2048, ["dim", 0, 0]], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [4096], "swizzle": "128b"}
// CHECK-NEXT:     {"buffer": 2, "kind": "buffer"}
// CHECK-NEXT:     {"buffer": 3, "kind": "buffer"}
// CHECK-NEXT:     {"kind": "i32", "value": ["min", ["dim", 0, 0], ["dim", 0, 0]]}
// CHECK-NEXT:   1: {"block": [256, 1, 1], "grid": {{\[\[}}"min", ["mul", ["min", ["dim", 0, 0], ["dim", 0, 0]], 16], 132], 1, 1], "kernel": "grouped_matmul_1", "programmatic": true, "shared_memory": {{[1-9][0-9]*}}, "when": [{"min": 3968, "value": ["dim", 0, 0]}]}
// CHECK-NEXT:     {"box": [64, 96, 1], "buffer": 1, "dims": [2048, 1536, 128], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [4096, 6291456], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 64], "buffer": 0, "dims": [2048, ["dim", 0, 0]], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [4096], "swizzle": "128b"}
// CHECK-NEXT:     {"buffer": 2, "kind": "buffer"}
// CHECK-NEXT:     {"buffer": 3, "kind": "buffer"}
// CHECK-NEXT:     {"kind": "i32", "value": ["min", ["dim", 0, 0], ["dim", 0, 0]]}
// CHECK-NEXT: results:
// CHECK-NEXT:   0: 3
// CHECK-NEXT: target: "sm_90a"
// CHECK-NEXT: temporaries:
// CHECK-NOT: {{.}}

func.func @f(%x: tensor<?x2048xbf16>, %w: tensor<128x1536x2048xbf16>, %off: tensor<129xi32>) -> tensor<?x1536xbf16> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x2048xbf16>
  %y = tensor.empty(%rows) : tensor<?x1536xbf16>
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<?x2048xbf16>, tensor<128x1536x2048xbf16>, tensor<129xi32>)
      outs(%y : tensor<?x1536xbf16>) -> tensor<?x1536xbf16>
  return %0 : tensor<?x1536xbf16>
}
