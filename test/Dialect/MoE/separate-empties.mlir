// RUN: moe-opt %s --moe-separate-empties | FileCheck %s

// Each user has its own; one that nobody shares stays.
// CHECK-LABEL: func @shared
// CHECK-DAG:   %[[A:.+]] = tensor.empty() : tensor<4xf32>
// CHECK-DAG:   %[[B:.+]] = tensor.empty() : tensor<4xf32>
// CHECK-DAG:   tensor.empty() : tensor<8xf32>
// CHECK-NOT:   tensor.empty
// CHECK:       linalg.copy {{.*}} outs(%[[USE:.+]] : tensor<4xf32>)
// CHECK-NOT:   outs(%[[USE]]
// CHECK:       return
func.func @shared(%a: tensor<4xf32>, %b: tensor<8xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<8xf32>) {
  %0 = tensor.empty() : tensor<4xf32>
  %1 = tensor.empty() : tensor<8xf32>
  %2 = linalg.copy ins(%a : tensor<4xf32>)
                   outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  %3 = linalg.copy ins(%2 : tensor<4xf32>)
                   outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  %4 = linalg.copy ins(%b : tensor<8xf32>)
                   outs(%1 : tensor<8xf32>) -> tensor<8xf32>
  return %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<8xf32>
}

// Copies have the same size. A loop counts as one user, and so does a branch,
// whose result is then one buffer; none is made in them.
// CHECK-LABEL: func @regions
// CHECK-SAME:  %[[N:[^:]+]]: index
// CHECK-COUNT-3: tensor.empty(%[[N]]) : tensor<?xf32>
// CHECK-NOT:   tensor.empty
// CHECK:       scf.for
// CHECK:       outs(%[[LOOP:.+]] : tensor<?xf32>)
// CHECK:       outs(%[[LOOP]] : tensor<?xf32>)
// CHECK-NOT:   outs(%[[LOOP]] : tensor<?xf32>)
// CHECK:       scf.if
// CHECK:       outs(%[[BRANCH:.+]] : tensor<?xf32>)
// CHECK:       outs(%[[BRANCH]] : tensor<?xf32>)
// CHECK-NOT:   outs(%[[BRANCH]] : tensor<?xf32>)
// CHECK:       return
func.func @regions(%n: index, %few: i1, %a: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tensor.empty(%n) : tensor<?xf32>
  %1 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> tensor<?xf32> {
    %2 = linalg.copy ins(%x : tensor<?xf32>)
                     outs(%0 : tensor<?xf32>) -> tensor<?xf32>
    %3 = linalg.exp ins(%2 : tensor<?xf32>)
                    outs(%0 : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %3 : tensor<?xf32>
  }
  %4 = scf.if %few -> tensor<?xf32> {
    %5 = linalg.exp ins(%1 : tensor<?xf32>)
                    outs(%0 : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %5 : tensor<?xf32>
  } else {
    %6 = linalg.abs ins(%1 : tensor<?xf32>)
                    outs(%0 : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %6 : tensor<?xf32>
  }
  %7 = linalg.abs ins(%4 : tensor<?xf32>)
                  outs(%0 : tensor<?xf32>) -> tensor<?xf32>
  return %7 : tensor<?xf32>
}
