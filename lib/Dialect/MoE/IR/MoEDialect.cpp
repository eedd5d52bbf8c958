//===- MoEDialect.cpp - the moe dialect and its attributes ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/IR/MoE.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::moe;

#include "moe/Dialect/MoE/IR/MoEDialect.cpp.inc"
#include "moe/Dialect/MoE/IR/MoEEnums.cpp.inc"
#include "moe/Dialect/MoE/IR/MoEInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "moe/Dialect/MoE/IR/MoEAttrs.cpp.inc"

namespace {
/// Every op of the dialect may be inlined anywhere: none has regions or
/// depends on the function that holds it.
struct MoEInlinerInterface : public DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void MoEDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "moe/Dialect/MoE/IR/MoEOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "moe/Dialect/MoE/IR/MoEAttrs.cpp.inc"
      >();
  addInterfaces<MoEInlinerInterface>();
}

LogicalResult MoEDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  if (attribute.getName() != TargetAttr::getAttrName() ||
      isa<TargetAttr>(attribute.getValue()))
    return success();
  return op->emitError() << "attribute '" << attribute.getName().getValue()
                         << "' must be a #moe.target, got "
                         << attribute.getValue();
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t m, int64_t n, int64_t k,
                                   int64_t stages, int64_t warpgroups,
                                   ScheduleAttr large) {
  if (warpgroups < 1 || warpgroups > 3)
    return emitError() << "schedule needs 1 to 3 consumer warpgroups, got "
                       << warpgroups;
  if (m < 1 || m % (8 * warpgroups) != 0)
    return emitError() << "schedule needs m to be a multiple of 8 rows for "
                          "each of "
                       << warpgroups << " warpgroups, got " << m;
  if (n < 8 || n > 256 || n % 8 != 0)
    return emitError() << "schedule needs n to be a multiple of 8 from 8 to "
                          "256, got "
                       << n;
  if (k != 64)
    return emitError() << "schedule needs k = 64 (one row of the 128-byte "
                          "swizzle), got "
                       << k;
  if (stages < 2 || stages > 32)
    return emitError() << "schedule needs 2 to 32 stages, got " << stages;
  if (large && large.getLarge())
    return emitError() << "schedule of large groups has a schedule of large "
                          "groups itself; remove the inner one";
  if (large && large.getN() <= n)
    return emitError() << "schedule of large groups needs an n of more than "
                       << n << " (the n of other groups), got " << large.getN();
  return success();
}
