// RUN: moe-opt %s --convert-moe-to-nvgpu --split-input-file | FileCheck %s
// RUN: moe-opt %s --moe-to-ptx --split-input-file | FileCheck %s --check-prefix=PTX

// Eight tokens an expert: weights are given up first. One more, or who knows how
// many: they are not.
// CHECK: llvm.func @grouped_matmul_swapped_0(%{{[^:]+}}: !llvm.ptr {{{.*}}moe.cache_hint = "evict_first"{{.*}}}, %{{[^:]+}}: !llvm.ptr {llvm.align = 64 : i64, llvm.byval
// PTX: cp.async.bulk.tensor.3d{{[^ ]*}}.L2::cache_hint
// PTX-NOT: cp.async.bulk.tensor.2d{{[^ ]*}}.L2::cache_hint
func.func @few(%x: memref<32x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<32x64xbf16>) {
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x64x64xbf16>, memref<32x64xbf16>, memref<5xi32>)
      outs(%y : memref<32x64xbf16>)
  return
}

// -----

// CHECK-NOT: moe.cache_hint
// PTX-NOT: .L2::cache_hint
func.func @many(%x: memref<36x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<36x64xbf16>) {
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x64x64xbf16>, memref<36x64xbf16>, memref<5xi32>)
      outs(%y : memref<36x64xbf16>)
  return
}

// -----

// CHECK-NOT: moe.cache_hint
// PTX-NOT: .L2::cache_hint
func.func @unknown(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x64x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}
