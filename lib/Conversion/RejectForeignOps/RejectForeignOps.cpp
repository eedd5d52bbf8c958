//===- RejectForeignOps.cpp - report ops that nobody can lower ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::moe {
#define GEN_PASS_DEF_REJECTFOREIGNOPS
#include "moe/Conversion/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;

namespace {
struct RejectForeignOpsPass
    : public moe::impl::RejectForeignOpsBase<RejectForeignOpsPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](Operation *op) {
      if (op->isRegistered())
        return WalkResult::advance();
      op->emitError() << "'" << op->getName()
                      << "' is an op that is not known here, so it has no "
                         "lowering; lower it to upstream dialects before, or "
                         "keep it outside of what is compiled";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
