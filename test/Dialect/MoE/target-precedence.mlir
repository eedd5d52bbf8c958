// Where the target comes from: the option, the function, the module, or else
// h100-sxm. Here each has another name or number of multiprocessors.

// DEFINE: %{choose} = moe-opt --moe-swap-ab --moe-select-schedule -o /dev/null --remarks-filter='moe.*'
// RUN: split-file %s %t
// RUN: %{choose} %t/module.mlir 2>&1 | FileCheck %s --check-prefix=MODULE
// RUN: %{choose} %t/none.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: moe-opt %t/module.mlir --moe-swap-ab=target=h100-sxm --moe-select-schedule=target=h100-sxm -o /dev/null \
// RUN:   --remarks-filter='moe.*' 2>&1 | FileCheck %s --check-prefix=OPTION
// MODULE: swapped | Category:moe-swap-ab | Function=of_module | {{.*}}Target=h20{{,|$}}
// MODULE: swapped | Category:moe-swap-ab | Function=of_function | {{.*}}Target=h200{{,|$}}
// MODULE: scheduled | Category:moe-select-schedule | Function=of_module | {{.*}}Target=h20{{,|$}}
// MODULE: scheduled | Category:moe-select-schedule | Function=of_function | {{.*}}Target=h200{{,|$}}
// NONE: Category:moe-swap-ab {{.*}}Target=h100-sxm{{,|$}}
// NONE: Category:moe-select-schedule {{.*}}Target=h100-sxm{{,|$}}
// OPTION-COUNT-4: Target=h100-sxm{{,|$}}

// RUN: moe-opt %t/module.mlir --moe-to-nvgpu | FileCheck %s --check-prefix=GRID
// RUN: moe-opt %t/module.mlir --moe-to-nvgpu=target=h200 | FileCheck %s --check-prefix=GRID-OPTION
// RUN: moe-opt %t/none.mlir --moe-to-nvgpu | FileCheck %s --check-prefix=GRID-NONE
// GRID: func @of_module
// GRID: arith.minui %{{.+}}, %c78 :
// GRID: func @of_function
// GRID: arith.minui %{{.+}}, %c100 :
// GRID-OPTION: func @of_module
// GRID-OPTION: arith.minui %{{.+}}, %c132 :
// GRID-OPTION: func @of_function
// GRID-OPTION: arith.minui %{{.+}}, %c132 :
// GRID-NONE: arith.minui %{{.+}}, %c132 :

//--- module.mlir
module attributes {moe.target = #moe.target<"h20">} {
  func.func @of_module(%x: tensor<?x64xbf16>, %w: tensor<4x64x64xbf16>, %off: tensor<5xi32>, %y: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
    %0 = moe.grouped_matmul {expected_tokens = array<i64: 4>}
        ins(%x, %w, %off : tensor<?x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>)
        outs(%y : tensor<?x64xbf16>) -> tensor<?x64xbf16>
    return %0 : tensor<?x64xbf16>
  }
  func.func @of_function(%x: tensor<?x64xbf16>, %w: tensor<4x64x64xbf16>, %off: tensor<5xi32>, %y: tensor<?x64xbf16>) -> tensor<?x64xbf16>
      attributes {moe.target = #moe.target<"h200", sm_count = 100>} {
    %0 = moe.grouped_matmul {expected_tokens = array<i64: 4>}
        ins(%x, %w, %off : tensor<?x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>)
        outs(%y : tensor<?x64xbf16>) -> tensor<?x64xbf16>
    return %0 : tensor<?x64xbf16>
  }
}
//--- none.mlir
func.func @f(%x: tensor<?x64xbf16>, %w: tensor<4x64x64xbf16>, %off: tensor<5xi32>, %y: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %0 = moe.grouped_matmul {expected_tokens = array<i64: 4>}
      ins(%x, %w, %off : tensor<?x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>)
      outs(%y : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return %0 : tensor<?x64xbf16>
}
