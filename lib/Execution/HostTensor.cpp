//===- HostTensor.cpp - a dense array in host memory ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Execution/HostTensor.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <cstdlib>

using namespace mlir;
using namespace mlir::moe;

std::optional<ElementKind> mlir::moe::getElementKind(Type type) {
  if (type.isF32())
    return ElementKind::F32;
  if (type.isF16())
    return ElementKind::F16;
  if (type.isBF16())
    return ElementKind::BF16;
  if (type.isSignlessInteger(32))
    return ElementKind::I32;
  if (type.isSignlessInteger(64))
    return ElementKind::I64;
  return std::nullopt;
}

int64_t mlir::moe::getByteSize(ElementKind kind) {
  switch (kind) {
  case ElementKind::F16:
  case ElementKind::BF16:
    return 2;
  case ElementKind::F32:
  case ElementKind::I32:
    return 4;
  case ElementKind::I64:
    return 8;
  }
  llvm_unreachable("unknown element kind");
}

StringRef mlir::moe::getName(ElementKind kind) {
  switch (kind) {
  case ElementKind::F32:
    return "f32";
  case ElementKind::F16:
    return "f16";
  case ElementKind::BF16:
    return "bf16";
  case ElementKind::I32:
    return "i32";
  case ElementKind::I64:
    return "i64";
  }
  llvm_unreachable("unknown element kind");
}

static uint16_t roundTo(const llvm::fltSemantics &semantics, float value) {
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue());
}

uint16_t mlir::moe::floatToHalfBits(float value) {
  return roundTo(llvm::APFloat::IEEEhalf(), value);
}

uint16_t mlir::moe::floatToBFloatBits(float value) {
  // APFloat would take minutes for the weights of a large layer.
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40); // NaN stays NaN.
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float mlir::moe::halfBitsToFloat(uint16_t bits) {
  // All 65536 values, for the same reason.
  static const auto table = [] {
    auto values = std::make_unique<std::array<float, 65536>>();
    for (uint32_t i = 0; i < 65536; ++i)
      (*values)[i] =
          llvm::APFloat(llvm::APFloat::IEEEhalf(), llvm::APInt(16, i))
              .convertToFloat();
    return values;
  }();
  return (*table)[bits];
}

llvm::Expected<HostTensor> HostTensor::create(ElementKind kind,
                                              ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  bool overflow = false;
  for (int64_t size : shape) {
    if (size < 0)
      return llvm::createStringError("a tensor dimension is negative");
    overflow |= llvm::MulOverflow(elements, size, elements);
  }
  int64_t bytes;
  overflow |= llvm::MulOverflow(elements, getByteSize(kind), bytes);
  // calloc leaves large arrays to the kernel's zero pages.
  void *data = overflow ? nullptr : std::calloc(std::max<int64_t>(bytes, 1), 1);
  if (!data) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::interleave(shape, stream, "x");
    return llvm::createStringError("no memory for a tensor of shape " + text +
                                   " and type " + getName(kind));
  }
  return HostTensor(kind, shape, elements, data);
}

double HostTensor::getFloat(int64_t i) const {
  switch (kind) {
  case ElementKind::F32:
    return as<float>()[i];
  case ElementKind::F16:
    return halfBitsToFloat(as<uint16_t>()[i]);
  case ElementKind::BF16:
    return bfloatBitsToFloat(as<uint16_t>()[i]);
  case ElementKind::I32:
  case ElementKind::I64:
    return static_cast<double>(getInteger(i));
  }
  llvm_unreachable("unknown element kind");
}

int64_t HostTensor::getInteger(int64_t i) const {
  assert(!isFloat(kind) && "not an integer tensor");
  return kind == ElementKind::I32 ? as<int32_t>()[i] : as<int64_t>()[i];
}

void HostTensor::setFloat(int64_t i, double value) {
  auto number = static_cast<float>(value);
  switch (kind) {
  case ElementKind::F32:
    as<float>()[i] = number;
    return;
  case ElementKind::F16:
    as<uint16_t>()[i] = floatToHalfBits(number);
    return;
  case ElementKind::BF16:
    as<uint16_t>()[i] = floatToBFloatBits(number);
    return;
  case ElementKind::I32:
  case ElementKind::I64:
    llvm_unreachable("not a float tensor");
  }
}

void HostTensor::setInteger(int64_t i, int64_t value) {
  assert(!isFloat(kind) && "not an integer tensor");
  if (kind == ElementKind::I32)
    as<int32_t>()[i] = static_cast<int32_t>(value);
  else
    as<int64_t>()[i] = value;
}
