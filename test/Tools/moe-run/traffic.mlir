// Bytes of a run: weights of experts with rows, token rows read and result rows
// written, each once; from the routing of the run, without --check as with it.

// DEFINE: %{entry} = rows
// DEFINE: %{run} = moe-run %s --entry=%{entry} --json=%t.json && FileCheck %s --input-file=%t.json

// Offsets 0 0 3 5 of 7 rows: two of three experts. bf16, K 8, N 4:
// weights 2 * (4 * 8 * 2 + 4 * 4), tokens 5 * 8 * 2, results 5 * 4 * 2.
// RUN: %{run} --check-prefix=ROWS
// ROWS: "bytes": 280,
// ROWS: "gbytes_per_second": {{[0-9.e-]+}},
// ROWS: "weight_bytes": 160

// The same swapped, all transposed, from sizes, before passes that change it.
// REDEFINE: %{entry} = swapped
// RUN: %{run} --check-prefix=ROWS
// RUN: moe-run %s --entry=rows --passes='moe-swap-ab{mode=always}' --json=%t.json
// RUN: FileCheck %s --input-file=%t.json --check-prefix=ROWS

// Rows 0 to 4 read tokens 1, 1, 2, none and 0, and write rows 3, 2, none, 1
// and 0: 3 tokens, 4 results; f32 results.
// weights 2 * 4 * 8 * 2, tokens 3 * 8 * 2, results 4 * 4 * 4.
// REDEFINE: %{entry} = indexed
// RUN: %{run} --check-prefix=INDEXED
// INDEXED: "bytes": 240,
// INDEXED: "weight_bytes": 128

// No rows, no bytes, and no rate.
// REDEFINE: %{entry} = empty
// RUN: %{run} --check-prefix=EMPTY --implicit-check-not=gbytes
// EMPTY: "bytes": 0,

// Experts 0, 2 and one of 9, which is none; token 1 has none.
// weights 2 * (6 * 8 * 2 + 8 * 3 * 2 + 6 * 4 + 8 * 4), tokens 2 * 8 * 2, results
// 3 * 8 * 2.
// REDEFINE: %{entry} = layer
// RUN: %{run} --check-prefix=LAYER
// LAYER: "bytes": 480,
// LAYER: "weight_bytes": 400

// The router chooses experts 3 and 1 for both tokens; what it and dispatch give
// is known before the run. The matmul: weights 2 * 4 * 8 * 4, tokens 2 * 8 * 4,
// results 4 * 4 * 4; combine: rows 4 * 4 * 4, results 2 * 4 * 4.
// REDEFINE: %{entry} = routed
// RUN: %{run} --check-prefix=ROUTED
// ROUTED: "bytes": 480,
// ROUTED: "weight_bytes": 256

// What only the run knows.
// REDEFINE: %{entry} = twice
// RUN: %{run} --check-prefix=TWICE --implicit-check-not='bytes"'
// TWICE: "bytes_unknown": "'moe.grouped_matmul' decides the routing"
// REDEFINE: %{entry} = branch
// RUN: %{run} --check-prefix=BRANCH --implicit-check-not='bytes"'
// BRANCH: "bytes_unknown": "'scf.if' decides which ops run"
// REDEFINE: %{entry} = called
// RUN: %{run} --check-prefix=CALLED
// CALLED: "bytes_unknown": "'func.call' decides which ops run"
// REDEFINE: %{entry} = blocks
// RUN: %{run} --check-prefix=BLOCKS
// BLOCKS: "bytes_unknown": "the function has several blocks"
// REDEFINE: %{entry} = sized
// RUN: %{run} --check-prefix=SIZED
// SIZED: "bytes_unknown": "the size of a tensor is not known before the run"

// RUN: moe-run %s --entry=rows | FileCheck %s --check-prefix=TEXT
// TEXT: ms, 0.0 MB (0.0 of weights) at {{[0-9.]+}} GB/s

func.func @rows(%x: tensor<7x8xbf16>, %w: tensor<3x4x8xbf16>,
                %b: tensor<3x4xf32>, %y: tensor<7x4xbf16>) -> tensor<7x4xbf16> {
  %g = arith.constant dense<[0, 0, 3, 5]> : tensor<4xi32>
  %0 = moe.grouped_matmul
      ins(%x, %w, %g : tensor<7x8xbf16>, tensor<3x4x8xbf16>, tensor<4xi32>)
      bias(%b : tensor<3x4xf32>)
      outs(%y : tensor<7x4xbf16>) -> tensor<7x4xbf16>
  return %0 : tensor<7x4xbf16>
}

func.func @swapped(%x: tensor<8x7xbf16>, %w: tensor<3x8x4xbf16>,
                   %b: tensor<3x4xf32>, %y: tensor<4x7xbf16>)
    -> tensor<4x7xbf16> {
  %g = arith.constant dense<[0, 3, 2]> : tensor<3xi64>
  %0 = moe.grouped_matmul_swapped {
      weight_layout = #moe.weight_layout<kn>,
      group_kind = #moe.group_kind<sizes>}
      ins(%w, %x, %g : tensor<3x8x4xbf16>, tensor<8x7xbf16>, tensor<3xi64>)
      bias(%b : tensor<3x4xf32>)
      outs(%y : tensor<4x7xbf16>) -> tensor<4x7xbf16>
  return %0 : tensor<4x7xbf16>
}

func.func @indexed(%x: tensor<3x8xbf16>, %w: tensor<3x4x8xbf16>,
                   %y: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %g = arith.constant dense<[0, 0, 3, 5]> : tensor<4xi32>
  %read = arith.constant dense<[1, 1, 2, -1, 0]> : tensor<5xi32>
  %write = arith.constant dense<[3, 2, 6, 1, 0]> : tensor<5xi32>
  %0 = moe.grouped_matmul
      ins(%x, %w, %g : tensor<3x8xbf16>, tensor<3x4x8xbf16>, tensor<4xi32>)
      gather(%read : tensor<5xi32>) scatter(%write : tensor<5xi32>)
      outs(%y : tensor<6x4xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}

func.func @empty(%x: tensor<7x8xbf16>, %w: tensor<3x4x8xbf16>,
                 %y: tensor<7x4xbf16>) -> tensor<7x4xbf16> {
  %g = arith.constant dense<4> : tensor<4xi32>
  %0 = moe.grouped_matmul
      ins(%x, %w, %g : tensor<7x8xbf16>, tensor<3x4x8xbf16>, tensor<4xi32>)
      outs(%y : tensor<7x4xbf16>) -> tensor<7x4xbf16>
  return %0 : tensor<7x4xbf16>
}

func.func @layer(%x: tensor<3x8xbf16>, %p: tensor<3x2xf32>,
                 %gate_up: tensor<4x6x8xbf16>, %down: tensor<4x8x3xbf16>,
                 %gate_up_bias: tensor<4x6xf32>, %down_bias: tensor<4x8xf32>)
    -> tensor<3x8xbf16> {
  %i = arith.constant dense<[[0, 2], [9, -1], [2, 9]]> : tensor<3x2xi32>
  %init = tensor.empty() : tensor<3x8xbf16>
  %y = moe.experts {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %i, %p, %gate_up, %down
          : tensor<3x8xbf16>, tensor<3x2xi32>, tensor<3x2xf32>,
            tensor<4x6x8xbf16>, tensor<4x8x3xbf16>)
      gate_up_bias(%gate_up_bias : tensor<4x6xf32>)
      down_bias(%down_bias : tensor<4x8xf32>)
      outs(%init : tensor<3x8xbf16>) -> tensor<3x8xbf16>
  return %y : tensor<3x8xbf16>
}

func.func @routed(%x: tensor<2x8xf32>, %w: tensor<4x4x8xf32>) -> tensor<2x4xf32> {
  %logits = arith.constant dense<[[0.0, 1.0, -1.0, 2.0], [0.0, 3.0, 1.0, 2.0]]>
      : tensor<2x4xf32>
  %p0 = tensor.empty() : tensor<2x2xf32>
  %i0 = tensor.empty() : tensor<2x2xi32>
  %p, %i = moe.route ins(%logits : tensor<2x4xf32>)
      outs(%p0, %i0 : tensor<2x2xf32>, tensor<2x2xi32>)
      -> tensor<2x2xf32>, tensor<2x2xi32>
  %t0 = tensor.empty() : tensor<4xi32>
  %r0 = tensor.empty() : tensor<2x2xi32>
  %o0 = tensor.empty() : tensor<5xi32>
  %tokens, %rows, %offsets = moe.dispatch ins(%i : tensor<2x2xi32>)
      outs(%t0, %r0, %o0 : tensor<4xi32>, tensor<2x2xi32>, tensor<5xi32>)
      -> tensor<4xi32>, tensor<2x2xi32>, tensor<5xi32>
  %h0 = tensor.empty() : tensor<4x4xf32>
  %h = moe.grouped_matmul
      ins(%x, %w, %offsets : tensor<2x8xf32>, tensor<4x4x8xf32>, tensor<5xi32>)
      gather(%tokens : tensor<4xi32>)
      outs(%h0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %y0 = tensor.empty() : tensor<2x4xf32>
  %y = moe.combine ins(%h, %rows : tensor<4x4xf32>, tensor<2x2xi32>)
      weights(%p : tensor<2x2xf32>)
      outs(%y0 : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// The first matmul makes the logits of the second.
func.func @twice(%x: tensor<4x8xf32>, %w: tensor<1x4x8xf32>,
                 %w2: tensor<4x4x8xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %all = arith.constant dense<4> : tensor<1xi32>
  %logits = moe.grouped_matmul {group_kind = #moe.group_kind<sizes>}
      ins(%x, %w, %all : tensor<4x8xf32>, tensor<1x4x8xf32>, tensor<1xi32>)
      outs(%y : tensor<4x4xf32>) -> tensor<4x4xf32>
  %p0 = tensor.empty() : tensor<4x1xf32>
  %i0 = tensor.empty() : tensor<4x1xi32>
  %p, %i = moe.route ins(%logits : tensor<4x4xf32>)
      outs(%p0, %i0 : tensor<4x1xf32>, tensor<4x1xi32>)
      -> tensor<4x1xf32>, tensor<4x1xi32>
  %t0 = tensor.empty() : tensor<4xi32>
  %r0 = tensor.empty() : tensor<4x1xi32>
  %o0 = tensor.empty() : tensor<5xi32>
  %tokens, %rows, %offsets = moe.dispatch ins(%i : tensor<4x1xi32>)
      outs(%t0, %r0, %o0 : tensor<4xi32>, tensor<4x1xi32>, tensor<5xi32>)
      -> tensor<4xi32>, tensor<4x1xi32>, tensor<5xi32>
  %0 = moe.grouped_matmul
      ins(%x, %w2, %offsets : tensor<4x8xf32>, tensor<4x4x8xf32>, tensor<5xi32>)
      gather(%tokens : tensor<4xi32>)
      outs(%y : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

func.func @branch(%x: tensor<7x8xbf16>, %w: tensor<3x4x8xbf16>,
                  %y: tensor<7x4xbf16>) -> tensor<7x4xbf16> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %rows = tensor.dim %x, %c0 : tensor<7x8xbf16>
  %many = arith.cmpi ugt, %rows, %c4 : index
  %0 = scf.if %many -> tensor<7x4xbf16> {
    %g = arith.constant dense<[0, 0, 3, 5]> : tensor<4xi32>
    %1 = moe.grouped_matmul
        ins(%x, %w, %g : tensor<7x8xbf16>, tensor<3x4x8xbf16>, tensor<4xi32>)
        outs(%y : tensor<7x4xbf16>) -> tensor<7x4xbf16>
    scf.yield %1 : tensor<7x4xbf16>
  } else {
    scf.yield %y : tensor<7x4xbf16>
  }
  return %0 : tensor<7x4xbf16>
}

func.func @called(%x: tensor<7x8xbf16>, %w: tensor<3x4x8xbf16>,
                  %b: tensor<3x4xf32>, %y: tensor<7x4xbf16>) -> tensor<7x4xbf16> {
  %0 = call @rows(%x, %w, %b, %y)
      : (tensor<7x8xbf16>, tensor<3x4x8xbf16>, tensor<3x4xf32>, tensor<7x4xbf16>)
      -> tensor<7x4xbf16>
  return %0 : tensor<7x4xbf16>
}

func.func @blocks(%x: tensor<7x8xbf16>) -> tensor<7x8xbf16> {
  cf.br ^end
^end:
  return %x : tensor<7x8xbf16>
}

func.func @sized(%x: tensor<7x8xbf16>, %w: tensor<3x4x8xbf16>)
    -> tensor<7x4xbf16> {
  %g = arith.constant dense<[0, 0, 3, 5]> : tensor<4xi32>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %0 = tensor.dim %w, %c0 : tensor<3x4x8xbf16>
  %1 = arith.addi %0, %c4 : index
  %init = tensor.empty(%1) : tensor<?x4xbf16>
  %y = moe.grouped_matmul
      ins(%x, %w, %g : tensor<7x8xbf16>, tensor<3x4x8xbf16>, tensor<4xi32>)
      outs(%init : tensor<?x4xbf16>) -> tensor<?x4xbf16>
  %cast = tensor.cast %y : tensor<?x4xbf16> to tensor<7x4xbf16>
  return %cast : tensor<7x4xbf16>
}
