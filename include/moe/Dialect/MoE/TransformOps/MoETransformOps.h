//===- MoETransformOps.h - transform ops for moe ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_DIALECT_MOE_TRANSFORMOPS_MOETRANSFORMOPS_H
#define MOE_DIALECT_MOE_TRANSFORMOPS_MOETRANSFORMOPS_H

#include "moe/Dialect/MoE/IR/MoE.h"

#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "moe/Dialect/MoE/TransformOps/MoETransformOps.h.inc"

namespace mlir {
class DialectRegistry;

namespace moe {
/// Adds the extension of the transform dialect with the ops on `moe` ops.
void registerTransformDialectExtension(DialectRegistry &registry);
} // namespace moe
} // namespace mlir

#endif // MOE_DIALECT_MOE_TRANSFORMOPS_MOETRANSFORMOPS_H
