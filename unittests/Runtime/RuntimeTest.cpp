//===- RuntimeTest.cpp - Driver, devices, memory, errors ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RuntimeTestUtils.h"

#include <thread>

extern "C" int useRuntimeFromC(void);

namespace {

//===----------------------------------------------------------------------===//
// Opening the driver. It is opened once a process, hence death tests.
//===----------------------------------------------------------------------===//

/// Asks for the number of devices in a process of its own: exits with the
/// status, and prints the message.
[[noreturn]] void countDevicesAndExit() {
  int count = -1;
  int status = moeRuntimeDeviceCount(&count);
  fprintf(stderr, "%d devices: %s\n", count, moeRuntimeLastError());
  exit(status);
}

void useThreadsafeDeathTests() {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
}

TEST(DriverDeathTest, NoDriver) {
  useThreadsafeDeathTests();
  EXPECT_EXIT(
      {
        setenv("MOE_CUDA_DRIVER", "/nowhere/libcuda.so", 1);
        countDevicesAndExit();
      },
      testing::ExitedWithCode(MOE_ERROR_NO_DRIVER),
      "0 devices: no CUDA driver: cannot open '/nowhere/libcuda.so' .*; "
      "install the NVIDIA driver, or use --device=cpu");
}

TEST(DriverDeathTest, LibraryThatIsNoDriver) {
  useThreadsafeDeathTests();
  EXPECT_EXIT(
      {
        setenv("MOE_CUDA_DRIVER", "libc.so.6", 1);
        countDevicesAndExit();
      },
      testing::ExitedWithCode(MOE_ERROR_NO_DRIVER),
      "the CUDA driver 'libc.so.6' has no cuInit: it is too old for Hopper; "
      "install driver 525 or newer, or use --device=cpu");
}

TEST(DriverDeathTest, DriverThatDoesNotStart) {
  useThreadsafeDeathTests();
  EXPECT_EXIT(
      {
        FakeDriver::get().set("cuInit", 803);
        countDevicesAndExit();
      },
      testing::ExitedWithCode(MOE_ERROR_NO_DRIVER),
      "the CUDA driver does not start: cuInit gives "
      "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH .*; check the driver's installation "
      "\\(nvidia-smi\\), or use --device=cpu");
}

TEST(DriverDeathTest, DriverWithoutDevices) {
  useThreadsafeDeathTests();
  EXPECT_EXIT(
      {
        FakeDriver::get().set("cuInit", 100);
        FakeDriver::get().fail("cuDeviceGetCount", 3);
        countDevicesAndExit();
      },
      testing::ExitedWithCode(MOE_OK), "0 devices: ");
}

TEST(DriverDeathTest, DeviceThatCannotBeUsed) {
  useThreadsafeDeathTests();
  EXPECT_EXIT(
      {
        FakeDriver::get().fail("cuDevicePrimaryCtxRetain", 2);
        void *data;
        int status = moeDeviceMalloc(1, 8, &data);
        fprintf(stderr, "%s\n", moeRuntimeLastError());
        exit(status);
      },
      testing::ExitedWithCode(MOE_ERROR_OUT_OF_MEMORY),
      "cannot use CUDA device 1: CUDA_ERROR_OUT_OF_MEMORY");
}

/// A missing driver is not remembered: it may be there the next time.
TEST(DriverDeathTest, DriverThatComesLater) {
  useThreadsafeDeathTests();
  EXPECT_EXIT(
      {
        setenv("MOE_CUDA_DRIVER", "/nowhere/libcuda.so", 1);
        int count;
        if (moeRuntimeDeviceCount(&count) != MOE_ERROR_NO_DRIVER)
          exit(99);
        FakeDriver::get();
        countDevicesAndExit();
      },
      testing::ExitedWithCode(MOE_OK), "2 devices: ");
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

TEST_F(RuntimeTest, DeviceInfo) {
  MoEDeviceInfo info;
  ASSERT_EQ(moeRuntimeDeviceInfo(1, &info), MOE_OK) << moeRuntimeLastError();
  EXPECT_STREQ(info.name, "Fake 1");
  EXPECT_EQ(info.major, 9);
  EXPECT_EQ(info.minor, 0);
  EXPECT_EQ(info.smCount, 132);
  EXPECT_EQ(info.maxSharedMemoryPerBlock, 232448);
  EXPECT_EQ(info.totalMemory, uint64_t(1) << 37);

  EXPECT_EQ(moeRuntimeDeviceInfo(-1, &info), MOE_ERROR_INVALID_ARGUMENT);
  fake.set("devices", 0);
  EXPECT_EQ(moeRuntimeDeviceInfo(0, &info), MOE_ERROR_NO_DEVICE);
  EXPECT_STREQ(moeRuntimeLastError(),
               "the CUDA driver works but there is no CUDA device (see "
               "CUDA_VISIBLE_DEVICES); use --device=cpu");
}

//===----------------------------------------------------------------------===//
// Memory and streams
//===----------------------------------------------------------------------===//

TEST_F(RuntimeTest, CopiesThereAndBack) {
  const char text[] = "eight by sixty-four";
  char back[sizeof(text)] = "";
  void *data = nullptr, *stream = nullptr;
  ASSERT_EQ(moeStreamCreate(0, &stream), MOE_OK);
  ASSERT_EQ(moeDeviceMalloc(0, sizeof(text), &data), MOE_OK);
  EXPECT_EQ(moeCopyToDevice(0, data, text, sizeof(text), stream), MOE_OK);
  EXPECT_EQ(moeCopyToHost(0, back, data, sizeof(text), stream), MOE_OK);
  EXPECT_STREQ(back, text);
  EXPECT_EQ(moeDeviceMemset(0, data, 'x', 3, stream), MOE_OK);
  EXPECT_EQ(moeCopyToHost(0, back, data, sizeof(text), nullptr), MOE_OK);
  EXPECT_STREQ(back, "xxxht by sixty-four");
  EXPECT_EQ(moeStreamSynchronize(0, stream), MOE_OK);
  EXPECT_EQ(moeDeviceFree(0, data), MOE_OK);
  EXPECT_EQ(moeStreamDestroy(0, stream), MOE_OK);
}

TEST_F(RuntimeTest, NothingNeedsNoMemory) {
  void *data = &data;
  EXPECT_EQ(moeDeviceMalloc(0, 0, &data), MOE_OK);
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(moeCopyToDevice(0, nullptr, nullptr, 0, nullptr), MOE_OK);
  EXPECT_EQ(moeDeviceFree(0, nullptr), MOE_OK);
  moeProgramDestroy(nullptr);
}

TEST_F(RuntimeTest, FailuresOfMemory) {
  char byte = 0;
  void *data = nullptr;
  fake.fail("cuMemAlloc_v2", 2);
  EXPECT_EQ(moeDeviceMalloc(0, 64, &data), MOE_ERROR_OUT_OF_MEMORY);
  EXPECT_STREQ(moeRuntimeLastError(),
               "cannot allocate 64 bytes on device 0: CUDA_ERROR_OUT_OF_MEMORY "
               "(what the driver says of it)");
  EXPECT_EQ(moeCopyToDevice(0, nullptr, &byte, 1, nullptr),
            MOE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(moeRuntimeLastError(), "target is null");
  EXPECT_EQ(moeCopyToHost(0, &byte, nullptr, 1, nullptr),
            MOE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(moeRuntimeLastError(), "source is null");
  EXPECT_EQ(moeStreamDestroy(0, nullptr), MOE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(moeDeviceFree(0, &byte), MOE_ERROR_CUDA);
  // A kernel's failure comes out where one waits for it.
  fake.fail("cuStreamSynchronize", 700);
  EXPECT_EQ(moeStreamSynchronize(0, nullptr), MOE_ERROR_CUDA);
  EXPECT_STREQ(moeRuntimeLastError(),
               "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (what the "
               "driver says of it)");
  EXPECT_EQ(moeDeviceMalloc(9, 64, &data), MOE_ERROR_INVALID_ARGUMENT);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(RuntimeTest, NullPointersAreNamed) {
  int count;
  MoEProgram *program = nullptr;
  auto expect = [](int status, const char *message) {
    EXPECT_EQ(status, MOE_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(moeRuntimeLastError(), message);
  };
  expect(moeRuntimeDeviceCount(nullptr), "count is null");
  expect(moeRuntimeDeviceInfo(0, nullptr), "info is null");
  expect(moeProgramLoad(nullptr, 0, &program), "jsonPath is null");
  expect(moeProgramLoad("a.json", 0, nullptr), "program is null");
  expect(moeProgramLoadData(nullptr, 0, nullptr, 0, 0, &program),
         "json is null");
  expect(moeProgramEntry(nullptr, nullptr), "program is null");
  expect(moeProgramNumArguments(nullptr, &count), "program is null");
  expect(moeProgramArgument(nullptr, 0, nullptr), "program is null");
  expect(moeProgramReserve(nullptr, nullptr, 0), "program is null");
  expect(moeProgramTime(nullptr, nullptr, 0, nullptr, 0, 1, 1, nullptr),
         "program is null");
  expect(moeDeviceMalloc(0, 1, nullptr), "data is null");
  expect(moeStreamCreate(0, nullptr), "stream is null");
  expect(useRuntimeFromC(), "program is null");
}

TEST_F(RuntimeTest, MessagesBelongToTheirThread) {
  EXPECT_NE(moeRuntimeDeviceCount(nullptr), MOE_OK);
  std::thread([] {
    EXPECT_STREQ(moeRuntimeLastError(), "");
    EXPECT_NE(moeProgramLoad(nullptr, 0, nullptr), MOE_OK);
  }).join();
  EXPECT_STREQ(moeRuntimeLastError(), "count is null");
}

} // namespace
