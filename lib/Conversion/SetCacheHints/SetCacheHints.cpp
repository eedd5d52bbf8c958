//===- SetCacheHints.cpp - how long L2 keeps what TMA loads ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Conversion/SetCacheHints/SetCacheHints.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringSwitch.h"

namespace mlir::moe {
#define GEN_PASS_DEF_SETCACHEHINTS
#include "moe/Conversion/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

/// What `createpolicy.fractional.L2::<hint>.b64` makes for all of an access
/// (PTX ISA); CUTLASS has the same constants (TMA::CacheHintSm90).
static std::optional<int64_t> getPolicy(StringRef hint) {
  return llvm::StringSwitch<std::optional<int64_t>>(hint)
      .Case("evict_first", 0x12F0000000000000)
      .Case("evict_last", 0x14F0000000000000)
      .Default(std::nullopt);
}

namespace {
struct SetCacheHintsPass
    : public moe::impl::SetCacheHintsBase<SetCacheHintsPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](LLVM::LLVMFuncOp func) {
      for (unsigned i = 0; i < func.getNumArguments(); ++i)
        if (failed(setHint(func, i)))
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  /// Gives the loads through argument `index` the hint that it has, if any.
  LogicalResult setHint(LLVM::LLVMFuncOp func, unsigned index) {
    Attribute attribute = func.removeArgAttr(index, kCacheHintAttrName);
    if (!attribute)
      return success();
    auto hint = dyn_cast<StringAttr>(attribute);
    std::optional<int64_t> policy =
        hint ? getPolicy(hint.getValue()) : std::nullopt;
    if (!policy)
      return func.emitOpError("argument ")
             << index << " has " << kCacheHintAttrName << " = " << attribute
             << "; it must be \"evict_first\" or \"evict_last\"";
    if (func.isExternal())
      return success();
    for (Operation *user : func.getArgument(index).getUsers())
      if (auto load =
              dyn_cast<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(user)) {
        ImplicitLocOpBuilder b(load.getLoc(), load);
        load.getL2CacheHintMutable().assign(
            LLVM::ConstantOp::create(b, b.getI64IntegerAttr(*policy)));
        ++numLoads;
      }
    return success();
  }
};
} // namespace
