// RUN: moe-opt %s --convert-nvgpu-warpgroup-to-nvvm --split-input-file | FileCheck %s
// RUN: moe-opt %s --convert-nvgpu-warpgroup-to-nvvm --split-input-file | FileCheck %s --check-prefix=STEP

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
!descA = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xbf16, 3>>
!descB = !nvgpu.warpgroup.descriptor<tensor = memref<64x8xbf16, 3>>

// The k-step of both K-major operands is 32 bytes: 2 units of 16.
// CHECK-LABEL: func @k_major
// CHECK: llvm.inline_asm has_side_effects "", "=f,=f,=f,=f,0,1,2,3"
// CHECK: nvvm.wgmma.fence.aligned
// CHECK-COUNT-4: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: nvvm.wgmma.wait.group.sync.aligned 1
func.func @k_major(%map: !map, %a: memref<64x64xbf16, 3>, %b: memref<8x64xbf16, 3>, %c: !acc) -> !acc {
  %da = nvgpu.warpgroup.generate.descriptor %a, %map : memref<64x64xbf16, 3>, !map -> !descA
  %db = nvgpu.warpgroup.generate.descriptor %b, %map : memref<8x64xbf16, 3>, !map -> !descB
  %d = nvgpu.warpgroup.mma %da, %db, %c : !descA, !descB, !acc -> !acc
  return %d : !acc
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x16xf32>>
!descA = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, strided<[1, 64]>, 3>>
!descB = !nvgpu.warpgroup.descriptor<tensor = memref<64x16xf16, 3>>

// An MN-major A advances by 16 rows of 128 bytes a k-step (128 units), and by
// one panel of 8192 bytes (512 units) a slab. Two slabs, four k-steps; the wait
// for everything pins the accumulator behind it.
// CHECK-LABEL: func @mn_major_a_two_slabs
// STEP-LABEL: func @mn_major_a_two_slabs
// STEP-DAG: llvm.mlir.constant(128 : i32)
// STEP-DAG: llvm.mlir.constant(512 : i32)
// STEP-DAG: llvm.mlir.constant(896 : i32)
// CHECK-COUNT-8: nvvm.wgmma.mma_async {{.*}} A[<f16>, <one>, <col>], B[<f16>, <one>, <col>]
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK-COUNT-2: llvm.inline_asm has_side_effects ""
func.func @mn_major_a_two_slabs(%map: !map, %a: memref<64x64xf16, strided<[1, 64]>, 3>, %b: memref<16x64xf16, 3>, %c: !acc) -> !acc {
  %da = nvgpu.warpgroup.generate.descriptor %a, %map : memref<64x64xf16, strided<[1, 64]>, 3>, !map -> !descA
  %db = nvgpu.warpgroup.generate.descriptor %b, %map : memref<16x64xf16, 3>, !map -> !descB
  %d = nvgpu.warpgroup.mma %da, %db, %c {waitGroup = 0 : i64} : !descA, !descB, !acc -> !acc
  return %d : !acc
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
!descA = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xbf16, 3>>
!descB = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xbf16, 3>>

// CHECK-LABEL: func @mn_major_b
// CHECK-COUNT-4: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 128, k = 16>, {{.*}} A[<bf16>, <one>, <row>], B[<bf16>, <one>, <row>]
func.func @mn_major_b(%map: !map, %a: memref<64x64xbf16, 3>, %b: memref<64x64xbf16, 3>, %c: !acc) -> !acc {
  %da = nvgpu.warpgroup.generate.descriptor %a, %map : memref<64x64xbf16, 3>, !map -> !descA
  %db = nvgpu.warpgroup.generate.descriptor %b, %map : memref<64x64xbf16, 3>, !map -> !descB
  %d = nvgpu.warpgroup.mma %da, %db, %c {transposeB} : !descA, !descB, !acc -> !acc
  return %d : !acc
}

// -----

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>

// Accumulators are carried through loops as registers.
// CHECK-LABEL: func @loop
// CHECK: llvm.mlir.zero : !llvm.struct<(struct<(f32, f32, f32, f32)>)>
// CHECK: scf.for {{.*}} -> (!llvm.struct<(struct<(f32, f32, f32, f32)>)>)
func.func @loop(%n: index) -> !acc {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = nvgpu.warpgroup.mma.init.accumulator -> !acc
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%c = %init) -> !acc {
    scf.yield %c : !acc
  }
  return %r : !acc
}
