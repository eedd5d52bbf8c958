//===- SetCacheHints.h - how long L2 keeps what TMA loads -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_CONVERSION_SETCACHEHINTS_SETCACHEHINTS_H
#define MOE_CONVERSION_SETCACHEHINTS_SETCACHEHINTS_H

#include "llvm/ADT/StringRef.h"

namespace mlir {
namespace moe {

/// On an argument of an llvm.func that is a tensor map: a string, "evict_first"
/// or "evict_last", which says whether the L2 cache is to give up what is
/// loaded through the map before other data or after it
/// (--moe-set-cache-hints).
inline constexpr llvm::StringLiteral kCacheHintAttrName = "moe.cache_hint";

} // namespace moe
} // namespace mlir

#endif // MOE_CONVERSION_SETCACHEHINTS_SETCACHEHINTS_H
