//===- Npy.cpp - NumPy array files ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// xtensor reads and writes the files; it reports errors by exceptions, so this
// file alone is built with them, and none leaves it.
//
//===----------------------------------------------------------------------===//

#include "moe/Execution/Npy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

#include <fstream>
#include <limits>
#include <xtensor/xadapt.hpp>
#include <xtensor/xnpy.hpp>

using namespace mlir;
using namespace mlir::moe;

static llvm::Error fileError(StringRef path, const llvm::Twine &message) {
  return llvm::createStringError("'" + path + "': " + message);
}

static llvm::Expected<xt::detail::npy_file> loadFile(StringRef path) {
  std::ifstream stream(path.str(), std::ifstream::binary);
  if (!stream)
    return fileError(path, "cannot open the file");
  try {
    xt::detail::npy_file file = xt::detail::load_npy_file(stream);
    if (!stream)
      return fileError(path, "the file ends before the last element");
    if (file.m_fortran_order && file.m_shape.size() > 1)
      return fileError(path, "the array is stored in Fortran order; save it "
                             "in C order (numpy.ascontiguousarray)");
    return file;
  } catch (const std::exception &error) {
    return fileError(path, error.what());
  }
}

template <typename T>
static T elementAt(const xt::detail::npy_file &file, int64_t i) {
  return llvm::support::endian::read<T, llvm::endianness::native>(
      file.m_buffer + i * sizeof(T));
}

/// Converts the elements of a float file; false if it is no float file.
static bool readFloats(const xt::detail::npy_file &file, StringRef type,
                       HostTensor &tensor) {
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
    if (type == "<f4")
      tensor.setFloat(i, elementAt<float>(file, i));
    else if (type == "<f8")
      tensor.setFloat(i, elementAt<double>(file, i));
    else if (type == "<f2")
      tensor.setFloat(i, halfBitsToFloat(elementAt<uint16_t>(file, i)));
    else
      return false;
  }
  return true;
}

static llvm::Error readIntegers(StringRef path,
                                const xt::detail::npy_file &file,
                                StringRef type, HostTensor &tensor) {
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
    int64_t value = type == "<i4" ? elementAt<int32_t>(file, i)
                                  : elementAt<int64_t>(file, i);
    if (tensor.getKind() == ElementKind::I32 && !llvm::isInt<32>(value))
      return fileError(path, "element " + llvm::Twine(i) + " is " +
                                 llvm::Twine(value) +
                                 ", which does not fit in i32");
    tensor.setInteger(i, value);
  }
  return llvm::Error::success();
}

llvm::Expected<HostTensor> mlir::moe::readNpy(StringRef path, ElementKind kind,
                                              std::optional<ElementKind> bits) {
  llvm::Expected<xt::detail::npy_file> file = loadFile(path);
  if (!file)
    return file.takeError();
  SmallVector<int64_t> shape(file->m_shape.begin(), file->m_shape.end());
  llvm::Expected<HostTensor> tensor = HostTensor::create(kind, shape);
  if (!tensor)
    return fileError(path, llvm::toString(tensor.takeError()));
  StringRef type = file->m_typestring;
  bool known =
      llvm::is_contained({"<f2", "<f4", "<f8", "<i4", "<i8", "<u2"}, type);
  size_t width = known ? type[2] - '0' : 0;
  if (known && file->n_bytes() != tensor->getNumElements() * width)
    return fileError(path, "the shape is too large");

  if (type == "<u2" &&
      (kind == ElementKind::F16 || kind == ElementKind::BF16)) {
    if (bits != kind)
      return fileError(path, "the array is u2; if it holds bit patterns of " +
                                 getName(kind) +
                                 ", say --dtype=" + getName(kind));
    std::copy_n(file->m_buffer, tensor->getNumBytes(),
                static_cast<char *>(tensor->getData()));
    return tensor;
  }
  if (isFloat(kind) && type.starts_with("<f") && known) {
    readFloats(*file, type, *tensor);
    return tensor;
  }
  if (!isFloat(kind) && (type == "<i4" || type == "<i8")) {
    if (llvm::Error error = readIntegers(path, *file, type, *tensor))
      return error;
    return tensor;
  }
  return fileError(path, "cannot use an array of type '" + type + "' as " +
                             getName(kind));
}

template <typename T>
static void dumpNpy(StringRef path, const T *data, const HostTensor &tensor) {
  std::vector<size_t> shape(tensor.getShape().begin(), tensor.getShape().end());
  auto array = xt::adapt(data, static_cast<size_t>(tensor.getNumElements()),
                         xt::no_ownership(), shape);
  xt::dump_npy(path.str(), array);
}

llvm::Error mlir::moe::writeNpy(StringRef path, const HostTensor &tensor,
                                bool asBits) {
  // xtensor does not report a file that it cannot open.
  if (!std::ofstream(path.str(), std::ofstream::binary))
    return fileError(path, "cannot write the file");
  try {
    switch (tensor.getKind()) {
    case ElementKind::F32:
      dumpNpy(path, static_cast<const float *>(tensor.getData()), tensor);
      break;
    case ElementKind::I32:
      dumpNpy(path, static_cast<const int32_t *>(tensor.getData()), tensor);
      break;
    case ElementKind::I64:
      dumpNpy(path, static_cast<const int64_t *>(tensor.getData()), tensor);
      break;
    case ElementKind::F16:
    case ElementKind::BF16: {
      if (asBits) {
        dumpNpy(path, static_cast<const uint16_t *>(tensor.getData()), tensor);
        break;
      }
      std::vector<float> values(tensor.getNumElements());
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(tensor.getFloat(i));
      dumpNpy(path, static_cast<const float *>(values.data()), tensor);
      break;
    }
    }
  } catch (const std::exception &error) {
    return fileError(path, error.what());
  }
  return llvm::Error::success();
}
