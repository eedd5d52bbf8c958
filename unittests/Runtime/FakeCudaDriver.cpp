//===- FakeCudaDriver.cpp - A CUDA driver for tests -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Stands in for the CUDA driver: MOE_CUDA_DRIVER names it. Device memory is
// host memory, kernels do what a test says, by default nothing, and calls are
// written to a log. A kernel image is PTX, of which only the parameters count,
// or text with one line per kernel, `kernel NAME SIZE...`, where the sizes are
// those of its parameters in bytes.
//
// Only what the tests check is logged. The library shares no declaration with
// the runtime: it repeats the driver API on purpose.
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#define FAKE extern "C" __attribute__((visibility("default")))

using DevicePtr = unsigned long long;

namespace {

struct FakeFunction {
  std::string name;
  std::vector<size_t> sizes;
};

struct FakeModule {
  std::map<std::string, FakeFunction> functions;
};

struct FakeStream {
  bool capturing = false;
};

/// A launch with its own copy of the parameters.
struct FakeLaunch {
  std::string name;
  std::vector<std::string> parameters;
};

/// What kernels do: given a name, the parameters and their sizes.
using FakeKernel = void (*)(const char *name, const void *const *parameters,
                            const size_t *sizes, size_t count);

struct FakeLaunchAttribute {
  int id;
  union alignas(8) {
    char pad[64];
    unsigned clusterDim[3];
    int allowed;
  };
};

struct FakeLaunchConfig {
  unsigned grid[3], block[3], sharedMemory;
  FakeStream *stream;
  FakeLaunchAttribute *attributes;
  unsigned numAttributes;
};

/// Everything a test can look at or change.
struct State {
  std::string log;
  std::map<std::string, int> failures;
  std::map<std::string, long long> settings;
  std::map<DevicePtr, size_t> memory;
  std::vector<void *> contexts;
  std::vector<std::string> maps;
  std::vector<FakeLaunch> graph;
  FakeKernel kernel = nullptr;
  int liveModules = 0, liveStreams = 0, liveEvents = 0, liveGraphs = 0;
  FakeStream defaultStream;
};

State state;
int theContext, theGraph, theExec, theEvent;

template <typename... Ts> void log(const Ts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  state.log += stream.str() + "\n";
}

long long setting(const std::string &name, long long otherwise) {
  auto found = state.settings.find(name);
  return found == state.settings.end() ? otherwise : found->second;
}

/// The failure that a test asked for, once, or success.
int failure(const char *function) {
  auto found = state.failures.find(function);
  if (found == state.failures.end())
    return 0;
  int result = found->second;
  state.failures.erase(found);
  return result;
}

#define FAIL_IF_ASKED                                                          \
  if (int result = failure(__func__))                                          \
  return result

FakeStream &streamOf(FakeStream *stream) {
  return stream ? *stream : state.defaultStream;
}

template <typename T> std::string join(const T *values, unsigned count) {
  std::ostringstream stream;
  for (unsigned i = 0; i < count; ++i)
    stream << (i ? "," : "") << values[i];
  return stream.str();
}

std::string printParameter(const void *address, size_t size) {
  char text[32];
  if (size == 128) {
    uint64_t id;
    std::memcpy(&id, address, sizeof(id));
    return "map" + std::to_string(id);
  }
  if (size == 4) {
    int32_t value;
    std::memcpy(&value, address, sizeof(value));
    return std::to_string(value);
  }
  uint64_t value;
  std::memcpy(&value, address, sizeof(value));
  std::snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
  return text;
}

void run(const FakeLaunch &launch) {
  if (!state.kernel)
    return;
  std::vector<const void *> addresses;
  std::vector<size_t> sizes;
  for (const std::string &parameter : launch.parameters) {
    addresses.push_back(parameter.data());
    sizes.push_back(parameter.size());
  }
  state.kernel(launch.name.c_str(), addresses.data(), sizes.data(),
               sizes.size());
}

/// The kernels of PTX text: `.entry NAME(` and, up to the brace, parameters
/// `.param .u64 NAME` or `.param .align A .b8 NAME[SIZE]`.
void parsePTX(std::istringstream &words, FakeModule &module) {
  for (std::string word; words >> word;) {
    if (word != ".entry")
      continue;
    FakeFunction function;
    std::getline(words, function.name, '(');
    function.name.erase(0, function.name.find_first_not_of(' '));
    while (words >> word && word[0] != '{') {
      size_t bracket = word.find('[');
      if (bracket != std::string::npos)
        function.sizes.push_back(size_t(std::atol(word.c_str() + bracket + 1)));
      else if (word == ".u64" || word == ".b64")
        function.sizes.push_back(8);
      else if (word == ".u32" || word == ".b32")
        function.sizes.push_back(4);
    }
    module.functions[function.name] = function;
  }
}

} // namespace

//===----------------------------------------------------------------------===//
// For the tests
//===----------------------------------------------------------------------===//

/// Forgets log, settings and failures. Memory that is still allocated stays.
FAKE void fakeReset() {
  state.log.clear();
  state.failures.clear();
  state.settings.clear();
  state.maps.clear();
  state.graph.clear();
  state.kernel = nullptr;
  state.defaultStream.capturing = false;
}

FAKE const char *fakeLog() { return state.log.c_str(); }
FAKE void fakeClearLog() { state.log.clear(); }

/// The next call of `function` gives `result`.
FAKE void fakeFail(const char *function, int result) {
  state.failures[function] = result;
}

/// Settings: cuInit, devices, major, minor, sms, pageable, pointerDevice,
/// contextDepth.
FAKE void fakeSet(const char *name, long long value) {
  state.settings[name] = value;
}

/// What has not been released, as a number of objects.
FAKE int fakeLive() {
  return int(state.memory.size()) + state.liveModules + state.liveStreams +
         state.liveEvents + state.liveGraphs;
}

/// Makes every launch, captured ones at each replay, call `kernel`.
FAKE void fakeSetKernel(FakeKernel kernel) { state.kernel = kernel; }

/// The size of the device memory that starts at `address`, or 0.
FAKE size_t fakeAllocationSize(DevicePtr address) {
  auto found = state.memory.find(address);
  return found == state.memory.end() ? 0 : found->second;
}

FAKE int fakeContextDepth() { return int(state.contexts.size()); }

//===----------------------------------------------------------------------===//
// Devices and contexts
//===----------------------------------------------------------------------===//

FAKE int cuInit(unsigned) { return int(setting("cuInit", 0)); }

FAKE int cuGetErrorName(int result, const char **name) {
  *name = result == 1     ? "CUDA_ERROR_INVALID_VALUE"
          : result == 2   ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == 218 ? "CUDA_ERROR_INVALID_PTX"
          : result == 500 ? "CUDA_ERROR_NOT_FOUND"
          : result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : result == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"
                          : nullptr;
  return *name ? 0 : 1;
}

FAKE int cuGetErrorString(int result, const char **text) {
  *text = "what the driver says of it";
  return 0;
}

FAKE int cuDeviceGetCount(int *count) {
  FAIL_IF_ASKED;
  *count = int(setting("devices", 2));
  return 0;
}

FAKE int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return 0;
}

FAKE int cuDeviceGetName(char *name, int size, int device) {
  std::snprintf(name, size_t(size), "Fake %d", device);
  return 0;
}

FAKE int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 16   ? int(setting("sms", 132))
           : attribute == 75 ? int(setting("major", 9))
           : attribute == 76 ? int(setting("minor", 0))
           : attribute == 88 ? int(setting("pageable", 0))
           : attribute == 97 ? 232448
                             : -1;
  return 0;
}

FAKE int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  *bytes = size_t(1) << 37;
  return 0;
}

FAKE int cuDevicePrimaryCtxRetain(void **context, int device) {
  FAIL_IF_ASKED;
  *context = &theContext + device;
  return 0;
}

FAKE int cuCtxGetCurrent(void **context) {
  *context = state.contexts.empty() ? nullptr : state.contexts.back();
  return 0;
}

FAKE int cuCtxPushCurrent_v2(void *context) {
  state.contexts.push_back(context);
  return 0;
}

FAKE int cuCtxPopCurrent_v2(void **context) {
  *context = state.contexts.back();
  state.contexts.pop_back();
  return 0;
}

FAKE int cuCtxSynchronize() {
  log("cuCtxSynchronize");
  return 0;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

FAKE int cuModuleLoadDataEx(FakeModule **module, const void *image,
                            unsigned numOptions, int *options, void **values) {
  std::istringstream lines(static_cast<const char *>(image));
  auto result = std::make_unique<FakeModule>();
  if (std::strstr(static_cast<const char *>(image), ".entry"))
    parsePTX(lines, *result);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string keyword;
    FakeFunction function;
    if (!(words >> keyword >> function.name) || keyword != "kernel") {
      for (unsigned i = 0; i + 1 < numOptions; ++i)
        if (options[i] == 5 && options[i + 1] == 6)
          std::snprintf(static_cast<char *>(values[i]),
                        size_t(reinterpret_cast<uintptr_t>(values[i + 1])),
                        "line is not a kernel: %s", line.c_str());
      return 218;
    }
    for (size_t size; words >> size;)
      function.sizes.push_back(size);
    result->functions[function.name] = function;
  }
  *module = result.release();
  ++state.liveModules;
  return 0;
}

FAKE int cuModuleUnload(FakeModule *module) {
  delete module;
  --state.liveModules;
  return 0;
}

FAKE int cuModuleGetFunction(FakeFunction **function, FakeModule *module,
                             const char *name) {
  auto found = module->functions.find(name);
  if (found == module->functions.end())
    return 500;
  *function = &found->second;
  return 0;
}

FAKE int cuFuncSetAttribute(FakeFunction *function, int attribute, int value) {
  FAIL_IF_ASKED;
  log("cuFuncSetAttribute ", function->name, " ", attribute, " ", value);
  return 0;
}

FAKE int cuFuncGetParamInfo(FakeFunction *function, size_t index,
                            size_t *offset, size_t *size) {
  if (index >= function->sizes.size())
    return 1;
  *offset = 0;
  *size = function->sizes[index];
  return 0;
}

FAKE int cuFuncLoad(FakeFunction *function) {
  FAIL_IF_ASKED;
  log("cuFuncLoad ", function->name);
  return 0;
}

//===----------------------------------------------------------------------===//
// Launches and tensor maps
//===----------------------------------------------------------------------===//

FAKE int cuLaunchKernelEx(const FakeLaunchConfig *config,
                          FakeFunction *function, void **parameters,
                          void **extra) {
  FAIL_IF_ASKED;
  std::string cluster = "none", values;
  bool programmatic = false;
  for (unsigned i = 0; i < config->numAttributes; ++i) {
    if (config->attributes[i].id == 4)
      cluster = join(config->attributes[i].clusterDim, 3);
    if (config->attributes[i].id == 6)
      programmatic = config->attributes[i].allowed == 1;
  }
  FakeLaunch launch = {function->name, {}};
  for (size_t i = 0; i < function->sizes.size(); ++i) {
    values +=
        (i ? " " : "") + printParameter(parameters[i], function->sizes[i]);
    launch.parameters.emplace_back(static_cast<const char *>(parameters[i]),
                                   function->sizes[i]);
  }
  log("launch ", function->name, " grid=", join(config->grid, 3),
      " block=", join(config->block, 3), " shared=", config->sharedMemory,
      " cluster=", cluster, programmatic ? " programmatic" : "",
      " stream=", config->stream ? "own" : "default", " (", values, ")");
  if (streamOf(config->stream).capturing)
    state.graph.push_back(launch);
  else
    run(launch);
  return 0;
}

FAKE int cuTensorMapEncodeTiled(uint64_t *map, int type, uint32_t rank,
                                void *address, const uint64_t *dims,
                                const uint64_t *strides, const uint32_t *box,
                                const uint32_t *elementStrides, int interleave,
                                int swizzle, int l2Promotion, int oobFill) {
  FAIL_IF_ASKED;
  std::memset(map, 0, 128);
  map[0] = state.maps.size();
  log("encode map", map[0], " type=", type, " address=", address,
      " dims=", join(dims, rank), " strides=", join(strides, rank - 1),
      " box=", join(box, rank), " steps=", join(elementStrides, rank),
      " interleave=", interleave, " swizzle=", swizzle,
      " promotion=", l2Promotion, " oob=", oobFill);
  state.maps.emplace_back();
  return 0;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

FAKE int cuMemAlloc_v2(DevicePtr *address, size_t bytes) {
  FAIL_IF_ASKED;
  size_t rounded = (bytes + 255) / 256 * 256;
  void *memory = std::aligned_alloc(256, rounded);
  if (!memory)
    return 2;
  std::memset(memory, 0xee, rounded);
  *address = reinterpret_cast<uintptr_t>(memory);
  state.memory[*address] = bytes;
  log("alloc ", bytes);
  return 0;
}

FAKE int cuMemFree_v2(DevicePtr address) {
  auto found = state.memory.find(address);
  if (found == state.memory.end())
    return 1;
  log("free ", found->second);
  state.memory.erase(found);
  std::free(reinterpret_cast<void *>(uintptr_t(address)));
  return 0;
}

FAKE int cuMemcpyHtoDAsync_v2(DevicePtr target, const void *source,
                              size_t bytes, FakeStream *stream) {
  FAIL_IF_ASKED;
  std::memcpy(reinterpret_cast<void *>(uintptr_t(target)), source, bytes);
  return 0;
}

FAKE int cuMemcpyDtoHAsync_v2(void *target, DevicePtr source, size_t bytes,
                              FakeStream *stream) {
  std::memcpy(target, reinterpret_cast<void *>(uintptr_t(source)), bytes);
  return 0;
}

FAKE int cuMemcpyDtoDAsync_v2(DevicePtr target, DevicePtr source, size_t bytes,
                              FakeStream *stream) {
  FAIL_IF_ASKED;
  log("copy ", bytes);
  std::memcpy(reinterpret_cast<void *>(uintptr_t(target)),
              reinterpret_cast<const void *>(uintptr_t(source)), bytes);
  return 0;
}

FAKE int cuMemsetD8Async(DevicePtr target, unsigned char value, size_t bytes,
                         FakeStream *stream) {
  FAIL_IF_ASKED;
  log("memset ", int(value), " ", bytes);
  std::memset(reinterpret_cast<void *>(uintptr_t(target)), value, bytes);
  return 0;
}

FAKE int cuPointerGetAttributes(unsigned count, int *attributes, void **values,
                                DevicePtr address) {
  auto after = state.memory.upper_bound(address);
  bool known = after != state.memory.begin() &&
               address < std::prev(after)->first + std::prev(after)->second;
  for (unsigned i = 0; i < count; ++i) {
    int value = attributes[i] == 2   ? (known ? 2 : 0)
                : attributes[i] == 9 ? int(setting("pointerDevice", 0))
                                     : 0;
    std::memcpy(values[i], &value, sizeof(value));
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Streams, graphs and events
//===----------------------------------------------------------------------===//

FAKE int cuStreamCreate(FakeStream **stream, unsigned flags) {
  if (flags != 1)
    return 1;
  *stream = new FakeStream;
  ++state.liveStreams;
  return 0;
}

FAKE int cuStreamDestroy_v2(FakeStream *stream) {
  delete stream;
  --state.liveStreams;
  return 0;
}

FAKE int cuStreamSynchronize(FakeStream *stream) {
  FAIL_IF_ASKED;
  log("cuStreamSynchronize");
  return 0;
}

FAKE int cuStreamIsCapturing(FakeStream *stream, int *status) {
  FAIL_IF_ASKED;
  *status = streamOf(stream).capturing ? 1 : 0;
  return 0;
}

FAKE int cuStreamBeginCapture_v2(FakeStream *stream, int mode) {
  if (!stream || stream->capturing)
    return 1;
  stream->capturing = true;
  state.graph.clear();
  log("begin capture");
  return 0;
}

FAKE int cuStreamEndCapture(FakeStream *stream, void **graph) {
  log("end capture");
  stream->capturing = false;
  *graph = &theGraph;
  ++state.liveGraphs;
  return 0;
}

FAKE int cuGraphInstantiateWithFlags(void **exec, void *graph,
                                     unsigned long long flags) {
  *exec = &theExec;
  ++state.liveGraphs;
  return graph == &theGraph && flags == 0 ? 0 : 1;
}

FAKE int cuGraphLaunch(void *exec, FakeStream *stream) {
  FAIL_IF_ASKED;
  log("replay");
  for (const FakeLaunch &launch : state.graph)
    run(launch);
  return exec == &theExec ? 0 : 1;
}

FAKE int cuGraphExecDestroy(void *exec) {
  --state.liveGraphs;
  return 0;
}

FAKE int cuGraphDestroy(void *graph) {
  --state.liveGraphs;
  return 0;
}

FAKE int cuEventCreate(void **event, unsigned flags) {
  *event = &theEvent;
  ++state.liveEvents;
  return 0;
}

FAKE int cuEventDestroy_v2(void *event) {
  --state.liveEvents;
  return 0;
}

FAKE int cuEventRecord(void *event, FakeStream *stream) {
  log("record");
  return 0;
}

FAKE int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
  *milliseconds = 0.5f;
  return 0;
}
