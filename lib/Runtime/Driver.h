//===- Driver.h - The CUDA driver, opened at run time -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Declares the part of the CUDA driver API that the runtime uses, so that
// building it needs no CUDA toolkit, and the table of its entry points.
//
//===----------------------------------------------------------------------===//

#ifndef MOE_LIB_RUNTIME_DRIVER_H
#define MOE_LIB_RUNTIME_DRIVER_H

#include "Error.h"

#include <cstddef>
#include <cstdint>

namespace moe::runtime {

//===----------------------------------------------------------------------===//
// Types and constants of the driver API
//===----------------------------------------------------------------------===//

using Result = int;
using DeviceId = int;
using DevicePtr = unsigned long long;
using ContextHandle = struct ContextTag *;
using ModuleHandle = struct ModuleTag *;
using FunctionHandle = struct FunctionTag *;
using StreamHandle = struct StreamTag *;
using EventHandle = struct EventTag *;
using GraphHandle = struct GraphTag *;
using GraphExecHandle = struct GraphExecTag *;

enum : Result {
  kSuccess = 0,
  kErrorInvalidValue = 1,
  kErrorOutOfMemory = 2,
  kErrorNoDevice = 100,
  kErrorNotFound = 500,
};

/// CUdevice_attribute.
enum DeviceAttribute : int {
  kMultiprocessorCount = 16,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kPageableMemoryAccess = 88,
  kMaxSharedMemoryPerBlockOptin = 97,
};

/// CUfunction_attribute.
enum FunctionAttribute : int {
  kMaxDynamicSharedSizeBytes = 8,
  kNonPortableClusterSizeAllowed = 14,
};

/// CUpointer_attribute, and the CUmemorytype it reports.
enum PointerAttribute : int {
  kPointerMemoryType = 2,
  kPointerIsManaged = 8,
  kPointerDeviceOrdinal = 9,
};
enum : unsigned { kMemoryTypeDevice = 2 };

/// CUjit_option.
enum JitOption : int { kJitErrorLogBuffer = 5, kJitErrorLogBufferSize = 6 };

enum : unsigned { kStreamNonBlocking = 1 };
enum : int { kCaptureStatusNone = 0, kCaptureModeThreadLocal = 1 };

/// CUlaunchAttribute: an identifier and a union of 64 bytes.
struct LaunchAttribute {
  enum Id : int { kClusterDimension = 4, kProgrammaticSerialization = 6 };
  Id id;
  union alignas(8) {
    char pad[64];
    unsigned clusterDim[3];
    int programmaticSerializationAllowed;
  };
};
static_assert(sizeof(LaunchAttribute) == 72, "as the driver lays it out");

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedMemBytes;
  StreamHandle stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};
static_assert(sizeof(LaunchConfig) == 56, "as the driver lays it out");

/// CUtensorMap: an opaque TMA descriptor, passed to kernels by value.
struct alignas(128) TensorMap {
  uint64_t opaque[16];
};

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

/// Every entry point as F(member, symbol, parameters). The _v2 suffixes are
/// those that the driver's own headers map the plain names to.
#define MOE_CUDA_REQUIRED(F)                                                   \
  F(init, cuInit, (unsigned))                                                  \
  F(getErrorName, cuGetErrorName, (Result, const char **))                     \
  F(getErrorString, cuGetErrorString, (Result, const char **))                 \
  F(deviceGetCount, cuDeviceGetCount, (int *))                                 \
  F(deviceGet, cuDeviceGet, (DeviceId *, int))                                 \
  F(deviceGetName, cuDeviceGetName, (char *, int, DeviceId))                   \
  F(deviceGetAttribute, cuDeviceGetAttribute,                                  \
    (int *, DeviceAttribute, DeviceId))                                        \
  F(deviceTotalMem, cuDeviceTotalMem_v2, (size_t *, DeviceId))                 \
  F(primaryCtxRetain, cuDevicePrimaryCtxRetain, (ContextHandle *, DeviceId))   \
  F(ctxGetCurrent, cuCtxGetCurrent, (ContextHandle *))                         \
  F(ctxPushCurrent, cuCtxPushCurrent_v2, (ContextHandle))                      \
  F(ctxPopCurrent, cuCtxPopCurrent_v2, (ContextHandle *))                      \
  F(ctxSynchronize, cuCtxSynchronize, ())                                      \
  F(moduleLoadDataEx, cuModuleLoadDataEx,                                      \
    (ModuleHandle *, const void *, unsigned, JitOption *, void **))            \
  F(moduleUnload, cuModuleUnload, (ModuleHandle))                              \
  F(moduleGetFunction, cuModuleGetFunction,                                    \
    (FunctionHandle *, ModuleHandle, const char *))                            \
  F(funcSetAttribute, cuFuncSetAttribute,                                      \
    (FunctionHandle, FunctionAttribute, int))                                  \
  F(launchKernelEx, cuLaunchKernelEx,                                          \
    (const LaunchConfig *, FunctionHandle, void **, void **))                  \
  F(tensorMapEncodeTiled, cuTensorMapEncodeTiled,                              \
    (TensorMap *, int, uint32_t, void *, const uint64_t *, const uint64_t *,   \
     const uint32_t *, const uint32_t *, int, int, int, int))                  \
  F(memAlloc, cuMemAlloc_v2, (DevicePtr *, size_t))                            \
  F(memFree, cuMemFree_v2, (DevicePtr))                                        \
  F(memcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                     \
    (DevicePtr, const void *, size_t, StreamHandle))                           \
  F(memcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                     \
    (void *, DevicePtr, size_t, StreamHandle))                                 \
  F(memcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                     \
    (DevicePtr, DevicePtr, size_t, StreamHandle))                              \
  F(memsetD8Async, cuMemsetD8Async,                                            \
    (DevicePtr, unsigned char, size_t, StreamHandle))                          \
  F(pointerGetAttributes, cuPointerGetAttributes,                              \
    (unsigned, PointerAttribute *, void **, DevicePtr))                        \
  F(streamCreate, cuStreamCreate, (StreamHandle *, unsigned))                  \
  F(streamDestroy, cuStreamDestroy_v2, (StreamHandle))                         \
  F(streamSynchronize, cuStreamSynchronize, (StreamHandle))                    \
  F(streamIsCapturing, cuStreamIsCapturing, (StreamHandle, int *))             \
  F(streamBeginCapture, cuStreamBeginCapture_v2, (StreamHandle, int))          \
  F(streamEndCapture, cuStreamEndCapture, (StreamHandle, GraphHandle *))       \
  F(graphInstantiate, cuGraphInstantiateWithFlags,                             \
    (GraphExecHandle *, GraphHandle, unsigned long long))                      \
  F(graphLaunch, cuGraphLaunch, (GraphExecHandle, StreamHandle))               \
  F(graphExecDestroy, cuGraphExecDestroy, (GraphExecHandle))                   \
  F(graphDestroy, cuGraphDestroy, (GraphHandle))                               \
  F(eventCreate, cuEventCreate, (EventHandle *, unsigned))                     \
  F(eventDestroy, cuEventDestroy_v2, (EventHandle))                            \
  F(eventRecord, cuEventRecord, (EventHandle, StreamHandle))                   \
  F(eventElapsedTime, cuEventElapsedTime, (float *, EventHandle, EventHandle))

/// Entry points of newer drivers; null where the driver lacks them.
#define MOE_CUDA_OPTIONAL(F)                                                   \
  F(funcGetParamInfo, cuFuncGetParamInfo,                                      \
    (FunctionHandle, size_t, size_t *, size_t *))                              \
  F(funcLoad, cuFuncLoad, (FunctionHandle))

/// The driver's functions. A member is named after its symbol.
struct Driver {
#define MOE_MEMBER(member, symbol, parameters) Result(*member) parameters;
  MOE_CUDA_REQUIRED(MOE_MEMBER)
  MOE_CUDA_OPTIONAL(MOE_MEMBER)
#undef MOE_MEMBER

  /// Returns the driver, opened and initialised at the first call that gets
  /// that far. Throws MOE_ERROR_NO_DRIVER with a remedy.
  static const Driver &get();

  /// Number of devices.
  int deviceCount() const;

  /// Throws unless `result` is success. `what`, joined, says what failed; the
  /// driver's name and description of the error are added.
  template <typename... Ts> void check(Result result, const Ts &...what) const {
    checkAs(MOE_ERROR_CUDA, result, what...);
  }

  /// The same with a status other than MOE_ERROR_CUDA; exhausted memory is
  /// always MOE_ERROR_OUT_OF_MEMORY.
  template <typename... Ts>
  void checkAs(MoEStatus status, Result result, const Ts &...what) const {
    if (result != kSuccess)
      fail(result == kErrorOutOfMemory ? MOE_ERROR_OUT_OF_MEMORY : status,
           what..., ": ", describe(result));
  }

  /// The name and description of an error.
  std::string describe(Result result) const;
};

/// Describes a device; throws if there is none of that ordinal.
MoEDeviceInfo deviceInfo(int device);

/// Makes the primary context of a device current while it lives. The context
/// is retained, once a device, for the rest of the process.
class ContextScope {
public:
  explicit ContextScope(int device);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

private:
  bool pushed = false;
};

} // namespace moe::runtime

#endif // MOE_LIB_RUNTIME_DRIVER_H
