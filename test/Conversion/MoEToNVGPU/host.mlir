// RUN: moe-opt %s --convert-moe-to-nvgpu --canonicalize --cse --split-input-file | FileCheck %s
// RUN: moe-opt %s --convert-moe-to-nvgpu=target=h20 --canonicalize --split-input-file \
// RUN:   | FileCheck %s --check-prefix=H20

// The host side: two tensor maps, and a launch of one block a multiprocessor
// unless there are certainly fewer tiles: R times the output tiles of a row.
// H20-LABEL: func @launch
// H20: arith.minui %{{.+}}, %c78
// CHECK-LABEL: func @launch
// CHECK-SAME: (%[[X:.+]]: memref<?x64xbf16>, %[[W:.+]]: memref<4x200x64xbf16>, %[[OFF:.+]]: memref<5xi32>, %[[Y:.+]]: memref<?x200xbf16>)
func.func @launch(%x: memref<?x64xbf16>, %w: memref<4x200x64xbf16>, %off: memref<5xi32>, %y: memref<?x200xbf16>) {
  // Tokens and result may be of different lengths; the shorter one counts.
  // CHECK-DAG: %[[RX:.+]] = memref.dim %[[X]], %c0
  // CHECK-DAG: %[[RY:.+]] = memref.dim %[[Y]], %c0
  // CHECK: %[[R:.+]] = arith.minui %[[RX]], %[[RY]]
  // CHECK: %[[WC:.+]] = memref.cast %[[W]]
  // CHECK: %[[WMAP:.+]] = nvgpu.tma.create.descriptor %[[WC]]
  // CHECK: %[[XC:.+]] = memref.cast %[[X]]
  // CHECK: %[[XMAP:.+]] = nvgpu.tma.create.descriptor %[[XC]]
  // CHECK: %[[R32:.+]] = arith.index_cast %[[R]] : index to i32
  // CHECK: %[[TILES:.+]] = arith.muli %[[R]], %c4
  // CHECK: %[[GRID:.+]] = arith.minui %[[TILES]], %c132
  // CHECK: gpu.launch_func @moe_kernels::@grouped_matmul_swapped_0 blocks in (%[[GRID]], %c1, %c1) threads in (%c256, %c1, %c1) dynamic_shared_memory_size %c18536_i32
  // CHECK-SAME: args(%[[WMAP]] : {{.+}}, %[[XMAP]] : {{.+}}, %[[OFF]] : memref<5xi32>, %[[Y]] : memref<?x200xbf16>, %[[R32]] : i32)
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x200x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x200xbf16>)
  return
}

// -----

// Optional operands stand between groups and result; with a scatter the rows of
// the result come last, and do not limit the rows of the tokens.
// CHECK-LABEL: func @all_operands
// CHECK-SAME: (%[[X:[^:]+]]: memref<?x64xbf16>, %{{[^:]+}}: memref<4x72x64xbf16>, %[[OFF:[^:]+]]: memref<5xi32>, %[[B:[^:]+]]: memref<4x72xf32>, %[[S:[^:]+]]: memref<?xbf16>, %[[D:[^:]+]]: memref<?xi64>, %[[Y:[^:]+]]: memref<?x72xf32>)
func.func @all_operands(%x: memref<?x64xbf16>, %w: memref<4x72x64xbf16>, %off: memref<5xi32>, %b: memref<4x72xf32>, %s: memref<?xbf16>, %d: memref<?xi64>, %y: memref<?x72xf32>) {
  // CHECK: %[[RX:.+]] = memref.dim %[[X]], %c0
  // CHECK: %[[RS:.+]] = memref.dim %[[S]], %c0
  // CHECK: %[[MIN:.+]] = arith.minui %[[RX]], %[[RS]]
  // CHECK: %[[RD:.+]] = memref.dim %[[D]], %c0
  // CHECK: %[[R:.+]] = arith.minui %[[MIN]], %[[RD]]
  // CHECK: %[[R32:.+]] = arith.index_cast %[[R]] : index to i32
  // CHECK: %[[RY:.+]] = memref.dim %[[Y]], %c0
  // CHECK: %[[RY32:.+]] = arith.index_cast %[[RY]] : index to i32
  // CHECK: gpu.launch_func
  // CHECK-SAME: %[[OFF]] : memref<5xi32>, %[[B]] : memref<4x72xf32>, %[[S]] : memref<?xbf16>, %[[D]] : memref<?xi64>, %[[Y]] : memref<?x72xf32>, %[[R32]] : i32, %[[RY32]] : i32)
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x72x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      bias(%b : memref<4x72xf32>) scale(%s : memref<?xbf16>) scatter(%d : memref<?xi64>)
      outs(%y : memref<?x72xf32>)
  // Only the result is written: the launch file's `access` depends on it.
  // CHECK: llvm.func @grouped_matmul_swapped_0(%{{[^,]+}}, {{[^,]+, [^,]+}}, %{{[^,]+}}, {{[^,]+, [^,]+}}, %arg2: !llvm.ptr<1> {llvm.readonly}, %arg3: !llvm.ptr<1> {llvm.readonly}, %arg4: !llvm.ptr<1> {llvm.readonly}, %arg5: !llvm.ptr<1> {llvm.readonly}, %arg6: !llvm.ptr<1>, %arg7: i32, %arg8: i32)
  return
}

// -----

// Ops that one kernel can serve share it, whatever their rows; another
// schedule, type, epilogue or operand needs another kernel, as do so few tokens
// an expert that weights have a cache hint.
// CHECK-LABEL: func @sharing
func.func @sharing(%x: memref<?x64xbf16>, %x77: memref<77x64xbf16>, %x7: memref<7x64xbf16>, %w: memref<4x64x64xbf16>, %w2: memref<4x64x64xbf16>,
                   %off: memref<5xi32>, %off64: memref<5xi64>, %sizes: memref<4xi32>, %b: memref<4x64xbf16>,
                   %y: memref<?x64xbf16>, %y77: memref<77x64xbf16>, %y7: memref<7x64xbf16>, %yf: memref<?x64xf32>) {
  // CHECK: gpu.launch_func @moe_kernels::@grouped_matmul_0 blocks
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>) outs(%y : memref<?x64xbf16>)
  // CHECK: gpu.launch_func @moe_kernels::@grouped_matmul_0 blocks
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x77, %w2, %off : memref<77x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>) outs(%y77 : memref<77x64xbf16>)
  // CHECK: gpu.launch_func @moe_kernels::@grouped_matmul_1 blocks
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 16, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>) outs(%y : memref<?x64xbf16>)
  // CHECK: gpu.launch_func @moe_kernels::@grouped_matmul_2 blocks
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off64 : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi64>) outs(%y : memref<?x64xbf16>)
  // CHECK: gpu.launch_func @moe_kernels::@grouped_matmul_3 blocks
  moe.grouped_matmul {group_kind = #moe.group_kind<sizes>,
                      schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %sizes : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<4xi32>) outs(%y : memref<?x64xbf16>)
  // CHECK: gpu.launch_func @moe_kernels::@grouped_matmul_4 blocks
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>) outs(%yf : memref<?x64xf32>)
  // CHECK: gpu.launch_func @moe_kernels::@grouped_matmul_5 blocks
  moe.grouped_matmul {epilogue = #moe.epilogue<relu>,
                      schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>) outs(%y : memref<?x64xbf16>)
  // CHECK: gpu.launch_func @moe_kernels::@grouped_matmul_6 blocks
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      bias(%b : memref<4x64xbf16>) outs(%y : memref<?x64xbf16>)
  // CHECK: gpu.launch_func @moe_kernels::@grouped_matmul_swapped_7 blocks
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x64x64xbf16>, memref<?x64xbf16>, memref<5xi32>) outs(%y : memref<?x64xbf16>)
  // CHECK: gpu.launch_func @moe_kernels::@grouped_matmul_8 blocks
  moe.grouped_matmul {weight_layout = #moe.weight_layout<kn>,
                      schedule = #moe.schedule<m = 64, n = 64, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>) outs(%y : memref<?x64xbf16>)
  // CHECK: gpu.launch_func @moe_kernels::@grouped_matmul_9 blocks
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x7, %w, %off : memref<7x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>) outs(%y7 : memref<7x64xbf16>)
  return
}
// CHECK: llvm.func @grouped_matmul_0
// CHECK-COUNT-8: llvm.func @grouped_matmul
// CHECK: llvm.func @grouped_matmul_9
// CHECK-NOT: llvm.func

// -----

// Another module of that name may stand there already.
// CHECK-LABEL: func @name_is_taken
// CHECK: gpu.launch_func @[[NAME:moe_kernels_.+]]::@grouped_matmul_0 blocks
// CHECK: gpu.module @moe_kernels {
// CHECK-NOT: grouped_matmul_0
// CHECK: gpu.module @[[NAME]] {
// CHECK: llvm.func @grouped_matmul_0
func.func @name_is_taken(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}
gpu.module @moe_kernels {
}

// -----

// Nothing to do, nothing done.
// CHECK-LABEL: func @no_matmul
// CHECK-NOT: gpu
func.func @no_matmul() {
  return
}
