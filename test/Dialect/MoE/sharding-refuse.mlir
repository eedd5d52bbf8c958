// RUN: moe-opt %s --split-input-file --verify-diagnostics --remarks-filter='moe.*' \
// RUN:   --pass-pipeline='builtin.module(func.func(sharding-propagation{traversal=forward}))'

shard.grid @grid(shape = 4)

func.func @rows(%x: tensor<64x32xf32>, %w: tensor<4x48x32xf32>,
                %off: tensor<5xi32>, %y: tensor<64x48xf32>)
    -> tensor<64x48xf32> {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<64x32xf32>
  // expected-remark @below {{moe.grouped_matmul is not sharded: only the columns of the result can be, with N of the weights}}
  %0 = moe.grouped_matmul
      ins(%xs, %w, %off : tensor<64x32xf32>, tensor<4x48x32xf32>, tensor<5xi32>)
      outs(%y : tensor<64x48xf32>) -> tensor<64x48xf32>
  return %0 : tensor<64x48xf32>
}

// -----

shard.grid @grid(shape = 4)

func.func @experts(%x: tensor<64x32xf32>, %w: tensor<4x48x32xf32>,
                   %off: tensor<5xi32>, %y: tensor<64x48xf32>)
    -> tensor<64x48xf32> {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %ws = shard.shard %w to %s annotate_for_users : tensor<4x48x32xf32>
  // expected-remark @below {{moe.grouped_matmul is not sharded: only the columns of the result can be, with N of the weights}}
  %0 = moe.grouped_matmul
      ins(%x, %ws, %off : tensor<64x32xf32>, tensor<4x48x32xf32>, tensor<5xi32>)
      outs(%y : tensor<64x48xf32>) -> tensor<64x48xf32>
  return %0 : tensor<64x48xf32>
}

// -----

shard.grid @grid(shape = 4)

func.func @concatenated(%x: tensor<64x32xf32>, %w: tensor<4x48x32xf32>,
                        %off: tensor<5xi32>, %y: tensor<64x24xf32>)
    -> tensor<64x24xf32> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %ws = shard.shard %w to %s annotate_for_users : tensor<4x48x32xf32>
  // expected-remark @below {{moe.grouped_matmul is not sharded: the gate and up rows of a part of the columns are not contiguous with gate = concat; use interleaved}}
  %0 = moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %ws, %off : tensor<64x32xf32>, tensor<4x48x32xf32>, tensor<5xi32>)
      outs(%y : tensor<64x24xf32>) -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}
