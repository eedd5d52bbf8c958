//===- BytecodeTest.cpp - bytecode that is cut off or too new -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/InitAll.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace {

/// One op with every kind of attribute of the dialect, on tensors.
const char *const source = R"(
func.func @layer(%x: tensor<64x768xbf16>, %w: tensor<128x2048x768xbf16>,
                 %off: tensor<129xi32>, %bias: tensor<128x2048xbf16>,
                 %y: tensor<64x1024xbf16>)
    -> tensor<64x1024xbf16> attributes {
      moe.target = #moe.target<"h20", sm_count = 78>} {
  %0 = moe.grouped_matmul_swapped {
      token_order = #moe.order<row_major>, result_order = #moe.order<row_major>,
      epilogue = #moe.epilogue<silu, gate = concat>,
      expected_tokens = array<i64: 4>,
      schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 16,
                               warpgroups = 1>}
      ins(%w, %x, %off : tensor<128x2048x768xbf16>, tensor<64x768xbf16>,
                         tensor<129xi32>)
      bias(%bias : tensor<128x2048xbf16>)
      outs(%y : tensor<64x1024xbf16>) -> tensor<64x1024xbf16>
  return %0 : tensor<64x1024xbf16>
}
)";

class BytecodeTest : public testing::Test {
protected:
  BytecodeTest() {
    moe::registerAllDialects(registry);
    moe::registerAllExtensions(registry);
    registry.insert<func::FuncDialect>();
  }

  /// The errors of reading `input`; none if it can be read.
  std::vector<std::string> read(StringRef input) {
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    std::vector<std::string> errors;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        errors.push_back(diagnostic.str());
    });
    bool isRead(parseSourceString<ModuleOp>(input, &context));
    if (!isRead && errors.empty())
      errors.push_back("no diagnostic");
    return errors;
  }

  std::string write() {
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    auto module = parseSourceString<ModuleOp>(source, &context);
    std::string bytecode;
    llvm::raw_string_ostream os(bytecode);
    EXPECT_TRUE(module && succeeded(writeBytecodeToFile(*module, os)));
    return bytecode;
  }

  DialectRegistry registry;
};

TEST_F(BytecodeTest, isReadBack) { EXPECT_TRUE(read(write()).empty()); }

TEST_F(BytecodeTest, anyTruncationIsAnError) {
  std::string bytecode = write();
  // With less than its magic number it is text.
  for (size_t size = 4; size < bytecode.size(); ++size) {
    auto errors = read(StringRef(bytecode).take_front(size));
    ASSERT_FALSE(errors.empty()) << size << " bytes";
    EXPECT_NE(errors.front(), "no diagnostic") << size << " bytes";
  }
}

TEST_F(BytecodeTest, newerVersionIsAnError) {
  std::string bytecode = write();
  // The version follows the magic number, as an integer of variable size: 127.
  bytecode[4] = static_cast<char>(0xff);
  auto errors = read(bytecode);
  ASSERT_FALSE(errors.empty());
  EXPECT_NE(errors.front().find("is newer than the current version"),
            std::string::npos)
      << errors.front();
}

} // namespace
