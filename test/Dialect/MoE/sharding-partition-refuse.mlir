// RUN: moe-opt %s --split-input-file --verify-diagnostics \
// RUN:   --pass-pipeline='builtin.module(func.func(shard-partition))'

shard.grid @grid(shape = 4)

func.func @rows(%x: tensor<64x32xf32>, %w: tensor<4x48x32xf32>,
    %off: tensor<5xi32>, %y: tensor<64x48xf32>) -> tensor<64x48xf32> {
  %all = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %sx = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %sw = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %sy = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %x0 = shard.shard %x to %sx : tensor<64x32xf32>
  %x1 = shard.shard %x0 to %sx annotate_for_users : tensor<64x32xf32>
  %w0 = shard.shard %w to %sw : tensor<4x48x32xf32>
  %w1 = shard.shard %w0 to %sw annotate_for_users : tensor<4x48x32xf32>
  %off0 = shard.shard %off to %all : tensor<5xi32>
  %off1 = shard.shard %off0 to %all annotate_for_users : tensor<5xi32>
  %y0 = shard.shard %y to %sy : tensor<64x48xf32>
  %y1 = shard.shard %y0 to %sy annotate_for_users : tensor<64x48xf32>
  // expected-error @below {{can be partitioned along the columns of the result and N of the weights and bias only, all along one grid axis}}
  %0 = moe.grouped_matmul
      ins(%x1, %w1, %off1 : tensor<64x32xf32>, tensor<4x48x32xf32>, tensor<5xi32>)
      outs(%y1 : tensor<64x48xf32>) -> tensor<64x48xf32>
  %1 = shard.shard %0 to %sy : tensor<64x48xf32>
  %2 = shard.shard %1 to %sy annotate_for_users : tensor<64x48xf32>
  return %2 : tensor<64x48xf32>
}

// -----

// Columns of the result alone.
shard.grid @grid(shape = 4)

func.func @weights_replicated(%x: tensor<64x32xf32>, %w: tensor<4x48x32xf32>,
    %off: tensor<5xi32>, %y: tensor<64x48xf32>) -> tensor<64x48xf32> {
  %all = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %sx = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %sw = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %sy = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %x0 = shard.shard %x to %sx : tensor<64x32xf32>
  %x1 = shard.shard %x0 to %sx annotate_for_users : tensor<64x32xf32>
  %w0 = shard.shard %w to %sw : tensor<4x48x32xf32>
  %w1 = shard.shard %w0 to %sw annotate_for_users : tensor<4x48x32xf32>
  %off0 = shard.shard %off to %all : tensor<5xi32>
  %off1 = shard.shard %off0 to %all annotate_for_users : tensor<5xi32>
  %y0 = shard.shard %y to %sy : tensor<64x48xf32>
  %y1 = shard.shard %y0 to %sy annotate_for_users : tensor<64x48xf32>
  // expected-error @below {{can be partitioned along the columns of the result and N of the weights and bias only, all along one grid axis}}
  %0 = moe.grouped_matmul
      ins(%x1, %w1, %off1 : tensor<64x32xf32>, tensor<4x48x32xf32>, tensor<5xi32>)
      outs(%y1 : tensor<64x48xf32>) -> tensor<64x48xf32>
  %1 = shard.shard %0 to %sy : tensor<64x48xf32>
  %2 = shard.shard %1 to %sy annotate_for_users : tensor<64x48xf32>
  return %2 : tensor<64x48xf32>
}

// -----

shard.grid @grid(shape = 4)

func.func @concatenated(%x: tensor<64x32xf32>, %w: tensor<4x48x32xf32>,
    %off: tensor<5xi32>, %y: tensor<64x24xf32>) -> tensor<64x24xf32> {
  %all = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %sx = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %sw = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %sy = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %x0 = shard.shard %x to %sx : tensor<64x32xf32>
  %x1 = shard.shard %x0 to %sx annotate_for_users : tensor<64x32xf32>
  %w0 = shard.shard %w to %sw : tensor<4x48x32xf32>
  %w1 = shard.shard %w0 to %sw annotate_for_users : tensor<4x48x32xf32>
  %off0 = shard.shard %off to %all : tensor<5xi32>
  %off1 = shard.shard %off0 to %all annotate_for_users : tensor<5xi32>
  %y0 = shard.shard %y to %sy : tensor<64x24xf32>
  %y1 = shard.shard %y0 to %sy annotate_for_users : tensor<64x24xf32>
  // expected-error @below {{with a gated epilogue can be partitioned with gate = interleaved and equal shards only}}
  %0 = moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x1, %w1, %off1 : tensor<64x32xf32>, tensor<4x48x32xf32>, tensor<5xi32>)
      outs(%y1 : tensor<64x24xf32>) -> tensor<64x24xf32>
  %1 = shard.shard %0 to %sy : tensor<64x24xf32>
  %2 = shard.shard %1 to %sy annotate_for_users : tensor<64x24xf32>
  return %2 : tensor<64x24xf32>
}

// -----

// 6 columns, 12 weight rows, for 4 devices: 2 and 4 do not fit.
shard.grid @grid(shape = 4)

func.func @rest(%x: tensor<64x32xf32>, %w: tensor<4x12x32xf32>,
    %off: tensor<5xi32>, %y: tensor<64x6xf32>) -> tensor<64x6xf32> {
  %all = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %sx = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %sw = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %sy = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %x0 = shard.shard %x to %sx : tensor<64x32xf32>
  %x1 = shard.shard %x0 to %sx annotate_for_users : tensor<64x32xf32>
  %w0 = shard.shard %w to %sw : tensor<4x12x32xf32>
  %w1 = shard.shard %w0 to %sw annotate_for_users : tensor<4x12x32xf32>
  %off0 = shard.shard %off to %all : tensor<5xi32>
  %off1 = shard.shard %off0 to %all annotate_for_users : tensor<5xi32>
  %y0 = shard.shard %y to %sy : tensor<64x6xf32>
  %y1 = shard.shard %y0 to %sy annotate_for_users : tensor<64x6xf32>
  // expected-error @below {{with a gated epilogue can be partitioned with gate = interleaved and equal shards only}}
  %0 = moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = interleaved>}
      ins(%x1, %w1, %off1 : tensor<64x32xf32>, tensor<4x12x32xf32>, tensor<5xi32>)
      outs(%y1 : tensor<64x6xf32>) -> tensor<64x6xf32>
  %1 = shard.shard %0 to %sy : tensor<64x6xf32>
  %2 = shard.shard %1 to %sy annotate_for_users : tensor<64x6xf32>
  return %2 : tensor<64x6xf32>
}

// -----

shard.grid @grid(shape = 4)

func.func @halo(%x: tensor<64x32xf32>, %w: tensor<4x48x32xf32>,
    %off: tensor<5xi32>, %y: tensor<64x48xf32>) -> tensor<64x48xf32> {
  %all = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %sx = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %sw = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %sy = shard.sharding @grid split_axes = [[], [0]] halo_sizes = [1, 1] : !shard.sharding
  %x0 = shard.shard %x to %sx : tensor<64x32xf32>
  %x1 = shard.shard %x0 to %sx annotate_for_users : tensor<64x32xf32>
  %w0 = shard.shard %w to %sw : tensor<4x48x32xf32>
  %w1 = shard.shard %w0 to %sw annotate_for_users : tensor<4x48x32xf32>
  %off0 = shard.shard %off to %all : tensor<5xi32>
  %off1 = shard.shard %off0 to %all annotate_for_users : tensor<5xi32>
  %y0 = shard.shard %y to %sy : tensor<64x48xf32>
  %y1 = shard.shard %y0 to %sy annotate_for_users : tensor<64x48xf32>
  // expected-error @below {{can not be partitioned with halos or shards of given offsets; shard evenly}}
  %0 = moe.grouped_matmul
      ins(%x1, %w1, %off1 : tensor<64x32xf32>, tensor<4x48x32xf32>, tensor<5xi32>)
      outs(%y1 : tensor<64x48xf32>) -> tensor<64x48xf32>
  %1 = shard.shard %0 to %sy : tensor<64x48xf32>
  %2 = shard.shard %1 to %sy annotate_for_users : tensor<64x48xf32>
  return %2 : tensor<64x48xf32>
}
