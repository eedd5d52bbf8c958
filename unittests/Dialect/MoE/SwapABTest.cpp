//===- SwapABTest.cpp - Tests of the Swap-AB interface --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What only C++ callers reach: a profitability of their own, the listener, and
// what is remembered.
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::moe;

namespace {

/// Eight tokens for two experts, which the cost model would swap.
constexpr llvm::StringLiteral kMatmul = R"mlir(
  func.func @f(%x: tensor<8x64xbf16>, %w: tensor<2x16x64xbf16>,
               %off: tensor<3xi32>, %y: tensor<8x16xbf16>)
      -> tensor<8x16xbf16> {
    %0 = moe.grouped_matmul
        ins(%x, %w, %off : tensor<8x64xbf16>, tensor<2x16x64xbf16>,
                           tensor<3xi32>)
        outs(%y : tensor<8x16xbf16>) -> tensor<8x16xbf16>
    return %0 : tensor<8x16xbf16>
  }
)mlir";

/// The same on memrefs.
constexpr llvm::StringLiteral kMemRefMatmul = R"mlir(
  func.func @f(%x: memref<8x64xbf16>, %w: memref<2x16x64xbf16>,
               %off: memref<3xi32>, %y: memref<8x16xbf16>) {
    moe.grouped_matmul
        ins(%x, %w, %off : memref<8x64xbf16>, memref<2x16x64xbf16>,
                           memref<3xi32>)
        outs(%y : memref<8x16xbf16>)
    return
  }
)mlir";

class SwapABTest : public ::testing::Test {
protected:
  SwapABTest() {
    context.loadDialect<MoEDialect, arith::ArithDialect, func::FuncDialect,
                        linalg::LinalgDialect, scf::SCFDialect,
                        tensor::TensorDialect>();
  }

  /// Applies the pattern to `source` and keeps the result in `module`.
  void apply(llvm::StringRef source, SwapABOptions options) {
    module = parseSourceString<ModuleOp>(source, &context);
    ASSERT_TRUE(module);
    options.listener = [&](const SwapDecision &decision) {
      decisions.push_back(decision);
    };
    RewritePatternSet patterns(&context);
    populateMoESwapABPatterns(patterns, options);
    walkAndApplyPatterns(*module, std::move(patterns));
    EXPECT_TRUE(succeeded(verify(*module)));
  }

  template <typename OpTy> int64_t count() {
    int64_t number = 0;
    module->walk([&](OpTy) { ++number; });
    return number;
  }

  static SwapABOptions decideAlways(SwapDecision decision) {
    SwapABOptions options;
    options.profitability = [=](GroupedMatmulOp) { return decision; };
    return options;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::vector<SwapDecision> decisions;
};

TEST_F(SwapABTest, costModelIsTheDefault) {
  apply(kMatmul, {});
  EXPECT_EQ(count<GroupedMatmulSwappedOp>(), 1);
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].choice, SwapDecision::Choice::Swap);
  EXPECT_EQ(decisions[0].expectedTokens, 4);
  EXPECT_TRUE(decisions[0].prediction->swapPays());
}

TEST_F(SwapABTest, profitabilityIsReplaceable) {
  apply(kMatmul, decideAlways({SwapDecision::Choice::Keep, "of a whim"}));
  EXPECT_EQ(count<GroupedMatmulSwappedOp>(), 0);
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].reason, "of a whim");
}

TEST_F(SwapABTest, profitabilityMayLeaveItToRunTime) {
  SwapDecision decision{SwapDecision::Choice::AtRunTime, "who knows"};
  decision.threshold = 3;
  apply(kMatmul, decideAlways(decision));
  EXPECT_EQ(count<scf::IfOp>(), 1);
  EXPECT_EQ(count<GroupedMatmulSwappedOp>(), 1);
  EXPECT_EQ(count<GroupedMatmulOp>(), 1);
}

TEST_F(SwapABTest, profitabilityIsNotAskedWhereSwappingIsImpossible) {
  apply(kMemRefMatmul, decideAlways({SwapDecision::Choice::Swap, ""}));
  EXPECT_EQ(count<GroupedMatmulOp>(), 1);
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].choice, SwapDecision::Choice::Keep);
  EXPECT_NE(decisions[0].reason.find("memrefs"), std::string::npos);
}

TEST_F(SwapABTest, modeNeverKeepsEverything) {
  SwapABOptions options;
  options.mode = SwapMode::Never;
  apply(kMatmul, options);
  EXPECT_EQ(count<GroupedMatmulSwappedOp>(), 0);
}

/// Four matmuls: two alike, one of another type, and one with a hint.
constexpr llvm::StringLiteral kAlikeMatmuls = R"mlir(
  func.func @f(%x: tensor<?x64xbf16>, %w: tensor<2x16x64xbf16>,
               %off: tensor<3xi32>, %y: tensor<?x16xbf16>,
               %few: tensor<8x64xbf16>, %z: tensor<8x16xbf16>)
      -> (tensor<?x16xbf16>, tensor<8x16xbf16>) {
    %0 = moe.grouped_matmul
        ins(%x, %w, %off : tensor<?x64xbf16>, tensor<2x16x64xbf16>,
                           tensor<3xi32>)
        outs(%y : tensor<?x16xbf16>) -> tensor<?x16xbf16>
    %1 = moe.grouped_matmul {of = "layer 1"}
        ins(%x, %w, %off : tensor<?x64xbf16>, tensor<2x16x64xbf16>,
                           tensor<3xi32>)
        outs(%0 : tensor<?x16xbf16>) -> tensor<?x16xbf16>
    %2 = moe.grouped_matmul
        ins(%few, %w, %off : tensor<8x64xbf16>, tensor<2x16x64xbf16>,
                             tensor<3xi32>)
        outs(%z : tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %3 = moe.grouped_matmul {expected_tokens = array<i64: 7>}
        ins(%few, %w, %off : tensor<8x64xbf16>, tensor<2x16x64xbf16>,
                             tensor<3xi32>)
        outs(%2 : tensor<8x16xbf16>) -> tensor<8x16xbf16>
    return %1, %3 : tensor<?x16xbf16>, tensor<8x16xbf16>
  }
)mlir";

TEST_F(SwapABTest, costModelIsAskedOnceAboutOpsThatAreAlike) {
  SwapDecisionCache cache;
  SwapABOptions options;
  apply(kAlikeMatmuls, options);
  std::vector<SwapDecision> expected = std::exchange(decisions, {});
  options.cache = &cache;
  apply(kAlikeMatmuls, options);
  EXPECT_EQ(cache.size(), 3u);
  ASSERT_EQ(decisions.size(), 4u);
  for (auto [decision, uncached] : llvm::zip_equal(decisions, expected)) {
    EXPECT_EQ(decision.choice, uncached.choice);
    EXPECT_EQ(decision.reason, uncached.reason);
    EXPECT_EQ(decision.expectedTokens, uncached.expectedTokens);
    EXPECT_EQ(decision.threshold, uncached.threshold);
    ASSERT_EQ(decision.prediction.has_value(), uncached.prediction.has_value());
    if (!decision.prediction)
      continue;
    EXPECT_EQ(decision.prediction->swapped.seconds,
              uncached.prediction->swapped.seconds);
  }
}

TEST_F(SwapABTest, decisionsAreRememberedForATarget) {
  SwapDecisionCache cache;
  SwapABOptions options;
  options.cache = &cache;
  apply(kMatmul, options);
  std::string elsewhere =
      "module attributes {moe.target = #moe.target<\"h20\">} {" +
      kMatmul.str() + "}";
  apply(elsewhere, options);
  EXPECT_EQ(cache.size(), 2u);
}

TEST_F(SwapABTest, modesThatKnowTheAnswerDoNotAskTheCostModel) {
  SwapDecisionCache cache;
  SwapABOptions options;
  options.cache = &cache;
  for (SwapMode mode : {SwapMode::Always, SwapMode::Never}) {
    options.mode = mode;
    apply(kAlikeMatmuls, options);
  }
  EXPECT_EQ(cache.size(), 0u);
}

TEST_F(SwapABTest, textOfATarget) {
  auto fail = [&] { return emitError(UnknownLoc::get(&context)); };
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  EXPECT_EQ(*TargetAttr::parseText(&context, "sm_90a", fail),
            TargetAttr::getPreset(&context, "h100-sxm"));
  FailureOr<TargetAttr> target = TargetAttr::parseText(
      &context, " #moe.target<\"h20\", sm_count = 60> ", fail);
  ASSERT_TRUE(succeeded(target));
  EXPECT_EQ(target->getSmCount(), 60);
  EXPECT_TRUE(failed(TargetAttr::parseText(&context, "a100", fail)));
  EXPECT_EQ(message, "unknown target 'a100'; give one of h100-sxm, h200, h20, "
                     "sm_90a, or #moe.target<...>");
}

} // namespace
