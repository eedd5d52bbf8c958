//===- LaunchFileTest.cpp - Reading launch files --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RuntimeTestUtils.h"

namespace {

TEST_F(RuntimeTest, DocumentedExampleIsReadAsDocumented) {
  ProgramPtr program = load(documentedExample(), "", MOE_NO_DEVICE);
  ASSERT_TRUE(program) << moeRuntimeLastError();

  const char *entry = nullptr;
  EXPECT_EQ(moeProgramEntry(program.get(), &entry), MOE_OK);
  EXPECT_STREQ(entry, "gate_up");
  int count = 0;
  EXPECT_EQ(moeProgramNumArguments(program.get(), &count), MOE_OK);
  ASSERT_EQ(count, 4);

  MoEArgumentInfo info;
  ASSERT_EQ(moeProgramArgument(program.get(), 1, &info), MOE_OK);
  EXPECT_STREQ(info.name, "weights");
  EXPECT_EQ(info.elementType, MOE_ELEMENT_BF16);
  EXPECT_EQ(info.access, MOE_ACCESS_READ);
  ASSERT_EQ(info.rank, 3);
  EXPECT_EQ(std::vector<int64_t>(info.dims, info.dims + 3),
            (std::vector<int64_t>{128, 1536, 2048}));

  // An extent that an expression fixes is dynamic to a reader.
  ASSERT_EQ(moeProgramArgument(program.get(), 3, &info), MOE_OK);
  EXPECT_EQ(info.access, MOE_ACCESS_WRITE);
  ASSERT_EQ(info.rank, 2);
  EXPECT_EQ(info.dims[0], -1);
  EXPECT_EQ(info.dims[1], 1536);

  EXPECT_EQ(moeProgramArgument(program.get(), 4, &info),
            MOE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(moeRuntimeLastError(),
               "there is no argument 4: the program takes 4");
}

TEST_F(RuntimeTest, ResultsAreInTheArgumentsThatTheFileNames) {
  auto results = [](const std::string &json) {
    ProgramPtr program = load(json, "", MOE_NO_DEVICE);
    EXPECT_TRUE(program) << moeRuntimeLastError();
    int count = -1;
    EXPECT_EQ(moeProgramNumResults(program.get(), &count), MOE_OK);
    std::vector<int> arguments(size_t(std::max(count, 0)), -1);
    for (int i = 0; i < count; ++i)
      EXPECT_EQ(moeProgramResultArgument(program.get(), i, &arguments[i]),
                MOE_OK);
    int argument = -7;
    EXPECT_EQ(moeProgramResultArgument(program.get(), count, &argument),
              MOE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(moeRuntimeLastError(),
              "there is no result " + std::to_string(count) +
                  ": the program has " + std::to_string(count));
    EXPECT_EQ(argument, -7);
    return arguments;
  };
  const std::string example = documentedExample();
  EXPECT_EQ(results(example), std::vector<int>{3});
  // By default, what is written only.
  EXPECT_EQ(results(replace(example, "\"results\": [3],", "")),
            std::vector<int>{3});
  EXPECT_EQ(results(replace(example, "\"results\": [3],", "\"results\": [],")),
            std::vector<int>{});
  // In place, and two results in one argument.
  std::string inPlace = replace(replace(example, "[129], \"access\": \"read\"",
                                        "[129], \"access\": \"readwrite\""),
                                "\"results\": [3],", "\"results\": [2, 3, 2],");
  EXPECT_EQ(results(inPlace), (std::vector<int>{2, 3, 2}));
  EXPECT_EQ(results(replace(inPlace, "\"results\": [2, 3, 2],", "")),
            std::vector<int>{3});
}

TEST_F(RuntimeTest, NotesAreSkipped) {
  std::string json = replace(documentedExample(), "\"abi\": 1,",
                             "\"abi\": 1, \"x-schedule\": {\"n\": [16]},");
  EXPECT_TRUE(load(json, "", MOE_NO_DEVICE)) << moeRuntimeLastError();
}

TEST_F(RuntimeTest, ElementTypesHaveNamesAndSizes) {
  EXPECT_STREQ(moeElementTypeName(MOE_ELEMENT_BF16), "bf16");
  EXPECT_STREQ(moeElementTypeName(MOE_ELEMENT_F8E5M2), "f8E5M2");
  EXPECT_EQ(moeElementTypeSize(MOE_ELEMENT_BF16), 2);
  EXPECT_EQ(moeElementTypeSize(MOE_ELEMENT_I64), 8);
  EXPECT_EQ(moeElementTypeName(0), nullptr);
  EXPECT_EQ(moeElementTypeSize(99), 0);
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

/// A program of one kernel that gets the value of one expression over two
/// arguments, [?x?] and [3].
std::string withExpression(const std::string &expression) {
  return R"({"abi": 1, "target": "sm_90a", "image": "a.ptx", "entry": "f",
    "arguments": [
      {"name": "a", "element_type": "f32", "shape": [-1, -1], "access": "read"},
      {"name": "b", "element_type": "f32", "shape": [3], "access": "write"}],
    "launches": [{"kernel": "k", "grid": [1, 1, 1], "block": [1, 1, 1],
      "shared_memory": 0, "parameters": [{"kind": "i32", "value": )" +
         expression + "}]}]}";
}

class ExpressionTest : public RuntimeTest {
protected:
  /// Launches with a of [7x5]; returns the status, with the value or message
  /// in `text`.
  int evaluate(const std::string &expression, int64_t d0 = 7) {
    ProgramPtr program = load(withExpression(expression), "kernel k 4");
    if (!program) {
      text = moeRuntimeLastError();
      return MOE_ERROR_LAUNCH_FILE;
    }
    int64_t aDims[] = {d0, 5}, bDims[] = {3};
    TestBuffer memory(MOE_ELEMENT_F32, {64});
    MoEBuffer args[] = {{memory.data, MOE_ELEMENT_F32, 2, aDims},
                        {memory.data, MOE_ELEMENT_F32, 1, bDims}};
    fake.clearLog();
    int status = moeProgramLaunch(program.get(), args, 2, nullptr);
    std::string log = fake.log();
    text = status ? moeRuntimeLastError()
                  : log.substr(log.find('(') + 1,
                               log.find(')') - log.find('(') - 1);
    return status;
  }
  std::string text;
};

TEST_F(ExpressionTest, EveryForm) {
  const std::pair<const char *, const char *> cases[] = {
      {"-3", "-3"},
      {R"(["dim", 0, 0])", "7"},
      {R"(["dim", 1, 0])", "3"},
      {R"(["sm_count"])", "132"},
      {R"(["add", ["dim", 0, 0], ["dim", 0, 1]])", "12"},
      {R"(["mul", ["dim", 0, 0], -2])", "-14"},
      {R"(["ceildiv", ["dim", 0, 0], 2])", "4"},
      {R"(["ceildiv", 8, 2])", "4"},
      {R"(["ceildiv", -7, 2])", "-3"},
      {R"(["floordiv", ["dim", 0, 0], 2])", "3"},
      {R"(["floordiv", -7, 2])", "-4"},
      {R"(["floordiv", -8, 2])", "-4"},
      {R"(["min", ["dim", 0, 0], ["dim", 0, 1]])", "5"},
      {R"(["max", ["dim", 0, 0], ["dim", 0, 1]])", "7"},
      {"2147483647", "2147483647"},
      {"-2147483648", "-2147483648"},
  };
  for (auto [expression, value] : cases) {
    EXPECT_EQ(evaluate(expression), MOE_OK) << text;
    EXPECT_EQ(text, value) << expression;
  }
}

TEST_F(ExpressionTest, ValuesThatDoNotExist) {
  const std::string place = "launches[0].parameters[0].value: ";
  const std::pair<const char *, const char *> cases[] = {
      {R"(["add", 9223372036854775807, 1])", "a sum overflows 64 bits"},
      {R"(["mul", 4611686018427387904, ["dim", 0, 0]])",
       "a product overflows 64 bits"},
      {R"(["ceildiv", 1, ["add", ["dim", 1, 0], -3]])",
       "a division by a number less than one"},
      {R"(["floordiv", 1, -1])", "a division by a number less than one"},
      {"2147483648", "is 2147483648 for these shapes, which i32 does not hold"},
  };
  for (auto [expression, message] : cases) {
    EXPECT_EQ(evaluate(expression), MOE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(text.find(place + message), 0u) << text;
    EXPECT_EQ(fake.count("launch "), 0) << "launched in spite of an error";
  }
}

} // namespace
