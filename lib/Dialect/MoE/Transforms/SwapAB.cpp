//===- SwapAB.cpp - exchange the operands of a grouped matmul -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/Transforms/Passes.h"
#include "moe/Dialect/MoE/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/DenseMap.h"

#include <cmath>
#include <limits>

namespace mlir {
namespace moe {
#define GEN_PASS_DEF_MOESWAPABPASS
#include "moe/Dialect/MoE/Transforms/Passes.h.inc"
} // namespace moe
} // namespace mlir

#define DEBUG_TYPE "moe-swap-ab"

using namespace mlir;
using namespace mlir::moe;

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

/// The transpose of a matrix, written to `destination`, or to a new tensor if
/// that is null.
static Value transpose(OpBuilder &builder, Location loc, Value matrix,
                       Value destination = {}) {
  if (!destination) {
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(builder, loc, matrix);
    std::swap(sizes[0], sizes[1]);
    destination = tensor::EmptyOp::create(
        builder, loc, sizes, getElementTypeOrSelf(matrix.getType()));
  }
  return linalg::TransposeOp::create(builder, loc, matrix, destination,
                                     ArrayRef<int64_t>{1, 0})
      ->getResult(0);
}

/// Like `transpose`, but if `matrix` is a transposed one, that one.
static Value transposeOrPeel(OpBuilder &builder, Location loc, Value matrix) {
  auto producer = matrix.getDefiningOp<linalg::TransposeOp>();
  if (producer && producer.getPermutation() == ArrayRef<int64_t>{1, 0})
    return producer.getInput();
  return transpose(builder, loc, matrix);
}

std::optional<std::string>
mlir::moe::getSwapObstacle(GroupedMatmulInterface op) {
  auto tokens = dyn_cast<RankedTensorType>(op.getTokens().getType());
  auto init = dyn_cast<RankedTensorType>(op.getInit().getType());
  if (!tokens || !init)
    return "its operands are memrefs; exchange operands before bufferization";
  if (tokens.getEncoding() || init.getEncoding())
    return "its tensors have an encoding, whose transpose is unknown";
  if (op.getScheduleAttr())
    return "it has a schedule, which was made for its orientation; remove the "
           "schedule first";
  return std::nullopt;
}

FailureOr<GroupedMatmulSwappedOp>
mlir::moe::swapOperands(RewriterBase &rewriter, GroupedMatmulOp op) {
  if (std::optional<std::string> obstacle = getSwapObstacle(op))
    return rewriter.notifyMatchFailure(op, *obstacle);

  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  Value tokens = transpose(rewriter, loc, op.getTokens());
  Value init = transpose(rewriter, loc, op.getInit());
  auto order =
      OperandOrderAttr::get(rewriter.getContext(), OperandOrder::Transposed);
  auto swapped = GroupedMatmulSwappedOp::create(
      rewriter, loc, init.getType(), op.getWeights(), tokens, op.getGroups(),
      op.getBias(), op.getGather(), op.getScale(), op.getScatter(), init,
      op.getWeightLayoutAttr(), op.getGroupKindAttr(), order, order,
      op.getEpilogueAttr(), op.getExpectedTokensAttr(), ScheduleAttr());
  swapped->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  Value result = transpose(rewriter, loc, swapped->getResult(0), op.getInit());
  rewriter.replaceOp(op, result);
  return swapped;
}

FailureOr<GroupedMatmulOp>
mlir::moe::unswapOperands(RewriterBase &rewriter, GroupedMatmulSwappedOp op) {
  if (std::optional<std::string> obstacle = getSwapObstacle(op))
    return rewriter.notifyMatchFailure(op, *obstacle);

  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  Value tokens = op.getTokens(), init = op.getInit();
  if (op.hasTransposedTokens())
    tokens = transposeOrPeel(rewriter, loc, tokens);
  if (op.hasTransposedResult())
    init = transposeOrPeel(rewriter, loc, init);
  auto matmul = GroupedMatmulOp::create(
      rewriter, loc, init.getType(), tokens, op.getWeights(), op.getGroups(),
      op.getBias(), op.getGather(), op.getScale(), op.getScatter(), init,
      op.getWeightLayoutAttr(), op.getGroupKindAttr(), op.getEpilogueAttr(),
      op.getExpectedTokensAttr(), ScheduleAttr());
  matmul->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  Value result = matmul->getResult(0);
  if (op.hasTransposedResult())
    result = transpose(rewriter, loc, result);
  rewriter.replaceOp(op, result);
  return matmul;
}

/// Replaces `op` by a branch on its number of rows: the swapped form below
/// `threshold` tokens an expert, `op` itself from there on. There, `threshold`
/// becomes the op's expected number of tokens: it is a lower bound, and it
/// makes the decision for the unswapped form stand when it is taken again.
static LogicalResult makeBothVersions(RewriterBase &rewriter,
                                      GroupedMatmulOp op, int64_t threshold) {
  if (std::optional<std::string> obstacle = getSwapObstacle(op))
    return rewriter.notifyMatchFailure(op, *obstacle);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  Value rows = op.getGather()
                   ? tensor::DimOp::create(rewriter, loc, op.getGather(), 0)
                   : tensor::DimOp::create(rewriter, loc, op.getTokens(), 0);
  Value limit = arith::ConstantIndexOp::create(rewriter, loc,
                                               threshold * op.getNumExperts());
  Value few = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult,
                                    rows, limit);
  auto branch = scf::IfOp::create(rewriter, loc, op->getResultTypes(), few,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  auto cloneInto = [&](Block *block) {
    rewriter.setInsertionPointToEnd(block);
    auto clone = cast<GroupedMatmulOp>(rewriter.clone(*op));
    scf::YieldOp::create(rewriter, loc, clone->getResults());
    return clone;
  };
  GroupedMatmulOp swapped = cloneInto(branch.thenBlock());
  GroupedMatmulOp kept = cloneInto(branch.elseBlock());
  rewriter.modifyOpInPlace(kept, [&] {
    kept.setExpectedTokensAttr(rewriter.getDenseI64ArrayAttr(threshold));
  });
  rewriter.replaceOp(op, branch.getResults());
  return swapOperands(rewriter, swapped);
}

//===----------------------------------------------------------------------===//
// The decision
//===----------------------------------------------------------------------===//

/// The choice where the number of tokens is not known before run time.
static SwapDecision decideAtRunTime(const Machine &machine,
                                    const MatmulShape &shape) {
  RunTimeChoice choice = chooseAtRunTime(machine, shape);
  double loss = 100 * (choice.worstLoss - 1);
  if (!choice.threshold)
    return {SwapDecision::Choice::Swap,
            llvm::formatv("the number of tokens is unknown: swapping always is "
                          "predicted to lose at most {0:f0} percent",
                          loss)};
  if (*choice.threshold == 0)
    return {SwapDecision::Choice::Keep,
            llvm::formatv("the number of tokens is unknown: never swapping is "
                          "predicted to lose at most {0:f0} percent",
                          loss)};
  SwapDecision decision{
      SwapDecision::Choice::AtRunTime,
      llvm::formatv(
          "the number of tokens is unknown: swapping below {0} tokens "
          "an expert is predicted to lose at most {1:f0} percent",
          *choice.threshold, loss)};
  decision.threshold = *choice.threshold;
  return decision;
}

/// What the cost model predicts for.
static TargetAttr getTarget(Operation *op, const SwapABOptions &options) {
  return options.target ? options.target : TargetAttr::getAround(op);
}

SwapDecision mlir::moe::decideByCostModel(GroupedMatmulOp op,
                                          const SwapABOptions &options) {
  using Choice = SwapDecision::Choice;
  std::optional<MatmulShape> shape = getMatmulShape(op);
  if (!shape)
    return {Choice::Keep, "E, K or N is dynamic, so no time can be predicted"};
  if (shape->experts == 0 || shape->weightRows == 0)
    return {Choice::Keep, "it has no experts or no outputs"};
  if (shape->experts > std::numeric_limits<int64_t>::max() / kMaxTokens)
    return {Choice::Keep, "it has too many experts to count their tokens"};

  Machine machine = getMachine(getTarget(op, options),
                               op.getTokens().getType().getElementType());
  if (getTiles(machine, *shape, Orientation::Swapped).empty() ||
      getTiles(machine, *shape, Orientation::Unswapped).empty())
    return {Choice::Keep, "no tile fits the target's shared memory"};

  std::optional<TokenCounts> counts =
      getExpectedCounts(op, options.expectedTokens);
  if (!counts)
    return decideAtRunTime(machine, *shape);
  Prediction prediction = predict(machine, *shape, *counts);
  return {prediction.swapPays() ? Choice::Swap : Choice::Keep, "",
          counts->getTokens() / shape->experts, prediction};
}

namespace {
/// All that the cost model sees of an op.
struct SwapQuestion {
  SwapQuestion() = default;
  SwapQuestion(GroupedMatmulOp op, TargetAttr target)
      : target(target), types(op->getOperandTypes()),
        properties(op.getProperties()) {}

  bool operator==(const SwapQuestion &other) const {
    return target == other.target && types == other.types &&
           properties == other.properties;
  }

  TargetAttr target;
  SmallVector<Type> types;
  GroupedMatmulOp::Properties properties = {};
};

struct SwapQuestionInfo {
  using TargetInfo = DenseMapInfo<TargetAttr>;

  static SwapQuestion getEmptyKey() {
    SwapQuestion key;
    key.target = TargetInfo::getEmptyKey();
    return key;
  }
  static SwapQuestion getTombstoneKey() {
    SwapQuestion key;
    key.target = TargetInfo::getTombstoneKey();
    return key;
  }
  static unsigned getHashValue(const SwapQuestion &key) {
    return llvm::hash_combine(
        key.target, llvm::hash_combine_range(key.types),
        GroupedMatmulOp::computePropertiesHash(key.properties));
  }
  static bool isEqual(const SwapQuestion &a, const SwapQuestion &b) {
    return a == b;
  }
};
} // namespace

struct SwapDecisionCache::Storage {
  llvm::DenseMap<SwapQuestion, SwapDecision, SwapQuestionInfo> decisions;
};

SwapDecisionCache::SwapDecisionCache() : storage(new Storage) {}
SwapDecisionCache::~SwapDecisionCache() = default;

SwapDecision
SwapDecisionCache::getOrDecide(GroupedMatmulOp op, TargetAttr target,
                               function_ref<SwapDecision()> decide) {
  SwapQuestion question(op, target);
  auto it = storage->decisions.find(question);
  if (it == storage->decisions.end())
    it = storage->decisions.try_emplace(std::move(question), decide()).first;
  return it->second;
}

size_t SwapDecisionCache::size() const { return storage->decisions.size(); }

/// `decideByCostModel`, from the cache if there is one.
static SwapDecision askCostModel(GroupedMatmulOp op,
                                 const SwapABOptions &options) {
  auto ask = [&] { return decideByCostModel(op, options); };
  if (!options.cache)
    return ask();
  return options.cache->getOrDecide(op, getTarget(op, options), ask);
}

/// What mode always decides. Times are for the remark alone, and where the
/// number of tokens is unknown a remark has none.
static SwapDecision decideAlways(GroupedMatmulOp op,
                                 const SwapABOptions &options) {
  SwapDecision decision{SwapDecision::Choice::Swap, "the mode is always"};
  if (!op.getContext()->getRemarkEngine() ||
      !getExpectedCounts(op, options.expectedTokens))
    return decision;
  SwapDecision predicted = askCostModel(op, options);
  decision.expectedTokens = predicted.expectedTokens;
  decision.prediction = predicted.prediction;
  return decision;
}

/// Why `op` cannot be swapped under `options`, or nothing.
static std::optional<std::string> getObstacle(GroupedMatmulOp op,
                                              const SwapABOptions &options) {
  if (std::optional<std::string> obstacle = getSwapObstacle(op))
    return obstacle;
  // f32 has no matrix instruction here, but a person may want to see its
  // swapped form, or run it on a CPU.
  Type elementType = op.getTokens().getType().getElementType();
  if (elementType.isF32() && options.mode == SwapMode::Always)
    return std::nullopt;
  return getGPUObstacle(op);
}

static SwapDecision decide(GroupedMatmulOp op, const SwapABOptions &options) {
  using Choice = SwapDecision::Choice;
  if (options.mode == SwapMode::Never)
    return {Choice::Keep, "the mode is never"};
  if (std::optional<std::string> obstacle = getObstacle(op, options))
    return {Choice::Keep, *obstacle};
  if (options.mode == SwapMode::Auto && options.profitability)
    return options.profitability(op);
  return options.mode == SwapMode::Always ? decideAlways(op, options)
                                          : askCostModel(op, options);
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

static StringRef getFunctionName(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function ? function.getName() : StringRef();
}

/// Says what was decided about the op that was at `loc`, and why.
static void emitRemark(Location loc, StringRef function, TargetAttr target,
                       const SwapDecision &decision,
                       const SwapABOptions &options) {
  using Choice = SwapDecision::Choice;
  bool swap = decision.choice == Choice::Swap;
  bool both = decision.choice == Choice::AtRunTime && options.multiVersion;
  auto opts = remark::RemarkOpts::name(swap   ? "swapped"
                                       : both ? "left-to-run-time"
                                              : "kept")
                  .category(DEBUG_TYPE)
                  .function(function);
  remark::detail::InFlightRemark remark = swap   ? remark::passed(loc, opts)
                                          : both ? remark::analysis(loc, opts)
                                                 : remark::missed(loc, opts);
  if (!remark)
    return;
  remark << remark::metric("Op", GroupedMatmulOp::getOperationName());
  remark << remark::metric("Target", target.getName());
  remark << remark::metric(
      "ExpectedTokens",
      decision.expectedTokens
          ? llvm::formatv("{0:f2}", *decision.expectedTokens).str()
          : std::string("unknown"));
  if (decision.prediction) {
    const Prediction &times = *decision.prediction;
    remark << remark::metric(
        "Swapped",
        llvm::formatv("{0:f1} us", times.swapped.seconds * 1e6).str());
    remark << remark::metric(
        "Unswapped",
        llvm::formatv("{0:f1} us", times.unswapped.seconds * 1e6).str());
  }
  remark << remark::metric("Choice", swap   ? "swapped"
                                     : both ? "left to run time"
                                            : "unswapped");
  if (!decision.reason.empty())
    remark << remark::reason("{0}", decision.reason);
  else if (decision.choice == Choice::Keep)
    remark << remark::reason("swapping is not predicted to be faster");
}

//===----------------------------------------------------------------------===//
// The pattern and the pass
//===----------------------------------------------------------------------===//

namespace {
struct SwapABPattern : public OpRewritePattern<GroupedMatmulOp> {
  SwapABPattern(MLIRContext *context, SwapABOptions options)
      : OpRewritePattern(context), options(std::move(options)) {}

  LogicalResult matchAndRewrite(GroupedMatmulOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    StringRef function = getFunctionName(op);
    TargetAttr target = getTarget(op, options);
    SwapDecision decision = decide(op, options);
    if (failed(apply(op, decision, rewriter))) {
      report(loc, function, target, decision);
      return rewriter.notifyMatchFailure(loc, [&](Diagnostic &diagnostic) {
        diagnostic << "kept unswapped: " << decision.reason;
      });
    }
    report(loc, function, target, decision);
    return success();
  }

private:
  /// Does what was decided; fails if `op` stays as it is, and if it had to,
  /// makes that the decision.
  LogicalResult apply(GroupedMatmulOp op, SwapDecision &decision,
                      PatternRewriter &rewriter) const {
    bool swap = decision.choice == SwapDecision::Choice::Swap;
    bool both = decision.choice == SwapDecision::Choice::AtRunTime;
    if (!swap && !(both && options.multiVersion))
      return failure();
    // A profitability of the user's may know nothing of obstacles.
    if (std::optional<std::string> obstacle = getSwapObstacle(op)) {
      decision.choice = SwapDecision::Choice::Keep;
      decision.reason = *obstacle;
      return failure();
    }
    return swap ? LogicalResult(swapOperands(rewriter, op))
                : makeBothVersions(rewriter, op, decision.threshold);
  }

  void report(Location loc, StringRef function, TargetAttr target,
              const SwapDecision &decision) const {
    emitRemark(loc, function, target, decision, options);
    if (options.listener)
      options.listener(decision);
  }

  SwapABOptions options;
};

struct SwapABPass : public moe::impl::MoESwapABPassBase<SwapABPass> {
  using MoESwapABPassBase::MoESwapABPassBase;

  void runOnOperation() override {
    SwapABOptions options;
    options.mode = mode;
    options.multiVersion = multiVersion;
    if (expectedTokens >= 0 || std::isnan(expectedTokens)) {
      if (!std::isfinite(expectedTokens)) {
        getOperation()->emitError()
            << "option expected-tokens must be a finite number, got "
            << static_cast<double>(expectedTokens);
        return signalPassFailure();
      }
      options.expectedTokens = expectedTokens;
    }
    if (!target.empty()) {
      FailureOr<TargetAttr> resolved = resolveTarget(getOperation(), target);
      if (failed(resolved))
        return signalPassFailure();
      options.target = *resolved;
    }
    options.listener = [&](const SwapDecision &decision) {
      count(decision.choice);
    };
    SwapDecisionCache cache;
    options.cache = &cache;

    RewritePatternSet patterns(&getContext());
    populateMoESwapABPatterns(patterns, options);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    numDecided += cache.size();
  }

private:
  void count(SwapDecision::Choice choice) {
    switch (choice) {
    case SwapDecision::Choice::Swap:
      ++numSwapped;
      break;
    case SwapDecision::Choice::Keep:
      ++numKept;
      break;
    case SwapDecision::Choice::AtRunTime:
      ++numLeftToRunTime;
      break;
    }
  }
};
} // namespace

void mlir::moe::populateMoESwapABPatterns(RewritePatternSet &patterns,
                                          const SwapABOptions &options) {
  patterns.add<SwapABPattern>(patterns.getContext(), options);
}
