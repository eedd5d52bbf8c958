// What decides, and the remark that says so.
//
// RUN: moe-opt %s --moe-swap-ab --remarks-filter='moe.*' --split-input-file \
// RUN:   --verify-diagnostics -o /dev/null
// The presets' swapped kernels are the better ones for any number of tokens;
// these are not.
// DEFINE: %{target} = target={#moe.target<"h20", swapped_efficiency = 60, unswapped_efficiency = 90>}
// RUN: moe-opt %s --moe-swap-ab='%{target}' --split-input-file | FileCheck %s --check-prefix=H20
// RUN: moe-opt %s --moe-swap-ab='%{target} expected-tokens=4096' --split-input-file | FileCheck %s --check-prefix=MANY
// RUN: moe-opt %s --moe-swap-ab='%{target} expected-tokens=4096' --split-input-file --remarks-filter='moe.*' 2>&1 | FileCheck %s --check-prefix=KEPT
// RUN: moe-opt %s --moe-swap-ab=expected-tokens=0.5 --split-input-file | FileCheck %s --check-prefix=FEW

// R / E = 4.
func.func @from_sizes(%x: tensor<512x2048xbf16>, %w: tensor<128x1536x2048xbf16>,
                      %off: tensor<129xi32>,
                      %y: tensor<512x1536xbf16>) -> tensor<512x1536xbf16> {
  // expected-remark-re @+1 {{[Passed] swapped | Category:moe-swap-ab | Function=from_sizes | Choice=swapped, ExpectedTokens=4.00, Op=moe.grouped_matmul, Swapped="{{[0-9.]+}} us", Target=h100-sxm, Unswapped="{{[0-9.]+}} us"}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<512x2048xbf16>, tensor<128x1536x2048xbf16>,
                         tensor<129xi32>)
      outs(%y : tensor<512x1536xbf16>) -> tensor<512x1536xbf16>
  return %0 : tensor<512x1536xbf16>
}

// -----

// The gather's length is the number of rows.
func.func @from_gather(%x: tensor<64x2048xbf16>, %w: tensor<128x1536x2048xbf16>,
                       %off: tensor<129xi32>, %gather: tensor<512xi32>,
                       %y: tensor<512x1536xbf16>) -> tensor<512x1536xbf16> {
  // expected-remark @+1 {{ExpectedTokens=4.00}}
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<64x2048xbf16>, tensor<128x1536x2048xbf16>,
                         tensor<129xi32>) gather(%gather : tensor<512xi32>)
      outs(%y : tensor<512x1536xbf16>) -> tensor<512x1536xbf16>
  return %0 : tensor<512x1536xbf16>
}

// -----

// The hint goes before the sizes.
// KEPT: [Missed] kept | Category:moe-swap-ab | Function=hint | Choice=unswapped, ExpectedTokens=4096.00, Op=moe.grouped_matmul, Reason="swapping is not predicted to be faster", Swapped="{{[0-9.]+}} us", Target=h20, Unswapped="{{[0-9.]+}} us"
// H20-LABEL: func @hint
// H20: moe.grouped_matmul_swapped
// MANY-LABEL: func @hint
// MANY: moe.grouped_matmul {
// FEW-LABEL: func @hint
// FEW: moe.grouped_matmul_swapped
func.func @hint(%x: tensor<?x768xbf16>, %w: tensor<128x2048x768xbf16>,
                %off: tensor<129xi32>,
                %y: tensor<?x2048xbf16>) -> tensor<?x2048xbf16> {
  // expected-remark @+1 {{Choice=swapped, ExpectedTokens=20.00}}
  %0 = moe.grouped_matmul {expected_tokens = array<i64: 20>}
      ins(%x, %w, %off : tensor<?x768xbf16>, tensor<128x2048x768xbf16>,
                         tensor<129xi32>)
      outs(%y : tensor<?x2048xbf16>) -> tensor<?x2048xbf16>
  return %0 : tensor<?x2048xbf16>
}

// -----

// A hint for each expert: their mean is shown.
func.func @hints(%x: tensor<?x768xbf16>, %w: tensor<4x2048x768xbf16>,
                 %off: tensor<5xi32>,
                 %y: tensor<?x2048xbf16>) -> tensor<?x2048xbf16> {
  // expected-remark @+1 {{Choice=swapped, ExpectedTokens=2.50}}
  %0 = moe.grouped_matmul {expected_tokens = array<i64: 0, 1, 1, 8>}
      ins(%x, %w, %off : tensor<?x768xbf16>, tensor<4x2048x768xbf16>,
                         tensor<5xi32>)
      outs(%y : tensor<?x2048xbf16>) -> tensor<?x2048xbf16>
  return %0 : tensor<?x2048xbf16>
}

// -----

// The module's target, here one whose arithmetic is too slow for the swapped
// form alone.
module attributes {moe.target = #moe.target<"h20", swapped_efficiency = 1>} {
  func.func @module_target(%x: tensor<512x2048xbf16>,
                           %w: tensor<128x1536x2048xbf16>, %off: tensor<129xi32>,
                           %y: tensor<512x1536xbf16>) -> tensor<512x1536xbf16> {
    // expected-remark @+1 {{Choice=unswapped}}
    %0 = moe.grouped_matmul
        ins(%x, %w, %off : tensor<512x2048xbf16>, tensor<128x1536x2048xbf16>,
                           tensor<129xi32>)
        outs(%y : tensor<512x1536xbf16>) -> tensor<512x1536xbf16>
    return %0 : tensor<512x1536xbf16>
  }
}
