//===- ValueBoundsOpInterfaceImpl.h - Sizes of moe ops' results -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_DIALECT_MOE_IR_VALUEBOUNDSOPINTERFACEIMPL_H
#define MOE_DIALECT_MOE_IR_VALUEBOUNDSOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;

namespace moe {

/// Attaches ValueBoundsOpInterface to both grouped matmuls. Every
/// destination-style op says that its result has the size of its destination;
/// these say too that its columns are the N of the weights, half of it with a
/// gate, and its rows R, unless they are scattered.
void registerValueBoundsOpInterfaceExternalModels(DialectRegistry &registry);

} // namespace moe
} // namespace mlir

#endif // MOE_DIALECT_MOE_IR_VALUEBOUNDSOPINTERFACEIMPL_H
