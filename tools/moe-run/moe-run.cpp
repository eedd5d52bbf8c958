//===- moe-run.cpp - Run a moe program ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles one function of an MLIR file for a device, runs it on .npy files or
// seeded random inputs, and compares its results with a reference in double
// precision.
//
//===----------------------------------------------------------------------===//

#include "moe/Execution/Executor.h"
#include "moe/Execution/Inputs.h"
#include "moe/Execution/Npy.h"
#include "moe/Execution/Reference.h"
#include "moe/Execution/Traffic.h"
#include "moe/InitAll.h"
#include "moe/Support/CrashGuard.h"
#include "moe/Target/Compile.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

#include <cmath>

using namespace mlir;
using namespace mlir::moe;

namespace cl = llvm::cl;

//===----------------------------------------------------------------------===//
// Command line
//===----------------------------------------------------------------------===//

static cl::OptionCategory category("moe-run options");

static cl::opt<std::string> inputFile(cl::Positional, cl::desc("<input file>"),
                                      cl::init("-"), cl::cat(category));
static cl::opt<std::string>
    entryName("entry",
              cl::desc("Function to run (default: the only public one)"),
              cl::cat(category));
static cl::opt<std::string>
    deviceName("device", cl::desc("cpu (default), cuda or cuda:N"),
               cl::init("cpu"), cl::cat(category));
static cl::list<std::string>
    inputOptions("input",
                 cl::desc("Read an argument, by position or by its name in "
                          "the text, from a .npy file; others are random"),
                 cl::value_desc("ARGUMENT=FILE.npy"), cl::cat(category));
static cl::list<std::string>
    outputOptions("output",
                  cl::desc("Write the results to .npy files, one option for "
                           "each result in order"),
                  cl::value_desc("FILE.npy"), cl::cat(category));
static cl::opt<std::string>
    dtypeName("dtype",
              cl::desc("bf16 or f16: u2 arrays hold bit patterns of this type; "
                       "without it, such results are written as f32"),
              cl::cat(category));
static cl::list<std::string>
    shapeOptions("shape",
                 cl::desc("Sizes of an argument with dynamic dimensions"),
                 cl::value_desc("ARGUMENT=2x3x4"), cl::cat(category));
static cl::opt<int64_t>
    rowsOption("rows",
               cl::desc("Size of every dynamic dimension that nothing else "
                        "gives"),
               cl::init(-1), cl::cat(category));
static cl::opt<uint64_t> seedOption("seed", cl::desc("Seed of random inputs"),
                                    cl::init(0), cl::cat(category));
static cl::opt<std::string>
    routingOption("routing",
                  cl::desc("Rows of the experts in random inputs: uniform "
                           "(default), zipf:S, one-expert or empty-groups"),
                  cl::init("uniform"), cl::cat(category));
static cl::opt<std::string>
    passesOption("passes",
                 cl::desc("Pass pipeline to run first on what is executed, but "
                          "not on the reference of --check"),
                 cl::value_desc("moe-swap-ab{mode=always}"), cl::cat(category));
static cl::opt<bool>
    checkOption("check",
                cl::desc("Compare with a reference in double precision; exit "
                         "status 1 if the results differ"),
                cl::cat(category));
static cl::opt<double>
    toleranceOption("tolerance",
                    cl::desc("Largest relative error of --check (default: 5e-3 "
                             "with bf16, 1e-3 with f16, else 1e-5)"),
                    cl::init(0.0), cl::cat(category));
static cl::opt<int64_t> repeatOption("repeat", cl::desc("Number of runs"),
                                     cl::init(1), cl::cat(category));
static cl::opt<std::string> jsonOption("json",
                                       cl::desc("Write a report to this file"),
                                       cl::value_desc("FILE"),
                                       cl::cat(category));
static cl::list<std::string>
    featureOptions("mattr",
                   cl::desc("CPU features to add or remove (e.g. -avx512bf16)"),
                   cl::CommaSeparated, cl::cat(category));
static cl::opt<std::string>
    targetOption("target",
                 cl::desc("GPU of the cost model with --device=cuda: a preset "
                          "(h100-sxm, h200, h20) or a #moe.target attribute"),
                 cl::cat(category));
static cl::opt<bool> threadsOption("parallel",
                                   cl::desc("Run on threads (default); their "
                                            "number is OMP_NUM_THREADS"),
                                   cl::init(true), cl::cat(category));

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(message);
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

namespace {
/// The function to run and the module that holds it.
struct Program {
  OwningOpRef<ModuleOp> module;
  func::FuncOp entry;
  /// Names of the arguments in the text, without `%`; empty for bytecode.
  SmallVector<std::string> argumentNames;

  /// The argument that `text` names or numbers.
  llvm::Expected<unsigned> findArgument(StringRef text);
};
} // namespace

llvm::Expected<unsigned> Program::findArgument(StringRef text) {
  StringRef name = text;
  name.consume_front("%");
  for (auto [i, argument] : llvm::enumerate(argumentNames))
    if (argument == name)
      return i;
  unsigned position;
  if (!name.getAsInteger(10, position) && position < entry.getNumArguments())
    return position;
  return makeError("@" + entry.getName() + " has no argument '" + text +
                   "'; it has " + llvm::Twine(entry.getNumArguments()) +
                   ", counted from 0");
}

/// The names that the text gives to the arguments of `entry`.
static SmallVector<std::string> getArgumentNames(func::FuncOp entry,
                                                 const AsmParserState &state) {
  SmallVector<std::string> names;
  const auto *block = state.getBlockDef(&entry.getBody().front());
  if (!block)
    return names;
  for (const auto &argument : block->arguments) {
    const char *begin = argument.loc.Start.getPointer();
    StringRef text(begin, argument.loc.End.getPointer() - begin);
    text.consume_front("%");
    names.push_back(text.str());
  }
  return names;
}

static llvm::Expected<Program> loadProgram(MLIRContext &context,
                                           llvm::SourceMgr &sourceMgr) {
  std::string message;
  auto buffer = openInputFile(inputFile, &message);
  if (!buffer)
    return makeError(message);
  bool isText = !buffer->getBuffer().starts_with("ML\xefR");
  sourceMgr.AddNewSourceBuffer(std::move(buffer), SMLoc());

  ParserConfig config(&context);
  AsmParserState state;
  Program program;
  if (isText) {
    Block block;
    if (failed(parseAsmSourceFile(sourceMgr, &block, config, &state)))
      return makeError("cannot parse the input");
    program.module =
        mlir::detail::constructContainerOpForParserIfNecessary<ModuleOp>(
            &block, &context, FileLineColLoc::get(&context, inputFile, 0, 0));
  } else {
    program.module = parseSourceFile<ModuleOp>(sourceMgr, config);
  }
  if (!program.module)
    return makeError("the input is not a module");
  program.entry = findEntry(*program.module, entryName);
  if (!program.entry)
    return makeError("found no function to run");
  program.entry.setPublic();
  if (isText)
    program.argumentNames = getArgumentNames(program.entry, state);
  return program;
}

/// Erases what the entry function does not call, and brings a frontend's IR to
/// the moe dialect before anything looks at the ops of that function.
static llvm::Error prepareModule(Program &program) {
  for (auto func : program.module->getOps<func::FuncOp>())
    if (func != program.entry)
      func.setPrivate();
  PassManager pm(program.module->getContext());
  pm.addPass(createSymbolDCEPass());
  buildFrontendPipeline(pm);
  if (failed(pm.run(*program.module)))
    return makeError("preparing the module failed");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

namespace {
struct Inputs {
  std::vector<std::optional<HostTensor>> tensors;
  SmallVector<const HostTensor *> getPointers() const {
    SmallVector<const HostTensor *> pointers;
    for (const std::optional<HostTensor> &tensor : tensors)
      pointers.push_back(&*tensor);
    return pointers;
  }
};
} // namespace

static llvm::Expected<std::optional<ElementKind>> parseDtype() {
  if (dtypeName.empty())
    return std::optional<ElementKind>();
  if (dtypeName == "bf16")
    return std::optional<ElementKind>(ElementKind::BF16);
  if (dtypeName == "f16")
    return std::optional<ElementKind>(ElementKind::F16);
  return makeError("unknown --dtype '" + dtypeName + "'; use bf16 or f16");
}

static llvm::Error checkSignature(func::FuncOp entry) {
  for (auto [kind, types] : {std::pair("argument", entry.getArgumentTypes()),
                             std::pair("result", entry.getResultTypes())})
    for (auto [i, type] : llvm::enumerate(types)) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (tensor && getElementKind(tensor.getElementType()))
        continue;
      std::string text;
      llvm::raw_string_ostream(text) << type;
      return makeError(llvm::Twine(kind) + " " + llvm::Twine(i) + " of @" +
                       entry.getName() + " is '" + text +
                       "'; moe-run passes ranked tensors of f32, f16, bf16, "
                       "i32 and i64");
    }
  return llvm::Error::success();
}

/// Merges sizes that the user or a file gave into an argument's shape.
static llvm::Error bindShape(func::FuncOp entry, unsigned argument,
                             ArrayRef<int64_t> given,
                             SmallVector<int64_t> &shape) {
  auto type = cast<RankedTensorType>(entry.getArgumentTypes()[argument]);
  bool fits = given.size() == shape.size();
  for (size_t d = 0; fits && d < shape.size(); ++d)
    fits = ShapedType::isDynamic(shape[d]) || shape[d] == given[d];
  if (!fits) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << "the sizes ";
    llvm::interleave(given, stream, "x");
    stream << " do not fit argument " << argument << " of type " << type;
    return makeError(text);
  }
  shape.assign(given.begin(), given.end());
  return llvm::Error::success();
}

static llvm::Error bindShapeOption(Program &program, StringRef option,
                                   std::vector<SmallVector<int64_t>> &shapes) {
  auto [name, text] = option.split('=');
  llvm::Expected<unsigned> argument = program.findArgument(name);
  if (!argument)
    return argument.takeError();
  SmallVector<StringRef> parts;
  text.split(parts, 'x');
  SmallVector<int64_t> sizes(parts.size());
  for (auto [part, size] : llvm::zip_equal(parts, sizes))
    if (part.getAsInteger(10, size) || size < 0)
      return makeError("--shape=" + option +
                       " is not of the form ARGUMENT=2x3x4");
  return bindShape(program.entry, *argument, sizes, shapes[*argument]);
}

static llvm::Error readInputOption(Program &program, StringRef option,
                                   std::optional<ElementKind> bits,
                                   std::vector<SmallVector<int64_t>> &shapes,
                                   Inputs &inputs) {
  auto [name, path] = option.split('=');
  if (path.empty())
    return makeError("--input=" + option +
                     " is not of the form ARGUMENT=FILE.npy");
  llvm::Expected<unsigned> argument = program.findArgument(name);
  if (!argument)
    return argument.takeError();
  auto type =
      cast<RankedTensorType>(program.entry.getArgumentTypes()[*argument]);
  llvm::Expected<HostTensor> tensor =
      readNpy(path, *getElementKind(type.getElementType()), bits);
  if (!tensor)
    return tensor.takeError();
  if (llvm::Error error = bindShape(program.entry, *argument,
                                    tensor->getShape(), shapes[*argument]))
    return makeError("'" + path + "': " + llvm::toString(std::move(error)));
  inputs.tensors[*argument] = std::move(*tensor);
  return llvm::Error::success();
}

/// Fills what is still dynamic from --rows.
static llvm::Error bindRows(func::FuncOp entry,
                            std::vector<SmallVector<int64_t>> &shapes) {
  for (auto [i, shape] : llvm::enumerate(shapes))
    for (int64_t &size : shape) {
      if (!ShapedType::isDynamic(size))
        continue;
      if (rowsOption < 0)
        return makeError("argument " + llvm::Twine(i) + " of @" +
                         entry.getName() +
                         " has dynamic dimensions; give them with --rows=N or "
                         "--shape=" +
                         llvm::Twine(i) + "=...");
      size = rowsOption;
    }
  return llvm::Error::success();
}

static llvm::Expected<Inputs> makeAllInputs(Program &program,
                                            std::optional<ElementKind> bits) {
  func::FuncOp entry = program.entry;
  if (llvm::Error error = checkSignature(entry))
    return error;
  Inputs inputs;
  inputs.tensors.resize(entry.getNumArguments());
  std::vector<SmallVector<int64_t>> shapes;
  for (Type type : entry.getArgumentTypes())
    shapes.emplace_back(cast<RankedTensorType>(type).getShape());
  for (StringRef option : shapeOptions)
    if (llvm::Error error = bindShapeOption(program, option, shapes))
      return error;
  for (StringRef option : inputOptions)
    if (llvm::Error error =
            readInputOption(program, option, bits, shapes, inputs))
      return error;
  if (llvm::Error error = bindRows(entry, shapes))
    return error;
  llvm::Expected<Routing> routing = Routing::parse(routingOption);
  if (!routing)
    return routing.takeError();
  if (llvm::Error error =
          makeInputs(entry, shapes, seedOption, *routing, inputs.tensors))
    return error;
  return inputs;
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

/// What --device=cuda has to know of the results of `entry` on `inputs`.
static llvm::Expected<SmallVector<ResultSpec>>
getResultSpecs(func::FuncOp entry, const Inputs &inputs) {
  std::vector<SmallVector<int64_t>> shapes;
  for (const HostTensor *input : inputs.getPointers())
    shapes.emplace_back(input->getShape());
  SmallVector<ResultSpec> specs;
  if (!entry.getBody().hasOneBlock())
    return makeError("@" + entry.getName() +
                     " has several blocks, which --device=cuda cannot run");
  for (auto [i, value] : llvm::enumerate(
           entry.getBody().front().getTerminator()->getOperands())) {
    auto shape = resolveShape(value, shapes);
    if (!shape)
      return makeError("cannot tell the shape of result " + llvm::Twine(i) +
                       " of @" + entry.getName() +
                       " from its arguments, as --device=cuda needs");
    Type type = cast<RankedTensorType>(value.getType()).getElementType();
    specs.push_back({*getElementKind(type), *shape});
  }
  return specs;
}

/// Compiles the program, which it changes, for --device.
static llvm::Expected<std::unique_ptr<Executor>>
createExecutor(Program &program, ArrayRef<ResultSpec> results) {
  StringRef device = deviceName;
  if (device == "cpu") {
    CpuOptions options;
    options.features.assign(featureOptions.begin(), featureOptions.end());
    options.threads = threadsOption;
    return createCpuExecutor(*program.module, program.entry.getName(), options);
  }
  CudaOptions options;
  options.target = targetOption;
  if (device.consume_front("cuda") &&
      (device.empty() ||
       (device.consume_front(":") && !device.getAsInteger(10, options.device) &&
        options.device >= 0)))
    return createCudaExecutor(*program.module, program.entry.getName(), options,
                              results);
  return makeError("unknown device '" + deviceName +
                   "'; use cpu, cuda or cuda:N");
}

static llvm::Error runPasses(ModuleOp module) {
  if (passesOption.empty())
    return llvm::Error::success();
  PassManager pm(module->getContext());
  if (failed(parsePassPipeline(passesOption, pm)))
    return makeError("--passes is not a pass pipeline of builtin.module");
  if (failed(pm.run(module)))
    return makeError("a pass of --passes failed");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Comparison and report
//===----------------------------------------------------------------------===//

/// The tolerance that the coarsest float type of the signature allows.
static double getTolerance(func::FuncOp entry) {
  if (toleranceOption > 0.0)
    return toleranceOption;
  double tolerance = 1e-5;
  for (TypeRange types :
       {TypeRange(entry.getArgumentTypes()), TypeRange(entry.getResultTypes())})
    for (Type type : types) {
      Type element = cast<RankedTensorType>(type).getElementType();
      tolerance = std::max(tolerance, element.isBF16()  ? 5e-3
                                      : element.isF16() ? 1e-3
                                                        : 0.0);
    }
  return tolerance;
}

/// JSON has no infinity and no NaN.
static llvm::json::Value toJson(double number) {
  if (std::isfinite(number))
    return number;
  return nullptr;
}

static std::string formatIndex(int64_t element, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> index(shape.size(), 0);
  for (size_t d = shape.size(); d-- > 0; element /= shape[d])
    index[d] = element % shape[d];
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "[";
  llvm::interleaveComma(index, stream);
  stream << "]";
  return text;
}

/// Prints and records how far the results are from the reference; true if all
/// are within the tolerance.
static bool reportCheck(ArrayRef<HostTensor> results,
                        ArrayRef<ReferenceTensor> references, double tolerance,
                        llvm::json::Object &report) {
  bool passed = true;
  llvm::json::Array entries;
  for (auto [i, result] : llvm::enumerate(results)) {
    Deviation deviation = compare(result, references[i]);
    bool within = deviation.relativeError <= tolerance;
    passed &= within;
    llvm::outs() << "result " << i << ": relative error "
                 << llvm::format("%.3e", deviation.relativeError)
                 << (within ? " <= " : " > ")
                 << llvm::format("%.1e", tolerance);
    if (deviation.worstElement >= 0)
      llvm::outs() << ", worst element "
                   << formatIndex(deviation.worstElement, result.getShape())
                   << ": " << llvm::format("%.6g", deviation.worstValue)
                   << ", expected "
                   << llvm::format("%.6g", deviation.worstReference);
    llvm::outs() << "\n";
    entries.push_back(
        llvm::json::Object{{"relative_error", toJson(deviation.relativeError)},
                           {"worst_error", toJson(deviation.worstError)},
                           {"worst_element", deviation.worstElement}});
  }
  llvm::outs() << (passed ? "check passed\n" : "check FAILED\n");
  report["check"] = llvm::json::Object{{"passed", passed},
                                       {"tolerance", tolerance},
                                       {"results", std::move(entries)}};
  return passed;
}

/// Records what the program as the user wrote it moves; nothing if unknown.
static std::optional<Traffic> reportTraffic(func::FuncOp entry,
                                            const Inputs &inputs,
                                            llvm::json::Object &report) {
  llvm::Expected<Traffic> traffic = measureTraffic(entry, inputs.getPointers());
  if (!traffic) {
    report["bytes_unknown"] = llvm::toString(traffic.takeError());
    return std::nullopt;
  }
  report["bytes"] = traffic->getTotal();
  report["weight_bytes"] = traffic->weights;
  return *traffic;
}

static void reportTimes(const Executor &executor, ArrayRef<double> times,
                        std::optional<Traffic> traffic,
                        llvm::json::Object &report) {
  SmallVector<double> sorted(times);
  llvm::sort(sorted);
  double median = sorted[sorted.size() / 2];
  llvm::outs() << executor.getDeviceName() << ": "
               << llvm::format("%.3f ms", median);
  if (sorted.size() > 1)
    llvm::outs() << " (median of " << sorted.size() << ", least "
                 << llvm::format("%.3f", sorted.front()) << ")";
  if (traffic && traffic->getTotal() > 0 && median > 0.0) {
    auto bytes = static_cast<double>(traffic->getTotal());
    double rate = bytes / median / 1e6;
    llvm::outs() << llvm::format(
        ", %.1f MB (%.1f of weights) at %.1f GB/s", bytes / 1e6,
        static_cast<double>(traffic->weights) / 1e6, rate);
    report["gbytes_per_second"] = rate;
  }
  llvm::outs() << "\n";
  report["device"] = executor.getDeviceName();
  report["median_ms"] = median;
  report["times_ms"] = llvm::json::Array(times);
}

static llvm::Error writeReport(llvm::json::Object report) {
  if (jsonOption.empty())
    return llvm::Error::success();
  std::string message;
  auto file = openOutputFile(jsonOption, &message);
  if (!file)
    return makeError(message);
  file->os() << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(report)));
  file->keep();
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Main
//===----------------------------------------------------------------------===//

static llvm::Error checkOptions(func::FuncOp entry) {
  if (repeatOption < 1)
    return makeError("--repeat needs at least 1");
  if (outputOptions.size() > entry.getNumResults())
    return makeError("there are more --output options than results of @" +
                     entry.getName());
  return llvm::Error::success();
}

static llvm::Expected<bool> runProgram(Program &program) {
  if (llvm::Error error = checkOptions(program.entry))
    return error;
  llvm::Expected<std::optional<ElementKind>> bits = parseDtype();
  if (!bits)
    return bits.takeError();
  llvm::Expected<Inputs> inputs = makeAllInputs(program, *bits);
  if (!inputs)
    return inputs.takeError();
  double tolerance = getTolerance(program.entry);

  // First, so that a program that the reference cannot do fails early, and
  // while the module is as the user wrote it.
  std::vector<ReferenceTensor> reference;
  if (checkOption) {
    auto evaluated = evaluateReference(program.entry, inputs->getPointers());
    if (!evaluated)
      return evaluated.takeError();
    reference = std::move(*evaluated);
  }
  SmallVector<ResultSpec> results;
  if (StringRef(deviceName).starts_with("cuda")) {
    auto specs = getResultSpecs(program.entry, *inputs);
    if (!specs)
      return specs.takeError();
    results = std::move(*specs);
  }
  llvm::json::Object report{{"entry", program.entry.getName()}};
  std::optional<Traffic> traffic =
      reportTraffic(program.entry, *inputs, report);
  if (llvm::Error error = runPasses(*program.module))
    return error;
  auto executor = createExecutor(program, results);
  if (!executor)
    return executor.takeError();
  auto run = (*executor)->run(inputs->getPointers(), repeatOption);
  if (!run)
    return run.takeError();

  reportTimes(**executor, run->milliseconds, traffic, report);
  for (auto [path, result] : llvm::zip(outputOptions, run->results))
    if (llvm::Error error = writeNpy(path, result, bits->has_value()))
      return error;
  bool passed =
      !checkOption || reportCheck(run->results, reference, tolerance, report);
  if (llvm::Error error = writeReport(std::move(report)))
    return error;
  return passed;
}

static int runTool() {
  DialectRegistry registry;
  registerCompilerDialects(registry);
  moe::registerAllDialects(registry);
  moe::registerAllExtensions(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  llvm::SourceMgr sourceMgr;
  SourceMgrDiagnosticHandler diagnostics(sourceMgr, &context);

  auto fail = [](llvm::Error error) {
    llvm::errs() << "moe-run: error: " << llvm::toString(std::move(error))
                 << "\n";
    return EXIT_FAILURE;
  };
  llvm::Expected<Program> program = loadProgram(context, sourceMgr);
  if (!program)
    return fail(program.takeError());
  if (llvm::Error error = prepareModule(*program))
    return fail(std::move(error));
  llvm::Expected<bool> passed = runProgram(*program);
  if (!passed)
    return fail(passed.takeError());
  return *passed ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mlir::registerAllPasses();
  moe::registerAllPasses();
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Runs a moe program\n");
  return moe::runGuarded("moe-run", runTool);
}
