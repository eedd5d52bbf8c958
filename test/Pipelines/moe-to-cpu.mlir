// RUN: moe-opt %s --moe-to-cpu | mlir-translate --mlir-to-llvmir -o %t.ll
// RUN: FileCheck %s --check-prefix=THREADS < %t.ll
// RUN: llc -O3 -mcpu=x86-64 %t.ll -o - | FileCheck %s --check-prefix=BF16
// RUN: llc -O3 -mcpu=sapphirerapids -mattr=-avx512bf16 %t.ll -o - | FileCheck %s --check-prefix=BF16
// RUN: moe-opt %s --moe-to-cpu=openmp=false | mlir-translate --mlir-to-llvmir \
// RUN:   | FileCheck %s --check-prefix=SERIAL

// Parallel loops run on OpenMP threads, or not.
// THREADS-DAG: define {{.*}} @_mlir_ciface_layer
// THREADS-DAG: call void {{.*}} @__kmpc_fork_call
// SERIAL-NOT: __kmpc

// Nothing provides a conversion function to or from bf16.
// BF16-NOT: __truncsfbf2
// BF16-NOT: __extendbfsf2

// One raised and one swapped and scheduled matmul, with explicit transposes;
// sizes that are no multiples of a vector.
func.func @layer(%x: tensor<?x36xbf16>, %w1: tensor<8x66x36xbf16>,
                 %w2: tensor<8x33x42xbf16>, %off: tensor<9xi32>,
                 %h: tensor<?x33xbf16>, %y: tensor<42x?xbf16>)
    -> tensor<42x?xbf16> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x36xbf16>
  %0 = moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %w1, %off : tensor<?x36xbf16>, tensor<8x66x36xbf16>, tensor<9xi32>)
      outs(%h : tensor<?x33xbf16>) -> tensor<?x33xbf16>
  %1 = tensor.empty(%rows) : tensor<33x?xbf16>
  %2 = linalg.transpose ins(%0 : tensor<?x33xbf16>) outs(%1 : tensor<33x?xbf16>)
      permutation = [1, 0]
  %3 = moe.grouped_matmul_swapped {
      weight_layout = #moe.weight_layout<kn>,
      schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 4, warpgroups = 1>}
      ins(%w2, %2, %off : tensor<8x33x42xbf16>, tensor<33x?xbf16>, tensor<9xi32>)
      outs(%y : tensor<42x?xbf16>) -> tensor<42x?xbf16>
  return %3 : tensor<42x?xbf16>
}

// Arithmetic of the user on bf16.
func.func @elementwise(%x: tensor<?xbf16>, %y: tensor<?xbf16>) -> tensor<?xbf16> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]}
      ins(%x : tensor<?xbf16>) outs(%y : tensor<?xbf16>) {
  ^bb0(%a: bf16, %b: bf16):
    %1 = arith.addf %a, %b : bf16
    %2 = math.tanh %1 : bf16
    %3 = arith.maximumf %2, %a : bf16
    linalg.yield %3 : bf16
  } -> tensor<?xbf16>
  return %0 : tensor<?xbf16>
}
