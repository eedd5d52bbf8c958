// --entry compiles one function with what it needs, and nothing else.

// One kernel, and no error about an op of another function.
// RUN: moe-compile %s --entry=matmul -o - | FileCheck %s --check-prefix=ONE
// ONE: .visible .entry
// ONE-NOT: .visible .entry

// RUN: not moe-compile %s --entry=unsupported -o - 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ERROR
// ERROR: error: 'other.op' is an op that is not known here

// Helpers stay, also those that only a property of an unknown op or another
// helper names, and so does what is not a function.
// RUN: moe-compile %s --entry=calls --emit=mlir --target=cpu \
// RUN:   | FileCheck %s --check-prefix=NEEDED --implicit-check-not=func.func
// NEEDED: memref.global "private" @data
// NEEDED: func.func private @inner
// NEEDED: func.func private @helper
// NEEDED: func.func @calls

// RUN: not moe-compile %s --entry=nowhere --emit=mlir 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: no function @nowhere with a body

memref.global "private" @data : memref<1xi32> = dense<7>

func.func @matmul(%x: tensor<?x64xbf16>, %w: tensor<4x64x64xbf16>,
                  %off: tensor<5xi32>, %y: tensor<?x64xbf16>)
    -> tensor<?x64xbf16> {
  %0 = moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 64, k = 64,
                                                    stages = 4, warpgroups = 1>}
      ins(%x, %w, %off : tensor<?x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>)
      outs(%y : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return %0 : tensor<?x64xbf16>
}

func.func @wide(%x: tensor<?x64xbf16>, %w: tensor<4x128x64xbf16>,
                %off: tensor<5xi32>, %y: tensor<?x128xbf16>)
    -> tensor<?x128xbf16> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<?x64xbf16>, tensor<4x128x64xbf16>, tensor<5xi32>)
      outs(%y : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  return %0 : tensor<?x128xbf16>
}

func.func @unsupported(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "other.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func private @inner() {
  return
}

func.func private @helper() {
  call @inner() : () -> ()
  return
}

func.func private @unused() {
  call @inner() : () -> ()
  return
}

func.func @calls() {
  "other.call"() <{callees = [{name = @helper}]}> : () -> ()
  return
}
