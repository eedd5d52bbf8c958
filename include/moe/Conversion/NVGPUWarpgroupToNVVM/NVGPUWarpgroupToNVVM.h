//===- NVGPUWarpgroupToNVVM.h - nvgpu.warpgroup.* to NVVM -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_CONVERSION_NVGPUWARPGROUPTONVVM_NVGPUWARPGROUPTONVVM_H
#define MOE_CONVERSION_NVGPUWARPGROUPTONVVM_NVGPUWARPGROUPTONVVM_H

#include "mlir/IR/PatternMatch.h"

namespace mlir {
class LLVMTypeConverter;
class RewritePatternSet;
class Value;

namespace moe {

/// Adds to `converter` how this project represents the types of
/// nvgpu.warpgroup ops: a matrix descriptor as its low 32-bit word, an
/// accumulator as a struct of one struct of f32 registers for every 64 rows.
void populateNVGPUWarpgroupTypeConversions(LLVMTypeConverter &converter);

/// Adds the patterns that lower nvgpu.warpgroup.generate.descriptor, .mma and
/// .mma.init.accumulator, to be used with a converter set up by
/// populateNVGPUWarpgroupTypeConversions.
void populateNVGPUWarpgroupToNVVMPatterns(const LLVMTypeConverter &converter,
                                          RewritePatternSet &patterns);

/// Returns `accumulator`, a struct of structs of f32, passed through an empty
/// volatile inline assembly that reads and writes every register of it.
///
/// LLVM treats arithmetic on registers as free to move across the wgmma fence
/// and wait instructions, which order registers too. The barrier pins the
/// accumulator to its place among them.
Value createAccumulatorBarrier(OpBuilder &builder, Location loc,
                               Value accumulator);

/// Returns `accumulator` copied to registers of its own, pinned to its place
/// just so.
///
/// Where a kernel has accumulators of several widths, LLVM merges the code that
/// follows them, and with it registers; ptxas serialises matrix instructions of
/// which a register is the third of one accumulator and the seventh of another
/// (C7511). Of the copies any may be merged.
Value createAccumulatorCopy(OpBuilder &builder, Location loc,
                            Value accumulator);

} // namespace moe
} // namespace mlir

#endif // MOE_CONVERSION_NVGPUWARPGROUPTONVVM_NVGPUWARPGROUPTONVVM_H
