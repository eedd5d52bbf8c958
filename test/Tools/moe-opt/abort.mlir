// An abort inside LLVM (here the instruction selector, for PTX 8.0 lacks the
// instruction) is an error with exit status 1, not a crash, and leaves no output
// file.

// RUN: not moe-opt %s --pass-pipeline="builtin.module(gpu-module-to-binary{format=isa})" \
// RUN:   -o %t 2>&1 | FileCheck %s
// RUN: not test -e %t

// CHECK: moe-opt: error: the compiler aborted on this input

gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
  llvm.func @acquire(%address: !llvm.ptr) attributes {nvvm.kernel} {
    %size = llvm.mlir.constant(128 : i32) : i32
    nvvm.fence.proxy.acquire #nvvm.mem_scope<gpu> %address, %size
    llvm.return
  }
}
