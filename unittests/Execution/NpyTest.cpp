//===- NpyTest.cpp - Reading and writing .npy files -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Execution/Npy.h"

#include "gtest/gtest.h"
#include <fstream>
#include <random>

using namespace mlir;
using namespace mlir::moe;

namespace {

class NpyTest : public testing::Test {
protected:
  ~NpyTest() override { std::remove(path.c_str()); }

  void write(const std::string &content) {
    // A file that is written over goes to the disk at once, a new one does not.
    std::remove(path.c_str());
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  }

  llvm::Expected<HostTensor> read(ElementKind kind) {
    return readNpy(path, kind, std::nullopt);
  }

  /// Expects that a file of this content gives this message.
  void expectError(const std::string &content, const std::string &message,
                   ElementKind kind = ElementKind::F32) {
    write(content);
    llvm::Expected<HostTensor> tensor = read(kind);
    if (tensor) {
      ADD_FAILURE() << "read in spite of: " << message;
      return;
    }
    EXPECT_EQ(llvm::toString(tensor.takeError()), "'" + path + "': " + message);
  }

  /// A file of this header with `bytes` bytes of elements.
  static std::string file(const std::string &header, size_t bytes = 24,
                          int version = 1) {
    std::string text("\x93NUMPY");
    text += char(version);
    text += '\0';
    for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
      text += char(header.size() >> (8 * i));
    text += header;
    for (size_t i = 0; i < bytes; ++i)
      text += char(i);
    return text;
  }

  static std::string dictionary(const std::string &type,
                                const std::string &shape,
                                const std::string &order = "False") {
    return "{'descr': " + type + ", 'fortran_order': " + order +
           ", 'shape': " + shape + ", }\n";
  }

  const std::string path =
      testing::TempDir() + "moe_npy_test_" + std::to_string(getpid()) + ".npy";
};

TEST_F(NpyTest, WhatIsWrittenIsReadBack) {
  const std::vector<SmallVector<int64_t>> shapes = {
      {}, {0}, {5}, {2, 3}, {0, 7}, {1, 2, 1, 3, 1, 1, 2, 1, 1, 1, 1, 1, 1}};
  for (const SmallVector<int64_t> &shape : shapes)
    for (ElementKind kind :
         {ElementKind::F32, ElementKind::F16, ElementKind::BF16,
          ElementKind::I32, ElementKind::I64})
      for (bool asBits : {false, true}) {
        HostTensor tensor = llvm::cantFail(HostTensor::create(kind, shape));
        for (int64_t i = 0; i < tensor.getNumElements(); ++i)
          if (isFloat(kind))
            tensor.setFloat(i, 0.75 * (i - 3));
          else
            tensor.setInteger(i, 1000 * (i - 3));
        llvm::Error error = writeNpy(path, tensor, asBits);
        ASSERT_FALSE(error) << llvm::toString(std::move(error));
        llvm::Expected<HostTensor> back =
            readNpy(path, kind, asBits ? std::optional(kind) : std::nullopt);
        ASSERT_TRUE(bool(back)) << llvm::toString(back.takeError());
        EXPECT_EQ(back->getShape(), ArrayRef<int64_t>(shape));
        EXPECT_EQ(std::memcmp(back->getData(), tensor.getData(),
                              tensor.getNumBytes()),
                  0);
        // As NumPy aligns them.
        std::ifstream stream(path, std::ios::binary | std::ios::ate);
        int64_t bytes = tensor.getNumElements() *
                        (asBits || kind == ElementKind::I64
                             ? getByteSize(kind)
                             : std::max<int64_t>(getByteSize(kind), 4));
        EXPECT_EQ((int64_t(stream.tellg()) - bytes) % 64, 0);
      }
}

TEST_F(NpyTest, EveryFormOfHeader) {
  for (int version : {1, 2, 3})
    for (const std::string &header :
         {dictionary("'<f4'", "(2, 3)"), dictionary("\"<f4\"", "(2,3,)"),
          std::string("{ 'shape' : ( 2 , 3 ) ,'fortran_order':False,"
                      "'descr':'<f4'}"),
          // Sizes with the highest bit of the low byte set, and two bytes.
          dictionary("'<f4'", "(2, 3)") + std::string(170, ' '),
          dictionary("'<f4'", "(2, 3)") + std::string(40000, ' ')}) {
      write(file(header, 24, version));
      llvm::Expected<HostTensor> tensor = read(ElementKind::F32);
      ASSERT_TRUE(bool(tensor)) << llvm::toString(tensor.takeError());
      EXPECT_EQ(tensor->getShape(), ArrayRef<int64_t>({2, 3}));
      EXPECT_EQ(static_cast<const char *>(tensor->getData())[23], 23);
    }
  // One dimension has no order; what follows the elements does not matter.
  write(file(dictionary("'<f4'", "(3,)", "True"), 100));
  llvm::Expected<HostTensor> tensor = read(ElementKind::F32);
  ASSERT_TRUE(bool(tensor)) << llvm::toString(tensor.takeError());
  EXPECT_EQ(tensor->getNumElements(), 3);
}

TEST_F(NpyTest, NotAnArrayFile) {
  expectError("", "the file is not a .npy file");
  expectError("\x93NUMPY\1", "the file is not a .npy file");
  expectError("PK\3\4 an .npz file", "the file is not a .npy file");
  expectError(file("", 0, 4),
              "the file has version 4 of the format; versions 1 to 3 are "
              "known");
  for (int version : {1, 2}) {
    const std::string whole = file(dictionary("'<f4'", "(2, 3)"), 0, version);
    for (size_t length = 8; length < whole.size(); ++length)
      expectError(whole.substr(0, length),
                  "the file ends before its header does");
  }
}

TEST_F(NpyTest, HeadersOfNoArray) {
  for (const std::string &header :
       {std::string(), std::string("{"), std::string("{}"),
        std::string("{'descr': '<f4'}"), dictionary("'<f4'", "(2, 3)") + "x",
        dictionary("<f4", "(2, 3)"), dictionary("'<f4", "(2, 3)"),
        dictionary("'<f4'", "2"), dictionary("'<f4'", "(2 3)"),
        dictionary("'<f4'", "(2, -3)"), dictionary("'<f4'", "(2, 3"),
        dictionary("'<f4'", "(2, 3.0)"),
        dictionary("'<f4'", "(2, 99999999999999999999)"),
        dictionary("'<f4'", "(2, 3)", "false"),
        dictionary("'<f4'", "(2, 3), 'shape': (6,)"),
        dictionary("'<f4'", "(2, 3), 'more': (6,)"),
        // Records.
        dictionary("[('a', '<f4')]", "(2, 3)")})
    expectError(file(header), "the header is not that of an array of numbers; "
                              "write the file with numpy.save");
}

TEST_F(NpyTest, ArraysThatCannotBeUsed) {
  auto of = [](const std::string &type) {
    return file(dictionary("'" + type + "'", "(2, 3)"), 200);
  };
  for (std::string type : {"|O", "|b1", ">f4", "<c8", "<U3", "<f16", "<u4",
                           "|u1", "", "<f99999999999999999999"}) {
    expectError(of(type), "cannot use an array of type '" + type +
                              "' as f32; save it as <f2, <f4 or <f8");
    expectError(of(type),
                "cannot use an array of type '" + type +
                    "' as i64; save it as <i4 or <i8",
                ElementKind::I64);
  }
  expectError(of("<u2"),
              "the array is u2; if it holds bit patterns of f16, "
              "say --dtype=f16",
              ElementKind::F16);
  expectError(file(dictionary("'<f4'", "(2, 3)", "True")),
              "the array is stored in Fortran order; save it in C order "
              "(numpy.ascontiguousarray)");
}

TEST_F(NpyTest, MoreElementsThanTheFileHolds) {
  const char *const message = "the file ends before the last element";
  expectError(file(dictionary("'<f4'", "(2, 3)"), 23), message);
  expectError(file(dictionary("'<f8'", "(2, 3)"), 47), message);
  // Products that overflow, to small numbers among them, need no memory.
  expectError(file(dictionary("'<f4'", "(4611686018427387904, 4)")), message);
  expectError(file(dictionary("'<f4'", "(4294967296, 4294967296, 6)")),
              message);
  expectError(file(dictionary("'<f4'", "(9223372036854775807,)")), message);
  expectError(file(dictionary("'<f4'", "(1000000000000,)")), message);
}

TEST_F(NpyTest, ShapesOfNoTensor) {
  auto message = [](ArrayRef<int64_t> shape) {
    auto tensor = HostTensor::create(ElementKind::F32, shape);
    return tensor ? "" : llvm::toString(tensor.takeError());
  };
  EXPECT_EQ(message({2, -1}), "a tensor dimension is negative");
  EXPECT_EQ(message({int64_t(1) << 61, 2}),
            "no memory for a tensor of shape 2305843009213693952x2 and type "
            "f32");
  // Zero elements, but more than 64 bits count on the way there.
  EXPECT_EQ(message({int64_t(1) << 62, 4, 0}),
            "no memory for a tensor of shape 4611686018427387904x4x0 and type "
            "f32");
}

/// Random edits give a tensor or a message that names the file.
TEST_F(NpyTest, RandomEditsNeverCrash) {
  const std::string files[] = {file(dictionary("'<f4'", "(2, 3)")),
                               file(dictionary("'<u2'", "(4, 3)"), 24, 2),
                               file(dictionary("'<i8'", "(3,)"), 24, 3)};
  const std::string pieces[] = {"0",
                                "-1",
                                "9223372036854775807",
                                "4294967296",
                                "(",
                                ")",
                                ",",
                                "'",
                                "\"",
                                "{",
                                "}",
                                ":",
                                "<",
                                ">",
                                "|",
                                "O",
                                "True",
                                "f16",
                                std::string(70000, '9'),
                                std::string(1, '\0'),
                                "\xff",
                                "'descr': '<f8', "};
  std::mt19937 random(11);
  auto below = [&](size_t n) { return size_t(random() % n); };
  int accepted = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = files[below(std::size(files))];
    for (size_t edits = 1 + below(3); edits; --edits) {
      size_t at = below(text.size());
      size_t end = std::min(text.size(), at + below(4));
      text.replace(at, end - at,
                   below(3) ? pieces[below(std::size(pieces))]
                            : std::string(1, char(random())));
    }
    if (below(8) == 0)
      text.resize(below(text.size()));
    write(text);
    for (ElementKind kind :
         {ElementKind::F32, ElementKind::BF16, ElementKind::I32}) {
      llvm::Expected<HostTensor> tensor =
          readNpy(path, kind, ElementKind::BF16);
      if (tensor) {
        ++accepted;
        continue;
      }
      EXPECT_EQ(llvm::toString(tensor.takeError()).find("'" + path + "': "),
                0u);
    }
  }
  EXPECT_GT(accepted, 100) << "the edits are too coarse to reach the elements";
}

TEST_F(NpyTest, FilesThatCannotBeWritten) {
  HostTensor tensor = llvm::cantFail(HostTensor::create(ElementKind::F32, {2}));
  EXPECT_EQ(llvm::toString(writeNpy("/nowhere/a.npy", tensor, false)),
            "'/nowhere/a.npy': cannot write the file: No such file or "
            "directory");
  if (!std::ifstream("/dev/full"))
    GTEST_SKIP() << "there is no /dev/full";
  EXPECT_EQ(llvm::toString(writeNpy("/dev/full", tensor, false)),
            "'/dev/full': cannot write the file: No space left on device");
}

} // namespace
