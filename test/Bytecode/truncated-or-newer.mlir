// Bytecode that is cut off, or written by a newer MLIR, is an error that says so.

// RUN: moe-opt %s --emit-bytecode -o %t
// RUN: moe-opt %t | FileCheck %s
// CHECK: moe.grouped_matmul

// RUN: head -c 40 %t > %t.head
// RUN: not moe-opt %t.head 2>&1 | FileCheck %s --check-prefix=HEAD
// RUN: head -c -20 %t > %t.tail
// RUN: not moe-opt %t.tail 2>&1 | FileCheck %s --check-prefix=TAIL
// HEAD: error: attempting to parse
// TAIL: error: attempting to parse

// The version is in the byte behind the magic number.
// RUN: %python -c "d = bytearray(open(r'%t', 'rb').read()); d[4] = 255; open(r'%t.newer', 'wb').write(d)"
// RUN: not moe-opt %t.newer 2>&1 | FileCheck %s --check-prefix=NEWER
// NEWER: error: bytecode version 127 is newer than the current version

func.func @down(%x: tensor<64x768xbf16>, %w: tensor<128x2048x768xbf16>,
                %off: tensor<129xi32>,
                %y: tensor<64x2048xbf16>) -> tensor<64x2048xbf16> {
  %0 = moe.grouped_matmul {expected_tokens = array<i64: 4>}
      ins(%x, %w, %off : tensor<64x768xbf16>, tensor<128x2048x768xbf16>,
                         tensor<129xi32>)
      outs(%y : tensor<64x2048xbf16>) -> tensor<64x2048xbf16>
  return %0 : tensor<64x2048xbf16>
}
