// Every error of moe-run names what is wrong and what to do, and exits with 1.

// RUN: not moe-run %t.missing 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: moe-run: error: cannot open input file

// RUN: echo 'func.func @f(' | not moe-run 2>&1 | FileCheck %s --check-prefix=SYNTAX
// SYNTAX: moe-run: error: cannot parse the input

// RUN: printf 'ML\357R\0garbage' | not moe-run 2>&1 | FileCheck %s --check-prefix=BYTECODE
// BYTECODE: moe-run: error: the input is not a module

// RUN: not moe-run %s 2>&1 | FileCheck %s --check-prefix=SEVERAL
// SEVERAL: @matmul and @foreign are public; name one by --entry

// RUN: not moe-run %s --entry=nowhere 2>&1 | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: has no function @nowhere with a body

// RUN: not moe-run %s --entry=foreign --check 2>&1 | FileCheck %s --check-prefix=FOREIGN
// FOREIGN: moe-run: error: --check cannot interpret 'other.op'

// RUN: not moe-run %s --entry=foreign 2>&1 | FileCheck %s --check-prefix=LOWERING
// LOWERING: moe-run: error: lowering for the CPU failed

// RUN: not moe-run %s --entry=scalar 2>&1 | FileCheck %s --check-prefix=SCALAR
// SCALAR: argument 0 of @scalar is 'index'; moe-run passes ranked tensors of f32, f16, bf16, i32 and i64

// RUN: not moe-run %s --entry=integers 2>&1 | FileCheck %s --check-prefix=INTEGERS
// INTEGERS: cannot make argument 0 of @integers: no moe op says what its integers mean; give it with --input=0=FILE.npy

// RUN: not moe-run %s --entry=matmul 2>&1 | FileCheck %s --check-prefix=DYNAMIC
// DYNAMIC: argument 0 of @matmul has dynamic dimensions; give them with --rows=N or --shape=0=...

// RUN: not moe-run %s --entry=matmul --shape=x=3x9 2>&1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: the sizes 3x9 do not fit argument 0 of type tensor<?x8xf32>

// RUN: not moe-run %s --entry=matmul --shape=x=3xy 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: --shape=x=3xy is not of the form ARGUMENT=2x3x4

// RUN: not moe-run %s --entry=matmul --shape=z=3x8 2>&1 | FileCheck %s --check-prefix=ARGUMENT
// ARGUMENT: @matmul has no argument 'z'; it has 4, counted from 0

// RUN: not moe-run %s --entry=matmul --rows=3 --shape=y=4x16 --check 2>&1 | FileCheck %s --check-prefix=DISAGREE
// DISAGREE: 'moe.grouped_matmul': its operands disagree on R at run time: 3 and 4

// RUN: not moe-run %s --entry=matmul --rows=3 --routing=zipf:-1 2>&1 | FileCheck %s --check-prefix=ROUTING
// ROUTING: unknown routing 'zipf:-1'; use uniform, zipf:S with S >= 0, one-expert or empty-groups

// RUN: not moe-run %s --entry=matmul --rows=3 --device=tpu 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: unknown device 'tpu'; use cpu, cuda or cuda:N

// RUN: env MOE_CUDA_DRIVER=%t.missing not moe-run %s --entry=matmul --rows=3 --device=cuda:0 2>&1 | FileCheck %s --check-prefix=DRIVER
// DRIVER: no CUDA driver: {{.*}}; install the NVIDIA driver, or use --device=cpu

// RUN: not moe-run %s --entry=matmul --rows=3 --passes=no-such-pass 2>&1 | FileCheck %s --check-prefix=PASSES
// PASSES: --passes is not a pass pipeline of builtin.module

// RUN: not moe-run %s --entry=matmul --rows=3 --repeat=0 2>&1 | FileCheck %s --check-prefix=REPEAT
// REPEAT: --repeat needs at least 1

// RUN: not moe-run %s --entry=matmul --rows=3 --mattr=avx2 2>&1 | FileCheck %s --check-prefix=MATTR
// MATTR: CPU feature 'avx2' needs a + or - in front

// RUN: not moe-run %s --entry=matmul --rows=3 --dtype=f64 2>&1 | FileCheck %s --check-prefix=DTYPE
// DTYPE: unknown --dtype 'f64'; use bf16 or f16

// RUN: not moe-run %s --entry=matmul --rows=3 --output=a --output=b 2>&1 | FileCheck %s --check-prefix=OUTPUTS
// OUTPUTS: there are more --output options than results of @matmul

// RUN: not moe-run %s --entry=matmul --rows=3 --output=%t.none/a.npy 2>&1 | FileCheck %s --check-prefix=WRITE
// WRITE: none/a.npy': cannot write the file

// RUN: not moe-run %s --entry=matmul --rows=3 --check --tolerance=1e-15 | FileCheck %s --check-prefix=FAILED
// FAILED: result 0: relative error {{.*}} > 1.0e-15, worst element [{{[0-9]+, [0-9]+}}]
// FAILED: check FAILED

func.func @matmul(%x: tensor<?x8xf32>, %w: tensor<4x16x8xf32>,
                  %off: tensor<5xi32>, %y: tensor<?x16xf32>)
    -> tensor<?x16xf32> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<?x8xf32>, tensor<4x16x8xf32>, tensor<5xi32>)
      outs(%y : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %0 : tensor<?x16xf32>
}

func.func @foreign(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "other.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func @scalar(%i: index) {
  return
}

func.func @integers(%i: tensor<4xi32>) -> tensor<4xi32> {
  return %i : tensor<4xi32>
}
