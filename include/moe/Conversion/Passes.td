//===- Passes.td - conversions from and to the moe dialect -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_CONVERSION_PASSES_TD
#define MOE_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// MoEToLinalg
//===----------------------------------------------------------------------===//

def ConvertMoEToLinalg : Pass<"convert-moe-to-linalg"> {
  let summary = "Lower moe ops on memrefs to parallel loops for a CPU";
  let description = [{
    Replaces `moe.grouped_matmul` and `moe.grouped_matmul_swapped`, in every
    layout, by loops of the `scf`, `vector`, `arith`, `math` and `memref`
    dialects. The outermost loop is an `scf.parallel` over (block of result
    columns, expert), whose iterations write disjoint parts of the result; one
    iteration reads the weights of its block once for every eight tokens of its
    expert. Sums are in f32 and in an order that depends on the shapes and
    `vector-lanes` only, so runs agree bit for bit. Nothing is read or written
    outside the operands, whatever `groups`, `gather` and `scatter` hold.

    The pass works on memrefs, so that a row may be written where `scatter`
    says, and the parallel loop needs no proof that tensors are disjoint: run
    one-shot-bufferize first. A moe op that it cannot lower is an error that
    names the op.

    Example:

    ```
    moe-opt --one-shot-bufferize=bufferize-function-boundaries \
            --convert-moe-to-linalg
    ```
  }];
  let options = [
    Option<"vectorLanes", "vector-lanes", "int64_t", "8",
           "f32 elements in one vector register of the CPU (a power of two "
           "from 4 to 32): 16 with AVX-512, 8 with AVX2, 4 with SSE or NEON">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

//===----------------------------------------------------------------------===//
// Host interface
//===----------------------------------------------------------------------===//

def SetHostInterface : Pass<"moe-set-host-interface", "::mlir::ModuleOp"> {
  let summary = "Give public functions the calling convention of the host";
  let description = [{
    Marks every public function with a body for callers outside the module,
    before bufferization: `llvm.emit_c_interface`, and
    `bufferization.writable = false` on its tensor arguments, so that a caller's
    buffers are read and never written, as tensor arguments are values.
  }];
}

#endif // MOE_CONVERSION_PASSES_TD
