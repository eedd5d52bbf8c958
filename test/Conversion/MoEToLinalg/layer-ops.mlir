// RUN: moe-opt %s --convert-moe-to-linalg --canonicalize -split-input-file \
// RUN:   | FileCheck %s

// Two choices of one expert each: a search for the best key that is left, then
// its removal.
// CHECK-LABEL: func @route
// CHECK-SAME: %[[L:.*]]: memref<?x8xbf16>, %[[W:.*]]: memref<?x2xbf16>, %[[I:.*]]: memref<?x2xi64>
func.func @route(%logits: memref<?x8xbf16>, %w: memref<?x2xbf16>,
                 %i: memref<?x2xi64>) {
  // CHECK: %[[T0:.*]] = arith.minsi
  // CHECK: %[[T:.*]] = arith.minsi
  // CHECK: scf.parallel (%[[TOKEN:.*]]) = (%{{.*}}) to (%{{.*}}) step
  // CHECK: %[[LOGIT:.*]] = memref.load %[[L]][%[[TOKEN]]
  // CHECK: arith.extf %[[LOGIT]] : bf16 to f32
  // CHECK: math.exp
  // CHECK: scf.for
  // CHECK: %[[BEST:.*]]:3 = scf.for {{.*}} -> (i1, index, f32)
  // CHECK: arith.cmpf ogt
  // CHECK: arith.cmpf uno
  // CHECK: %[[EXPERT:.*]] = arith.index_cast %[[BEST]]#1 : index to i64
  // CHECK: memref.store %[[EXPERT]], %[[I]][%[[TOKEN]]
  // CHECK: arith.truncf {{.*}} : f32 to bf16
  // CHECK-COUNT-5: memref.dealloc
  moe.route ins(%logits : memref<?x8xbf16>)
      outs(%w, %i : memref<?x2xbf16>, memref<?x2xi64>)
  return
}

// -----

// No exponential of all experts where only the chosen ones are weighed.
// CHECK-LABEL: func @softmax_after_topk
func.func @softmax_after_topk(%logits: memref<4x8xf32>, %w: memref<4x2xf32>,
                              %i: memref<4x2xi32>) {
  // CHECK-NOT: math.exp
  // CHECK: -> (i1, index, f32)
  // CHECK: math.exp
  // CHECK-NOT: math.exp
  moe.route {scoring = #moe.scoring<softmax_after_topk>}
      ins(%logits : memref<4x8xf32>)
      outs(%w, %i : memref<4x2xf32>, memref<4x2xi32>)
  return
}

// -----

// CHECK-LABEL: func @shared_experts
// CHECK-SAME: %{{.*}}: memref<4x8xf32>, %[[W:.*]]: memref<4x3xf32>, %[[I:.*]]: memref<4x3xi32>
func.func @shared_experts(%logits: memref<4x8xf32>, %w: memref<4x3xf32>,
                          %i: memref<4x3xi32>) {
  // CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
  // CHECK-DAG: %[[E:.*]] = arith.constant 8 : i32
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1.0{{.*}} : f32
  // CHECK: memref.store %[[E]], %[[I]][%{{.*}}, %[[C2]]]
  // CHECK: memref.store %[[ONE]], %[[W]][%{{.*}}, %[[C2]]]
  moe.route {shared_experts = 1 : i64} ins(%logits : memref<4x8xf32>)
      outs(%w, %i : memref<4x3xf32>, memref<4x3xi32>)
  return
}

// -----

// Every use of an expert or a row as a position is guarded.
// CHECK-LABEL: func @dispatch
// CHECK-SAME: %[[I:.*]]: memref<?x2xi64>, %[[TOKENS:.*]]: memref<?xi32>, %[[ROWS:.*]]: memref<?x2xi32>, %[[OFF:.*]]: memref<?xi32>
func.func @dispatch(%indices: memref<?x2xi64>, %t: memref<?xi32>,
                    %r: memref<?x2xi32>, %o: memref<?xi32>) {
  // CHECK-DAG: %[[NONE:.*]] = arith.constant -1 : i32
  // CHECK: %[[E:.*]] = arith.maxsi
  // CHECK: %[[NEXT:.*]] = memref.alloc(%[[E]]) : memref<?xindex>
  // CHECK: memref.store %[[NONE]], %[[TOKENS]]
  // Counts.
  // CHECK: %[[EXPERT:.*]] = arith.index_cast {{.*}} : i64 to index
  // CHECK-NEXT: %[[VALID:.*]] = arith.cmpi ult, %[[EXPERT]], %[[E]]
  // CHECK-NEXT: scf.if %[[VALID]]
  // Offsets.
  // CHECK: scf.for {{.*}} to %[[E]] {{.*}} iter_args
  // CHECK: memref.store %{{.*}}, %[[OFF]]
  // Rows.
  // CHECK: memref.store %[[NONE]], %[[ROWS]]
  // CHECK: %[[ROW:.*]] = memref.load %[[NEXT]]
  // CHECK: arith.cmpi ult, %[[ROW]]
  // CHECK-NEXT: scf.if
  // CHECK: memref.store %{{.*}}, %[[TOKENS]]
  // CHECK: memref.dealloc %[[NEXT]]
  moe.dispatch ins(%indices : memref<?x2xi64>)
      outs(%t, %r, %o : memref<?xi32>, memref<?x2xi32>, memref<?xi32>)
  return
}

// -----

// CHECK-LABEL: func @combine
// CHECK-SAME: %[[R:.*]]: memref<?x64xbf16>, %[[P:.*]]: memref<4x2xi32>, %[[W:.*]]: memref<4x2xf32>, %[[Y:.*]]: memref<4x64xbf16>
func.func @combine(%rows: memref<?x64xbf16>, %p: memref<4x2xi32>,
                   %w: memref<4x2xf32>, %y: memref<4x64xbf16>) {
  // CHECK: %[[NUM:.*]] = memref.dim %[[R]]
  // CHECK: scf.parallel
  // CHECK: %[[ROW:.*]] = arith.index_cast {{.*}} : i32 to index
  // CHECK-NEXT: %[[VALID:.*]] = arith.cmpi ult, %[[ROW]], %[[NUM]]
  // CHECK-NEXT: scf.if %[[VALID]]
  // CHECK: memref.load %[[W]]
  // CHECK: arith.mulf {{.*}} : f32
  // CHECK-NEXT: memref.load
  // CHECK-NEXT: arith.addf {{.*}} : f32
  // CHECK: arith.truncf {{.*}} : f32 to bf16
  // CHECK-NEXT: memref.store %{{.*}}, %[[Y]]
  moe.combine ins(%rows, %p : memref<?x64xbf16>, memref<4x2xi32>)
      weights(%w : memref<4x2xf32>) outs(%y : memref<4x64xbf16>)
  return
}

// -----

// CHECK-LABEL: func @combine_without_weights
func.func @combine_without_weights(%rows: memref<8x64xf32>, %p: memref<4x2xi32>,
                                   %y: memref<4x64xf32>) {
  // CHECK-NOT: arith.mulf
  // CHECK: arith.addf
  moe.combine ins(%rows, %p : memref<8x64xf32>, memref<4x2xi32>)
      outs(%y : memref<4x64xf32>)
  return
}
