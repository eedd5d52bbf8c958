//===- Compile.cpp - compile a module for a device ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Target/Compile.h"

#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/Target/LaunchFile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mlir::moe;

void mlir::moe::registerCompilerDialects(DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registerAllToLLVMIRTranslations(registry);
  registerAllGPUToLLVMIRTranslations(registry);
}

func::FuncOp mlir::moe::findEntry(ModuleOp module, StringRef entry) {
  if (!entry.empty()) {
    auto function = module.lookupSymbol<func::FuncOp>(entry);
    if (!function || function.isExternal()) {
      emitError(module.getLoc())
          << "the module has no function @" << entry << " with a body";
      return nullptr;
    }
    return function;
  }
  func::FuncOp found;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isPublic() || function.isExternal())
      continue;
    if (found) {
      emitError(function.getLoc())
          << "@" << found.getSymName() << " and @" << function.getSymName()
          << " are public; name one by --entry";
      return nullptr;
    }
    found = function;
  }
  if (!found)
    emitError(module.getLoc(), "the module has no public function to compile");
  return found;
}

/// Calls `use` with the name of every symbol that `root` refers to.
/// SymbolTable::getSymbolUses does not serve: it misses those in the properties
/// of unregistered ops, and so the helpers of a frontend whose dialect is not
/// here.
static void forEachSymbol(Operation *root, function_ref<void(StringAttr)> use) {
  root->walk([&](Operation *op) {
    auto collect = [&](SymbolRefAttr symbol) {
      use(symbol.getRootReference());
    };
    op->getAttrDictionary().walk(collect);
    if (Attribute properties = op->getPropertiesAsAttribute())
      properties.walk(collect);
  });
}

void mlir::moe::eraseUnreachableFunctions(func::FuncOp entry) {
  // A pass may erase what is private and not referred to.
  entry.setPublic();
  auto module = entry->getParentOfType<ModuleOp>();
  SymbolTable table(module);
  llvm::SetVector<Operation *> reachable;
  for (Operation &op : *module.getBody())
    if (&op == entry || !isa<FunctionOpInterface>(op))
      reachable.insert(&op);
  // Grows while it is walked.
  for (size_t i = 0; i < reachable.size(); ++i)
    forEachSymbol(reachable[i], [&](StringAttr name) {
      if (Operation *symbol = table.lookup(name))
        reachable.insert(symbol);
    });
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (!reachable.contains(&op))
      op.erase();
}

static LogicalResult runPasses(ModuleOp module,
                               function_ref<void(OpPassManager &)> build) {
  PassManager pm(module.getContext());
  build(pm);
  return pm.run(module);
}

LogicalResult mlir::moe::lowerToNVGPU(ModuleOp module,
                                      const GPUPipelineOptions &options) {
  return runPasses(module,
                   [&](OpPassManager &pm) { buildNVGPUPipeline(pm, options); });
}

static bool hasMoEOps(ModuleOp module) {
  return module
      ->walk([](Operation *op) {
        return isa_and_nonnull<MoEDialect>(op->getDialect())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Name of a new gpu.module of `module` without kernels.
static StringRef addEmptyKernelModule(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto kernels =
      gpu::GPUModuleOp::create(builder, module.getLoc(), "moe_kernels");
  return SymbolTable(module).insert(kernels);
}

/// The gpu.module whose kernels `function` launches; empty if it launches none.
static FailureOr<StringRef> findKernelModule(func::FuncOp function) {
  StringRef name;
  WalkResult result = function.walk([&](gpu::LaunchFuncOp launch) {
    StringRef launched = launch.getKernelModuleName().getValue();
    if (!name.empty() && launched != name) {
      launch.emitOpError("launches a kernel of @")
          << launched << ", other launches one of @" << name
          << "; a program has one image";
      return WalkResult::interrupt();
    }
    name = launched;
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return name;
}

/// The object that gpu-module-to-binary made of the gpu.module `name` for a
/// Hopper GPU. A module of the user's may have other targets, too.
static FailureOr<StringRef> findImage(ModuleOp module, StringRef name) {
  if (auto binary = module.lookupSymbol<gpu::BinaryOp>(name))
    for (auto object : binary.getObjects().getAsRange<gpu::ObjectAttr>()) {
      auto target = dyn_cast<NVVM::NVVMTargetAttr>(object.getTarget());
      if (target && target.getChip() == kGPUChip)
        return object.getObject().getValue();
    }
  return emitError(module.getLoc()) << "has no image of @" << name;
}

FailureOr<GPUProgram>
mlir::moe::compileForGPU(ModuleOp module, StringRef entry,
                         const GPUPipelineOptions &options, bool cubin,
                         StringRef imageName) {
  func::FuncOp function = findEntry(module, entry);
  if (!function)
    return failure();
  std::string name = function.getName().str();
  eraseUnreachableFunctions(function);
  // Matmuls of no rows, say, go away, and what is left is a program still.
  function->setAttr(MoEDialect::getProgramAttrName(),
                    UnitAttr::get(module.getContext()));
  if (failed(runPasses(module, buildFrontendPipeline)))
    return failure();
  bool isProgram = hasMoEOps(module);
  if (failed(lowerToNVGPU(module, options)))
    return failure();
  // The passes may have made a new one. Before the kernels become a binary,
  // whose functions nobody can look into.
  function = findEntry(module, name);
  if (!function)
    return failure();
  FailureOr<llvm::json::Value> launchFile =
      createLaunchFile(function, imageName);
  if (failed(launchFile))
    return failure();
  FailureOr<StringRef> kernelModule = findKernelModule(function);
  if (failed(kernelModule))
    return failure();
  if (kernelModule->empty() && !isProgram)
    return emitError(function.getLoc())
           << "@" << name
           << " has no op that becomes a GPU kernel; a program for a GPU needs "
              "a grouped matmul";
  std::string kernelModuleName = kernelModule->empty()
                                     ? addEmptyKernelModule(module).str()
                                     : kernelModule->str();
  if (failed(runPasses(module, [&](OpPassManager &pm) {
        buildNVVMPipeline(pm);
        buildImagePipeline(pm, cubin);
      })))
    return failure();
  FailureOr<StringRef> image = findImage(module, kernelModuleName);
  if (failed(image))
    return failure();
  // PTX is a C string to the driver; the terminator is not part of the text.
  if (!cubin)
    *image = image->rtrim('\0');
  return GPUProgram{image->str(), std::move(*launchFile)};
}

LogicalResult mlir::moe::emitObjectFile(ModuleOp module,
                                        llvm::raw_pwrite_stream &os) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return module.emitError(llvm::toString(builder.takeError()));
  builder->setRelocationModel(llvm::Reloc::PIC_);
  auto machine = builder->createTargetMachine();
  if (!machine)
    return module.emitError(llvm::toString(machine.takeError()));
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, context);
  if (!llvmModule)
    return failure();
  llvmModule->setDataLayout((*machine)->createDataLayout());
  llvmModule->setTargetTriple((*machine)->getTargetTriple());
  llvm::legacy::PassManager codegen;
  if ((*machine)->addPassesToEmitFile(codegen, os, nullptr,
                                      llvm::CodeGenFileType::ObjectFile))
    return module.emitError("the CPU's backend emits no object files");
  codegen.run(*llvmModule);
  return success();
}
