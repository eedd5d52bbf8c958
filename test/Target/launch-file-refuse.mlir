// What the host side of a program may hold, and a launch file may not.

// RUN: not moe-compile %s --entry=no_such_dimension 2>&1 | FileCheck %s --check-prefix=DIM
// RUN: not moe-compile %s --entry=no_such_rank 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not moe-compile %s --entry=wide_constant 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: not moe-compile %s --entry=too_many_terms 2>&1 | FileCheck %s --check-prefix=TERMS
// RUN: not moe-compile %s --entry=too_deep 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: not moe-compile %s --entry=too_many_arguments 2>&1 | FileCheck %s --check-prefix=ARGS
// RUN: not moe-compile %s --entry=cluster 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: not moe-compile %s --entry=box_of_other_rank 2>&1 | FileCheck %s --check-prefix=BOX
// RUN: not moe-compile %s --entry=map_of_indices 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: not moe-compile %s --entry=map_of_everything 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: not moe-compile %s --entry=strided_allocation 2>&1 | FileCheck %s --check-prefix=STRIDED
// RUN: moe-compile %s --entry=conditions -o %t.ptx
// RUN: FileCheck %s --check-prefix=RANGE < %t.json

!map = !nvgpu.tensormap.descriptor<tensor = memref<64xbf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!map2 = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>

module attributes {gpu.container_module} {
gpu.module @kernels {
  llvm.func @kernel(%x: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}

// DIM: error: 'gpu.launch_func' op depends on dimension 5 of a 'memref<8xf32>', which it does not have
func.func @no_such_dimension(%x: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %d = memref.dim %x, %c5 : memref<8xf32>
  gpu.launch_func @kernels::@kernel blocks in (%d, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>)
  return
}

// RANK: error: 'gpu.launch_func' op depends on dimension 1 of a 'memref<?xf32>', which it does not have
func.func @no_such_rank(%x: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  %u = memref.cast %x : memref<?xf32> to memref<*xf32>
  %y = memref.cast %u : memref<*xf32> to memref<?x?xf32>
  %d = memref.dim %y, %c1 : memref<?x?xf32>
  gpu.launch_func @kernels::@kernel blocks in (%d, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  return
}

// WIDE: error: 'gpu.launch_func' op depends on a number of more than 64 bits, which a launch file cannot express
func.func @wide_constant(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = memref.dim %x, %c0 : memref<?xf32>
  %cast = arith.index_cast %size : index to i128
  %wide = arith.constant 36893488147419103233 : i128
  %sum = arith.addi %cast, %wide : i128
  %d = arith.index_cast %sum : i128 to index
  gpu.launch_func @kernels::@kernel blocks in (%d, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  return
}

// TERMS: error: 'gpu.launch_func' op depends on numbers of more than 131072 operations, each counted as often as it is used; a launch file holds no more
func.func @too_many_terms(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = memref.dim %x, %c0 : memref<?xf32>
  %d1 = arith.addi %d0, %d0 : index
  %d2 = arith.addi %d1, %d1 : index
  %d3 = arith.addi %d2, %d2 : index
  %d4 = arith.addi %d3, %d3 : index
  %d5 = arith.addi %d4, %d4 : index
  %d6 = arith.addi %d5, %d5 : index
  %d7 = arith.addi %d6, %d6 : index
  %d8 = arith.addi %d7, %d7 : index
  %d9 = arith.addi %d8, %d8 : index
  %d10 = arith.addi %d9, %d9 : index
  %d11 = arith.addi %d10, %d10 : index
  %d12 = arith.addi %d11, %d11 : index
  %d13 = arith.addi %d12, %d12 : index
  %d14 = arith.addi %d13, %d13 : index
  %d15 = arith.addi %d14, %d14 : index
  %d16 = arith.addi %d15, %d15 : index
  %d17 = arith.addi %d16, %d16 : index
  gpu.launch_func @kernels::@kernel blocks in (%d17, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  return
}

// DEEP: error: @too_deep computes numbers from each other in too many steps: its launch file would be nested 65 deep, and 64 is the limit
func.func @too_deep(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = memref.dim %x, %c0 : memref<?xf32>
  %d1 = arith.muli %d0, %d0 : index
  %d2 = arith.muli %d1, %d0 : index
  %d3 = arith.muli %d2, %d0 : index
  %d4 = arith.muli %d3, %d0 : index
  %d5 = arith.muli %d4, %d0 : index
  %d6 = arith.muli %d5, %d0 : index
  %d7 = arith.muli %d6, %d0 : index
  %d8 = arith.muli %d7, %d0 : index
  %d9 = arith.muli %d8, %d0 : index
  %d10 = arith.muli %d9, %d0 : index
  %d11 = arith.muli %d10, %d0 : index
  %d12 = arith.muli %d11, %d0 : index
  %d13 = arith.muli %d12, %d0 : index
  %d14 = arith.muli %d13, %d0 : index
  %d15 = arith.muli %d14, %d0 : index
  %d16 = arith.muli %d15, %d0 : index
  %d17 = arith.muli %d16, %d0 : index
  %d18 = arith.muli %d17, %d0 : index
  %d19 = arith.muli %d18, %d0 : index
  %d20 = arith.muli %d19, %d0 : index
  %d21 = arith.muli %d20, %d0 : index
  %d22 = arith.muli %d21, %d0 : index
  %d23 = arith.muli %d22, %d0 : index
  %d24 = arith.muli %d23, %d0 : index
  %d25 = arith.muli %d24, %d0 : index
  %d26 = arith.muli %d25, %d0 : index
  %d27 = arith.muli %d26, %d0 : index
  %d28 = arith.muli %d27, %d0 : index
  %d29 = arith.muli %d28, %d0 : index
  %d30 = arith.muli %d29, %d0 : index
  %d31 = arith.muli %d30, %d0 : index
  %d32 = arith.muli %d31, %d0 : index
  %d33 = arith.muli %d32, %d0 : index
  %d34 = arith.muli %d33, %d0 : index
  %d35 = arith.muli %d34, %d0 : index
  %d36 = arith.muli %d35, %d0 : index
  %d37 = arith.muli %d36, %d0 : index
  %d38 = arith.muli %d37, %d0 : index
  %d39 = arith.muli %d38, %d0 : index
  %d40 = arith.muli %d39, %d0 : index
  %d41 = arith.muli %d40, %d0 : index
  %d42 = arith.muli %d41, %d0 : index
  %d43 = arith.muli %d42, %d0 : index
  %d44 = arith.muli %d43, %d0 : index
  %d45 = arith.muli %d44, %d0 : index
  %d46 = arith.muli %d45, %d0 : index
  %d47 = arith.muli %d46, %d0 : index
  %d48 = arith.muli %d47, %d0 : index
  %d49 = arith.muli %d48, %d0 : index
  %d50 = arith.muli %d49, %d0 : index
  %d51 = arith.muli %d50, %d0 : index
  %d52 = arith.muli %d51, %d0 : index
  %d53 = arith.muli %d52, %d0 : index
  %d54 = arith.muli %d53, %d0 : index
  %d55 = arith.muli %d54, %d0 : index
  %d56 = arith.muli %d55, %d0 : index
  %d57 = arith.muli %d56, %d0 : index
  %d58 = arith.muli %d57, %d0 : index
  %d59 = arith.muli %d58, %d0 : index
  %d60 = arith.muli %d59, %d0 : index
  gpu.launch_func @kernels::@kernel blocks in (%d60, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  return
}

// ARGS: error: 'gpu.launch_func' op has 2 kernel arguments, but @kernel takes 1
func.func @too_many_arguments(%x: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  gpu.launch_func @kernels::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>, %x : memref<8xf32>)
  return
}

// CLUSTER: error: 'gpu.launch_func' op has a cluster size; the launch files made here have none: leave it out
func.func @cluster(%x: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  gpu.launch_func @kernels::@kernel clusters in (%c1, %c1, %c1) blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>)
  return
}

// BOX: error: 'nvgpu.tma.create.descriptor' op has a box of 1 dimensions for a 'memref<8x8x64xbf16>'; a tensor map has one for each
func.func @box_of_other_rank(%x: memref<8x8x64xbf16>) {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %u = memref.cast %x : memref<8x8x64xbf16> to memref<*xbf16>
  %m = nvgpu.tma.create.descriptor %u box[%c64] : memref<*xbf16> -> !map
  gpu.launch_func @kernels::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : !map)
  return
}

// INDEX: error: argument 0 of @map_of_indices is 'memref<64xindex>'; a launch takes contiguous memrefs of
func.func @map_of_indices(%x: memref<64xindex>) {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %u = memref.cast %x : memref<64xindex> to memref<*xindex>
  %m = nvgpu.tma.create.descriptor %u box[%c64] : memref<*xindex> -> !map
  gpu.launch_func @kernels::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : !map)
  return
}

// BYTES: error: 'nvgpu.tma.create.descriptor' op is of a 'memref<4611686018427387904x4xbf16>', whose bytes are more than 64 bits can count
func.func @map_of_everything(%x: memref<4611686018427387904x4xbf16>) {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %u = memref.cast %x : memref<4611686018427387904x4xbf16> to memref<*xbf16>
  %m = nvgpu.tma.create.descriptor %u box[%c64, %c64] : memref<*xbf16> -> !map2
  gpu.launch_func @kernels::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : !map2)
  return
}

// STRIDED: error: 'memref.alloc' op allocates a 'memref<8x8xf32, strided<[16, 1]>>'; the buffers of a launch are contiguous
func.func @strided_allocation(%x: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %y = memref.alloc() : memref<8x8xf32, strided<[16, 1]>>
  gpu.launch_func @kernels::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%y : memref<8x8xf32, strided<[16, 1]>>)
  return
}

// A size below the least number: never. A size above the largest: never. A
// size below a number that is negative if taken for a signed one: always.
// RANGE: "when":
// RANGE: "max": -9223372036854775808
// RANGE: "when":
// RANGE: "min": 9223372036854775807
// RANGE: "when":
// RANGE: "max": 9223372036854775806
func.func @conditions(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %least = arith.constant -9223372036854775808 : index
  %most = arith.constant 9223372036854775807 : index
  %negative = arith.constant -5 : index
  %d = memref.dim %x, %c0 : memref<?xf32>
  %below = arith.cmpi slt, %d, %least : index
  scf.if %below {
    gpu.launch_func @kernels::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  }
  %above = arith.cmpi sgt, %d, %most : index
  scf.if %above {
    gpu.launch_func @kernels::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  }
  %unsigned = arith.cmpi ult, %d, %negative : index
  scf.if %unsigned {
    gpu.launch_func @kernels::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  }
  return
}
}
