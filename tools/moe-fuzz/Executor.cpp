//===- Executor.cpp - run one input as moe-opt would ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Executor.h"

#include "IRMutator.h"

#include "moe/InitAll.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

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
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registerAllGPUToLLVMIRTranslations(registry);
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

/// What goes wrong when `module` is written and read again, or nothing.
static std::string checkRoundTrip(ModuleOp module, ErrorLog &log) {
  std::string text = print(module);
  std::string bytecode = writeBytecode(module);
  for (StringRef form : {StringRef(text), StringRef(bytecode)}) {
    const char *name = form.data() == text.data() ? "text" : "bytecode";
    auto copy = parseSourceString<ModuleOp>(form, module.getContext());
    if (!copy)
      return std::string("its ") + name +
             " is refused: " + (log.errors.empty() ? "" : log.errors.front());
    std::string difference = findDifference(text, print(*copy));
    if (!difference.empty())
      return std::string("its ") + name + " differs: " + difference;
  }
  return "";
}

Result Executor::run(StringRef input, StringRef pipeline, bool roundTrip) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
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
  (void)print(*module);
  if (roundTrip && !isBytecode) {
    stage("round trip");
    std::string bug = checkRoundTrip(*module, log);
    if (!bug.empty())
      return {Outcome::Bug, "round trip: " + bug};
  }

  stage("pipeline");
  std::string bug;
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
