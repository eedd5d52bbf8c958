//===- CpuExecutor.cpp - run a function on the CPU ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Execution/Executor.h"

#include "moe/Pipelines/CPUPipeline.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <chrono>

// Of the OpenMP runtime, whose header is not on every compiler's path. The call
// also keeps the linker from dropping the library, which only compiled code
// needs otherwise.
extern "C" int omp_get_max_threads(void);

using namespace mlir;
using namespace mlir::moe;

Executor::~Executor() = default;

namespace {
struct TensorSignature {
  ElementKind kind;
  size_t rank;
};

/// A strided memref descriptor of MLIR's C interface, as words: allocated and
/// aligned pointer, offset, sizes, strides.
class Descriptor {
public:
  static size_t getNumWords(size_t rank) { return 3 + 2 * rank; }

  explicit Descriptor(const HostTensor &tensor)
      : words(getNumWords(tensor.getShape().size())) {
    ArrayRef<int64_t> shape = tensor.getShape();
    words[0] = words[1] = reinterpret_cast<intptr_t>(tensor.getData());
    int64_t stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      words[3 + d] = shape[d];
      words[3 + shape.size() + d] = stride;
      stride *= shape[d];
    }
  }
  void *getData() { return words.data(); }

private:
  SmallVector<intptr_t> words;
};

class CpuExecutor : public Executor {
public:
  CpuExecutor(std::unique_ptr<ExecutionEngine> engine, StringRef entry,
              SmallVector<TensorSignature> resultTypes, int threads)
      : engine(std::move(engine)), symbol(("_mlir_ciface_" + entry).str()),
        resultTypes(std::move(resultTypes)), threads(threads) {}

  std::string getDeviceName() const override {
    return "cpu, " + std::to_string(threads) +
           (threads == 1 ? " thread" : " threads");
  }
  llvm::Expected<RunResult> run(ArrayRef<const HostTensor *> inputs,
                                int64_t repeat) override;

private:
  llvm::Error readResults(ArrayRef<intptr_t> words, bool keep,
                          std::vector<HostTensor> &results) const;

  std::unique_ptr<ExecutionEngine> engine;
  std::string symbol;
  SmallVector<TensorSignature> resultTypes;
  int threads;
};
} // namespace

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Frees the buffers of the results, which the caller owns, after copying them
/// to `results` if `keep`. Several results may share a buffer.
llvm::Error CpuExecutor::readResults(ArrayRef<intptr_t> words, bool keep,
                                     std::vector<HostTensor> &results) const {
  llvm::Error error = llvm::Error::success();
  llvm::SmallSetVector<void *, 4> buffers;
  for (const TensorSignature &type : resultTypes) {
    size_t rank = type.rank;
    buffers.insert(reinterpret_cast<void *>(words[0]));
    auto *data = reinterpret_cast<const char *>(words[1]) +
                 words[2] * getByteSize(type.kind);
    SmallVector<int64_t> shape(words.slice(3, rank));
    words = words.drop_front(Descriptor::getNumWords(rank));
    if (keep && !error) {
      llvm::Expected<HostTensor> tensor = HostTensor::create(type.kind, shape);
      if (tensor) {
        // Fresh results of identity layout: dense and row-major.
        std::copy_n(data, tensor->getNumBytes(),
                    static_cast<char *>(tensor->getData()));
        results.push_back(std::move(*tensor));
      } else {
        error = tensor.takeError();
      }
    }
  }
  for (void *buffer : buffers)
    std::free(buffer);
  return error;
}

llvm::Expected<RunResult> CpuExecutor::run(ArrayRef<const HostTensor *> inputs,
                                           int64_t repeat) {
  SmallVector<Descriptor> descriptors;
  for (const HostTensor *input : inputs)
    descriptors.emplace_back(*input);
  size_t numWords = 0;
  for (const TensorSignature &type : resultTypes)
    numWords += Descriptor::getNumWords(type.rank);
  SmallVector<intptr_t> resultWords(numWords);

  // The packed call takes a pointer to each argument; the arguments of the C
  // interface are pointers themselves.
  SmallVector<void *> arguments;
  if (!resultTypes.empty())
    arguments.push_back(resultWords.data());
  for (Descriptor &descriptor : descriptors)
    arguments.push_back(descriptor.getData());
  SmallVector<void *> packed;
  for (void *&argument : arguments)
    packed.push_back(&argument);

  RunResult result;
  for (int64_t i = 0; i < repeat; ++i) {
    auto start = std::chrono::steady_clock::now();
    if (llvm::Error error = engine->invokePacked(symbol, packed))
      return error;
    std::chrono::duration<double, std::milli> time =
        std::chrono::steady_clock::now() - start;
    result.milliseconds.push_back(time.count());
    if (llvm::Error error =
            readResults(resultWords, i + 1 == repeat, result.results))
      return error;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const CpuOptions &options) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  for (StringRef feature : options.features) {
    if (!feature.starts_with("+") && !feature.starts_with("-"))
      return llvm::createStringError("CPU feature '" + feature +
                                     "' needs a + or - in front");
    builder->getFeatures().AddFeature(feature.drop_front(),
                                      feature.front() == '+');
  }
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Aggressive);
  return builder->createTargetMachine();
}

/// f32 elements in one vector register of the target.
static int64_t getVectorLanes(const llvm::TargetMachine &machine) {
  if (!machine.getTargetTriple().isX86())
    return 4;
  // The last word on a feature counts.
  auto has = [&](StringRef name) {
    bool enabled = false;
    SmallVector<StringRef> features;
    StringRef(machine.getTargetFeatureString()).split(features, ',');
    for (StringRef feature : features)
      if (feature.size() > 1 && feature.drop_front() == name)
        enabled = feature.front() == '+';
    return enabled;
  };
  return has("avx512f") ? 16 : has("avx2") ? 8 : 4;
}

static FailureOr<SmallVector<TensorSignature>> getSignature(TypeRange types) {
  SmallVector<TensorSignature> signature;
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    std::optional<ElementKind> kind;
    if (tensor)
      kind = getElementKind(tensor.getElementType());
    if (!kind)
      return failure();
    signature.push_back({*kind, static_cast<size_t>(tensor.getRank())});
  }
  return signature;
}

llvm::Expected<std::unique_ptr<Executor>>
mlir::moe::createCpuExecutor(ModuleOp module, StringRef entry,
                             const CpuOptions &options) {
  auto func = module.lookupSymbol<func::FuncOp>(entry);
  if (!func || !func.isPublic() || func.isExternal())
    return llvm::createStringError("there is no public function @" + entry +
                                   " with a body");
  FailureOr<SmallVector<TensorSignature>> results =
      getSignature(func.getResultTypes());
  if (failed(results) || failed(getSignature(func.getArgumentTypes())))
    return llvm::createStringError(
        "@" + entry +
        " has an argument or result that is not a ranked tensor "
        "of f32, f16, bf16, i32 or i64");

  auto machine = createTargetMachine(options);
  if (!machine)
    return machine.takeError();
  CPUPipelineOptions pipeline;
  pipeline.vectorLanes = getVectorLanes(**machine);
  pipeline.openmp = options.threads;
  PassManager pm(module.getContext());
  buildCPUPipeline(pm, pipeline);
  if (failed(pm.run(module)))
    return llvm::createStringError("lowering for the CPU failed");

  auto transformer = makeOptimizingTransformer(
      /*optLevel=*/3, /*sizeLevel=*/0, machine->get());
  ExecutionEngineOptions engineOptions;
  engineOptions.transformer = transformer;
  engineOptions.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Aggressive;
  auto engine =
      ExecutionEngine::create(module, engineOptions, std::move(*machine));
  if (!engine)
    return engine.takeError();
  // Compiles now, so that the first run is not slower than the others.
  if (auto function = (*engine)->lookupPacked(("_mlir_ciface_" + entry).str());
      !function)
    return function.takeError();
  return std::make_unique<CpuExecutor>(
      std::move(*engine), entry, std::move(*results),
      options.threads ? omp_get_max_threads() : 1);
}
