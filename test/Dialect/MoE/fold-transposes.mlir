// RUN: moe-opt %s --moe-fold-transposes --split-input-file | FileCheck %s
// A second run finds nothing.
// RUN: moe-opt %s --moe-fold-transposes --moe-fold-transposes --split-input-file | FileCheck %s
// RUN: moe-opt %s --moe-fold-transposes --split-input-file -o /dev/null \
// RUN:   --remarks-filter='moe.*' --verify-diagnostics

// CHECK-LABEL: func @swapped_by_the_pass
// CHECK-SAME: (%[[X:.+]]: tensor<64x768xbf16>, %[[W:.+]]: tensor<128x2048x768xbf16>, %[[OFF:.+]]: tensor<129xi32>, %[[Y:.+]]: tensor<64x2048xbf16>)
// CHECK-NEXT: %[[R:.+]] = moe.grouped_matmul_swapped {result_order = #moe.order<row_major>, token_order = #moe.order<row_major>}
// CHECK-SAME: ins(%[[W]], %[[X]], %[[OFF]] : {{.*}}) outs(%[[Y]] : tensor<64x2048xbf16>) -> tensor<64x2048xbf16>
// CHECK-NEXT: return %[[R]]
func.func @swapped_by_the_pass(%x: tensor<64x768xbf16>,
    %w: tensor<128x2048x768xbf16>, %off: tensor<129xi32>,
    %y: tensor<64x2048xbf16>) -> tensor<64x2048xbf16> {
  %0 = tensor.empty() : tensor<768x64xbf16>
  %xt = linalg.transpose ins(%x : tensor<64x768xbf16>)
                         outs(%0 : tensor<768x64xbf16>) permutation = [1, 0]
  %1 = tensor.empty() : tensor<2048x64xbf16>
  %yt = linalg.transpose ins(%y : tensor<64x2048xbf16>)
                         outs(%1 : tensor<2048x64xbf16>) permutation = [1, 0]
  // expected-remark @below {{[Passed] folded | Category:moe-fold-transposes | Function=swapped_by_the_pass | Matrix=tokens, Op=moe.grouped_matmul_swapped}}
  // expected-remark @below {{[Passed] folded | Category:moe-fold-transposes | Function=swapped_by_the_pass | Matrix=result, Op=moe.grouped_matmul_swapped}}
  %2 = moe.grouped_matmul_swapped
      ins(%w, %xt, %off : tensor<128x2048x768xbf16>, tensor<768x64xbf16>,
                          tensor<129xi32>)
      outs(%yt : tensor<2048x64xbf16>) -> tensor<2048x64xbf16>
  %3 = linalg.transpose ins(%2 : tensor<2048x64xbf16>)
                        outs(%y : tensor<64x2048xbf16>) permutation = [1, 0]
  return %3 : tensor<64x2048xbf16>
}

// -----

// Destinations that hold nothing or one value are made row-major.
// CHECK-LABEL: func @uniform_destinations
// CHECK-NOT: linalg.transpose
// CHECK-DAG: %[[ZEROS:.+]] = arith.constant dense<0.000000e+00> : tensor<4x16xbf16>
// CHECK-DAG: %[[EMPTY:.+]] = tensor.empty() : tensor<4x16xbf16>
// CHECK: moe.grouped_matmul_swapped {{.*}} outs(%[[EMPTY]]
// CHECK: %[[FILL:.+]] = linalg.fill ins(%{{.+}} : bf16) outs(%{{.+}} : tensor<4x16xbf16>)
// CHECK: moe.grouped_matmul_swapped {{.*}} outs(%[[FILL]]
// CHECK: moe.grouped_matmul_swapped {{.*}} outs(%[[ZEROS]]
// CHECK-NOT: linalg.transpose
func.func @uniform_destinations(%x: tensor<4x64xbf16>, %w: tensor<2x16x64xbf16>,
    %off: tensor<3xi32>, %value: bf16)
    -> (tensor<4x16xbf16>, tensor<4x16xbf16>, tensor<4x16xbf16>) {
  %empty = tensor.empty() : tensor<16x4xbf16>
  %fill = linalg.fill ins(%value : bf16)
                      outs(%empty : tensor<16x4xbf16>) -> tensor<16x4xbf16>
  %zeros = arith.constant dense<0.0> : tensor<16x4xbf16>
  %back = tensor.empty() : tensor<4x16xbf16>
  // expected-remark @below {{[Passed] folded | Category:moe-fold-transposes | Function=uniform_destinations | Matrix=result, Op=moe.grouped_matmul_swapped}}
  %0 = moe.grouped_matmul_swapped {token_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<2x16x64xbf16>, tensor<4x64xbf16>, tensor<3xi32>)
      outs(%empty : tensor<16x4xbf16>) -> tensor<16x4xbf16>
  // expected-remark @below {{[Passed] folded | Category:moe-fold-transposes | Function=uniform_destinations | Matrix=result, Op=moe.grouped_matmul_swapped}}
  %1 = moe.grouped_matmul_swapped {token_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<2x16x64xbf16>, tensor<4x64xbf16>, tensor<3xi32>)
      outs(%fill : tensor<16x4xbf16>) -> tensor<16x4xbf16>
  // expected-remark @below {{[Passed] folded | Category:moe-fold-transposes | Function=uniform_destinations | Matrix=result, Op=moe.grouped_matmul_swapped}}
  %2 = moe.grouped_matmul_swapped {token_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<2x16x64xbf16>, tensor<4x64xbf16>, tensor<3xi32>)
      outs(%zeros : tensor<16x4xbf16>) -> tensor<16x4xbf16>
  %3 = linalg.transpose ins(%0 : tensor<16x4xbf16>)
                        outs(%back : tensor<4x16xbf16>) permutation = [1, 0]
  %4 = linalg.transpose ins(%1 : tensor<16x4xbf16>)
                        outs(%back : tensor<4x16xbf16>) permutation = [1, 0]
  %5 = linalg.transpose ins(%2 : tensor<16x4xbf16>)
                        outs(%back : tensor<4x16xbf16>) permutation = [1, 0]
  return %3, %4, %5 : tensor<4x16xbf16>, tensor<4x16xbf16>, tensor<4x16xbf16>
}

// -----

// The transposed tokens have another user, which keeps them.
// CHECK-LABEL: func @tokens_with_another_user
// CHECK-SAME: (%[[X:.+]]: tensor<4x64xbf16>,
// CHECK: %[[XT:.+]] = linalg.transpose ins(%[[X]]
// CHECK: %[[R:.+]] = moe.grouped_matmul_swapped {token_order = #moe.order<row_major>} ins(%{{.+}}, %[[X]],
// CHECK: return %[[R]], %[[XT]]
func.func @tokens_with_another_user(%x: tensor<4x64xbf16>,
    %w: tensor<2x16x64xbf16>, %off: tensor<3xi32>, %y: tensor<16x4xbf16>)
    -> (tensor<16x4xbf16>, tensor<64x4xbf16>) {
  %0 = tensor.empty() : tensor<64x4xbf16>
  %xt = linalg.transpose ins(%x : tensor<4x64xbf16>)
                         outs(%0 : tensor<64x4xbf16>) permutation = [1, 0]
  // expected-remark @below {{[Passed] folded | Category:moe-fold-transposes | Function=tokens_with_another_user | Matrix=tokens, Op=moe.grouped_matmul_swapped}}
  // expected-remark @below {{[Missed] transposed | Category:moe-fold-transposes | Function=tokens_with_another_user | Matrix=result, Op=moe.grouped_matmul_swapped, Reason="not all of its users are a linalg.transpose"}}
  %1 = moe.grouped_matmul_swapped
      ins(%w, %xt, %off : tensor<2x16x64xbf16>, tensor<64x4xbf16>, tensor<3xi32>)
      outs(%y : tensor<16x4xbf16>) -> tensor<16x4xbf16>
  return %1, %xt : tensor<16x4xbf16>, tensor<64x4xbf16>
}

// -----

// The result has another user: it stays transposed.
// CHECK-LABEL: func @result_with_another_user
// CHECK: %[[RT:.+]] = moe.grouped_matmul_swapped {token_order = #moe.order<row_major>}
// CHECK: %[[R:.+]] = linalg.transpose ins(%[[RT]]
// CHECK: return %[[R]], %[[RT]]
func.func @result_with_another_user(%x: tensor<4x64xbf16>,
    %w: tensor<2x16x64xbf16>, %off: tensor<3xi32>)
    -> (tensor<4x16xbf16>, tensor<16x4xbf16>) {
  %0 = tensor.empty() : tensor<16x4xbf16>
  // expected-remark @below {{[Missed] transposed | Category:moe-fold-transposes | Function=result_with_another_user | Matrix=result, Op=moe.grouped_matmul_swapped, Reason="not all of its users are a linalg.transpose"}}
  %1 = moe.grouped_matmul_swapped {token_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<2x16x64xbf16>, tensor<4x64xbf16>, tensor<3xi32>)
      outs(%0 : tensor<16x4xbf16>) -> tensor<16x4xbf16>
  %2 = tensor.empty() : tensor<4x16xbf16>
  %3 = linalg.transpose ins(%1 : tensor<16x4xbf16>)
                        outs(%2 : tensor<4x16xbf16>) permutation = [1, 0]
  return %3, %1 : tensor<4x16xbf16>, tensor<16x4xbf16>
}

// -----

// The result is a transpose's destination, which is no use of it that folds.
// CHECK-LABEL: func @result_as_destination
// CHECK: moe.grouped_matmul_swapped {token_order = #moe.order<row_major>}
// CHECK: linalg.transpose ins(%{{.*}} : tensor<16x16xbf16>)
func.func @result_as_destination(%x: tensor<16x64xbf16>,
    %w: tensor<2x16x64xbf16>, %off: tensor<3xi32>, %z: tensor<16x16xbf16>)
    -> tensor<16x16xbf16> {
  %0 = tensor.empty() : tensor<16x16xbf16>
  // expected-remark @below {{[Missed] transposed | Category:moe-fold-transposes | Function=result_as_destination | Matrix=result, Op=moe.grouped_matmul_swapped, Reason="not all of its users are a linalg.transpose"}}
  %1 = moe.grouped_matmul_swapped {token_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<2x16x64xbf16>, tensor<16x64xbf16>, tensor<3xi32>)
      outs(%0 : tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %2 = linalg.transpose ins(%z : tensor<16x16xbf16>)
                        outs(%1 : tensor<16x16xbf16>) permutation = [1, 0]
  return %2 : tensor<16x16xbf16>
}

// -----

// A destination that holds data in transposed order would have to be moved.
// CHECK-LABEL: func @destination_with_data
// CHECK: %[[RT:.+]] = moe.grouped_matmul_swapped {token_order = #moe.order<row_major>}
// CHECK: linalg.transpose ins(%[[RT]]
func.func @destination_with_data(%x: tensor<4x64xbf16>,
    %w: tensor<2x16x64xbf16>, %off: tensor<3xi32>, %yt: tensor<16x4xbf16>)
    -> tensor<4x16xbf16> {
  // expected-remark @below {{[Missed] transposed | Category:moe-fold-transposes | Function=destination_with_data | Matrix=result, Op=moe.grouped_matmul_swapped, Reason="its destination holds data that are not transposed by a linalg.transpose"}}
  %1 = moe.grouped_matmul_swapped {token_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<2x16x64xbf16>, tensor<4x64xbf16>, tensor<3xi32>)
      outs(%yt : tensor<16x4xbf16>) -> tensor<16x4xbf16>
  %2 = tensor.empty() : tensor<4x16xbf16>
  %3 = linalg.transpose ins(%1 : tensor<16x4xbf16>)
                        outs(%2 : tensor<4x16xbf16>) permutation = [1, 0]
  return %3 : tensor<4x16xbf16>
}

// -----

// The same for a constant that is not uniform.
// CHECK-LABEL: func @constant_with_data
// CHECK: arith.constant dense<{{\[\[}}1.0
// CHECK: linalg.transpose
func.func @constant_with_data(%x: tensor<2x64xbf16>, %w: tensor<1x1x64xbf16>,
    %off: tensor<2xi32>) -> tensor<2x1xbf16> {
  %y = arith.constant dense<[[1.0, 2.0]]> : tensor<1x2xbf16>
  // expected-remark @below {{[Missed] transposed | Category:moe-fold-transposes | Function=constant_with_data | Matrix=result, Op=moe.grouped_matmul_swapped, Reason="its destination holds data that are not transposed by a linalg.transpose"}}
  %1 = moe.grouped_matmul_swapped {token_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<1x1x64xbf16>, tensor<2x64xbf16>, tensor<2xi32>)
      outs(%y : tensor<1x2xbf16>) -> tensor<1x2xbf16>
  %2 = tensor.empty() : tensor<2x1xbf16>
  %3 = linalg.transpose ins(%1 : tensor<1x2xbf16>)
                        outs(%2 : tensor<2x1xbf16>) permutation = [1, 0]
  return %3 : tensor<2x1xbf16>
}

// -----

// Nothing uses the result as a matrix: there is nothing to fold.
// CHECK-LABEL: func @unused_result
// CHECK: moe.grouped_matmul_swapped {token_order = #moe.order<row_major>}
func.func @unused_result(%x: memref<4x64xbf16>, %w: memref<2x16x64xbf16>,
    %off: memref<3xi32>, %y: memref<16x4xbf16>) {
  // expected-remark @below {{[Missed] transposed | Category:moe-fold-transposes | Function=unused_result | Matrix=result, Op=moe.grouped_matmul_swapped, Reason="it is a memref; fold before bufferization"}}
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>}
      ins(%w, %x, %off : memref<2x16x64xbf16>, memref<4x64xbf16>, memref<3xi32>)
      outs(%y : memref<16x4xbf16>)
  return
}

// -----

// A permutation that moves nothing is no transpose of ours; upstream drops it.
// CHECK-LABEL: func @identity_permutation
// CHECK-SAME: (%[[XT:.+]]: tensor<64x4xbf16>,
// CHECK-NEXT: moe.grouped_matmul_swapped ins(%{{.+}}, %[[XT]],
func.func @identity_permutation(%xt: tensor<64x4xbf16>,
    %w: tensor<2x16x64xbf16>, %off: tensor<3xi32>, %y: tensor<16x4xbf16>)
    -> tensor<16x4xbf16> {
  %0 = tensor.empty() : tensor<64x4xbf16>
  %same = linalg.transpose ins(%xt : tensor<64x4xbf16>)
                           outs(%0 : tensor<64x4xbf16>) permutation = [0, 1]
  // expected-remark @below {{[Missed] transposed | Category:moe-fold-transposes | Function=identity_permutation | Matrix=tokens, Op=moe.grouped_matmul_swapped, Reason="they are not made by a linalg.transpose"}}
  // expected-remark @below {{[Missed] transposed | Category:moe-fold-transposes | Function=identity_permutation | Matrix=result, Op=moe.grouped_matmul_swapped, Reason="not all of its users are a linalg.transpose"}}
  %1 = moe.grouped_matmul_swapped
      ins(%w, %same, %off : tensor<2x16x64xbf16>, tensor<64x4xbf16>,
                            tensor<3xi32>)
      outs(%y : tensor<16x4xbf16>) -> tensor<16x4xbf16>
  return %1 : tensor<16x4xbf16>
}

// -----

// Pairs of transposes go.
// CHECK-LABEL: func @pair
// CHECK-SAME: (%[[X:.+]]: tensor<?x64xf32>)
// CHECK-NEXT: return %[[X]]
func.func @pair(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %0 = tensor.empty(%rows) : tensor<64x?xf32>
  %1 = linalg.transpose ins(%x : tensor<?x64xf32>)
                        outs(%0 : tensor<64x?xf32>) permutation = [1, 0]
  %2 = tensor.empty(%rows) : tensor<?x64xf32>
  %3 = linalg.transpose ins(%1 : tensor<64x?xf32>)
                        outs(%2 : tensor<?x64xf32>) permutation = [1, 0]
  return %3 : tensor<?x64xf32>
}

// -----

// An encoding says how data lie: it does not fold into a storage order.
// CHECK-LABEL: func @encoding
// CHECK: moe.grouped_matmul_swapped {token_order = #moe.order<row_major>}
// CHECK: linalg.transpose
func.func @encoding(%x: tensor<4x64xbf16>, %w: tensor<2x16x64xbf16>,
    %off: tensor<3xi32>, %y: tensor<4x16xbf16, "tiled">) -> tensor<4x16xbf16> {
  %0 = tensor.empty() : tensor<16x4xbf16>
  %yt = linalg.transpose ins(%y : tensor<4x16xbf16, "tiled">)
                         outs(%0 : tensor<16x4xbf16>) permutation = [1, 0]
  // expected-remark @below {{[Missed] transposed | Category:moe-fold-transposes | Function=encoding | Matrix=result, Op=moe.grouped_matmul_swapped, Reason="a tensor has an encoding"}}
  %1 = moe.grouped_matmul_swapped {token_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<2x16x64xbf16>, tensor<4x64xbf16>, tensor<3xi32>)
      outs(%yt : tensor<16x4xbf16>) -> tensor<16x4xbf16>
  %2 = tensor.empty() : tensor<4x16xbf16>
  %3 = linalg.transpose ins(%1 : tensor<16x4xbf16>)
                        outs(%2 : tensor<4x16xbf16>) permutation = [1, 0]
  return %3 : tensor<4x16xbf16>
}
