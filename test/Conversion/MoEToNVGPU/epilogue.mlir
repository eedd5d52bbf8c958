// RUN: moe-opt %s --convert-moe-to-nvgpu --canonicalize --cse --split-input-file | FileCheck %s

// What happens to a finished tile: predicated stores and nothing else.

// A row of another expert is not stored, nor an output past the last one. Two
// outputs 8 rows apart for each token, four registers a thread for n = 8.
// CHECK-LABEL: llvm.func @grouped_matmul_swapped_0
// CHECK-SAME: %[[Y:arg3]]: !llvm.ptr<1>, %{{.+}}: i32)
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: llvm.insertvalue
// CHECK: arith.cmpi ult, %[[ROW:.+]], %[[END:.+]] : i32
// CHECK-NEXT: scf.if
// CHECK-NEXT: %[[WIDE:.+]] = arith.extui %[[ROW]] : i32 to i64
// Rows of results are counted in 64 bits.
// CHECK-NEXT: %[[FIRST:.+]] = arith.muli %[[WIDE]], %c72_i64
// CHECK-NEXT: %[[POINTER:.+]] = llvm.getelementptr %[[Y]][%[[FIRST]]]
// CHECK-NEXT: %[[VALUE:.+]] = llvm.extractvalue %{{.+}}[0, 0]
// CHECK-NEXT: arith.cmpi ult, %[[OUTPUT:.+]], %c72_i32
// CHECK-NEXT: scf.if
// CHECK-NEXT: %[[ROUNDED:.+]] = arith.truncf %[[VALUE]] : f32 to bf16
// CHECK-NEXT: %[[COLUMN:.+]] = arith.extui %[[OUTPUT]] : i32 to i64
// CHECK-NEXT: %[[ADDRESS:.+]] = llvm.getelementptr %[[POINTER]][%[[COLUMN]]]
// CHECK-NEXT: llvm.store %[[ROUNDED]], %[[ADDRESS]] : bf16, !llvm.ptr<1>
// CHECK: llvm.extractvalue %{{.+}}[0, 2]
// CHECK: llvm.extractvalue %{{.+}}[0, 1]
// CHECK: llvm.extractvalue %{{.+}}[0, 3]
// CHECK-NOT: llvm.extractvalue
// CHECK: llvm.return
func.func @swapped(%x: memref<?x64xbf16>, %w: memref<4x72x64xbf16>, %off: memref<5xi32>, %y: memref<?x72xbf16>) {
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x72x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x72xbf16>)
  return
}

// -----

// Whole tiles of outputs need no comparison; f32 results no rounding. One row
// of tokens has both outputs of a register pair.
// CHECK-LABEL: llvm.func @grouped_matmul_0
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: llvm.insertvalue
// CHECK-COUNT-1: arith.cmpi ult
// CHECK-NOT: arith.cmpi
// CHECK: %[[VALUE:.+]] = llvm.extractvalue %{{.+}}[0, 0]
// CHECK: llvm.store %[[VALUE]], %{{.+}} : f32, !llvm.ptr<1>
// CHECK: %[[VALUE:.+]] = llvm.extractvalue %{{.+}}[0, 1]
// CHECK: llvm.store %[[VALUE]], %{{.+}} : f32, !llvm.ptr<1>
// CHECK: llvm.extractvalue %{{.+}}[0, 2]
func.func @unswapped_f32(%x: memref<?x64xf16>, %w: memref<4x64x64xf16>, %off: memref<5xi32>, %y: memref<?x64xf32>) {
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xf16>, memref<4x64x64xf16>, memref<5xi32>)
      outs(%y : memref<?x64xf32>)
  return
}

// -----

// Bias of this expert, at most that of the last output; scale of the token row;
// the row that scatter names, if there is one.
// CHECK-LABEL: llvm.func @grouped_matmul_swapped_0
// CHECK-SAME: %[[BIAS:arg3]]: {{[^,]+}}, %[[SCALE:arg4]]: {{[^,]+}}, %[[SCATTER:arg5]]: {{[^,]+}}, %[[Y:arg6]]: {{[^,]+}}, %arg7: i32, %[[RESULT_ROWS:arg8]]: i32)
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: llvm.insertvalue
// CHECK: %[[CLAMPED:.+]] = arith.minui %{{.+}}, %c71_i32
// CHECK: %[[EXPERT_BIAS:.+]] = arith.muli %{{.+}}, %c72_i64
// CHECK: %[[ROW64:.+]] = arith.extui %[[CLAMPED]] : i32 to i64
// CHECK: %[[POSITION:.+]] = arith.addi %[[EXPERT_BIAS]], %[[ROW64]]
// CHECK: llvm.getelementptr %[[BIAS]][%[[POSITION]]] : {{.*}}, bf16
// CHECK: %[[LOADED:.+]] = llvm.load %{{.+}} : !llvm.ptr<1> -> bf16
// CHECK: %[[B:.+]] = arith.extf %[[LOADED]] : bf16 to f32
// CHECK: arith.cmpi ult, %[[ROW:.+]], %{{.+}} : i32
// CHECK: %[[WIDE:.+]] = arith.extui %[[ROW]] : i32 to i64
// CHECK: llvm.getelementptr %[[SCATTER]][%[[WIDE]]] : {{.*}}, i32
// CHECK: %[[TARGET:.+]] = llvm.load %{{.+}} : !llvm.ptr<1> -> i32
// A negative target is a large number, and none of the result's rows.
// CHECK: %[[TARGET64:.+]] = arith.extsi %[[TARGET]] : i32 to i64
// CHECK: %[[LIMIT:.+]] = arith.extui %[[RESULT_ROWS]] : i32 to i64
// CHECK: arith.cmpi ult, %[[TARGET64]], %[[LIMIT]] : i64
// CHECK: llvm.getelementptr %[[SCALE]][%[[WIDE]]] : {{.*}}, f32
// CHECK: %[[S:.+]] = llvm.load %{{.+}} : !llvm.ptr<1> -> f32
// CHECK: arith.muli %[[TARGET64]], %c72_i64
// CHECK: %[[SUM:.+]] = arith.addf %{{.+}}, %[[B]] : f32
// CHECK: %[[ACTIVATED:.+]] = arith.maximumf %[[SUM]], %{{.+}} : f32
// CHECK: %[[SCALED:.+]] = arith.mulf %[[ACTIVATED]], %[[S]] : f32
// CHECK: arith.truncf %[[SCALED]] : f32 to bf16
func.func @bias_scale_scatter(%x: memref<?x64xbf16>, %w: memref<4x72x64xbf16>, %off: memref<5xi32>, %b: memref<4x72xbf16>, %s: memref<?xf32>, %d: memref<?xi32>, %y: memref<?x72xbf16>) {
  moe.grouped_matmul_swapped {epilogue = #moe.epilogue<relu>,
                              token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x72x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      bias(%b : memref<4x72xbf16>) scale(%s : memref<?xf32>) scatter(%d : memref<?xi32>)
      outs(%y : memref<?x72xbf16>)
  return
}

// -----

// Interleaved gate and up rows are in neighbouring rows, four lanes apart: one
// shuffle brings a lane the other half of the pair that it finishes.
// CHECK-LABEL: llvm.func @grouped_matmul_swapped_0
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: llvm.insertvalue
// CHECK: arith.andi %{{.+}}, %c1_i32
// CHECK: %[[IS_UP:.+]] = arith.cmpi ne
// CHECK: arith.divui %{{.+}}, %c2_i32
// CHECK: %[[EVEN:.+]] = llvm.extractvalue %{{.+}}[0, 0]
// CHECK: %[[ODD:.+]] = llvm.extractvalue %{{.+}}[0, 1]
// CHECK: %[[GIVEN:.+]] = arith.select %[[IS_UP]], %[[EVEN]], %[[ODD]]
// CHECK: %[[TAKEN:.+]], %{{.+}} = gpu.shuffle xor %[[GIVEN]], %c4_i32, %c32_i32 : f32
// CHECK: %[[GATE:.+]] = arith.select %[[IS_UP]], %[[TAKEN]], %[[EVEN]]
// CHECK: %[[UP:.+]] = arith.select %[[IS_UP]], %[[ODD]], %[[TAKEN]]
// silu: x / (1 + exp(-x)), by the approximate exponential.
// CHECK: %[[NEGATED:.+]] = arith.negf %[[GATE]]
// CHECK: %[[SCALED:.+]] = arith.mulf %[[NEGATED]], %{{.+}}
// CHECK: %[[EXP:.+]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx"(%[[SCALED]])
// CHECK: %[[DIVISOR:.+]] = arith.addf %[[EXP]], %{{.+}}
// CHECK: %[[SILU:.+]] = arith.divf %[[GATE]], %[[DIVISOR]]
// CHECK: arith.mulf %[[SILU]], %[[UP]]
func.func @swapped_interleaved(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x32xbf16>) {
  moe.grouped_matmul_swapped {epilogue = #moe.epilogue<silu, gate = interleaved>,
                              token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x64x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x32xbf16>)
  return
}

// -----

// Unswapped they are the two registers of a pair.
// CHECK-LABEL: llvm.func @grouped_matmul_0
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: llvm.insertvalue
// CHECK-NOT: gpu.shuffle
// CHECK: %[[GATE:.+]] = llvm.extractvalue %{{.+}}[0, 0]
// CHECK: %[[UP:.+]] = llvm.extractvalue %{{.+}}[0, 1]
// CHECK: arith.divui %{{.+}}, %c2_i32
// CHECK: arith.negf %[[GATE]]
// CHECK: arith.mulf %{{.+}}, %[[UP]]
func.func @unswapped_interleaved(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x32xbf16>) {
  moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = interleaved>,
                      schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x32xbf16>)
  return
}

// -----

// Gate and up apart: the second half of a warpgroup's slabs is up. Their biases
// are N/2 = 32 rows apart.
// CHECK-LABEL: llvm.func @grouped_matmul_swapped_0
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: llvm.insertvalue
// CHECK: arith.addi %[[OUTPUT:.+]], %c32_i32
// CHECK: %[[UP_BIAS:.+]] = llvm.load
// CHECK: %[[GATE_BIAS:.+]] = llvm.load
// CHECK: %[[GATE:.+]] = llvm.extractvalue %{{.+}}[0, 0]
// CHECK: %[[BIASED_GATE:.+]] = arith.addf %[[GATE]], %[[GATE_BIAS]]
// CHECK: %[[UP:.+]] = llvm.extractvalue %{{.+}}[1, 0]
// CHECK: %[[BIASED_UP:.+]] = arith.addf %[[UP]], %[[UP_BIAS]]
// CHECK: arith.negf %[[BIASED_GATE]]
// CHECK: arith.mulf %{{.+}}, %[[BIASED_UP]]
func.func @swapped_concat(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %b: memref<4x64xf32>, %y: memref<?x32xbf16>) {
  moe.grouped_matmul_swapped {epilogue = #moe.epilogue<silu, gate = concat>,
                              token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 128, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x64x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      bias(%b : memref<4x64xf32>) outs(%y : memref<?x32xbf16>)
  return
}

// -----

// Unswapped the second half of the columns is up.
// CHECK-LABEL: llvm.func @grouped_matmul_0
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: llvm.insertvalue
// CHECK: %[[GATE:.+]] = llvm.extractvalue %{{.+}}[0, 0]
// CHECK: %[[UP:.+]] = llvm.extractvalue %{{.+}}[0, 4]
// CHECK: %[[POSITIVE:.+]] = arith.maximumf %[[GATE]], %{{.+}} : f32
// CHECK: %[[SQUARE:.+]] = arith.mulf %[[POSITIVE]], %[[POSITIVE]]
// CHECK: arith.mulf %[[SQUARE]], %[[UP]]
func.func @unswapped_concat(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x32xbf16>) {
  moe.grouped_matmul {epilogue = #moe.epilogue<relu2, gate = concat>,
                      schedule = #moe.schedule<m = 64, n = 16, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x32xbf16>)
  return
}

// -----

// No activation leaves an op behind that becomes a library call.
// CHECK-LABEL: llvm.func @grouped_matmul_0
// CHECK-NOT: math.erf
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx"
// CHECK-NOT: math.tanh
// CHECK: llvm.return
func.func @gelus(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  moe.grouped_matmul {epilogue = #moe.epilogue<gelu_tanh>,
                      schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  moe.grouped_matmul {epilogue = #moe.epilogue<gelu>,
                      schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}
// CHECK-LABEL: llvm.func @grouped_matmul_1
// CHECK-NOT: math.erf
// CHECK: llvm.intr.fma
// CHECK-NOT: math.erf
// CHECK: llvm.return

// -----

// A slab that is not full: of a warpgroup's 64 rows 40 are its own, and the
// outputs of the others are put past the last one, where nothing is stored. The
// second warpgroup's rows follow the first one's; stages are as long as their
// rows, and the last slab ends behind the last stage.
// CHECK-LABEL: func @partial_slab
// 2 stages of (80 + 8) rows; the second warpgroup's slab ends at row 104 of the
// last one, which is more than barriers and groups take.
// CHECK: gpu.launch_func {{.*}} dynamic_shared_memory_size %c24576_i32 args
// CHECK-LABEL: llvm.func @grouped_matmul_swapped_0
// CHECK: nvgpu.mbarrier.arrive.expect_tx %{{.+}}, %c11264
// CHECK: %[[FIRST:.+]] = arith.muli %{{.+}}, %c5120_i32
// CHECK: nvgpu.warpgroup.mma {{.*}} -> <fragmented = vector<64x8xf32>>
// CHECK: arith.muli %{{.+}}, %c40_i32
// CHECK: %[[IS_OWN:.+]] = arith.cmpi ult, %[[SLAB_ROW:.+]], %c40_i32
// CHECK: arith.select %[[IS_OWN]], %{{.+}}, %c160_i32
// CHECK: %[[NEXT:.+]] = arith.addi %[[SLAB_ROW]], %c8_i32
// CHECK: %[[IS_OWN:.+]] = arith.cmpi ult, %[[NEXT]], %c40_i32
// CHECK: %[[OUTPUT:.+]] = arith.select %[[IS_OWN]], %{{.+}}, %c160_i32
// CHECK: arith.cmpi ult, %[[OUTPUT]], %c160_i32
// CHECK-NEXT: scf.if
// CHECK: llvm.store
func.func @partial_slab(%x: memref<?x64xbf16>, %w: memref<4x160x64xbf16>, %off: memref<5xi32>, %y: memref<?x160xbf16>) {
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 80, n = 8, k = 64, stages = 2, warpgroups = 2>}
      ins(%w, %x, %off : memref<4x160x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x160xbf16>)
  return
}
