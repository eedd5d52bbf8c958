// RUN: moe-opt %s --moe-swap-ab --split-input-file | FileCheck %s
// RUN: moe-opt %s --moe-swap-ab --moe-swap-ab --split-input-file | FileCheck %s
// RUN: moe-opt %s --moe-swap-ab=mode=never --split-input-file \
// RUN:   | FileCheck %s --check-prefix=NEVER
// The remarks of the modes give no time: none was asked for.
// RUN: moe-opt %s --moe-swap-ab=mode=never --split-input-file \
// RUN:   --remarks-filter='moe.*' 2>&1 >/dev/null \
// RUN:   | FileCheck %s --check-prefix=REASON -DMODE=never
// RUN: moe-opt %s --moe-swap-ab=mode=always --split-input-file \
// RUN:   --remarks-filter='moe.*' 2>&1 >/dev/null \
// RUN:   | FileCheck %s --check-prefix=REASON -DMODE=always

// NEVER-NOT: moe.grouped_matmul_swapped

// REASON: Function=down {{.*}}Reason="the mode is [[MODE]]"

// The example of the documentation.
// CHECK-LABEL: func @down
// CHECK-SAME: (%[[X:.+]]: tensor<64x768xbf16>, %[[W:.+]]: tensor<128x2048x768xbf16>, %[[OFF:.+]]: tensor<129xi32>, %[[Y:.+]]: tensor<64x2048xbf16>)
func.func @down(%x: tensor<64x768xbf16>, %w: tensor<128x2048x768xbf16>,
                %off: tensor<129xi32>,
                %y: tensor<64x2048xbf16>) -> tensor<64x2048xbf16> {
  // CHECK: %[[XE:.+]] = tensor.empty() : tensor<768x64xbf16>
  // CHECK: %[[XT:.+]] = linalg.transpose ins(%[[X]] : {{.*}}) outs(%[[XE]] : tensor<768x64xbf16>) permutation = [1, 0]
  // CHECK: %[[YE:.+]] = tensor.empty() : tensor<2048x64xbf16>
  // CHECK: %[[YT:.+]] = linalg.transpose ins(%[[Y]] : {{.*}}) outs(%[[YE]] : tensor<2048x64xbf16>) permutation = [1, 0]
  // CHECK: %[[RT:.+]] = moe.grouped_matmul_swapped ins(%[[W]], %[[XT]], %[[OFF]] : {{.*}}) outs(%[[YT]] : tensor<2048x64xbf16>) -> tensor<2048x64xbf16>
  // CHECK: %[[R:.+]] = linalg.transpose ins(%[[RT]] : tensor<2048x64xbf16>) outs(%[[Y]] : tensor<64x2048xbf16>) permutation = [1, 0]
  // CHECK: return %[[R]]
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<64x768xbf16>, tensor<128x2048x768xbf16>,
                         tensor<129xi32>)
      outs(%y : tensor<64x2048xbf16>) -> tensor<64x2048xbf16>
  return %0 : tensor<64x2048xbf16>
}

// -----

// Dynamic rows with a hint: sizes of the transposed tensors come from the
// operands.
// CHECK-LABEL: func @dynamic_rows
// CHECK-SAME: (%[[X:.+]]: tensor<?x64xf16>, %{{.+}}: tensor<8x128x64xf16>, %{{.+}}: tensor<9xi32>, %[[Y:.+]]: tensor<?x128xf32>)
func.func @dynamic_rows(%x: tensor<?x64xf16>, %w: tensor<8x128x64xf16>,
                        %off: tensor<9xi32>,
                        %y: tensor<?x128xf32>) -> tensor<?x128xf32> {
  // CHECK-DAG: %[[RX:.+]] = tensor.dim %[[X]]
  // CHECK-DAG: tensor.empty(%[[RX]]) : tensor<64x?xf16>
  // CHECK-DAG: %[[RY:.+]] = tensor.dim %[[Y]]
  // CHECK-DAG: tensor.empty(%[[RY]]) : tensor<128x?xf32>
  // CHECK: moe.grouped_matmul_swapped {expected_tokens = array<i64: 4>}
  // CHECK-SAME: -> tensor<128x?xf32>
  %0 = moe.grouped_matmul {expected_tokens = array<i64: 4>}
      ins(%x, %w, %off : tensor<?x64xf16>, tensor<8x128x64xf16>, tensor<9xi32>)
      outs(%y : tensor<?x128xf32>) -> tensor<?x128xf32>
  return %0 : tensor<?x128xf32>
}

// -----

// Everything else is carried over; tokens are transposed under a gather too.
// CHECK-LABEL: func @every_option
func.func @every_option(%x: tensor<5x64xf16>, %w: tensor<8x64x128xf16>,
                        %sizes: tensor<8xi64>, %bias: tensor<8x128xf32>,
                        %gather: tensor<20xi32>, %scale: tensor<20xf32>,
                        %scatter: tensor<20xi64>, %y: tensor<?x64xf32>)
    -> tensor<?x64xf32> {
  // CHECK: linalg.transpose ins(%{{.*}} : tensor<5x64xf16>)
  // CHECK: moe.grouped_matmul_swapped
  // CHECK-SAME: epilogue = #moe.epilogue<silu, gate = interleaved>
  // CHECK-SAME: expected_tokens = array<i64: 4>
  // CHECK-SAME: group_kind = #moe.group_kind<sizes>
  // CHECK-SAME: note = "kept"
  // CHECK-SAME: weight_layout = #moe.weight_layout<kn>
  // CHECK-SAME: bias(%{{.*}} : tensor<8x128xf32>) gather(%{{.*}} : tensor<20xi32>) scale(%{{.*}} : tensor<20xf32>) scatter(%{{.*}} : tensor<20xi64>)
  %0 = moe.grouped_matmul {
      note = "kept",
      weight_layout = #moe.weight_layout<kn>,
      group_kind = #moe.group_kind<sizes>,
      epilogue = #moe.epilogue<silu, gate = interleaved>,
      expected_tokens = array<i64: 4>}
      ins(%x, %w, %sizes : tensor<5x64xf16>, tensor<8x64x128xf16>, tensor<8xi64>)
      bias(%bias : tensor<8x128xf32>) gather(%gather : tensor<20xi32>)
      scale(%scale : tensor<20xf32>) scatter(%scatter : tensor<20xi64>)
      outs(%y : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
