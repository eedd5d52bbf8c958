//===- CrashGuard.h - Turn an abort into an error ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Well-formed IR can make an upstream pass or an LLVM backend abort. A tool
// whose input comes from somebody else must answer with an error instead.
//
//===----------------------------------------------------------------------===//

#ifndef MOE_SUPPORT_CRASHGUARD_H
#define MOE_SUPPORT_CRASHGUARD_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::moe {

/// Runs `body` and returns its result, the exit status of the tool `toolName`.
///
/// A body that fails without a word gets an error that says so.
///
/// If `body` aborts, faults or reports a fatal LLVM error, prints an error that
/// names the tool, removes the output files registered with LLVM, and ends the
/// process with exit status 1 at once: locks may be held and data structures
/// half changed, so not even destructors of static objects may run.
///
/// The guard belongs to the calling thread. A crash on another thread ends the
/// process by its signal, so keep code generation on the calling thread and
/// turn MLIR's threading off; see getSingleThreadedArgs.
int runGuarded(llvm::StringRef toolName, llvm::function_ref<int()> body);

/// Copies the command line `argv` of a tool built on MlirOptMain and turns
/// MLIR's threading off, unless the command line itself sets the option
/// `--mlir-disable-threading`.
llvm::SmallVector<char *> getSingleThreadedArgs(int argc, char **argv);

} // namespace mlir::moe

#endif // MOE_SUPPORT_CRASHGUARD_H
