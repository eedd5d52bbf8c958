//===- LaunchFile.h - describe how kernels are launched ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_TARGET_LAUNCHFILE_H
#define MOE_TARGET_LAUNCHFILE_H

#include "mlir/Support/LLVM.h"
#include "llvm/Support/JSON.h"

namespace mlir {
namespace func {
class FuncOp;
} // namespace func

namespace moe {

/// Describes `function`, a host function of tensor maps and kernel launches as
/// `moe-to-nvgpu` makes it, in the form that docs/abi.md defines and
/// libMoERuntime launches. `image` is the file name of the compiled kernels,
/// beside the launch file.
///
/// The function's memref arguments become the program's arguments, in order;
/// memrefs that it allocates and returns become arguments after them, the
/// others temporaries. Returning an argument adds nothing. An op that the
/// launch file cannot express is an error on that op.
FailureOr<llvm::json::Value> createLaunchFile(func::FuncOp function,
                                              StringRef image);

} // namespace moe
} // namespace mlir

#endif // MOE_TARGET_LAUNCHFILE_H
