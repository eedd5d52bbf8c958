//===- Program.h - A loaded program -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MOE_LIB_RUNTIME_PROGRAM_H
#define MOE_LIB_RUNTIME_PROGRAM_H

#include "Driver.h"
#include "LaunchFile.h"

#include <mutex>

namespace moe::runtime {

/// A launch file and its kernels on one device. A launch goes through four
/// steps: bind the arguments, provide temporaries and workspace, prepare every
/// kernel's grid and parameters, and only then enqueue.
class Program {
public:
  /// Loads the kernels of `image` on `device`. With MOE_NO_DEVICE the program
  /// can only be inspected, and `image` is not looked at.
  Program(LaunchFile file, const std::string &image, int device);
  ~Program();
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  const LaunchFile &launchFile() const { return file; }

  // The C functions of the same names.
  void reserve(const MoEBuffer *args, int numArgs);
  void launch(const MoEBuffer *args, int numArgs, StreamHandle stream);
  void time(const MoEBuffer *args, int numArgs, StreamHandle stream, int mode,
            int numSamples, int launchesPerSample, float *microseconds);

private:
  /// An argument or a temporary as the current call sees it.
  struct Buffer {
    DevicePtr address = 0;
    std::vector<int64_t> dims;
    int64_t bytes = 0;
    /// The last address that was found to be usable from the device.
    DevicePtr checkedAddress = 0;
  };

  /// Device memory that only grows.
  struct Allocation {
    DevicePtr address = 0;
    int64_t bytes = 0;
  };

  /// An encoded tensor map and what it was encoded from.
  struct EncodedMap {
    TensorMap map = {};
    DevicePtr address = 0;
    std::array<uint64_t, 5> dims = {};
    std::array<uint64_t, 4> strides = {};
  };

  /// The last few encodings of one tensor-map parameter. Weights stay at one
  /// address, while activations rotate through a few.
  struct MapCache {
    static constexpr size_t kCapacity = 16;
    std::vector<EncodedMap> entries;
    size_t next = 0;
  };

  /// A kernel with the grid and parameters of the current call.
  struct Kernel {
    const Launch *launch;
    FunctionHandle function;
    bool skipped = false;
    std::array<uint32_t, 3> grid = {};
    /// By parameter: storage for what is passed by value, the tensor maps, and
    /// the addresses that the driver copies parameters from.
    std::vector<uint64_t> scalars;
    std::vector<MapCache> maps;
    std::vector<void *> addresses;
  };

  // Loading.
  void checkDevice();
  void loadModule(const std::string &image);
  Kernel loadKernel(const Launch &launch);
  void checkParameters(const Kernel &kernel);
  void release();

  // Binding.
  void bindShapes(const MoEBuffer *args, int numArgs);
  void bindShape(size_t index, const MoEBuffer &arg);
  void bindPointers(const MoEBuffer *args);
  void checkPointer(size_t index, DevicePtr address);
  void bindTemporaryShapes();

  // Memory.
  void provide(bool capturing);
  void grow(Allocation &allocation, int64_t bytes, bool zero, bool capturing,
            const std::string &what);
  DevicePtr allocate(int64_t bytes, const std::string &what);

  // Preparing and enqueueing.
  bool isCapturing(StreamHandle stream) const;
  bool holds(const Condition &condition) const;
  void prepare(Kernel &kernel);
  bool prepareGrid(Kernel &kernel);
  void prepareParameter(Kernel &kernel, size_t index);
  int64_t mapExtent(const Parameter &parameter, size_t index) const;
  int64_t mapStride(const Parameter &parameter, size_t index) const;
  EncodedMap describeMap(const Parameter &parameter) const;
  void *encodeMap(const Parameter &parameter, MapCache &cache);
  void enqueue(const Kernel &kernel, StreamHandle stream) const;
  void launchLocked(const MoEBuffer *args, int numArgs, StreamHandle stream);

  // Timing.
  class Timer;
  void saveArguments(Timer &timer, const MoEBuffer *args, int numArgs);

  std::string bufferName(size_t index) const;
  std::string signature() const;
  int64_t byteSize(size_t index, const ElementType &type) const;

  const LaunchFile file;
  const int device;
  const Driver *driver = nullptr;
  MoEDeviceInfo info = {};
  bool pageableAccess = false;
  ModuleHandle module = nullptr;

  /// Guards all that follows.
  std::mutex mutex;
  std::vector<Kernel> kernels;
  /// Arguments, then temporaries; `environment` points at their extents.
  std::vector<Buffer> buffers;
  Environment environment;
  std::vector<Allocation> temporaries;
  Allocation workspace;
  /// Stands in for empty buffers, whose callers often have no address.
  DevicePtr placeholder = 0;
  /// Allocations that were outgrown but that a captured graph may still use.
  std::vector<DevicePtr> retired;
  bool wasCaptured = false;
};

} // namespace moe::runtime

#endif // MOE_LIB_RUNTIME_PROGRAM_H
