// RUN: moe-opt %s --convert-nvgpu-warpgroup-to-nvvm --split-input-file --verify-diagnostics

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<32x8xf32>>
!descA = !nvgpu.warpgroup.descriptor<tensor = memref<32x64xbf16, 3>>
!descB = !nvgpu.warpgroup.descriptor<tensor = memref<64x8xbf16, 3>>
func.func @half_a_slab(%a: !descA, %b: !descB, %c: !acc) -> !acc {
  // expected-error @below {{'nvgpu.warpgroup.mma' op needs an A of a multiple of 64 rows and a multiple of 16 columns up to 64, got memref<32x64xbf16, 3>}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !descA, !descB, !acc -> !acc
  return %d : !acc
}

// -----

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
!descA = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xbf16, 3>>
!descB = !nvgpu.warpgroup.descriptor<tensor = memref<128x8xbf16, 3>>
func.func @beyond_one_swizzle_row(%a: !descA, %b: !descB, %c: !acc) -> !acc {
  // expected-error @below {{'nvgpu.warpgroup.mma' op needs an A of a multiple of 64 rows and a multiple of 16 columns up to 64, got memref<64x128xbf16, 3>}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !descA, !descB, !acc -> !acc
  return %d : !acc
}

// -----

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
!descA = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf8E4M3FN, 3>>
!descB = !nvgpu.warpgroup.descriptor<tensor = memref<64x8xf8E4M3FN, 3>>
func.func @fp8(%a: !descA, %b: !descB, %c: !acc) -> !acc {
  // expected-error @below {{'nvgpu.warpgroup.mma' op needs f16 or bf16 operands, got f8E4M3FN}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !descA, !descB, !acc -> !acc
  return %d : !acc
}

// -----

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
!descA = !nvgpu.warpgroup.descriptor<tensor = memref<64x24xbf16, 3>>
!descB = !nvgpu.warpgroup.descriptor<tensor = memref<24x8xbf16, 3>>
func.func @half_a_step(%a: !descA, %b: !descB, %c: !acc) -> !acc {
  // expected-error @below {{'nvgpu.warpgroup.mma' op needs an A of a multiple of 64 rows and a multiple of 16 columns up to 64, got memref<64x24xbf16, 3>}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !descA, !descB, !acc -> !acc
  return %d : !acc
}

// -----

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
!descA = !nvgpu.warpgroup.descriptor<tensor = memref<64x?xbf16, 3>>
!descB = !nvgpu.warpgroup.descriptor<tensor = memref<?x8xbf16, 3>>
func.func @dynamic_depth(%a: !descA, %b: !descB, %c: !acc) -> !acc {
  // expected-error @below {{'nvgpu.warpgroup.mma' op needs an A of a multiple of 64 rows and a multiple of 16 columns up to 64, got memref<64x?xbf16, 3>}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !descA, !descB, !acc -> !acc
  return %d : !acc
}

// -----

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf16>>
!descA = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!descB = !nvgpu.warpgroup.descriptor<tensor = memref<64x8xf16, 3>>
func.func @f16_accumulator(%a: !descA, %b: !descB, %c: !acc) -> !acc {
  // expected-error @below {{'nvgpu.warpgroup.mma' op needs an f32 accumulator, got f16}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !descA, !descB, !acc -> !acc
  return %d : !acc
}

// -----

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
!descA = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, strided<[128, 2]>, 3>>
!descB = !nvgpu.warpgroup.descriptor<tensor = memref<64x8xf16, 3>>
func.func @every_other_element(%a: !descA, %b: !descB, %c: !acc) -> !acc {
  // expected-error @below {{'nvgpu.warpgroup.mma' op needs an A that is contiguous in one dimension, got memref<64x64xf16, strided<[128, 2]>, 3>}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !descA, !descB, !acc -> !acc
  return %d : !acc
}

// -----

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
!descA = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, affine_map<(i, j) -> (i floordiv 2, j)>, 3>>
!descB = !nvgpu.warpgroup.descriptor<tensor = memref<64x8xf16, 3>>
func.func @without_strides(%a: !descA, %b: !descB, %c: !acc) -> !acc {
  // expected-error @below {{'nvgpu.warpgroup.mma' op needs an A that is contiguous in one dimension, got memref<64x64xf16, affine_map}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !descA, !descB, !acc -> !acc
  return %d : !acc
}

// -----

// More rows than any product has.

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<8192x8xf32>>
!descA = !nvgpu.warpgroup.descriptor<tensor = memref<8192x64xbf16, 3>>
!descB = !nvgpu.warpgroup.descriptor<tensor = memref<64x8xbf16, 3>>
func.func @too_many_rows(%a: !descA, %b: !descB, %c: !acc) -> !acc {
  // expected-error @below {{'nvgpu.warpgroup.mma' op accumulates vector<8192x8xf32>; needs a multiple of 64 rows up to 4096 and a multiple of 8 columns up to 256}}
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
  // expected-error @below {{'nvgpu.warpgroup.mma.init.accumulator' op accumulates vector<4611686018427387904x8xf32>; needs a multiple of 64 rows up to 4096 and a multiple of 8 columns up to 256}}
  %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
  return
}
