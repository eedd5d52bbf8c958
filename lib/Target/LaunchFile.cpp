//===- LaunchFile.cpp - describe how kernels are launched -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Target/LaunchFile.h"

#include "moe/Pipelines/GPUPipeline.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::moe;

namespace json = llvm::json;

/// Version of the contract that docs/abi.md defines.
static constexpr int64_t kABIVersion = 1;
/// What it says of the nesting of a launch file.
static constexpr int64_t kMaxDepth = 64;
/// Values and operations of all expressions together. An expression is a tree,
/// and one that uses a value twice at every step would grow without end.
static constexpr int64_t kMaxTerms = 1 << 17;

namespace {

/// A range that a value must be in for a launch to happen.
struct Condition {
  Value value;
  std::optional<int64_t> minimum, maximum;
};

class LaunchFileBuilder {
public:
  explicit LaunchFileBuilder(func::FuncOp function) : function(function) {}

  FailureOr<json::Value> build(StringRef image);

private:
  /// Fails if the function calls others.
  LogicalResult verifyCalls();
  LogicalResult numberOperands();
  LogicalResult numberResults();
  /// Makes the memrefs that the branches of `op` yield one buffer each.
  LogicalResult joinBranches(scf::IfOp op);
  LogicalResult join(memref::AllocOp alloc, memref::AllocOp other,
                     scf::IfOp op);
  LogicalResult addBlock(Block &block);
  LogicalResult addOp(Operation &op);
  LogicalResult addBranch(scf::IfOp op);
  LogicalResult addLaunch(gpu::LaunchFuncOp op);
  LogicalResult addTemporary(memref::AllocOp op);
  FailureOr<json::Value> createParameter(gpu::LaunchFuncOp op, Value operand,
                                         bool isReadOnly);
  FailureOr<json::Value> createTensorMap(nvgpu::TmaCreateDescriptorOp op);
  FailureOr<json::Array> createConditions(Operation *user);
  FailureOr<json::Array> createShape(MemRefType type, ValueRange dynamicSizes,
                                     Operation *user);
  /// Fails if there are too many terms.
  LogicalResult countTerm(Operation *user);
  /// The launch file's expression for an integer of the host function.
  FailureOr<json::Value> createExpression(Value value, Operation *user);
  FailureOr<json::Value> createExpression(AffineExpr expr, AffineMap map,
                                          ValueRange operands, Operation *user);
  /// `name` of all results of `map`, of which there is at least one.
  FailureOr<json::Value> createExpression(StringRef name, AffineMap map,
                                          ValueRange operands, Operation *user);
  FailureOr<json::Value> createOperation(StringRef name, Operation *op,
                                         Operation *user);
  /// Size of one dimension of a buffer.
  FailureOr<json::Value> createSize(Value buffer, int64_t dim, Operation *user);
  FailureOr<int64_t> getBuffer(Value value, Operation *user);
  /// The argument or allocation that `value` is.
  Value getSource(Value value) const;
  void addArgument(Value value, json::Array shape);
  json::Array createArguments();

  func::FuncOp function;
  DenseMap<Value, int64_t> buffers;
  /// For results of branches what the branches yield, and for allocations
  /// that share the buffer of another that other one.
  DenseMap<Value, Value> sources;
  /// For allocations whose buffer others share all of those, themselves too.
  DenseMap<Value, SmallVector<memref::AllocOp>> sharers;
  /// Buffers that some kernel may write, and operands that are results.
  DenseSet<int64_t> written;
  /// Arguments and, behind them, the allocations that the function returns.
  SmallVector<Value> arguments;
  SmallVector<json::Value> argumentShapes;
  /// For each result of the function the argument that holds it.
  json::Array results;
  SmallVector<Condition> conditions;
  int64_t numTerms = 0;
  json::Array temporaries, launches;
};

} // namespace

/// Whether docs/abi.md has `type`.
static bool isElementType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() &&
           llvm::is_contained({8, 16, 32, 64}, integer.getWidth());
  return isa<BFloat16Type, Float16Type, Float32Type, Float64Type,
             Float8E4M3FNType, Float8E5M2Type>(type);
}

static std::string getElementTypeName(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

/// `x` + `factor` * `y`.
static json::Value createSum(json::Value x, int64_t factor, json::Value y) {
  return json::Array{"add", std::move(x),
                     json::Array{"mul", factor, std::move(y)}};
}

Value LaunchFileBuilder::getSource(Value value) const {
  while (true) {
    if (Value source = sources.lookup(value))
      value = source;
    else if (auto cast = value.getDefiningOp<memref::CastOp>())
      value = cast.getSource();
    else
      return value;
  }
}

FailureOr<int64_t> LaunchFileBuilder::getBuffer(Value value, Operation *user) {
  auto it = buffers.find(getSource(value));
  if (it != buffers.end())
    return it->second;
  return user->emitOpError("uses a memref that is neither an argument nor "
                           "allocated in the function; a launch file has no "
                           "other buffers");
}

FailureOr<json::Array> LaunchFileBuilder::createShape(MemRefType type,
                                                      ValueRange dynamicSizes,
                                                      Operation *user) {
  if (!type.getLayout().isIdentity())
    return user->emitOpError("allocates a ")
           << type << "; the buffers of a launch are contiguous";
  if (!isElementType(type.getElementType()))
    return user->emitOpError("allocates elements of type ")
           << type.getElementType() << ", which a launch file does not have";
  json::Array shape;
  for (int64_t size : type.getShape()) {
    if (!ShapedType::isDynamic(size)) {
      shape.push_back(size);
      continue;
    }
    FailureOr<json::Value> expression =
        createExpression(dynamicSizes.front(), user);
    dynamicSizes = dynamicSizes.drop_front();
    if (failed(expression))
      return failure();
    shape.push_back(std::move(*expression));
  }
  return shape;
}

void LaunchFileBuilder::addArgument(Value value, json::Array shape) {
  buffers[value] = arguments.size();
  arguments.push_back(value);
  argumentShapes.push_back(std::move(shape));
}

LogicalResult LaunchFileBuilder::verifyCalls() {
  WalkResult result = function.walk([](func::CallOp call) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    call.emitOpError("calls @")
        << call.getCallee() << ", which "
        << (callee && callee.isExternal()
                ? "has no body"
                : "cannot be inlined: it calls itself or is marked no_inline")
        << "; a launch file has no calls: keep this one outside of the "
           "compiled function, or use --target=cpu";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult LaunchFileBuilder::numberOperands() {
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type || !type.getLayout().isIdentity() ||
        !isElementType(type.getElementType()))
      return function.emitError()
             << "argument " << argument.getArgNumber() << " of @"
             << function.getSymName() << " is " << argument.getType()
             << "; a launch takes contiguous memrefs of i8, i16, i32, i64, "
                "f16, bf16, f32, f64, f8E4M3FN or f8E5M2 only";
    json::Array shape;
    for (int64_t size : type.getShape())
      shape.push_back(ShapedType::isDynamic(size) ? -1 : size);
    addArgument(argument, std::move(shape));
  }
  return success();
}

LogicalResult LaunchFileBuilder::join(memref::AllocOp alloc,
                                      memref::AllocOp other, scf::IfOp op) {
  auto getSharers = [&](memref::AllocOp alloc) {
    auto it = sharers.find(alloc);
    return it == sharers.end() ? SmallVector<memref::AllocOp>{alloc}
                               : it->second;
  };
  SmallVector<memref::AllocOp> all = getSharers(alloc);
  for (memref::AllocOp sharer : getSharers(other)) {
    for (memref::AllocOp earlier : getSharers(alloc))
      if (!insideMutuallyExclusiveRegions(earlier, sharer))
        return op.emitOpError(
            "yields different memrefs that are in use at the same time; a "
            "launch file has one buffer for a result: give both branches the "
            "same destination");
    all.push_back(sharer);
  }
  FailureOr<json::Array> shape =
      createShape(alloc.getType(), alloc.getDynamicSizes(), alloc);
  FailureOr<json::Array> otherShape =
      createShape(other.getType(), other.getDynamicSizes(), other);
  if (failed(shape) || failed(otherShape))
    return failure();
  if (alloc.getType().getElementType() != other.getType().getElementType() ||
      *shape != *otherShape)
    return op.emitOpError("yields memrefs of different sizes; a launch file "
                          "has one buffer for a result: give both branches "
                          "the same destination");
  sources[other] = alloc;
  sharers[alloc] = std::move(all);
  return success();
}

LogicalResult LaunchFileBuilder::joinBranches(scf::IfOp op) {
  for (OpResult result : op.getResults()) {
    if (!isa<MemRefType>(result.getType()))
      continue;
    auto getYielded = [&](scf::YieldOp yield) {
      return getSource(yield.getOperand(result.getResultNumber()));
    };
    Value then = getYielded(op.thenYield()), other = getYielded(op.elseYield());
    sources[result] = then;
    if (then == other)
      continue;
    auto thenAlloc = then.getDefiningOp<memref::AllocOp>();
    auto otherAlloc = other.getDefiningOp<memref::AllocOp>();
    if (!thenAlloc || !otherAlloc)
      return op.emitOpError("yields an argument in one branch and another "
                            "memref in the other; a launch file has one buffer "
                            "for a result: give both branches the same "
                            "destination");
    if (failed(join(thenAlloc, otherAlloc, op)))
      return failure();
  }
  return success();
}

LogicalResult LaunchFileBuilder::numberResults() {
  auto returnOp = dyn_cast<func::ReturnOp>(function.front().getTerminator());
  if (!returnOp)
    return function.front().getTerminator()->emitOpError(
        "ends the function; a launch file needs func.return");
  for (Value operand : returnOp.getOperands()) {
    Value buffer = getSource(operand);
    // Also an operand that no kernel writes: it holds the result afterwards.
    if (isa<BlockArgument>(buffer))
      written.insert(buffers.lookup(buffer));
    if (!buffers.contains(buffer)) {
      auto alloc = buffer.getDefiningOp<memref::AllocOp>();
      if (!alloc)
        return returnOp.emitOpError(
            "returns what is neither an argument nor allocated in the "
            "function; a launch has nowhere to put it");
      FailureOr<json::Array> shape =
          createShape(alloc.getType(), alloc.getDynamicSizes(), alloc);
      if (failed(shape))
        return failure();
      addArgument(buffer, std::move(*shape));
    }
    results.push_back(buffers.lookup(buffer));
  }
  return success();
}

FailureOr<json::Value> LaunchFileBuilder::createSize(Value buffer, int64_t dim,
                                                     Operation *user) {
  Value source = getSource(buffer);
  auto type = dyn_cast<MemRefType>(source.getType());
  if (!type || dim < 0 || dim >= type.getRank())
    return user->emitOpError("depends on dimension ")
           << dim << " of a " << source.getType() << ", which it does not have";
  if (!type.isDynamicDim(dim))
    return json::Value(type.getDimSize(dim));
  // The shape of a result may depend on arguments only.
  if (auto alloc = source.getDefiningOp<memref::AllocOp>())
    return createExpression(
        alloc.getDynamicSizes()[type.getDynamicDimIndex(dim)], user);
  FailureOr<int64_t> number = getBuffer(buffer, user);
  if (failed(number))
    return failure();
  return json::Value(json::Array{"dim", *number, dim});
}

FailureOr<json::Value> LaunchFileBuilder::createOperation(StringRef name,
                                                          Operation *op,
                                                          Operation *user) {
  json::Array expression{name};
  for (Value operand : op->getOperands()) {
    FailureOr<json::Value> value = createExpression(operand, user);
    if (failed(value))
      return failure();
    expression.push_back(std::move(*value));
  }
  return json::Value(std::move(expression));
}

LogicalResult LaunchFileBuilder::countTerm(Operation *user) {
  if (++numTerms <= kMaxTerms)
    return success();
  return user->emitOpError("depends on numbers of more than ")
         << kMaxTerms
         << " operations, each counted as often as it is used; a launch file "
            "holds no more";
}

FailureOr<json::Value> LaunchFileBuilder::createExpression(AffineExpr expr,
                                                           AffineMap map,
                                                           ValueRange operands,
                                                           Operation *user) {
  if (failed(countTerm(user)))
    return failure();
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return json::Value(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return createExpression(operands[dim.getPosition()], user);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return createExpression(operands[map.getNumDims() + symbol.getPosition()],
                            user);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  FailureOr<json::Value> lhs =
      createExpression(binary.getLHS(), map, operands, user);
  FailureOr<json::Value> rhs =
      createExpression(binary.getRHS(), map, operands, user);
  if (failed(lhs) || failed(rhs))
    return failure();
  auto create = [&](StringRef name) {
    return json::Value(json::Array{name, *lhs, *rhs});
  };
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return create("add");
  case AffineExprKind::Mul:
    return create("mul");
  case AffineExprKind::CeilDiv:
    return create("ceildiv");
  case AffineExprKind::FloorDiv:
    return create("floordiv");
  default:
    assert(expr.getKind() == AffineExprKind::Mod);
    // Not a copy, so that its terms count twice.
    FailureOr<json::Value> dividend =
        createExpression(binary.getLHS(), map, operands, user);
    if (failed(dividend))
      return failure();
    return createSum(std::move(*dividend), -1,
                     json::Array{"mul", *rhs, create("floordiv")});
  }
}

FailureOr<json::Value> LaunchFileBuilder::createExpression(StringRef name,
                                                           AffineMap map,
                                                           ValueRange operands,
                                                           Operation *user) {
  std::optional<json::Value> result;
  for (AffineExpr expr : map.getResults()) {
    FailureOr<json::Value> value = createExpression(expr, map, operands, user);
    if (failed(value))
      return failure();
    result = result ? json::Array{name, std::move(*result), std::move(*value)}
                    : std::move(*value);
  }
  return std::move(*result);
}

FailureOr<json::Value> LaunchFileBuilder::createExpression(Value value,
                                                           Operation *user) {
  if (failed(countTerm(user)))
    return failure();
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    if (constant.getSignificantBits() <= 64)
      return json::Value(constant.getSExtValue());
    return user->emitOpError("depends on a number of more than 64 bits, which "
                             "a launch file cannot express");
  }
  Operation *op = value.getDefiningOp();
  if (!op)
    return user->emitOpError("depends on a number that is not made of sizes of "
                             "arguments; a launch file has no others");
  return TypeSwitch<Operation *, FailureOr<json::Value>>(op)
      .Case([&](memref::DimOp dim) -> FailureOr<json::Value> {
        std::optional<int64_t> index = dim.getConstantIndex();
        if (!index || !isa<MemRefType>(dim.getSource().getType()))
          return user->emitOpError("depends on a dimension that is not known "
                                   "when compiling");
        return createSize(dim.getSource(), *index, user);
      })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp>(
          [&](auto cast) { return createExpression(cast.getIn(), user); })
      .Case<arith::AddIOp>(
          [&](Operation *op) { return createOperation("add", op, user); })
      .Case<arith::MulIOp>(
          [&](Operation *op) { return createOperation("mul", op, user); })
      .Case([&](arith::SubIOp op) -> FailureOr<json::Value> {
        FailureOr<json::Value> lhs = createExpression(op.getLhs(), user);
        FailureOr<json::Value> rhs = createExpression(op.getRhs(), user);
        if (failed(lhs) || failed(rhs))
          return failure();
        return createSum(std::move(*lhs), -1, std::move(*rhs));
      })
      // Sizes are not negative, so unsigned and signed agree.
      .Case<arith::MinUIOp, arith::MinSIOp>(
          [&](Operation *op) { return createOperation("min", op, user); })
      .Case<arith::MaxUIOp, arith::MaxSIOp>(
          [&](Operation *op) { return createOperation("max", op, user); })
      .Case<arith::DivUIOp, arith::DivSIOp>(
          [&](Operation *op) { return createOperation("floordiv", op, user); })
      .Case<arith::CeilDivUIOp, arith::CeilDivSIOp>(
          [&](Operation *op) { return createOperation("ceildiv", op, user); })
      .Case<affine::AffineApplyOp>([&](auto op) {
        return createExpression("", op.getAffineMap(), op.getMapOperands(),
                                user);
      })
      .Case<affine::AffineMinOp>([&](auto op) {
        return createExpression("min", op.getMap(), op.getOperands(), user);
      })
      .Case<affine::AffineMaxOp>([&](auto op) {
        return createExpression("max", op.getMap(), op.getOperands(), user);
      })
      .Default([&](Operation *op) {
        return user->emitOpError("depends on the result of ")
               << op->getName() << ", which a launch file cannot express";
      });
}

FailureOr<json::Value>
LaunchFileBuilder::createTensorMap(nvgpu::TmaCreateDescriptorOp op) {
  FailureOr<int64_t> buffer = getBuffer(op.getTensor(), op);
  if (failed(buffer))
    return failure();
  auto type = cast<MemRefType>(getSource(op.getTensor()).getType());
  nvgpu::TensorMapDescriptorType map = op.getTensorMap().getType();
  ArrayRef<int64_t> boxShape = map.getTensor().getShape();
  if (static_cast<int64_t>(boxShape.size()) != type.getRank())
    return op.emitOpError("has a box of ")
           << boxShape.size() << " dimensions for a " << type
           << "; a tensor map has one for each";
  int64_t bytes = type.getElementTypeBitWidth() / 8;

  // Innermost first; a stride is the product of the dimensions inside of it.
  json::Array dims, strides, box;
  json::Value stride = bytes;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    FailureOr<json::Value> size = createSize(op.getTensor(), dim, op);
    if (failed(size))
      return failure();
    dims.push_back(*size);
    box.push_back(boxShape[dim]);
    if (dim != type.getRank() - 1)
      strides.push_back(stride);
    std::optional<int64_t> outer = stride.getAsInteger();
    std::optional<int64_t> inner = size->getAsInteger();
    int64_t product;
    if (!outer || !inner)
      stride = json::Array{"mul", stride, *size};
    else if (!llvm::MulOverflow(*outer, *inner, product))
      stride = product;
    else
      return op.emitOpError("is of a ")
             << type << ", whose bytes are more than 64 bits can count";
  }
  return json::Value(json::Object{
      {"kind", "tensor_map"},
      {"buffer", *buffer},
      {"element_type", getElementTypeName(type.getElementType())},
      {"dims", std::move(dims)},
      {"strides", std::move(strides)},
      {"box", std::move(box)},
      {"swizzle", nvgpu::stringifyTensorMapSwizzleKind(map.getSwizzle())
                      .drop_front(StringRef("swizzle_").size())},
      {"l2_promotion", nvgpu::stringifyTensorMapL2PromoKind(map.getL2promo())
                           .drop_front(StringRef("l2promo_").size())},
      {"interleave", "none"},
      {"oob", nvgpu::stringifyTensorMapOOBKind(map.getOob())}});
}

FailureOr<json::Value> LaunchFileBuilder::createParameter(gpu::LaunchFuncOp op,
                                                          Value operand,
                                                          bool isReadOnly) {
  if (auto map = operand.getDefiningOp<nvgpu::TmaCreateDescriptorOp>())
    return createTensorMap(map);
  if (isa<MemRefType>(operand.getType())) {
    FailureOr<int64_t> buffer = getBuffer(operand, op);
    if (failed(buffer))
      return failure();
    if (!isReadOnly)
      written.insert(*buffer);
    return json::Value(json::Object{{"kind", "buffer"}, {"buffer", *buffer}});
  }
  if (!operand.getType().isInteger(32) && !operand.getType().isInteger(64))
    return op.emitOpError("has a kernel argument of type ")
           << operand.getType()
           << "; a launch file has tensor maps, buffers, i32 and i64";
  FailureOr<json::Value> value = createExpression(operand, op);
  if (failed(value))
    return failure();
  return json::Value(
      json::Object{{"kind", getElementTypeName(operand.getType())},
                   {"value", std::move(*value)}});
}

FailureOr<json::Array> LaunchFileBuilder::createConditions(Operation *user) {
  json::Array result;
  for (const Condition &condition : conditions) {
    FailureOr<json::Value> value = createExpression(condition.value, user);
    if (failed(value))
      return failure();
    json::Object entry{{"value", std::move(*value)}};
    if (condition.minimum)
      entry["min"] = *condition.minimum;
    if (condition.maximum)
      entry["max"] = *condition.maximum;
    result.push_back(std::move(entry));
  }
  return result;
}

/// True if `kernel` is made to start before the one ahead of it has ended.
static bool waitsForDependencies(LLVM::LLVMFuncOp kernel) {
  return kernel
      .walk([](NVVM::GriddepcontrolOp op) {
        return op.getKind() == NVVM::GridDepActionKind::wait
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult LaunchFileBuilder::addLaunch(gpu::LaunchFuncOp op) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(
      op, op.getKernelAttr());
  if (!kernel)
    return op.emitOpError("launches a kernel that is not an llvm.func; lower "
                          "the kernel before");
  if (kernel.getNumArguments() != op.getNumKernelOperands())
    return op.emitOpError("has ")
           << op.getNumKernelOperands() << " kernel arguments, but @"
           << kernel.getSymName() << " takes " << kernel.getNumArguments();
  if (op.hasClusterSize())
    return op.emitOpError("has a cluster size; the launch files made here have "
                          "none: leave it out");
  json::Array grid, block, parameters;
  gpu::KernelDim3 blocks = op.getGridSizeOperandValues();
  for (Value size : {blocks.x, blocks.y, blocks.z}) {
    FailureOr<json::Value> value = createExpression(size, op);
    if (failed(value))
      return failure();
    grid.push_back(std::move(*value));
  }
  for (Value size : std::initializer_list<Value>{
           op.getBlockSizeX(), op.getBlockSizeY(), op.getBlockSizeZ(),
           op.getDynamicSharedMemorySize()}) {
    APInt constant(64, 0);
    if (size && !matchPattern(size, m_ConstantInt(&constant)))
      return op.emitOpError("has a block or shared memory size that is not a "
                            "constant");
    block.push_back(constant.getSExtValue());
  }
  json::Value sharedMemory = block.back();
  block.pop_back();
  for (auto [i, operand] : llvm::enumerate(op.getKernelOperands())) {
    bool isReadOnly =
        kernel.getArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName()) !=
        nullptr;
    FailureOr<json::Value> parameter = createParameter(op, operand, isReadOnly);
    if (failed(parameter))
      return failure();
    parameters.push_back(std::move(*parameter));
  }
  json::Object launch{{"kernel", kernel.getSymName()},
                      {"grid", std::move(grid)},
                      {"block", std::move(block)},
                      {"shared_memory", std::move(sharedMemory)},
                      {"parameters", std::move(parameters)}};
  if (waitsForDependencies(kernel))
    launch["programmatic"] = true;
  if (!conditions.empty()) {
    FailureOr<json::Array> when = createConditions(op);
    if (failed(when))
      return failure();
    launch["when"] = std::move(*when);
  }
  launches.push_back(std::move(launch));
  return success();
}

LogicalResult LaunchFileBuilder::addTemporary(memref::AllocOp op) {
  if (buffers.contains(getSource(op)))
    return success();
  FailureOr<json::Array> shape =
      createShape(op.getType(), op.getDynamicSizes(), op);
  if (failed(shape))
    return failure();
  buffers[op] = arguments.size() + temporaries.size();
  temporaries.push_back(json::Object{
      {"element_type", getElementTypeName(op.getType().getElementType())},
      {"shape", std::move(*shape)}});
  return success();
}

/// The range of `value`, which is not negative, in which a comparison with a
/// constant holds.
static std::optional<Condition> getRange(arith::CmpIPredicate predicate,
                                         Value value, int64_t constant) {
  using P = arith::CmpIPredicate;
  constexpr int64_t least = std::numeric_limits<int64_t>::min(),
                    most = std::numeric_limits<int64_t>::max();
  // Unsigned, a negative constant is beyond any size.
  if (constant < 0 &&
      llvm::is_contained({P::ult, P::ule, P::ugt, P::uge}, predicate))
    constant = most;
  switch (predicate) {
  case P::ult:
  case P::slt:
    return Condition{value, std::nullopt,
                     constant == least ? least : constant - 1};
  case P::ule:
  case P::sle:
    return Condition{value, std::nullopt, constant};
  case P::ugt:
  case P::sgt:
    return Condition{value, constant == most ? most : constant + 1,
                     std::nullopt};
  case P::uge:
  case P::sge:
    return Condition{value, constant, std::nullopt};
  default:
    return std::nullopt;
  }
}

LogicalResult LaunchFileBuilder::addBranch(scf::IfOp op) {
  auto compare = op.getCondition().getDefiningOp<arith::CmpIOp>();
  APInt constant;
  if (!compare || !matchPattern(compare.getRhs(), m_ConstantInt(&constant)))
    return op.emitOpError("branches on what a launch file cannot express: it "
                          "compares numbers with constants only");
  auto addSide = [&](Region &region, arith::CmpIPredicate predicate) {
    std::optional<Condition> range =
        getRange(predicate, compare.getLhs(), constant.getSExtValue());
    if (region.empty())
      return success();
    if (!range)
      return LogicalResult(op.emitOpError("branches on an equality, which a "
                                          "launch file cannot express"));
    conditions.push_back(*range);
    LogicalResult result = addBlock(region.front());
    conditions.pop_back();
    return result;
  };
  if (failed(addSide(op.getThenRegion(), compare.getPredicate())))
    return failure();
  return addSide(op.getElseRegion(),
                 arith::invertPredicate(compare.getPredicate()));
}

LogicalResult LaunchFileBuilder::addOp(Operation &op) {
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](gpu::LaunchFuncOp launch) { return addLaunch(launch); })
      .Case([&](memref::AllocOp alloc) { return addTemporary(alloc); })
      .Case([&](scf::IfOp branch) { return addBranch(branch); })
      .Case<affine::AffineApplyOp, affine::AffineMaxOp, affine::AffineMinOp,
            func::ReturnOp, memref::CastOp, memref::DeallocOp, memref::DimOp,
            nvgpu::TmaCreateDescriptorOp, scf::YieldOp>(
          [](Operation *) { return success(); })
      .Default([&](Operation *op) -> LogicalResult {
        if (isa_and_nonnull<arith::ArithDialect>(op->getDialect()))
          return success();
        return op->emitOpError("has no GPU form in this project; keep it "
                               "outside of the compiled function, or use "
                               "--target=cpu");
      });
}

LogicalResult LaunchFileBuilder::addBlock(Block &block) {
  for (Operation &op : block)
    if (failed(addOp(op)))
      return failure();
  return success();
}

json::Array LaunchFileBuilder::createArguments() {
  json::Array result;
  int64_t numOperands = function.getNumArguments();
  for (auto [i, value] : llvm::enumerate(arguments)) {
    int64_t number = i;
    bool isResult = number >= numOperands;
    StringRef access = isResult                   ? "write"
                       : written.contains(number) ? "readwrite"
                                                  : "read";
    std::string name = isResult ? "result" + std::to_string(i - numOperands)
                                : "arg" + std::to_string(i);
    result.push_back(
        json::Object{{"name", name},
                     {"element_type",
                      getElementTypeName(
                          cast<MemRefType>(value.getType()).getElementType())},
                     {"shape", std::move(argumentShapes[i])},
                     {"access", access}});
  }
  return result;
}

/// How deep arrays and objects are nested in `value`.
static int64_t getDepth(const json::Value &value) {
  int64_t inside = 0;
  if (const json::Array *array = value.getAsArray())
    for (const json::Value &element : *array)
      inside = std::max(inside, getDepth(element));
  else if (const json::Object *object = value.getAsObject())
    for (const auto &[key, member] : *object)
      inside = std::max(inside, getDepth(member));
  else
    return 0;
  return inside + 1;
}

FailureOr<json::Value> LaunchFileBuilder::build(StringRef image) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError() << "@" << function.getSymName()
                                << " has no body of one block; a launch file "
                                   "has no branches between blocks";
  if (failed(verifyCalls()) || failed(numberOperands()))
    return failure();
  // Branches in branches come first.
  WalkResult joined =
      function.walk([&](scf::IfOp op) { return WalkResult(joinBranches(op)); });
  if (joined.wasInterrupted() || failed(numberResults()) ||
      failed(addBlock(function.front())))
    return failure();
  json::Array arguments = createArguments();
  json::Value file = json::Object{{"abi", kABIVersion},
                                  {"target", kGPUChip},
                                  {"image", image},
                                  {"entry", function.getSymName()},
                                  {"arguments", std::move(arguments)},
                                  {"results", std::move(results)},
                                  {"temporaries", std::move(temporaries)},
                                  {"launches", std::move(launches)}};
  if (int64_t depth = getDepth(file); depth > kMaxDepth)
    return function.emitError()
           << "@" << function.getSymName()
           << " computes numbers from each other in too many steps: its launch "
              "file would be nested "
           << depth << " deep, and " << kMaxDepth << " is the limit";
  return file;
}

FailureOr<json::Value> mlir::moe::createLaunchFile(func::FuncOp function,
                                                   StringRef image) {
  return LaunchFileBuilder(function).build(image);
}
