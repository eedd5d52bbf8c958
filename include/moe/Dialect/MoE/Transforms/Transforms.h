//===- Transforms.h - rewrites of the moe dialect ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rewrites behind the passes, for use in other pipelines.
//
//===----------------------------------------------------------------------===//

#ifndef MOE_DIALECT_MOE_TRANSFORMS_TRANSFORMS_H
#define MOE_DIALECT_MOE_TRANSFORMS_TRANSFORMS_H

#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/Dialect/MoE/Transforms/CostModel.h"

#include "mlir/IR/PatternMatch.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace mlir {
namespace moe {

//===----------------------------------------------------------------------===//
// The cost model on IR
//===----------------------------------------------------------------------===//

/// The numbers of `target` for operands of `elementType`.
Machine getMachine(TargetAttr target, Type elementType);

/// The target that `text` describes (see TargetAttr::parseText), or if it is
/// empty the one around `op` (see TargetAttr::getAround). Emits an error on
/// `op` if `text` is not a target.
FailureOr<TargetAttr> resolveTarget(Operation *op, StringRef text);

/// The element sizes and storage orders of `op`; its sizes are 0.
MatmulShape getMatmulLayout(GroupedMatmulInterface op);

/// `getMatmulLayout` with the sizes of `op`, or nothing if E, K, N or the
/// result's columns are dynamic.
std::optional<MatmulShape> getMatmulShape(GroupedMatmulInterface op);

/// How many tokens the experts of `op` are expected to get: `override` if there
/// is one, else the op's `expected_tokens`, else R / E where both are static,
/// else nothing.
std::optional<TokenCounts> getExpectedCounts(GroupedMatmulInterface op,
                                             std::optional<double> override);

/// Why the generated GPU kernels cannot run `op` in either orientation, or
/// nothing. Unknown sizes count as fitting.
std::optional<std::string> getGPUObstacle(GroupedMatmulInterface op);

//===----------------------------------------------------------------------===//
// Swap-AB
//===----------------------------------------------------------------------===//

/// Rewrites `op`, on tensors, to a transpose of the tokens and of the
/// destination, the swapped matmul of them, and a transpose of its result:
///
///   tokens [R x K] -> [K x R], outs [R x N] -> [N x R], result back to [R x N]
///
/// Optional operands, hints and discardable attributes are carried over. Fails,
/// leaving `op`, on memrefs, on tensors with an encoding, and if `op` has a
/// schedule, which was made for the other orientation.
FailureOr<GroupedMatmulSwappedOp> swapOperands(RewriterBase &rewriter,
                                               GroupedMatmulOp op);

/// The inverse of `swapOperands`, for any storage order of tokens and result.
/// Looks through transposes of its operands, so that after `swapOperands` only
/// a pair of transposes of the result is left, which canonicalization removes.
FailureOr<GroupedMatmulOp> unswapOperands(RewriterBase &rewriter,
                                          GroupedMatmulSwappedOp op);

/// Why `swapOperands` or `unswapOperands` refuses `op`, or nothing.
std::optional<std::string> getSwapObstacle(GroupedMatmulInterface op);

/// Whether to swap one op, and what led to it.
struct SwapDecision {
  enum class Choice { Swap, Keep, AtRunTime };

  Choice choice;
  /// Why, if the times below do not say it.
  std::string reason;
  /// Mean number of tokens of an expert, if known.
  std::optional<double> expectedTokens = std::nullopt;
  /// The two times, if they were predicted. In mode always they decide nothing
  /// and are predicted only where the context has remarks, which show them.
  std::optional<Prediction> prediction = std::nullopt;
  /// At run time: swap below this number of tokens an expert.
  int64_t threshold = 0;
};

enum class SwapMode { Auto, Always, Never };

/// What the cost model has decided, so that it is asked once about all ops of
/// the same types, properties and target: it sees nothing else of an op. Good
/// for one SwapABOptions, in one thread at a time.
class SwapDecisionCache {
public:
  SwapDecisionCache();
  ~SwapDecisionCache();

  /// The remembered decision about ops that are like `op` for `target`, or what
  /// `decide` says.
  SwapDecision getOrDecide(GroupedMatmulOp op, TargetAttr target,
                           llvm::function_ref<SwapDecision()> decide);

  /// How many decisions are remembered.
  size_t size() const;

private:
  struct Storage;
  std::unique_ptr<Storage> storage;
};

struct SwapABOptions {
  /// Auto asks `profitability`; always swaps what can be swapped; never keeps
  /// everything.
  SwapMode mode = SwapMode::Auto;
  /// What the default profitability predicts for; null means the target around
  /// the op.
  TargetAttr target;
  /// Tokens of an expert, in place of the ops' hints.
  std::optional<double> expectedTokens;
  /// Where the decision is left to run time, make both forms and branch on the
  /// number of rows; otherwise leave the op.
  bool multiVersion = true;
  /// Decides in mode auto; the cost model if null.
  std::function<SwapDecision(GroupedMatmulOp)> profitability;
  /// Where the cost model's decisions are remembered, if not null. It must
  /// outlive the patterns, and forbids to apply them in several threads.
  SwapDecisionCache *cache = nullptr;
  /// Told of every decision, after the op was rewritten (null) or left.
  std::function<void(const SwapDecision &)> listener;
};

/// The cost model's decision about `op`; neither looks at `options.cache` nor
/// fills it.
SwapDecision decideByCostModel(GroupedMatmulOp op,
                               const SwapABOptions &options);

/// Adds the pattern that swaps the operands of moe.grouped_matmul where
/// `options` say so, and emits a remark of category `moe-swap-ab` for each.
/// Apply it with a driver that visits an op once, such as
/// `walkAndApplyPatterns`: an op that it leaves would be looked at again.
void populateMoESwapABPatterns(RewritePatternSet &patterns,
                               const SwapABOptions &options);

//===----------------------------------------------------------------------===//
// Folding of transposes
//===----------------------------------------------------------------------===//

/// What of a moe.grouped_matmul_swapped is stored in one of two orders.
enum class OrderedMatrix { Tokens, Result };

/// Adds the patterns that fold transposes of the tokens, the destination and
/// the result of moe.grouped_matmul_swapped into its storage orders, each with
/// a remark of category `moe-fold-transposes`, and those that remove pairs of
/// transposes. `listener`, unless null, is told of every matrix that was made
/// row-major.
void populateMoEFoldTransposesPatterns(
    RewritePatternSet &patterns,
    const std::function<void(OrderedMatrix)> &listener = nullptr);

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// A schedule and the time predicted with it, if the sizes are static and the
/// number of tokens is expected.
struct ScheduleChoice {
  ScheduleAttr schedule;
  std::optional<Estimate> estimate;
};

/// The schedule for `op` on `target`; `counts` is what `getExpectedCounts`
/// says. Fails, with the reason in `reason`, if the generated kernels cannot
/// run the op there.
FailureOr<ScheduleChoice>
chooseSchedule(GroupedMatmulInterface op, TargetAttr target,
               const std::optional<TokenCounts> &counts, std::string &reason);

} // namespace moe
} // namespace mlir

#endif // MOE_DIALECT_MOE_TRANSFORMS_TRANSFORMS_H
