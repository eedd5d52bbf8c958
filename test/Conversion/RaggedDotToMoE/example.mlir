// The example of a module as JAX writes it.

// RUN: moe-opt %moe_src_root/examples/jax-ragged-dot.mlir \
// RUN:   --allow-unregistered-dialect --moe-raise-ragged-dot \
// RUN:   --remarks-filter='moe.*' 2>&1 | FileCheck %s

// CHECK:      remark: [Passed] raised-ragged-dot | Category:moe-raise-ragged-dot | Function=main | Remark="ragged_dot raised to moe.grouped_matmul with kn weights"
// CHECK:      func.func public @main
// CHECK:        linalg.fill
// CHECK-NEXT:   moe.grouped_matmul {group_kind = #moe.group_kind<sizes>, weight_layout = #moe.weight_layout<kn>}
// CHECK-NEXT:   return
// CHECK-NOT:  stablehlo
// CHECK-NOT:  chlo
