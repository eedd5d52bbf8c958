// RUN: moe-opt %s --convert-moe-to-nvgpu --canonicalize --cse --split-input-file | FileCheck %s

// The parts of a kernel in order: prologue, the producer warp and the
// consumers, each in a loop over this block's tiles.
// CHECK-LABEL: gpu.module @moe_kernels
// The 128-byte swizzle repeats every 1024 bytes.
// CHECK-NEXT: memref.global @moe_shared_memory : memref<0xi8, #gpu.address_space<workgroup>> {alignment = 1024 : i64}
// Tensor maps by value, where TMA reads them; 2 consumer warpgroups and one
// producer.
// CHECK-NEXT: llvm.mlir.global internal @grouped_matmul_swapped_0_counter(0 : i32) {addr_space = 1 : i32} : i32
// CHECK-NEXT: llvm.func @grouped_matmul_swapped_0(%[[WEIGHTS:[^:]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %[[TOKENS:[^:]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %[[GROUPS:[^:]+]]: !llvm.ptr<1> {llvm.readonly}, %[[RESULT:[^:]+]]: !llvm.ptr<1>, %[[ROWS:[^:]+]]: i32)
// CHECK-SAME: gpu.kernel
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.reqntid = array<i32: 384, 1, 1>

// Shared memory: 3 stages of (128 + 8) rows of 128 bytes, the tile of each, 3
// full and 3 empty barriers, first rows and first tiles of 4 experts and of the
// end.
// CHECK: memref.view %{{.+}}[%c52272][] : {{.*}} to memref<3xi64,
// CHECK: %[[FULL:.+]] = builtin.unrealized_conversion_cast {{.*}} to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
// CHECK: memref.view %{{.+}}[%c52296][] : {{.*}} to memref<3xi64,
// CHECK: %[[EMPTY:.+]] = builtin.unrealized_conversion_cast {{.*}} to !nvgpu.mbarrier.group
// CHECK: %[[RECORDS:.+]] = memref.view %{{.+}}[%c52224][] : {{.*}} to memref<3xvector<4xi32>,
// CHECK: %[[ROW_STARTS:.+]] = memref.view %{{.+}}[%c52320][] : {{.*}} to memref<5xi32,
// CHECK: %[[TILE_STARTS:.+]] = memref.view %{{.+}}[%c52340][] : {{.*}} to memref<5xi32,

// The next kernel of the stream may start; this one touches no memory of
// others before the kernels ahead of it have ended.
// CHECK: nvvm.griddepcontrol launch_dependents

// A stage is full after the producer's arrival, empty after the four
// warps' of both consumers.
// CHECK: nvvm.elect.sync
// CHECK: nvgpu.mbarrier.init %[[FULL]][%{{.+}}], %c1 :
// CHECK: nvgpu.mbarrier.init %[[EMPTY]][%{{.+}}], %c8 :
// CHECK: nvvm.fence.mbarrier.init
// CHECK-NOT: !llvm.ptr<1> ->
// CHECK: gpu.barrier
// CHECK-NEXT: nvvm.griddepcontrol wait

// The producer warp makes the group table. One of its threads takes tiles, the
// first by the index of its block, and the next before it loads one. Empty
// stage, what is to come, loads; the first wait passes.
// CHECK: scf.if
// CHECK-NEXT: nvvm.setmaxregister decrease 40
// CHECK: llvm.load %{{.+}} : !llvm.ptr<1> -> i32
// CHECK: memref.store %{{.+}}, %[[ROW_STARTS]]
// CHECK: memref.store %{{.+}}, %[[TILE_STARTS]]
// CHECK: nvvm.bar.warp.sync
// CHECK: nvvm.elect.sync
// CHECK: %[[TOKEN_TILES:.+]] = memref.load %[[TILE_STARTS]][%c4]
// CHECK: %[[NUM_TILES:.+]] = arith.muli %[[TOKEN_TILES]], %c2_i32
// CHECK: %[[BLOCK:.+]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: %[[PRODUCED:.+]]:3 = scf.while (%[[TILE:.+]] = %[[BLOCK]], %{{.+}} = %c0_i32, %{{.+}} = %c1_i32)
// CHECK: arith.cmpi ult, %[[TILE]], %[[NUM_TILES]]
// CHECK: } do {
// CHECK: %[[LAST:.+]] = arith.subi %[[NUM_TILES]], %c1_i32
// CHECK: %[[TAKEN:.+]] = llvm.atomicrmw uinc_wrap %{{.+}}, %[[LAST]] syncscope("device") monotonic
// CHECK: %[[BLOCKS:.+]] = nvvm.read.ptx.sreg.nctaid.x
// CHECK: %[[NEXT_TILE:.+]] = arith.addi %[[TAKEN]], %[[BLOCKS]]
// CHECK: scf.for %{{.+}} = %c0_i32 to %c4_i32 step %c1_i32 iter_args(%[[STAGE:.+]] = %{{.+}}, %[[PHASE:.+]] = %{{.+}})
// CHECK: %[[PARITY:.+]] = arith.trunci %[[PHASE]] : i32 to i1
// CHECK: nvgpu.mbarrier.try_wait.parity %[[EMPTY]][%{{.+}}], %[[PARITY]],
// CHECK: memref.store %{{.+}}, %[[RECORDS]]
// CHECK: nvgpu.mbarrier.arrive.expect_tx %[[FULL]][%{{.+}}], %c17408
// CHECK: nvgpu.tma.async.load {{.*}}, %[[FULL]][
// CHECK: nvgpu.tma.async.load {{.*}}, %[[FULL]][
// The ring: after the last stage comes the first, in the other phase.
// CHECK: %[[NEXT:.+]] = arith.addi %[[STAGE]], %c1_i32
// CHECK: %[[WRAPS:.+]] = arith.cmpi eq, %[[NEXT]], %c3_i32
// CHECK: %[[FLIPPED:.+]] = arith.xori %[[PHASE]], %c1_i32
// CHECK: arith.select %[[WRAPS]], %c0_i32, %[[NEXT]]
// CHECK: arith.select %[[WRAPS]], %[[FLIPPED]], %[[PHASE]]
// CHECK: scf.yield %[[NEXT_TILE]],
// A stage that has no tile ends the consumers' work.
// CHECK: nvgpu.mbarrier.try_wait.parity %[[EMPTY]]
// CHECK: memref.store %cst{{.*}}, %[[RECORDS]][%{{.+}}]
// CHECK: nvgpu.mbarrier.arrive %[[FULL]]
// CHECK-NOT: llvm.atomicrmw

// The consumers: full stage, matrix instructions, the stage before given back;
// the tile is stored while the producer runs ahead.
// CHECK: } else {
// CHECK-NEXT: nvvm.setmaxregister increase 232
// CHECK: scf.while (%{{.+}} = %c0_i32, %{{.+}} = %c0_i32)
// CHECK: nvgpu.mbarrier.try_wait.parity %[[FULL]]
// One lane reads the tile and hands it to the others.
// CHECK: %[[RECORD:.+]] = scf.if
// CHECK: memref.load %[[RECORDS]]
// CHECK: %[[WORD:.+]] = vector.extract %[[RECORD]][0]
// CHECK: %[[EXPERT:.+]], %{{.+}} = gpu.shuffle idx %[[WORD]], %c0_i32
// CHECK: arith.cmpi ne, %[[EXPERT]], %c-1_i32
// CHECK: } do {
// CHECK: %[[ZERO:.+]] = nvgpu.warpgroup.mma.init.accumulator
// CHECK: scf.for %[[K:.+]] = %c0_i32 to %c4_i32 step %c1_i32 iter_args(%{{.+}} = %[[ZERO]],
// CHECK: nvgpu.mbarrier.try_wait.parity %[[FULL]]
// CHECK: nvgpu.warpgroup.mma
// CHECK: arith.cmpi ne, %[[K]], %c0_i32
// CHECK: nvgpu.mbarrier.arrive %[[EMPTY]]
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: nvgpu.mbarrier.arrive %[[EMPTY]]
// CHECK-COUNT-4: llvm.store %{{.+}} : bf16, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: llvm.return
func.func @swapped(%x: memref<?x200xbf16>, %w: memref<4x200x200xbf16>, %off: memref<5xi32>, %y: memref<?x200xbf16>) {
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 128, n = 8, k = 64, stages = 3, warpgroups = 2>}
      ins(%w, %x, %off : memref<4x200x200xbf16>, memref<?x200xbf16>, memref<5xi32>)
      outs(%y : memref<?x200xbf16>)
  return
}

// -----

// Three consumer warpgroups share the registers that two would have.
// CHECK-LABEL: llvm.func @grouped_matmul_0
// CHECK-SAME: nvvm.reqntid = array<i32: 512, 1, 1>
// CHECK: nvgpu.mbarrier.init %{{.+}}, %c12 :
// CHECK: nvvm.setmaxregister decrease 40
// CHECK: nvvm.setmaxregister increase 152
func.func @three_warpgroups(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  moe.grouped_matmul {schedule = #moe.schedule<m = 192, n = 8, k = 64, stages = 2, warpgroups = 3>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

// Token tiles of 8, 16 and 24: a tensor map each, and in both roles the code of
// the first that holds the tokens of the tile. All use the same shared memory.
// CHECK-LABEL: func @token_tiles
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c1, %c64, %c64]
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c8, %c64]
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c16, %c64]
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c24, %c64]
// CHECK: llvm.func @grouped_matmul_swapped_0(
// CHECK-COUNT-4: nvgpu.tma.prefetch.descriptor
// The producer.
// CHECK: nvvm.setmaxregister decrease
// CHECK: %[[FIT_8:.+]] = arith.cmpi ule, %[[TOKENS:.+]], %c8_i32
// CHECK: scf.if %[[FIT_8]] -> (i32, i32)
// CHECK: nvgpu.mbarrier.arrive.expect_tx %{{.+}}[%{{.+}}], %c9216
// CHECK: nvgpu.tma.async.load {{.*}} -> memref<8x64xbf16
// CHECK: } else {
// CHECK: %[[FIT_16:.+]] = arith.cmpi ule, %[[TOKENS]], %c16_i32
// CHECK: scf.if %[[FIT_16]] -> (i32, i32)
// CHECK: nvgpu.mbarrier.arrive.expect_tx %{{.+}}[%{{.+}}], %c10240
// CHECK: nvgpu.tma.async.load {{.*}} -> memref<16x64xbf16
// CHECK: } else {
// CHECK: nvgpu.mbarrier.arrive.expect_tx %{{.+}}[%{{.+}}], %c11264
// CHECK: nvgpu.tma.async.load {{.*}} -> memref<24x64xbf16
// The consumers.
// CHECK: nvvm.setmaxregister increase
// CHECK: nvgpu.mbarrier.try_wait.parity
// CHECK: } do {
// CHECK: nvgpu.warpgroup.mma {{.*}} -> <fragmented = vector<64x8xf32>>
// CHECK: nvgpu.warpgroup.mma {{.*}} -> <fragmented = vector<64x16xf32>>
// CHECK: nvgpu.warpgroup.mma {{.*}} -> <fragmented = vector<64x24xf32>>
func.func @token_tiles(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 24, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x64x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

// A part for large groups: maps and barriers of its own, and a second column of
// first tiles. In both roles its loop comes first, and a block that is through
// with it waits for all stages before it loads for the other groups. One of the
// two warpgroups takes no part in that.
// CHECK-LABEL: func @large_groups
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c1, %c128, %c64]
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c16, %c64]
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c24, %c64]
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c1, %c64, %c64]
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c8, %c64]
// CHECK: llvm.func @grouped_matmul_swapped_0(
// CHECK-SAME: nvvm.reqntid = array<i32: 384, 1, 1>
// CHECK-COUNT-3: memref<5xi32, #gpu.address_space<workgroup>>
// CHECK: nvgpu.mbarrier.init %[[LARGE_EMPTY:.+]][%{{.+}}], %c8 :
// CHECK: nvgpu.mbarrier.init %[[EMPTY:.+]][%{{.+}}], %c4 :
// CHECK: nvvm.fence.mbarrier.init
// Groups of more than 8 tokens, and the others.
// CHECK: arith.cmpi ugt, %[[TOKENS:.+]], %c8_i32
// CHECK: arith.cmpi ule, %[[TOKENS]], %c8_i32
// The producer.
// CHECK: scf.while
// CHECK: nvgpu.mbarrier.try_wait.parity %[[LARGE_EMPTY]]
// CHECK: nvgpu.tma.async.load {{.*}} -> memref<1x128x64xbf16
// CHECK: nvgpu.mbarrier.try_wait.parity %[[LARGE_EMPTY]]
// CHECK: nvgpu.mbarrier.arrive
// CHECK: scf.for %{{.+}} = %c1_i32 to %c3_i32 step %c1_i32
// CHECK: nvgpu.mbarrier.try_wait.parity %[[LARGE_EMPTY]]
// CHECK: scf.while
// CHECK: nvgpu.mbarrier.try_wait.parity %[[EMPTY]]
// CHECK: nvgpu.tma.async.load {{.*}} -> memref<1x64x64xbf16
// The consumers.
// CHECK: nvvm.setmaxregister increase
// CHECK: scf.while
// CHECK: nvgpu.warpgroup.mma {{.*}} -> <fragmented = vector<64x16xf32>>
// CHECK: nvgpu.warpgroup.mma {{.*}} -> <fragmented = vector<64x24xf32>>
// CHECK: %[[IS_FIRST:.+]] = arith.cmpi ult, %{{.+}}, %c1_i32
// CHECK: scf.if %[[IS_FIRST]]
// CHECK: scf.while
// CHECK: nvgpu.warpgroup.mma {{.*}} -> <fragmented = vector<64x8xf32>>
func.func @large_groups(%x: memref<?x64xbf16>, %w: memref<4x128x64xbf16>, %off: memref<5xi32>, %y: memref<?x128xbf16>) {
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 4, warpgroups = 1,
                                                       large = <m = 128, n = 24, k = 64, stages = 3, warpgroups = 2>>}
      ins(%w, %x, %off : memref<4x128x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x128xbf16>)
  return
}
