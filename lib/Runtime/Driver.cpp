//===- Driver.cpp - The CUDA driver, opened at run time -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <mutex>

using namespace moe::runtime;

/// Looks a symbol up; a required one that is missing is an error.
static void *lookUp(void *library, const char *path, const char *symbol,
                    bool required) {
  void *address = dlsym(library, symbol);
  if (!address && required)
    fail(MOE_ERROR_NO_DRIVER, "the CUDA driver '", path, "' has no ", symbol,
         ": it is too old for Hopper; install driver 525 or newer, or use "
         "--device=cpu");
  return address;
}

/// Opens the driver library and fills the table.
static Driver openDriver() {
  // secure_getenv: a set-user-ID process must not load what its caller names.
  const char *path = secure_getenv("MOE_CUDA_DRIVER");
  if (!path || !*path)
    path = "libcuda.so.1";
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    fail(MOE_ERROR_NO_DRIVER, "no CUDA driver: cannot open '", path, "' (",
         reason ? reason : "no reason given",
         "); install the NVIDIA driver, or use --device=cpu");
  }
  Driver driver;
#define MOE_LOOK_UP(required, member, symbol, parameters)                      \
  driver.member = reinterpret_cast<Result(*) parameters>(                      \
      lookUp(library, path, #symbol, required));
#define MOE_LOOK_UP_REQUIRED(...) MOE_LOOK_UP(true, __VA_ARGS__)
#define MOE_LOOK_UP_OPTIONAL(...) MOE_LOOK_UP(false, __VA_ARGS__)
  MOE_CUDA_REQUIRED(MOE_LOOK_UP_REQUIRED)
  MOE_CUDA_OPTIONAL(MOE_LOOK_UP_OPTIONAL)
  // The library stays open: its functions are used until the process ends.
  return driver;
}

/// Opens and initialises. A driver without any device is no error here.
static Driver startDriver() {
  Driver driver = openDriver();
  Result result = driver.init(0);
  if (result != kSuccess && result != kErrorNoDevice)
    fail(MOE_ERROR_NO_DRIVER, "the CUDA driver does not start: cuInit gives ",
         driver.describe(result),
         "; check the driver's installation (nvidia-smi), or use --device=cpu");
  return driver;
}

const Driver &Driver::get() {
  // When the initialiser throws, the next call tries again.
  static const Driver driver = startDriver();
  return driver;
}

std::string Driver::describe(Result result) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(result, &name) != kSuccess || !name)
    return cat("unknown CUDA error ", result);
  if (getErrorString(result, &text) != kSuccess || !text)
    text = "no description";
  return cat(name, " (", text, ")");
}

int Driver::deviceCount() const {
  int count = 0;
  Result result = deviceGetCount(&count);
  if (result == kErrorNoDevice)
    return 0;
  // A driver that started without a device answers NOT_INITIALIZED.
  if (result != kSuccess && init(0) == kErrorNoDevice)
    return 0;
  check(result, "cuDeviceGetCount");
  return count;
}

/// Turns an ordinal into the driver's device; throws unless it exists.
static DeviceId findDevice(const Driver &driver, int device) {
  int count = driver.deviceCount();
  if (count == 0)
    fail(MOE_ERROR_NO_DEVICE, "the CUDA driver works but there is no CUDA "
                              "device (see CUDA_VISIBLE_DEVICES); use "
                              "--device=cpu");
  if (device < 0 || device >= count)
    fail(MOE_ERROR_INVALID_ARGUMENT, "there is no CUDA device ", device, ": ",
         count, " present, numbered 0 to ", count - 1);
  DeviceId id;
  driver.check(driver.deviceGet(&id, device), "cuDeviceGet");
  return id;
}

MoEDeviceInfo moe::runtime::deviceInfo(int device) {
  const Driver &driver = Driver::get();
  DeviceId id = findDevice(driver, device);
  MoEDeviceInfo info = {};
  auto attribute = [&](DeviceAttribute which) {
    int value = 0;
    driver.check(driver.deviceGetAttribute(&value, which, id),
                 "cuDeviceGetAttribute");
    return value;
  };
  driver.check(driver.deviceGetName(info.name, sizeof(info.name) - 1, id),
               "cuDeviceGetName");
  info.major = attribute(kComputeCapabilityMajor);
  info.minor = attribute(kComputeCapabilityMinor);
  info.smCount = attribute(kMultiprocessorCount);
  info.maxSharedMemoryPerBlock = attribute(kMaxSharedMemoryPerBlockOptin);
  size_t bytes = 0;
  driver.check(driver.deviceTotalMem(&bytes, id), "cuDeviceTotalMem");
  info.totalMemory = bytes;
  return info;
}

/// The primary context of a device, retained at its first use.
static ContextHandle primaryContext(const Driver &driver, int device) {
  static std::mutex mutex;
  static std::map<int, ContextHandle> contexts;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = contexts.find(device);
  if (found != contexts.end())
    return found->second;
  DeviceId id = findDevice(driver, device);
  ContextHandle context;
  driver.check(driver.primaryCtxRetain(&context, id), "cannot use CUDA device ",
               device);
  contexts.emplace(device, context);
  return context;
}

ContextScope::ContextScope(int device) {
  const Driver &driver = Driver::get();
  ContextHandle context = primaryContext(driver, device);
  ContextHandle current = nullptr;
  driver.check(driver.ctxGetCurrent(&current), "cuCtxGetCurrent");
  if (current == context)
    return;
  driver.check(driver.ctxPushCurrent(context), "cuCtxPushCurrent");
  pushed = true;
}

ContextScope::~ContextScope() {
  ContextHandle popped;
  if (pushed)
    Driver::get().ctxPopCurrent(&popped);
}
