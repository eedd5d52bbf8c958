// Compile time and memory of many layers. Bufferization is given an empty tensor
// for each user, though there is one for all layers here. What becomes of them is
// as few buffers as one layer needs, and one for the tokens between layers.
//
// RUN: moe-opt %s --moe-to-nvgpu --mlir-print-ir-before=one-shot-bufferize -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=EMPTIES
// RUN: moe-opt %s --moe-to-nvgpu | FileCheck %s
// RUN: moe-opt %s --moe-to-nvgpu | FileCheck %s --check-prefix=LAUNCHES

// EMPTIES:         func.func @layers
// EMPTIES-COUNT-12: tensor.empty()
// EMPTIES-NOT:     tensor.empty()

// CHECK:           func.func @layers
// CHECK-COUNT-7:   memref.alloc()
// CHECK-NOT:       memref.alloc()
// CHECK:           gpu.module

// LAUNCHES:          func.func @layers
// LAUNCHES-COUNT-10: gpu.launch_func
// LAUNCHES-NOT:      gpu.launch_func
// LAUNCHES:          gpu.module
!x = tensor<8x256xbf16>
!first = tensor<16x256x256xbf16>
!second = tensor<16x256x128xbf16>
func.func @layers(%x: !x, %indices: tensor<8x2xi32>, %weights: tensor<8x2xf32>,
                  %gate_up: !first, %down: !second) -> !x {
  %init = tensor.empty() : !x
  %0 = moe.experts {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %indices, %weights, %gate_up, %down
          : !x, tensor<8x2xi32>, tensor<8x2xf32>, !first, !second)
      outs(%init : !x) -> !x
  %1 = moe.experts {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%0, %indices, %weights, %gate_up, %down
          : !x, tensor<8x2xi32>, tensor<8x2xf32>, !first, !second)
      outs(%init : !x) -> !x
  %2 = moe.experts {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%1, %indices, %weights, %gate_up, %down
          : !x, tensor<8x2xi32>, tensor<8x2xf32>, !first, !second)
      outs(%init : !x) -> !x
  return %2 : !x
}
