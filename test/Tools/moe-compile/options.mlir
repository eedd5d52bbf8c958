// --swap, --expected-tokens and --target decide orientation and schedule.
//
// RUN: moe-compile %s --emit=mlir --swap=always | FileCheck %s --check-prefixes=SWAPPED
// RUN: moe-compile %s --emit=mlir --swap=never | FileCheck %s --check-prefixes=UNSWAPPED
// RUN: moe-compile %s --emit=mlir --swap=auto --expected-tokens=1 | FileCheck %s --check-prefixes=SWAPPED
// RUN: moe-compile %s --emit=mlir --swap=auto --expected-tokens=1 | FileCheck %s --check-prefix=FEW
// RUN: moe-compile %s --emit=mlir --swap=always --expected-tokens=200 | FileCheck %s --check-prefix=MANY
// RUN: moe-compile %s --emit=mlir --target='#moe.target<"h200", swapped_efficiency = 20>' \
// RUN:   | FileCheck %s --check-prefix=BOTH
// SWAPPED-NOT: moe.grouped_matmul {
// SWAPPED: moe.grouped_matmul_swapped
// SWAPPED-NOT: moe.grouped_matmul {
// UNSWAPPED-NOT: moe.grouped_matmul_swapped
// UNSWAPPED: moe.grouped_matmul {
// UNSWAPPED-NOT: moe.grouped_matmul_swapped
// FEW: moe.grouped_matmul_swapped {{.*}}schedule = #moe.schedule<m = {{[0-9]+}}, n = {{8|16|32|64}},
// MANY: moe.grouped_matmul_swapped {{.*}}schedule = #moe.schedule<m = {{[0-9]+}}, n = 64, {{.*}}large = <m = {{[0-9]+}}, n = {{[1-9][0-9][0-9]}},
// Nobody knows how many tokens there will be: both, and a branch at run time,
// where much work is the swapped form's weakness.
// BOTH: scf.if
// BOTH: moe.grouped_matmul_swapped
// BOTH: moe.grouped_matmul {
//
// The same choices in PTX.
// RUN: moe-compile %s --swap=always | FileCheck %s --check-prefix=PTX-SWAPPED
// RUN: moe-compile %s --swap=never | FileCheck %s --check-prefix=PTX-UNSWAPPED
// PTX-SWAPPED-NOT: .entry grouped_matmul_{{[0-9]}}
// PTX-SWAPPED: .entry grouped_matmul_swapped_0(
// PTX-SWAPPED-NOT: .entry grouped_matmul_{{[0-9]}}
// PTX-UNSWAPPED-NOT: .entry grouped_matmul_swapped
// PTX-UNSWAPPED: .entry grouped_matmul_0(
// PTX-UNSWAPPED-NOT: .entry grouped_matmul_swapped
//
// Remarks of the choices, of the targets they were made for.
// RUN: moe-compile %s --emit=mlir -o %t --expected-tokens=1 --remarks-filter='moe.*' 2>&1 | FileCheck %s --check-prefix=SM90A
// RUN: moe-compile %s --emit=mlir -o %t --expected-tokens=1 --remarks-filter='moe.*' --target=h200 2>&1 | FileCheck %s --check-prefix=H200
// RUN: moe-compile %s --emit=mlir -o %t --expected-tokens=1 --remarks-filter='moe.*' --target=h20 2>&1 | FileCheck %s --check-prefix=H20
// RUN: moe-compile %s -o %t.ptx --expected-tokens=1 --remarks-filter='moe-swap-ab' 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: moe-compile %s -o %t.ptx --expected-tokens=1 --remarks-filter='nothing' 2>&1 | count 0
// SM90A: options.mlir:[[#@LINE+15]]:8: remark: [Passed] swapped | Category:moe-swap-ab | {{.*}}ExpectedTokens=1.00, {{.*}}Target=h100-sxm
// SM90A: remark: [Passed] scheduled | Category:moe-select-schedule
// H200: remark: [Passed] swapped | Category:moe-swap-ab | {{.*}}Target=h200
// H20: remark: [Passed] swapped | Category:moe-swap-ab | {{.*}}Target=h20
// ONE: Category:moe-swap-ab
// ONE-NOT: Category:moe-select-schedule
//
// A target of one's own: one GB/s instead of thousands.
// RUN: moe-compile %s --emit=mlir -o %t --expected-tokens=1 --remarks-filter='moe-swap-ab' \
// RUN:   --target='#moe.target<"h200", memory_bandwidth = 1>' 2>&1 | FileCheck %s --check-prefix=SLOW
// SLOW: Swapped="{{[0-9][0-9][0-9][0-9][0-9][0-9]+}}.

func.func @f(%x: tensor<?x2048xbf16>, %w: tensor<128x1536x2048xbf16>, %off: tensor<129xi32>,
             %y: tensor<?x1536xbf16>) -> tensor<?x1536xbf16> {

  %0 = moe.grouped_matmul ins(%x, %w, %off : tensor<?x2048xbf16>, tensor<128x1536x2048xbf16>, tensor<129xi32>)
      outs(%y : tensor<?x1536xbf16>) -> tensor<?x1536xbf16>
  return %0 : tensor<?x1536xbf16>
}
