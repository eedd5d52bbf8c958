//===- ProgramTest.cpp - Loading and launching programs -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RuntimeTestUtils.h"

namespace {

const char *const kImage = "kernel gate_up_plan 8 8 8\n"
                           "kernel gate_up_n16 128 128 8 8 8 4\n";

/// The documented example on the fake driver, with buffers for its arguments.
/// Weights are never touched, so one byte stands for all of them.
class ProgramTest : public RuntimeTest {
protected:
  ProgramTest()
      : tokens(MOE_ELEMENT_BF16, {48, 2048}), weights(MOE_ELEMENT_I8, {1}),
        offsets(MOE_ELEMENT_I32, {129}), result(MOE_ELEMENT_BF16, {48, 1536}) {
    setRows(48);
  }

  void setRows(int64_t rows) {
    tokenDims[0] = resultDims[0] = rows;
    args = {{tokens.data, MOE_ELEMENT_BF16, 2, tokenDims},
            {weights.data, MOE_ELEMENT_BF16, 3, weightDims},
            offsets.argument(),
            {result.data, MOE_ELEMENT_BF16, 2, resultDims}};
    fake.clearLog();
  }

  int launch(MoEProgram *program, void *stream = nullptr) {
    return moeProgramLaunch(program, args.data(), int(args.size()), stream);
  }

  void expectLaunchError(MoEProgram *program, const std::string &message,
                         int expected = MOE_ERROR_INVALID_ARGUMENT) {
    fake.clearLog();
    EXPECT_EQ(launch(program), expected);
    EXPECT_NE(std::string(moeRuntimeLastError()).find(message),
              std::string::npos)
        << "expected: " << message << "\nfound:    " << moeRuntimeLastError();
    EXPECT_EQ(fake.count("launch "), 0) << "launched in spite of an error";
  }

  TestBuffer tokens, weights, offsets, result;
  int64_t tokenDims[2] = {48, 2048}, weightDims[3] = {128, 1536, 2048},
          resultDims[2] = {48, 1536};
  std::vector<MoEBuffer> args;
  std::string example = documentedExample();
};

//===----------------------------------------------------------------------===//
// What a launch passes
//===----------------------------------------------------------------------===//

TEST_F(ProgramTest, LaunchPassesWhatTheFileSays) {
  ProgramPtr program = load(example, kImage);
  ASSERT_TRUE(program) << moeRuntimeLastError();
  // Set up once, at load.
  EXPECT_EQ(fake.count("cuFuncSetAttribute gate_up_n16 8 100352\n"), 1);
  EXPECT_EQ(fake.count("cuFuncLoad"), 2);
  fake.clearLog();
  ASSERT_EQ(launch(program.get()), MOE_OK) << moeRuntimeLastError();

  std::string log = fake.log();
  EXPECT_EQ(fake.count("encode "), 2);
  EXPECT_EQ(fake.count("encode map0 type=9 address=" + weights.address() +
                       " dims=2048,196608 strides=4096 box=64,64 steps=1,1 "
                       "interleave=0 swizzle=3 promotion=2 oob=0\n"),
            1)
      << log;
  EXPECT_EQ(fake.count("encode map1 type=9 address=" + tokens.address() +
                       " dims=2048,48 strides=4096 box=64,16 steps=1,1 "
                       "interleave=0 swizzle=3 promotion=2 oob=0\n"),
            1)
      << log;
  // 48 rows: ceildiv(48, 16) + 128 units of 4 integers.
  EXPECT_EQ(fake.count("alloc 2096\n"), 1) << log;
  EXPECT_EQ(fake.count("alloc 256\nmemset 0 256\n"), 1) << log;

  size_t plan = log.find("launch gate_up_plan grid=1,1,1 block=128,1,1 "
                         "shared=0 cluster=none stream=default (" +
                         offsets.address() + " 0x");
  size_t multiply = log.find("launch gate_up_n16 grid=132,1,1 block=160,1,1 "
                             "shared=100352 cluster=none stream=default "
                             "(map0 map1 " +
                             result.address() + " 0x");
  ASSERT_NE(plan, std::string::npos) << log;
  ASSERT_NE(multiply, std::string::npos) << log;
  EXPECT_LT(plan, multiply);
  EXPECT_NE(log.find(" 0x30)\n", plan), std::string::npos) << log;
  EXPECT_NE(log.find(" 48)\n", multiply), std::string::npos) << log;

  // Both kernels see the same temporary.
  auto word = [&](size_t line, int index) {
    size_t at = log.find('(', line);
    while (index--)
      at = log.find(' ', at + 1);
    return log.substr(at + 1, log.find_first_of(" )", at + 1) - at - 1);
  };
  EXPECT_EQ(word(plan, 1), word(multiply, 3));
  EXPECT_NE(word(multiply, 3), word(multiply, 4)) << "workspace = temporary";
}

TEST_F(ProgramTest, RepeatedLaunchOnlyLaunches) {
  ProgramPtr program = load(example, kImage);
  ASSERT_EQ(launch(program.get()), MOE_OK) << moeRuntimeLastError();
  fake.clearLog();
  ASSERT_EQ(launch(program.get()), MOE_OK);
  EXPECT_EQ(fake.count("\n"), 2) << fake.log();
  EXPECT_EQ(fake.count("launch "), 2);

  // Fewer rows need a new map of the tokens, but no memory.
  setRows(16);
  ASSERT_EQ(launch(program.get()), MOE_OK);
  EXPECT_EQ(fake.count("encode "), 1);
  EXPECT_EQ(fake.count("alloc"), 0);
  EXPECT_EQ(fake.count("dims=2048,16 "), 1) << fake.log();

  // And both shapes are remembered.
  setRows(48);
  ASSERT_EQ(launch(program.get()), MOE_OK);
  EXPECT_EQ(fake.count("encode "), 0);
}

TEST_F(ProgramTest, TensorMapCacheIsBounded) {
  ProgramPtr program = load(example, kImage);
  // 20 shapes in turn exceed the 16 entries; every map must still be right.
  for (int round = 0; round < 2; ++round)
    for (int rows = 1; rows <= 20; ++rows) {
      setRows(rows);
      ASSERT_EQ(launch(program.get()), MOE_OK) << moeRuntimeLastError();
      EXPECT_EQ(fake.count("encode "), round == 0 && rows == 1 ? 2 : 1);
      EXPECT_EQ(fake.count("dims=2048," + std::to_string(rows) + " "), 1);
    }
}

TEST_F(ProgramTest, ZeroRowsLaunchNothing) {
  ProgramPtr program = load(example, kImage);
  setRows(0);
  args[0].data = args[3].data = nullptr;
  EXPECT_EQ(launch(program.get()), MOE_OK) << moeRuntimeLastError();
  EXPECT_EQ(fake.count("launch "), 0);
  EXPECT_EQ(fake.count("encode "), 0);
}

TEST_F(ProgramTest, EmptyBufferGetsAMapOfOnes) {
  std::string json =
      replace(example, "\"min\": 1, \"max\": 4096", "\"min\": 0");
  ProgramPtr program = load(json, kImage);
  setRows(0);
  args[0].data = nullptr;
  // An odd address of nothing must not matter.
  args[3].data = reinterpret_cast<void *>(1);
  EXPECT_EQ(launch(program.get()), MOE_OK) << moeRuntimeLastError();
  EXPECT_EQ(fake.count("launch gate_up_n16"), 1);
  EXPECT_EQ(fake.count("dims=2048,1 strides=4096"), 1) << fake.log();
  EXPECT_EQ(fake.count("address=0 "), 0) << fake.log();
}

TEST_F(ProgramTest, ConditionsChooseTheKernel) {
  std::string json =
      replace(example, "\"min\": 1, \"max\": 4096", "\"min\": 17, \"max\": 32");
  ProgramPtr program = load(json, kImage);
  for (int rows : {16, 17, 32, 33}) {
    setRows(rows);
    ASSERT_EQ(launch(program.get()), MOE_OK) << moeRuntimeLastError();
    EXPECT_EQ(fake.count("launch gate_up_n16"), rows == 17 || rows == 32)
        << rows;
    EXPECT_EQ(fake.count("launch gate_up_plan"), 1);
  }
}

TEST_F(ProgramTest, ClustersAndProgrammaticLaunches) {
  std::string json = replace(example, "\"block\": [160, 1, 1],",
                             "\"block\": [160, 1, 1], \"cluster\": [12, 1, 1], "
                             "\"programmatic\": true,");
  ProgramPtr program = load(json, kImage);
  ASSERT_TRUE(program) << moeRuntimeLastError();
  EXPECT_EQ(fake.count("cuFuncSetAttribute gate_up_n16 14 1\n"), 1);
  ASSERT_EQ(launch(program.get()), MOE_OK) << moeRuntimeLastError();
  EXPECT_EQ(fake.count("cluster=12,1,1 programmatic stream"), 1) << fake.log();

  fake.set("sms", 130);
  program = load(json, kImage);
  expectLaunchError(program.get(),
                    "launches[1].grid[0]: is 130 for these "
                    "shapes, not a multiple of the cluster's 12");
}

TEST_F(ProgramTest, CallersContextIsRestored) {
  ProgramPtr program = load(example, kImage);
  fake.fail("cuLaunchKernelEx", 700);
  EXPECT_EQ(launch(program.get()), MOE_ERROR_CUDA);
  EXPECT_STREQ(
      moeRuntimeLastError(),
      "cannot launch kernel 'gate_up_plan': CUDA_ERROR_ILLEGAL_ADDRESS "
      "(what the driver says of it)");
  EXPECT_EQ(fake.contextDepth(), 0);

  // In a process that uses the device already, nothing is pushed.
  void *driver = dlopen(MOE_FAKE_CUDA_DRIVER, RTLD_NOW), *context = nullptr;
  auto retain = reinterpret_cast<int (*)(void **, int)>(
      dlsym(driver, "cuDevicePrimaryCtxRetain"));
  auto push =
      reinterpret_cast<int (*)(void *)>(dlsym(driver, "cuCtxPushCurrent_v2"));
  auto pop =
      reinterpret_cast<int (*)(void **)>(dlsym(driver, "cuCtxPopCurrent_v2"));
  ASSERT_EQ(retain(&context, 0), 0);
  ASSERT_EQ(push(context), 0);
  EXPECT_EQ(launch(program.get()), MOE_OK) << moeRuntimeLastError();
  EXPECT_EQ(fake.contextDepth(), 1);
  ASSERT_EQ(pop(&context), 0);
}

//===----------------------------------------------------------------------===//
// Memory and capture
//===----------------------------------------------------------------------===//

TEST_F(ProgramTest, FirstLaunchCannotBeCaptured) {
  ProgramPtr program = load(example, kImage);
  void *stream = nullptr;
  ASSERT_EQ(moeStreamCreate(0, &stream), MOE_OK);
  auto begin = reinterpret_cast<int (*)(void *, int)>(
      dlsym(dlopen(MOE_FAKE_CUDA_DRIVER, RTLD_NOW), "cuStreamBeginCapture_v2"));
  ASSERT_EQ(begin(stream, 1), 0);
  fake.clearLog();
  EXPECT_EQ(launch(program.get(), stream), MOE_ERROR_CAPTURE);
  float time;
  EXPECT_EQ(moeProgramTime(program.get(), args.data(), 4, stream,
                           MOE_TIME_STREAM, 1, 1, &time),
            MOE_ERROR_CAPTURE);
  EXPECT_STREQ(moeRuntimeLastError(), "launches cannot be timed on a stream "
                                      "that is being captured");
  EXPECT_EQ(launch(program.get(), stream), MOE_ERROR_CAPTURE);
  EXPECT_STREQ(moeRuntimeLastError(),
               "the stream is being captured, but temporary 0 needs 2096 bytes "
               "and has 0: call moeProgramReserve, or launch once, with these "
               "shapes before the capture");
  EXPECT_EQ(fake.count("alloc"), 0) << "allocated during a capture";
  EXPECT_EQ(fake.count("launch "), 0);

  // Reserving needs shapes only.
  args[0].data = nullptr;
  EXPECT_EQ(moeProgramReserve(program.get(), args.data(), 4), MOE_OK)
      << moeRuntimeLastError();
  args[0].data = tokens.data;
  fake.clearLog();
  EXPECT_EQ(launch(program.get(), stream), MOE_OK) << moeRuntimeLastError();
  EXPECT_EQ(fake.count("alloc") + fake.count("Synchronize"), 0) << fake.log();
  EXPECT_EQ(fake.count("launch "), 2);
  EXPECT_EQ(moeStreamDestroy(0, stream), MOE_OK);

  // The captured launches hold the old temporary: growing must not free it.
  setRows(4096);
  EXPECT_EQ(moeProgramReserve(program.get(), args.data(), 4), MOE_OK);
  EXPECT_EQ(fake.count("alloc"), 1);
  EXPECT_EQ(fake.count("free"), 0) << fake.log();
}

TEST_F(ProgramTest, OutgrownMemoryIsFreedOnceUnused) {
  ProgramPtr program = load(example, kImage);
  ASSERT_EQ(launch(program.get()), MOE_OK);
  setRows(4096);
  EXPECT_EQ(moeProgramReserve(program.get(), args.data(), 4), MOE_OK);
  EXPECT_NE(std::string(fake.log()).find("cuCtxSynchronize\nfree 2096"),
            std::string::npos)
      << fake.log();
}

TEST_F(ProgramTest, FailedAllocationLeavesAUsableProgram) {
  ProgramPtr program = load(example, kImage);
  fake.fail("cuMemAlloc_v2", 2);
  expectLaunchError(program.get(),
                    "cannot allocate 2096 bytes on device 0 for temporary 0: "
                    "CUDA_ERROR_OUT_OF_MEMORY",
                    MOE_ERROR_OUT_OF_MEMORY);
  fake.fail("cuMemsetD8Async", 1);
  expectLaunchError(program.get(), "cuMemsetD8Async", MOE_ERROR_CUDA);
  EXPECT_EQ(launch(program.get()), MOE_OK) << moeRuntimeLastError();
}

TEST_F(ProgramTest, DriverThatRefusesALaunch) {
  ProgramPtr program = load(example, kImage);
  const std::string reason = ": CUDA_ERROR_INVALID_VALUE (what the driver says "
                             "of it)";
  fake.fail("cuTensorMapEncodeTiled", 1);
  expectLaunchError(program.get(),
                    "launches[1].parameters[0]: the driver rejects the tensor "
                    "map of argument 1 'weights'" +
                        reason,
                    MOE_ERROR_CUDA);
  fake.fail("cuStreamIsCapturing", 1);
  expectLaunchError(program.get(),
                    "cuStreamIsCapturing: is it a stream of this device?" +
                        reason,
                    MOE_ERROR_CUDA);
  EXPECT_EQ(launch(program.get()), MOE_OK) << moeRuntimeLastError();
  // What a kernel does wrong shows when one waits for it.
  fake.fail("cuStreamSynchronize", 700);
  float time;
  EXPECT_EQ(moeProgramTime(program.get(), args.data(), 4, nullptr,
                           MOE_TIME_STREAM, 1, 1, &time),
            MOE_ERROR_CUDA);
  EXPECT_STREQ(moeRuntimeLastError(),
               "a launch failed: CUDA_ERROR_ILLEGAL_ADDRESS (what the driver "
               "says of it)");
}

TEST_F(ProgramTest, TwoProgramsShareNothing) {
  ProgramPtr first = load(example, kImage), second = load(example, kImage);
  ASSERT_EQ(launch(first.get()), MOE_OK);
  fake.clearLog();
  ASSERT_EQ(launch(second.get()), MOE_OK);
  EXPECT_EQ(fake.count("alloc"), 2);
}

//===----------------------------------------------------------------------===//
// Wrong arguments
//===----------------------------------------------------------------------===//

TEST_F(ProgramTest, WrongArgumentsAreNamed) {
  ProgramPtr program = load(example, kImage);
  const std::vector<MoEBuffer> right = args;
  MoEProgram *p = program.get();

  args.pop_back();
  expectLaunchError(p, "'gate_up' takes 4 arguments (tokens: bf16[?x2048], "
                       "weights: bf16[128x1536x2048], offsets: i32[129], "
                       "result0: bf16[?x1536]), found 3");
  args = right;
  args[0].elementType = MOE_ELEMENT_F16;
  expectLaunchError(p, "argument 0 'tokens' must hold bf16, found f16");
  args[0].elementType = 77;
  expectLaunchError(p, "'tokens' must hold bf16, found element type 77");
  args = right;
  args[1].rank = 2;
  expectLaunchError(p, "argument 1 'weights' must have rank 3, found 2");
  args[1].rank = -1;
  expectLaunchError(p, "argument 1 'weights' must have rank 3, found -1");
  args = right;
  args[2].dims = nullptr;
  expectLaunchError(p, "argument 2 'offsets' has null dims");
  args = right;
  tokenDims[0] = -5;
  expectLaunchError(p, "argument 0 'tokens': dimension 0 is -5");
  tokenDims[0] = 48;
  weightDims[1] = 768;
  expectLaunchError(
      p, "argument 1 'weights': dimension 1 must be 1536, found 768");
  weightDims[1] = 1536;
  resultDims[0] = 47;
  expectLaunchError(p,
                    "argument 3 'result0': dimension 0 must be 48, found 47");
  tokenDims[0] = resultDims[0] = int64_t(1) << 60;
  expectLaunchError(p, "'tokens' has more bytes than 64 bits count");
  tokenDims[0] = resultDims[0] = 48;

  EXPECT_EQ(moeProgramLaunch(p, nullptr, 4, nullptr),
            MOE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(moeRuntimeLastError(), "args is null");
}

TEST_F(ProgramTest, WrongPointersAreNamed) {
  ProgramPtr program = load(example, kImage);
  const std::vector<MoEBuffer> right = args;
  MoEProgram *p = program.get();
  auto shift = [](void *pointer, int bytes) {
    return static_cast<char *>(pointer) + bytes;
  };

  args[3].data = nullptr;
  expectLaunchError(p, "argument 3 'result0' is null, but holds 147456 bytes");
  args = right;
  args[2].data = shift(args[2].data, 2);
  expectLaunchError(p, "which is not aligned to i32");
  args = right;
  args[0].data = shift(args[0].data, 8);
  expectLaunchError(p,
                    "launches[1].parameters[1]: argument 0 'tokens' is at 0x");
  expectLaunchError(p, "; a buffer that TMA reads must be aligned to 16 bytes");
  args = right;
  alignas(16) char host[16];
  args[0].data = host;
  expectLaunchError(p,
                    "which is not memory that CUDA knows; copy it to device");
  // Where the GPU reads pageable memory, it is as good as any.
  fake.set("pageable", 1);
  program = load(example, kImage);
  EXPECT_EQ(launch(program.get()), MOE_OK) << moeRuntimeLastError();
  args = right;
  fake.set("pointerDevice", 1);
  program = load(example, kImage);
  expectLaunchError(program.get(), "argument 0 'tokens' is on device 1, but "
                                   "the program was loaded on device 0");
}

TEST_F(ProgramTest, TensorMapsMustFitTheirBuffers) {
  const std::string tokensMap = "\"dims\": [2048, [\"dim\", 0, 0]], "
                                "\"strides\": [4096]";
  auto expect = [&](const std::string &map, const std::string &message) {
    ProgramPtr program = load(replace(example, tokensMap, map), kImage);
    ASSERT_TRUE(program) << moeRuntimeLastError();
    expectLaunchError(program.get(), "launches[1].parameters[1]" + message);
  };
  expect("\"dims\": [2048, 49], \"strides\": [4096]",
         ": the tensor map reaches beyond the 196608 bytes of argument 0 "
         "'tokens'");
  expect("\"dims\": [2056, 48], \"strides\": [4096]",
         ": the tensor map reaches beyond");
  // 2^32 times nearly 2^40 bytes do not fit 64 bits.
  expect("\"dims\": [2048, 4294967296], \"strides\": [1099511627760]",
         ": the tensor map reaches beyond");
  expect("\"dims\": [2048, 4294967297], \"strides\": [4096]",
         ".dims[1]: the extent of argument 0 'tokens' is 4294967297; TMA "
         "allows up to 2^32");
  expect("\"dims\": [2048, -1], \"strides\": [4096]",
         ".dims[1]: the extent of argument 0 'tokens' is -1");
  expect("\"dims\": [2044, 48], \"strides\": [4088]",
         ".strides[0]: the stride of argument 0 'tokens' is 4088 bytes; TMA "
         "needs a multiple of 16 below 2^40, so rows of a multiple of 8 "
         "elements");
}

TEST_F(ProgramTest, BadExtentsOfALaunch) {
  auto expect = [&](const char *from, const char *to, const char *message) {
    ProgramPtr program = load(replace(example, from, to), kImage);
    ASSERT_TRUE(program) << moeRuntimeLastError();
    expectLaunchError(program.get(), message);
  };
  expect("[[\"sm_count\"], 1, 1]", "[1, 65536, 1]",
         "launches[1].grid[1]: is 65536 for these shapes; the device allows 0 "
         "to 65535");
  expect("[[\"sm_count\"], 1, 1]", "[[\"mul\", [\"sm_count\"], -1], 1, 1]",
         "launches[1].grid[0]: is -132 for these shapes");
  expect("\"offset\": 0", "\"offset\": 256",
         "launches[1].parameters[4].offset: is 256, but the workspace has 256 "
         "bytes");
  expect("\"bytes\": 256", "\"bytes\": [\"add\", [\"dim\", 0, 0], -50]",
         "workspace.bytes: is -2 for these shapes");
  expect("[[\"add\", [\"ceildiv\", [\"dim\", 0, 0], 16], 128], 4]",
         "[[\"add\", [\"dim\", 0, 0], -50], 4]",
         "temporaries[0].shape[0]: the extent is -2 for these shapes");
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

TEST_F(ProgramTest, WrongDevice) {
  int status;
  fake.set("major", 8);
  EXPECT_FALSE(load(example, kImage, 0, &status));
  EXPECT_EQ(status, MOE_ERROR_UNSUPPORTED_DEVICE);
  EXPECT_STREQ(moeRuntimeLastError(),
               "device 0 is sm_80 \"Fake 0\": this program needs an sm_90 "
               "(Hopper) GPU; choose another device, or use --device=cpu");
  // sm_90a does not run on later devices, sm_90 does.
  fake.set("major", 10);
  EXPECT_FALSE(load(example, kImage, 0, &status));
  EXPECT_EQ(status, MOE_ERROR_UNSUPPORTED_DEVICE);
  EXPECT_TRUE(load(replace(example, "sm_90a", "sm_90"), kImage))
      << moeRuntimeLastError();
  fake.set("major", 8);
  EXPECT_FALSE(load(replace(example, "sm_90a", "sm_90"), kImage, 0, &status));
  EXPECT_STREQ(moeRuntimeLastError(),
               "device 0 is sm_80 \"Fake 0\": this program needs an sm_90 "
               "(Hopper) GPU or a later one; choose another device, or use "
               "--device=cpu");
  EXPECT_FALSE(load(example, kImage, 2, &status));
  EXPECT_EQ(status, MOE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(moeRuntimeLastError(),
               "there is no CUDA device 2: 2 present, numbered 0 to 1");
  EXPECT_FALSE(load(example, kImage, -2, &status));
  EXPECT_EQ(status, MOE_ERROR_INVALID_ARGUMENT);
}

TEST_F(ProgramTest, BadImages) {
  auto expect = [&](const std::string &image, const std::string &message) {
    int status;
    EXPECT_FALSE(load(example, image, 0, &status));
    EXPECT_EQ(status, MOE_ERROR_KERNEL_IMAGE);
    EXPECT_NE(std::string(moeRuntimeLastError()).find(message),
              std::string::npos)
        << "expected: " << message << "\nfound:    " << moeRuntimeLastError();
  };
  expect("", "the kernel image is empty");
  expect("nonsense", "the driver rejects the kernel image 'gate_up.ptx' on "
                     "device 0 (sm_90); compile it again for this device, or "
                     "update the driver if the image is newer; the driver's "
                     "log: line is not a kernel: nonsense: "
                     "CUDA_ERROR_INVALID_PTX");
  expect("kernel gate_up_plan 8 8 8",
         "launches[1].kernel: 'gate_up.ptx' has no kernel 'gate_up_n16'; is "
         "it from the same run of moe-compile?: CUDA_ERROR_NOT_FOUND");
  expect("kernel gate_up_plan 8 8\nkernel gate_up_n16 128 128 8 8 8 4",
         "launches[0].parameters: the launch file lists 3 parameters, but "
         "kernel 'gate_up_plan' takes 2");
  expect("kernel gate_up_plan 8 8 8 8\nkernel gate_up_n16 128 128 8 8 8 4",
         "kernel 'gate_up_plan' takes more");
  expect("kernel gate_up_plan 8 8 8\nkernel gate_up_n16 128 128 8 8 8 8",
         "launches[1].parameters[5]: 4 bytes, but kernel 'gate_up_n16' takes "
         "8");
  fake.fail("cuFuncSetAttribute", 1);
  expect(kImage, "launches[0].shared_memory: cannot give kernel 'gate_up_plan' "
                 "0 bytes of dynamic shared memory; device 0 allows 232448 a "
                 "block, static shared memory included");
  fake.fail("cuFuncLoad", 700);
  expect(kImage, "cannot load kernel 'gate_up_plan': "
                 "CUDA_ERROR_ILLEGAL_ADDRESS");
}

TEST_F(ProgramTest, LoadsFromFiles) {
  std::string folder = testing::TempDir() + "moe_runtime_test/";
  ASSERT_EQ(system(("mkdir -p '" + folder + "'").c_str()), 0);
  std::ofstream(folder + "p.json") << example;
  std::string path = folder + "p.json";
  MoEProgram *program = nullptr;
  std::remove((folder + "gate_up.ptx").c_str());
  EXPECT_EQ(moeProgramLoad(path.c_str(), 0, &program), MOE_ERROR_KERNEL_IMAGE);
  EXPECT_EQ(std::string(moeRuntimeLastError()),
            "cannot read '" + folder +
                "gate_up.ptx': No such file or directory");
  EXPECT_EQ(program, nullptr);
  std::ofstream(folder + "gate_up.ptx") << kImage;
  ASSERT_EQ(moeProgramLoad(path.c_str(), 0, &program), MOE_OK)
      << moeRuntimeLastError();
  EXPECT_EQ(launch(program), MOE_OK) << moeRuntimeLastError();
  moeProgramDestroy(program);

  std::ofstream(path) << "{}";
  EXPECT_EQ(moeProgramLoad(path.c_str(), 0, &program), MOE_ERROR_LAUNCH_FILE);
  EXPECT_EQ(std::string(moeRuntimeLastError()),
            "launch file '" + path +
                "': top level: key \"abi\" is missing: not a launch file");
  EXPECT_EQ(moeProgramLoad(folder.c_str(), 0, &program), MOE_ERROR_LAUNCH_FILE);
  EXPECT_EQ(std::string(moeRuntimeLastError()),
            "cannot read '" + folder + "': Is a directory");
  std::ofstream(path, std::ios::trunc).close();
  EXPECT_EQ(moeProgramLoad(path.c_str(), 0, &program), MOE_ERROR_LAUNCH_FILE);
  EXPECT_EQ(std::string(moeRuntimeLastError()), "'" + path + "' is empty");
  // A file of 16 MiB and a byte, all but the last not on the disk.
  std::ofstream(path).seekp(16 << 20).put('x');
  EXPECT_EQ(moeProgramLoad(path.c_str(), 0, &program), MOE_ERROR_LAUNCH_FILE);
  EXPECT_EQ(std::string(moeRuntimeLastError()),
            "'" + path + "' has more than 16777216 bytes");
  std::remove(path.c_str());
}

TEST_F(ProgramTest, WithoutADeviceOnlyInspection) {
  ProgramPtr program = load(example, "", MOE_NO_DEVICE);
  expectLaunchError(program.get(), "the program was loaded with MOE_NO_DEVICE");
  EXPECT_EQ(moeProgramReserve(program.get(), args.data(), 4),
            MOE_ERROR_INVALID_ARGUMENT);
  float time;
  EXPECT_EQ(moeProgramTime(program.get(), args.data(), 4, nullptr,
                           MOE_TIME_GRAPH, 1, 1, &time),
            MOE_ERROR_INVALID_ARGUMENT);
}

//===----------------------------------------------------------------------===//
// Timing
//===----------------------------------------------------------------------===//

TEST_F(ProgramTest, TimesStreamLaunches) {
  ProgramPtr program = load(example, kImage);
  float times[3] = {};
  ASSERT_EQ(moeProgramTime(program.get(), args.data(), 4, nullptr,
                           MOE_TIME_STREAM, 3, 5, times),
            MOE_OK)
      << moeRuntimeLastError();
  // Half a millisecond a sample, five launches each.
  for (float time : times)
    EXPECT_FLOAT_EQ(time, 100);
  EXPECT_EQ(fake.count("launch gate_up_n16"), 1 + 3 * 5);
  EXPECT_EQ(fake.count("record"), 4);
}

TEST_F(ProgramTest, TimesReplaysOfAGraph) {
  ProgramPtr program = load(example, kImage);
  float times[3] = {};
  ASSERT_EQ(moeProgramTime(program.get(), args.data(), 4, nullptr,
                           MOE_TIME_GRAPH, 3, 5, times),
            MOE_OK)
      << moeRuntimeLastError();
  EXPECT_FLOAT_EQ(times[2], 100);
  EXPECT_EQ(fake.count("launch gate_up_n16"), 1 + 5);
  EXPECT_EQ(fake.count("replay"), 1 + 3);

  // A failure inside the capture ends it and leaves nothing behind.
  fake.fail("cuGraphLaunch", 700);
  EXPECT_EQ(moeProgramTime(program.get(), args.data(), 4, nullptr,
                           MOE_TIME_GRAPH, 3, 5, times),
            MOE_ERROR_CUDA);
}

TEST_F(ProgramTest, TimeRestoresWhatLaunchesReadAndWrite) {
  // The result is an operand written in place; nothing else is restored.
  std::string json = replace(example, "1536], \"access\": \"write\"",
                             "1536], \"access\": \"readwrite\"");
  ProgramPtr program = load(json, kImage);
  const std::string bytes = std::to_string(48 * 1536 * 2);
  for (int mode : {MOE_TIME_STREAM | 0, MOE_TIME_GRAPH | 0}) {
    setRows(48);
    float times[2] = {};
    ASSERT_EQ(moeProgramTime(program.get(), args.data(), 4, nullptr,
                             mode | MOE_TIME_RESTORE, 2, 1, times),
              MOE_OK)
        << moeRuntimeLastError();
    EXPECT_FLOAT_EQ(times[1], 500);
    std::string log = fake.log();
    // Saved before anything runs, restored before each sample is timed.
    EXPECT_EQ(fake.count("copy "), 3) << log;
    EXPECT_EQ(fake.count("copy " + bytes + "\n"), 3) << log;
    EXPECT_LT(log.find("copy " + bytes), log.find("launch ")) << log;
    std::string sample = "copy " + bytes + "\nrecord\n";
    sample += mode == MOE_TIME_GRAPH ? "replay\nrecord\n" : "launch ";
    EXPECT_EQ(fake.count(sample), 2) << log;
    EXPECT_EQ(fake.count("record"), 4) << log;
    EXPECT_EQ(fake.count("free " + bytes + "\n"), 1) << log;
  }

  // A program that only writes its results has nothing to restore.
  program = load(example, kImage);
  fake.clearLog();
  float time = 0;
  ASSERT_EQ(moeProgramTime(program.get(), args.data(), 4, nullptr,
                           MOE_TIME_GRAPH | MOE_TIME_RESTORE, 1, 1, &time),
            MOE_OK);
  EXPECT_EQ(fake.count("copy "), 0);

  program = load(json, kImage);
  fake.fail("cuMemAlloc_v2", 2);
  fake.clearLog();
  EXPECT_EQ(moeProgramTime(program.get(), args.data(), 4, nullptr,
                           MOE_TIME_RESTORE, 1, 1, &time),
            MOE_ERROR_OUT_OF_MEMORY);
  EXPECT_NE(std::string(moeRuntimeLastError())
                .find("for a copy of argument 3 'result0'"),
            std::string::npos)
      << moeRuntimeLastError();
  EXPECT_EQ(fake.count("launch "), 0);
}

TEST_F(ProgramTest, TimeChecksItsCounts) {
  ProgramPtr program = load(example, kImage);
  float time = 0;
  auto run = [&](int mode, int samples, int launches, float *out) {
    return moeProgramTime(program.get(), args.data(), 4, nullptr, mode, samples,
                          launches, out);
  };
  EXPECT_EQ(run(7, 1, 1, &time), MOE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(moeRuntimeLastError(), "mode 7 is no MoETimeMode");
  EXPECT_EQ(run(0, 0, 1, &time), MOE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(run(0, 1, 100001, &time), MOE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(moeRuntimeLastError(), "numSamples and launchesPerSample must "
                                      "be from 1 to 100000, found 100001");
  EXPECT_EQ(run(0, 1, 1, nullptr), MOE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fake.count("launch "), 0);
}

} // namespace
