//===- Npy.h - NumPy array files --------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_EXECUTION_NPY_H
#define MOE_EXECUTION_NPY_H

#include "moe/Execution/HostTensor.h"

namespace mlir::moe {

/// Reads a .npy file as a tensor of `kind` elements. Float files (f2, f4, f8)
/// are rounded to a float kind. Integer files (i4, i8) go to an integer kind
/// if every value fits. A file of u2 holds bit patterns of `bits`, which must
/// then be `kind` (f16 or bf16). Fails with a message that names the file.
llvm::Expected<HostTensor> readNpy(StringRef path, ElementKind kind,
                                   std::optional<ElementKind> bits);

/// Writes `tensor` as a .npy file: f32, i32 and i64 as they are; f16 and bf16
/// as u2 bit patterns if `asBits`, else as f32.
llvm::Error writeNpy(StringRef path, const HostTensor &tensor, bool asBits);

} // namespace mlir::moe

#endif // MOE_EXECUTION_NPY_H
