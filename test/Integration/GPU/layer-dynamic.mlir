// A whole experts layer for a number of tokens that only the launch knows.
//
// DEFINE: %{device} = cuda
// DEFINE: %{run} = moe-run %s --device=%{device} --check --repeat=3

// RUN: %{run} --rows=1 | FileCheck %s
// RUN: %{run} --rows=37 --routing=zipf:1.2 | FileCheck %s
// RUN: %{run} --rows=700 | FileCheck %s
// RUN: %{run} --rows=0 | FileCheck %s
// REQUIRES: cuda-sm90

// CHECK: check passed

func.func @dynamic(%x: tensor<?x256xf16>, %i: tensor<?x4xi32>,
                   %p: tensor<?x4xf32>, %gate_up: tensor<16x256x256xf16>,
                   %down: tensor<16x128x256xf16>,
                   %gate_up_bias: tensor<16x256xf32>,
                   %down_bias: tensor<16x256xf32>) -> tensor<?x256xf16> {
  %c0 = arith.constant 0 : index
  %tokens = tensor.dim %x, %c0 : tensor<?x256xf16>
  %init = tensor.empty(%tokens) : tensor<?x256xf16>
  %y = moe.experts {weight_layout = #moe.weight_layout<kn>,
                    epilogue = #moe.epilogue<gelu_tanh, gate = interleaved>}
      ins(%x, %i, %p, %gate_up, %down
          : tensor<?x256xf16>, tensor<?x4xi32>, tensor<?x4xf32>,
            tensor<16x256x256xf16>, tensor<16x128x256xf16>)
      gate_up_bias(%gate_up_bias : tensor<16x256xf32>)
      down_bias(%down_bias : tensor<16x256xf32>)
      outs(%init : tensor<?x256xf16>) -> tensor<?x256xf16>
  return %y : tensor<?x256xf16>
}
