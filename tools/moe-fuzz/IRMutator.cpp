//===- IRMutator.cpp - changes to parsed IR and to bytecode ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IRMutator.h"

#include "TextMutator.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::moe::fuzz;

//===----------------------------------------------------------------------===//
// IR
//===----------------------------------------------------------------------===//

namespace {
class IRMutator {
public:
  IRMutator(ModuleOp module, Random &random) : module(module), random(random) {}

  void mutateOnce();

private:
  /// The ops, values and types of the module as it is now.
  void collect();

  void dropAttribute();
  void changeAttribute();
  void copyAttribute();
  void changeType();
  void changeOperand();
  void dropOperand();
  void eraseOp();
  void cloneOp();
  void moveOp();

  Attribute mutateAttribute(Attribute attribute);
  Type mutateType(Type type);
  SmallVector<int64_t> mutateShape(ArrayRef<int64_t> shape);
  int64_t pickInteger();

  ModuleOp module;
  Random &random;
  /// Without the module itself.
  SmallVector<Operation *> ops;
  SmallVector<Value> values;
};
} // namespace

void IRMutator::collect() {
  ops.clear();
  values.clear();
  module.walk([&](Operation *op) {
    if (op != module)
      ops.push_back(op);
    llvm::append_range(values, op->getResults());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::append_range(values, block.getArguments());
  });
}

int64_t IRMutator::pickInteger() {
  int64_t value;
  return pickNumber(random).getAsInteger(0, value) ? 1 : value;
}

SmallVector<int64_t> IRMutator::mutateShape(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> result(shape);
  if (result.empty() || random.oneIn(6)) {
    result.insert(result.begin(), 8);
    return result;
  }
  size_t at = random.below(result.size());
  switch (random.below(4)) {
  case 0:
    result.erase(result.begin() + at);
    break;
  case 1:
    result[at] = ShapedType::kDynamic;
    break;
  case 2:
    std::swap(result[at], random.pick(result));
    break;
  default:
    // A negative size would trip an assertion of a type's constructor, which no
    // input can do.
    result[at] = std::max<int64_t>(pickInteger(), 0);
  }
  return result;
}

/// Whether tensors and vectors can have this element type.
static bool isElement(Type type) { return type.isIntOrIndexOrFloat(); }

Type IRMutator::mutateType(Type type) {
  Builder builder(type.getContext());
  Type elements[] = {builder.getF32Type(),   builder.getF16Type(),
                     builder.getBF16Type(),  builder.getF64Type(),
                     builder.getI32Type(),   builder.getI64Type(),
                     builder.getIndexType(), builder.getIntegerType(1)};
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped)
    return isElement(type) && !random.oneIn(4)
               ? random.pick(elements)
               : RankedTensorType::get({8, 64}, random.pick(elements));
  Type element = shaped.getElementType();
  if (!shaped.hasRank() || !isElement(element) || isa<VectorType>(shaped))
    return random.pick(elements);
  switch (random.below(4)) {
  case 0:
    return RankedTensorType::get(shaped.getShape(), element);
  case 1:
    return MemRefType::get(shaped.getShape(), element);
  case 2:
    return shaped.clone(random.pick(elements));
  default:
    // A layout belongs to a rank.
    if (isa<MemRefType>(shaped))
      return MemRefType::get(mutateShape(shaped.getShape()), element);
    return RankedTensorType::get(mutateShape(shaped.getShape()), element);
  }
}

Attribute IRMutator::mutateAttribute(Attribute attribute) {
  Builder builder(attribute.getContext());
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    if (integer.getType().isIntOrIndex() &&
        integer.getValue().getBitWidth() == 64)
      return builder.getIntegerAttr(integer.getType(), pickInteger());
  if (auto array = dyn_cast<DenseI64ArrayAttr>(attribute)) {
    SmallVector<int64_t> elements(array.asArrayRef());
    if (elements.empty() || random.oneIn(3))
      elements.push_back(pickInteger());
    else
      random.pick(elements) = pickInteger();
    return builder.getDenseI64ArrayAttr(elements);
  }
  if (auto array = dyn_cast<DenseI32ArrayAttr>(attribute)) {
    SmallVector<int32_t> elements(array.asArrayRef());
    if (elements.empty() || random.oneIn(3))
      elements.push_back(pickInteger());
    else
      random.pick(elements) = random.oneIn(2) ? pickInteger() : random.below(3);
    return builder.getDenseI32ArrayAttr(elements);
  }
  if (auto array = dyn_cast<ArrayAttr>(attribute)) {
    SmallVector<Attribute> elements(array.getValue());
    if (elements.empty() || random.oneIn(3))
      elements.push_back(builder.getUnitAttr());
    else
      elements.erase(elements.begin() + random.below(elements.size()));
    return builder.getArrayAttr(elements);
  }
  if (auto type = dyn_cast<TypeAttr>(attribute))
    return TypeAttr::get(mutateType(type.getValue()));
  Attribute others[] = {builder.getUnitAttr(),
                        builder.getI64IntegerAttr(1),
                        builder.getStringAttr("text"),
                        builder.getF32FloatAttr(0.5),
                        builder.getDenseI64ArrayAttr({}),
                        builder.getDictionaryAttr({})};
  return random.pick(others);
}

/// The attributes of `op`, inherent ones included.
static SmallVector<NamedAttribute> getAttributes(Operation *op) {
  return SmallVector<NamedAttribute>(op->getAttrDictionary().getValue());
}

void IRMutator::dropAttribute() {
  Operation *op = random.pick(ops);
  SmallVector<NamedAttribute> attributes = getAttributes(op);
  if (!attributes.empty())
    op->removeAttr(random.pick(attributes).getName());
}

void IRMutator::changeAttribute() {
  Operation *op = random.pick(ops);
  SmallVector<NamedAttribute> attributes = getAttributes(op);
  if (attributes.empty())
    return;
  NamedAttribute chosen = random.pick(attributes);
  op->setAttr(chosen.getName(), mutateAttribute(chosen.getValue()));
}

void IRMutator::copyAttribute() {
  SmallVector<NamedAttribute> from = getAttributes(random.pick(ops));
  Operation *op = random.pick(ops);
  SmallVector<NamedAttribute> to = getAttributes(op);
  if (from.empty())
    return;
  NamedAttribute chosen = random.pick(from);
  StringAttr name = chosen.getName();
  if (!to.empty() && random.oneIn(2))
    name = random.pick(to).getName();
  op->setAttr(name, chosen.getValue());
}

void IRMutator::changeType() {
  if (values.empty())
    return;
  Value value = random.pick(values);
  Type from = value.getType(), to = mutateType(from);
  if (random.oneIn(3)) {
    value.setType(to);
  } else {
    // Everywhere, so that what agreed before still does.
    for (Value other : values)
      if (other.getType() == from)
        other.setType(to);
  }
  // Let functions be of the types of their arguments.
  for (Operation *op : ops) {
    auto function = dyn_cast<FunctionOpInterface>(op);
    auto type = function ? dyn_cast<FunctionType>(function.getFunctionType())
                         : FunctionType();
    if (!type || function.isExternal())
      continue;
    SmallVector<Type> results(type.getResults());
    std::replace(results.begin(), results.end(), from, to);
    Block &entry = function.getFunctionBody().front();
    function.setType(
        FunctionType::get(op->getContext(), entry.getArgumentTypes(), results));
  }
}

void IRMutator::changeOperand() {
  Operation *op = random.pick(ops);
  if (op->getNumOperands() == 0)
    return;
  OpOperand &operand = op->getOpOperand(random.below(op->getNumOperands()));
  if (random.oneIn(2)) {
    OpOperand &other = op->getOpOperand(random.below(op->getNumOperands()));
    Value value = operand.get();
    operand.set(other.get());
    other.set(value);
  } else {
    operand.set(random.pick(values));
  }
}

void IRMutator::dropOperand() {
  Operation *op = random.pick(ops);
  if (op->getNumOperands() == 0)
    return;
  size_t at = random.below(op->getNumOperands());
  if (random.oneIn(2))
    op->eraseOperand(at);
  else
    op->insertOperands(at, random.pick(values));
}

void IRMutator::eraseOp() {
  Operation *op = random.pick(ops);
  // Values cannot be used without being defined.
  for (Value result : op->getResults()) {
    Value other = random.pick(values);
    if (other == result)
      return;
    result.replaceAllUsesWith(other);
  }
  bool used = false;
  op->walk([&](Operation *inner) {
    for (Value result : inner->getResults())
      used |= !result.use_empty();
  });
  if (!used)
    op->erase();
}

void IRMutator::cloneOp() {
  Operation *op = random.pick(ops);
  op->getBlock()->getOperations().insertAfter(op->getIterator(), op->clone());
}

void IRMutator::moveOp() {
  Operation *op = random.pick(ops), *other = random.pick(ops);
  if (!op->isAncestor(other))
    op->moveBefore(other);
}

void IRMutator::mutateOnce() {
  using Mutation = void (IRMutator::*)();
  static const Mutation mutations[] = {
      &IRMutator::dropAttribute,   &IRMutator::changeAttribute,
      &IRMutator::changeAttribute, &IRMutator::copyAttribute,
      &IRMutator::changeType,      &IRMutator::changeType,
      &IRMutator::changeType,      &IRMutator::changeOperand,
      &IRMutator::dropOperand,     &IRMutator::eraseOp,
      &IRMutator::cloneOp,         &IRMutator::moveOp};
  collect();
  if (!ops.empty() && !values.empty())
    (this->*random.pick(mutations))();
}

void mlir::moe::fuzz::mutateIR(ModuleOp module, Random &random) {
  IRMutator mutator(module, random);
  do
    mutator.mutateOnce();
  while (random.oneIn(3));
}

//===----------------------------------------------------------------------===//
// Bytecode
//===----------------------------------------------------------------------===//

std::string mlir::moe::fuzz::writeBytecode(ModuleOp module) {
  std::string bytecode;
  llvm::raw_string_ostream os(bytecode);
  // It fails only for a version that it cannot write.
  (void)writeBytecodeToFile(module, os);
  return bytecode;
}

std::string mlir::moe::fuzz::mutateBytecode(std::string bytecode,
                                            Random &random) {
  // Behind the magic number stands the version, in one byte while it is small.
  constexpr size_t versionAt = 4;
  switch (random.below(5)) {
  case 0:
    bytecode.resize(random.below(bytecode.size() + 1));
    return bytecode;
  case 1:
    if (bytecode.size() > versionAt)
      bytecode[versionAt] = static_cast<char>(random.next());
    return bytecode;
  case 2: {
    size_t at = random.below(bytecode.size());
    bytecode.erase(at, 1 + random.below(8));
    return bytecode;
  }
  default:
    for (size_t i = 0, e = 1 + random.below(8); i < e; ++i)
      random.pick(bytecode) ^= 1 << random.below(8);
    return bytecode;
  }
}
