// RUN: moe-opt %s --convert-moe-to-nvgpu --canonicalize --cse --split-input-file | FileCheck %s

// The small kernels of a layer.

// One block counts and sorts the pairs, a thread an expert. It runs without
// pairs too: the offsets are to be written.
// CHECK-LABEL: func @dispatch
// CHECK-SAME: (%[[I:.+]]: memref<?x2xi32>, %[[T:.+]]: memref<?xi32>, %[[P:.+]]: memref<?x2xi32>, %[[O:.+]]: memref<9xi32>)
// The pairs that all three operands have room for.
// CHECK: %[[PAIRS:.+]] = arith.muli %{{.+}}, %c2
// CHECK: %[[ROWS:.+]] = memref.dim %[[T]], %c0
// CHECK: %[[MIN:.+]] = arith.minui %[[PAIRS]], %[[ROWS]]
// CHECK: %[[MIN32:.+]] = arith.index_cast %[[MIN]] : index to i32
// CHECK: gpu.launch_func @moe_kernels::@dispatch_0 blocks in (%c1, %c1, %c1) threads in (%c1024, %c1, %c1) dynamic_shared_memory_size %c128_i32 args(%[[I]] : memref<?x2xi32>, %[[T]] : memref<?xi32>, %[[P]] : memref<?x2xi32>, %[[O]] : memref<9xi32>, %[[MIN32]] : i32)
// CHECK: llvm.func @dispatch_0(%arg0: !llvm.ptr<1> {llvm.readonly}, %arg1: !llvm.ptr<1>, %arg2: !llvm.ptr<1>, %arg3: !llvm.ptr<1>, %arg4: i32)
// CHECK-NOT: llvm.load
// CHECK: nvvm.griddepcontrol wait
// CHECK: %[[THREAD:.+]] = nvvm.read.ptx.sreg.tid.x
// Count the pairs of the thread's expert, then those of the experts before.
// CHECK: scf.for %{{.+}} = %c0_i32 to %arg4 step %c1_i32
// CHECK: arith.cmpi eq, %{{.+}}, %[[THREAD]]
// CHECK: %[[IS_EXPERT:.+]] = arith.cmpi ult, %[[THREAD]], %c8_i32
// CHECK-COUNT-5: gpu.shuffle up
// CHECK-COUNT-3: gpu.barrier
// CHECK: scf.if %[[IS_EXPERT]]
// CHECK: llvm.getelementptr %arg3[
// CHECK: scf.for %[[PAIR:.+]] = %c0_i32 to %arg4 step %c1_i32 iter_args(%[[ROW:.+]] = %{{.+}})
// CHECK: %[[TOKEN:.+]] = arith.divui %[[PAIR]], %c2_i32
// CHECK: llvm.getelementptr %arg1[
// CHECK: llvm.store %[[TOKEN]]
// CHECK: llvm.getelementptr %arg2[
// CHECK: llvm.store %[[ROW]]
// The last offset; then rows without a pair and pairs without an expert.
// CHECK: llvm.getelementptr %arg3[8]
// CHECK: llvm.store %c-1_i32
// CHECK: arith.cmpi uge, %{{.+}}, %c8_i32
// CHECK: llvm.store %c-1_i32
func.func @dispatch(%i: memref<?x2xi32>, %t: memref<?xi32>, %p: memref<?x2xi32>, %o: memref<9xi32>) {
  moe.dispatch ins(%i : memref<?x2xi32>) outs(%t, %p, %o : memref<?xi32>, memref<?x2xi32>, memref<9xi32>)
  return
}

// -----

// More experts than threads: another round, which starts where this one ended.
// CHECK-LABEL: func @dispatch_many
// CHECK: llvm.func @dispatch_0
// CHECK: scf.for %[[ROUND:.+]] = %c0_i32 to %c2_i32 step %c1_i32 iter_args(%[[FIRST:.+]] = %c0_i32)
// CHECK: %[[BEFORE:.+]] = arith.muli %[[ROUND]], %c1024_i32
// CHECK: arith.addi %[[BEFORE]], %{{.+}}
// An index of 64 bits is compared as such.
// CHECK: arith.cmpi eq, %{{.+}}, %{{.+}} : i64
// CHECK: arith.addi %[[FIRST]], %{{.+}}
func.func @dispatch_many(%i: memref<?x4xi64>, %t: memref<?xi32>, %p: memref<?x4xi32>, %o: memref<1101xi32>) {
  moe.dispatch ins(%i : memref<?x4xi64>) outs(%t, %p, %o : memref<?xi32>, memref<?x4xi32>, memref<1101xi32>)
  return
}

// -----

// One thread a result element; the pairs of a token in their order, in f32.
// CHECK-LABEL: func @combine
// CHECK-SAME: (%[[R:.+]]: memref<?x64xbf16>, %[[P:.+]]: memref<?x2xi32>, %[[W:.+]]: memref<?x2xf32>, %[[Y:.+]]: memref<?x64xbf16>)
// CHECK: %[[ROWS:.+]] = memref.dim %[[R]], %c0
// CHECK: %[[ROWS64:.+]] = arith.index_cast %[[ROWS]] : index to i64
// CHECK: %[[ELEMENTS:.+]] = arith.muli %{{.+}}, %c64
// CHECK: %[[ELEMENTS64:.+]] = arith.index_cast %[[ELEMENTS]] : index to i64
// CHECK: %[[BLOCKS:.+]] = arith.ceildivui %[[ELEMENTS]], %c256
// CHECK: gpu.launch_func @moe_kernels::@combine_0 blocks in (%[[BLOCKS]], %c1, %c1) threads in (%c256, %c1, %c1) dynamic_shared_memory_size %c0_i32 args(%[[R]] : {{[^,]+}}, %[[P]] : {{[^,]+}}, %[[W]] : {{[^,]+}}, %[[Y]] : {{[^,]+}}, %[[ROWS64]] : i64, %[[ELEMENTS64]] : i64)
// CHECK: llvm.func @combine_0(%arg0: !llvm.ptr<1> {llvm.readonly}, %arg1: !llvm.ptr<1> {llvm.readonly}, %arg2: !llvm.ptr<1> {llvm.readonly}, %arg3: !llvm.ptr<1>, %arg4: i64, %arg5: i64)
// CHECK-NOT: llvm.load
// CHECK: nvvm.griddepcontrol wait
// CHECK: arith.cmpi ult, %[[POSITION:.+]], %arg5
// CHECK: arith.divui %[[POSITION]], %c64_i64
// CHECK: scf.for %{{.+}} = %c0_i64 to %c2_i64 step %c1_i64 iter_args(%[[SUM:.+]] = %cst)
// A pair without a row adds nothing.
// CHECK: %[[ROW:.+]] = arith.extsi %{{.+}} : i32 to i64
// CHECK: %[[IS_ROW:.+]] = arith.cmpi ult, %[[ROW]], %arg4
// CHECK: scf.if %[[IS_ROW]] -> (f32)
// CHECK: %[[VALUE:.+]] = arith.extf %{{.+}} : bf16 to f32
// CHECK: llvm.getelementptr %arg2[
// CHECK: %[[WEIGHTED:.+]] = arith.mulf %[[VALUE]],
// CHECK: arith.addf %[[SUM]], %[[WEIGHTED]]
// CHECK: arith.truncf %{{.+}} : f32 to bf16
func.func @combine(%r: memref<?x64xbf16>, %p: memref<?x2xi32>, %w: memref<?x2xf32>, %y: memref<?x64xbf16>) {
  moe.combine ins(%r, %p : memref<?x64xbf16>, memref<?x2xi32>) weights(%w : memref<?x2xf32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

// CHECK-LABEL: func @combine_unweighted
// CHECK: llvm.func @combine_0(%arg0: !llvm.ptr<1> {llvm.readonly}, %arg1: !llvm.ptr<1> {llvm.readonly}, %arg2: !llvm.ptr<1>, %arg3: i64, %arg4: i64)
// CHECK-NOT: arith.mulf
// CHECK-NOT: arith.truncf
// CHECK: llvm.store %{{.+}} : f32, !llvm.ptr<1>
func.func @combine_unweighted(%r: memref<?x64xf32>, %p: memref<?x2xi32>, %y: memref<?x64xf32>) {
  moe.combine ins(%r, %p : memref<?x64xf32>, memref<?x2xi32>) outs(%y : memref<?x64xf32>)
  return
}

// -----

// Fills and copies of a program for the GPU happen there; equal ones share a
// kernel.
// CHECK-LABEL: func @fill_and_copy
func.func @fill_and_copy(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>, %z: memref<8x64xbf16>) {
  %zero = arith.constant 0.0 : bf16
  %one = arith.constant 1.0 : bf16
  // CHECK: gpu.launch_func @moe_kernels::@fill_0 blocks in (%{{.+}}, %c1, %c1) threads in (%c256, %c1, %c1) dynamic_shared_memory_size %c0_i32 args(%arg3 : memref<?x64xbf16>, %{{.+}} : i64)
  linalg.fill ins(%zero : bf16) outs(%y : memref<?x64xbf16>)
  // CHECK: gpu.launch_func @moe_kernels::@fill_0 blocks in (%c2, %c1, %c1) threads in (%c256, %c1, %c1) dynamic_shared_memory_size %c0_i32 args(%arg4 : memref<8x64xbf16>, %c512_i64 : i64)
  linalg.fill ins(%zero : bf16) outs(%z : memref<8x64xbf16>)
  // CHECK: gpu.launch_func @moe_kernels::@fill_1 blocks
  linalg.fill ins(%one : bf16) outs(%z : memref<8x64xbf16>)
  // CHECK: gpu.launch_func @moe_kernels::@copy_2 blocks {{.*}} args(%arg3 : memref<?x64xbf16>, %arg0 : memref<?x64xbf16>, %{{.+}} : i64)
  memref.copy %y, %x : memref<?x64xbf16> to memref<?x64xbf16>
  // CHECK: gpu.launch_func @moe_kernels::@grouped_matmul_3 blocks
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}
// CHECK: llvm.func @fill_0(%arg0: !llvm.ptr<1>, %arg1: i64)
// CHECK: llvm.store %cst, %{{.+}} : bf16
// CHECK: llvm.func @copy_2(%arg0: !llvm.ptr<1> {llvm.readonly}, %arg1: !llvm.ptr<1>, %arg2: i64)
// CHECK: %[[VALUE:.+]] = llvm.load %{{.+}} : !llvm.ptr<1> -> bf16
// CHECK: llvm.store %[[VALUE]]

// -----

// A function without moe ops is no program for the GPU.
// CHECK-LABEL: func @not_a_program
// CHECK: linalg.fill
// CHECK: memref.copy
// CHECK-NOT: gpu
// CHECK: return
func.func @not_a_program(%y: memref<8xf32>, %z: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<8xf32>)
  memref.copy %y, %z : memref<8xf32> to memref<8xf32>
  return
}

// -----

// Gathered tokens: a lane loads one row in 32, each by a box of its own. An
// index that names no token reads zeros, as TMA fills what is outside. One
// tensor map serves all token tiles.
// CHECK-LABEL: func @gather
// CHECK: memref.dim %arg3, %c0
// CHECK: nvgpu.tma.create.descriptor %{{.+}} box[%c1, %c64] {{.*}} -> <tensor = memref<1x64xbf16,
// CHECK-NOT: nvgpu.tma.create.descriptor
// CHECK: gpu.launch_func {{.*}}, %arg2 : memref<5xi32>, %arg3 : memref<?xi64>, %arg4 : memref<?x320xbf16>, %{{.+}} : i32)
// CHECK: llvm.func @grouped_matmul_swapped_0({{.*}}, %arg2: !llvm.ptr<1> {llvm.readonly}, %arg3: !llvm.ptr<1> {llvm.readonly}, %arg4: !llvm.ptr<1>, %[[R:.+]]: i32)
// CHECK: nvvm.setmaxregister decrease
// CHECK-NOT: nvvm.elect.sync
// One lane takes the next tile for all.
// CHECK: %[[IS_FIRST:.+]] = arith.cmpi eq, %{{.+}}, %c0_i32
// CHECK: scf.while
// CHECK: %[[TAKEN:.+]] = scf.if %[[IS_FIRST]] -> (i32)
// CHECK: llvm.atomicrmw uinc_wrap
// CHECK: gpu.shuffle idx %[[TAKEN]]
// Indices of 64 bits that do not fit 32 name no token.
// CHECK: arith.cmpi ult, %{{.+}}, %[[R]]
// CHECK: llvm.getelementptr %arg3[
// CHECK: %[[INDEX:.+]] = llvm.load %{{.+}} : !llvm.ptr<1> -> i64
// CHECK: %[[LOW:.+]] = arith.trunci %[[INDEX]] : i64 to i32
// CHECK: %[[SIGNED:.+]] = arith.extsi %[[LOW]] : i32 to i64
// CHECK: %[[FITS:.+]] = arith.cmpi eq, %[[INDEX]], %[[SIGNED]]
// CHECK: arith.select %[[FITS]], %[[LOW]], %c-1_i32
// One lane announces the bytes of the stage, (320 + 40) rows in the last of the
// token tiles, and the weights.
// CHECK: scf.if %[[IS_FIRST]] {
// CHECK: nvgpu.mbarrier.arrive.expect_tx %{{.+}}, %c46080
// CHECK: nvgpu.tma.async.load {{.*}} -> memref<1x64x64xbf16,
// CHECK: nvgpu.tma.async.load {{.*}} -> memref<1x64xbf16,
// 40 rows: 8 lanes have a second one.
// CHECK: arith.cmpi ult, %{{.+}}, %c40_i32
// CHECK-NEXT: scf.if
// CHECK: nvgpu.tma.async.load {{.*}} -> memref<1x64xbf16,
// CHECK-NOT: nvgpu.tma.async.load
func.func @gather(%x: memref<?x64xbf16>, %w: memref<4x320x64xbf16>, %off: memref<5xi32>, %g: memref<?xi64>, %y: memref<?x320xbf16>) {
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 320, n = 40, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x320x64xbf16>, memref<?x64xbf16>, memref<5xi32>) gather(%g : memref<?xi64>)
      outs(%y : memref<?x320xbf16>)
  return
}

// -----

// A tile of many token rows beside few weight rows would wait for its gathered
// rows: a launch before copies them.
// CHECK-LABEL: func @gather_copy
// CHECK: %[[ROWS:.+]] = memref.dim %arg3, %c0
// CHECK: %[[COPY:.+]] = memref.alloc(%[[ROWS]]) : memref<?x64xbf16>
// CHECK: gpu.launch_func @moe_kernels::@gather_0 {{.*}} args(%arg0 : memref<?x64xbf16>, %arg3 : memref<?xi64>, %[[COPY]] : memref<?x64xbf16>, %{{.+}} : i64, %{{.+}} : i64)
// CHECK: gpu.launch_func @moe_kernels::@grouped_matmul_swapped_1 {{.*}}, %arg2 : memref<5xi32>, %arg4 : memref<?x64xbf16>, %{{.+}} : i32)
// CHECK: llvm.func @gather_0(%arg0: !llvm.ptr<1> {llvm.readonly}, %arg1: !llvm.ptr<1> {llvm.readonly}, %arg2: !llvm.ptr<1>, %[[TOKENS:.+]]: i64, %{{.+}}: i64)
// CHECK: %[[TOKEN:.+]] = llvm.load %{{.+}} : !llvm.ptr<1> -> i64
// CHECK: arith.cmpi ult, %[[TOKEN]], %[[TOKENS]]
func.func @gather_copy(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %g: memref<?xi64>, %y: memref<?x64xbf16>) {
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 40, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x64x64xbf16>, memref<?x64xbf16>, memref<5xi32>) gather(%g : memref<?xi64>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

// The rows have the size of the weights' where the type of the tokens does not
// say theirs.
// CHECK-LABEL: func @gather_copy_of_dynamic_rows
// CHECK: %[[COPY:.+]] = memref.alloc(%{{.+}}) : memref<?x64xbf16>
// CHECK: gpu.launch_func @moe_kernels::@gather_0 {{.*}} args(%arg0 : memref<?x?xbf16>, %arg3 : memref<?xi64>, %[[COPY]] : memref<?x64xbf16>, %{{.+}} : i64, %{{.+}} : i64)
func.func @gather_copy_of_dynamic_rows(%x: memref<?x?xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %g: memref<?xi64>, %y: memref<?x64xbf16>) {
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 40, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x64x64xbf16>, memref<?x?xbf16>, memref<5xi32>) gather(%g : memref<?xi64>)
      outs(%y : memref<?x64xbf16>)
  return
}
