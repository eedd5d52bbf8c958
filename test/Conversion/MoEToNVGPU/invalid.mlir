// RUN: moe-opt %s --convert-moe-to-nvgpu --split-input-file --verify-diagnostics

func.func @tensors(%x: tensor<?x64xbf16>, %w: tensor<4x64x64xbf16>, %off: tensor<5xi32>, %y: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  // expected-error @below {{'moe.grouped_matmul' op is on tensors; bufferize it before convert-moe-to-nvgpu}}
  %0 = moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : tensor<?x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>)
      outs(%y : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return %0 : tensor<?x64xbf16>
}

// -----

func.func @strided(%x: memref<?x64xbf16, strided<[128, 1]>>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{'moe.grouped_matmul' op has an operand of type 'memref<?x64xbf16, strided<[128, 1]>>'; the GPU kernel needs contiguous memrefs}}
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16, strided<[128, 1]>>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @strided_result(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16, strided<[64, 1], offset: ?>>) {
  // expected-error @below {{has an operand of type 'memref<?x64xbf16, strided<[64, 1], offset: ?>>'}}
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16, strided<[64, 1], offset: ?>>)
  return
}

// -----

func.func @shared_tokens(%x: memref<?x64xbf16, #gpu.address_space<workgroup>>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{has an operand of type 'memref<?x64xbf16, #gpu.address_space<workgroup>>'; the GPU kernel needs memrefs in global memory}}
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16, #gpu.address_space<workgroup>>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @transposed_tokens(%x: memref<64x?xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{'moe.grouped_matmul_swapped' op has transposed tokens or a transposed result; run moe-fold-transposes before convert-moe-to-nvgpu}}
  moe.grouped_matmul_swapped {result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x64x64xbf16>, memref<64x?xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @transposed_result(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<64x?xbf16>) {
  // expected-error @below {{has transposed tokens or a transposed result}}
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x64x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<64x?xbf16>)
  return
}

// -----

func.func @f32(%x: memref<?x64xf32>, %w: memref<4x64x64xf32>, %off: memref<5xi32>, %y: memref<?x64xf32>) {
  // expected-error @below {{has 'f32' tokens; the GPU kernel takes bf16 and f16: cast the operands or use --target=cpu}}
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xf32>, memref<4x64x64xf32>, memref<5xi32>)
      outs(%y : memref<?x64xf32>)
  return
}

// -----

func.func @dynamic_experts(%x: memref<?x64xbf16>, %w: memref<?x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{has a dynamic E, K or N; the GPU kernel needs weights of a static shape}}
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<?x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @dynamic_depth(%x: memref<?x?xbf16>, %w: memref<4x64x?xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{has a dynamic E, K or N}}
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x?xbf16>, memref<4x64x?xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @dynamic_outputs(%x: memref<?x64xbf16>, %w: memref<4x?x64xbf16>, %off: memref<5xi32>, %y: memref<?x?xbf16>) {
  // expected-error @below {{has a dynamic E, K or N}}
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x?xbf16>)
  return
}

// -----

func.func @dynamic_groups(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<?xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{has groups or a bias of a dynamic shape; the GPU kernel needs them static}}
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<?xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @dynamic_bias(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %b: memref<4x?xf32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{has groups or a bias of a dynamic shape}}
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      bias(%b : memref<4x?xf32>) outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @huge(%x: memref<?x64xbf16>, %w: memref<4x2147483648x64xbf16>, %off: memref<5xi32>, %y: memref<?x2147483648xbf16>) {
  // expected-error @below {{has an E, K or N of 2147483648; the GPU kernel takes less than 2^31}}
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x2147483648x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x2147483648xbf16>)
  return
}

// -----

func.func @no_depth(%x: memref<?x0xbf16>, %w: memref<4x64x0xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{has weights without elements; canonicalize first}}
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x0xbf16>, memref<4x64x0xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @rows_of_tokens(%x: memref<?x36xbf16>, %w: memref<4x64x36xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{K of the tokens is 36 elements, 72 bytes; TMA needs rows of a multiple of 16 bytes: pad K or use --target=cpu}}
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x36xbf16>, memref<4x64x36xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @rows_of_kn_weights(%x: memref<?x64xf16>, %w: memref<4x64x33xf16>, %off: memref<5xi32>, %y: memref<?x33xf16>) {
  // expected-error @below {{N of the kn weights is 33 elements, 66 bytes; TMA needs rows of a multiple of 16 bytes: pad N or use --target=cpu}}
  moe.grouped_matmul {weight_layout = #moe.weight_layout<kn>,
                      schedule = #moe.schedule<m = 64, n = 64, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xf16>, memref<4x64x33xf16>, memref<5xi32>)
      outs(%y : memref<?x33xf16>)
  return
}

// -----

// The up half of every row starts at N/2.
func.func @halves_of_kn_weights(%x: memref<?x64xbf16>, %w: memref<4x64x200xbf16>, %off: memref<5xi32>, %y: memref<?x100xbf16>) {
  // expected-error @below {{N/2 of the gated kn weights is 100 elements, 200 bytes; TMA needs rows of a multiple of 16 bytes: pad N/2 or use --target=cpu}}
  moe.grouped_matmul_swapped {weight_layout = #moe.weight_layout<kn>,
                              epilogue = #moe.epilogue<silu, gate = concat>,
                              token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 128, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x64x200xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x100xbf16>)
  return
}

// -----

func.func @no_schedule(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{has no schedule; run moe-select-schedule before convert-moe-to-nvgpu}}
  moe.grouped_matmul ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @gate_without_up_slab(%x: memref<?x64xbf16>, %w: memref<4x128x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{needs a schedule whose m is a multiple of 128 for each warpgroup (64 gate and 64 up rows), got m = 128}}
  moe.grouped_matmul_swapped {epilogue = #moe.epilogue<silu, gate = concat>,
                              token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 128, n = 8, k = 64, stages = 2, warpgroups = 2>}
      ins(%w, %x, %off : memref<4x128x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @gate_without_up_columns(%x: memref<?x64xbf16>, %w: memref<4x128x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{needs a schedule whose n is a multiple of 16 (gate and up), got n = 24}}
  moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = concat>,
                      schedule = #moe.schedule<m = 64, n = 24, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x128x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @gate_without_up_panel(%x: memref<?x64xbf16>, %w: memref<4x64x128xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{needs a schedule whose n is a multiple of 128 (gate and up), got n = 64}}
  moe.grouped_matmul {weight_layout = #moe.weight_layout<kn>,
                      epilogue = #moe.epilogue<silu, gate = concat>,
                      schedule = #moe.schedule<m = 64, n = 64, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x128xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @part_of_a_panel(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{with kn weights needs a schedule whose n is a multiple of 64, got n = 8}}
  moe.grouped_matmul {weight_layout = #moe.weight_layout<kn>,
                      schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @partial_slab_unswapped(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{needs a schedule whose m is a multiple of 64 rows for each warpgroup, unless it is swapped, has nk weights and no concatenated gate, and m is at most 256; got m = 96}}
  moe.grouped_matmul {schedule = #moe.schedule<m = 96, n = 64, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @partial_slab_kn(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{got m = 40}}
  moe.grouped_matmul_swapped {weight_layout = #moe.weight_layout<kn>,
                              token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 40, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x64x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @partial_slab_concat(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x32xbf16>) {
  // expected-error @below {{got m = 96}}
  moe.grouped_matmul_swapped {epilogue = #moe.epilogue<silu, gate = concat>,
                              token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 96, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%w, %x, %off : memref<4x64x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x32xbf16>)
  return
}

// -----

func.func @partial_slab_of_many_rows(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{got m = 272}}
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 272, n = 8, k = 64, stages = 2, warpgroups = 2>}
      ins(%w, %x, %off : memref<4x64x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @registers(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{needs 168 accumulator registers a thread, more than the 160 that fit with 1 warpgroups; choose a smaller n or m}}
  moe.grouped_matmul {schedule = #moe.schedule<m = 128, n = 168, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @registers_of_three(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{needs 84 accumulator registers a thread, more than the 80 that fit with 3 warpgroups}}
  moe.grouped_matmul {schedule = #moe.schedule<m = 192, n = 168, k = 64, stages = 2, warpgroups = 3>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

// 9 stages of 64 + 144 rows of 128 bytes, their barriers, and the group table.
func.func @shared_memory(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{needs 239944 bytes of shared memory with its schedule, but a block has 232448; choose fewer stages}}
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 144, k = 64, stages = 9, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @large_unswapped(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{'moe.grouped_matmul' op has a schedule for large groups, which needs moe.grouped_matmul_swapped; remove `large` from the schedule}}
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1, large = <m = 64, n = 16, k = 64, stages = 2, warpgroups = 1>>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @large_accumulators(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{needs 168 accumulator registers a thread, more than the 160 that fit with 1 warpgroups}}
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1, large = <m = 128, n = 168, k = 64, stages = 2, warpgroups = 1>>}
      ins(%w, %x, %off : memref<4x64x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @large_shared_memory(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{bytes of shared memory with its schedule, but a block has 232448; choose fewer stages}}
  moe.grouped_matmul_swapped {token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
                              schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1, large = <m = 256, n = 128, k = 64, stages = 5, warpgroups = 2>>}
      ins(%w, %x, %off : memref<4x64x64xbf16>, memref<?x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}
