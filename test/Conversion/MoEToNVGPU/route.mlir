// RUN: moe-opt %s --convert-moe-to-nvgpu --canonicalize --cse --split-input-file | FileCheck %s

// One warp a token, four of them a block. All experts of a token are in the
// registers of the warp.
// CHECK-LABEL: func @route
// CHECK-SAME: (%[[L:.+]]: memref<?x40xf32>, %[[W:.+]]: memref<?x2xf32>, %[[I:.+]]: memref<?x2xi32>)
// CHECK: %[[TOKENS32:.+]] = arith.index_cast %[[TOKENS:.+]] : index to i32
// CHECK: %[[BLOCKS:.+]] = arith.ceildivui %[[TOKENS]], %c4
// CHECK: gpu.launch_func @moe_kernels::@route_0 blocks in (%[[BLOCKS]], %c1, %c1) threads in (%c128, %c1, %c1) dynamic_shared_memory_size %c0_i32 args(%[[L]] : {{[^,]+}}, %[[W]] : {{[^,]+}}, %[[I]] : {{[^,]+}}, %[[TOKENS32]] : i32)
// CHECK: llvm.func @route_0(%arg0: !llvm.ptr<1> {llvm.readonly}, %arg1: !llvm.ptr<1>, %arg2: !llvm.ptr<1>, %arg3: i32)
// CHECK-NOT: llvm.load
// CHECK: nvvm.griddepcontrol wait
// CHECK: %[[LANE:.+]] = arith.remui %{{.+}}, %c32_i32
// CHECK: arith.cmpi ult, %[[TOKEN:.+]], %arg3
// Two slots a lane, the second with 8 experts; lanes without one hold -inf.
// CHECK: %[[SECOND:.+]] = arith.addi %[[LANE]], %c32_i32
// CHECK: %[[IS_EXPERT:.+]] = arith.cmpi ult, %[[SECOND]], %c40_i32
// CHECK: scf.if %[[IS_EXPERT]] -> (f32)
// CHECK: } else {
// CHECK-NEXT: scf.yield %cst{{.*}} : f32
// The softmax: the largest logit, then the sum.
// CHECK-COUNT-5: arith.maximumf
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx"
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: arith.divf
// The choice is by the logits, whose bits become ranks.
// CHECK: arith.bitcast %{{.+}} : f32 to i32
// CHECK: scf.for %[[PLACE:.+]] = %c0_i32 to %c2_i32 step %c1_i32
// CHECK: %[[LARGEST:.+]] = nvvm.redux.sync umax
// CHECK: arith.cmpi eq, %{{.+}}, %[[LARGEST]]
// CHECK: %[[EXPERT:.+]] = nvvm.redux.sync umin
// CHECK: gpu.shuffle idx
// CHECK: %[[IS_COLUMN:.+]] = arith.cmpi ult, %[[LANE]], %c2_i32
// CHECK: scf.if %[[IS_COLUMN]]
// CHECK: llvm.store
// CHECK: llvm.store
// CHECK-NOT: math.
func.func @route(%l: memref<?x40xf32>, %w: memref<?x2xf32>, %i: memref<?x2xi32>) {
  moe.route ins(%l : memref<?x40xf32>) outs(%w, %i : memref<?x2xf32>, memref<?x2xi32>)
  return
}

// -----

// Groups: the sum of the two largest keys of each, then the largest sums.
// CHECK-LABEL: func @groups
// CHECK: gpu.launch_func @moe_kernels::@route_0 {{.*}} args(%arg0 : {{[^,]+}}, %arg1 : {{[^,]+}}, %arg2 : {{[^,]+}}, %arg3 : {{[^,]+}}, %{{.+}} : i32)
// CHECK: llvm.func @route_0(%arg0: !llvm.ptr<1> {llvm.readonly}, %arg1: !llvm.ptr<1> {llvm.readonly}, %arg2: !llvm.ptr<1>, %arg3: !llvm.ptr<1>, %arg4: i32)
// CHECK: scf.for %[[GROUP:.+]] = %c0_i32 to %c8_i32
// CHECK: arith.cmpi eq, %{{.+}}, %[[GROUP]]
// CHECK-COUNT-4: nvvm.redux.sync
// CHECK: arith.addf
// CHECK: scf.for %{{.+}} = %c0_i32 to %c3_i32
// CHECK-COUNT-2: nvvm.redux.sync
// CHECK: scf.for %{{.+}} = %c0_i32 to %c6_i32
// CHECK-COUNT-2: nvvm.redux.sync
// Behind the chosen the shared expert, with weight 1; then the scaling.
// CHECK: %[[DIVISOR:.+]] = arith.addf %{{.+}}, %cst
// CHECK: arith.divf %{{.+}}, %[[DIVISOR]]
// CHECK: arith.mulf
// CHECK: %[[SHARED:.+]] = arith.addi %[[LANE:.+]], %c58_i32
// CHECK: %[[IS_CHOSEN:.+]] = arith.cmpi ult, %[[LANE]], %c6_i32
// CHECK: arith.select %[[IS_CHOSEN]], %{{.+}}, %[[SHARED]]
// CHECK: arith.cmpi ult, %[[LANE]], %c7_i32
// CHECK: arith.truncf %{{.+}} : f32 to bf16
// CHECK: arith.extui %{{.+}} : i32 to i64
func.func @groups(%l: memref<?x64xbf16>, %b: memref<64xf32>, %w: memref<?x7xbf16>, %i: memref<?x7xi64>) {
  moe.route {scoring = #moe.scoring<sigmoid>, renormalize, n_group = 8 : i64, topk_group = 3 : i64,
             scaling = 2.5 : f32, shared_experts = 1 : i64}
      ins(%l : memref<?x64xbf16>) bias(%b : memref<64xf32>) outs(%w, %i : memref<?x7xbf16>, memref<?x7xi64>)
  return
}
