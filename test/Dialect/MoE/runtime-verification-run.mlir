// The checks, run. The matmuls themselves are dead, so that canonicalization
// leaves the checks alone. A failed one aborts, and takes unflushed output along:
// hence stdbuf.

// RUN: moe-opt %s --generate-runtime-verification --canonicalize \
// RUN:   --one-shot-bufferize=bufferize-function-boundaries \
// RUN:   --convert-scf-to-cf --expand-strided-metadata --convert-to-llvm \
// RUN:   --reconcile-unrealized-casts -o %t.mlir
// RUN: mlir-runner %t.mlir -e right -entry-point-result=void 2>&1 \
// RUN:   | FileCheck %s --check-prefix=RIGHT --allow-empty
// RUN: not --crash stdbuf -oL mlir-runner %t.mlir -e negative \
// RUN:   -entry-point-result=void 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not --crash stdbuf -oL mlir-runner %t.mlir -e decreasing \
// RUN:   -entry-point-result=void 2>&1 | FileCheck %s --check-prefix=DECREASING
// RUN: not --crash stdbuf -oL mlir-runner %t.mlir -e beyond \
// RUN:   -entry-point-result=void 2>&1 | FileCheck %s --check-prefix=BEYOND
// RUN: not --crash stdbuf -oL mlir-runner %t.mlir -e too_many \
// RUN:   -entry-point-result=void 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not --crash stdbuf -oL mlir-runner %t.mlir -e negative_size \
// RUN:   -entry-point-result=void 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not --crash stdbuf -oL mlir-runner %t.mlir -e wrong_k \
// RUN:   -entry-point-result=void 2>&1 | FileCheck %s --check-prefix=K

// RIGHT-NOT: failed
// NEGATIVE: moe.grouped_matmul: the first offset in groups is negative
// DECREASING: moe.grouped_matmul: an offset in groups is less than the one before it
// BEYOND: moe.grouped_matmul: the last offset in groups is beyond the R rows
// MANY: moe.grouped_matmul: the sizes in groups are more than the R rows in sum
// SIZE: moe.grouped_matmul: a size in groups is negative
// K: moe.grouped_matmul: K of the tokens does not match K of the weights

func.func private @with_offsets(%off: tensor<4xi32>, %k: index) {
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %x = tensor.empty(%c8, %k) : tensor<?x?xf32>
  %w = tensor.empty(%c16) : tensor<3x?x32xf32>
  %y = tensor.empty(%c8, %c16) : tensor<?x?xf32>
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<?x?xf32>, tensor<3x?x32xf32>, tensor<4xi32>)
      outs(%y : tensor<?x?xf32>) -> tensor<?x?xf32>
  return
}

func.func private @with_sizes(%sizes: tensor<3xi64>) {
  %x = tensor.empty() : tensor<8x32xf32>
  %w = tensor.empty() : tensor<3x16x32xf32>
  %y = tensor.empty() : tensor<8x16xf32>
  %0 = moe.grouped_matmul {group_kind = #moe.group_kind<sizes>}
      ins(%x, %w, %sizes : tensor<8x32xf32>, tensor<3x16x32xf32>, tensor<3xi64>)
      outs(%y : tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// An empty group, rows before the first group and after the last are right.
func.func @right() {
  %k = arith.constant 32 : index
  %off = arith.constant dense<[1, 3, 3, 7]> : tensor<4xi32>
  %all = arith.constant dense<[0, 0, 8, 8]> : tensor<4xi32>
  %sizes = arith.constant dense<[5, 0, 3]> : tensor<3xi64>
  call @with_offsets(%off, %k) : (tensor<4xi32>, index) -> ()
  call @with_offsets(%all, %k) : (tensor<4xi32>, index) -> ()
  call @with_sizes(%sizes) : (tensor<3xi64>) -> ()
  return
}

func.func @negative() {
  %k = arith.constant 32 : index
  %off = arith.constant dense<[-1, 3, 3, 7]> : tensor<4xi32>
  call @with_offsets(%off, %k) : (tensor<4xi32>, index) -> ()
  return
}

func.func @decreasing() {
  %k = arith.constant 32 : index
  %off = arith.constant dense<[0, 3, 2, 7]> : tensor<4xi32>
  call @with_offsets(%off, %k) : (tensor<4xi32>, index) -> ()
  return
}

func.func @beyond() {
  %k = arith.constant 32 : index
  %off = arith.constant dense<[0, 3, 3, 9]> : tensor<4xi32>
  call @with_offsets(%off, %k) : (tensor<4xi32>, index) -> ()
  return
}

// The sum of these wraps around to one that would be right.
func.func @too_many() {
  %sizes = arith.constant dense<[9223372036854775807, 9223372036854775807, 3]>
      : tensor<3xi64>
  call @with_sizes(%sizes) : (tensor<3xi64>) -> ()
  return
}

func.func @negative_size() {
  %sizes = arith.constant dense<[5, -1, 3]> : tensor<3xi64>
  call @with_sizes(%sizes) : (tensor<3xi64>) -> ()
  return
}

func.func @wrong_k() {
  %k = arith.constant 31 : index
  %off = arith.constant dense<[1, 3, 3, 7]> : tensor<4xi32>
  call @with_offsets(%off, %k) : (tensor<4xi32>, index) -> ()
  return
}
