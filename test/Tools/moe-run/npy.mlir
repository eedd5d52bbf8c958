// Arrays in and out, and everything that can be wrong with a file.

// RUN: %python %S/../../Integration/CPU/Inputs/npy.py write %t.f4.npy f4 2x3 1.5
// RUN: %python %S/../../Integration/CPU/Inputs/npy.py write %t.f8.npy f8 2x3 1.00390625 0:1=1.01171875
// RUN: %python %S/../../Integration/CPU/Inputs/npy.py write %t.f2.npy f2 2x3 0.25
// RUN: %python %S/../../Integration/CPU/Inputs/npy.py write %t.u2.npy u2 2x3 0x3F80
// RUN: %python %S/../../Integration/CPU/Inputs/npy.py write %t.i8.npy i8 4 -7
// RUN: %python %S/../../Integration/CPU/Inputs/npy.py write %t.big.npy i8 4 4294967296
// RUN: %python %S/../../Integration/CPU/Inputs/npy.py write %t.wrong.npy f4 3x2 1.0

// An f32 file; the result is bf16, written as f32.
// RUN: moe-run %s --entry=bf16 --input=%%x=%t.f4.npy --output=%t.out.npy
// RUN: %python %S/../../Integration/CPU/Inputs/npy.py print %t.out.npy | FileCheck %s --check-prefix=F4
// F4: f4 2x3 1.5 1.5 1.5 1.5 1.5 1.5

// f64 is rounded, ties to even.
// RUN: moe-run %s --entry=bf16 --input=0=%t.f8.npy --output=%t.out.npy
// RUN: %python %S/../../Integration/CPU/Inputs/npy.py print %t.out.npy | FileCheck %s --check-prefix=F8
// F8: f4 2x3 1.015625 1.0 1.0

// RUN: moe-run %s --entry=bf16 --input=0=%t.f2.npy --output=%t.out.npy
// RUN: %python %S/../../Integration/CPU/Inputs/npy.py print %t.out.npy | FileCheck %s --check-prefix=F2
// F2: f4 2x3 0.25

// Bit patterns, in and out.
// RUN: moe-run %s --entry=bf16 --input=0=%t.u2.npy --dtype=bf16 --output=%t.out.npy
// RUN: %python %S/../../Integration/CPU/Inputs/npy.py print %t.out.npy | FileCheck %s --check-prefix=U2
// U2: u2 2x3 16256 16256

// RUN: moe-run %s --entry=i32 --input=0=%t.i8.npy --output=%t.out.npy
// RUN: %python %S/../../Integration/CPU/Inputs/npy.py print %t.out.npy | FileCheck %s --check-prefix=I4
// I4: i4 4 -7 -7 -7 -7

// RUN: not moe-run %s --entry=bf16 --input=0=%t.u2.npy 2>&1 | FileCheck %s --check-prefix=BITS
// BITS: the array is u2; if it holds bit patterns of bf16, say --dtype=bf16
// RUN: not moe-run %s --entry=bf16 --input=0=%t.u2.npy --dtype=f16 2>&1 | FileCheck %s --check-prefix=BITS

// RUN: not moe-run %s --entry=i32 --input=0=%t.big.npy 2>&1 | FileCheck %s --check-prefix=BIG
// BIG: element 0 is 4294967296, which does not fit in i32

// RUN: not moe-run %s --entry=i32 --input=0=%t.f4.npy 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: cannot use an array of type '<f4' as i32; save it as <i4 or <i8

// RUN: not moe-run %s --entry=bf16 --input=0=%t.wrong.npy 2>&1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: wrong.npy': the sizes 3x2 do not fit argument 0 of type tensor<2x3xbf16>

// RUN: not moe-run %s --entry=bf16 --input=0=%t.none.npy 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: none.npy': cannot open the file: No such file or directory

// RUN: not moe-run %s --entry=bf16 --input=x 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: --input=x is not of the form ARGUMENT=FILE.npy

// RUN: head -c 140 %t.f4.npy > %t.short.npy
// RUN: not moe-run %s --entry=bf16 --input=0=%t.short.npy 2>&1 | FileCheck %s --check-prefix=SHORT
// SHORT: short.npy': the file ends before the last element

// RUN: echo nonsense > %t.text.npy
// RUN: not moe-run %s --entry=bf16 --input=0=%t.text.npy 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: text.npy': the file is not a .npy file

// RUN: sed "s/False/True /" %t.f4.npy > %t.fortran.npy
// RUN: not moe-run %s --entry=bf16 --input=0=%t.fortran.npy 2>&1 | FileCheck %s --check-prefix=FORTRAN
// FORTRAN: the array is stored in Fortran order; save it in C order

func.func @bf16(%x: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  return %x : tensor<2x3xbf16>
}

func.func @i32(%x: tensor<4xi32>) -> tensor<4xi32> {
  return %x : tensor<4xi32>
}
