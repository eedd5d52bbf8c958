// RUN: moe-opt %s --convert-moe-to-linalg --canonicalize --split-input-file | FileCheck %s
// RUN: moe-opt %s --convert-moe-to-linalg=vector-lanes=16 --canonicalize --split-input-file | FileCheck %s --check-prefix=WIDE

// Parallel over (block of 128 columns, expert); the groups are clamped first.
// CHECK-LABEL: func @nk(
// CHECK-SAME:      %[[X:[^:]*]]: memref<20x64xbf16>, %[[W:[^:]*]]: memref<8x192x64xbf16>, %[[OFF:[^:]*]]: memref<9xi32>, %[[Y:[^:]*]]: memref<20x192xbf16>
func.func @nk(%x: memref<20x64xbf16>, %w: memref<8x192x64xbf16>,
              %off: memref<9xi32>, %y: memref<20x192xbf16>) {
  // CHECK-DAG: %[[R:.*]] = arith.constant 20 : index
  // CHECK-DAG: %[[C128:.*]] = arith.constant 128 : index
  // CHECK: %[[BOUNDS:.*]] = memref.alloc() : memref<9xindex>
  // CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[PREVIOUS:.*]] = %c0)
  // CHECK:   memref.load %[[OFF]][%[[I]]]
  // CHECK:   %[[UPPER:.*]] = arith.minsi %{{.*}}, %[[R]]
  // CHECK:   arith.maxsi %[[UPPER]], %[[PREVIOUS]]
  // CHECK: scf.parallel (%[[BLOCK:.*]], %[[E:.*]]) = (%c0, %c0) to (%c2, %c8)
  // CHECK:   %[[COLUMN:.*]] = arith.muli %[[BLOCK]], %[[C128]]
  // CHECK:   scf.if
  // CHECK:     memref.alloc() {alignment = 64 : i64} : memref<8x64xf32>
  // Weights along K, used for all eight tokens of the tile.
  // CHECK:     vector.transfer_read %[[W]][%[[E]], {{.*}} {in_bounds = [true]} : memref<8x192x64xbf16>, vector<8xbf16>
  // CHECK-COUNT-8: arith.addf %{{.*}} fastmath<contract> : vector<8xf32>
  // CHECK-NOT: vector.from_elements
  // CHECK-COUNT-8: vector.reduction <add>
  // CHECK:     %[[ROUNDED:.*]] = arith.truncf %{{.*}} : f32 to bf16
  // CHECK:     memref.store %[[ROUNDED]], %[[Y]]
  // CHECK-NOT: moe.
  // Wider vectors: two rows of weights at a time.
  // WIDE-LABEL: func @nk(
  // WIDE-COUNT-2: vector.transfer_read {{.*}} vector<16xbf16>
  // WIDE-COUNT-16: vector.reduction <add>
  moe.grouped_matmul
      ins(%x, %w, %off : memref<20x64xbf16>, memref<8x192x64xbf16>, memref<9xi32>)
      outs(%y : memref<20x192xbf16>)
  return
}

// -----

// A K that is no multiple of the vector: the tail is read element by element.
// CHECK-LABEL: func @nk_tail(
func.func @nk_tail(%x: memref<20x36xbf16>, %w: memref<8x16x36xbf16>,
                   %off: memref<9xi32>, %y: memref<20x16xbf16>) {
  // CHECK: memref.alloc() {alignment = 64 : i64} : memref<8x40xf32>
  // CHECK: vector.transfer_read
  // CHECK: vector.from_elements
  // CHECK-COUNT-8: vector.reduction <add>
  moe.grouped_matmul
      ins(%x, %w, %off : memref<20x36xbf16>, memref<8x16x36xbf16>, memref<9xi32>)
      outs(%y : memref<20x16xbf16>)
  return
}

// -----

// kn weights: vectors along N, tokens broadcast.
// CHECK-LABEL: func @kn_swapped(
// CHECK-SAME:      %[[W:[^:]*]]: memref<8x64x128xf16>, %[[X:[^:]*]]: memref<64x5xf16>
func.func @kn_swapped(%w: memref<8x64x128xf16>, %x: memref<64x5xf16>,
                      %sizes: memref<8xi64>, %y: memref<64x5xf16>) {
  // Sizes: each clamped to what is left.
  // CHECK: arith.maxsi
  // CHECK: arith.subi %c5
  // CHECK: arith.minsi
  // CHECK: scf.parallel
  // The tokens are stored [K x R].
  // CHECK: memref.load %[[X]][%[[K:.*]], %{{.*}}] : memref<64x5xf16>
  // CHECK: vector.transfer_read %[[W]][{{.*}} {in_bounds = [true]} : memref<8x64x128xf16>, vector<8xf16>
  // CHECK: vector.broadcast
  // CHECK: vector.store
  // The gate: exp, divide, times the up projection.
  // CHECK: math.exp
  // CHECK: %[[ACTIVATED:.*]] = arith.divf
  // CHECK: arith.mulf %[[ACTIVATED]]
  moe.grouped_matmul_swapped {weight_layout = #moe.weight_layout<kn>,
                              group_kind = #moe.group_kind<sizes>,
                              epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%w, %x, %sizes : memref<8x64x128xf16>, memref<64x5xf16>, memref<8xi64>)
      outs(%y : memref<64x5xf16>)
  return
}

// -----

// Indices are tested before they are used: unsigned, so negative ones fail too.
// CHECK-LABEL: func @indirect(
// CHECK-SAME:      %[[GATHER:[^:]*]]: memref<20xi32>, %[[SCALE:[^:]*]]: memref<20xf32>, %[[SCATTER:[^:]*]]: memref<20xi64>
func.func @indirect(%x: memref<5x64xf32>, %w: memref<8x16x64xf32>,
                    %off: memref<9xi32>, %gather: memref<20xi32>,
                    %scale: memref<20xf32>, %scatter: memref<20xi64>,
                    %y: memref<30x16xf32>) {
  // CHECK: memref.load %[[GATHER]]
  // CHECK: %[[TOKEN_EXISTS:.*]] = arith.cmpi ult, %{{.*}}, %c5
  // CHECK: scf.if %[[TOKEN_EXISTS]]
  // CHECK: memref.load %[[SCALE]]
  // CHECK: memref.load %[[SCATTER]]
  // CHECK: %[[ROW_EXISTS:.*]] = arith.cmpi ult, %{{.*}}, %c30
  // CHECK: scf.if %[[ROW_EXISTS]]
  moe.grouped_matmul
      ins(%x, %w, %off : memref<5x64xf32>, memref<8x16x64xf32>, memref<9xi32>)
      gather(%gather : memref<20xi32>) scale(%scale : memref<20xf32>)
      scatter(%scatter : memref<20xi64>) outs(%y : memref<30x16xf32>)
  return
}

// -----

// Sizes that only the run time knows: the smallest of those that must agree.
// CHECK-LABEL: func @dynamic(
// CHECK-SAME:      %[[X:[^:]*]]: memref<?x?xbf16>, %[[W:[^:]*]]: memref<?x?x?xbf16>, %[[OFF:[^:]*]]: memref<?xi32>, %[[Y:[^:]*]]: memref<?x?xbf16>
func.func @dynamic(%x: memref<?x?xbf16>, %w: memref<?x?x?xbf16>,
                   %off: memref<?xi32>, %y: memref<?x?xbf16>) {
  // CHECK-DAG: %[[TOKENS:.*]] = memref.dim %[[X]], %c0
  // CHECK-DAG: %[[RESULTS:.*]] = memref.dim %[[Y]], %c0
  // CHECK: arith.minsi %[[TOKENS]], %[[RESULTS]]
  // CHECK: scf.parallel
  moe.grouped_matmul
      ins(%x, %w, %off : memref<?x?xbf16>, memref<?x?x?xbf16>, memref<?xi32>)
      outs(%y : memref<?x?xbf16>)
  return
}
