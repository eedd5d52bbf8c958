// RUN: moe-opt %s --moe-reuse-buffers --split-input-file | FileCheck %s

// In use from its first use, not from its allocation, to the last: %0 and %1
// meet in an op, %2 comes after both.
// CHECK-LABEL: func @chain
// CHECK-SAME:  %[[X:[^:]+]]: memref<4xf32>
// CHECK:       %[[A:.+]] = memref.alloc()
// CHECK:       %[[B:.+]] = memref.alloc()
// CHECK-NOT:   memref.alloc
// CHECK:       linalg.copy ins(%[[X]] {{.*}} outs(%[[A]]
// CHECK-NEXT:  linalg.copy ins(%[[A]] {{.*}} outs(%[[B]]
// CHECK-NEXT:  linalg.copy ins(%[[B]] {{.*}} outs(%[[A]]
// CHECK-NEXT:  linalg.copy ins(%[[A]] {{.*}} outs(%[[B]]
// CHECK-NEXT:  linalg.copy ins(%[[B]] {{.*}} outs(%[[X]]
func.func @chain(%x: memref<4xf32>) {
  %0 = memref.alloc() : memref<4xf32>
  %1 = memref.alloc() : memref<4xf32>
  %2 = memref.alloc() : memref<4xf32>
  %3 = memref.alloc() : memref<4xf32>
  linalg.copy ins(%x : memref<4xf32>) outs(%0 : memref<4xf32>)
  linalg.copy ins(%0 : memref<4xf32>) outs(%1 : memref<4xf32>)
  linalg.copy ins(%1 : memref<4xf32>) outs(%2 : memref<4xf32>)
  linalg.copy ins(%2 : memref<4xf32>) outs(%3 : memref<4xf32>)
  linalg.copy ins(%3 : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// The same type, sizes and alignment, or none.
// CHECK-LABEL: func @unlike
// CHECK-COUNT-4: memref.alloc
// CHECK-NOT:   memref.alloc
// CHECK:       return
func.func @unlike(%n: index, %m: index, %x: memref<?xf32>, %y: memref<4xf32>) {
  %0 = memref.alloc(%n) : memref<?xf32>
  linalg.copy ins(%x : memref<?xf32>) outs(%0 : memref<?xf32>)
  %1 = memref.alloc(%m) : memref<?xf32>
  linalg.copy ins(%x : memref<?xf32>) outs(%1 : memref<?xf32>)
  %2 = memref.alloc(%n) {alignment = 64 : i64} : memref<?xf32>
  linalg.copy ins(%x : memref<?xf32>) outs(%2 : memref<?xf32>)
  %3 = memref.alloc() : memref<4xf32>
  linalg.copy ins(%y : memref<4xf32>) outs(%3 : memref<4xf32>)
  // Like %0.
  %4 = memref.alloc(%n) : memref<?xf32>
  linalg.copy ins(%x : memref<?xf32>) outs(%4 : memref<?xf32>)
  return
}

// -----

// What a view or a branch makes of a buffer is a use of it.
// CHECK-LABEL: func @views
// CHECK-COUNT-3: memref.alloc
// CHECK-NOT:   memref.alloc
// CHECK:       return
func.func @views(%few: i1, %x: memref<4xf32>, %y: memref<4xf32>) {
  %0 = memref.alloc() : memref<4xf32>
  %1 = memref.alloc() : memref<4xf32>
  linalg.copy ins(%x : memref<4xf32>) outs(%0 : memref<4xf32>)
  linalg.copy ins(%x : memref<4xf32>) outs(%1 : memref<4xf32>)
  %2 = memref.cast %0 : memref<4xf32> to memref<?xf32>
  %3 = scf.if %few -> memref<4xf32> {
    scf.yield %1 : memref<4xf32>
  } else {
    scf.yield %x : memref<4xf32>
  }
  %4 = memref.alloc() : memref<4xf32>
  linalg.copy ins(%x : memref<4xf32>) outs(%4 : memref<4xf32>)
  %5 = memref.cast %2 : memref<?xf32> to memref<4xf32>
  linalg.copy ins(%5 : memref<4xf32>) outs(%y : memref<4xf32>)
  linalg.copy ins(%3 : memref<4xf32>) outs(%y : memref<4xf32>)
  linalg.copy ins(%4 : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// -----

// A loop uses its buffers until it ends; those that it makes itself are reused
// in it, but what it hands on is not.
// CHECK-LABEL: func @loop
// CHECK:       memref.alloc
// CHECK:       scf.for
// CHECK-COUNT-2: memref.alloc
// CHECK-NOT:   memref.alloc
// CHECK:       scf.yield
// CHECK:       memref.alloc
// CHECK-NOT:   memref.alloc
// CHECK:       return
func.func @loop(%n: index, %x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = memref.alloc() : memref<4xf32>
  linalg.copy ins(%x : memref<4xf32>) outs(%0 : memref<4xf32>)
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> memref<4xf32> {
    %1 = memref.alloc() : memref<4xf32>
    linalg.copy ins(%y : memref<4xf32>) outs(%1 : memref<4xf32>)
    linalg.copy ins(%1 : memref<4xf32>) outs(%x : memref<4xf32>)
    %2 = memref.alloc() : memref<4xf32>
    linalg.copy ins(%0 : memref<4xf32>) outs(%2 : memref<4xf32>)
    linalg.copy ins(%2 : memref<4xf32>) outs(%x : memref<4xf32>)
    %3 = memref.alloc() : memref<4xf32>
    linalg.copy ins(%x : memref<4xf32>) outs(%3 : memref<4xf32>)
    scf.yield %3 : memref<4xf32>
  }
  // The first of these has the buffer of %0, the second none of the loop's.
  %4 = memref.alloc() : memref<4xf32>
  %5 = memref.alloc() : memref<4xf32>
  linalg.copy ins(%last : memref<4xf32>) outs(%4 : memref<4xf32>)
  linalg.copy ins(%4 : memref<4xf32>) outs(%5 : memref<4xf32>)
  linalg.copy ins(%5 : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// Left alone: returned, freed, kept by a callee, used where it may be later than
// it seems, never used. None is the buffer of a later one.
// CHECK-LABEL: func @kept
// CHECK-COUNT-6: memref.alloc
// CHECK:       return
func.func private @keep(memref<4xf32>)
func.func @kept(%x: memref<4xf32>) -> memref<4xf32> {
  %0 = memref.alloc() : memref<4xf32>
  linalg.copy ins(%x : memref<4xf32>) outs(%0 : memref<4xf32>)
  %1 = memref.alloc() : memref<4xf32>
  linalg.copy ins(%x : memref<4xf32>) outs(%1 : memref<4xf32>)
  memref.dealloc %1 : memref<4xf32>
  %2 = memref.alloc() : memref<4xf32>
  func.call @keep(%2) : (memref<4xf32>) -> ()
  %3 = memref.alloc() : memref<4xf32>
  %token = async.execute {
    linalg.copy ins(%x : memref<4xf32>) outs(%3 : memref<4xf32>)
    async.yield
  }
  %4 = memref.alloc() : memref<4xf32>
  %5 = memref.alloc() : memref<4xf32>
  linalg.copy ins(%x : memref<4xf32>) outs(%5 : memref<4xf32>)
  linalg.copy ins(%5 : memref<4xf32>) outs(%0 : memref<4xf32>)
  return %0 : memref<4xf32>
}
