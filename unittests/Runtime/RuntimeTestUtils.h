//===- RuntimeTestUtils.h - Helpers of the runtime's tests ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MOE_UNITTESTS_RUNTIME_RUNTIMETESTUTILS_H
#define MOE_UNITTESTS_RUNTIME_RUNTIMETESTUTILS_H

#include "moe/Runtime/MoERuntime.h"

#include "gtest/gtest.h"
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

/// The controls of the fake driver.
class FakeDriver {
public:
  /// Makes the runtime open the fake; the same library is controlled here.
  static FakeDriver &get() {
    static FakeDriver fake;
    return fake;
  }

  void (*reset)();
  const char *(*log)();
  void (*clearLog)();
  void (*fail)(const char *function, int result);
  void (*set)(const char *name, long long value);
  int (*live)();
  int (*contextDepth)();
  void (*setKernel)(void (*kernel)(const char *name,
                                   const void *const *parameters,
                                   const size_t *sizes, size_t count));
  size_t (*allocationSize)(unsigned long long address);

  /// Number of log lines that contain `text`.
  int count(const std::string &text) const {
    int count = 0;
    std::string all = log();
    for (size_t at = all.find(text); at != std::string::npos;
         at = all.find(text, at + 1))
      ++count;
    return count;
  }

private:
  FakeDriver() {
    setenv("MOE_CUDA_DRIVER", MOE_FAKE_CUDA_DRIVER, /*overwrite=*/1);
    void *library = dlopen(MOE_FAKE_CUDA_DRIVER, RTLD_NOW);
    if (!library)
      std::abort();
    find(library, "fakeReset", reset);
    find(library, "fakeLog", log);
    find(library, "fakeClearLog", clearLog);
    find(library, "fakeFail", fail);
    find(library, "fakeSet", set);
    find(library, "fakeLive", live);
    find(library, "fakeContextDepth", contextDepth);
    find(library, "fakeSetKernel", setKernel);
    find(library, "fakeAllocationSize", allocationSize);
  }

  template <typename T>
  static void find(void *library, const char *name, T &function) {
    function = reinterpret_cast<T>(dlsym(library, name));
    if (!function)
      std::abort();
  }
};

/// Starts each test with a fresh fake, and checks that nothing is left.
class RuntimeTest : public testing::Test {
protected:
  RuntimeTest() { fake.reset(); }
  ~RuntimeTest() override {
    EXPECT_EQ(fake.live(), 0) << "not everything was released";
    EXPECT_EQ(fake.contextDepth(), 0) << "the current context changed";
  }

  FakeDriver &fake = FakeDriver::get();
};

struct DestroyProgram {
  void operator()(MoEProgram *program) const { moeProgramDestroy(program); }
};
using ProgramPtr = std::unique_ptr<MoEProgram, DestroyProgram>;

/// Loads from memory; null with moeRuntimeLastError() set on failure.
inline ProgramPtr load(const std::string &json, const std::string &image = "",
                       int device = 0, int *status = nullptr) {
  MoEProgram *program = nullptr;
  int result = moeProgramLoadData(json.data(), json.size(), image.data(),
                                  image.size(), device, &program);
  if (status)
    *status = result;
  EXPECT_EQ(result == MOE_OK, program != nullptr);
  return ProgramPtr(program);
}

/// The example of docs/abi.md.
inline std::string documentedExample() {
  std::ifstream stream(MOE_ABI_DOCUMENT);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  const std::string start = "<!-- example: launch file -->\n```json\n";
  size_t begin = text.find(start);
  if (begin == std::string::npos)
    return "";
  begin += start.size();
  return text.substr(begin, text.find("```", begin) - begin);
}

/// Replaces the only occurrence of `from`.
inline std::string replace(std::string text, const std::string &from,
                           const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(text.find(from, at + 1), std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// A device buffer of the fake for a launch.
class TestBuffer {
public:
  TestBuffer(MoEElementType type, std::vector<int64_t> shape)
      : type(type), dims(std::move(shape)) {
    size_t bytes = size_t(moeElementTypeSize(type));
    for (int64_t extent : dims)
      bytes *= size_t(extent);
    EXPECT_EQ(moeDeviceMalloc(0, bytes, &data), MOE_OK);
  }
  ~TestBuffer() { moeDeviceFree(0, data); }
  TestBuffer(const TestBuffer &) = delete;
  TestBuffer &operator=(const TestBuffer &) = delete;

  MoEBuffer argument() const {
    return {data, type, int32_t(dims.size()), dims.data()};
  }

  /// The address as the fake's log prints parameters.
  std::string address() const {
    char text[32];
    snprintf(text, sizeof(text), "%p", data);
    return text;
  }

  void *data = nullptr;
  MoEElementType type;
  std::vector<int64_t> dims;
};

#endif // MOE_UNITTESTS_RUNTIME_RUNTIMETESTUTILS_H
