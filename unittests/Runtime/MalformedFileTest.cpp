//===- MalformedFileTest.cpp - Launch files that break the contract -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RuntimeTestUtils.h"

#include <random>

namespace {

/// Every key of the contract, each value once.
const char *const kFile = R"({"abi": 1, "target": "sm_90a", "image": "a.ptx",
  "entry": "f",
  "arguments": [
    {"name": "x", "element_type": "bf16", "shape": [-1, 72], "access": "read"},
    {"name": "s", "element_type": "f32", "shape": [], "access": "readwrite"}],
  "results": [1],
  "temporaries": [{"element_type": "f16", "shape": [["dim", 0, 0], 9]}],
  "workspace": {"bytes": 512},
  "launches": [{"kernel": "k", "grid": [["dim", 0, 1], 2, 5],
    "block": [128, 4, 2], "cluster": [8, 1, 2], "shared_memory": 1000,
    "programmatic": true, "when": [{"value": 6, "min": 7, "max": 8}],
    "parameters": [
      {"kind": "tensor_map", "buffer": 0, "element_type": "f8E5M2",
       "dims": [144, 10], "strides": [288], "box": [64, 16], "swizzle": "64b",
       "l2_promotion": "256b", "interleave": "none", "oob": "zero"},
      {"kind": "buffer", "buffer": 2}, {"kind": "workspace", "offset": 256},
      {"kind": "i32", "value": 11}, {"kind": "i64", "value": 12}]}]})";

struct Malformed {
  const char *from, *to, *message;
};

class MalformedFileTest : public RuntimeTest {
protected:
  void expectMessage(const std::string &json, const std::string &message) {
    int status;
    EXPECT_FALSE(load(json, "", MOE_NO_DEVICE, &status));
    EXPECT_EQ(status, MOE_ERROR_LAUNCH_FILE);
    EXPECT_NE(std::string(moeRuntimeLastError()).find(message),
              std::string::npos)
        << "expected: " << message << "\nfound:    " << moeRuntimeLastError();
  }

  void expectAll(const std::vector<Malformed> &cases) {
    for (const Malformed &entry : cases)
      expectMessage(replace(kFile, entry.from, entry.to),
                    std::string("launch file: ") + entry.message);
  }
};

TEST_F(MalformedFileTest, UnchangedFileLoads) {
  EXPECT_TRUE(load(kFile, "", MOE_NO_DEVICE)) << moeRuntimeLastError();
}

TEST_F(MalformedFileTest, NotJson) {
  expectMessage("", "parse error at line 1, column 1");
  expectMessage("{\"abi\": 1,}", "parse error at line 1, column 11");
  expectMessage(std::string(kFile) + "x", "parse error at line 17");
  expectMessage("{\"abi\": \"\xff\"}", "parse error");
  expectMessage("[1]", "top level: expected an object, found an array of 1");
  expectMessage("null", "top level: expected an object, found null");
  expectMessage(std::string(1000000, '['), "nested more than 64 deep");
  expectMessage("{\"abi\": 1, \"abi\": 1}", "duplicate key \"abi\"");
  expectMessage(std::string(17 << 20, ' '),
                "17825792 bytes are more than the "
                "16777216 that a launch file may have");
  std::string deep = "7";
  for (int i = 0; i < 100; ++i)
    deep = "[\"add\", 1, " + deep + "]";
  expectMessage(replace(kFile, "11}", deep + "}"), "nested more than 64 deep");
}

TEST_F(MalformedFileTest, TopLevel) {
  expectAll({
      {"\"abi\": 1,", "", "top level: key \"abi\" is missing: not a launch "},
      {"\"abi\": 1", "\"abi\": 2",
       "abi: version 2, but this runtime reads version 1; use moe-compile and "
       "libMoERuntime of one release"},
      {"\"abi\": 1", "\"abi\": 1.0", "abi: expected an integer, found 1.0"},
      {"\"abi\": 1", "\"abi\": -1",
       "abi: expected an integer from 0 to 2147483647, found -1"},
      {"\"abi\": 1", "\"abi\": 99999999999999999999",
       "abi: expected an integer, found 1e+20"},
      {"\"entry\"", "\"entree\"", "top level: unknown key \"entree\""},
      {"\"entry\": \"f\",", "", "top level: key \"entry\" is missing"},
      {"\"entry\": \"f\"", "\"entry\": 3",
       "entry: expected a string that is not empty, found 3"},
      {"\"entry\": \"f\"", "\"entry\": \"\"",
       "entry: expected a string that is not empty, found \"\""},
      {"sm_90a", "sm_9",
       "target: expected a target such as \"sm_90a\", found "},
      {"sm_90a", "gfx942", "target: expected a target such as \"sm_90a\""},
      {"sm_90a", "sm_a", "target: expected a target such as \"sm_90a\""},
      {"a.ptx", "../a.ptx",
       "image: expected the name of a file in the same "
       "folder, found \"../a.ptx\""},
      {"{\"bytes\": 512}", "512", "workspace: expected an object, found 512"},
      {"\"bytes\": 512", "\"size\": 512", "workspace: unknown key \"size\""},
  });
}

TEST_F(MalformedFileTest, Buffers) {
  expectAll({
      {"\"bf16\"", "\"bfloat\"",
       "arguments[0].element_type: unknown element type \"bfloat\"; known: "
       "f32, f16, bf16,"},
      {"[-1, 72]", "[-2, 72]",
       "arguments[0].shape[0]: expected an extent of 0 or more, -1 for a "},
      {"[-1, 72]", "72", "arguments[0].shape: expected an array, found 72"},
      {"[-1, 72]", "[-1, \"K\"]",
       "arguments[0].shape[1]: expected an integer or an expression such as"},
      {"[-1, 72]", "[[\"dim\", 1, 0], 72]",
       "arguments[0].shape[0][2]: buffer 1 has rank 0"},
      {"[-1, 72]", "[[\"dim\", 2, 0], 72]",
       "arguments[0].shape[0][1]: expected an integer from 0 to 1, found 2"},
      {"\"read\"", "\"reed\"",
       "arguments[0].access: expected one of read, write, readwrite; found "},
      // A temporary must not depend on itself or on a later one.
      {"[[\"dim\", 0, 0], 9]", "[[\"dim\", 2, 0], 9]",
       "temporaries[0].shape[0][1]: expected an integer from 0 to 1, found 2"},
      {"\"f16\", ", "\"f16\", \"name\": \"t\", ",
       "temporaries[0]: unknown key \"name\""},
  });
}

TEST_F(MalformedFileTest, Results) {
  expectAll({
      {"\"results\": [1]", "\"results\": 1",
       "results: expected an array, found 1"},
      {"\"results\": [1]", "\"results\": [1, 2]",
       "results[1]: expected an integer from 0 to 1, found 2"},
      {"\"results\": [1]", "\"results\": [-1]",
       "results[0]: expected an integer from 0 to 1, found -1"},
      {"\"results\": [1]", "\"results\": [\"s\"]",
       "results[0]: expected an integer, found \"s\""},
      {"\"results\": [1]", "\"results\": [0]",
       "results[0]: argument 0 'x' has access \"read\"; a result needs one "
       "with "
       "\"write\" or \"readwrite\""},
  });
  expectMessage(R"({"abi": 1, "target": "sm_90a", "image": "a.ptx",
                    "entry": "f", "arguments": [], "results": [0],
                    "launches": []})",
                "results[0]: the program has no argument that could hold a ");
}

TEST_F(MalformedFileTest, Expressions) {
  expectAll({
      {"[\"dim\", 0, 1]", "[]",
       "launches[0].grid[0]: an expression cannot be empty"},
      {"[\"dim\", 0, 1]", "[\"sub\", 0, 1]",
       "launches[0].grid[0][0]: expected one of dim, sm_count, add, mul, "
       "ceildiv, floordiv, min, max; found \"sub\""},
      {"[\"dim\", 0, 1]", "[\"dim\", 0]",
       "launches[0].grid[0]: \"dim\" takes 2 operands, found 1"},
      {"[\"dim\", 0, 1]", "[\"sm_count\", 0]",
       "launches[0].grid[0]: \"sm_count\" takes 0 operands, found 1"},
      {"[\"dim\", 0, 1]", "[\"dim\", 3, 1]",
       "launches[0].grid[0][1]: expected an integer from 0 to 2, found 3"},
      {"[\"dim\", 0, 1]", "[\"dim\", 0, 2]",
       "launches[0].grid[0][2]: expected an integer from 0 to 1, found 2"},
      {"[\"dim\", 0, 1]", "[\"dim\", [\"sm_count\"], 1]",
       "launches[0].grid[0][1]: expected an integer, found an array of 1"},
      {"[\"dim\", 0, 1]", "[\"add\", 18446744073709551615, 1]",
       "launches[0].grid[0][1]: expected an integer from -9223372036854775808 "
       "to 9223372036854775807, found 18446744073709551615"},
      {"[\"dim\", 0, 1]", "1.5",
       "launches[0].grid[0]: expected an integer or an expression"},
  });
}

TEST_F(MalformedFileTest, Launches) {
  expectAll({
      {"\"kernel\": \"k\", ", "", "launches[0]: key \"kernel\" is missing"},
      {"1], 2, 5]", "1], 2]", "launches[0].grid: expected 3 entries, found 2"},
      {"[128, 4, 2]", "[128, 4, 4]",
       "launches[0].block: the product is 2048, more than 1024"},
      {"[128, 4, 2]", "[0, 4, 2]",
       "launches[0].block[0]: expected an integer from 1 to 1024, found 0"},
      {"[128, 4, 2]", "[1, 1, 65]",
       "launches[0].block[2]: expected an integer from 1 to 64, found 65"},
      {"[8, 1, 2]", "[8, 2, 2]",
       "launches[0].cluster: the product is 32, more than 16"},
      {"1000", "-1", "launches[0].shared_memory: expected an integer from 0"},
      {"true", "1", "launches[0].programmatic: expected true or false, found"},
      {"\"min\": 7, \"max\": 8", "\"maximum\": 8",
       "launches[0].when[0]: unknown key \"maximum\""},
      {", \"min\": 7, \"max\": 8", "",
       "launches[0].when[0]: a condition needs \"min\", \"max\", or both"},
  });
}

TEST_F(MalformedFileTest, Parameters) {
  const std::string map = "launches[0].parameters[0]";
  expectAll({
      {"\"kind\": \"i64\"", "\"kind\": \"f64\"",
       "launches[0].parameters[4].kind: expected one of tensor_map, buffer, "
       "workspace, i32, i64; found \"f64\""},
      {"\"value\": 12", "\"value\": 12, \"offset\": 0",
       "launches[0].parameters[4]: unknown key \"offset\""},
      {"\"buffer\": 2", "\"buffer\": 3",
       "launches[0].parameters[1].buffer: expected an integer from 0 to 2, "},
      {"\"offset\": 256", "\"offset\": -8",
       "launches[0].parameters[2].offset: expected an integer from 0 to "},
      {"\"workspace\": {\"bytes\": 512},", "",
       "launches[0].parameters[2]: the program declares no workspace"},
      {"[144, 10]", "[]",
       "launches[0].parameters[0].dims: a tensor map has 1 "
       "to 5 dimensions, found 0"},
      {"[144, 10]", "[1, 2, 3, 4, 5, 6]",
       "launches[0].parameters[0].dims: a tensor map has 1 to 5 dimensions"},
      {"[288]", "[1, 288]",
       "launches[0].parameters[0].strides: expected 1 entries, found 2"},
      {"[64, 16]", "[64]",
       "launches[0].parameters[0].box: expected 2 entries, found 1"},
      {"[64, 16]", "[64, 257]",
       "launches[0].parameters[0].box[1]: expected an "
       "integer from 1 to 256, found 257"},
      {"[64, 16]", "[24, 16]",
       "launches[0].parameters[0].box: the innermost "
       "extent is 24 bytes; TMA needs a multiple of "},
      {"[64, 16]", "[80, 16]",
       "launches[0].parameters[0].box: the innermost extent is 80 bytes, more "
       "than the swizzle's 64"},
      {"\"64b\"", "\"96b\"",
       "launches[0].parameters[0].swizzle: expected one "
       "of none, 32b, 64b, 128b; found \"96b\""},
      {"\"256b\"", "\"512b\"",
       "launches[0].parameters[0].l2_promotion: expected one of none, 64b, "},
      {"\"none\"", "\"16b\"",
       "launches[0].parameters[0].interleave: expected one of none; found"},
      {"\"zero\"", "\"one\"",
       "launches[0].parameters[0].oob: expected one of zero, nan; found"},
      {"\"zero\"", "\"nan\"",
       "launches[0].parameters[0].oob: only f16, bf16, f32 and f64 can be "
       "filled with NaN, not f8E5M2"},
  });
  // Without any buffer there is nothing to name.
  expectMessage(R"({"abi": 1, "target": "sm_90a", "image": "a.ptx",
    "entry": "f", "arguments": [], "launches": [{"kernel": "k",
    "grid": [1, 1, 1], "block": [1, 1, 1], "shared_memory": 0,
    "parameters": [{"kind": "buffer", "buffer": 0}]}]})",
                "launches[0].parameters[0].buffer: the program has no buffers");
  expectMessage(R"({"abi": 1, "target": "sm_90a", "image": "a.ptx",
    "entry": "f", "arguments": [], "launches": [{"kernel": "k",
    "grid": [["dim", 0, 0], 1, 1], "block": [1, 1, 1], "shared_memory": 0,
    "parameters": []}]})",
                "launches[0].grid[0]: no buffer has been declared that \"dim\" "
                "could name");
}

TEST_F(MalformedFileTest, EveryTruncationIsRejected) {
  const std::string file = kFile;
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_FALSE(load(file.substr(0, length), "", MOE_NO_DEVICE))
        << "the first " << length << " bytes were accepted";
}

/// Random edits must give a program or a message, and a launch of a program
/// that was accepted must do the same.
TEST_F(MalformedFileTest, RandomEditsNeverCrash) {
  const std::string file = kFile;
  const std::string pieces[] = {"0",       "-1",   "9223372036854775807",
                                "1e999",   "[]",   "{}",
                                "null",    "true", "\"\"",
                                "\"x\"",   ",",    ":",
                                "]",       "}",    "[\"dim\",0,0]",
                                "\"dim\"", "256",  "[\"mul\",["};
  std::mt19937 random(7);
  auto below = [&](size_t n) { return size_t(random() % n); };
  TestBuffer x(MOE_ELEMENT_BF16, {40, 72}), s(MOE_ELEMENT_F32, {});
  MoEBuffer args[] = {x.argument(), s.argument()};
  int accepted = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = file;
    for (size_t edits = 1 + below(2); edits; --edits) {
      size_t at = below(text.size());
      size_t end = std::min(text.size(), at + below(4));
      text.replace(at, end - at,
                   below(4) ? pieces[below(std::size(pieces))]
                            : std::string(1, char(random())));
    }
    int status;
    ProgramPtr program = load(text, "kernel k 128 8 8 4 8", 0, &status);
    if (!program) {
      EXPECT_STRNE(moeRuntimeLastError(), "");
      EXPECT_NE(status, MOE_ERROR_INTERNAL) << moeRuntimeLastError();
      continue;
    }
    ++accepted;
    status = moeProgramLaunch(program.get(), args, 2, nullptr);
    EXPECT_NE(status, MOE_ERROR_INTERNAL) << moeRuntimeLastError();
  }
  EXPECT_GT(accepted, 10) << "the edits are too coarse to test launches";
}

} // namespace
