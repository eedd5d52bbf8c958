//===- ExecutorTest.cpp - Running functions on both devices ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Execution/Executor.h"

#include "RuntimeTestUtils.h"

#include "moe/InitAll.h"
#include "moe/Target/Compile.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace mlir::moe;

namespace {

/// The second matmul writes over the first one's tokens: whoever keeps the
/// change starts the next run from other tokens.
const char *const kInPlace = R"mlir(
func.func @f(%x: tensor<16x64xbf16>, %w: tensor<1x64x64xbf16>,
             %off: tensor<2xi32>, %h: tensor<16x64xbf16>)
    -> (tensor<16x64xbf16>, tensor<16x64xbf16>, tensor<16x32xf32>) {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off
          : tensor<16x64xbf16>, tensor<1x64x64xbf16>, tensor<2xi32>)
      outs(%h : tensor<16x64xbf16>) -> tensor<16x64xbf16>
  %1 = moe.grouped_matmul
      ins(%0, %w, %off
          : tensor<16x64xbf16>, tensor<1x64x64xbf16>, tensor<2xi32>)
      outs(%x : tensor<16x64xbf16>) -> tensor<16x64xbf16>
  %init = tensor.empty() : tensor<16x32xf32>
  %2 = moe.grouped_matmul {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%1, %w, %off
          : tensor<16x64xbf16>, tensor<1x64x64xbf16>, tensor<2xi32>)
      outs(%init : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %1, %1, %2 : tensor<16x64xbf16>, tensor<16x64xbf16>, tensor<16x32xf32>
}
)mlir";

class ExecutorTest : public RuntimeTest {
protected:
  ExecutorTest() : context(createRegistry()) {
    module = parseSourceString<ModuleOp>(kInPlace, &context);
    add(ElementKind::BF16, {16, 64}, 1.0);
    add(ElementKind::BF16, {1, 64, 64}, 0.03125);
    add(ElementKind::I32, {2}, 0.0);
    inputs.back().setInteger(1, 16);
    add(ElementKind::BF16, {16, 64}, 5.0);
  }

  static DialectRegistry createRegistry() {
    DialectRegistry registry;
    registerCompilerDialects(registry);
    mlir::moe::registerAllDialects(registry);
    registerAllExtensions(registry);
    return registry;
  }

  void add(ElementKind kind, ArrayRef<int64_t> shape, double value) {
    inputs.push_back(llvm::cantFail(HostTensor::create(kind, shape)));
    for (int64_t i = 0; isFloat(kind) && i < inputs.back().getNumElements();
         ++i)
      inputs.back().setFloat(i, value);
  }

  llvm::Expected<RunResult> run(Executor &executor, int64_t repeat) {
    SmallVector<const HostTensor *> pointers;
    for (const HostTensor &input : inputs)
      pointers.push_back(&input);
    return executor.run(pointers, repeat);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::vector<HostTensor> inputs;
};

TEST_F(ExecutorTest, CpuStartsEveryRunFromTheInputs) {
  auto executor = createCpuExecutor(*module, "f", CpuOptions());
  ASSERT_TRUE(bool(executor)) << llvm::toString(executor.takeError());
  for (int repeat : {1, 3}) {
    auto result = run(**executor, repeat);
    ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
    EXPECT_EQ(result->milliseconds.size(), size_t(repeat));
    // 64 times 1 times 2^-5, and again.
    EXPECT_EQ(result->results[0].getFloat(0), 4.0);
    EXPECT_EQ(result->results[1].getFloat(1023), 4.0);
    EXPECT_NEAR(result->results[2].getFloat(0), 8.0 * 8.0, 0.1);
    EXPECT_EQ(inputs[0].getFloat(0), 1.0);
    EXPECT_EQ(inputs[3].getFloat(0), 5.0);
  }
}

/// Adds one to the first element of each operand that a kernel may write, and
/// sets that of a result: like the real kernels, it changes what it finds.
void changeBuffers(const char *name, const void *const *parameters,
                   const size_t *sizes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (sizes[i] != 8)
      continue;
    uint64_t address;
    std::memcpy(&address, parameters[i], sizeof(address));
    size_t bytes = FakeDriver::get().allocationSize(address);
    // [16 x 64] of bf16 and [16 x 32] of f32 have the same size.
    if (bytes != 2048)
      continue;
    auto *word = reinterpret_cast<uint16_t *>(address);
    *word = floatToBFloatBits(bfloatBitsToFloat(*word) + 1.0f);
  }
}

TEST_F(ExecutorTest, CudaStartsEveryRunFromTheInputs) {
  SmallVector<ResultSpec> results = {{ElementKind::BF16, {16, 64}},
                                     {ElementKind::BF16, {16, 64}},
                                     {ElementKind::F32, {16, 32}}};
  auto executor = createCudaExecutor(*module, "f", CudaOptions(), results);
  ASSERT_TRUE(bool(executor)) << llvm::toString(executor.takeError());
  EXPECT_EQ((*executor)->getDeviceName(), "cuda:0, Fake 0");
  fake.setKernel(changeBuffers);
  for (int repeat : {1, 3}) {
    fake.clearLog();
    auto result = run(**executor, repeat);
    ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
    ASSERT_EQ(result->milliseconds.size(), size_t(repeat));
    EXPECT_EQ(fake.count("replay\n"), 1 + repeat) << fake.log();
    // What is put back is not timed.
    EXPECT_EQ(fake.count("record\nreplay\nrecord\n"), repeat) << fake.log();
    // %x is the result, and every launch has changed it once; both results are
    // this buffer.
    EXPECT_EQ(result->results[0].getFloat(0), 2.0);
    EXPECT_EQ(result->results[1].getFloat(0), 2.0);
    EXPECT_EQ(result->results[0].getFloat(1), 1.0);
    EXPECT_EQ(inputs[0].getFloat(0), 1.0);
  }
}

TEST_F(ExecutorTest, CudaChecksTheNumberOfResults) {
  auto executor = createCudaExecutor(*module, "f", CudaOptions(), {});
  ASSERT_FALSE(bool(executor));
  EXPECT_EQ(llvm::toString(executor.takeError()),
            "the compiled program has 3 results, but the function 0");
}

TEST_F(ExecutorTest, CpuNeedsAPublicFunctionOfTensors) {
  auto expect = [&](StringRef entry, const std::string &message) {
    auto executor = createCpuExecutor(*module, entry, CpuOptions());
    ASSERT_FALSE(bool(executor));
    EXPECT_EQ(llvm::toString(executor.takeError()), message);
  };
  expect("g", "there is no public function @g with a body");
  module = parseSourceString<ModuleOp>(
      "func.func @scalar(%x: f32) { return } func.func private @g()", &context);
  expect("g", "there is no public function @g with a body");
  expect("scalar", "@scalar has an argument or result that is not a ranked "
                   "tensor of f32, f16, bf16, i32 or i64");
}

} // namespace
