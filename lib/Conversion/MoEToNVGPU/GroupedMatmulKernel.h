//===- GroupedMatmulKernel.h - one launch a grouped matmul ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_CONVERSION_MOETONVGPU_GROUPEDMATMULKERNEL_H
#define LIB_CONVERSION_MOETONVGPU_GROUPEDMATMULKERNEL_H

#include "KernelBuilder.h"

namespace mlir {
namespace moe {

/// Name of the global that stands for a block's dynamic shared memory.
inline constexpr llvm::StringLiteral kSharedMemoryName = "moe_shared_memory";

/// Builds the kernel of `plan` as function `name` at the end of the builder's
/// block. Parameters: weight map, a token map for each of the plan's token
/// tiles, groups, then those of bias, gather, scale and scatter that the plan
/// has, result, R (i32), and with scatter the number of result rows (i32).
LLVM::LLVMFuncOp createGroupedMatmulKernel(KernelBuilder &b,
                                           const KernelPlan &plan,
                                           StringRef name);

/// Declares dynamic shared memory at the builder's insertion point: external,
/// aligned to the 1024 bytes that the 128-byte swizzle needs.
void createSharedMemory(OpBuilder &builder, Location loc);

} // namespace moe
} // namespace mlir

#endif // LIB_CONVERSION_MOETONVGPU_GROUPEDMATMULKERNEL_H
