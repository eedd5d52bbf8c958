//===- IRMutator.h - changes to parsed IR and to bytecode -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_TOOLS_MOEFUZZ_IRMUTATOR_H
#define MOE_TOOLS_MOEFUZZ_IRMUTATOR_H

#include "Random.h"

#include "mlir/Support/LLVM.h"

#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace mlir::moe::fuzz {

/// Changes `module` in one or a few ways that text does not reach easily:
/// attributes, types, operands and ops of the IR are changed, dropped, doubled
/// or moved. The result need not be valid; print it in generic form.
void mutateIR(ModuleOp module, Random &random);

/// The bytecode of `module`.
std::string writeBytecode(ModuleOp module);

/// Truncates `bytecode`, flips bits of it, or gives it another version.
std::string mutateBytecode(std::string bytecode, Random &random);

} // namespace mlir::moe::fuzz

#endif // MOE_TOOLS_MOEFUZZ_IRMUTATOR_H
