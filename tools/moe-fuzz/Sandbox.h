//===- Sandbox.h - run inputs where a crash does no harm --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A crash leaves locks held and data half changed, and a sanitizer's finding
// ends the process. So inputs run in forked children of this process, many in
// each one; what a child was doing when it died is in memory that both share.
//
//===----------------------------------------------------------------------===//

#ifndef MOE_TOOLS_MOEFUZZ_SANDBOX_H
#define MOE_TOOLS_MOEFUZZ_SANDBOX_H

#include "mlir/Support/LLVM.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace mlir::moe::fuzz {

/// What a child tells its parent. It is plain data in shared memory.
struct ChildState {
  static constexpr size_t kMaxText = 1024;
  static constexpr size_t kMaxInput = 1u << 20;
  static constexpr size_t kMaxFrames = 256;

  /// The input that the child works on.
  uint64_t index;
  /// Whether it is still being made.
  bool generating;
  char stage[kMaxText];
  char pipeline[kMaxText];
  size_t inputSize;
  char input[kMaxInput];

  /// Inputs by their Outcome.
  uint64_t outcomes[4];

  /// A bug without a crash.
  char bug[kMaxText];

  /// The signal that ended the child, 0 if it called exit(), and its stack, the
  /// innermost frame first.
  int signal;
  size_t numFrames;
  void *frames[kMaxFrames];

  StringRef getInput() const { return StringRef(input, inputSize); }
  void setInput(StringRef text);
  void setStage(StringRef text);
  void setPipeline(StringRef text);
  void setBug(StringRef text);
};

/// How a child ended.
enum class ChildEnd {
  /// All was well.
  Done,
  /// It reported ChildState::bug.
  Bug,
  /// A signal or a call of exit(); the stack is in ChildState.
  Crash,
  /// It used up the time of one input; the stack is in ChildState.
  Timeout,
  /// It died without a word.
  Killed
};

class Sandbox {
public:
  /// Each input may take `cpuSeconds` of processor time, and memory up to
  /// `memoryMiB`.
  static llvm::Expected<Sandbox> create(unsigned cpuSeconds,
                                        unsigned memoryMiB);

  ChildState &getState() { return *state; }

  /// Runs `body` in a child. It is to call startInput() before each input and
  /// to return whether all was well; false means ChildState::bug.
  ChildEnd run(llvm::function_ref<bool()> body);

  /// Restarts the clock of the input in the child.
  void startInput();

  /// What the last child wrote to standard error: the reports of sanitizers and
  /// of LLVM's fatal errors.
  std::string getErrorOutput();

private:
  Sandbox() = default;
  [[noreturn]] void runChild(llvm::function_ref<bool()> body);

  ChildState *state = nullptr;
  int errorFile = -1;
  unsigned cpuSeconds = 0;
  unsigned memoryMiB = 0;
};

} // namespace mlir::moe::fuzz

#endif // MOE_TOOLS_MOEFUZZ_SANDBOX_H
