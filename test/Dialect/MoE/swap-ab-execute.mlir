// The rewrites keep the results: each form runs on the CPU against the op as it
// was written, in double precision.
//
// DEFINE: %{run} = moe-run %s --routing=zipf:1.2 --check
// RUN: %{run} --rows=20 --passes='moe-swap-ab{mode=always}' | FileCheck %s
// RUN: %{run} --rows=20 --passes='moe-swap-ab{mode=always},moe-fold-transposes' | FileCheck %s
//
// The threshold of this target is 18 tokens for each of 8 experts: 143 and 144
// rows take the two sides of the branch.
// DEFINE: %{target} = target={#moe.target<"h20", swapped_efficiency = 20>}
// RUN: moe-opt %s --moe-swap-ab='%{target}' | FileCheck %s --check-prefix=BRANCH
// RUN: %{run} --rows=143 --passes='moe-swap-ab{%{target}},moe-fold-transposes' | FileCheck %s
// RUN: %{run} --rows=144 --passes='moe-swap-ab{%{target}},moe-fold-transposes' | FileCheck %s

// CHECK: check passed
// BRANCH: %[[LIMIT:.+]] = arith.constant 144 : index
// BRANCH: arith.cmpi ult, %{{.+}}, %[[LIMIT]] : index
func.func @main(%x: tensor<?x64xbf16>, %w: tensor<8x1024x64xbf16>,
                %off: tensor<9xi32>, %bias: tensor<8x1024xf32>,
                %y: tensor<?x1024xbf16>) -> tensor<?x1024xbf16> {
  %0 = moe.grouped_matmul {epilogue = #moe.epilogue<silu>}
      ins(%x, %w, %off : tensor<?x64xbf16>, tensor<8x1024x64xbf16>,
                         tensor<9xi32>)
      bias(%bias : tensor<8x1024xf32>)
      outs(%y : tensor<?x1024xbf16>) -> tensor<?x1024xbf16>
  return %0 : tensor<?x1024xbf16>
}
