// An object file for this machine's CPU is called from C.
//
// REQUIRES: cc
// A program without the sanitizers' runtime.
// UNSUPPORTED: asan
// RUN: moe-compile %s --target=cpu --emit=obj -o %t.o
// RUN: %cc %S/Inputs/matmul_main.c %t.o -L%llvm_lib_dir -Wl,-rpath,%llvm_lib_dir -lomp -lm -o %t.exe
// RUN: %t.exe | FileCheck %s

// CHECK: row 1 2
// CHECK-NEXT: row 7 -1
// CHECK-NEXT: row 11 -1
// CHECK-NOT: row
func.func @matmul(%x: tensor<?x2xf32>, %w: tensor<3x2x2xf32>, %off: tensor<4xi32>,
                  %y: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<?x2xf32>, tensor<3x2x2xf32>, tensor<4xi32>)
      outs(%y : tensor<?x2xf32>) -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}
