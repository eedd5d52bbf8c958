//===- CrashGuard.cpp - Turn an abort into an error -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Support/CrashGuard.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace mlir;

/// The parser, the printer and the verifiers recurse with the nesting of the
/// IR, which is the input's choice.
static constexpr unsigned kStackBytes = 512u << 20;

/// The number of bytes written to the standard streams.
static uint64_t countOutput() {
  return llvm::outs().tell() + llvm::errs().tell();
}

int mlir::moe::runGuarded(llvm::StringRef toolName,
                          llvm::function_ref<int()> body) {
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext context;
  int status = EXIT_FAILURE;
  uint64_t printed = countOutput();
  if (context.RunSafelyOnThread([&] { status = body(); }, kStackBytes)) {
    // MLIR's bytecode reader does that to some corrupt files.
    if (status != EXIT_SUCCESS && countOutput() == printed)
      llvm::errs() << toolName
                   << ": error: failed without a diagnostic; the input may be "
                      "corrupt\n";
    return status;
  }

  llvm::outs().flush();
  llvm::errs() << toolName
               << ": error: the compiler aborted on this input (code "
               << context.RetCode
               << "); any message above is from the component that did. "
                  "No output was written; please report the input as a bug\n";
  llvm::errs().flush();
  llvm::sys::RunInterruptHandlers();
  std::_Exit(EXIT_FAILURE);
}

llvm::SmallVector<char *> mlir::moe::getSingleThreadedArgs(int argc,
                                                           char **argv) {
  static char option[] = "--mlir-disable-threading";
  llvm::SmallVector<char *> args(argv, argv + argc);
  for (llvm::StringRef arg : llvm::drop_begin(args))
    if (arg.ltrim('-').split('=').first == "mlir-disable-threading")
      return args;
  args.insert(args.begin() + 1, option);
  return args;
}
