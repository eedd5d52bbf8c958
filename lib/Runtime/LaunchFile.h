//===- LaunchFile.h - The launch contract, parsed ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The launch file (docs/abi.md) as checked data, and its expressions.
//
//===----------------------------------------------------------------------===//

#ifndef MOE_LIB_RUNTIME_LAUNCHFILE_H
#define MOE_LIB_RUNTIME_LAUNCHFILE_H

#include "Error.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace moe::runtime {

/// What the project knows of an element type.
struct ElementType {
  MoEElementType id;
  /// As launch files spell it.
  const char *name;
  /// Bytes.
  int size;
  /// The driver's CUtensorMapDataType.
  int tensorMapType;
  /// Whether a tensor map can fill with NaN.
  bool isFloat;
};

/// Returns the element type of that number, or null.
const ElementType *findElementType(int id);

/// A stand-in for an extent that only a launch fixes.
constexpr int64_t kDynamic = -1;

/// An integer that a launch computes from the shapes of its buffers.
struct Expression {
  enum class Op {
    Literal,
    Dim,
    SmCount,
    Add,
    Mul,
    CeilDiv,
    FloorDiv,
    Min,
    Max
  };
  Op op = Op::Literal;
  /// The literal, or the buffer's index of a Dim.
  int64_t value = 0;
  int dim = 0;
  std::vector<Expression> operands;
};

/// An expression and its place in the file, for messages.
struct Value {
  Expression expression;
  std::string path;

  bool isLiteral() const { return expression.op == Expression::Op::Literal; }
};

/// What expressions are computed from: the extents of every buffer by index
/// (arguments, then temporaries), and the device.
struct Environment {
  std::vector<const int64_t *> dims;
  int64_t smCount = 0;
};

/// Computes `value`; throws on overflow and on division by less than one.
int64_t evaluate(const Value &value, const Environment &environment);

struct Argument {
  std::string name;
  const ElementType *elementType;
  MoEAccess access;
  /// A literal kDynamic accepts any extent.
  std::vector<Value> shape;
  /// The shape for introspection: kDynamic for all but other literals.
  std::vector<int64_t> dims;
};

struct Temporary {
  const ElementType *elementType;
  std::vector<Value> shape;
};

/// A TMA descriptor to encode; dims and box innermost first.
struct TensorMapDecl {
  const ElementType *elementType;
  std::vector<Value> dims;
  std::vector<Value> strides;
  std::vector<uint32_t> box;
  /// Values of the driver's enumerations.
  int swizzle, l2Promotion, oobFill;
};

struct Parameter {
  enum class Kind { TensorMap, Buffer, Workspace, I32, I64 };
  Kind kind;
  /// Its place in the file.
  std::string path;
  /// Of TensorMap and Buffer.
  int buffer = 0;
  /// Of TensorMap.
  TensorMapDecl map = {};
  /// Of Workspace: bytes from its start.
  int64_t offset = 0;
  /// Of I32 and I64.
  Value value = {};
};

struct Condition {
  Value value;
  std::optional<int64_t> min, max;
};

struct Launch {
  std::string path;
  std::string kernel;
  std::array<Value, 3> grid;
  std::array<uint32_t, 3> block;
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  uint32_t sharedMemory = 0;
  bool programmatic = false;
  std::vector<Condition> when;
  std::vector<Parameter> parameters;
};

/// A compute capability that kernels were compiled for.
struct Target {
  std::string name;
  int major = 0, minor = 0;
  /// sm_90a: runs on exactly that capability, not on later ones.
  bool exact = false;
};

struct LaunchFile {
  Target target;
  std::string image;
  std::string entry;
  std::vector<Argument> arguments;
  /// By result of the function: the argument that holds it after a launch.
  std::vector<int> results;
  std::vector<Temporary> temporaries;
  std::optional<Value> workspaceBytes;
  std::vector<Launch> launches;

  size_t numBuffers() const { return arguments.size() + temporaries.size(); }
};

/// Parses and checks a launch file. Throws MOE_ERROR_LAUNCH_FILE with the path
/// of the offending entry.
LaunchFile parseLaunchFile(const std::string &text);

} // namespace moe::runtime

#endif // MOE_LIB_RUNTIME_LAUNCHFILE_H
