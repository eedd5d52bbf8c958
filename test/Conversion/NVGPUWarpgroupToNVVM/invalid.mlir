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

// -----

// The type of an accumulator may have any vector; no product has these.

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<f32>>
func.func @no_dimensions(%a: !acc, %b: !acc, %c: i1) -> !acc {
  // expected-error @below {{failed to legalize operation 'scf.if'}}
  %r = scf.if %c -> !acc {
    scf.yield %a : !acc
  } else {
    scf.yield %b : !acc
  }
  return %r : !acc
}

// -----

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x9223372036854775800xf32>>
func.func @endless_columns(%a: !acc, %b: !acc, %c: i1) -> !acc {
  // expected-error @below {{failed to legalize operation 'scf.if'}}
  %r = scf.if %c -> !acc {
    scf.yield %a : !acc
  } else {
    scf.yield %b : !acc
  }
  return %r : !acc
}

// -----

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<4611686018427387904x8xf32>>
func.func @endless_rows() {
  // expected-error @below {{failed to legalize operation 'nvgpu.warpgroup.mma.init.accumulator'}}
  %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
  return
}
