// Columns of the result are sharded, and with them N of weights and bias: what
// one annotation gives, and the op of one device.

// RUN: moe-opt %s --pass-pipeline='builtin.module(func.func(sharding-propagation{traversal=backward-forward}))' \
// RUN:   | FileCheck %s --check-prefix=SHARD
// RUN: moe-opt %s --pass-pipeline='builtin.module(func.func(sharding-propagation{traversal=backward-forward},shard-partition))' \
// RUN:   | FileCheck %s

shard.grid @grid(shape = 4)

// SHARD-LABEL: func @from_result
// SHARD-SAME:    %[[X:.*]]: tensor<64x32xf32>, %[[W:.*]]: tensor<4x32x48xf32>, %[[OFF:.*]]: tensor<5xi32>, %[[BIAS:.*]]: tensor<4x48xf32>, %{{.*}}: tensor<64x48xf32>
// SHARD:         %[[SX:.*]] = shard.sharding @grid split_axes = {{\[\[}}]]
// SHARD:         shard.shard %[[X]] to %[[SX]] annotate_for_users
// SHARD:         %[[SW:.*]] = shard.sharding @grid split_axes = {{\[\[}}], [], [0]]
// SHARD:         shard.shard %[[W]] to %[[SW]] annotate_for_users
// SHARD:         %[[SOFF:.*]] = shard.sharding @grid split_axes = {{\[\[}}]]
// SHARD:         shard.shard %[[OFF]] to %[[SOFF]] annotate_for_users
// SHARD:         %[[SBIAS:.*]] = shard.sharding @grid split_axes = {{\[\[}}], [0]]
// SHARD:         shard.shard %[[BIAS]] to %[[SBIAS]] annotate_for_users
// CHECK-LABEL: func @from_result
// CHECK:         moe.grouped_matmul {{.*}} ins({{.*}} : tensor<64x32xf32>, tensor<4x32x12xf32>, tensor<5xi32>) bias(%{{.*}} : tensor<4x12xf32>) outs(%{{.*}} : tensor<64x12xf32>) -> tensor<64x12xf32>
func.func @from_result(%x: tensor<64x32xf32>, %w: tensor<4x32x48xf32>,
                       %off: tensor<5xi32>, %bias: tensor<4x48xf32>,
                       %y: tensor<64x48xf32>) -> tensor<64x48xf32> {
  %0 = moe.grouped_matmul {weight_layout = #moe.weight_layout<kn>}
      ins(%x, %w, %off : tensor<64x32xf32>, tensor<4x32x48xf32>, tensor<5xi32>)
      bias(%bias : tensor<4x48xf32>)
      outs(%y : tensor<64x48xf32>) -> tensor<64x48xf32>
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %1 = shard.shard %0 to %s : tensor<64x48xf32>
  return %1 : tensor<64x48xf32>
}

// From the weights, into a transposed result of scattered rows.
// CHECK-LABEL: func @from_weights
// CHECK:         moe.grouped_matmul_swapped ins({{.*}} : tensor<4x12x32xf32>, tensor<32x64xf32>, tensor<5xi32>) gather(%{{.*}} : tensor<16xi32>) scale(%{{.*}} : tensor<16xf32>) scatter(%{{.*}} : tensor<16xi32>) outs(%{{.*}} : tensor<12x8xf32>) -> tensor<12x8xf32>
func.func @from_weights(%x: tensor<32x64xf32>, %w: tensor<4x48x32xf32>,
                        %off: tensor<5xi32>, %rows: tensor<16xi32>,
                        %scale: tensor<16xf32>, %y: tensor<48x8xf32>)
    -> tensor<48x8xf32> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %ws = shard.shard %w to %s annotate_for_users : tensor<4x48x32xf32>
  %0 = moe.grouped_matmul_swapped
      ins(%ws, %x, %off : tensor<4x48x32xf32>, tensor<32x64xf32>, tensor<5xi32>)
      gather(%rows : tensor<16xi32>) scale(%scale : tensor<16xf32>)
      scatter(%rows : tensor<16xi32>)
      outs(%y : tensor<48x8xf32>) -> tensor<48x8xf32>
  return %0 : tensor<48x8xf32>
}

// A shard of an interleaved gate holds the gate and up rows of its columns.
// CHECK-LABEL: func @interleaved
// CHECK:         moe.grouped_matmul {{.*}} ins({{.*}} : tensor<64x32xf32>, tensor<4x12x32xf32>, tensor<5xi32>) outs(%{{.*}} : tensor<64x6xf32>) -> tensor<64x6xf32>
func.func @interleaved(%x: tensor<64x32xf32>, %w: tensor<4x48x32xf32>,
                       %off: tensor<5xi32>, %y: tensor<64x24xf32>)
    -> tensor<64x24xf32> {
  %0 = moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = interleaved>}
      ins(%x, %w, %off : tensor<64x32xf32>, tensor<4x48x32xf32>, tensor<5xi32>)
      outs(%y : tensor<64x24xf32>) -> tensor<64x24xf32>
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %1 = shard.shard %0 to %s : tensor<64x24xf32>
  return %1 : tensor<64x24xf32>
}

// Replicated: every device computes all.
// CHECK-LABEL: func @replicated
// CHECK:         moe.grouped_matmul {{.*}} -> tensor<64x24xf32>
func.func @replicated(%x: tensor<64x32xf32>, %w: tensor<4x48x32xf32>,
                      %off: tensor<5xi32>, %y: tensor<64x24xf32>)
    -> tensor<64x24xf32> {
  %0 = moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %w, %off : tensor<64x32xf32>, tensor<4x48x32xf32>, tensor<5xi32>)
      outs(%y : tensor<64x24xf32>) -> tensor<64x24xf32>
  %s = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %1 = shard.shard %0 to %s : tensor<64x24xf32>
  return %1 : tensor<64x24xf32>
}
