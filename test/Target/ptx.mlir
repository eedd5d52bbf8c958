// PTX of both orientations, layouts and element types, made without a CUDA
// toolkit: what the instructions are, and nothing that is still to be linked.
//
// RUN: moe-compile %s --entry=nk | FileCheck %s --check-prefixes=ALL,NK --implicit-check-not=__nv_ --implicit-check-not='.local '
// RUN: moe-compile %s --entry=kn | FileCheck %s --check-prefixes=ALL,KN --implicit-check-not=__nv_ --implicit-check-not='.local '
// RUN: moe-compile %s --entry=unswapped_kn | FileCheck %s --check-prefixes=ALL,UNSWAPPED --implicit-check-not=__nv_ --implicit-check-not='.local '
// RUN: sed -e "s/<none, gate/<silu, gate/" %s | moe-compile - --entry=activation | FileCheck %s --check-prefixes=ALL,EXP --implicit-check-not=__nv_
// RUN: sed -e "s/<none, gate/<gelu_tanh, gate/" %s | moe-compile - --entry=activation | FileCheck %s --check-prefixes=ALL,EXP --implicit-check-not=__nv_
// RUN: sed -e "s/<none, gate/<gelu, gate/" %s | moe-compile - --entry=activation | FileCheck %s --check-prefix=ALL --implicit-check-not=__nv_
// RUN: sed -e "s/<none, gate/<relu2, gate/" %s | moe-compile - --entry=activation | FileCheck %s --check-prefix=ALL --implicit-check-not=__nv_
//
// ALL: .target sm_90a
// ALL: .extern .shared .align 1024 .b8 moe_shared_memory[];
// ALL: setmaxnreg.dec.sync.aligned.u32 40
// ALL: cp.async.bulk.tensor.3d.shared
// ALL: setmaxnreg.inc.sync.aligned.u32 232
//
// The immediates are scale of A, of B, transposition of A, of B.
// NK: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{.*}} 1, {{ *}}1, {{ *}}0, {{ *}}0;
// KN: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {{.*}} 1, {{ *}}1, {{ *}}1, {{ *}}0;
// UNSWAPPED: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}} 1, {{ *}}1, {{ *}}0, {{ *}}1;
// EXP: ex2.approx

func.func @nk(%x: memref<?x64xbf16>, %w: memref<4x200x64xbf16>, %off: memref<5xi32>, %y: memref<?x200xbf16>) {
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x200x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x200xbf16>)
  return
}

func.func @kn(%x: memref<?x64xf16>, %w: memref<4x64x200xf16>, %off: memref<5xi32>, %y: memref<?x200xf16>) {
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              weight_layout = #moe.weight_layout<kn>,
                              schedule = #moe.schedule<m = 64, n = 16, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x64x200xf16>, memref<?x64xf16>, memref<5xi32>)
      outs(%y : memref<?x200xf16>)
  return
}

func.func @unswapped_kn(%x: memref<?x64xbf16>, %w: memref<4x64x200xbf16>, %off: memref<5xi32>, %y: memref<?x200xbf16>) {
  moe.grouped_matmul {weight_layout = #moe.weight_layout<kn>,
                      schedule = #moe.schedule<m = 64, n = 64, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x200xbf16>, memref<5xi32>)
      outs(%y : memref<?x200xbf16>)
  return
}

func.func @activation(%x: memref<?x64xbf16>, %w: memref<4x200x64xbf16>, %off: memref<5xi32>, %y: memref<?x100xbf16>) {
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              epilogue = #moe.epilogue<none, gate = interleaved>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x200x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x100xbf16>)
  return
}
