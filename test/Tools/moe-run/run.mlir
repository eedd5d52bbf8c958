// RUN: moe-run %s --rows=40 --seed=3 --check --repeat=3 --json=%t.json --output=%t.a.npy | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON < %t.json

// The same seed gives the same bits, another one does not.
// RUN: moe-run %s --rows=40 --seed=3 --output=%t.b.npy
// RUN: cmp %t.a.npy %t.b.npy
// RUN: moe-run %s --rows=40 --seed=4 --output=%t.b.npy
// RUN: not cmp %t.a.npy %t.b.npy

// Threads change nothing.
// RUN: env OMP_NUM_THREADS=1 moe-run %s --rows=40 --seed=3 --output=%t.b.npy | FileCheck %s --check-prefix=ONE
// RUN: cmp %t.a.npy %t.b.npy
// RUN: env OMP_NUM_THREADS=3 moe-run %s --rows=40 --seed=3 --output=%t.b.npy | FileCheck %s --check-prefix=THREE
// RUN: cmp %t.a.npy %t.b.npy

// Every routing; rows of no group keep what they held.
// RUN: moe-run %s --rows=40 --routing=zipf:1.2 --check | FileCheck %s --check-prefix=PASSED
// RUN: moe-run %s --rows=40 --routing=one-expert --check | FileCheck %s --check-prefix=PASSED
// RUN: moe-run %s --rows=40 --routing=empty-groups --check | FileCheck %s --check-prefix=EXACT
// RUN: moe-run %s --rows=0 --check | FileCheck %s --check-prefix=EXACT

// Bytecode has no names of arguments, but positions.
// RUN: moe-opt %s --emit-bytecode -o %t.mlirbc
// RUN: moe-run %t.mlirbc --shape=0=5x64 --shape=3=5x32 --check | FileCheck %s --check-prefix=PASSED

// What --passes makes is compared with the program as it is written.
// RUN: moe-run %s --rows=40 --passes=canonicalize,cse --check | FileCheck %s --check-prefix=PASSED

// CHECK: cpu, {{[0-9]+}} thread{{s?}}: {{[0-9.]+}} ms (median of 3, least {{[0-9.]+}}), 0.0 MB (0.0 of weights) at {{[0-9.]+}} GB/s
// CHECK: result 0: relative error {{.*}}e-03 <= 5.0e-03, worst element [{{[0-9]+}}, {{[0-9]+}}]: {{.*}}, expected
// CHECK: check passed

// All eight experts have rows: 8 * 32 * 64 * 2 bytes of weights, 40 * 64 * 2 of
// tokens, 40 * 32 * 2 of results.
// JSON: "bytes": 40448,
// JSON: "passed": true
// JSON: "relative_error": 0.00
// JSON: "tolerance": 0.005
// JSON: "device": "cpu,
// JSON: "entry": "main"
// JSON: "gbytes_per_second": {{[0-9.]+}},
// JSON: "times_ms": [
// JSON: "weight_bytes": 32768

// ONE: cpu, 1 thread:
// THREE: cpu, 3 threads:
// PASSED: check passed
// EXACT: relative error 0.000e+00
// EXACT: check passed

func.func @main(%x: tensor<?x64xbf16>, %w: tensor<8x32x64xbf16>,
                %off: tensor<9xi64>, %y: tensor<?x32xbf16>)
    -> tensor<?x32xbf16> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<?x64xbf16>, tensor<8x32x64xbf16>, tensor<9xi64>)
      outs(%y : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return %0 : tensor<?x32xbf16>
}
