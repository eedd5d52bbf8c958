//===- LayerKernels.h - the small kernels of a layer ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of what stands between grouped matmuls: the order of rows, the sum
// over a token's experts, fills and copies. Each builds one llvm.func at the
// end of the builder's block.
//
//===----------------------------------------------------------------------===//

#ifndef LIB_CONVERSION_MOETONVGPU_LAYERKERNELS_H
#define LIB_CONVERSION_MOETONVGPU_LAYERKERNELS_H

#include "KernelBuilder.h"

namespace mlir {
namespace moe {

/// Threads of a block of the pointwise kernels.
inline constexpr int64_t kPointwiseThreads = 256;
/// Threads of the one block of the dispatch kernel.
inline constexpr int64_t kDispatchThreads = 1024;
/// Its shared memory: a sum for each warp.
inline constexpr int64_t kDispatchSharedBytes =
    kDispatchThreads / kWarpThreads * 4;

/// moe.dispatch for `numExperts` experts and top-k `topK`. Parameters: indices
/// (`indexType`), token_of_row, row_of_pair, offsets (i32), number of pairs
/// (i32). Launched as one block.
LLVM::LLVMFuncOp createDispatchKernel(KernelBuilder &b, StringRef name,
                                      IntegerType indexType, int64_t numExperts,
                                      int64_t topK);

/// The element types and sizes of a moe.combine; `weights` may be null.
struct CombineShape {
  FloatType rows, weights, result;
  IntegerType index;
  int64_t topK, columns;
};

/// moe.combine. Parameters: rows, row_of_pair, weights if there are any,
/// result, number of rows (i64), number of result elements (i64). One thread
/// makes one element.
LLVM::LLVMFuncOp createCombineKernel(KernelBuilder &b, StringRef name,
                                     const CombineShape &shape);

/// Writes `value` to every element. Parameters: result, number of elements
/// (i64).
LLVM::LLVMFuncOp createFillKernel(KernelBuilder &b, StringRef name,
                                  TypedAttr value);

/// Copies the rows that a gather names, zeros for those it names none for.
/// Parameters: tokens (`element`, [any x columns]), gather (`index`), result,
/// number of tokens (i64), number of result elements (i64).
LLVM::LLVMFuncOp createGatherKernel(KernelBuilder &b, StringRef name,
                                    FloatType element, IntegerType index,
                                    int64_t columns);

/// Copies elements of `type`. Parameters: source, result, number of elements
/// (i64).
LLVM::LLVMFuncOp createCopyKernel(KernelBuilder &b, StringRef name, Type type);

} // namespace moe
} // namespace mlir

#endif // LIB_CONVERSION_MOETONVGPU_LAYERKERNELS_H
