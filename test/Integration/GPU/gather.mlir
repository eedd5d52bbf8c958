// Token rows that are gathered by the loads of the kernel, in both
// orientations, with more rows a tile than a warp has lanes, and i64 indices.
//
// RUN: moe-run %s --entry=swapped --device=cuda --rows=100 --check | FileCheck %s
// RUN: moe-run %s --entry=wide --device=cuda --rows=700 --routing=zipf:1.2 --check | FileCheck %s
// RUN: moe-run %s --entry=unswapped --device=cuda --rows=300 --check | FileCheck %s
// REQUIRES: cuda-sm90
// CHECK: check passed

func.func @swapped(%x: tensor<?x200xbf16>, %w: tensor<8x200x200xbf16>,
                   %off: tensor<9xi32>, %rows: tensor<?xi32>,
                   %y: tensor<?x100xbf16>) -> tensor<?x100xbf16> {
  %0 = moe.grouped_matmul_swapped {
      token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
      epilogue = #moe.epilogue<silu, gate = concat>,
      schedule = #moe.schedule<m = 128, n = 16, k = 64, stages = 4, warpgroups = 1>}
      ins(%w, %x, %off : tensor<8x200x200xbf16>, tensor<?x200xbf16>, tensor<9xi32>)
      gather(%rows : tensor<?xi32>)
      outs(%y : tensor<?x100xbf16>) -> tensor<?x100xbf16>
  return %0 : tensor<?x100xbf16>
}

func.func @wide(%x: tensor<?x768xf16>, %w: tensor<8x768x192xf16>,
                %off: tensor<9xi32>, %rows: tensor<?xi64>,
                %y: tensor<?x192xf32>) -> tensor<?x192xf32> {
  %0 = moe.grouped_matmul_swapped {
      token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
      weight_layout = #moe.weight_layout<kn>,
      schedule = #moe.schedule<m = 128, n = 72, k = 64, stages = 4, warpgroups = 2>}
      ins(%w, %x, %off : tensor<8x768x192xf16>, tensor<?x768xf16>, tensor<9xi32>)
      gather(%rows : tensor<?xi64>)
      outs(%y : tensor<?x192xf32>) -> tensor<?x192xf32>
  return %0 : tensor<?x192xf32>
}

func.func @unswapped(%x: tensor<?x200xbf16>, %w: tensor<8x200x200xbf16>,
                     %sizes: tensor<8xi64>, %rows: tensor<?xi32>,
                     %y: tensor<?x200xbf16>) -> tensor<?x200xbf16> {
  %0 = moe.grouped_matmul {
      group_kind = #moe.group_kind<sizes>,
      schedule = #moe.schedule<m = 128, n = 64, k = 64, stages = 4, warpgroups = 2>}
      ins(%x, %w, %sizes : tensor<?x200xbf16>, tensor<8x200x200xbf16>, tensor<8xi64>)
      gather(%rows : tensor<?xi32>)
      outs(%y : tensor<?x200xbf16>) -> tensor<?x200xbf16>
  return %0 : tensor<?x200xbf16>
}
