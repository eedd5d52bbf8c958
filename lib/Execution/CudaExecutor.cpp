//===- CudaExecutor.cpp - run a function on a Hopper GPU ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Execution/Executor.h"

#include "moe/Runtime/MoERuntime.h"
#include "moe/Target/Compile.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::moe;

/// An error with the runtime's message, if `status` says that there is one.
static llvm::Error toError(int status) {
  if (status == MOE_OK)
    return llvm::Error::success();
  return llvm::createStringError(moeRuntimeLastError());
}

static MoEElementType getElementType(ElementKind kind) {
  switch (kind) {
  case ElementKind::F32:
    return MOE_ELEMENT_F32;
  case ElementKind::F16:
    return MOE_ELEMENT_F16;
  case ElementKind::BF16:
    return MOE_ELEMENT_BF16;
  case ElementKind::I32:
    return MOE_ELEMENT_I32;
  case ElementKind::I64:
    return MOE_ELEMENT_I64;
  }
  llvm_unreachable("unknown element kind");
}

namespace {
/// Device copies of tensors, freed with this object.
class DeviceBuffers {
public:
  explicit DeviceBuffers(int device) : device(device) {}
  DeviceBuffers(const DeviceBuffers &) = delete;
  ~DeviceBuffers() {
    for (const MoEBuffer &buffer : buffers)
      (void)moeDeviceFree(device, buffer.data);
  }

  /// Appends a buffer of the tensor's shape, which must outlive this object.
  llvm::Error add(const HostTensor &tensor) {
    ArrayRef<int64_t> shape = tensor.getShape();
    MoEBuffer buffer = {nullptr, getElementType(tensor.getKind()),
                        static_cast<int32_t>(shape.size()), shape.data()};
    if (llvm::Error error = toError(
            moeDeviceMalloc(device, tensor.getNumBytes(), &buffer.data)))
      return error;
    buffers.push_back(buffer);
    return llvm::Error::success();
  }
  llvm::Error upload(const HostTensor &tensor) {
    if (llvm::Error error = add(tensor))
      return error;
    return toError(moeCopyToDevice(device, buffers.back().data,
                                   tensor.getData(), tensor.getNumBytes(),
                                   /*stream=*/nullptr));
  }
  llvm::Error download(size_t i, HostTensor &tensor) const {
    return toError(moeCopyToHost(device, tensor.getData(), buffers[i].data,
                                 tensor.getNumBytes(), /*stream=*/nullptr));
  }
  ArrayRef<MoEBuffer> get() const { return buffers; }

private:
  int device;
  SmallVector<MoEBuffer> buffers;
};

class CudaExecutor : public Executor {
public:
  CudaExecutor(MoEProgram *program, int device, std::string name,
               ArrayRef<TensorSpec> resultTypes)
      : program(program), device(device), name(std::move(name)),
        resultTypes(resultTypes) {}
  ~CudaExecutor() override { moeProgramDestroy(program); }

  std::string getDeviceName() const override { return name; }
  llvm::Expected<RunResult> run(ArrayRef<const HostTensor *> inputs,
                                int64_t repeat) override;

private:
  MoEProgram *program;
  int device;
  std::string name;
  SmallVector<TensorSpec> resultTypes;
};
} // namespace

llvm::Expected<RunResult> CudaExecutor::run(ArrayRef<const HostTensor *> inputs,
                                            int64_t repeat) {
  DeviceBuffers buffers(device);
  for (const HostTensor *input : inputs)
    if (llvm::Error error = buffers.upload(*input))
      return error;
  RunResult result;
  // All at once: the buffers keep pointers to the shapes.
  for (const TensorSpec &type : resultTypes) {
    llvm::Expected<HostTensor> tensor =
        HostTensor::create(type.kind, type.shape);
    if (!tensor)
      return tensor.takeError();
    result.results.push_back(std::move(*tensor));
  }
  for (const HostTensor &tensor : result.results)
    if (llvm::Error error = buffers.add(tensor))
      return error;

  std::vector<float> microseconds(repeat);
  ArrayRef<MoEBuffer> arguments = buffers.get();
  if (llvm::Error error =
          toError(moeProgramTime(program, arguments.data(), arguments.size(),
                                 /*stream=*/nullptr, MOE_TIME_GRAPH, repeat,
                                 /*launchesPerSample=*/1, microseconds.data())))
    return error;
  for (float time : microseconds)
    result.milliseconds.push_back(time / 1e3);
  for (auto [i, tensor] : llvm::enumerate(result.results))
    if (llvm::Error error = buffers.download(inputs.size() + i, tensor))
      return error;
  return result;
}

llvm::Expected<std::unique_ptr<Executor>>
mlir::moe::createCudaExecutor(ModuleOp module, StringRef entry,
                              const CudaOptions &options,
                              ArrayRef<TensorSpec> resultTypes) {
  // Before compiling: without a device there is no use in it.
  MoEDeviceInfo info;
  if (llvm::Error error = toError(moeRuntimeDeviceInfo(options.device, &info)))
    return error;
  GPUPipelineOptions pipeline;
  if (!options.target.empty())
    pipeline.target = options.target;
  FailureOr<GPUProgram> compiled = compileForGPU(
      module, entry, pipeline, /*cubin=*/false, /*imageName=*/"program.ptx");
  if (failed(compiled))
    return llvm::createStringError("compiling for the GPU failed");
  std::string launchFile = llvm::formatv("{0}", compiled->launchFile);
  MoEProgram *program = nullptr;
  if (llvm::Error error = toError(moeProgramLoadData(
          launchFile.data(), launchFile.size(), compiled->image.data(),
          compiled->image.size(), options.device, &program)))
    return error;
  return std::make_unique<CudaExecutor>(
      program, options.device,
      "cuda:" + std::to_string(options.device) + ", " + info.name, resultTypes);
}
