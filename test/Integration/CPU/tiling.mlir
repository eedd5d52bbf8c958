// Tiled grouped matmuls compute what the whole ones do, bit by bit (all values
// are small integers), for right and for wrong offsets.

// RUN: moe-opt %s \
// RUN:   --transform-preload-library='transform-library-paths=%S/Inputs/tile-schedule.mlir' \
// RUN:   --transform-interpreter -o %t.tiled.mlir
// RUN: FileCheck %s --check-prefix=TILED < %t.tiled.mlir
// RUN: moe-opt %t.tiled.mlir --moe-to-cpu='openmp=false' -o %t.llvm.mlir
// RUN: mlir-runner %t.llvm.mlir -e main -entry-point-result=void \
// RUN:   -shared-libs=%mlir_c_runner_utils
// RUN: not --crash mlir-runner %t.llvm.mlir -e different \
// RUN:   -entry-point-result=void -shared-libs=%mlir_c_runner_utils

// TILED-COUNT-4: scf.for
!x = tensor<50x24xf32>
!w = tensor<4x40x24xf32>
!off = tensor<5xi32>
!rows = tensor<50xi32>
!y = tensor<50x40xf32>

// Aborts unless a and b are the same.
func.func private @compare(%a: !y, %b: !y) {
  %true = arith.constant true
  %empty = tensor.empty() : tensor<i1>
  %init = linalg.fill ins(%true : i1) outs(%empty : tensor<i1>) -> tensor<i1>
  %all = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                       affine_map<(i, j) -> ()>],
      iterator_types = ["reduction", "reduction"]}
      ins(%a, %b : !y, !y) outs(%init : tensor<i1>) {
  ^bb0(%p: f32, %q: f32, %so_far: i1):
    %0 = arith.cmpf oeq, %p, %q : f32
    %1 = arith.andi %so_far, %0 : i1
    linalg.yield %1 : i1
  } -> tensor<i1>
  %same = tensor.extract %all[] : tensor<i1>
  cf.assert %same, "the tiled op computes something else"
  return
}

func.func private @all_forms(%x: !x, %w: !w, %off: !off, %bias: tensor<4x40xf32>,
                             %scale: tensor<50xf32>, %rows: !rows,
                             %w2: tensor<4x80x24xf32>) {
  // What rows that no group owns keep.
  %y = arith.constant dense<-1000.0> : !y

  %0 = moe.grouped_matmul ins(%x, %w, %off : !x, !w, !off)
      bias(%bias : tensor<4x40xf32>) scale(%scale : tensor<50xf32>)
      outs(%y : !y) -> !y
  %1 = moe.grouped_matmul {both} ins(%x, %w, %off : !x, !w, !off)
      bias(%bias : tensor<4x40xf32>) scale(%scale : tensor<50xf32>)
      outs(%y : !y) -> !y
  call @compare(%0, %1) : (!y, !y) -> ()

  %2 = moe.grouped_matmul {epilogue = #moe.epilogue<relu, gate = interleaved>}
      ins(%x, %w2, %off : !x, tensor<4x80x24xf32>, !off) outs(%y : !y) -> !y
  %3 = moe.grouped_matmul {both,
                           epilogue = #moe.epilogue<relu, gate = interleaved>}
      ins(%x, %w2, %off : !x, tensor<4x80x24xf32>, !off) outs(%y : !y) -> !y
  call @compare(%2, %3) : (!y, !y) -> ()

  %4 = moe.grouped_matmul ins(%x, %w, %off : !x, !w, !off)
      gather(%rows : !rows) outs(%y : !y) -> !y
  %5 = moe.grouped_matmul {both} ins(%x, %w, %off : !x, !w, !off)
      gather(%rows : !rows) outs(%y : !y) -> !y
  call @compare(%4, %5) : (!y, !y) -> ()

  %6 = moe.grouped_matmul ins(%x, %w, %off : !x, !w, !off)
      scatter(%rows : !rows) outs(%y : !y) -> !y
  %7 = moe.grouped_matmul {columns} ins(%x, %w, %off : !x, !w, !off)
      scatter(%rows : !rows) outs(%y : !y) -> !y
  call @compare(%6, %7) : (!y, !y) -> ()

  %yt = arith.constant dense<-1000.0> : tensor<40x50xf32>
  %8 = moe.grouped_matmul_swapped {both, token_order = #moe.order<row_major>}
      ins(%w, %x, %off : !w, !x, !off)
      outs(%yt : tensor<40x50xf32>) -> tensor<40x50xf32>
  %back = linalg.transpose ins(%8 : tensor<40x50xf32>) outs(%y : !y)
      permutation = [1, 0]
  %9 = moe.grouped_matmul ins(%x, %w, %off : !x, !w, !off) outs(%y : !y) -> !y
  call @compare(%9, %back) : (!y, !y) -> ()
  return
}

// A value of -5 to 5 for a position.
func.func private @value(%a: index, %b: index) -> i32 {
  %c3 = arith.constant 3 : index
  %c7 = arith.constant 7 : index
  %c11 = arith.constant 11 : index
  %c5 = arith.constant 5 : i32
  %0 = arith.muli %a, %c7 : index
  %1 = arith.muli %b, %c3 : index
  %2 = arith.addi %0, %1 : index
  %3 = arith.remui %2, %c11 : index
  %4 = arith.index_cast %3 : index to i32
  %5 = arith.subi %4, %c5 : i32
  return %5 : i32
}

func.func @main() {
  %x = tensor.generate {
  ^bb0(%i: index, %j: index):
    %0 = func.call @value(%i, %j) : (index, index) -> i32
    %1 = arith.sitofp %0 : i32 to f32
    tensor.yield %1 : f32
  } : !x
  %w2 = tensor.generate {
  ^bb0(%e: index, %i: index, %j: index):
    %0 = arith.addi %e, %i : index
    %1 = func.call @value(%j, %0) : (index, index) -> i32
    %2 = arith.sitofp %1 : i32 to f32
    tensor.yield %2 : f32
  } : tensor<4x80x24xf32>
  %w = tensor.extract_slice %w2[0, 0, 0] [4, 40, 24] [1, 1, 1]
      : tensor<4x80x24xf32> to !w
  %bias = tensor.extract_slice %w2[0, 0, 3] [4, 40, 1] [1, 1, 1]
      : tensor<4x80x24xf32> to tensor<4x40xf32>
  %scale = tensor.extract_slice %x[0, 5] [50, 1] [1, 1] : !x to tensor<50xf32>
  // All different, two of them outside.
  %rows = tensor.generate {
  ^bb0(%i: index):
    %c7 = arith.constant 7 : index
    %c52 = arith.constant 52 : index
    %c1 = arith.constant 1 : i32
    %0 = arith.muli %i, %c7 : index
    %1 = arith.remui %0, %c52 : index
    %2 = arith.index_cast %1 : index to i32
    %3 = arith.subi %2, %c1 : i32
    tensor.yield %3 : i32
  } : !rows

  // Right ones, with an empty group and rows that no group owns.
  %right = arith.constant dense<[3, 10, 10, 17, 45]> : !off
  call @all_forms(%x, %w, %right, %bias, %scale, %rows, %w2)
    : (!x, !w, !off, tensor<4x40xf32>, tensor<50xf32>, !rows, tensor<4x80x24xf32>) -> ()
  // Decreasing, negative and beyond.
  %wrong = arith.constant dense<[-5, 40, 12, 45, 70]> : !off
  call @all_forms(%x, %w, %wrong, %bias, %scale, %rows, %w2)
    : (!x, !w, !off, tensor<4x40xf32>, tensor<50xf32>, !rows, tensor<4x80x24xf32>) -> ()
  // Where 32 bits end: all rows are the last group's, then no group's.
  %low = arith.constant dense<[-2147483648, 0, 0, 0, 2147483647]> : !off
  call @all_forms(%x, %w, %low, %bias, %scale, %rows, %w2)
    : (!x, !w, !off, tensor<4x40xf32>, tensor<50xf32>, !rows, tensor<4x80x24xf32>) -> ()
  %high = arith.constant dense<[2147483647, 1, 2, 3, -2147483648]> : !off
  call @all_forms(%x, %w, %high, %bias, %scale, %rows, %w2)
    : (!x, !w, !off, tensor<4x40xf32>, tensor<50xf32>, !rows, tensor<4x80x24xf32>) -> ()
  return
}

// That the comparison sees one different element.
func.func @different() {
  %c0 = arith.constant 0 : index
  %c39 = arith.constant 39 : index
  %one = arith.constant 1.0 : f32
  %a = arith.constant dense<0.0> : !y
  %b = tensor.insert %one into %a[%c0, %c39] : !y
  call @compare(%a, %b) : (!y, !y) -> ()
  return
}
