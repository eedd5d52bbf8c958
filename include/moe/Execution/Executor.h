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
class DialectRegistry;
class ModuleOp;

namespace moe {

/// What running a function gave.
struct RunResult {
  /// The results of the last run.
  std::vector<HostTensor> results;
  /// Wall time of each run in milliseconds, without transfers of inputs and
  /// results.
  std::vector<double> milliseconds;
};

/// A function compiled for one device.
class Executor {
public:
  virtual ~Executor();

  /// A name of the device for people, e.g. `cpu, 8 threads`.
  virtual std::string getDeviceName() const = 0;

  /// Runs the function `repeat` times (at least once) on `inputs`, one tensor
  /// for each argument, and leaves them unchanged.
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

/// Registers the dialects, interfaces and translations that compiling for a CPU
/// needs, beside the project's own dialects and extensions.
void registerCpuExecutorDialects(DialectRegistry &registry);

/// Lowers `module` in place by the pipeline `moe-to-cpu` and compiles it with
/// LLVM's JIT for this machine. Arguments and results of the function `entry`
/// must be ranked tensors of element types that HostTensor has. Diagnostics of
/// the pipeline go to the context.
llvm::Expected<std::unique_ptr<Executor>>
createCpuExecutor(ModuleOp module, StringRef entry, const CpuOptions &options);

} // namespace moe
} // namespace mlir

#endif // MOE_EXECUTION_EXECUTOR_H
