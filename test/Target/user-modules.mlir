// Kernels of the user's beside ours: a module of our name, one for another chip,
// and a launch file that names ours.

// RUN: moe-compile %s -o %t.ptx
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t.ptx
// RUN: %python %S/Inputs/print_launch_file.py %t.json | FileCheck %s --check-prefix=JSON
// PTX: .target sm_90a
// PTX-NOT: .entry
// PTX: .visible .entry grouped_matmul_swapped_0(
// PTX-NOT: .entry
// JSON: launches:
// JSON: "kernel": "grouped_matmul_swapped_0"
// JSON-NOT: "kernel"

// A kernel of the user's alone, for the chip that a launch needs and another.
// RUN: moe-compile %s --entry=own -o %t.own.ptx
// RUN: FileCheck %s --check-prefix=OWN-PTX --input-file=%t.own.ptx
// RUN: %python %S/Inputs/print_launch_file.py %t.own.json | FileCheck %s --check-prefix=OWN-JSON
// OWN-PTX: .target sm_90a
// OWN-PTX: .visible .entry mine(
// OWN-JSON: launches:
// OWN-JSON: "kernel": "mine"
// OWN-JSON-NOT: "kernel"

module attributes {gpu.container_module} {
  gpu.module @moe_kernels [#nvvm.target<chip = "sm_80">] {
    llvm.func @mine(%x: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
  func.func private @own(%y: memref<?x64xbf16>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @moe_kernels::@mine blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%y : memref<?x64xbf16>)
    return
  }
  func.func @f(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
    moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>}
        ins(%w, %x, %off : memref<4x64x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
        outs(%y : memref<?x64xbf16>)
    return
  }
}
