//===- moe-compile.cpp - Compile a moe program ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles one function of an MLIR file to kernels for a Hopper GPU and the
// launch file that says how to run them, or for a CPU; or stops on the way and
// prints the IR.
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/InitAll.h"
#include "moe/Pipelines/CPUPipeline.h"
#include "moe/Pipelines/GPUPipeline.h"
#include "moe/Support/CrashGuard.h"
#include "moe/Target/Compile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace mlir::moe;

namespace cl = llvm::cl;

namespace {
enum class Emit { MLIR, NVGPU, LLVM, PTX, Cubin, Obj };
} // namespace

static cl::OptionCategory category("moe-compile options");

static cl::opt<std::string> inputFile(cl::Positional, cl::desc("<input file>"),
                                      cl::init("-"), cl::cat(category));
static cl::opt<std::string> outputFile("o", cl::desc("Output file"),
                                       cl::value_desc("file"), cl::init("-"),
                                       cl::cat(category));
static cl::opt<std::string> targetName(
    "target",
    cl::desc("cpu, or a GPU: a preset (sm_90a, h100-sxm, h200, h20) or a "
             "#moe.target attribute (default: the moe.target attribute in the "
             "file, or sm_90a)"),
    cl::cat(category));
static cl::opt<Emit> emitKind(
    "emit", cl::desc("What to write"), cl::init(Emit::PTX),
    cl::values(
        clEnumValN(Emit::MLIR, "mlir",
                   "the module raised, with its choices made (GPU) or raised "
                   "and decomposed (cpu)"),
        clEnumValN(Emit::NVGPU, "nvgpu", "kernels of nvgpu ops (GPU)"),
        clEnumValN(Emit::LLVM, "llvm",
                   "the LLVM dialect (cpu), kernels of it (GPU)"),
        clEnumValN(Emit::PTX, "ptx", "PTX and a launch file (GPU, default)"),
        clEnumValN(Emit::Cubin, "cubin",
                   "machine code and a launch file (GPU; needs ptxas)"),
        clEnumValN(Emit::Obj, "obj", "an object file (cpu)")),
    cl::cat(category));
static cl::opt<std::string>
    entryName("entry",
              cl::desc("Function to compile, with what it needs of the others "
                       "(default: the only public one)"),
              cl::cat(category));
static cl::opt<SwapMode> swapMode(
    "swap", cl::desc("Whether to swap operands (GPU)"),
    cl::init(SwapMode::Auto),
    cl::values(clEnumValN(SwapMode::Auto, "auto",
                          "where the cost model predicts it to be faster"),
               clEnumValN(SwapMode::Always, "always", "wherever possible"),
               clEnumValN(SwapMode::Never, "never", "nowhere")),
    cl::cat(category));
static cl::opt<double> expectedTokens(
    "expected-tokens",
    cl::desc("Tokens that an expert gets on average, in place of the ops' "
             "hints (GPU)"),
    cl::init(-1), cl::cat(category));
static cl::opt<std::string> remarksFilter(
    "remarks-filter",
    cl::desc("Print the remarks whose category matches, e.g. 'moe.*'"),
    cl::value_desc("regex"), cl::cat(category));

static bool isGPU() { return targetName != "cpu"; }

static LogicalResult reportUsage(const llvm::Twine &message) {
  llvm::errs() << "moe-compile: error: " << message << "\n";
  return failure();
}

/// The options of the GPU pipelines as the command line has them; pass options
/// cannot be copied.
struct GPUOptions : GPUPipelineOptions {
  GPUOptions() {
    target = targetName.getValue();
    swap = swapMode.getValue();
    expectedTokens = ::expectedTokens.getValue();
  }
};

static LogicalResult checkUsage() {
  bool isGPUOnly = emitKind == Emit::NVGPU || emitKind == Emit::PTX ||
                   emitKind == Emit::Cubin;
  if (isGPUOnly && !isGPU())
    return reportUsage("--emit=nvgpu, ptx and cubin need a GPU as --target; "
                       "for a CPU there are mlir, llvm and obj");
  if (emitKind == Emit::Obj && isGPU())
    return reportUsage("--emit=obj needs --target=cpu; for a GPU there are "
                       "mlir, nvgpu, llvm, ptx and cubin");
  std::string error;
  if (!remarksFilter.empty() && !llvm::Regex(remarksFilter).isValid(error))
    return reportUsage("--remarks-filter='" + remarksFilter +
                       "' is not a regular expression: " + error);
  return success();
}

/// Fails if --target names no device, before anything is compiled for it.
static LogicalResult checkTarget(MLIRContext &context) {
  if (!isGPU() || targetName.getNumOccurrences() == 0)
    return success();
  context.loadDialect<MoEDialect>();
  return TargetAttr::parseText(&context, targetName, [&] {
    return emitError(UnknownLoc::get(&context), "--target: ");
  });
}

/// Writes all of `files` or, if one cannot be opened, none.
static LogicalResult
writeFiles(ArrayRef<std::pair<std::string, StringRef>> files) {
  std::vector<std::unique_ptr<llvm::ToolOutputFile>> outputs;
  for (auto [name, content] : files) {
    std::string error;
    auto output = openOutputFile(name, &error);
    if (!output)
      return reportUsage(error);
    output->os() << content;
    outputs.push_back(std::move(output));
  }
  for (auto &output : outputs) {
    output->os().flush();
    if (std::error_code error = output->os().error()) {
      // A stream that goes away with an error ends the process.
      output->os().clear_error();
      return reportUsage("could not write '" + output->getFilename() +
                         "': " + error.message());
    }
  }
  for (auto &output : outputs)
    output->keep();
  return success();
}

/// PTX or machine code, and beside a named file its launch file.
static LogicalResult writeProgram(ModuleOp module) {
  SmallString<128> launchName(outputFile);
  llvm::sys::path::replace_extension(launchName, "json");
  if (launchName == outputFile)
    return reportUsage("the output '" + outputFile +
                       "' would be overwritten by its launch file; name it "
                       ".ptx or .cubin");
  FailureOr<GPUProgram> program =
      compileForGPU(module, entryName, GPUOptions(), emitKind == Emit::Cubin,
                    llvm::sys::path::filename(outputFile));
  if (failed(program))
    return failure();
  if (outputFile == "-")
    return writeFiles({{outputFile, program->image}});
  std::string launchText;
  llvm::raw_string_ostream(launchText)
      << llvm::formatv("{0:2}\n", program->launchFile);
  return writeFiles(
      {{outputFile, program->image}, {std::string(launchName), launchText}});
}

/// Lowers `module` as far as --emit says.
static LogicalResult lower(ModuleOp module) {
  PassManager pm(module.getContext());
  if (!isGPU()) {
    buildFrontendPipeline(pm);
    if (emitKind != Emit::MLIR)
      buildCPUPipeline(pm, CPUPipelineOptions());
  } else if (emitKind == Emit::MLIR) {
    buildChoicesPipeline(pm, GPUOptions());
  } else {
    buildNVGPUPipeline(pm, GPUOptions());
    if (emitKind == Emit::LLVM)
      buildNVVMPipeline(pm);
  }
  return pm.run(module);
}

static LogicalResult compile(ModuleOp module) {
  if (!entryName.empty()) {
    func::FuncOp entry = findEntry(module, entryName);
    if (!entry)
      return failure();
    eraseUnreachableFunctions(entry);
  }
  if (emitKind == Emit::PTX || emitKind == Emit::Cubin)
    return writeProgram(module);
  if (failed(lower(module)))
    return failure();
  SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  if (emitKind != Emit::Obj)
    os << *module << "\n";
  else if (failed(emitObjectFile(module, os)))
    return failure();
  return writeFiles({{outputFile, StringRef(text)}});
}

static LogicalResult enableRemarks(MLIRContext &context) {
  if (remarksFilter.empty())
    return success();
  // The engine looks at the filter of a remark's own kind only.
  std::string filter = remarksFilter;
  remark::RemarkCategories categories{std::nullopt, filter, filter, filter,
                                      filter};
  return remark::enableOptimizationRemarks(
      context, /*streamer=*/nullptr,
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories,
      /*printAsEmitRemarks=*/true);
}

static int runTool() {
  if (failed(checkUsage()))
    return 1;
  DialectRegistry registry;
  registerCompilerDialects(registry);
  moe::registerAllDialects(registry);
  moe::registerAllExtensions(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  // Messages name the op; of a module or a kernel, thousands of lines would
  // follow.
  context.printOpOnDiagnostic(false);

  std::string error;
  auto input = openInputFile(inputFile, &error);
  if (!input) {
    (void)reportUsage(error);
    return 1;
  }
  llvm::SourceMgr sourceMgr;
  sourceMgr.AddNewSourceBuffer(std::move(input), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(sourceMgr, &context);
  if (failed(checkTarget(context)) || failed(enableRemarks(context)))
    return 1;
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sourceMgr, &context);
  return module && succeeded(compile(*module)) ? 0 : 1;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Compiles a moe program\n");
  return moe::runGuarded("moe-compile", runTool);
}
