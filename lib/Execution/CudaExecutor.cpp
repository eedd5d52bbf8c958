//===- CudaExecutor.cpp - run a function on a Hopper GPU ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Execution/Executor.h"

#include "moe/Runtime/MoERuntime.h"
#include "moe/Target/Compile.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
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
               ArrayRef<ResultSpec> resultSpecs)
      : program(program), device(device), name(std::move(name)),
        resultSpecs(resultSpecs) {}
  ~CudaExecutor() override { moeProgramDestroy(program); }

  std::string getDeviceName() const override { return name; }
  llvm::Expected<RunResult> run(ArrayRef<const HostTensor *> inputs,
                                int64_t repeat) override;
  llvm::Error placeResults();

private:
  MoEProgram *program;
  int device;
  std::string name;
  SmallVector<ResultSpec> resultSpecs;
  /// The program's argument that holds each result.
  SmallVector<size_t> placeOfResult;
};
} // namespace

/// Finds the argument in which the program leaves each result: one of its own,
/// or the operand that bufferization chose to write in place.
llvm::Error CudaExecutor::placeResults() {
  int numResults = 0;
  if (llvm::Error error = toError(moeProgramNumResults(program, &numResults)))
    return error;
  if (static_cast<size_t>(numResults) != resultSpecs.size())
    return llvm::createStringError(
        "the compiled program has " + llvm::Twine(numResults) +
        " results, but the function " + llvm::Twine(resultSpecs.size()));
  for (int i = 0; i < numResults; ++i) {
    int argument = 0;
    if (llvm::Error error =
            toError(moeProgramResultArgument(program, i, &argument)))
      return error;
    placeOfResult.push_back(argument);
  }
  return llvm::Error::success();
}

llvm::Expected<RunResult> CudaExecutor::run(ArrayRef<const HostTensor *> inputs,
                                            int64_t repeat) {
  DeviceBuffers buffers(device);
  for (const HostTensor *input : inputs)
    if (llvm::Error error = buffers.upload(*input))
      return error;
  RunResult result;
  // All at once: the buffers keep pointers to the shapes.
  for (const ResultSpec &spec : resultSpecs) {
    llvm::Expected<HostTensor> tensor =
        HostTensor::create(spec.kind, spec.shape);
    if (!tensor)
      return tensor.takeError();
    result.results.push_back(std::move(*tensor));
  }
  // Behind the operands come the arguments that only hold a result.
  for (size_t place = inputs.size(); llvm::is_contained(placeOfResult, place);
       ++place)
    if (llvm::Error error =
            buffers.add(result.results[llvm::find(placeOfResult, place) -
                                       placeOfResult.begin()]))
      return error;

  // Each run starts from the operands as they were, also where it writes a
  // result over one of them.
  std::vector<float> microseconds(repeat);
  ArrayRef<MoEBuffer> arguments = buffers.get();
  if (llvm::Error error = toError(moeProgramTime(
          program, arguments.data(), arguments.size(),
          /*stream=*/nullptr, MOE_TIME_GRAPH | MOE_TIME_RESTORE, repeat,
          /*launchesPerSample=*/1, microseconds.data())))
    return error;
  for (float time : microseconds)
    result.milliseconds.push_back(time / 1e3);
  for (auto [place, tensor] : llvm::zip_equal(placeOfResult, result.results))
    if (llvm::Error error = buffers.download(place, tensor))
      return error;
  return result;
}

llvm::Expected<std::unique_ptr<Executor>>
mlir::moe::createCudaExecutor(ModuleOp module, StringRef entry,
                              const CudaOptions &options,
                              ArrayRef<ResultSpec> results) {
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
  auto executor = std::make_unique<CudaExecutor>(
      program, options.device,
      "cuda:" + std::to_string(options.device) + ", " + info.name, results);
  if (llvm::Error error = executor->placeResults())
    return error;
  return executor;
}
