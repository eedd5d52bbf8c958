// A whole experts layer: a launch for each of dispatch, two matmuls and combine.
//
// DEFINE: %{device} = cuda
// DEFINE: %{run} = moe-run %s --device=%{device} --check --repeat=3

// RUN: %{run} --entry=static --routing=one-expert | FileCheck %s
// RUN: %{run} --entry=static --routing=empty-groups | FileCheck %s
// RUN: %{run} --entry=static --json=%t.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t.json
// RUN: %{run} --entry=ungated | FileCheck %s
// RUN: %{run} --entry=biased --seed=2 | FileCheck %s
// REQUIRES: cuda-sm90

// CHECK: check passed
// JSON: "bytes": {{[1-9][0-9]+}},
// JSON: "gbytes_per_second": {{[0-9.]+}},

func.func @static(%x: tensor<24x256xbf16>, %i: tensor<24x4xi32>,
                  %p: tensor<24x4xf32>, %gate_up: tensor<16x256x256xbf16>,
                  %down: tensor<16x256x128xbf16>) -> tensor<24x256xbf16> {
  %init = tensor.empty() : tensor<24x256xbf16>
  %y = moe.experts {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %i, %p, %gate_up, %down
          : tensor<24x256xbf16>, tensor<24x4xi32>, tensor<24x4xf32>,
            tensor<16x256x256xbf16>, tensor<16x256x128xbf16>)
      outs(%init : tensor<24x256xbf16>) -> tensor<24x256xbf16>
  return %y : tensor<24x256xbf16>
}

func.func @biased(%x: tensor<19x256xf16>, %i: tensor<19x4xi32>,
                   %p: tensor<19x4xf32>, %gate_up: tensor<16x256x256xf16>,
                   %down: tensor<16x128x256xf16>,
                   %gate_up_bias: tensor<16x256xf32>,
                   %down_bias: tensor<16x256xf32>) -> tensor<19x256xf16> {
  %init = tensor.empty() : tensor<19x256xf16>
  %y = moe.experts {weight_layout = #moe.weight_layout<kn>,
                    epilogue = #moe.epilogue<gelu_tanh, gate = interleaved>}
      ins(%x, %i, %p, %gate_up, %down
          : tensor<19x256xf16>, tensor<19x4xi32>, tensor<19x4xf32>,
            tensor<16x256x256xf16>, tensor<16x128x256xf16>)
      gate_up_bias(%gate_up_bias : tensor<16x256xf32>)
      down_bias(%down_bias : tensor<16x256xf32>)
      outs(%init : tensor<19x256xf16>) -> tensor<19x256xf16>
  return %y : tensor<19x256xf16>
}

// One expert a token, without a gate; 64-bit indices.
func.func @ungated(%x: tensor<70x256xbf16>, %i: tensor<70x1xi64>,
                   %p: tensor<70x1xbf16>, %up: tensor<16x128x256xbf16>,
                   %down: tensor<16x256x128xbf16>) -> tensor<70x256xbf16> {
  %init = tensor.empty() : tensor<70x256xbf16>
  %y = moe.experts {epilogue = #moe.epilogue<relu2, gate = none>}
      ins(%x, %i, %p, %up, %down
          : tensor<70x256xbf16>, tensor<70x1xi64>, tensor<70x1xbf16>,
            tensor<16x128x256xbf16>, tensor<16x256x128xbf16>)
      outs(%init : tensor<70x256xbf16>) -> tensor<70x256xbf16>
  return %y : tensor<70x256xbf16>
}
