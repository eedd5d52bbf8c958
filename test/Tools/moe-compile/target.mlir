// Without --target, the target is the one in the file.
//
// RUN: moe-compile %s -o %t.ptx --remarks-filter='moe.*' 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: FileCheck %s --check-prefix=GRID --input-file=%t.json
// RUN: moe-compile %s --emit=mlir -o %t.mlir --remarks-filter='moe.*' 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: moe-compile %s --target=sm_90a -o %t.ptx --remarks-filter='moe.*' 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: sed -e s/moe.target/other.target/ %s | moe-compile -o %t.ptx --remarks-filter='moe.*' 2>&1 | FileCheck %s --check-prefix=OPTION
// FILE: Category:moe-swap-ab {{.*}}Target=h20{{,|$}}
// FILE: Category:moe-select-schedule {{.*}}Target=h20{{,|$}}
// GRID: "grid": [
// GRID: 78
// OPTION: Category:moe-swap-ab {{.*}}Target=h100-sxm{{,|$}}
// OPTION: Category:moe-select-schedule {{.*}}Target=h100-sxm{{,|$}}

module attributes {moe.target = #moe.target<"h20">} {
  func.func @f(%x: tensor<?x64xbf16>, %w: tensor<4x64x64xbf16>, %off: tensor<5xi32>, %y: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
    %0 = moe.grouped_matmul {expected_tokens = array<i64: 4>}
        ins(%x, %w, %off : tensor<?x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>)
        outs(%y : tensor<?x64xbf16>) -> tensor<?x64xbf16>
    return %0 : tensor<?x64xbf16>
  }
}
