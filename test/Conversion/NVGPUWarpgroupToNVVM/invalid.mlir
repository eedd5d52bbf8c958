// RUN: moe-opt %s --convert-nvgpu-warpgroup-to-nvvm --split-input-file --verify-diagnostics

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<32x8xf32>>
!descA = !nvgpu.warpgroup.descriptor<tensor = memref<32x64xbf16, 3>>
!descB = !nvgpu.warpgroup.descriptor<tensor = memref<64x8xbf16, 3>>
func.func @half_a_slab(%a: !descA, %b: !descB, %c: !acc) -> !acc {
  // expected-error @below {{failed to legalize operation 'nvgpu.warpgroup.mma'}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !descA, !descB, !acc -> !acc
  return %d : !acc
}

// -----

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
!descA = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xbf16, 3>>
!descB = !nvgpu.warpgroup.descriptor<tensor = memref<128x8xbf16, 3>>
func.func @beyond_one_swizzle_row(%a: !descA, %b: !descB, %c: !acc) -> !acc {
  // expected-error @below {{failed to legalize operation 'nvgpu.warpgroup.mma'}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !descA, !descB, !acc -> !acc
  return %d : !acc
}

// -----

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
!descA = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf8E4M3FN, 3>>
!descB = !nvgpu.warpgroup.descriptor<tensor = memref<64x8xf8E4M3FN, 3>>
func.func @fp8(%a: !descA, %b: !descB, %c: !acc) -> !acc {
  // expected-error @below {{failed to legalize operation 'nvgpu.warpgroup.mma'}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !descA, !descB, !acc -> !acc
  return %d : !acc
}
