//===- CrashGuardTest.cpp - Tests of the crash guard ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Support/CrashGuard.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <csignal>
#include <cstdlib>
#include <limits>
#include <memory>

using namespace mlir::moe;

namespace {

TEST(CrashGuardTest, returnsTheBodysStatus) {
  EXPECT_EQ(runGuarded("tool", [] { return 0; }), 0);
  EXPECT_EQ(runGuarded("tool", [] { return 7; }), 7);
}

TEST(CrashGuardTest, silentFailureGetsAnError) {
  testing::internal::CaptureStderr();
  runGuarded("tool", [] { return 1; });
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tool: error: failed without a diagnostic; the input may be "
            "corrupt\n");
}

TEST(CrashGuardTest, diagnosticsStandAlone) {
  testing::internal::CaptureStderr();
  runGuarded("tool", [] {
    llvm::errs() << "reason\n";
    return 1;
  });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "reason\n");
}

TEST(CrashGuardDeathTest, abortBecomesAnError) {
  EXPECT_EXIT(runGuarded("tool", []() -> int { std::abort(); }),
              testing::ExitedWithCode(1), "tool: error: the compiler aborted");
}

TEST(CrashGuardDeathTest, fatalErrorBecomesAnError) {
  EXPECT_EXIT(
      runGuarded("tool", []() -> int { llvm::report_fatal_error("no such"); }),
      testing::ExitedWithCode(1), "no such");
}

#ifdef __SANITIZE_ADDRESS__
TEST(CrashGuardDeathTest, sanitizerFindingStillCrashes) {
  // Otherwise a test that expects an error would hide the finding.
  volatile int big = std::numeric_limits<int>::max();
  EXPECT_EXIT(runGuarded("tool", [&] { return big + 1; }),
              testing::KilledBySignal(SIGABRT), "signed integer overflow");
  volatile size_t size = 8;
  EXPECT_EXIT(runGuarded("tool",
                         [&]() -> int {
                           std::unique_ptr<char[]> buffer(new char[size]);
                           return static_cast<volatile char *>(
                               buffer.get())[size];
                         }),
              testing::KilledBySignal(SIGABRT), "heap-buffer-overflow");
}
#endif

/// Uses a page of stack per level.
static int recurse(int depth) {
  volatile char page[4096] = {};
  return depth == 0 ? page[0] : recurse(depth - 1) + page[depth % 4096];
}

TEST(CrashGuardTest, deepRecursionFitsTheStack) {
  // 64 MiB, eight times the usual limit of a main thread.
  EXPECT_EQ(runGuarded("tool", [] { return recurse(16384); }), 0);
}

static llvm::SmallVector<llvm::StringRef>
singleThreaded(llvm::SmallVector<const char *> args) {
  llvm::SmallVector<llvm::StringRef> result;
  for (char *arg :
       getSingleThreadedArgs(args.size(), const_cast<char **>(args.data())))
    result.push_back(arg);
  return result;
}

TEST(CrashGuardTest, threadingIsOffUnlessSet) {
  using Args = llvm::SmallVector<llvm::StringRef>;
  EXPECT_EQ(singleThreaded({"tool", "in.mlir"}),
            Args({"tool", "--mlir-disable-threading", "in.mlir"}));
  EXPECT_EQ(singleThreaded({"tool", "--mlir-disable-threading=false"}),
            Args({"tool", "--mlir-disable-threading=false"}));
  EXPECT_EQ(singleThreaded({"tool", "-mlir-disable-threading"}),
            Args({"tool", "-mlir-disable-threading"}));
}

} // namespace
