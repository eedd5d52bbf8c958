//===- Npy.cpp - NumPy array files ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format: "\x93NUMPY", a major and a minor version, the size of the header
// (2 bytes in version 1, else 4), the header, and the elements. The header is a
// Python dictionary with the keys descr, fortran_order and shape.
//
//===----------------------------------------------------------------------===//

#include "moe/Execution/Npy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::moe;

using llvm::support::endian::read;

static constexpr StringLiteral magic("\x93NUMPY");

static llvm::Error fileError(StringRef path, const llvm::Twine &message) {
  return llvm::createStringError("'" + path + "': " + message);
}

//===----------------------------------------------------------------------===//
// Header
//===----------------------------------------------------------------------===//

namespace {
struct Header {
  /// NumPy's name of the element type, e.g. `<f4`.
  StringRef type;
  bool fortranOrder = false;
  SmallVector<int64_t> shape;
};

/// Reads the dictionary of a header. Each function takes what it reads off the
/// text, and returns false if that does not start so.
class HeaderParser {
public:
  explicit HeaderParser(StringRef text) : text(text) {}
  bool parse(Header &header);

private:
  bool consume(StringRef token) {
    text = text.ltrim();
    return text.consume_front(token);
  }
  bool parseString(StringRef &string);
  bool parseBool(bool &value);
  bool parseShape(SmallVector<int64_t> &shape);

  StringRef text;
};
} // namespace

bool HeaderParser::parseString(StringRef &string) {
  text = text.ltrim();
  if (!text.starts_with("'") && !text.starts_with("\""))
    return false;
  size_t end = text.find(text.front(), 1);
  if (end == StringRef::npos)
    return false;
  string = text.slice(1, end);
  text = text.drop_front(end + 1);
  return true;
}

bool HeaderParser::parseBool(bool &value) {
  value = consume("True");
  return value || consume("False");
}

bool HeaderParser::parseShape(SmallVector<int64_t> &shape) {
  if (!consume("("))
    return false;
  while (!consume(")")) {
    int64_t size;
    text = text.ltrim();
    if (text.consumeInteger(10, size) || size < 0)
      return false;
    shape.push_back(size);
    if (!consume(",") && !text.ltrim().starts_with(")"))
      return false;
  }
  return true;
}

bool HeaderParser::parse(Header &header) {
  bool hasType = false, hasOrder = false, hasShape = false;
  if (!consume("{"))
    return false;
  while (!consume("}")) {
    StringRef key;
    if (!parseString(key) || !consume(":"))
      return false;
    bool *has = key == "descr"           ? &hasType
                : key == "fortran_order" ? &hasOrder
                : key == "shape"         ? &hasShape
                                         : nullptr;
    if (!has || *has)
      return false;
    *has = true;
    if (has == &hasType    ? !parseString(header.type)
        : has == &hasOrder ? !parseBool(header.fortranOrder)
                           : !parseShape(header.shape))
      return false;
    if (!consume(",") && !text.ltrim().starts_with("}"))
      return false;
  }
  return hasType && hasOrder && hasShape && text.trim().empty();
}

/// Splits a file into its header, which refers to `content`, and its elements.
static llvm::Error parseFile(StringRef path, StringRef content, Header &header,
                             StringRef &elements) {
  StringRef rest = content;
  if (!rest.consume_front(magic) || rest.size() < 2)
    return fileError(path, "the file is not a .npy file");
  unsigned version = static_cast<unsigned char>(rest.front());
  rest = rest.drop_front(2);
  if (version < 1 || version > 3)
    return fileError(path, "the file has version " + llvm::Twine(version) +
                               " of the format; versions 1 to 3 are known");
  size_t sizeBytes = version == 1 ? 2 : 4;
  if (rest.size() < sizeBytes)
    return fileError(path, "the file ends before its header does");
  size_t size = version == 1
                    ? read<uint16_t, llvm::endianness::little>(rest.data())
                    : read<uint32_t, llvm::endianness::little>(rest.data());
  rest = rest.drop_front(sizeBytes);
  if (rest.size() < size)
    return fileError(path, "the file ends before its header does");
  elements = rest.drop_front(size);
  if (!HeaderParser(rest.take_front(size)).parse(header))
    return fileError(path, "the header is not that of an array of numbers; "
                           "write the file with numpy.save");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

template <typename T> static T elementAt(StringRef elements, int64_t i) {
  return read<T, llvm::endianness::little>(elements.data() + i * sizeof(T));
}

static float halfAt(StringRef elements, int64_t i) {
  return halfBitsToFloat(elementAt<uint16_t>(elements, i));
}

/// Reads the elements of a float file.
static void readFloats(StringRef type, StringRef elements, HostTensor &tensor) {
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i)
    tensor.setFloat(i, type == "<f2"   ? halfAt(elements, i)
                       : type == "<f4" ? elementAt<float>(elements, i)
                                       : elementAt<double>(elements, i));
}

static llvm::Error readIntegers(StringRef path, StringRef type,
                                StringRef elements, HostTensor &tensor) {
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
    int64_t value = type == "<i4" ? elementAt<int32_t>(elements, i)
                                  : elementAt<int64_t>(elements, i);
    if (tensor.getKind() == ElementKind::I32 && !llvm::isInt<32>(value))
      return fileError(path, "element " + llvm::Twine(i) + " is " +
                                 llvm::Twine(value) +
                                 ", which does not fit in i32");
    tensor.setInteger(i, value);
  }
  return llvm::Error::success();
}

/// Checks that elements of `type` can become those of `kind`.
static llvm::Error checkType(StringRef path, StringRef type, ElementKind kind,
                             std::optional<ElementKind> bits) {
  bool small = kind == ElementKind::F16 || kind == ElementKind::BF16;
  if (type == "<u2" && small) {
    if (bits == kind)
      return llvm::Error::success();
    return fileError(path, "the array is u2; if it holds bit patterns of " +
                               getName(kind) +
                               ", say --dtype=" + getName(kind));
  }
  bool usable = isFloat(kind) ? llvm::is_contained({"<f2", "<f4", "<f8"}, type)
                              : llvm::is_contained({"<i4", "<i8"}, type);
  if (usable)
    return llvm::Error::success();
  return fileError(path,
                   "cannot use an array of type '" + type + "' as " +
                       getName(kind) + "; save it as " +
                       (isFloat(kind) ? "<f2, <f4 or <f8" : "<i4 or <i8"));
}

llvm::Expected<HostTensor> mlir::moe::readNpy(StringRef path, ElementKind kind,
                                              std::optional<ElementKind> bits) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return fileError(path,
                     "cannot open the file: " + file.getError().message());
  Header header;
  StringRef elements;
  if (llvm::Error error =
          parseFile(path, (*file)->getBuffer(), header, elements))
    return error;
  if (llvm::Error error = checkType(path, header.type, kind, bits))
    return error;
  if (header.fortranOrder && header.shape.size() > 1)
    return fileError(path, "the array is stored in Fortran order; save it in C "
                           "order (numpy.ascontiguousarray)");

  // Before there is memory for them.
  int64_t bytes = header.type.back() - '0';
  bool overflow = false;
  for (int64_t size : header.shape)
    overflow |= llvm::MulOverflow(bytes, size, bytes);
  if (overflow || bytes > static_cast<int64_t>(elements.size()))
    return fileError(path, "the file ends before the last element");
  llvm::Expected<HostTensor> tensor = HostTensor::create(kind, header.shape);
  if (!tensor)
    return fileError(path, llvm::toString(tensor.takeError()));
  if (header.type == "<u2")
    std::copy_n(elements.data(), bytes, static_cast<char *>(tensor->getData()));
  else if (isFloat(kind))
    readFloats(header.type, elements, *tensor);
  else if (llvm::Error error =
               readIntegers(path, header.type, elements, *tensor))
    return error;
  return tensor;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static StringRef getFileType(ElementKind kind, bool asBits) {
  switch (kind) {
  case ElementKind::F32:
    return "<f4";
  case ElementKind::I32:
    return "<i4";
  case ElementKind::I64:
    return "<i8";
  case ElementKind::F16:
  case ElementKind::BF16:
    return asBits ? "<u2" : "<f4";
  }
  llvm_unreachable("unknown element kind");
}

llvm::Error mlir::moe::writeNpy(StringRef path, const HostTensor &tensor,
                                bool asBits) {
  ElementKind kind = tensor.getKind();
  std::string header;
  llvm::raw_string_ostream text(header);
  text << "{'descr': '" << getFileType(kind, asBits)
       << "', 'fortran_order': False, 'shape': (";
  for (int64_t size : tensor.getShape())
    text << size << ", ";
  text << "), }";
  // Elements start at a multiple of 64 bytes, behind a line break.
  size_t prefix = magic.size() + 4;
  header.resize(llvm::alignTo(prefix + header.size() + 1, 64) - prefix - 1,
                ' ');
  header += '\n';

  int descriptor;
  if (std::error_code failure =
          llvm::sys::fs::openFileForWrite(path, descriptor))
    return fileError(path, "cannot write the file: " + failure.message());
  llvm::raw_fd_ostream file(descriptor, /*shouldClose=*/true);
  file << magic << '\1' << '\0' << static_cast<char>(header.size() & 0xff)
       << static_cast<char>(header.size() >> 8) << header;
  bool widen =
      !asBits && (kind == ElementKind::F16 || kind == ElementKind::BF16);
  if (!widen)
    file.write(static_cast<const char *>(tensor.getData()),
               tensor.getNumBytes());
  for (int64_t i = 0, e = widen ? tensor.getNumElements() : 0; i < e; ++i) {
    auto value = static_cast<float>(tensor.getFloat(i));
    file.write(reinterpret_cast<const char *>(&value), sizeof(value));
  }
  file.close();
  if (!file.has_error())
    return llvm::Error::success();
  std::error_code failure = file.error();
  file.clear_error();
  return fileError(path, "cannot write the file: " + failure.message());
}
