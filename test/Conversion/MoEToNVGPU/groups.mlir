// RUN: moe-opt %s --convert-moe-to-nvgpu --canonicalize --cse --split-input-file | FileCheck %s

// The group table: whatever the groups operand holds, the experts' rows ascend
// and stay within [0, R].

// Offsets: clamped, then their running maximum from the first one on; lanes
// behind the last expert read the last offset again.
// CHECK-LABEL: llvm.func @grouped_matmul_0
// CHECK-SAME: %[[GROUPS:arg2]]: !llvm.ptr<1> {llvm.readonly}, %arg3: !llvm.ptr<1>, %[[R:.+]]: i32)
// CHECK: %[[OFFSET:.+]] = llvm.load
// CHECK: %[[POSITIVE:.+]] = arith.maxsi %[[OFFSET]], %c0_i32
// CHECK: %[[FIRST:.+]] = arith.minsi %[[POSITIVE]], %[[R]]
// CHECK: %[[EXPERT:.+]] = arith.addi %{{.+}}, %c1_i32
// CHECK: %[[POSITION:.+]] = arith.minui %[[EXPERT]], %c4_i32
// CHECK: %[[WIDE:.+]] = arith.extui %[[POSITION]] : i32 to i64
// CHECK: llvm.getelementptr %[[GROUPS]][%[[WIDE]]] : {{.*}} -> !llvm.ptr<1>, i32
// CHECK: %[[OFFSET:.+]] = llvm.load
// CHECK: %[[POSITIVE:.+]] = arith.maxsi %[[OFFSET]], %c0_i32
// CHECK: %[[CLAMPED:.+]] = arith.minsi %[[POSITIVE]], %[[R]]
// CHECK: %[[LEFT:.+]], %{{.+}} = gpu.shuffle up %[[CLAMPED]], %c1_i32, %c32_i32
// CHECK: arith.maxsi %[[CLAMPED]], %[[LEFT]]
// CHECK: gpu.shuffle up %{{.+}}, %c2_i32, %c32_i32
// CHECK: gpu.shuffle up %{{.+}}, %c4_i32, %c32_i32
// CHECK: gpu.shuffle up %{{.+}}, %c8_i32, %c32_i32
// CHECK: gpu.shuffle up %{{.+}}, %c16_i32, %c32_i32
// CHECK: %[[BEFORE:.+]], %{{.+}} = gpu.shuffle up %{{.+}}, %c1_i32, %c32_i32
// CHECK: %[[EXCLUSIVE:.+]] = arith.select %{{.+}}, %c0_i32, %[[BEFORE]]
// CHECK: arith.maxsi %[[FIRST]], %[[EXCLUSIVE]]
// The rows of an expert in tiles of 64 tokens.
// CHECK: arith.addi %{{.+}}, %c63_i32
// CHECK: arith.divui %{{.+}}, %c64_i32
func.func @offsets(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

// 64-bit values are clamped before they are narrowed.
// CHECK-LABEL: llvm.func @grouped_matmul_0
// CHECK-SAME: %[[R:[^,:]+]]: i32)
// CHECK: %[[OFFSET:.+]] = llvm.load %{{.+}} : !llvm.ptr<1> -> i64
// CHECK: %[[POSITIVE:.+]] = arith.maxsi %[[OFFSET]], %c0_i64
// CHECK: %[[LIMIT:.+]] = arith.extui %[[R]] : i32 to i64
// CHECK: %[[CLAMPED:.+]] = arith.minsi %[[POSITIVE]], %[[LIMIT]]
// CHECK: arith.trunci %[[CLAMPED]] : i64 to i32
func.func @offsets_i64(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi64>, %y: memref<?x64xbf16>) {
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi64>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

// Sizes: clamped, then their running sum, which stops at R. Of 40 experts a
// lane has two.
// CHECK-LABEL: llvm.func @grouped_matmul_swapped_0
// CHECK-SAME: %[[R:[^,:]+]]: i32)
// CHECK: %[[EXPERT:.+]] = arith.muli %[[LANE:.+]], %c2_i32
// CHECK: arith.minui %[[EXPERT]], %c39_i32
// CHECK: %[[SIZE:.+]] = arith.trunci %{{.+}} : i64 to i32
// CHECK: %[[IS_EXPERT:.+]] = arith.cmpi ule, %[[EXPERT]], %c39_i32
// CHECK: %[[OWN:.+]] = arith.select %[[IS_EXPERT]], %[[SIZE]], %c0_i32
// CHECK: %[[SECOND:.+]] = arith.addi %[[EXPERT]], %c1_i32
// CHECK: arith.minui %[[SECOND]], %c39_i32
// CHECK: %[[SIZE2:.+]] = arith.trunci %{{.+}} : i64 to i32
// CHECK: %[[OWN2:.+]] = arith.select %{{.+}}, %[[SIZE2]], %c0_i32
// CHECK: %[[SUM:.+]] = arith.addi %[[OWN]], %[[OWN2]]
// CHECK: %[[BOTH:.+]] = arith.minui %[[SUM]], %[[R]]
// CHECK: gpu.shuffle up %[[BOTH]], %c1_i32, %c32_i32
// Tokens in tiles of 8.
// CHECK: arith.addi %{{.+}}, %c7_i32
// CHECK: arith.divui %{{.+}}, %c8_i32
// CHECK: arith.addi %{{.+}}, %c7_i32
// CHECK: arith.divui %{{.+}}, %c8_i32
func.func @sizes_i64(%x: memref<?x64xbf16>, %w: memref<40x64x64xbf16>, %sizes: memref<40xi64>, %y: memref<?x64xbf16>) {
  moe.grouped_matmul_swapped {group_kind = #moe.group_kind<sizes>,
                              token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %sizes : memref<40x64x64xbf16>, memref<?x64xbf16>, memref<40xi64>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

// A tile's expert is searched for in steps of halves: 256, 128, ..., 1. Token
// tiles that share weights are neighbours.
// CHECK-LABEL: llvm.func @grouped_matmul_swapped_0
// CHECK: nvvm.setmaxregister decrease
// CHECK: scf.while
// CHECK: } do {
// CHECK: arith.divui %{{.+}}, %c3_i32
// CHECK-COUNT-9: arith.cmpi ule
// CHECK-NOT: arith.cmpi ule
// CHECK: %[[OUTPUT_TILE:.+]] = arith.divui %[[LOCAL:.+]], %[[TOKEN_TILES:.+]] : i32
// CHECK: %[[WHOLE:.+]] = arith.muli %[[OUTPUT_TILE]], %[[TOKEN_TILES]]
// CHECK: %[[TOKEN_TILE:.+]] = arith.subi %[[LOCAL]], %[[WHOLE]]
// CHECK: arith.muli %[[TOKEN_TILE]], %c8_i32
func.func @many_experts(%x: memref<?x64xbf16>, %w: memref<256x192x64xbf16>, %off: memref<257xi32>, %y: memref<?x192xbf16>) {
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<256x192x64xbf16>, memref<?x64xbf16>, memref<257xi32>)
      outs(%y : memref<?x192xbf16>)
  return
}

// -----

// A lane has at most eight experts: 600 take a warp three rounds, and rows and
// tiles are carried from one to the next.
// CHECK-LABEL: llvm.func @grouped_matmul_swapped_0
// CHECK: scf.for %[[ROUND:.+]] = %c0_i32 to %c3_i32 step %c1_i32 iter_args(%[[ROW:.+]] = %c0_i32, %[[TILE:.+]] = %c0_i32)
// CHECK: %[[FIRST:.+]] = arith.muli %[[ROUND]], %c32_i32
// CHECK: %[[LANES:.+]] = arith.addi %[[FIRST]], %{{.+}} : i32
// CHECK: arith.muli %[[LANES]], %c8_i32
// CHECK: arith.addi %[[ROW]],
// CHECK: arith.addi %[[TILE]],
// CHECK-COUNT-2: gpu.shuffle idx %{{.+}}, %c31_i32, %c32_i32
func.func @rounds(%x: memref<?x64xbf16>, %w: memref<600x64x64xbf16>, %sizes: memref<600xi32>, %y: memref<?x64xbf16>) {
  moe.grouped_matmul_swapped {group_kind = #moe.group_kind<sizes>,
                              token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %sizes : memref<600x64x64xbf16>, memref<?x64xbf16>, memref<600xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}
