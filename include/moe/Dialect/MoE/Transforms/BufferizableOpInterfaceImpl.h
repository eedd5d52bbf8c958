//===- BufferizableOpInterfaceImpl.h - bufferize moe ops --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_DIALECT_MOE_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define MOE_DIALECT_MOE_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;

namespace moe {

/// Lets one-shot-bufferize bufferize every destination-style op of the dialect:
/// result `i` is the buffer of destination `i`, all other operands are only
/// read.
void registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry);

} // namespace moe
} // namespace mlir

#endif // MOE_DIALECT_MOE_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
