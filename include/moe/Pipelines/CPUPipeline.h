//===- CPUPipeline.h - from the moe dialect to a CPU ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_PIPELINES_CPUPIPELINE_H
#define MOE_PIPELINES_CPUPIPELINE_H

#include "mlir/Pass/PassOptions.h"

namespace mlir {
class OpPassManager;

namespace moe {

/// Options of the pipeline `moe-to-cpu`.
struct CPUPipelineOptions : public PassPipelineOptions<CPUPipelineOptions> {
  Option<int64_t> vectorLanes{
      *this, "vector-lanes",
      llvm::cl::desc("f32 elements in one vector register of the CPU (a power "
                     "of two from 4 to 32)"),
      llvm::cl::init(8)};
  Option<bool> openmp{
      *this, "openmp",
      llvm::cl::desc("Run parallel loops on threads; the result then needs an "
                     "OpenMP runtime library (libomp)"),
      llvm::cl::init(true)};
};

/// Adds to `pm`, a pass manager of builtin.module, the passes that lower a
/// module on tensors or memrefs to the LLVM dialect for a CPU. Grouped matmuls
/// may be of either orientation, with or without a schedule, and moe.experts
/// may be whole or decomposed.
///
/// A public function `f` can then be called as `_mlir_ciface_f`, with pointers
/// to strided memref descriptors as MLIR's C interface defines them. It does
/// not write the buffers of its tensor arguments; the caller owns the buffers
/// of its tensor results, which come from malloc.
void buildCPUPipeline(OpPassManager &pm, const CPUPipelineOptions &options);

/// Registers the pipeline `moe-to-cpu`.
void registerCPUPipeline();

} // namespace moe
} // namespace mlir

#endif // MOE_PIPELINES_CPUPIPELINE_H
