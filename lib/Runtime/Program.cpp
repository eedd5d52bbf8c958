//===- Program.cpp - A loaded program -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Program.h"

#include <algorithm>
#include <limits>

using namespace moe::runtime;

/// Bytes behind the placeholder address of empty buffers.
static constexpr int64_t kPlaceholderBytes = 256;

/// TMA's alignment of addresses and strides, in bytes.
static constexpr int64_t kTmaAlignment = 16;

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

Program::Program(LaunchFile launchFile, const std::string &image, int device)
    : file(std::move(launchFile)), device(device) {
  buffers.resize(file.numBuffers());
  temporaries.resize(file.temporaries.size());
  environment.dims.resize(file.numBuffers());
  if (device == MOE_NO_DEVICE)
    return;
  driver = &Driver::get();
  checkDevice();
  environment.smCount = info.smCount;
  ContextScope scope(device);
  try {
    loadModule(image);
    for (const Launch &launch : file.launches)
      kernels.push_back(loadKernel(launch));
    placeholder = allocate(kPlaceholderBytes, "a placeholder");
  } catch (...) {
    release();
    throw;
  }
}

Program::~Program() {
  if (!module)
    return;
  try {
    ContextScope scope(device);
    release();
  } catch (...) {
    // The driver has shut down, and the memory is gone with it.
  }
}

/// Frees everything on the device; its context is current.
void Program::release() {
  // Kernels in flight still use the memory and the module.
  driver->ctxSynchronize();
  for (const Allocation &temporary : temporaries)
    retired.push_back(temporary.address);
  retired.push_back(workspace.address);
  retired.push_back(placeholder);
  for (DevicePtr address : retired)
    if (address)
      driver->memFree(address);
  if (module)
    driver->moduleUnload(module);
}

void Program::checkDevice() {
  info = deviceInfo(device);
  DeviceId id;
  int value = 0;
  driver->check(driver->deviceGet(&id, device), "cuDeviceGet");
  driver->check(driver->deviceGetAttribute(&value, kPageableMemoryAccess, id),
                "cuDeviceGetAttribute");
  pageableAccess = value != 0;
  const Target &target = file.target;
  bool same = info.major == target.major && info.minor == target.minor;
  bool later = info.major > target.major ||
               (info.major == target.major && info.minor > target.minor);
  if (same || (later && !target.exact))
    return;
  bool hopper = target.major == 9 && target.minor == 0;
  fail(MOE_ERROR_UNSUPPORTED_DEVICE, "device ", device, " is sm_", info.major,
       info.minor, " \"", info.name, "\": this program needs an sm_",
       target.major, target.minor, hopper ? " (Hopper)" : "", " GPU",
       target.exact ? "" : " or a later one",
       "; choose another device, or use --device=cpu");
}

void Program::loadModule(const std::string &image) {
  char log[8192] = "";
  JitOption options[] = {kJitErrorLogBuffer, kJitErrorLogBufferSize};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  // PTX is text that ends with a null; std::string provides it.
  Result result =
      driver->moduleLoadDataEx(&module, image.c_str(), 2, options, values);
  if (result == kSuccess)
    return;
  module = nullptr;
  driver->checkAs(MOE_ERROR_KERNEL_IMAGE, result,
                  "the driver rejects the kernel image '", file.image,
                  "' on device ", device, " (sm_", info.major, info.minor,
                  "); compile it again for this device, or update the driver "
                  "if the image is newer",
                  *log ? "; the driver's log: " : "", log);
}

Program::Kernel Program::loadKernel(const Launch &launch) {
  Kernel kernel;
  kernel.launch = &launch;
  driver->checkAs(MOE_ERROR_KERNEL_IMAGE,
                  driver->moduleGetFunction(&kernel.function, module,
                                            launch.kernel.c_str()),
                  launch.path, ".kernel: '", file.image, "' has no kernel '",
                  launch.kernel, "'; is it from the same run of moe-compile?");
  // One kernel may appear in several launches: allow for the largest.
  uint32_t shared = 0, clusterSize = 1;
  for (const Launch &other : file.launches) {
    if (other.kernel != launch.kernel)
      continue;
    shared = std::max(shared, other.sharedMemory);
    clusterSize = std::max(clusterSize, other.cluster[0] * other.cluster[1] *
                                            other.cluster[2]);
  }
  driver->checkAs(
      MOE_ERROR_KERNEL_IMAGE,
      driver->funcSetAttribute(kernel.function, kMaxDynamicSharedSizeBytes,
                               int(shared)),
      launch.path, ".shared_memory: cannot give kernel '", launch.kernel, "' ",
      shared, " bytes of dynamic shared memory; device ", device, " allows ",
      info.maxSharedMemoryPerBlock, " a block, static shared memory included");
  // Clusters of more than 8 blocks need consent.
  if (clusterSize > 8)
    driver->checkAs(MOE_ERROR_KERNEL_IMAGE,
                    driver->funcSetAttribute(kernel.function,
                                             kNonPortableClusterSizeAllowed, 1),
                    launch.path, ".cluster");
  // With lazy loading the first launch would load, which a capture forbids.
  if (driver->funcLoad)
    driver->checkAs(MOE_ERROR_KERNEL_IMAGE, driver->funcLoad(kernel.function),
                    "cannot load kernel '", launch.kernel, "'");
  checkParameters(kernel);
  kernel.scalars.resize(launch.parameters.size());
  kernel.maps.resize(launch.parameters.size());
  kernel.addresses.resize(launch.parameters.size());
  return kernel;
}

/// Size of a kernel parameter in bytes.
static size_t parameterSize(Parameter::Kind kind) {
  switch (kind) {
  case Parameter::Kind::TensorMap:
    return sizeof(TensorMap);
  case Parameter::Kind::I32:
    return 4;
  default:
    return 8;
  }
}

/// Compares the file's parameters with the kernel's, where the driver can tell:
/// a launch with the wrong ones reads host memory at random.
void Program::checkParameters(const Kernel &kernel) {
  if (!driver->funcGetParamInfo)
    return;
  const std::vector<Parameter> &parameters = kernel.launch->parameters;
  for (size_t i = 0; i <= parameters.size(); ++i) {
    size_t offset = 0, size = 0;
    bool exists = driver->funcGetParamInfo(kernel.function, i, &offset,
                                           &size) == kSuccess;
    if (exists != (i < parameters.size()))
      fail(MOE_ERROR_KERNEL_IMAGE, kernel.launch->path,
           ".parameters: the launch file lists ", parameters.size(),
           " parameters, but kernel '", kernel.launch->kernel, "' takes ",
           exists ? "more" : cat(i));
    if (exists && size != parameterSize(parameters[i].kind))
      fail(MOE_ERROR_KERNEL_IMAGE, parameters[i].path, ": ",
           parameterSize(parameters[i].kind), " bytes, but kernel '",
           kernel.launch->kernel, "' takes ", size);
  }
}

//===----------------------------------------------------------------------===//
// Binding arguments
//===----------------------------------------------------------------------===//

std::string Program::bufferName(size_t index) const {
  size_t numArguments = file.arguments.size();
  return index < numArguments
             ? cat("argument ", index, " '", file.arguments[index].name, "'")
             : cat("temporary ", index - numArguments);
}

/// The program's arguments, as "tokens: bf16[?x2048], out: ...".
std::string Program::signature() const {
  std::string text;
  for (const Argument &argument : file.arguments) {
    text += cat(text.empty() ? "" : ", ", argument.name, ": ",
                argument.elementType->name, "[");
    for (size_t i = 0; i < argument.dims.size(); ++i)
      text += cat(i ? "x" : "", argument.dims[i] == kDynamic
                                    ? "?"
                                    : std::to_string(argument.dims[i]));
    text += "]";
  }
  return text.empty() ? "none" : text;
}

int64_t Program::byteSize(size_t index, const ElementType &type) const {
  int64_t bytes = type.size;
  for (int64_t extent : buffers[index].dims)
    if (extent == 0)
      return 0;
  for (int64_t extent : buffers[index].dims)
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      fail(MOE_ERROR_INVALID_ARGUMENT, bufferName(index),
           " has more bytes than 64 bits count");
  return bytes;
}

/// Checks what can be checked of an argument by itself, pointer aside.
void Program::bindShape(size_t index, const MoEBuffer &arg) {
  const Argument &expected = file.arguments[index];
  if (arg.elementType != expected.elementType->id) {
    const ElementType *found = findElementType(arg.elementType);
    fail(MOE_ERROR_INVALID_ARGUMENT, bufferName(index), " must hold ",
         expected.elementType->name, ", found ",
         found ? found->name : cat("element type ", arg.elementType));
  }
  size_t rank = expected.shape.size();
  if (arg.rank < 0 || size_t(arg.rank) != rank)
    fail(MOE_ERROR_INVALID_ARGUMENT, bufferName(index), " must have rank ",
         rank, ", found ", arg.rank);
  if (rank && !arg.dims)
    fail(MOE_ERROR_INVALID_ARGUMENT, bufferName(index), " has null dims");
  for (size_t i = 0; i < rank; ++i)
    if (arg.dims[i] < 0)
      fail(MOE_ERROR_INVALID_ARGUMENT, bufferName(index), ": dimension ", i,
           " is ", arg.dims[i]);
  buffers[index].dims.assign(arg.dims, arg.dims + rank);
  environment.dims[index] = buffers[index].dims.data();
}

void Program::bindShapes(const MoEBuffer *args, int numArgs) {
  if (!driver)
    fail(MOE_ERROR_INVALID_ARGUMENT, "the program was loaded with "
                                     "MOE_NO_DEVICE: it can be inspected, not "
                                     "launched");
  size_t count = file.arguments.size();
  if (numArgs < 0 || size_t(numArgs) != count)
    fail(MOE_ERROR_INVALID_ARGUMENT, "'", file.entry, "' takes ", count,
         " arguments (", signature(), "), found ", numArgs);
  if (count && !args)
    fail(MOE_ERROR_INVALID_ARGUMENT, "args is null");
  for (size_t i = 0; i < count; ++i)
    bindShape(i, args[i]);
  // Shapes may name each other's extents, so all must be bound by now.
  for (size_t i = 0; i < count; ++i) {
    const Argument &argument = file.arguments[i];
    for (size_t j = 0; j < argument.shape.size(); ++j) {
      if (argument.shape[j].isLiteral() && argument.dims[j] == kDynamic)
        continue;
      int64_t expected = evaluate(argument.shape[j], environment);
      if (buffers[i].dims[j] != expected)
        fail(MOE_ERROR_INVALID_ARGUMENT, bufferName(i), ": dimension ", j,
             " must be ", expected, ", found ", buffers[i].dims[j]);
    }
    buffers[i].bytes = byteSize(i, *argument.elementType);
  }
  bindTemporaryShapes();
}

void Program::bindTemporaryShapes() {
  for (size_t i = 0; i < file.temporaries.size(); ++i) {
    const Temporary &temporary = file.temporaries[i];
    size_t index = file.arguments.size() + i;
    buffers[index].dims.clear();
    for (const Value &extent : temporary.shape) {
      buffers[index].dims.push_back(evaluate(extent, environment));
      if (buffers[index].dims.back() < 0)
        fail(MOE_ERROR_INVALID_ARGUMENT, extent.path, ": the extent is ",
             buffers[index].dims.back(), " for these shapes");
    }
    environment.dims[index] = buffers[index].dims.data();
    buffers[index].bytes = byteSize(index, *temporary.elementType);
  }
}

/// Throws unless the device can reach `address`: a kernel that cannot would
/// break the context for everyone in the process.
void Program::checkPointer(size_t index, DevicePtr address) {
  if (address == buffers[index].checkedAddress)
    return;
  unsigned memoryType = 0, isManaged = 0;
  int ordinal = -1;
  PointerAttribute which[] = {kPointerMemoryType, kPointerIsManaged,
                              kPointerDeviceOrdinal};
  void *values[] = {&memoryType, &isManaged, &ordinal};
  driver->check(driver->pointerGetAttributes(3, which, values, address),
                "cuPointerGetAttributes");
  if (memoryType == 0 && !pageableAccess)
    fail(MOE_ERROR_INVALID_ARGUMENT, bufferName(index), " is at 0x", std::hex,
         address, ", which is not memory that CUDA knows; copy it to device ",
         std::dec, device);
  if (memoryType == kMemoryTypeDevice && !isManaged && ordinal != device)
    fail(MOE_ERROR_INVALID_ARGUMENT, bufferName(index), " is on device ",
         ordinal, ", but the program was loaded on device ", device);
  buffers[index].checkedAddress = address;
}

void Program::bindPointers(const MoEBuffer *args) {
  for (size_t i = 0; i < file.arguments.size(); ++i) {
    auto address = DevicePtr(reinterpret_cast<uintptr_t>(args[i].data));
    const ElementType &type = *file.arguments[i].elementType;
    if (buffers[i].bytes == 0) {
      // Nothing is read or written there, and the address may be anything.
      buffers[i].address = placeholder;
      continue;
    }
    if (!address)
      fail(MOE_ERROR_INVALID_ARGUMENT, bufferName(i), " is null, but holds ",
           buffers[i].bytes, " bytes");
    if (address % type.size != 0)
      fail(MOE_ERROR_INVALID_ARGUMENT, bufferName(i), " is at 0x", std::hex,
           address, ", which is not aligned to ", type.name);
    checkPointer(i, address);
    buffers[i].address = address;
  }
}

//===----------------------------------------------------------------------===//
// Temporaries and workspace
//===----------------------------------------------------------------------===//

DevicePtr Program::allocate(int64_t bytes, const std::string &what) {
  DevicePtr address = 0;
  driver->check(driver->memAlloc(&address, size_t(bytes)), "cannot allocate ",
                bytes, " bytes on device ", device, " for ", what);
  return address;
}

void Program::grow(Allocation &allocation, int64_t bytes, bool zero,
                   bool capturing, const std::string &what) {
  if (capturing)
    fail(MOE_ERROR_CAPTURE, "the stream is being captured, but ", what,
         " needs ", bytes, " bytes and has ", allocation.bytes,
         ": call moeProgramReserve, or launch once, with these shapes before "
         "the capture");
  DevicePtr address = allocate(bytes, what);
  retired.push_back(address);
  if (zero) {
    // On its own stream and waited for, so that it precedes any later launch.
    driver->check(driver->memsetD8Async(address, 0, size_t(bytes), nullptr),
                  "cuMemsetD8Async");
    driver->check(driver->streamSynchronize(nullptr), "cuStreamSynchronize");
  }
  // Earlier launches may still run, and captured ones may be replayed.
  if (!wasCaptured && allocation.address) {
    driver->check(driver->ctxSynchronize(), "cuCtxSynchronize");
    driver->check(driver->memFree(allocation.address), "cuMemFree");
    allocation.address = 0;
  }
  retired.back() = allocation.address;
  if (!allocation.address)
    retired.pop_back();
  allocation = {address, bytes};
}

/// Sees to it that temporaries and workspace are large enough.
void Program::provide(bool capturing) {
  for (size_t i = 0; i < temporaries.size(); ++i) {
    Buffer &buffer = buffers[file.arguments.size() + i];
    if (buffer.bytes > temporaries[i].bytes)
      grow(temporaries[i], buffer.bytes, /*zero=*/false, capturing,
           cat("temporary ", i));
    buffer.address = buffer.bytes ? temporaries[i].address : placeholder;
  }
  if (!file.workspaceBytes)
    return;
  int64_t bytes = evaluate(*file.workspaceBytes, environment);
  if (bytes < 0)
    fail(MOE_ERROR_INVALID_ARGUMENT, file.workspaceBytes->path, ": is ", bytes,
         " for these shapes");
  if (bytes > workspace.bytes)
    grow(workspace, bytes, /*zero=*/true, capturing, "the workspace");
}

void Program::reserve(const MoEBuffer *args, int numArgs) {
  std::lock_guard<std::mutex> lock(mutex);
  bindShapes(args, numArgs);
  ContextScope scope(device);
  provide(/*capturing=*/false);
}

//===----------------------------------------------------------------------===//
// Preparing kernels
//===----------------------------------------------------------------------===//

bool Program::holds(const Condition &condition) const {
  int64_t value = evaluate(condition.value, environment);
  return (!condition.min || value >= *condition.min) &&
         (!condition.max || value <= *condition.max);
}

/// Computes the grid; returns false if it has no block.
bool Program::prepareGrid(Kernel &kernel) {
  static constexpr int64_t kMaxGrid[] = {0x7fffffff, 65535, 65535};
  bool hasBlocks = true;
  for (int i = 0; i < 3; ++i) {
    const Value &value = kernel.launch->grid[i];
    int64_t extent = evaluate(value, environment);
    if (extent < 0 || extent > kMaxGrid[i])
      fail(MOE_ERROR_INVALID_ARGUMENT, value.path, ": is ", extent,
           " for these shapes; the device allows 0 to ", kMaxGrid[i]);
    if (extent % kernel.launch->cluster[i] != 0)
      fail(MOE_ERROR_INVALID_ARGUMENT, value.path, ": is ", extent,
           " for these shapes, not a multiple of the cluster's ",
           kernel.launch->cluster[i]);
    hasBlocks &= extent != 0;
    kernel.grid[i] = uint32_t(extent);
  }
  return hasBlocks;
}

/// Evaluates one extent of a tensor map; an empty one becomes 1.
int64_t Program::mapExtent(const Parameter &parameter, size_t index) const {
  const Value &value = parameter.map.dims[index];
  int64_t extent = evaluate(value, environment);
  if (extent < 0 || extent > int64_t(1) << 32)
    fail(MOE_ERROR_INVALID_ARGUMENT, value.path, ": the extent of ",
         bufferName(parameter.buffer), " is ", extent,
         "; TMA allows up to 2^32");
  return std::max<int64_t>(extent, 1);
}

/// Evaluates the stride of dimension `index` in bytes.
int64_t Program::mapStride(const Parameter &parameter, size_t index) const {
  int64_t elementSize = parameter.map.elementType->size;
  if (index == 0)
    return elementSize;
  const Value &value = parameter.map.strides[index - 1];
  int64_t stride = evaluate(value, environment);
  if (stride < 0 || stride % kTmaAlignment != 0 || stride >= int64_t(1) << 40)
    fail(MOE_ERROR_INVALID_ARGUMENT, value.path, ": the stride of ",
         bufferName(parameter.buffer), " is ", stride,
         " bytes; TMA needs a multiple of 16 below 2^40, so rows of a multiple "
         "of ",
         kTmaAlignment / elementSize, " elements");
  // An empty row has no stride, but the encoding needs one.
  return std::max(stride, kTmaAlignment);
}

/// Evaluates a tensor map for the bound buffers and checks TMA's rules.
Program::EncodedMap Program::describeMap(const Parameter &parameter) const {
  const Buffer &buffer = buffers[parameter.buffer];
  EncodedMap map;
  map.address = buffer.address;
  if (map.address % kTmaAlignment != 0)
    fail(MOE_ERROR_INVALID_ARGUMENT, parameter.path, ": ",
         bufferName(parameter.buffer), " is at 0x", std::hex, map.address,
         "; a buffer that TMA reads must be aligned to 16 bytes");
  // The end of the last element that the map covers, in bytes.
  int64_t end = parameter.map.elementType->size;
  bool overflow = false;
  for (size_t i = 0; i < parameter.map.dims.size(); ++i) {
    int64_t extent = mapExtent(parameter, i), stride = mapStride(parameter, i);
    map.dims[i] = uint64_t(extent);
    if (i > 0)
      map.strides[i - 1] = uint64_t(stride);
    int64_t last;
    overflow |= __builtin_mul_overflow(extent - 1, stride, &last) ||
                __builtin_add_overflow(end, last, &end);
  }
  // Nothing is read through the map of an empty buffer.
  if (buffer.bytes != 0 && (overflow || end > buffer.bytes))
    fail(MOE_ERROR_INVALID_ARGUMENT, parameter.path,
         ": the tensor map reaches beyond the ", buffer.bytes, " bytes of ",
         bufferName(parameter.buffer));
  return map;
}

/// Returns the tensor map of the bound buffers, encoded now or earlier.
void *Program::encodeMap(const Parameter &parameter, MapCache &cache) {
  EncodedMap wanted = describeMap(parameter);
  for (EncodedMap &entry : cache.entries)
    if (entry.address == wanted.address && entry.dims == wanted.dims &&
        entry.strides == wanted.strides)
      return &entry.map;

  const TensorMapDecl &decl = parameter.map;
  static constexpr uint32_t kElementStrides[5] = {1, 1, 1, 1, 1};
  driver->check(driver->tensorMapEncodeTiled(
                    &wanted.map, decl.elementType->tensorMapType,
                    uint32_t(decl.dims.size()),
                    reinterpret_cast<void *>(uintptr_t(wanted.address)),
                    wanted.dims.data(), wanted.strides.data(), decl.box.data(),
                    kElementStrides, /*interleave=*/0, decl.swizzle,
                    decl.l2Promotion, decl.oobFill),
                parameter.path, ": the driver rejects the tensor map of ",
                bufferName(parameter.buffer));
  if (cache.entries.size() < MapCache::kCapacity) {
    cache.entries.push_back(wanted);
    return &cache.entries.back().map;
  }
  EncodedMap &oldest = cache.entries[cache.next];
  cache.next = (cache.next + 1) % MapCache::kCapacity;
  oldest = wanted;
  return &oldest.map;
}

void Program::prepareParameter(Kernel &kernel, size_t index) {
  using Kind = Parameter::Kind;
  const Parameter &parameter = kernel.launch->parameters[index];
  uint64_t &scalar = kernel.scalars[index];
  kernel.addresses[index] = &scalar;
  switch (parameter.kind) {
  case Kind::TensorMap:
    kernel.addresses[index] = encodeMap(parameter, kernel.maps[index]);
    break;
  case Kind::Buffer:
    scalar = buffers[parameter.buffer].address;
    break;
  case Kind::Workspace: {
    int64_t bytes = evaluate(*file.workspaceBytes, environment);
    if (parameter.offset >= bytes)
      fail(MOE_ERROR_INVALID_ARGUMENT, parameter.path, ".offset: is ",
           parameter.offset, ", but the workspace has ", bytes,
           " bytes for these shapes");
    scalar = workspace.address + uint64_t(parameter.offset);
    break;
  }
  case Kind::I32:
  case Kind::I64: {
    int64_t value = evaluate(parameter.value, environment);
    if (parameter.kind == Kind::I32 &&
        (value < std::numeric_limits<int32_t>::min() ||
         value > std::numeric_limits<int32_t>::max()))
      fail(MOE_ERROR_INVALID_ARGUMENT, parameter.value.path, ": is ", value,
           " for these shapes, which i32 does not hold");
    // Little-endian, as every host of such a GPU is: i32 is the low half.
    scalar = uint64_t(value);
    break;
  }
  }
}

/// Computes a kernel's grid and parameters, unless its launch is skipped:
/// then nothing but the condition and the grid needs to make sense.
void Program::prepare(Kernel &kernel) {
  const Launch &launch = *kernel.launch;
  bool runs =
      std::all_of(launch.when.begin(), launch.when.end(),
                  [&](const Condition &condition) { return holds(condition); });
  kernel.skipped = !runs || !prepareGrid(kernel);
  if (kernel.skipped)
    return;
  for (size_t i = 0; i < launch.parameters.size(); ++i)
    prepareParameter(kernel, i);
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

bool Program::isCapturing(StreamHandle stream) const {
  int status = kCaptureStatusNone;
  driver->check(driver->streamIsCapturing(stream, &status),
                "cuStreamIsCapturing: is it a stream of this device?");
  return status != kCaptureStatusNone;
}

void Program::enqueue(const Kernel &kernel, StreamHandle stream) const {
  const Launch &launch = *kernel.launch;
  LaunchAttribute attributes[2];
  LaunchConfig config = {};
  std::copy(kernel.grid.begin(), kernel.grid.end(), config.grid);
  std::copy(launch.block.begin(), launch.block.end(), config.block);
  config.sharedMemBytes = launch.sharedMemory;
  config.stream = stream;
  config.attributes = attributes;
  if (launch.cluster != std::array<uint32_t, 3>{1, 1, 1}) {
    LaunchAttribute &attribute = attributes[config.numAttributes++];
    attribute.id = LaunchAttribute::kClusterDimension;
    std::copy(launch.cluster.begin(), launch.cluster.end(),
              attribute.clusterDim);
  }
  if (launch.programmatic) {
    LaunchAttribute &attribute = attributes[config.numAttributes++];
    attribute.id = LaunchAttribute::kProgrammaticSerialization;
    attribute.programmaticSerializationAllowed = 1;
  }
  // The driver copies the parameters before it returns.
  driver->check(driver->launchKernelEx(
                    &config, kernel.function,
                    const_cast<void **>(kernel.addresses.data()), nullptr),
                "cannot launch kernel '", launch.kernel, "'");
}

void Program::launchLocked(const MoEBuffer *args, int numArgs,
                           StreamHandle stream) {
  bindShapes(args, numArgs);
  bindPointers(args);
  bool capturing = isCapturing(stream);
  provide(capturing);
  for (Kernel &kernel : kernels)
    prepare(kernel);
  wasCaptured |= capturing;
  for (const Kernel &kernel : kernels)
    if (!kernel.skipped)
      enqueue(kernel, stream);
}

void Program::launch(const MoEBuffer *args, int numArgs, StreamHandle stream) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!driver)
    bindShapes(args, numArgs); // Says why not.
  ContextScope scope(device);
  launchLocked(args, numArgs, stream);
}

//===----------------------------------------------------------------------===//
// Timing
//===----------------------------------------------------------------------===//

/// Events, a graph, a stream and copies that go with the scope.
class Program::Timer {
public:
  explicit Timer(const Driver &driver) : driver(driver) {}
  ~Timer();
  Timer(const Timer &) = delete;
  Timer &operator=(const Timer &) = delete;

  /// What a buffer held, in `copy`.
  struct Saved {
    DevicePtr address, copy;
    int64_t bytes;
  };

  const Driver &driver;
  /// The stream that is timed.
  StreamHandle stream = nullptr;
  std::vector<EventHandle> events;
  std::vector<Saved> saved;
  GraphHandle graph = nullptr;
  GraphExecHandle exec = nullptr;
  StreamHandle ownStream = nullptr;

  void useOwnStream();
  void record();
  template <typename Fn> void capture(Fn launch);
  void replay() {
    driver.check(driver.graphLaunch(exec, stream), "cuGraphLaunch");
  }
  void copy(DevicePtr target, DevicePtr source, int64_t bytes) {
    driver.check(driver.memcpyDtoDAsync(target, source, size_t(bytes), stream),
                 "cuMemcpyDtoDAsync");
  }
  float getMicroseconds(size_t from, size_t to) const;
};

Program::Timer::~Timer() {
  for (EventHandle event : events)
    driver.eventDestroy(event);
  for (const Saved &buffer : saved)
    driver.memFree(buffer.copy);
  if (exec)
    driver.graphExecDestroy(exec);
  if (graph)
    driver.graphDestroy(graph);
  if (ownStream)
    driver.streamDestroy(ownStream);
}

/// Times on a new stream, which starts when all earlier work is done.
void Program::Timer::useOwnStream() {
  driver.check(driver.ctxSynchronize(), "cuCtxSynchronize");
  driver.check(driver.streamCreate(&ownStream, kStreamNonBlocking),
               "cuStreamCreate");
  stream = ownStream;
}

/// Marks a point of the stream's time, the next of `events`.
void Program::Timer::record() {
  EventHandle event;
  driver.check(driver.eventCreate(&event, 0), "cuEventCreate");
  events.push_back(event);
  driver.check(driver.eventRecord(event, stream), "cuEventRecord");
}

/// Captures what `launch` enqueues on the stream; ends the capture in any case.
template <typename Fn> void Program::Timer::capture(Fn launch) {
  driver.check(driver.streamBeginCapture(stream, kCaptureModeThreadLocal),
               "cuStreamBeginCapture");
  try {
    launch();
  } catch (...) {
    driver.streamEndCapture(stream, &graph);
    throw;
  }
  driver.check(driver.streamEndCapture(stream, &graph), "cuStreamEndCapture");
  driver.check(driver.graphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
}

/// The time between two of `events`, once the stream has passed both.
float Program::Timer::getMicroseconds(size_t from, size_t to) const {
  float milliseconds = 0;
  driver.check(driver.eventElapsedTime(&milliseconds, events[from], events[to]),
               "cuEventElapsedTime");
  return milliseconds * 1000;
}

/// Copies every argument that a launch reads and writes.
void Program::saveArguments(Timer &timer, const MoEBuffer *args, int numArgs) {
  bindShapes(args, numArgs);
  bindPointers(args);
  for (size_t i = 0; i < file.arguments.size(); ++i) {
    const Buffer &buffer = buffers[i];
    if (file.arguments[i].access != MOE_ACCESS_READWRITE || buffer.bytes == 0)
      continue;
    DevicePtr copy = allocate(buffer.bytes, "a copy of " + bufferName(i));
    timer.saved.push_back({buffer.address, copy, buffer.bytes});
    timer.copy(copy, buffer.address, buffer.bytes);
  }
}

void Program::time(const MoEBuffer *args, int numArgs, StreamHandle stream,
                   int mode, int numSamples, int launchesPerSample,
                   float *microseconds) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!driver)
    bindShapes(args, numArgs); // Says why not.
  ContextScope scope(device);
  if (isCapturing(stream))
    fail(MOE_ERROR_CAPTURE, "launches cannot be timed on a stream that is "
                            "being captured");
  Timer timer(*driver);
  timer.stream = stream;
  if ((mode & MOE_TIME_GRAPH) && !stream)
    timer.useOwnStream();
  bool restore = mode & MOE_TIME_RESTORE;
  if (restore)
    saveArguments(timer, args, numArgs);
  auto launchSample = [&] {
    for (int i = 0; i < launchesPerSample; ++i)
      launchLocked(args, numArgs, timer.stream);
  };
  launchLocked(args, numArgs, timer.stream);
  if (mode & MOE_TIME_GRAPH) {
    // This graph does not outlive the call, so it pins no allocation.
    bool before = wasCaptured;
    timer.capture(launchSample);
    wasCaptured = before;
    timer.replay();
  }
  for (int i = 0; i < numSamples; ++i) {
    for (const Timer::Saved &buffer : timer.saved)
      timer.copy(buffer.address, buffer.copy, buffer.bytes);
    // Without copies between them, one sample ends where the next begins.
    if (restore || i == 0)
      timer.record();
    if (timer.exec)
      timer.replay();
    else
      launchSample();
    timer.record();
  }
  driver->check(driver->streamSynchronize(timer.stream), "a launch failed");
  for (int i = 0; i < numSamples; ++i) {
    size_t start = restore ? 2 * i : i;
    microseconds[i] =
        timer.getMicroseconds(start, start + 1) / float(launchesPerSample);
  }
}
