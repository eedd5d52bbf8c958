//===- RuntimeOpVerification.h - Run-time checks of moe ops -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_DIALECT_MOE_IR_RUNTIMEOPVERIFICATION_H
#define MOE_DIALECT_MOE_IR_RUNTIMEOPVERIFICATION_H

namespace mlir {
class DialectRegistry;

namespace moe {

/// Attaches RuntimeVerifiableOpInterface to both grouped matmuls: the checks
/// that `--generate-runtime-verification` puts before them. Sizes that must
/// agree do; offsets lie in [0, R] and do not decrease; sizes of groups are not
/// negative and at most R in sum. The ops themselves clamp such groups, so that
/// a wrong one, most likely a mistake, goes unnoticed without the checks.
void registerRuntimeVerifiableOpInterfaceExternalModels(
    DialectRegistry &registry);

} // namespace moe
} // namespace mlir

#endif // MOE_DIALECT_MOE_IR_RUNTIMEOPVERIFICATION_H
