// The whole launch file of a layer of which only the run knows the number of
// tokens: that of examples/qwen3-30b-a3b.mlir. There are 8 rows for every token
// that has experts; the two matmuls serve temporaries only.
//
// RUN: moe-compile %s -o %t.ptx
// RUN: %python %S/Inputs/print_launch_file.py %t.json | FileCheck %s --match-full-lines

// CHECK:      abi: 1
// CHECK-NEXT: arguments:
// CHECK-NEXT:   0: {"access": "read", "element_type": "bf16", "name": "arg0", "shape": [-1, 2048]}
// CHECK-NEXT:   1: {"access": "read", "element_type": "i32", "name": "arg1", "shape": [-1, 8]}
// CHECK-NEXT:   2: {"access": "read", "element_type": "f32", "name": "arg2", "shape": [-1, 8]}
// CHECK-NEXT:   3: {"access": "read", "element_type": "bf16", "name": "arg3", "shape": [128, 1536, 2048]}
// CHECK-NEXT:   4: {"access": "read", "element_type": "bf16", "name": "arg4", "shape": [128, 2048, 768]}
// CHECK-NEXT:   5: {"access": "write", "element_type": "bf16", "name": "result0", "shape": {{\[\[}}"dim", 0, 0], 2048]}
// CHECK-NEXT: entry: "layer"
// CHECK-NEXT: image: "launch-file-layer.mlir.tmp.ptx"
// CHECK-NEXT: launches:
// CHECK-NEXT:   0: {"block": [1024, 1, 1], "grid": [1, 1, 1], "kernel": "dispatch_0", "programmatic": true, "shared_memory": {{[1-9][0-9]*}}}
// CHECK-NEXT:     {"buffer": 1, "kind": "buffer"}
// CHECK-NEXT:     {"buffer": 6, "kind": "buffer"}
// CHECK-NEXT:     {"buffer": 7, "kind": "buffer"}
// CHECK-NEXT:     {"buffer": 8, "kind": "buffer"}
// CHECK-NEXT:     {"kind": "i32", "value": ["min", ["mul", ["min", ["dim", 1, 0], ["dim", 1, 0]], 8], ["mul", ["dim", 1, 0], 8]]}
// CHECK-NEXT:   1: {"block": [384, 1, 1], "grid": {{\[\[}}"min", ["mul", ["mul", ["dim", 1, 0], 8], 12], 132], 1, 1], "kernel": "grouped_matmul_swapped_1", "programmatic": true, "shared_memory": {{[1-9][0-9]*}}}
// CHECK-NEXT:     {"box": [64, 64, 1], "buffer": 3, "dims": [2048, 1536, 128], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [4096, 6291456], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 1], "buffer": 0, "dims": [2048, ["dim", 0, 0]], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [4096], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 64, 1], "buffer": 3, "dims": [2048, 1536, 128], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [4096, 6291456], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 1], "buffer": 0, "dims": [2048, ["dim", 0, 0]], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [4096], "swizzle": "128b"}
// CHECK-NEXT:     {"buffer": 8, "kind": "buffer"}
// CHECK-NEXT:     {"buffer": 6, "kind": "buffer"}
// CHECK-NEXT:     {"buffer": 9, "kind": "buffer"}
// CHECK-NEXT:     {"kind": "i32", "value": ["mul", ["dim", 1, 0], 8]}
// CHECK-NEXT:   2: {"block": [384, 1, 1], "grid": {{\[\[}}"min", ["mul", ["mul", ["dim", 1, 0], 8], 32], 132], 1, 1], "kernel": "grouped_matmul_swapped_2", "programmatic": true, "shared_memory": {{[1-9][0-9]*}}}
// CHECK-NEXT:     {"box": [64, 128, 1], "buffer": 4, "dims": [768, 2048, 128], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [1536, 3145728], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 128], "buffer": 9, "dims": [768, ["mul", ["dim", 1, 0], 8]], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [1536], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 192], "buffer": 9, "dims": [768, ["mul", ["dim", 1, 0], 8]], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [1536], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 256], "buffer": 9, "dims": [768, ["mul", ["dim", 1, 0], 8]], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [1536], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 64, 1], "buffer": 4, "dims": [768, 2048, 128], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [1536, 3145728], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 8], "buffer": 9, "dims": [768, ["mul", ["dim", 1, 0], 8]], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [1536], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 16], "buffer": 9, "dims": [768, ["mul", ["dim", 1, 0], 8]], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [1536], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 32], "buffer": 9, "dims": [768, ["mul", ["dim", 1, 0], 8]], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [1536], "swizzle": "128b"}
// CHECK-NEXT:     {"box": [64, 64], "buffer": 9, "dims": [768, ["mul", ["dim", 1, 0], 8]], "element_type": "bf16", "interleave": "none", "kind": "tensor_map", "l2_promotion": "128b", "oob": "zero", "strides": [1536], "swizzle": "128b"}
// CHECK-NEXT:     {"buffer": 8, "kind": "buffer"}
// CHECK-NEXT:     {"buffer": 10, "kind": "buffer"}
// CHECK-NEXT:     {"kind": "i32", "value": ["mul", ["dim", 1, 0], 8]}
// CHECK-NEXT:   3: {"block": [256, 1, 1], "grid": {{\[\[}}"ceildiv", ["mul", ["min", ["min", ["dim", 0, 0], ["dim", 1, 0]], ["dim", 2, 0]], 2048], 256], 1, 1], "kernel": "combine_3", "programmatic": true, "shared_memory": 0}
// CHECK-NEXT:     {"buffer": 10, "kind": "buffer"}
// CHECK-NEXT:     {"buffer": 7, "kind": "buffer"}
// CHECK-NEXT:     {"buffer": 2, "kind": "buffer"}
// CHECK-NEXT:     {"buffer": 5, "kind": "buffer"}
// CHECK-NEXT:     {"kind": "i64", "value": ["mul", ["dim", 1, 0], 8]}
// CHECK-NEXT:     {"kind": "i64", "value": ["mul", ["min", ["min", ["dim", 0, 0], ["dim", 1, 0]], ["dim", 2, 0]], 2048]}
// CHECK-NEXT: results:
// CHECK-NEXT:   0: 5
// CHECK-NEXT: target: "sm_90a"
// CHECK-NEXT: temporaries:
// CHECK-NEXT:   0: {"element_type": "i32", "shape": {{\[\[}}"mul", ["dim", 1, 0], 8]]}
// CHECK-NEXT:   1: {"element_type": "i32", "shape": {{\[\[}}"dim", 1, 0], 8]}
// CHECK-NEXT:   2: {"element_type": "i32", "shape": [129]}
// CHECK-NEXT:   3: {"element_type": "bf16", "shape": {{\[\[}}"mul", ["dim", 1, 0], 8], 768]}
// CHECK-NEXT:   4: {"element_type": "bf16", "shape": {{\[\[}}"mul", ["dim", 1, 0], 8], 2048]}
// CHECK-NOT: {{.}}

func.func @layer(%x: tensor<?x2048xbf16>, %indices: tensor<?x8xi32>,
                 %weights: tensor<?x8xf32>,
                 %gate_up: tensor<128x1536x2048xbf16>,
                 %down: tensor<128x2048x768xbf16>) -> tensor<?x2048xbf16> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x2048xbf16>
  %init = tensor.empty(%t) : tensor<?x2048xbf16>
  %y = moe.experts {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %indices, %weights, %gate_up, %down
          : tensor<?x2048xbf16>, tensor<?x8xi32>, tensor<?x8xf32>,
            tensor<128x1536x2048xbf16>, tensor<128x2048x768xbf16>)
      outs(%init : tensor<?x2048xbf16>) -> tensor<?x2048xbf16>
  return %y : tensor<?x2048xbf16>
}
