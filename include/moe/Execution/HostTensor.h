//===- HostTensor.h - a dense array in host memory --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_EXECUTION_HOSTTENSOR_H
#define MOE_EXECUTION_HOSTTENSOR_H

#include "mlir/IR/Types.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Error.h"

#include <cstdlib>
#include <memory>
#include <optional>

namespace mlir::moe {

/// Element types that programs of this project exchange with a host.
enum class ElementKind { F32, F16, BF16, I32, I64 };

/// The kind of an element type, or nothing for any other type.
std::optional<ElementKind> getElementKind(Type type);

/// Size of an element in bytes.
int64_t getByteSize(ElementKind kind);

/// MLIR's name of the element type.
StringRef getName(ElementKind kind);

inline bool isFloat(ElementKind kind) {
  return kind == ElementKind::F32 || kind == ElementKind::F16 ||
         kind == ElementKind::BF16;
}

/// f16 and bf16 as bit patterns. Rounds to nearest, ties to even.
uint16_t floatToHalfBits(float value);
uint16_t floatToBFloatBits(float value);
float halfBitsToFloat(uint16_t bits);
inline float bfloatBitsToFloat(uint16_t bits) {
  return llvm::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// A dense row-major array that owns its memory.
class HostTensor {
public:
  /// A tensor of zeros. Fails if a dimension is negative or memory is short.
  static llvm::Expected<HostTensor> create(ElementKind kind,
                                           ArrayRef<int64_t> shape);

  ElementKind getKind() const { return kind; }
  ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getNumElements() const { return numElements; }
  int64_t getNumBytes() const { return numElements * getByteSize(kind); }
  void *getData() { return data.get(); }
  const void *getData() const { return data.get(); }

  /// Element `i` in row-major order of a float or integer tensor.
  double getFloat(int64_t i) const;
  int64_t getInteger(int64_t i) const;
  /// Stores `value`, rounded to the element type.
  void setFloat(int64_t i, double value);
  void setInteger(int64_t i, int64_t value);

private:
  struct Free {
    void operator()(void *memory) const { std::free(memory); }
  };

  HostTensor(ElementKind kind, ArrayRef<int64_t> shape, int64_t numElements,
             void *data)
      : kind(kind), shape(shape), numElements(numElements), data(data) {}

  template <typename T> T *as() { return static_cast<T *>(data.get()); }
  template <typename T> const T *as() const {
    return static_cast<const T *>(data.get());
  }

  ElementKind kind;
  SmallVector<int64_t> shape;
  int64_t numElements;
  std::unique_ptr<void, Free> data;
};

} // namespace mlir::moe

#endif // MOE_EXECUTION_HOSTTENSOR_H
