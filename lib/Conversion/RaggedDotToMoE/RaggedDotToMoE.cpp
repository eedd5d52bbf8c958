//===- RaggedDotToMoE.cpp - Raise JAX's ragged_dot ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Conversion/RaggedDotToMoE/RaggedDotToMoE.h"

#include "moe/Conversion/Passes.h"
#include "moe/Dialect/MoE/IR/MoE.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "moe-raise-ragged-dot"

namespace mlir {
namespace moe {
#define GEN_PASS_DEF_MOERAISERAGGEDDOT
#include "moe/Conversion/Passes.h.inc"
} // namespace moe
} // namespace mlir

using namespace mlir;
using namespace mlir::moe;

/// Reports why a composite is left as it is; always fails.
using Refuse = llvm::function_ref<LogicalResult(const Twine &reason)>;

//===----------------------------------------------------------------------===//
// Reading the composite
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kCompositeOp = "stablehlo.composite";
static constexpr StringLiteral kRaggedDot = "chlo.ragged_dot";
static constexpr StringLiteral kDimensionNumbers =
    "ragged_dot_dimension_numbers";
static constexpr StringLiteral kPrecision = "precision_config";

/// The attribute `name` of `op`, or null. An unregistered op keeps what was
/// written between `<{` and `}>` as its properties: one attribute, of any kind.
static Attribute getAnyAttr(Operation *op, StringRef name) {
  if (auto properties =
          dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute()))
    if (Attribute attribute = properties.get(name))
      return attribute;
  return op->getDiscardableAttr(name);
}

bool mlir::moe::isRaggedDot(Operation *op) {
  if (op->getName().getStringRef() != kCompositeOp)
    return false;
  auto name = dyn_cast_or_null<StringAttr>(getAnyAttr(op, "name"));
  return name && name.getValue() == kRaggedDot;
}

/// Reads a list of at most two dimensions.
static std::optional<SmallVector<int64_t, 2>> readDimensions(Attribute list) {
  SmallVector<int64_t, 2> dimensions;
  if (auto array = dyn_cast<DenseI64ArrayAttr>(list)) {
    if (array.size() > 2)
      return std::nullopt;
    dimensions.assign(array.asArrayRef().begin(), array.asArrayRef().end());
    return dimensions;
  }
  auto elements = dyn_cast<DenseIntElementsAttr>(list);
  if (!elements || elements.getType().getRank() != 1 ||
      elements.getNumElements() > 2 ||
      !elements.getElementType().isSignlessInteger(64))
    return std::nullopt;
  llvm::append_range(dimensions, elements.getValues<int64_t>());
  return dimensions;
}

/// Maps the dimension numbers to the layout of the weights: only rows [R x K],
/// ragged along R, times one matrix an expert have one.
static FailureOr<WeightLayout> readDimensionNumbers(Attribute attribute,
                                                    Refuse refuse) {
  auto lists = dyn_cast_or_null<ArrayAttr>(attribute);
  if (!lists || lists.size() != 6)
    return refuse(Twine(kDimensionNumbers) +
                  " is not an array of six lists of dimensions");
  SmallVector<SmallVector<int64_t, 2>, 6> numbers;
  for (Attribute list : lists) {
    std::optional<SmallVector<int64_t, 2>> dimensions = readDimensions(list);
    if (!dimensions)
      return refuse(Twine("entry ") + Twine(numbers.size()) + " of " +
                    kDimensionNumbers +
                    " is not a list of at most two i64 dimensions");
    numbers.push_back(std::move(*dimensions));
  }
  ArrayRef<int64_t> lhsBatching = numbers[0], rhsBatching = numbers[1],
                    lhsContracting = numbers[2], rhsContracting = numbers[3],
                    lhsRagged = numbers[4], rhsGroup = numbers[5];
  if (!lhsBatching.empty() || !rhsBatching.empty())
    return refuse("it has batching dimensions");
  if (lhsRagged.size() == 1 && lhsRagged == lhsContracting)
    return refuse("its ragged dimension is the contracting one");
  if (lhsRagged != ArrayRef<int64_t>{0} ||
      lhsContracting != ArrayRef<int64_t>{1})
    return refuse("lhs must be ragged in dimension 0 and contracted in "
                  "dimension 1");
  if (rhsGroup != ArrayRef<int64_t>{0})
    return refuse("dimension 0 of rhs must be the group dimension");
  if (rhsContracting == ArrayRef<int64_t>{1})
    return WeightLayout::KN;
  if (rhsContracting == ArrayRef<int64_t>{2})
    return WeightLayout::NK;
  return refuse("rhs must be contracted in dimension 1 or 2");
}

/// Accumulation in f32 of exact products of the operands is what the highest
/// precision asks for, so that each known one is satisfied.
static LogicalResult checkPrecision(Attribute attribute, Refuse refuse) {
  auto config = dyn_cast<ArrayAttr>(attribute);
  if (!config)
    return refuse(Twine(kPrecision) + " is not an array");
  for (Attribute entry : config) {
    auto precision = dyn_cast<StringAttr>(entry);
    if (!precision || (precision != "DEFAULT" && precision != "HIGH" &&
                       precision != "HIGHEST"))
      return refuse(Twine(kPrecision) +
                    " holds something else than DEFAULT, HIGH and HIGHEST");
  }
  return success();
}

/// Reads the attributes of `composite`. What is not understood may change what
/// it computes, and is refused.
static FailureOr<WeightLayout> readAttributes(Operation *composite,
                                              Refuse refuse) {
  if (Attribute version = getAnyAttr(composite, "version")) {
    auto number = dyn_cast<IntegerAttr>(version);
    if (!number || number.getValue().ugt(1))
      return refuse("version is not 0 or 1");
  }
  auto attributes = dyn_cast_or_null<DictionaryAttr>(
      getAnyAttr(composite, "composite_attributes"));
  if (!attributes)
    return refuse("composite_attributes is not a dictionary");
  for (NamedAttribute attribute : attributes) {
    if (attribute.getName() == kPrecision) {
      if (failed(checkPrecision(attribute.getValue(), refuse)))
        return failure();
    } else if (attribute.getName() != kDimensionNumbers) {
      return refuse(Twine("composite attribute '") +
                    attribute.getName().getValue() + "' is not known");
    }
  }
  return readDimensionNumbers(attributes.get(kDimensionNumbers), refuse);
}

/// Checks that `type` is a tensor of `rank` dimensions without an encoding.
static LogicalResult checkTensor(Type type, int64_t rank, const Twine &what,
                                 Refuse refuse) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() != rank)
    return refuse(what + " is not a tensor of rank " + Twine(rank));
  if (tensor.getEncoding())
    return refuse(what + " has an encoding");
  return success();
}

static LogicalResult checkElementTypes(Operation *composite, Refuse refuse) {
  Type lhs = getElementTypeOrSelf(composite->getOperand(0));
  Type rhs = getElementTypeOrSelf(composite->getOperand(1));
  Type sizes = getElementTypeOrSelf(composite->getOperand(2));
  Type result = getElementTypeOrSelf(composite->getResult(0));
  if (lhs != rhs)
    return refuse("the element types of lhs and rhs differ");
  if (!lhs.isF16() && !lhs.isBF16() && !lhs.isF32())
    return refuse("the element type of lhs and rhs is not f16, bf16 or f32");
  if (result != lhs && !result.isF32())
    return refuse("the element type of the result is neither that of the "
                  "operands nor f32");
  if (!sizes.isSignlessInteger(32) && !sizes.isSignlessInteger(64))
    return refuse("the element type of group_sizes is not i32 or i64");
  return success();
}

/// Whether `op`, of a dialect that is not registered, stands where a terminator
/// must: it may be one, for all that MLIR knows.
static bool standsForTerminator(Operation *op) {
  Block *block = op->getBlock();
  return block && op == &block->back() && block->getParentOp() &&
         !block->getParentOp()->mightHaveTrait<OpTrait::NoTerminator>();
}

/// Checks the operands and the result of `composite`, up to their sizes.
static LogicalResult checkTypes(Operation *composite, Refuse refuse) {
  if (composite->getNumOperands() != 3)
    return refuse(Twine("it has ") + Twine(composite->getNumOperands()) +
                  " operands; lhs, rhs and group_sizes are expected");
  if (composite->getNumResults() != 1)
    return refuse(Twine("it has ") + Twine(composite->getNumResults()) +
                  " results; one is expected");
  if (composite->getNumRegions() != 0 || composite->getNumSuccessors() != 0)
    return refuse("it has regions or successors");
  if (standsForTerminator(composite))
    return refuse("it stands where its block must have a terminator");
  if (failed(
          checkTensor(composite->getOperand(0).getType(), 2, "lhs", refuse)) ||
      failed(
          checkTensor(composite->getOperand(1).getType(), 3, "rhs", refuse)) ||
      failed(checkTensor(composite->getOperand(2).getType(), 1, "group_sizes",
                         refuse)) ||
      failed(checkTensor(composite->getResult(0).getType(), 2, "the result",
                         refuse)))
    return failure();
  return checkElementTypes(composite, refuse);
}

/// Checks that sizes which must agree do, as far as they are static.
static LogicalResult checkSizes(Operation *composite, WeightLayout layout,
                                Refuse refuse) {
  auto lhs = cast<ShapedType>(composite->getOperand(0).getType());
  auto rhs = cast<ShapedType>(composite->getOperand(1).getType());
  auto sizes = cast<ShapedType>(composite->getOperand(2).getType());
  auto result = cast<ShapedType>(composite->getResult(0).getType());
  bool nk = layout == WeightLayout::NK;
  auto differ = [](int64_t a, int64_t b) {
    return ShapedType::isStatic(a) && ShapedType::isStatic(b) && a != b;
  };
  if (differ(lhs.getDimSize(1), rhs.getDimSize(nk ? 2 : 1)))
    return refuse("the contracting sizes of lhs and rhs differ");
  if (differ(sizes.getDimSize(0), rhs.getDimSize(0)))
    return refuse("group_sizes does not have one entry for each group of rhs");
  if (differ(result.getDimSize(0), lhs.getDimSize(0)) ||
      differ(result.getDimSize(1), rhs.getDimSize(nk ? 1 : 2)))
    return refuse("the result does not have the rows of lhs and the columns of "
                  "rhs");
  return success();
}

//===----------------------------------------------------------------------===//
// Raising
//===----------------------------------------------------------------------===//

/// The name of the function that holds `op`, for remarks; empty if none does.
static StringRef getFunctionName(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function ? function.getName() : StringRef();
}

static remark::RemarkOpts remarkOptions(Operation *op, StringRef name) {
  return remark::RemarkOpts::name(name)
      .category(DEBUG_TYPE)
      .function(getFunctionName(op));
}

/// Makes the destination of the raised op: `type`, filled with zeros.
static Value createZeros(OpBuilder &builder, Location loc,
                         RankedTensorType type, Value lhs, Value rhs,
                         WeightLayout layout) {
  SmallVector<Value, 2> dynamicSizes;
  if (type.isDynamicDim(0))
    dynamicSizes.push_back(tensor::DimOp::create(builder, loc, lhs, 0));
  if (type.isDynamicDim(1))
    dynamicSizes.push_back(tensor::DimOp::create(
        builder, loc, rhs, layout == WeightLayout::NK ? 1 : 2));
  Value empty = tensor::EmptyOp::create(builder, loc, type, dynamicSizes);
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  return linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
}

static GroupedMatmulOp createGroupedMatmul(RewriterBase &rewriter,
                                           Operation *composite,
                                           WeightLayout layout) {
  Location loc = composite->getLoc();
  Value lhs = composite->getOperand(0), rhs = composite->getOperand(1);
  auto type = cast<RankedTensorType>(composite->getResult(0).getType());
  Value init = createZeros(rewriter, loc, type, lhs, rhs, layout);
  return GroupedMatmulOp::create(
      rewriter, loc, TypeRange(type), lhs, rhs, composite->getOperand(2),
      /*bias=*/Value(), /*gather=*/Value(), /*scale=*/Value(),
      /*scatter=*/Value(), init, layout, GroupKind::Sizes,
      /*epilogue=*/EpilogueAttr(), /*expected_tokens=*/DenseI64ArrayAttr(),
      /*schedule=*/ScheduleAttr());
}

FailureOr<GroupedMatmulOp> mlir::moe::raiseRaggedDot(RewriterBase &rewriter,
                                                     Operation *composite) {
  if (!isRaggedDot(composite))
    return rewriter.notifyMatchFailure(composite, "not a ragged_dot");
  auto refuse = [&](const Twine &reason) -> LogicalResult {
    remark::missed(composite->getLoc(),
                   remarkOptions(composite, "left-ragged-dot"))
        << ("ragged_dot left as it is: " + reason).str();
    return rewriter.notifyMatchFailure(composite, reason);
  };
  if (failed(checkTypes(composite, refuse)))
    return failure();
  FailureOr<WeightLayout> layout = readAttributes(composite, refuse);
  if (failed(layout) || failed(checkSizes(composite, *layout, refuse)))
    return failure();

  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(composite);
  GroupedMatmulOp raised = createGroupedMatmul(rewriter, composite, *layout);
  remark::passed(composite->getLoc(),
                 remarkOptions(composite, "raised-ragged-dot"))
      << ("ragged_dot raised to moe.grouped_matmul with " +
          stringifyWeightLayout(*layout) + " weights")
             .str();
  rewriter.replaceOp(composite, raised);
  return raised;
}

namespace {
struct RaiseRaggedDot : public RewritePattern {
  RaiseRaggedDot(MLIRContext *context)
      : RewritePattern(kCompositeOp, /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    return raiseRaggedDot(rewriter, op);
  }
};
} // namespace

void mlir::moe::populateRaggedDotToMoEPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseRaggedDot>(patterns.getContext());
}

//===----------------------------------------------------------------------===//
// Erasing decomposition functions
//===----------------------------------------------------------------------===//

namespace {
/// Erases functions that nothing refers to. `SymbolTable::getSymbolUses` does
/// not serve here: it misses symbols in the properties of unregistered ops, and
/// gives up at unregistered ops with a region. A reference is counted by the
/// names in it, wherever it may resolve: a function is kept too often rather
/// than too rarely.
class UnusedFunctionEraser {
public:
  explicit UnusedFunctionEraser(ModuleOp root) { count(root, uses); }

  /// Erases `functions` as far as they are private and unused, and what only
  /// those used. Returns how many functions were erased.
  unsigned erase(ArrayRef<Operation *> functions);

private:
  using UseCounts = llvm::DenseMap<StringAttr, int64_t>;

  /// Adds to `counts` how often a symbol is named in `root`.
  static void count(Operation *root, UseCounts &counts);

  UseCounts uses;
  SymbolTableCollection tables;
};
} // namespace

void UnusedFunctionEraser::count(Operation *root, UseCounts &counts) {
  auto countIn = [&](Attribute attribute) {
    // The walk comes to nested references by itself.
    if (attribute)
      attribute.walk(
          [&](SymbolRefAttr symbol) { ++counts[symbol.getRootReference()]; });
  };
  root->walk([&](Operation *op) {
    countIn(op->getDiscardableAttrDictionary());
    countIn(op->getPropertiesAsAttribute());
  });
}

unsigned UnusedFunctionEraser::erase(ArrayRef<Operation *> functions) {
  unsigned erased = 0;
  llvm::SetVector<Operation *> worklist(functions.begin(), functions.end());
  while (!worklist.empty()) {
    Operation *function = worklist.pop_back_val();
    Operation *parent = function->getParentOp();
    StringAttr name = SymbolTable::getSymbolName(function);
    UseCounts own;
    count(function, own);
    if (SymbolTable::getSymbolVisibility(function) !=
            SymbolTable::Visibility::Private ||
        uses.lookup(name) > own.lookup(name))
      continue;
    // A function may hold a module with candidates of its own.
    worklist.remove_if(
        [&](Operation *other) { return function->isAncestor(other); });
    SymbolTable &table = tables.getSymbolTable(parent);
    table.erase(function);
    ++erased;
    for (auto [symbol, times] : own) {
      uses[symbol] -= times;
      auto callee = table.lookup<FunctionOpInterface>(symbol);
      if (callee)
        worklist.insert(callee);
    }
  }
  return erased;
}

/// The function that the composite `op` names as its decomposition, or null.
/// Symbol tables are looked for in all ancestors: an unregistered op between
/// ends upstream's search.
static Operation *getDecomposition(Operation *op,
                                   SymbolTableCollection &tables) {
  auto symbol =
      dyn_cast_or_null<FlatSymbolRefAttr>(getAnyAttr(op, "decomposition"));
  if (!symbol)
    return nullptr;
  while ((op = op->getParentOp())) {
    if (!op->hasTrait<OpTrait::SymbolTable>())
      continue;
    if (Operation *function = tables.lookupSymbolIn(op, symbol.getAttr()))
      return isa<FunctionOpInterface>(function) ? function : nullptr;
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct MoERaiseRaggedDot
    : public moe::impl::MoERaiseRaggedDotBase<MoERaiseRaggedDot> {
  using MoERaiseRaggedDotBase::MoERaiseRaggedDotBase;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateRaggedDotToMoEPatterns(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override;

private:
  FrozenRewritePatternSet patterns;
};
} // namespace

void MoERaiseRaggedDot::runOnOperation() {
  ModuleOp module = getOperation();
  SymbolTableCollection tables;
  llvm::SetVector<Operation *> decompositions;
  int64_t found = 0, left = 0;
  module.walk([&](Operation *op) {
    if (!isRaggedDot(op))
      return;
    ++found;
    if (Operation *function = getDecomposition(op, tables))
      decompositions.insert(function);
  });
  if (found == 0)
    return markAllAnalysesPreserved();

  walkAndApplyPatterns(module, patterns);
  module.walk([&](Operation *op) { left += isRaggedDot(op); });
  numRaised += found - left;
  numLeft += left;
  if (found != left)
    numErased +=
        UnusedFunctionEraser(module).erase(decompositions.getArrayRef());
}
