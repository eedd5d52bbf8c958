//===- NVGPUWarpgroupToNVVM.cpp - nvgpu.warpgroup.* to NVVM ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's lowering of these ops (MLIR 22, convert-nvgpu-to-nvvm) is right
// for a K-major A and an MN-major B only:
//  - the address of a K-major B advances by K * 16 elements a k-step, not 16;
//  - the majorness of A is ignored;
//  - zeroing an accumulator may sink below the wgmma fence, for which ptxas
//    injects waits (C7519) or reports nothing;
//  - matrix descriptors are built by 64-bit arithmetic, of which ptxas 13.0
//    drops the high word.
// This lowering runs before it and leaves the other nvgpu ops to it.
//
// Operands are tiles of 16-bit elements in shared memory, swizzled by 128
// bytes and at most 64 elements deep in K:
//  - K-major: rows of 64 contiguous k, one row below the other;
//  - MN-major: panels of 64 contiguous m (or n), 64 k deep, one panel behind
//    the other.
//
//===----------------------------------------------------------------------===//

#include "moe/Conversion/NVGPUWarpgroupToNVVM/NVGPUWarpgroupToNVVM.h"

#include "moe/Conversion/Passes.h"

#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/NVGPUToNVVM/NVGPUToNVVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir {
namespace moe {
#define GEN_PASS_DEF_CONVERTNVGPUWARPGROUPTONVVM
#include "moe/Conversion/Passes.h.inc"
} // namespace moe
} // namespace mlir

using namespace mlir;
using namespace mlir::moe;

// Matrix descriptor fields (PTX ISA, "Matrix Descriptor Format"), addresses and
// strides in units of 16 bytes.
/// High word: stride 1024 bytes between groups of eight rows, 128-byte swizzle.
static constexpr int32_t kDescriptorHighWord = 0x40000040;
/// Low word, bits 16-29: bytes from one MN-major panel of 64 k to the next.
/// Ignored for K-major operands.
static constexpr int32_t kPanelStride = (64 * 128) >> 4;
/// From one 64-row slab of A to the next, in either major order.
static constexpr int32_t kSlabStride = (64 * 128) >> 4;
/// From one k-step of 16 elements to the next.
static constexpr int32_t kKMajorStep = (16 * 2) >> 4;
static constexpr int32_t kMNMajorStep = (16 * 128) >> 4;

static constexpr int64_t kWgmmaRows = 64;
static constexpr int64_t kWgmmaDepth = 16;
/// Elements in one row of the 128-byte swizzle.
static constexpr int64_t kMaxContraction = 64;
static constexpr int64_t kMaxWgmmaN = 256;
/// With the narrowest product, of eight columns, one row is 1/16 of a register
/// of a thread, which has less than 256.
static constexpr int64_t kMaxAccumulatorRows = 16 * 256;

/// Null for shapes that no product has; the type itself may have any.
static Type convertAccumulatorType(nvgpu::WarpgroupAccumulatorType type) {
  VectorType fragment = type.getFragmented();
  if (fragment.getRank() != 2 || fragment.isScalable() ||
      fragment.getDimSize(0) % kWgmmaRows != 0 ||
      fragment.getDimSize(0) > kMaxAccumulatorRows ||
      fragment.getDimSize(1) % 8 != 0 || fragment.getDimSize(1) > kMaxWgmmaN)
    return Type();
  MLIRContext *context = type.getContext();
  SmallVector<Type> registers(fragment.getDimSize(1) / 2,
                              fragment.getElementType());
  Type slab = LLVM::LLVMStructType::getLiteral(context, registers);
  SmallVector<Type> slabs(fragment.getDimSize(0) / kWgmmaRows, slab);
  return LLVM::LLVMStructType::getLiteral(context, slabs);
}

void mlir::moe::populateNVGPUWarpgroupTypeConversions(
    LLVMTypeConverter &converter) {
  nvgpu::populateCommonGPUTypeAndAttributeConversions(converter);
  converter.addConversion([](nvgpu::WarpgroupMatrixDescriptorType type) {
    return IntegerType::get(type.getContext(), 32);
  });
  converter.addConversion(convertAccumulatorType);
  // Only the type of a tensor map is read here; its value stays as it is.
  converter.addConversion(
      [](nvgpu::TensorMapDescriptorType type) -> Type { return type; });
}

/// Passes each slab of `accumulator` through volatile inline assembly of which
/// `getText` makes the text and the constraints from the number of registers.
static Value createSlabAsm(
    OpBuilder &builder, Location loc, Value accumulator,
    function_ref<std::pair<std::string, std::string>(size_t)> getText) {
  auto structType = cast<LLVM::LLVMStructType>(accumulator.getType());
  for (auto [i, type] : llvm::enumerate(structType.getBody())) {
    auto slabType = cast<LLVM::LLVMStructType>(type);
    SmallVector<int64_t> position = {static_cast<int64_t>(i)};
    SmallVector<Value> registers;
    for (int64_t r = 0, e = slabType.getBody().size(); r < e; ++r)
      registers.push_back(LLVM::ExtractValueOp::create(
          builder, loc, accumulator,
          ArrayRef<int64_t>{static_cast<int64_t>(i), r}));
    auto [text, constraints] = getText(registers.size());
    Value results =
        LLVM::InlineAsmOp::create(
            builder, loc, TypeRange(slabType), registers, text, constraints,
            /*has_side_effects=*/true, /*is_align_stack=*/false,
            LLVM::tailcallkind::TailCallKind::None,
            /*asm_dialect=*/LLVM::AsmDialectAttr{},
            /*operand_attrs=*/ArrayAttr{})
            .getResult(0);
    accumulator = LLVM::InsertValueOp::create(builder, loc, accumulator,
                                              results, position);
  }
  return accumulator;
}

Value mlir::moe::createAccumulatorBarrier(OpBuilder &builder, Location loc,
                                          Value accumulator) {
  return createSlabAsm(builder, loc, accumulator, [](size_t numRegisters) {
    SmallVector<std::string> constraints(numRegisters, "=f");
    for (size_t i = 0; i < numRegisters; ++i)
      constraints.push_back(std::to_string(i));
    return std::pair(std::string(), llvm::join(constraints, ","));
  });
}

Value mlir::moe::createAccumulatorCopy(OpBuilder &builder, Location loc,
                                       Value accumulator) {
  return createSlabAsm(builder, loc, accumulator, [](size_t numRegisters) {
    SmallVector<std::string> constraints(numRegisters, "=&f");
    constraints.append(numRegisters, "f");
    std::string text;
    llvm::raw_string_ostream os(text);
    for (size_t i = 0; i < numRegisters; ++i)
      os << "mov.b32 $" << i << ", $" << i + numRegisters << ";\n";
    return std::pair(text, llvm::join(constraints, ","));
  });
}

/// Why no product accumulates in `type`, or nothing.
static std::optional<std::string>
getObstacle(nvgpu::WarpgroupAccumulatorType type) {
  if (convertAccumulatorType(type))
    return std::nullopt;
  return llvm::formatv("accumulates {0}; needs a multiple of {1} rows up to "
                       "{2} and a multiple of 8 columns up to {3}",
                       type.getFragmented(), kWgmmaRows, kMaxAccumulatorRows,
                       kMaxWgmmaN);
}

/// Why `op` cannot be lowered here, or nothing.
static std::optional<std::string>
getObstacle(nvgpu::WarpgroupMmaInitAccumulatorOp op) {
  return getObstacle(op.getMatrixC().getType());
}

static std::optional<std::string> getObstacle(nvgpu::WarpgroupMmaOp op) {
  MemRefType a = op.getDescriptorA().getType().getTensor();
  Type element = a.getElementType();
  if (!element.isF16() && !element.isBF16())
    return llvm::formatv("needs f16 or bf16 operands, got {0}", element);
  VectorType fragment = op.getMatrixC().getType().getFragmented();
  if (!fragment.getElementType().isF32())
    return llvm::formatv("needs an f32 accumulator, got {0}",
                         fragment.getElementType());
  int64_t m = a.getDimSize(0), k = a.getDimSize(1);
  if (!a.hasStaticShape() || m % kWgmmaRows != 0 || k % kWgmmaDepth != 0 ||
      k > kMaxContraction)
    return llvm::formatv("needs an A of a multiple of {0} rows and a multiple "
                         "of {1} columns up to {2}, got {3}",
                         kWgmmaRows, kWgmmaDepth, kMaxContraction, a);
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(a.getStridesAndOffset(strides, offset)) ||
      !llvm::is_contained(strides, 1))
    return llvm::formatv("needs an A that is contiguous in one dimension, "
                         "got {0}",
                         a);
  return getObstacle(op.getMatrixC().getType());
}

namespace {

/// What the types of a nvgpu.warpgroup.mma without obstacles say about its
/// operands.
struct MmaShape {
  explicit MmaShape(nvgpu::WarpgroupMmaOp op) {
    MemRefType a = op.getDescriptorA().getType().getTensor();
    m = a.getDimSize(0);
    n = op.getDescriptorB().getType().getTensor().getDimSize(1);
    k = a.getDimSize(1);
    // The type of A says how it is stored. That of B, which the op insists on
    // being [K x N], does not; there the transposeB flag means MN-major.
    aIsKMajor = a.getStridesAndOffset().first.back() == 1;
    bIsKMajor = !op.getTransposeB();
    elementType = a.getElementType().isF16() ? NVVM::WGMMATypes::f16
                                             : NVVM::WGMMATypes::bf16;
  }

  int64_t getSteps() const { return k / kWgmmaDepth; }
  int64_t getSlabs() const { return m / kWgmmaRows; }

  int64_t m, n, k;
  bool aIsKMajor, bIsKMajor;
  NVVM::WGMMATypes elementType;
};

struct GenerateDescriptorLowering
    : ConvertOpToLLVMPattern<nvgpu::WarpgroupGenerateDescriptorOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(nvgpu::WarpgroupGenerateDescriptorOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto memrefType = cast<MemRefType>(op.getTensor().getType());
    Value pointer =
        MemRefDescriptor(adaptor.getTensor())
            .bufferPtr(rewriter, op.getLoc(), *getTypeConverter(), memrefType);
    auto constant = [&](int32_t value) -> Value {
      return LLVM::ConstantOp::create(b, b.getI32Type(),
                                      b.getI32IntegerAttr(value));
    };
    Value address = LLVM::PtrToIntOp::create(b, b.getI32Type(), pointer);
    address = LLVM::LShrOp::create(b, address, constant(4));
    address = LLVM::AndOp::create(b, address, constant(0x3FFF));
    rewriter.replaceOpWithNewOp<LLVM::OrOp>(op, address,
                                            constant(kPanelStride << 16));
    return success();
  }
};

struct InitAccumulatorLowering
    : ConvertOpToLLVMPattern<nvgpu::WarpgroupMmaInitAccumulatorOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(nvgpu::WarpgroupMmaInitAccumulatorOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (std::optional<std::string> obstacle = getObstacle(op))
      return rewriter.notifyMatchFailure(op, *obstacle);
    rewriter.replaceOpWithNewOp<LLVM::ZeroOp>(
        op, getTypeConverter()->convertType(op.getMatrixC().getType()));
    return success();
  }
};

struct MmaLowering : ConvertOpToLLVMPattern<nvgpu::WarpgroupMmaOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(nvgpu::WarpgroupMmaOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (std::optional<std::string> obstacle = getObstacle(op))
      return rewriter.notifyMatchFailure(op, *obstacle);
    MmaShape shape(op);
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value accumulator =
        createAccumulatorBarrier(rewriter, op.getLoc(), adaptor.getMatrixC());
    NVVM::WgmmaFenceAlignedOp::create(b);
    for (int64_t step = 0; step < shape.getSteps(); ++step)
      for (int64_t slab = 0; slab < shape.getSlabs(); ++slab)
        accumulator = createMma(b, shape, adaptor, accumulator, step, slab);
    NVVM::WgmmaGroupSyncAlignedOp::create(b);
    NVVM::WgmmaWaitGroupSyncOp::create(b, op.getWaitGroup());
    if (op.getWaitGroup() == 0)
      accumulator =
          createAccumulatorBarrier(rewriter, op.getLoc(), accumulator);
    rewriter.replaceOp(op, accumulator);
    return success();
  }

private:
  /// Adds `offset` (units of 16 bytes) to a descriptor's low word and puts the
  /// constant high word beside it: in two 32-bit halves, because ptxas drops
  /// the high word of 64-bit arithmetic.
  static Value createDescriptor(ImplicitLocOpBuilder &b, Value lowWord,
                                int64_t offset) {
    auto constant = [&](int64_t value) -> Value {
      return LLVM::ConstantOp::create(b, b.getI32Type(),
                                      b.getI32IntegerAttr(value));
    };
    Type pairType = VectorType::get({2}, b.getI32Type());
    Value low = LLVM::AddOp::create(b, lowWord, constant(offset));
    Value pair = LLVM::PoisonOp::create(b, pairType);
    pair = LLVM::InsertElementOp::create(b, pair, low, constant(0));
    pair = LLVM::InsertElementOp::create(b, pair, constant(kDescriptorHighWord),
                                         constant(1));
    return LLVM::BitcastOp::create(b, b.getI64Type(), pair);
  }

  static Value createMma(ImplicitLocOpBuilder &b, const MmaShape &shape,
                         OpAdaptor adaptor, Value accumulator, int64_t step,
                         int64_t slab) {
    MLIRContext *context = b.getContext();
    int64_t aStep = shape.aIsKMajor ? kKMajorStep : kMNMajorStep;
    int64_t bStep = shape.bIsKMajor ? kKMajorStep : kMNMajorStep;
    Value descriptorA = createDescriptor(b, adaptor.getDescriptorA(),
                                         step * aStep + slab * kSlabStride);
    Value descriptorB =
        createDescriptor(b, adaptor.getDescriptorB(), step * bStep);
    auto typeAttr = [&](NVVM::WGMMATypes type) {
      return NVVM::WGMMATypesAttr::get(context, type);
    };
    auto layoutAttr = [&](bool row) {
      return NVVM::MMALayoutAttr::get(context, row ? NVVM::MMALayout::row
                                                   : NVVM::MMALayout::col);
    };
    auto one = NVVM::WGMMAScaleInAttr::get(context, NVVM::WGMMAScaleIn::one);
    Value registers = LLVM::ExtractValueOp::create(b, accumulator, slab);
    registers = NVVM::WgmmaMmaAsyncOp::create(
        b, registers.getType(), registers, descriptorA, descriptorB,
        NVVM::MMAShapeAttr::get(context, kWgmmaRows, shape.n, kWgmmaDepth),
        typeAttr(shape.elementType), typeAttr(shape.elementType),
        typeAttr(NVVM::WGMMATypes::f32),
        NVVM::WGMMAScaleOutAttr::get(context, NVVM::WGMMAScaleOut::one), one,
        one, layoutAttr(shape.aIsKMajor), layoutAttr(!shape.bIsKMajor),
        NVVM::MMAIntOverflowAttr());
    return LLVM::InsertValueOp::create(b, accumulator, registers, slab);
  }
};

struct ConvertNVGPUWarpgroupToNVVM
    : public moe::impl::ConvertNVGPUWarpgroupToNVVMBase<
          ConvertNVGPUWarpgroupToNVVM> {
  void runOnOperation() override {
    if (failed(checkOps()))
      return signalPassFailure();
    MLIRContext *context = &getContext();
    LowerToLLVMOptions options(context);
    LLVMTypeConverter converter(context, options);
    populateNVGPUWarpgroupTypeConversions(converter);
    RewritePatternSet patterns(context);
    populateNVGPUWarpgroupToNVVMPatterns(converter, patterns);
    ConversionTarget target(*context);
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalOp<nvgpu::WarpgroupGenerateDescriptorOp,
                        nvgpu::WarpgroupMmaOp,
                        nvgpu::WarpgroupMmaInitAccumulatorOp>();
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                         target);
    // Loops over anything but accumulators and descriptors are not ours.
    auto usesWarpgroupTypes = [](TypeRange types) {
      return llvm::any_of(types, [](Type type) {
        return isa<nvgpu::WarpgroupAccumulatorType,
                   nvgpu::WarpgroupMatrixDescriptorType>(type);
      });
    };
    target.addDynamicallyLegalOp<scf::ForOp, scf::IfOp, scf::WhileOp>(
        [=](Operation *op) {
          return !usesWarpgroupTypes(op->getResultTypes());
        });
    target.addDynamicallyLegalOp<scf::YieldOp, scf::ConditionOp>(
        [=](Operation *op) {
          return !usesWarpgroupTypes(op->getOperandTypes());
        });
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }

private:
  /// Counts the ops, and says of the first that cannot be lowered why that is,
  /// which the conversion itself would not.
  LogicalResult checkOps() {
    WalkResult result = getOperation()->walk([this](Operation *op) {
      auto obstacle =
          llvm::TypeSwitch<Operation *, std::optional<std::string>>(op)
              .Case<nvgpu::WarpgroupMmaInitAccumulatorOp,
                    nvgpu::WarpgroupMmaOp>(
                  [](auto op) { return getObstacle(op); })
              .Default(std::nullopt);
      if (obstacle) {
        op->emitOpError(*obstacle);
        return WalkResult::interrupt();
      }
      if (auto mma = dyn_cast<nvgpu::WarpgroupMmaOp>(op)) {
        MmaShape shape(mma);
        ++numMmas;
        numInstructions += shape.getSteps() * shape.getSlabs();
      }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }
};

} // namespace

void mlir::moe::populateNVGPUWarpgroupToNVVMPatterns(
    const LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  patterns
      .add<GenerateDescriptorLowering, InitAccumulatorLowering, MmaLowering>(
          converter);
}
