//===- Executor.h - run a compiled function ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_EXECUTION_EXECUTOR_H
#define MOE_EXECUTION_EXECUTOR_H

#include "moe/Execution/HostTensor.h"

#include <string>
#include <vector>

namespace mlir {
class ModuleOp;

namespace moe {

/// What running a function gave.
struct RunResult {
  /// The results of the last run.
  std::vector<HostTensor> results;
  /// Wall time of each run in milliseconds, without transfers of inputs and
  /// results, and without putting back what an earlier run has changed.
  std::vector<double> milliseconds;
};

/// A function compiled for one device.
class Executor {
public:
  virtual ~Executor();

  /// A name of the device for people, e.g. `cpu, 8 threads`.
  virtual std::string getDeviceName() const = 0;

  /// Runs the function `repeat` times (at least once) on `inputs`, one tensor
  /// for each argument, and leaves them unchanged: every run, also of a
  /// function that writes a result over an argument, starts from them.
  virtual llvm::Expected<RunResult> run(ArrayRef<const HostTensor *> inputs,
                                        int64_t repeat) = 0;
};

/// The CPU for which CpuExecutor compiles.
struct CpuOptions {
  /// Features to add to or take from those of this machine, as llc's -mattr:
  /// `+avx2`, `-avx512bf16`.
  std::vector<std::string> features;
  /// Whether parallel loops run on threads.
  bool threads = true;
};

/// Lowers `module` in place by the pipeline `moe-to-cpu` and compiles it with
/// LLVM's JIT for this machine. The context must have what
/// registerCompilerDialects (moe/Target/Compile.h) registers. Arguments and
/// results of the function `entry` must be ranked tensors of element types that
/// HostTensor has. Diagnostics of the pipeline go to the context.
llvm::Expected<std::unique_ptr<Executor>>
createCpuExecutor(ModuleOp module, StringRef entry, const CpuOptions &options);

/// A result whose sizes are all known.
struct ResultSpec {
  ElementKind kind;
  SmallVector<int64_t> shape;
};

/// The GPU for which createCudaExecutor compiles.
struct CudaOptions {
  /// Ordinal of the CUDA device.
  int device = 0;
  /// Target of the cost model, as moe-to-nvgpu takes it; empty: its default.
  std::string target;
};

/// Compiles `module`, which is lowered in place, to PTX and loads it on a
/// device through libMoERuntime. `results` describes the results of `entry` for
/// the inputs of later runs. Times are those of a CUDA graph.
llvm::Expected<std::unique_ptr<Executor>>
createCudaExecutor(ModuleOp module, StringRef entry, const CudaOptions &options,
                   ArrayRef<ResultSpec> results);

} // namespace moe
} // namespace mlir

#endif // MOE_EXECUTION_EXECUTOR_H
