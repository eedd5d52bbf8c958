//===- Executor.h - run one input as moe-opt would --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_TOOLS_MOEFUZZ_EXECUTOR_H
#define MOE_TOOLS_MOEFUZZ_EXECUTOR_H

#include "moe/Pipelines/GPUPipeline.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/LLVM.h"

#include <functional>
#include <string>

namespace mlir::moe::fuzz {

/// How far an input got.
enum class Outcome {
  /// The parser or a verifier refused it.
  Refused,
  /// It is valid, and a pass refused it.
  Failed,
  /// It is valid and went through all passes.
  Passed,
  /// What happened is a bug; see Result::bug.
  Bug
};

struct Result {
  Outcome outcome;
  /// What went wrong, in one line: a failure without a diagnostic, a pass of
  /// this project that made invalid IR, or IR that does not survive a round
  /// trip.
  std::string bug;
};

/// Parses, verifies, prints and transforms inputs.
class Executor {
public:
  /// `stage` is called with the name of each stage before it starts: `parse`
  /// or `read bytecode`, `verify`, `print`, `round trip`, a pass, or
  /// `moe-compile`, `launch file` and `object file`.
  explicit Executor(std::function<void(StringRef)> stage);

  /// Runs `pipeline`, a textual pass pipeline without `builtin.module`, on
  /// `input`, which is text or bytecode. A valid module must be the same after
  /// printing and parsing, as text and as bytecode; inputs in bytecode, which
  /// can hold what text cannot, as bytecode only.
  ///
  /// A pipeline that starts with `moe-compile` is a command line of that tool,
  /// with the options of the pipeline `moe-to-nvgpu` and `--emit`. Emitting
  /// `nvgpu` also makes launch files, of all functions.
  Result run(StringRef input, StringRef pipeline);

  const DialectRegistry &getRegistry() const { return registry; }

private:
  LogicalResult compile(ModuleOp module, StringRef commandLine);
  LogicalResult emit(ModuleOp module, StringRef kind,
                     const GPUPipelineOptions &options);

  DialectRegistry registry;
  std::function<void(StringRef)> stage;
};

} // namespace mlir::moe::fuzz

#endif // MOE_TOOLS_MOEFUZZ_EXECUTOR_H
