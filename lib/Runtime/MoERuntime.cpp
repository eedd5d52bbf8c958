//===- MoERuntime.cpp - The C ABI -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "moe/Runtime/MoERuntime.h"
#include "Driver.h"
#include "LaunchFile.h"
#include "Program.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

using namespace moe::runtime;

/// A program as C sees it.
struct MoEProgram : Program {
  using Program::Program;
};

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

static thread_local std::string lastError;

static int report(MoEStatus status, const char *message) noexcept {
  try {
    lastError = message;
  } catch (const std::bad_alloc &) {
    lastError.clear();
  }
  return status;
}

/// Runs `body`; turns what it throws into a status and a message.
template <typename Fn> static int guarded(Fn body) noexcept {
  try {
    body();
    return MOE_OK;
  } catch (const Error &error) {
    return report(error.status, error.what());
  } catch (const std::bad_alloc &) {
    return report(MOE_ERROR_OUT_OF_MEMORY, "host memory is exhausted");
  } catch (const std::exception &error) {
    return report(MOE_ERROR_INTERNAL, error.what());
  } catch (...) {
    return report(MOE_ERROR_INTERNAL, "unknown exception");
  }
}

static void requireNonNull(const void *pointer, const char *name) {
  if (!pointer)
    fail(MOE_ERROR_INVALID_ARGUMENT, name, " is null");
}

const char *moeRuntimeLastError(void) { return lastError.c_str(); }

const char *moeElementTypeName(int elementType) {
  const ElementType *type = findElementType(elementType);
  return type ? type->name : nullptr;
}

int moeElementTypeSize(int elementType) {
  const ElementType *type = findElementType(elementType);
  return type ? type->size : 0;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

int moeRuntimeDeviceCount(int *count) {
  return guarded([&] {
    requireNonNull(count, "count");
    *count = 0;
    *count = Driver::get().deviceCount();
  });
}

int moeRuntimeDeviceInfo(int device, MoEDeviceInfo *info) {
  return guarded([&] {
    requireNonNull(info, "info");
    *info = deviceInfo(device);
  });
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// Launch files are small and images not huge; a limit keeps a wrong path from
/// filling memory.
static constexpr size_t kMaxLaunchFileBytes = size_t(16) << 20;
static constexpr size_t kMaxImageBytes = size_t(1) << 30;

static std::string readFile(const std::string &path, size_t maxBytes,
                            MoEStatus status) {
  errno = 0;
  std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "rb"),
                                              std::fclose);
  std::string text;
  char block[1 << 16];
  while (file && text.size() <= maxBytes) {
    size_t count = std::fread(block, 1, sizeof(block), file.get());
    text.append(block, count);
    if (count < sizeof(block))
      break;
  }
  if (!file || std::ferror(file.get()))
    fail(status, "cannot read '", path, "': ", std::strerror(errno));
  if (text.empty())
    fail(status, "'", path, "' is empty");
  if (text.size() > maxBytes)
    fail(status, "'", path, "' has more than ", maxBytes, " bytes");
  return text;
}

/// Parses the text of a launch file that is called `name` in messages.
static LaunchFile parse(const std::string &text, const std::string &name) {
  try {
    if (text.size() > kMaxLaunchFileBytes)
      fail(MOE_ERROR_LAUNCH_FILE, text.size(), " bytes are more than the ",
           kMaxLaunchFileBytes, " that a launch file may have");
    return parseLaunchFile(text);
  } catch (const Error &error) {
    fail(error.status, name, ": ", error.what());
  }
}

static void requireDevice(int device) {
  if (device < MOE_NO_DEVICE)
    fail(MOE_ERROR_INVALID_ARGUMENT, "there is no CUDA device ", device);
}

int moeProgramLoad(const char *jsonPath, int device, MoEProgram **program) {
  return guarded([&] {
    requireNonNull(jsonPath, "jsonPath");
    requireNonNull(program, "program");
    requireDevice(device);
    std::string path = jsonPath;
    LaunchFile file =
        parse(readFile(path, kMaxLaunchFileBytes, MOE_ERROR_LAUNCH_FILE),
              "launch file '" + path + "'");
    // Up to and with the last slash, if there is one.
    std::string folder = path.substr(0, path.rfind('/') + 1);
    std::string image;
    if (device != MOE_NO_DEVICE)
      image =
          readFile(folder + file.image, kMaxImageBytes, MOE_ERROR_KERNEL_IMAGE);
    *program = new MoEProgram(std::move(file), image, device);
  });
}

int moeProgramLoadData(const char *json, size_t jsonSize, const void *image,
                       size_t imageSize, int device, MoEProgram **program) {
  return guarded([&] {
    requireNonNull(json, "json");
    requireNonNull(program, "program");
    requireDevice(device);
    LaunchFile file = parse(std::string(json, jsonSize), "launch file");
    std::string kernels;
    if (device != MOE_NO_DEVICE) {
      requireNonNull(image, "image");
      kernels.assign(static_cast<const char *>(image), imageSize);
      if (kernels.empty())
        fail(MOE_ERROR_KERNEL_IMAGE, "the kernel image is empty");
    }
    *program = new MoEProgram(std::move(file), kernels, device);
  });
}

void moeProgramDestroy(MoEProgram *program) { delete program; }

//===----------------------------------------------------------------------===//
// Inspecting
//===----------------------------------------------------------------------===//

int moeProgramEntry(const MoEProgram *program, const char **entry) {
  return guarded([&] {
    requireNonNull(program, "program");
    requireNonNull(entry, "entry");
    *entry = program->launchFile().entry.c_str();
  });
}

int moeProgramNumArguments(const MoEProgram *program, int *count) {
  return guarded([&] {
    requireNonNull(program, "program");
    requireNonNull(count, "count");
    *count = int(program->launchFile().arguments.size());
  });
}

int moeProgramArgument(const MoEProgram *program, int index,
                       MoEArgumentInfo *info) {
  return guarded([&] {
    requireNonNull(program, "program");
    requireNonNull(info, "info");
    const std::vector<Argument> &arguments = program->launchFile().arguments;
    if (index < 0 || size_t(index) >= arguments.size())
      fail(MOE_ERROR_INVALID_ARGUMENT, "there is no argument ", index,
           ": the program takes ", arguments.size());
    const Argument &argument = arguments[index];
    info->name = argument.name.c_str();
    info->elementType = argument.elementType->id;
    info->rank = int32_t(argument.dims.size());
    info->dims = argument.dims.data();
    info->access = argument.access;
  });
}

int moeProgramNumResults(const MoEProgram *program, int *count) {
  return guarded([&] {
    requireNonNull(program, "program");
    requireNonNull(count, "count");
    *count = int(program->launchFile().results.size());
  });
}

int moeProgramResultArgument(const MoEProgram *program, int index,
                             int *argument) {
  return guarded([&] {
    requireNonNull(program, "program");
    requireNonNull(argument, "argument");
    const std::vector<int> &results = program->launchFile().results;
    if (index < 0 || size_t(index) >= results.size())
      fail(MOE_ERROR_INVALID_ARGUMENT, "there is no result ", index,
           ": the program has ", results.size());
    *argument = results[index];
  });
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

int moeProgramReserve(MoEProgram *program, const MoEBuffer *args, int numArgs) {
  return guarded([&] {
    requireNonNull(program, "program");
    program->reserve(args, numArgs);
  });
}

int moeProgramLaunch(MoEProgram *program, const MoEBuffer *args, int numArgs,
                     void *stream) {
  return guarded([&] {
    requireNonNull(program, "program");
    program->launch(args, numArgs, static_cast<StreamHandle>(stream));
  });
}

int moeProgramTime(MoEProgram *program, const MoEBuffer *args, int numArgs,
                   void *stream, int mode, int numSamples,
                   int launchesPerSample, float *microseconds) {
  return guarded([&] {
    requireNonNull(program, "program");
    requireNonNull(microseconds, "microseconds");
    if (mode & ~(MOE_TIME_GRAPH | MOE_TIME_RESTORE))
      fail(MOE_ERROR_INVALID_ARGUMENT, "mode ", mode, " is no MoETimeMode");
    for (int count : {numSamples, launchesPerSample})
      if (count < 1 || count > 100000)
        fail(MOE_ERROR_INVALID_ARGUMENT,
             "numSamples and launchesPerSample "
             "must be from 1 to 100000, found ",
             count);
    program->time(args, numArgs, static_cast<StreamHandle>(stream), mode,
                  numSamples, launchesPerSample, microseconds);
  });
}

//===----------------------------------------------------------------------===//
// Device memory and streams
//===----------------------------------------------------------------------===//

static DevicePtr toDevicePtr(const void *pointer) {
  return DevicePtr(reinterpret_cast<uintptr_t>(pointer));
}

/// Runs `body` with the driver, in the device's context.
template <typename Fn> static int onDevice(int device, Fn body) noexcept {
  return guarded([&] {
    ContextScope scope(device);
    body(Driver::get());
  });
}

/// Runs `body` unless it has no bytes to work on, then waits for the stream.
template <typename Fn>
static int transfer(int device, const void *target, const void *source,
                    size_t bytes, void *stream, Fn body) noexcept {
  return onDevice(device, [&](const Driver &driver) {
    if (bytes == 0)
      return;
    requireNonNull(target, "target");
    requireNonNull(source, "source");
    auto handle = static_cast<StreamHandle>(stream);
    body(driver, handle);
    driver.check(driver.streamSynchronize(handle), "cuStreamSynchronize");
  });
}

int moeDeviceMalloc(int device, size_t bytes, void **data) {
  return onDevice(device, [&](const Driver &driver) {
    requireNonNull(data, "data");
    DevicePtr address = 0;
    if (bytes)
      driver.check(driver.memAlloc(&address, bytes), "cannot allocate ", bytes,
                   " bytes on device ", device);
    *data = reinterpret_cast<void *>(uintptr_t(address));
  });
}

int moeDeviceFree(int device, void *data) {
  return onDevice(device, [&](const Driver &driver) {
    if (data)
      driver.check(driver.memFree(toDevicePtr(data)), "cuMemFree");
  });
}

int moeCopyToDevice(int device, void *target, const void *source, size_t bytes,
                    void *stream) {
  return transfer(device, target, source, bytes, stream,
                  [&](const Driver &driver, StreamHandle handle) {
                    driver.check(driver.memcpyHtoDAsync(toDevicePtr(target),
                                                        source, bytes, handle),
                                 "cuMemcpyHtoDAsync");
                  });
}

int moeCopyToHost(int device, void *target, const void *source, size_t bytes,
                  void *stream) {
  return transfer(device, target, source, bytes, stream,
                  [&](const Driver &driver, StreamHandle handle) {
                    driver.check(driver.memcpyDtoHAsync(target,
                                                        toDevicePtr(source),
                                                        bytes, handle),
                                 "cuMemcpyDtoHAsync");
                  });
}

int moeDeviceMemset(int device, void *target, uint8_t value, size_t bytes,
                    void *stream) {
  return transfer(device, target, target, bytes, stream,
                  [&](const Driver &driver, StreamHandle handle) {
                    driver.check(driver.memsetD8Async(toDevicePtr(target),
                                                      value, bytes, handle),
                                 "cuMemsetD8Async");
                  });
}

int moeStreamCreate(int device, void **stream) {
  return onDevice(device, [&](const Driver &driver) {
    requireNonNull(stream, "stream");
    StreamHandle handle;
    driver.check(driver.streamCreate(&handle, kStreamNonBlocking),
                 "cuStreamCreate");
    *stream = handle;
  });
}

int moeStreamDestroy(int device, void *stream) {
  return onDevice(device, [&](const Driver &driver) {
    requireNonNull(stream, "stream");
    driver.check(driver.streamDestroy(static_cast<StreamHandle>(stream)),
                 "cuStreamDestroy");
  });
}

int moeStreamSynchronize(int device, void *stream) {
  return onDevice(device, [&](const Driver &driver) {
    driver.check(driver.streamSynchronize(static_cast<StreamHandle>(stream)),
                 "cuStreamSynchronize");
  });
}
