// RUN: moe-opt %s --convert-moe-to-nvgpu --canonicalize --cse --split-input-file | FileCheck %s

// What is loaded, where to, and which matrix instructions read it, for every
// layout and orientation. A load's coordinates count from the innermost
// dimension; a row of shared memory is 128 bytes.

// Swapped: weights are the A operand, in tiles of 64 rows a slab; n comes from
// the tokens. One box of all rows, split among the consumers by address.
// CHECK-LABEL: func @swapped_nk
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c1, %c256, %c64] {{.*}} -> <tensor = memref<1x256x64xbf16, #gpu.address_space<workgroup>>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c8, %c64] {{.*}} -> <tensor = memref<8x64xbf16, #gpu.address_space<workgroup>>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>
// CHECK: llvm.func @grouped_matmul_swapped_0
// CHECK: %[[W:.+]] = builtin.unrealized_conversion_cast %arg0
// CHECK: %[[X:.+]] = builtin.unrealized_conversion_cast %arg1
// A stage: (256 + 16) rows.
// CHECK: nvgpu.mbarrier.arrive.expect_tx %{{.+}}, %c33792
// CHECK: %[[TILE_ROW:.+]] = arith.muli %{{.+}}, %c256_i32
// CHECK: %[[ROW:.+]] = arith.index_castui %[[TILE_ROW]]
// CHECK: nvgpu.tma.async.load %[[W]][%c0, %[[ROW]], %{{.+}}]
// CHECK: arith.addi %{{.+}}, %c32768 : index
// CHECK: nvgpu.tma.async.load %[[X]][%c0, %{{.+}}]
// CHECK-NOT: nvgpu.tma.async.load
// CHECK: nvgpu.warpgroup.mma.init.accumulator -> <fragmented = vector<128x8xf32>>
// The second consumer's slabs start 128 rows down.
// CHECK: arith.muli %{{.+}}, %c16384_i32
// CHECK: %[[A:.+]] = nvgpu.warpgroup.generate.descriptor %{{.+}}, %[[W]] : memref<128x64xbf16, #gpu.address_space<workgroup>>
// CHECK: %[[B:.+]] = nvgpu.warpgroup.generate.descriptor %{{.+}}, %[[X]] : memref<8x64xbf16, #gpu.address_space<workgroup>>
// CHECK: nvgpu.warpgroup.mma %[[A]], %[[B]], %{{[^ ]+}} : <tensor = memref<128x64xbf16, #gpu.address_space<workgroup>>>, <tensor = memref<64x8xbf16, #gpu.address_space<workgroup>>>, <fragmented = vector<128x8xf32>>
func.func @swapped_nk(%x: memref<?x64xbf16>, %w: memref<4x200x64xbf16>, %off: memref<5xi32>, %y: memref<?x200xbf16>) {
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 256, n = 8, k = 64, stages = 3, warpgroups = 2>}
      ins(%w, %x, %off : memref<4x200x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x200xbf16>)
  return
}

// -----

// kn weights are read as they lie: panels of 64 rows, k outermost. A's strides
// say so to the matrix instruction.
// CHECK-LABEL: func @swapped_kn
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c1, %c64, %c64] {{.*}} -> <tensor = memref<1x64x64xf16,
// CHECK: llvm.func @grouped_matmul_swapped_0
// CHECK: %[[W:.+]] = builtin.unrealized_conversion_cast %arg0
// CHECK: nvgpu.mbarrier.arrive.expect_tx %{{.+}}, %c17408
// CHECK: %[[TILE_ROW:.+]] = arith.muli %{{.+}}, %c128_i32
// CHECK: %[[ROW:.+]] = arith.index_castui %[[TILE_ROW]]
// CHECK: nvgpu.tma.async.load %[[W]][%[[ROW]], %c0, %{{.+}}]
// CHECK: %[[SECOND:.+]] = arith.addi %[[TILE_ROW]], %c64_i32
// CHECK: %[[ROW:.+]] = arith.index_castui %[[SECOND]]
// CHECK: arith.addi %{{.+}}, %c8192 : index
// CHECK: nvgpu.tma.async.load %[[W]][%[[ROW]], %c0, %{{.+}}]
// CHECK: arith.addi %{{.+}}, %c16384 : index
// CHECK: nvgpu.tma.async.load
// CHECK-NOT: nvgpu.tma.async.load
// CHECK: %[[VIEW:.+]] = memref.transpose {{.*}} to memref<64x64xf16, strided<[1, 64]>, #gpu.address_space<workgroup>>
// CHECK: nvgpu.warpgroup.generate.descriptor %[[VIEW]], %[[W]]
// CHECK: nvgpu.warpgroup.mma %{{[^ ]+}}, %{{[^ ]+}}, %{{[^ ]+}} : <tensor = memref<128x64xf16, strided<[1, 64]>, #gpu.address_space<workgroup>>>, <tensor = memref<64x8xf16, #gpu.address_space<workgroup>>>, <fragmented = vector<128x8xf32>>
func.func @swapped_kn(%x: memref<?x64xf16>, %w: memref<4x64x200xf16>, %off: memref<5xi32>, %y: memref<?x200xf16>) {
  moe.grouped_matmul_swapped {weight_layout = #moe.weight_layout<kn>,
                              token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 128, n = 8, k = 64, stages = 3, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x64x200xf16>, memref<?x64xf16>, memref<5xi32>)
      outs(%y : memref<?x200xf16>)
  return
}

// -----

// Unswapped: tokens are the A operand. 384 rows are more than a box can have.
// CHECK-LABEL: func @unswapped_nk
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c1, %c64, %c64] {{.*}} -> <tensor = memref<1x64x64xbf16,
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c64, %c64] {{.*}} -> <tensor = memref<64x64xbf16,
// CHECK: llvm.func @grouped_matmul_0
// CHECK: %[[W:.+]] = builtin.unrealized_conversion_cast %arg0
// CHECK: %[[X:.+]] = builtin.unrealized_conversion_cast %arg1
// CHECK: nvgpu.mbarrier.arrive.expect_tx %{{.+}}, %c57344
// Weights behind the 384 rows of tokens.
// CHECK: arith.addi %{{.+}}, %c49152 : index
// CHECK: nvgpu.tma.async.load %[[W]]
// CHECK-COUNT-6: nvgpu.tma.async.load %[[X]]
// CHECK-NOT: nvgpu.tma.async.load
// CHECK: %[[A:.+]] = nvgpu.warpgroup.generate.descriptor %{{.+}}, %[[X]]
// CHECK: %[[B:.+]] = nvgpu.warpgroup.generate.descriptor %{{.+}}, %[[W]]
// CHECK: nvgpu.warpgroup.mma %[[A]], %[[B]], %{{[^ ]+}} : <tensor = memref<128x64xbf16, #gpu.address_space<workgroup>>>, <tensor = memref<64x64xbf16, #gpu.address_space<workgroup>>>, <fragmented = vector<128x64xf32>>
func.func @unswapped_nk(%x: memref<?x64xbf16>, %w: memref<4x200x64xbf16>, %off: memref<5xi32>, %y: memref<?x200xbf16>) {
  moe.grouped_matmul {schedule = #moe.schedule<m = 384, n = 64, k = 64, stages = 3, warpgroups = 3>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x200x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x200xbf16>)
  return
}

// -----

// B has no strides that say it; transposeB does.
// CHECK-LABEL: func @unswapped_kn
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c1, %c64, %c64] {{.*}} -> <tensor = memref<1x64x64xf16,
// CHECK: llvm.func @grouped_matmul_0
// CHECK: %[[W:.+]] = builtin.unrealized_conversion_cast %arg0
// CHECK-COUNT-2: nvgpu.tma.async.load %[[W]][%{{[^c]+}}, %c0, %{{.+}}]
// CHECK: nvgpu.warpgroup.mma %{{[^ ]+}}, %{{[^ ]+}}, %{{[^ ]+}} {transposeB} : <tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>, <tensor = memref<64x128xf16, #gpu.address_space<workgroup>>>, <fragmented = vector<64x128xf32>>
func.func @unswapped_kn(%x: memref<?x64xf16>, %w: memref<4x64x200xf16>, %off: memref<5xi32>, %y: memref<?x200xf16>) {
  moe.grouped_matmul {weight_layout = #moe.weight_layout<kn>,
                      schedule = #moe.schedule<m = 64, n = 128, k = 64, stages = 3, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xf16>, memref<4x64x200xf16>, memref<5xi32>)
      outs(%y : memref<?x200xf16>)
  return
}

// -----

// Gate rows before up rows: a tile of 128 outputs holds, for each consumer, 64
// gate rows and the up rows of the same outputs, N/2 = 100 rows further.
// CHECK-LABEL: func @swapped_concat
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c1, %c64, %c64]
// CHECK: llvm.func @grouped_matmul_swapped_0
// CHECK: %[[W:.+]] = builtin.unrealized_conversion_cast %arg0
// CHECK: %[[STAGE:.+]] = arith.index_castui %{{.+}} : i32 to index
// CHECK: %[[TILE_ROW:.+]] = arith.muli %{{.+}}, %c128_i32
// CHECK: nvgpu.tma.async.load %[[W]]
// CHECK: arith.addi %[[TILE_ROW]], %c100_i32
// CHECK: arith.addi %{{.+}}, %c8192 : index
// CHECK: nvgpu.tma.async.load %[[W]]
// CHECK: arith.addi %[[TILE_ROW]], %c64_i32
// CHECK: arith.addi %{{.+}}, %c16384 : index
// CHECK: nvgpu.tma.async.load %[[W]]
// CHECK: arith.addi %[[TILE_ROW]], %c164_i32
// CHECK: arith.addi %{{.+}}, %c24576 : index
// CHECK: nvgpu.tma.async.load %[[W]]
// CHECK-NOT: nvgpu.tma.async.load %[[W]]
// CHECK: nvgpu.warpgroup.mma {{.*}} <fragmented = vector<128x8xf32>>
func.func @swapped_concat(%x: memref<?x64xbf16>, %w: memref<4x200x64xbf16>, %off: memref<5xi32>, %y: memref<?x100xbf16>) {
  moe.grouped_matmul_swapped {epilogue = #moe.epilogue<silu, gate = concat>,
                              token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 256, n = 8, k = 64, stages = 3, warpgroups = 2>}
      ins(%w, %x, %off : memref<4x200x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x100xbf16>)
  return
}

// -----

// Unswapped, all consumers share the gate and the up columns: two boxes of half
// the tile's n.
// CHECK-LABEL: func @unswapped_concat
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c1, %c24, %c64]
// CHECK: llvm.func @grouped_matmul_0
// CHECK: %[[W:.+]] = builtin.unrealized_conversion_cast %arg0
// CHECK: %[[TILE_ROW:.+]] = arith.muli %{{.+}}, %c24_i32
// CHECK: arith.addi %{{.+}}, %c8192 : index
// CHECK: nvgpu.tma.async.load %[[W]]
// CHECK: arith.addi %[[TILE_ROW]], %c100_i32
// CHECK: arith.addi %{{.+}}, %c11264 : index
// CHECK: nvgpu.tma.async.load %[[W]]
// CHECK-NOT: nvgpu.tma.async.load %[[W]]
// CHECK: nvgpu.warpgroup.mma {{.*}} <fragmented = vector<64x48xf32>>
func.func @unswapped_concat(%x: memref<?x64xbf16>, %w: memref<4x200x64xbf16>, %off: memref<5xi32>, %y: memref<?x100xbf16>) {
  moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = concat>,
                      schedule = #moe.schedule<m = 64, n = 48, k = 64, stages = 3, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x200x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x100xbf16>)
  return
}

// -----

// The up half of kn weights is further along the same rows.
// CHECK-LABEL: func @swapped_kn_concat
// CHECK: llvm.func @grouped_matmul_swapped_0
// CHECK: %[[W:.+]] = builtin.unrealized_conversion_cast %arg0
// CHECK: %[[TILE_ROW:.+]] = arith.muli %{{.+}}, %c64_i32
// CHECK: nvgpu.tma.async.load %[[W]]
// CHECK: %[[UP:.+]] = arith.addi %[[TILE_ROW]], %c104_i32
// CHECK: %[[UP_ROW:.+]] = arith.index_castui %[[UP]]
// CHECK: nvgpu.tma.async.load %[[W]][%[[UP_ROW]], %c0, %{{.+}}]
// CHECK-NOT: nvgpu.tma.async.load %[[W]]
// CHECK: nvgpu.warpgroup.mma {{.*}} <tensor = memref<128x64xbf16, strided<[1, 64]>, {{.*}}<fragmented = vector<128x8xf32>>
func.func @swapped_kn_concat(%x: memref<?x64xbf16>, %w: memref<4x64x208xbf16>, %off: memref<5xi32>, %y: memref<?x104xbf16>) {
  moe.grouped_matmul_swapped {weight_layout = #moe.weight_layout<kn>, epilogue = #moe.epilogue<silu, gate = concat>,
                              token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 128, n = 8, k = 64, stages = 3, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x64x208xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x104xbf16>)
  return
}

// -----

// Interleaved gate and up rows need no boxes of their own.
// CHECK-LABEL: func @swapped_interleaved
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c1, %c64, %c64]
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c8, %c64]
// CHECK: llvm.func @grouped_matmul_swapped_0
// CHECK-COUNT-2: nvgpu.tma.async.load
// CHECK-NOT: nvgpu.tma.async.load
// CHECK: nvgpu.warpgroup.mma {{.*}} <fragmented = vector<64x8xf32>>
func.func @swapped_interleaved(%x: memref<?x64xbf16>, %w: memref<4x200x64xbf16>, %off: memref<5xi32>, %y: memref<?x100xbf16>) {
  moe.grouped_matmul_swapped {epilogue = #moe.epilogue<silu, gate = interleaved>,
                              token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 3, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x200x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x100xbf16>)
  return
}
