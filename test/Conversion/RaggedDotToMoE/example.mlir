// The example of a module as JAX writes it.

// RUN: moe-opt %moe_src_root/examples/jax-ragged-dot.mlir \
// RUN:   --allow-unregistered-dialect --moe-raise-ragged-dot \
// RUN:   --remarks-filter='moe.*' 2>&1 | FileCheck %s

// The other tools raise by themselves. Run at smaller sizes, for speed.
// RUN: moe-compile %moe_src_root/examples/jax-ragged-dot.mlir --target=cpu \
// RUN:   --emit=llvm -o - | FileCheck %s --check-prefix=LLVM
// RUN: sed -e 's/2048/64/g' -e 's/1536/96/g' -e 's/128/8/g' \
// RUN:   %moe_src_root/examples/jax-ragged-dot.mlir > %t.mlir
// RUN: moe-run %t.mlir --entry=main --device=cpu --check 2>&1 \
// RUN:   | FileCheck %s --check-prefix=RESULT

// CHECK:      remark: [Passed] raised-ragged-dot | Category:moe-raise-ragged-dot | Function=main | Remark="ragged_dot raised to moe.grouped_matmul with kn weights"
// CHECK:      func.func public @main
// CHECK:        linalg.fill
// CHECK-NEXT:   moe.grouped_matmul {group_kind = #moe.group_kind<sizes>, weight_layout = #moe.weight_layout<kn>}
// CHECK-NEXT:   return
// CHECK-NOT:  stablehlo
// CHECK-NOT:  chlo

// LLVM: @main
// RESULT: check passed
