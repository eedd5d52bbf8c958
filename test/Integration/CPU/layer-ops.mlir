// The values that route, dispatch and combine give on a CPU. Each function
// returns its results as the digits of a number: a 1 in front, then one digit
// for each element, 9 for a negative one.

// RUN: moe-opt %s --moe-to-cpu=openmp=false -o %t.mlir
// RUN: mlir-runner %t.mlir -e token_of_row -entry-point-result=i64 \
// RUN:   | FileCheck %s --match-full-lines --check-prefix=TOKEN-OF-ROW
// RUN: mlir-runner %t.mlir -e row_of_pair -entry-point-result=i64 \
// RUN:   | FileCheck %s --match-full-lines --check-prefix=ROW-OF-PAIR
// RUN: mlir-runner %t.mlir -e offsets -entry-point-result=i64 \
// RUN:   | FileCheck %s --match-full-lines --check-prefix=OFFSETS
// RUN: mlir-runner %t.mlir -e combine -entry-point-result=i64 \
// RUN:   | FileCheck %s --match-full-lines --check-prefix=COMBINE
// RUN: mlir-runner %t.mlir -e choice -entry-point-result=i64 \
// RUN:   | FileCheck %s --match-full-lines --check-prefix=CHOICE
// RUN: mlir-runner %t.mlir -e groups -entry-point-result=i64 \
// RUN:   | FileCheck %s --match-full-lines --check-prefix=GROUPS
// RUN: mlir-runner %t.mlir -e bias_choice -entry-point-result=i64 \
// RUN:   | FileCheck %s --match-full-lines --check-prefix=BIAS-CHOICE
// RUN: mlir-runner %t.mlir -e bias_weights -entry-point-result=i64 \
// RUN:   | FileCheck %s --match-full-lines --check-prefix=BIAS-WEIGHTS
// RUN: mlir-runner %t.mlir -e softmax -entry-point-result=i64 \
// RUN:   | FileCheck %s --match-full-lines --check-prefix=SOFTMAX
// RUN: mlir-runner %t.mlir -e renormalized -entry-point-result=i64 \
// RUN:   | FileCheck %s --match-full-lines --check-prefix=RENORMALIZED
// RUN: mlir-runner %t.mlir -e softmax_after_topk -entry-point-result=i64 \
// RUN:   | FileCheck %s --match-full-lines --check-prefix=SOFTMAX-AFTER-TOPK

func.func private @digits(%t: tensor<?xi32>) -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %nine = arith.constant 9 : i64
  %ten = arith.constant 10 : i64
  %n = tensor.dim %t, %c0 : tensor<?xi32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %one) -> i64 {
    %v = tensor.extract %t[%i] : tensor<?xi32>
    %w = arith.extsi %v : i32 to i64
    %negative = arith.cmpi slt, %w, %zero : i64
    %digit = arith.select %negative, %nine, %w : i64
    %scaled = arith.muli %acc, %ten : i64
    %next = arith.addi %scaled, %digit : i64
    scf.yield %next : i64
  }
  return %r : i64
}

func.func private @matrix_digits(%m: tensor<?x2xi32>) -> i64 {
  %flat = tensor.collapse_shape %m [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %r = call @digits(%flat) : (tensor<?xi32>) -> i64
  return %r : i64
}

// The integer part of each element times `factor`.
func.func private @float_digits(%m: tensor<?x2xf32>, %factor: f32) -> i64 {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %m, %c0 : tensor<?x2xf32>
  %init = tensor.empty(%n) : tensor<?x2xi32>
  %ints = linalg.map ins(%m : tensor<?x2xf32>) outs(%init : tensor<?x2xi32>)
      (%x: f32, %out: i32) {
        %y = arith.mulf %x, %factor : f32
        %z = arith.fptosi %y : f32 to i32
        linalg.yield %z : i32
      }
  %r = call @matrix_digits(%ints) : (tensor<?x2xi32>) -> i64
  return %r : i64
}

// Pairs of one expert stay in their order; -1 and 7 name no expert.
func.func private @dispatch() -> (tensor<8xi32>, tensor<4x2xi32>, tensor<5xi32>) {
  %i = arith.constant dense<[[1, 0], [3, 1], [-1, 1], [7, 0]]> : tensor<4x2xi32>
  %t = tensor.empty() : tensor<8xi32>
  %r = tensor.empty() : tensor<4x2xi32>
  %o = tensor.empty() : tensor<5xi32>
  %0, %1, %2 = moe.dispatch ins(%i : tensor<4x2xi32>)
      outs(%t, %r, %o : tensor<8xi32>, tensor<4x2xi32>, tensor<5xi32>)
      -> tensor<8xi32>, tensor<4x2xi32>, tensor<5xi32>
  return %0, %1, %2 : tensor<8xi32>, tensor<4x2xi32>, tensor<5xi32>
}

// TOKEN-OF-ROW: 103012199
func.func @token_of_row() -> i64 {
  %0, %1, %2 = call @dispatch()
      : () -> (tensor<8xi32>, tensor<4x2xi32>, tensor<5xi32>)
  %3 = tensor.cast %0 : tensor<8xi32> to tensor<?xi32>
  %r = call @digits(%3) : (tensor<?xi32>) -> i64
  return %r : i64
}

// ROW-OF-PAIR: 120539491
func.func @row_of_pair() -> i64 {
  %0, %1, %2 = call @dispatch()
      : () -> (tensor<8xi32>, tensor<4x2xi32>, tensor<5xi32>)
  %3 = tensor.cast %1 : tensor<4x2xi32> to tensor<?x2xi32>
  %r = call @matrix_digits(%3) : (tensor<?x2xi32>) -> i64
  return %r : i64
}

// OFFSETS: 102556
func.func @offsets() -> i64 {
  %0, %1, %2 = call @dispatch()
      : () -> (tensor<8xi32>, tensor<4x2xi32>, tensor<5xi32>)
  %3 = tensor.cast %2 : tensor<5xi32> to tensor<?xi32>
  %r = call @digits(%3) : (tensor<?xi32>) -> i64
  return %r : i64
}

// A pair without a row adds nothing even where its weight is NaN.
// COMBINE: 1724500
func.func @combine() -> i64 {
  %rows = arith.constant dense<[[1.0, 2.0], [3.0, 0.0], [4.0, 5.0]]>
      : tensor<3x2xf32>
  %pairs = arith.constant dense<[[0, 1], [2, -1], [3, -7]]> : tensor<3x2xi32>
  %weights = arith.constant dense<[[1.0, 2.0], [1.0, 0x7FC00000],
                                   [0x7FC00000, 0x7FC00000]]> : tensor<3x2xf32>
  %init = arith.constant dense<7.0> : tensor<3x2xf32>
  %y = moe.combine ins(%rows, %pairs : tensor<3x2xf32>, tensor<3x2xi32>)
      weights(%weights : tensor<3x2xf32>)
      outs(%init : tensor<3x2xf32>) -> tensor<3x2xf32>
  %one = arith.constant 1.0 : f32
  %0 = tensor.cast %y : tensor<3x2xf32> to tensor<?x2xf32>
  %r = call @float_digits(%0, %one) : (tensor<?x2xf32>, f32) -> i64
  return %r : i64
}

// Ties by index; NaN below -inf; all NaN.
// CHOICE: 11213300101
func.func @choice() -> i64 {
  %logits = arith.constant dense<[
      [1.0, 3.0, 3.0, 2.0], [0x7FC00000, 1.0, 0xFF800000, 0.0],
      [0x7FC00000, 0x7FC00000, 0x7FC00000, 0xFF800000], [0.0, -0.0, 0.0, 0.0],
      [0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7FC00000]]> : tensor<5x4xf32>
  %w = tensor.empty() : tensor<5x2xf32>
  %i = tensor.empty() : tensor<5x2xi32>
  %weights, %indices = moe.route ins(%logits : tensor<5x4xf32>)
      outs(%w, %i : tensor<5x2xf32>, tensor<5x2xi32>)
      -> tensor<5x2xf32>, tensor<5x2xi32>
  %0 = tensor.cast %indices : tensor<5x2xi32> to tensor<?x2xi32>
  %r = call @matrix_digits(%0) : (tensor<?x2xi32>) -> i64
  return %r : i64
}

// The group of experts 2 and 3 has the largest sum of two, though experts 0 and
// 6 have the largest logits.
// GROUPS: 123
func.func @groups() -> i64 {
  %logits = arith.constant dense<[[9.0, -9.0, 4.0, 4.0, 0.0, 0.0, 5.0, 2.0]]>
      : tensor<1x8xf32>
  %w = tensor.empty() : tensor<1x2xf32>
  %i = tensor.empty() : tensor<1x2xi32>
  %weights, %indices = moe.route {scoring = #moe.scoring<sigmoid>,
                                  n_group = 4 : i64, topk_group = 1 : i64}
      ins(%logits : tensor<1x8xf32>)
      outs(%w, %i : tensor<1x2xf32>, tensor<1x2xi32>)
      -> tensor<1x2xf32>, tensor<1x2xi32>
  %0 = tensor.cast %indices : tensor<1x2xi32> to tensor<?x2xi32>
  %r = call @matrix_digits(%0) : (tensor<?x2xi32>) -> i64
  return %r : i64
}

// The bias makes expert 3 the first choice; its weight is its score without it.
func.func private @biased() -> (tensor<1x2xf32>, tensor<1x2xi32>) {
  %logits = arith.constant dense<[[5.0, 1.0, 2.0, 0.0]]> : tensor<1x4xf32>
  %bias = arith.constant dense<[0.0, 0.0, 0.0, 9.0]> : tensor<4xf32>
  %w = tensor.empty() : tensor<1x2xf32>
  %i = tensor.empty() : tensor<1x2xi32>
  %weights, %indices = moe.route {scoring = #moe.scoring<sigmoid>,
                                  scaling = 8.0 : f32}
      ins(%logits : tensor<1x4xf32>) bias(%bias : tensor<4xf32>)
      outs(%w, %i : tensor<1x2xf32>, tensor<1x2xi32>)
      -> tensor<1x2xf32>, tensor<1x2xi32>
  return %weights, %indices : tensor<1x2xf32>, tensor<1x2xi32>
}

// BIAS-CHOICE: 130
func.func @bias_choice() -> i64 {
  %weights, %indices = call @biased() : () -> (tensor<1x2xf32>, tensor<1x2xi32>)
  %0 = tensor.cast %indices : tensor<1x2xi32> to tensor<?x2xi32>
  %r = call @matrix_digits(%0) : (tensor<?x2xi32>) -> i64
  return %r : i64
}

// 8 * sigmoid(0) = 4; 8 * sigmoid(5) = 7.9.
// BIAS-WEIGHTS: 147
func.func @bias_weights() -> i64 {
  %weights, %indices = call @biased() : () -> (tensor<1x2xf32>, tensor<1x2xi32>)
  %one = arith.constant 1.0 : f32
  %0 = tensor.cast %weights : tensor<1x2xf32> to tensor<?x2xf32>
  %r = call @float_digits(%0, %one) : (tensor<?x2xf32>, f32) -> i64
  return %r : i64
}

// Logits ln 6, ln 2, ln 2: the softmax is 0.6, 0.2, 0.2; renormalized over the
// first two it is 0.75, 0.25, and the softmax over these two is the same.
func.func private @logits() -> tensor<1x3xf32> {
  %0 = arith.constant dense<[[1.79175947, 0.693147181, 0.693147181]]>
      : tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}

// SOFTMAX: 162
func.func @softmax() -> i64 {
  %logits = call @logits() : () -> tensor<1x3xf32>
  %w = tensor.empty() : tensor<1x2xf32>
  %i = tensor.empty() : tensor<1x2xi32>
  %weights, %indices = moe.route ins(%logits : tensor<1x3xf32>)
      outs(%w, %i : tensor<1x2xf32>, tensor<1x2xi32>)
      -> tensor<1x2xf32>, tensor<1x2xi32>
  %factor = arith.constant 10.01 : f32
  %0 = tensor.cast %weights : tensor<1x2xf32> to tensor<?x2xf32>
  %r = call @float_digits(%0, %factor) : (tensor<?x2xf32>, f32) -> i64
  return %r : i64
}

// 4 * 0.75 and 4 * 0.25, a little more so as not to fall below.
// RENORMALIZED: 131
func.func @renormalized() -> i64 {
  %logits = call @logits() : () -> tensor<1x3xf32>
  %w = tensor.empty() : tensor<1x2xf32>
  %i = tensor.empty() : tensor<1x2xi32>
  %weights, %indices = moe.route {renormalize} ins(%logits : tensor<1x3xf32>)
      outs(%w, %i : tensor<1x2xf32>, tensor<1x2xi32>)
      -> tensor<1x2xf32>, tensor<1x2xi32>
  %factor = arith.constant 4.01 : f32
  %0 = tensor.cast %weights : tensor<1x2xf32> to tensor<?x2xf32>
  %r = call @float_digits(%0, %factor) : (tensor<?x2xf32>, f32) -> i64
  return %r : i64
}

// SOFTMAX-AFTER-TOPK: 131
func.func @softmax_after_topk() -> i64 {
  %logits = call @logits() : () -> tensor<1x3xf32>
  %w = tensor.empty() : tensor<1x2xf32>
  %i = tensor.empty() : tensor<1x2xi32>
  %weights, %indices = moe.route {scoring = #moe.scoring<softmax_after_topk>}
      ins(%logits : tensor<1x3xf32>)
      outs(%w, %i : tensor<1x2xf32>, tensor<1x2xi32>)
      -> tensor<1x2xf32>, tensor<1x2xi32>
  %factor = arith.constant 4.01 : f32
  %0 = tensor.cast %weights : tensor<1x2xf32> to tensor<?x2xf32>
  %r = call @float_digits(%0, %factor) : (tensor<?x2xf32>, f32) -> i64
  return %r : i64
}
