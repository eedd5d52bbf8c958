// Every error of moe-run names what is wrong and what to do, and exits with 1.

// RUN: not moe-run %t.missing 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: moe-run: error: cannot open input file

// RUN: echo 'func.func @f(' | not moe-run 2>&1 | FileCheck %s --check-prefix=SYNTAX
// SYNTAX: moe-run: error: cannot parse the input

// RUN: echo 'func.func private @f() func.func private @f()' | not moe-run 2>&1 | FileCheck %s --check-prefix=INVALID
// INVALID: error: redefinition of symbol named 'f'
// INVALID: moe-run: error: cannot parse the input

// RUN: echo 'func.func @f() { return } "other.op"() ({ ^bb0: }) {sym_name = "g", sym_visibility = "private"} : () -> ()' | not moe-run 2>&1 | FileCheck %s --check-prefix=PREPARE
// PREPARE: moe-run: error: preparing the module failed

// RUN: printf 'ML\357R\0garbage' | not moe-run 2>&1 | FileCheck %s --check-prefix=BYTECODE
// BYTECODE: moe-run: error: the input is not a module

// RUN: not moe-run %s 2>&1 | FileCheck %s --check-prefix=SEVERAL
// SEVERAL: @matmul and @foreign are public; name one by --entry
// SEVERAL: moe-run: error: found no function to run

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

// RUN: not moe-run %s --entry=layer --shape=gate_up=0x8x4 --shape=down=0x4x8 2>&1 | FileCheck %s --check-prefix=EXPERT
// EXPERT: cannot make argument 1 of @layer: there is no expert that it could name; give it with --input=1=FILE.npy

// RUN: not moe-run %s --entry=gathered --shape=x=0x8 --shape=i=3 2>&1 | FileCheck %s --check-prefix=TOKEN
// TOKEN: cannot make argument 2 of @gathered: there is no token that it could name; give it with --input=2=FILE.npy

// RUN: not moe-run %s --entry=any_groups --shape=off=0 2>&1 | FileCheck %s --check-prefix=OFFSETS
// OFFSETS: cannot make argument 2 of @any_groups: offsets need at least one element; give it with --input=2=FILE.npy

// RUN: not moe-run %s --entry=sized 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: cannot make argument 1 of @sized: cannot find the number of rows; give it with --input=1=FILE.npy

// RUN: not moe-run %s --entry=constant --check 2>&1 | FileCheck %s --check-prefix=CONSTANT
// CONSTANT: --check cannot interpret the value of an arith.constant

// RUN: not moe-run %s --entry=dim --check 2>&1 | FileCheck %s --check-prefix=DIM
// DIM: --check cannot interpret a tensor.dim out of range

// RUN: not moe-run %s --entry=zero --check 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: --check cannot interpret an affine.apply that divides by zero

// RUN: not moe-run %s --entry=blocks --check 2>&1 | FileCheck %s --check-prefix=BLOCKS
// BLOCKS: --check cannot interpret a function of several blocks

// RUN: not moe-run %s --entry=blocks --device=cuda 2>&1 | FileCheck %s --check-prefix=CUDA-BLOCKS
// CUDA-BLOCKS: @blocks has several blocks, which --device=cuda cannot run

// RUN: %python %S/../../Integration/CPU/Inputs/npy.py write %t.off.npy i4 5 0
// RUN: not moe-run %s --entry=sized --input=1=%t.off.npy --device=cuda 2>&1 | FileCheck %s --check-prefix=CUDA-SHAPE
// CUDA-SHAPE: cannot tell the shape of result 0 of @sized from its arguments, as --device=cuda needs

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

// RUN: not moe-run %s --entry=matmul --rows=3 --passes='moe-swap-ab{target=nothing}' 2>&1 | FileCheck %s --check-prefix=PASS
// PASS: moe-run: error: a pass of --passes failed

// RUN: not moe-run %s --entry=matmul --rows=3 --json=%t.none/a.json 2>&1 | FileCheck %s --check-prefix=JSON
// JSON: moe-run: error: cannot open output file '{{.*}}.none/a.json'

// A driver that stands in for a GPU gets as far as compiling.
// RUN: env MOE_CUDA_DRIVER=%moe_obj_root/unittests/Runtime/libMoEFakeCudaDriver.so \
// RUN:   not moe-run %s --entry=matmul --rows=3 --device=cuda 2>&1 | FileCheck %s --check-prefix=COMPILE
// COMPILE: moe-run: error: compiling for the GPU failed

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

func.func @gathered(%x: tensor<?x8xf32>, %w: tensor<4x16x8xf32>,
                    %i: tensor<?xi32>, %off: tensor<5xi32>,
                    %y: tensor<3x16xf32>) -> tensor<3x16xf32> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<?x8xf32>, tensor<4x16x8xf32>, tensor<5xi32>)
      gather(%i : tensor<?xi32>)
      outs(%y : tensor<3x16xf32>) -> tensor<3x16xf32>
  return %0 : tensor<3x16xf32>
}

func.func @any_groups(%x: tensor<3x8xf32>, %w: tensor<4x16x8xf32>,
                      %off: tensor<?xi32>, %y: tensor<3x16xf32>)
    -> tensor<3x16xf32> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<3x8xf32>, tensor<4x16x8xf32>, tensor<?xi32>)
      outs(%y : tensor<3x16xf32>) -> tensor<3x16xf32>
  return %0 : tensor<3x16xf32>
}

func.func @layer(%x: tensor<3x8xf32>, %i: tensor<3x2xi32>, %p: tensor<3x2xf32>,
                 %gate_up: tensor<?x8x4xf32>, %down: tensor<?x4x8xf32>)
    -> tensor<3x8xf32> {
  %init = tensor.empty() : tensor<3x8xf32>
  %y = moe.experts {weight_layout = #moe.weight_layout<kn>}
      ins(%x, %i, %p, %gate_up, %down
          : tensor<3x8xf32>, tensor<3x2xi32>, tensor<3x2xf32>,
            tensor<?x8x4xf32>, tensor<?x4x8xf32>)
      outs(%init : tensor<3x8xf32>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

// As many tokens as experts and one more, which no argument says.
func.func @sized(%w: tensor<4x16x8xf32>, %off: tensor<5xi32>)
    -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tensor.dim %w, %c0 : tensor<4x16x8xf32>
  %n = arith.addi %0, %c1 : index
  %x = tensor.empty(%n) : tensor<?x8xf32>
  %init = tensor.empty(%n) : tensor<?x16xf32>
  %y = moe.grouped_matmul
      ins(%x, %w, %off : tensor<?x8xf32>, tensor<4x16x8xf32>, tensor<5xi32>)
      outs(%init : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

func.func @constant(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.constant 18446744073709551616 : i128
  return %x : tensor<4xf32>
}

func.func @dim(%x: tensor<4xf32>) -> tensor<?xf32> {
  %c5 = arith.constant 5 : index
  %n = tensor.dim %x, %c5 : tensor<4xf32>
  %0 = tensor.empty(%n) : tensor<?xf32>
  return %0 : tensor<?xf32>
}

func.func @zero(%x: tensor<4xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = affine.apply affine_map<()[a, b] -> (a floordiv b)>()[%c0, %c0]
  %0 = tensor.empty(%n) : tensor<?xf32>
  return %0 : tensor<?xf32>
}

func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^end
^end:
  return %x : tensor<4xf32>
}
