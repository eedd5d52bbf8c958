//===- Executor.cpp - run one input as moe-opt would ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Executor.h"

#include "IRMutator.h"

#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/InitAll.h"
#include "moe/Pipelines/CPUPipeline.h"
#include "moe/Target/Compile.h"
#include "moe/Target/LaunchFile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::moe::fuzz;

namespace {

/// Keeps the errors that a context reports.
class ErrorLog {
public:
  explicit ErrorLog(MLIRContext *context)
      : handler(context, [&](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            errors.push_back(diagnostic.str());
        }) {}

  std::vector<std::string> errors;

private:
  ScopedDiagnosticHandler handler;
};

/// Remarks are formatted only where somebody reads them.
class RemarkSink : public remark::detail::MLIRRemarkStreamerBase {
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    (void)remark.getMsg();
  }
};

/// Tells a pass that made invalid IR from one that refused its input.
class PassWatch : public PassInstrumentation {
public:
  PassWatch(std::function<void(StringRef)> stage, ErrorLog &log,
            std::string &bug)
      : stage(std::move(stage)), log(log), bug(bug) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    stage(getName(pass));
    errorsBefore = log.errors.size();
  }

  void runAfterPassFailed(Pass *pass, Operation *op) override {
    if (!isOurs(pass) || !bug.empty())
      return;
    std::vector<std::string> errors(log.errors.begin() + errorsBefore,
                                    log.errors.end());
    if (errors.empty()) {
      bug = (getName(pass) + " fails without a diagnostic").str();
      return;
    }
    // What the pass manager's verification reports is all there is, if it was
    // not the pass that failed.
    ErrorLog again(op->getContext());
    if (failed(verify(op)) && again.errors == errors)
      bug = (getName(pass) + " makes invalid IR: " + errors.front()).str();
  }

private:
  static StringRef getName(Pass *pass) {
    StringRef argument = pass->getArgument();
    return argument.empty() ? pass->getName() : argument;
  }

  /// The passes of this project have `moe` or the warpgroup lowering in their
  /// names.
  static bool isOurs(Pass *pass) {
    StringRef argument = pass->getArgument();
    return argument.contains("moe") || argument.contains("nvgpu-warpgroup");
  }

  std::function<void(StringRef)> stage;
  ErrorLog &log;
  std::string &bug;
  size_t errorsBefore = 0;
};

} // namespace

Executor::Executor(std::function<void(StringRef)> stage)
    : stage(std::move(stage)) {
  mlir::registerAllPasses();
  moe::registerAllPasses();
  moe::registerCompilerDialects(registry);
  moe::registerAllDialects(registry);
  moe::registerAllExtensions(registry);
}

static void enableRemarks(MLIRContext &context) {
  remark::RemarkCategories categories;
  categories.all = ".*";
  (void)remark::enableOptimizationRemarks(
      context, std::make_unique<RemarkSink>(),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

/// The first line in which `a` and `b` differ.
static std::string findDifference(StringRef a, StringRef b) {
  while (!a.empty() || !b.empty()) {
    auto [lineA, restA] = a.split('\n');
    auto [lineB, restB] = b.split('\n');
    if (lineA != lineB)
      return ("'" + lineA.trim() + "' became '" + lineB.trim() + "'").str();
    a = restA;
    b = restB;
  }
  return "";
}

/// What goes wrong when `written`, the form `name` of a module that prints as
/// `text`, is read again, or nothing.
static std::string checkReading(StringRef name, StringRef written,
                                StringRef text, MLIRContext &context,
                                ErrorLog &log) {
  auto copy = parseSourceString<ModuleOp>(written, &context);
  if (!copy)
    return ("its " + name +
            " is refused: " + (log.errors.empty() ? "" : log.errors.front()))
        .str();
  std::string difference = findDifference(text, print(*copy));
  return difference.empty() ? ""
                            : ("its " + name + " differs: " + difference).str();
}

/// The functions of `module` that have a body.
static SmallVector<func::FuncOp> getFunctions(ModuleOp module) {
  return llvm::filter_to_vector(
      module.getOps<func::FuncOp>(),
      [](func::FuncOp function) { return !function.isExternal(); });
}

LogicalResult Executor::emit(ModuleOp module, StringRef kind,
                             const GPUPipelineOptions &options) {
  if (kind == "obj") {
    PassManager pm(module.getContext());
    buildCPUPipeline(pm, CPUPipelineOptions());
    llvm::SmallVector<char> object;
    llvm::raw_svector_ostream os(object);
    if (failed(pm.run(module)))
      return failure();
    stage("object file");
    return emitObjectFile(module, os);
  }
  SmallVector<func::FuncOp> functions = getFunctions(module);
  if (kind == "ptx") {
    std::string entry =
        functions.empty() ? "" : functions.back().getSymName().str();
    return compileForGPU(module, entry, options, /*cubin=*/false, "image");
  }
  if (failed(lowerToNVGPU(module, options)))
    return failure();
  stage("launch file");
  bool allMade = true;
  for (func::FuncOp function : getFunctions(module))
    allMade &= succeeded(createLaunchFile(function, "image"));
  return success(allMade);
}

LogicalResult Executor::compile(ModuleOp module, StringRef commandLine) {
  SmallVector<StringRef> words;
  commandLine.split(words, " --");
  StringRef kind;
  SmallVector<StringRef> others;
  for (StringRef word : llvm::drop_begin(words))
    if (!word.consume_front("emit="))
      others.push_back(word);
    else
      kind = word;
  GPUPipelineOptions options;
  if (failed(options.parseFromString(llvm::join(others, " "))))
    return emitError(module.getLoc(), "no command line: ") << commandLine;
  return emit(module, kind, options);
}

Result Executor::run(StringRef input, StringRef pipeline) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  // The reader of bytecode loads no dialect for the name of an attribute alone,
  // and the attribute would be verified only once a pass has loaded it.
  context.loadDialect<MoEDialect>();
  enableRemarks(context);
  ErrorLog log(&context);

  // Known crashes of the two readers are told apart by the stage. The reader of
  // bytecode takes types that text cannot have.
  bool isBytecode = input.starts_with("ML\xefR");
  stage(isBytecode ? "read bytecode" : "parse");
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  auto module = parseSourceString<ModuleOp>(input, config);
  if (!module) {
    if (log.errors.empty())
      return {Outcome::Bug, "the parser fails without a diagnostic"};
    return {Outcome::Refused, ""};
  }
  stage("verify");
  if (failed(verify(*module))) {
    if (log.errors.empty())
      return {Outcome::Bug, "a verifier fails without a diagnostic"};
    return {Outcome::Refused, ""};
  }
  stage("print");
  std::string text = print(*module), bug;
  stage("round trip");
  if (!isBytecode)
    bug = checkReading("text", text, text, context, log);
  if (bug.empty())
    bug = checkReading("bytecode", writeBytecode(*module), text, context, log);
  if (!bug.empty())
    return {Outcome::Bug, "round trip: " + bug};

  if (pipeline.starts_with("moe-compile")) {
    stage("moe-compile");
    size_t errorsBefore = log.errors.size();
    if (succeeded(compile(*module, pipeline)))
      return {Outcome::Passed, ""};
    if (log.errors.size() == errorsBefore)
      return {Outcome::Bug, "moe-compile fails without a diagnostic"};
    return {Outcome::Failed, ""};
  }

  stage("pipeline");
  PassManager pm(&context, ModuleOp::getOperationName(),
                 PassManager::Nesting::Implicit);
  pm.addInstrumentation(std::make_unique<PassWatch>(stage, log, bug));
  // An option that the parser of pipelines refuses ends here.
  std::string message;
  llvm::raw_string_ostream os(message);
  if (failed(parsePassPipeline(pipeline, pm, os)))
    return {Outcome::Failed, ""};
  LogicalResult result = pm.run(*module);
  if (!bug.empty())
    return {Outcome::Bug, bug};
  if (failed(result))
    return {Outcome::Failed, ""};
  stage("print");
  (void)print(*module);
  return {Outcome::Passed, ""};
}
