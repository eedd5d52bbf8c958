//===- RouteKernel.h - the router's kernel ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_CONVERSION_MOETONVGPU_ROUTEKERNEL_H
#define LIB_CONVERSION_MOETONVGPU_ROUTEKERNEL_H

#include "KernelBuilder.h"

namespace mlir {
namespace moe {

/// Tokens of one block: one for each of its warps.
inline constexpr int64_t kRouteTokens = 4;

/// Experts, and experts of one token, that the kernel takes at most: it holds a
/// token's logits in the registers of one warp.
inline constexpr int64_t kMaxRouteExperts = 1024;
inline constexpr int64_t kMaxRouteTopK = 128;

/// What a moe.route kernel is made for; `bias` may be null.
struct RouteShape {
  FloatType logits, bias, weights;
  IntegerType index;
  Scoring scoring = Scoring::Softmax;
  bool renormalize = false;
  int64_t numExperts = 0, topK = 0, sharedExperts = 0;
  int64_t numGroups = 1, topKGroups = 1;
  float scaling = 1;
};

/// moe.route. Parameters: logits, bias if there is one, weights, indices,
/// number of tokens (i32). One warp routes one token.
LLVM::LLVMFuncOp createRouteKernel(KernelBuilder &b, StringRef name,
                                   const RouteShape &shape);

} // namespace moe
} // namespace mlir

#endif // LIB_CONVERSION_MOETONVGPU_ROUTEKERNEL_H
