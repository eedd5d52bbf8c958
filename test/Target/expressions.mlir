// What a host function computes from sizes, as expressions of a launch file.

// RUN: moe-compile %s -o %t.ptx
// RUN: %python %S/Inputs/print_launch_file.py %t.json | FileCheck %s

// Arguments: 0 is x, 1 is y.
#apply = affine_map<(d0)[s0] -> (d0 * 8 + s0 floordiv 4)>
#apply2 = affine_map<(d0, d1) -> ((d0 - d1) ceildiv 3)>
#apply3 = affine_map<()[s0] -> (s0 mod 16 + 5)>
#three = affine_map<(d0)[s0] -> (d0, s0 * 2, 7)>

module attributes {gpu.container_module} {
  gpu.module @user {
    llvm.func @k(%x: !llvm.ptr<1> {llvm.readonly}, %n: i64, %m: i32) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }

  // CHECK: launches:
  func.func @f(%x: memref<?x64xbf16>, %y: memref<?xi32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %r = memref.dim %x, %c0 : memref<?x64xbf16>
    %s = memref.dim %y, %c0 : memref<?xi32>
    %n = arith.index_cast %r : index to i64
    %m = arith.index_castui %s : index to i32

    // CHECK-NEXT: 0: {{{.*}}"grid": {{\[\[}}"add", ["mul", ["dim", 0, 0], 8], ["floordiv", ["dim", 1, 0], 4]], ["ceildiv", ["add", ["dim", 0, 0], ["mul", ["dim", 1, 0], -1]], 3], ["add", ["add", ["dim", 1, 0], ["mul", -1, ["mul", 16, ["floordiv", ["dim", 1, 0], 16]]]], 5]]
    // CHECK-NEXT:   {"buffer": 0, "kind": "buffer"}
    // CHECK-NEXT:   {"kind": "i64", "value": ["dim", 0, 0]}
    // CHECK-NEXT:   {"kind": "i32", "value": ["dim", 1, 0]}
    %0 = affine.apply #apply(%r)[%s]
    %1 = affine.apply #apply2(%r, %s)
    %2 = affine.apply #apply3()[%s]
    gpu.launch_func @user::@k blocks in (%0, %1, %2) threads in (%c3, %c1, %c1)
        args(%x : memref<?x64xbf16>, %n : i64, %m : i32)

    // CHECK-NEXT: 1: {{{.*}}"grid": {{\[\[}}"min", ["min", 7, ["dim", 0, 0]], ["mul", ["dim", 1, 0], 2]], ["max", ["max", 7, ["dim", 0, 0]], ["mul", ["dim", 1, 0], 2]], ["add", ["dim", 0, 0], ["mul", -1, ["dim", 1, 0]]]]
    %3 = affine.min #three(%r)[%s]
    %4 = affine.max #three(%r)[%s]
    %5 = arith.subi %r, %s : index
    gpu.launch_func @user::@k blocks in (%3, %4, %5) threads in (%c1, %c1, %c1)
        args(%x : memref<?x64xbf16>, %n : i64, %m : i32)

    // CHECK: 2: {{{.*}}"grid": {{\[\[}}"add", ["dim", 0, 0], ["dim", 1, 0]], ["mul", ["dim", 0, 0], ["dim", 1, 0]], ["min", ["dim", 0, 0], ["dim", 1, 0]]]
    %6 = arith.addi %r, %s : index
    %7 = arith.muli %r, %s : index
    %8 = arith.minsi %r, %s : index
    gpu.launch_func @user::@k blocks in (%6, %7, %8) threads in (%c1, %c1, %c1)
        args(%x : memref<?x64xbf16>, %n : i64, %m : i32)

    // CHECK: 3: {{{.*}}"grid": {{\[\[}}"max", ["dim", 0, 0], ["dim", 1, 0]], ["floordiv", ["dim", 0, 0], 3], ["ceildiv", ["dim", 0, 0], 3]]
    %9 = arith.maxui %r, %s : index
    %10 = arith.divui %r, %c3 : index
    %11 = arith.ceildivsi %r, %c3 : index
    gpu.launch_func @user::@k blocks in (%9, %10, %11) threads in (%c1, %c1, %c1)
        args(%x : memref<?x64xbf16>, %n : i64, %m : i32)
    return
  }
}
