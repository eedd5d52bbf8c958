//===- Triage.h - whose crash it is -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_TOOLS_MOEFUZZ_TRIAGE_H
#define MOE_TOOLS_MOEFUZZ_TRIAGE_H

#include "mlir/Support/LLVM.h"
#include "llvm/DebugInfo/Symbolize/Symbolize.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace mlir::moe::fuzz {

/// One function of a stack.
struct Frame {
  /// Its demangled name, or the library that it is in.
  std::string name;
  /// Whether its code belongs to this project. Templates of upstream that this
  /// project instantiates do.
  bool isOurs;
};

/// Names the functions of stacks.
class Symbolizer {
public:
  Symbolizer();

  /// The functions of the return addresses `stack`, the innermost first,
  /// without the signal handler's and those that call the passes.
  std::vector<Frame> symbolize(ArrayRef<void *> stack);

private:
  /// The functions at an address: several where the compiler inlined calls.
  ArrayRef<Frame> lookUp(void *address);

  llvm::symbolize::LLVMSymbolizer symbolizer;
  std::map<void *, std::vector<Frame>> cache;
  std::string executable;
};

/// The innermost functions of `frames` that have a name, in one line. Stacks
/// with the same signature are taken for the same crash.
std::string getSignature(ArrayRef<Frame> frames);

/// The crashes of upstream that are known; see upstream-crashes.txt.
class KnownCrashes {
public:
  enum Kind { Crash, Timeout, Bug };

  /// Adds the entries of a file.
  llvm::Error load(StringRef path);

  /// What is known of an event. A Bug has no stack.
  struct Symptoms {
    Kind kind;
    StringRef stage, input, message;
    ArrayRef<Frame> frames;
  };

  /// The name of the entry that an event belongs to, or an empty string.
  StringRef find(const Symptoms &symptoms) const;

private:
  struct Entry {
    std::string name;
    Kind kind;
    /// The stage that it happens in, and parts of the input and the message;
    /// empty means any.
    std::string stage, input, message;
    std::vector<std::string> functions;

    bool matches(const Symptoms &symptoms) const;
  };
  std::vector<Entry> entries;
};

} // namespace mlir::moe::fuzz

#endif // MOE_TOOLS_MOEFUZZ_TRIAGE_H
