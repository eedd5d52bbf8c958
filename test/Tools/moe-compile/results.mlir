// The launch file names the argument that holds each result.

// RUN: moe-compile %s --entry=in_place -o %t.ptx
// RUN: FileCheck %s --check-prefix=IN-PLACE < %t.json
// RUN: moe-compile %s --entry=own -o %t.ptx
// RUN: FileCheck %s --check-prefix=OWN < %t.json
// RUN: moe-compile %s --entry=several -o %t.ptx
// RUN: FileCheck %s --check-prefix=SEVERAL < %t.json

// An operand that is written in place is the result: no fifth argument.
// IN-PLACE: "access": "readwrite"
// IN-PLACE-NEXT: "element_type": "f32"
// IN-PLACE-NEXT: "name": "arg3"
// IN-PLACE-NOT: "name":
// IN-PLACE: "results": [
// IN-PLACE-NEXT: 3
// IN-PLACE-NEXT: ]
func.func @in_place(%x: tensor<?x64xbf16>, %w: tensor<4x72x64xbf16>,
                    %off: tensor<5xi32>, %y: tensor<?x72xf32>)
    -> tensor<?x72xf32> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<?x64xbf16>, tensor<4x72x64xbf16>, tensor<5xi32>)
      outs(%y : tensor<?x72xf32>) -> tensor<?x72xf32>
  return %0 : tensor<?x72xf32>
}

// OWN-NOT: "readwrite"
// OWN: "access": "write"
// OWN-NEXT: "element_type": "f32"
// OWN-NEXT: "name": "result0"
// OWN: "results": [
// OWN-NEXT: 3
// OWN-NEXT: ]
func.func @own(%x: tensor<?x64xbf16>, %w: tensor<4x72x64xbf16>,
               %off: tensor<5xi32>) -> tensor<?x72xf32> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %y = tensor.empty(%rows) : tensor<?x72xf32>
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<?x64xbf16>, tensor<4x72x64xbf16>, tensor<5xi32>)
      outs(%y : tensor<?x72xf32>) -> tensor<?x72xf32>
  return %0 : tensor<?x72xf32>
}

// An operand that is returned as it is, one result in place, and twice one of
// its own.
// SEVERAL: "access": "readwrite"
// SEVERAL-NEXT: "element_type": "bf16"
// SEVERAL-NEXT: "name": "arg0"
// SEVERAL: "access": "read",
// SEVERAL-NEXT: "element_type": "bf16"
// SEVERAL-NEXT: "name": "arg1"
// SEVERAL: "access": "readwrite"
// SEVERAL-NEXT: "element_type": "bf16"
// SEVERAL-NEXT: "name": "arg3"
// SEVERAL: "access": "write"
// SEVERAL-NEXT: "element_type": "f32"
// SEVERAL-NEXT: "name": "result0"
// SEVERAL-NOT: "name":
// SEVERAL: "results": [
// SEVERAL-NEXT: 4,
// SEVERAL-NEXT: 0,
// SEVERAL-NEXT: 3,
// SEVERAL-NEXT: 4
// SEVERAL-NEXT: ]
func.func @several(%x: tensor<8x64xbf16>, %w: tensor<4x72x64xbf16>,
                   %off: tensor<5xi32>, %y: tensor<8x72xbf16>)
    -> (tensor<8x72xf32>, tensor<8x64xbf16>, tensor<8x72xbf16>,
        tensor<8x72xf32>) {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<8x64xbf16>, tensor<4x72x64xbf16>, tensor<5xi32>)
      outs(%y : tensor<8x72xbf16>) -> tensor<8x72xbf16>
  %z = tensor.empty() : tensor<8x72xf32>
  %1 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<8x64xbf16>, tensor<4x72x64xbf16>, tensor<5xi32>)
      outs(%z : tensor<8x72xf32>) -> tensor<8x72xf32>
  return %1, %x, %0, %1
      : tensor<8x72xf32>, tensor<8x64xbf16>, tensor<8x72xbf16>, tensor<8x72xf32>
}
