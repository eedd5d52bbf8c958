// RUN: moe-opt %s --verify-roundtrip | moe-opt | FileCheck %s
// RUN: moe-opt %s --mlir-print-op-generic | moe-opt | FileCheck %s
// RUN: moe-opt %s --emit-bytecode | moe-opt | FileCheck %s

// CHECK-LABEL: func @grouped_matmul
func.func @grouped_matmul(%x: tensor<?x64xbf16>, %w: tensor<8x128x64xbf16>,
                          %off: tensor<9xi32>, %y: tensor<?x128xbf16>)
    -> tensor<?x128xbf16> {
  // CHECK: moe.grouped_matmul ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<8x128x64xbf16>, tensor<9xi32>) outs(%{{.*}} : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<?x64xbf16>, tensor<8x128x64xbf16>, tensor<9xi32>)
      outs(%y : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  return %0 : tensor<?x128xbf16>
}

// CHECK-LABEL: func @every_option
func.func @every_option(%x: tensor<5x64xf16>, %w: tensor<8x64x128xf16>,
                        %sizes: tensor<8xi64>, %bias: tensor<8x128xf32>,
                        %gather: tensor<20xi32>, %scale: tensor<20xf32>,
                        %scatter: tensor<20xi64>, %y: tensor<?x64xf32>)
    -> tensor<?x64xf32> {
  // CHECK: moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = interleaved>, expected_tokens = array<i64: 4>, group_kind = #moe.group_kind<sizes>, schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 4, warpgroups = 1, large = <m = 128, n = 64, k = 64, stages = 6, warpgroups = 2>>, weight_layout = #moe.weight_layout<kn>}
  // CHECK-SAME: bias(%{{.*}} : tensor<8x128xf32>) gather(%{{.*}} : tensor<20xi32>) scale(%{{.*}} : tensor<20xf32>) scatter(%{{.*}} : tensor<20xi64>)
  %0 = moe.grouped_matmul {
      weight_layout = #moe.weight_layout<kn>,
      group_kind = #moe.group_kind<sizes>,
      epilogue = #moe.epilogue<silu, gate = interleaved>,
      expected_tokens = array<i64: 4>,
      schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 4, warpgroups = 1, large = <m = 128, n = 64, k = 64, stages = 6, warpgroups = 2>>}
      ins(%x, %w, %sizes : tensor<5x64xf16>, tensor<8x64x128xf16>, tensor<8xi64>)
      bias(%bias : tensor<8x128xf32>) gather(%gather : tensor<20xi32>)
      scale(%scale : tensor<20xf32>) scatter(%scatter : tensor<20xi64>)
      outs(%y : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// CHECK-LABEL: func @on_memrefs
func.func @on_memrefs(%x: memref<?x64xf32>, %w: memref<2x16x64xf32>,
                      %off: memref<3xi32>, %y: memref<?x16xf32>) {
  // CHECK: moe.grouped_matmul ins({{.*}}) outs(%{{.*}} : memref<?x16xf32>){{$}}
  moe.grouped_matmul
      ins(%x, %w, %off : memref<?x64xf32>, memref<2x16x64xf32>, memref<3xi32>)
      outs(%y : memref<?x16xf32>)
  return
}

// CHECK-LABEL: func @swapped
func.func @swapped(%x: tensor<64x?xbf16>, %w: tensor<8x128x64xbf16>,
                   %off: tensor<9xi32>, %y: tensor<128x?xbf16>)
    -> tensor<128x?xbf16> {
  // CHECK: moe.grouped_matmul_swapped ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<8x128x64xbf16>, tensor<64x?xbf16>, tensor<9xi32>)
  %0 = moe.grouped_matmul_swapped
      ins(%w, %x, %off : tensor<8x128x64xbf16>, tensor<64x?xbf16>, tensor<9xi32>)
      outs(%y : tensor<128x?xbf16>) -> tensor<128x?xbf16>
  return %0 : tensor<128x?xbf16>
}

// CHECK-LABEL: func @swapped_row_major
func.func @swapped_row_major(%x: tensor<?x64xbf16>, %w: tensor<8x128x64xbf16>,
                             %off: tensor<9xi32>, %y: tensor<?x128xbf16>)
    -> tensor<?x128xbf16> {
  // CHECK: moe.grouped_matmul_swapped {result_order = #moe.order<row_major>, token_order = #moe.order<row_major>}
  %0 = moe.grouped_matmul_swapped {token_order = #moe.order<row_major>,
                                   result_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<8x128x64xbf16>, tensor<?x64xbf16>, tensor<9xi32>)
      outs(%y : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  return %0 : tensor<?x128xbf16>
}

// CHECK-LABEL: func @epilogues
func.func @epilogues(%x: memref<?x64xf16>, %w: memref<8x128x64xf16>,
                     %off: memref<9xi32>, %y: memref<?x128xf16>,
                     %half: memref<?x64xf16>) {
  // CHECK: moe.grouped_matmul {epilogue = #moe.epilogue<none>} ins
  moe.grouped_matmul {epilogue = #moe.epilogue<none>}
      ins(%x, %w, %off : memref<?x64xf16>, memref<8x128x64xf16>, memref<9xi32>)
      outs(%y : memref<?x128xf16>)
  // CHECK: moe.grouped_matmul {epilogue = #moe.epilogue<silu>} ins
  moe.grouped_matmul {epilogue = #moe.epilogue<silu>}
      ins(%x, %w, %off : memref<?x64xf16>, memref<8x128x64xf16>, memref<9xi32>)
      outs(%y : memref<?x128xf16>)
  // CHECK: moe.grouped_matmul {epilogue = #moe.epilogue<gelu>} ins
  moe.grouped_matmul {epilogue = #moe.epilogue<gelu>}
      ins(%x, %w, %off : memref<?x64xf16>, memref<8x128x64xf16>, memref<9xi32>)
      outs(%y : memref<?x128xf16>)
  // CHECK: moe.grouped_matmul {epilogue = #moe.epilogue<gelu_tanh>} ins
  moe.grouped_matmul {epilogue = #moe.epilogue<gelu_tanh>}
      ins(%x, %w, %off : memref<?x64xf16>, memref<8x128x64xf16>, memref<9xi32>)
      outs(%y : memref<?x128xf16>)
  // CHECK: moe.grouped_matmul {epilogue = #moe.epilogue<relu>} ins
  moe.grouped_matmul {epilogue = #moe.epilogue<relu>}
      ins(%x, %w, %off : memref<?x64xf16>, memref<8x128x64xf16>, memref<9xi32>)
      outs(%y : memref<?x128xf16>)
  // CHECK: moe.grouped_matmul {epilogue = #moe.epilogue<relu2>} ins
  moe.grouped_matmul {epilogue = #moe.epilogue<relu2>}
      ins(%x, %w, %off : memref<?x64xf16>, memref<8x128x64xf16>, memref<9xi32>)
      outs(%y : memref<?x128xf16>)
  // A gate that is none is the default, and not printed.
  // CHECK: moe.grouped_matmul {epilogue = #moe.epilogue<relu>} ins
  moe.grouped_matmul {epilogue = #moe.epilogue<relu, gate = none>}
      ins(%x, %w, %off : memref<?x64xf16>, memref<8x128x64xf16>, memref<9xi32>)
      outs(%y : memref<?x128xf16>)
  // CHECK: moe.grouped_matmul {epilogue = #moe.epilogue<none, gate = concat>} ins
  moe.grouped_matmul {epilogue = #moe.epilogue<none, gate = concat>}
      ins(%x, %w, %off : memref<?x64xf16>, memref<8x128x64xf16>, memref<9xi32>)
      outs(%half : memref<?x64xf16>)
  // CHECK: moe.grouped_matmul {epilogue = #moe.epilogue<gelu_tanh, gate = interleaved>} ins
  moe.grouped_matmul {epilogue = #moe.epilogue<gelu_tanh, gate = interleaved>}
      ins(%x, %w, %off : memref<?x64xf16>, memref<8x128x64xf16>, memref<9xi32>)
      outs(%half : memref<?x64xf16>)
  return
}

// The attributes of an op whose value is the default are not printed.
// CHECK-LABEL: func @defaults
func.func @defaults(%x: memref<64x?xf32>, %w: memref<8x128x64xf32>,
                    %off: memref<9xi32>, %y: memref<128x?xf32>) {
  // CHECK: moe.grouped_matmul_swapped ins
  moe.grouped_matmul_swapped {token_order = #moe.order<transposed>,
                              result_order = #moe.order<transposed>,
                              weight_layout = #moe.weight_layout<nk>,
                              group_kind = #moe.group_kind<offsets>}
      ins(%w, %x, %off : memref<8x128x64xf32>, memref<64x?xf32>, memref<9xi32>)
      outs(%y : memref<128x?xf32>)
  return
}

// CHECK-LABEL: func @one_order_of_two
func.func @one_order_of_two(%x: memref<?x64xf32>, %xt: memref<64x?xf32>,
                            %w: memref<8x128x64xf32>, %off: memref<9xi32>,
                            %y: memref<?x128xf32>, %yt: memref<128x?xf32>) {
  // CHECK: moe.grouped_matmul_swapped {token_order = #moe.order<row_major>} ins
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>,
                              result_order = #moe.order<transposed>}
      ins(%w, %x, %off : memref<8x128x64xf32>, memref<?x64xf32>, memref<9xi32>)
      outs(%yt : memref<128x?xf32>)
  // CHECK: moe.grouped_matmul_swapped {result_order = #moe.order<row_major>} ins
  moe.grouped_matmul_swapped {token_order = #moe.order<transposed>,
                              result_order = #moe.order<row_major>}
      ins(%w, %xt, %off : memref<8x128x64xf32>, memref<64x?xf32>, memref<9xi32>)
      outs(%y : memref<?x128xf32>)
  return
}
