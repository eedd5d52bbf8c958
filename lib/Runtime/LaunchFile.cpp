//===- LaunchFile.cpp - The launch contract, parsed -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LaunchFile.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

using namespace moe::runtime;
using json = nlohmann::json;

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

static const ElementType kElementTypes[] = {
    {MOE_ELEMENT_F32, "f32", 4, 7, true},
    {MOE_ELEMENT_F16, "f16", 2, 6, true},
    {MOE_ELEMENT_BF16, "bf16", 2, 9, true},
    {MOE_ELEMENT_F64, "f64", 8, 8, true},
    {MOE_ELEMENT_I8, "i8", 1, 0, false},
    {MOE_ELEMENT_I16, "i16", 2, 1, false},
    {MOE_ELEMENT_I32, "i32", 4, 3, false},
    {MOE_ELEMENT_I64, "i64", 8, 5, false},
    // TMA knows no 8-bit float; bytes are bytes, but cannot be filled with NaN.
    {MOE_ELEMENT_F8E4M3FN, "f8E4M3FN", 1, 0, false},
    {MOE_ELEMENT_F8E5M2, "f8E5M2", 1, 0, false},
};

const ElementType *moe::runtime::findElementType(int id) {
  for (const ElementType &type : kElementTypes)
    if (type.id == id)
      return &type;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

namespace {
/// Why an expression has no value; evaluate() adds where it stands.
struct EvaluationError {
  const char *reason;
};
} // namespace

static int64_t compute(const Expression &expression, const Environment &env) {
  using Op = Expression::Op;
  switch (expression.op) {
  case Op::Literal:
    return expression.value;
  case Op::Dim:
    return env.dims[expression.value][expression.dim];
  case Op::SmCount:
    return env.smCount;
  default:
    break;
  }
  int64_t a = compute(expression.operands[0], env);
  int64_t b = compute(expression.operands[1], env);
  int64_t result = 0;
  switch (expression.op) {
  case Op::Add:
    if (__builtin_add_overflow(a, b, &result))
      throw EvaluationError{"a sum overflows 64 bits"};
    return result;
  case Op::Mul:
    if (__builtin_mul_overflow(a, b, &result))
      throw EvaluationError{"a product overflows 64 bits"};
    return result;
  case Op::CeilDiv:
  case Op::FloorDiv:
    if (b <= 0)
      throw EvaluationError{"a division by a number less than one"};
    return expression.op == Op::CeilDiv ? a / b + (a % b > 0)
                                        : a / b - (a % b < 0);
  case Op::Min:
    return std::min(a, b);
  default:
    return std::max(a, b);
  }
}

int64_t moe::runtime::evaluate(const Value &value, const Environment &env) {
  try {
    return compute(value.expression, env);
  } catch (const EvaluationError &error) {
    fail(MOE_ERROR_INVALID_ARGUMENT, value.path, ": ", error.reason,
         " for these shapes");
  }
}

//===----------------------------------------------------------------------===//
// JSON with paths
//===----------------------------------------------------------------------===//

/// Nesting in a launch file, expressions included; bounds every recursion.
static constexpr int kMaxDepth = 64;

static std::string describe(const json &value) {
  if (value.is_object())
    return "an object";
  if (value.is_array())
    return cat("an array of ", value.size());
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

namespace {
/// A JSON value that knows its path, and says so when it is not as expected.
class Node {
public:
  Node(const json &value, std::string path)
      : value(&value), path(std::move(path)) {}

  template <typename... Ts> [[noreturn]] void error(const Ts &...parts) const {
    fail(MOE_ERROR_LAUNCH_FILE, path.empty() ? "top level" : path, ": ",
         parts...);
  }

  const std::string &where() const { return path; }
  bool isArray() const { return value->is_array(); }
  bool isInteger() const { return value->is_number_integer(); }

  /// Requires an object that has no key but these; keys that start with "x-"
  /// are notes and are skipped.
  const Node &object(std::initializer_list<const char *> keys) const {
    if (!value->is_object())
      error("expected an object, found ", describe(*value));
    for (const auto &entry : value->items()) {
      const std::string &key = entry.key();
      if (key.compare(0, 2, "x-") != 0 &&
          std::find(keys.begin(), keys.end(), key) == keys.end())
        error("unknown key \"", key, "\"");
    }
    return *this;
  }

  std::optional<Node> find(const char *key) const {
    auto found = value->find(key);
    if (found == value->end())
      return std::nullopt;
    return Node(*found, path.empty() ? key : path + "." + key);
  }

  Node operator[](const char *key) const {
    std::optional<Node> found = find(key);
    if (!found)
      error("key \"", key, "\" is missing");
    return *found;
  }

  std::vector<Node> elements() const {
    if (!value->is_array())
      error("expected an array, found ", describe(*value));
    std::vector<Node> nodes;
    for (size_t i = 0; i < value->size(); ++i)
      nodes.emplace_back((*value)[i], cat(path, "[", i, "]"));
    return nodes;
  }

  std::vector<Node> elements(size_t count) const {
    std::vector<Node> nodes = elements();
    if (nodes.size() != count)
      error("expected ", count, " entries, found ", nodes.size());
    return nodes;
  }

  int64_t integer(int64_t min, int64_t max) const {
    if (!value->is_number_integer())
      error("expected an integer, found ", describe(*value));
    bool tooLarge =
        value->is_number_unsigned() &&
        value->get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max());
    int64_t number = tooLarge ? 0 : value->get<int64_t>();
    if (tooLarge || number < min || number > max)
      error("expected an integer from ", min, " to ", max, ", found ",
            describe(*value));
    return number;
  }

  bool boolean() const {
    if (!value->is_boolean())
      error("expected true or false, found ", describe(*value));
    return value->get<bool>();
  }

  std::string string() const {
    if (!value->is_string() || value->get_ref<const std::string &>().empty())
      error("expected a string that is not empty, found ", describe(*value));
    return value->get<std::string>();
  }

  /// The index of a string among `choices`.
  int choice(std::initializer_list<const char *> choices) const {
    std::string text = string(), list;
    int index = 0;
    for (const char *choice : choices) {
      if (text == choice)
        return index;
      list += cat(index ? ", " : "", choice);
      ++index;
    }
    error("expected one of ", list, "; found \"", text, "\"");
  }

private:
  const json *value;
  std::string path;
};
} // namespace

/// Parses JSON text; rejects duplicate keys, which the standard leaves open,
/// and deep nesting.
static json parseJson(const std::string &text) {
  std::vector<std::set<std::string>> keys;
  auto check = [&](int depth, json::parse_event_t event, json &parsed) {
    switch (event) {
    case json::parse_event_t::object_start:
      keys.emplace_back();
      [[fallthrough]];
    case json::parse_event_t::array_start:
      if (depth > kMaxDepth)
        fail(MOE_ERROR_LAUNCH_FILE, "nested more than ", kMaxDepth, " deep");
      break;
    case json::parse_event_t::object_end:
      keys.pop_back();
      break;
    case json::parse_event_t::key:
      if (!keys.back().insert(parsed.get<std::string>()).second)
        fail(MOE_ERROR_LAUNCH_FILE, "duplicate key ", describe(parsed));
      break;
    default:
      break;
    }
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::exception &error) {
    // Drop the parser's own "[json.exception....] ".
    std::string message = error.what();
    fail(MOE_ERROR_LAUNCH_FILE, message.substr(message.find("] ") + 2));
  }
}

//===----------------------------------------------------------------------===//
// The parts of a launch file
//===----------------------------------------------------------------------===//

namespace {
/// Builds a LaunchFile, checking each part against those before it.
class LaunchFileReader {
public:
  LaunchFile read(const Node &root);

private:
  Target readTarget(const Node &node);
  const ElementType *readElementType(const Node &node);
  Argument readArgument(const Node &node);
  std::vector<int> readResults(const Node &root);
  Temporary readTemporary(const Node &node);
  Launch readLaunch(const Node &node);
  Condition readCondition(const Node &node);
  Parameter readParameter(const Node &node);
  TensorMapDecl readTensorMap(const Node &node);
  int readBuffer(const Node &node);

  /// Reads an expression over the first `ranks.size()` buffers.
  Value readValue(const Node &node) {
    return {readExpression(node), node.where()};
  }
  Expression readExpression(const Node &node);

  LaunchFile file;
  /// The ranks of the buffers that expressions may name.
  std::vector<int> ranks;
};
} // namespace

Expression LaunchFileReader::readExpression(const Node &node) {
  Expression expression;
  if (!node.isArray()) {
    if (!node.isInteger())
      node.error("expected an integer or an expression such as "
                 "[\"dim\", 0, 1]");
    expression.value = node.integer(std::numeric_limits<int64_t>::min(),
                                    std::numeric_limits<int64_t>::max());
    return expression;
  }
  std::vector<Node> parts = node.elements();
  if (parts.empty())
    node.error("an expression cannot be empty");
  using Op = Expression::Op;
  static constexpr Op ops[] = {Op::Dim,     Op::SmCount,  Op::Add, Op::Mul,
                               Op::CeilDiv, Op::FloorDiv, Op::Min, Op::Max};
  expression.op = ops[parts[0].choice(
      {"dim", "sm_count", "add", "mul", "ceildiv", "floordiv", "min", "max"})];
  size_t numOperands = expression.op == Op::SmCount ? 0 : 2;
  if (parts.size() != numOperands + 1)
    node.error("\"", parts[0].string(), "\" takes ", numOperands,
               " operands, found ", parts.size() - 1);
  if (expression.op == Op::Dim) {
    if (ranks.empty())
      node.error("no buffer has been declared that \"dim\" could name");
    expression.value = parts[1].integer(0, int64_t(ranks.size()) - 1);
    int rank = ranks[expression.value];
    if (rank == 0)
      parts[2].error("buffer ", expression.value, " has rank 0");
    expression.dim = int(parts[2].integer(0, rank - 1));
    return expression;
  }
  for (size_t i = 1; i <= numOperands; ++i)
    expression.operands.push_back(readExpression(parts[i]));
  return expression;
}

const ElementType *LaunchFileReader::readElementType(const Node &node) {
  std::string name = node.string(), known;
  for (const ElementType &type : kElementTypes) {
    if (name == type.name)
      return &type;
    known += cat(known.empty() ? "" : ", ", type.name);
  }
  node.error("unknown element type \"", name, "\"; known: ", known);
}

Target LaunchFileReader::readTarget(const Node &node) {
  Target target;
  target.name = node.string();
  std::string digits;
  if (target.name.compare(0, 3, "sm_") == 0)
    digits = target.name.substr(3);
  if (!digits.empty() && digits.back() == 'a') {
    target.exact = true;
    digits.pop_back();
  }
  if (digits.size() < 2 || digits.size() > 3 ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    node.error("expected a target such as \"sm_90a\", found \"", target.name,
               "\"");
  target.minor = digits.back() - '0';
  target.major = std::stoi(digits.substr(0, digits.size() - 1));
  return target;
}

Argument LaunchFileReader::readArgument(const Node &node) {
  node.object({"name", "element_type", "shape", "access"});
  Argument argument;
  argument.name = node["name"].string();
  argument.elementType = readElementType(node["element_type"]);
  argument.access = MoEAccess(
      MOE_ACCESS_READ + node["access"].choice({"read", "write", "readwrite"}));
  for (const Node &extent : node["shape"].elements()) {
    argument.shape.push_back(readValue(extent));
    const Value &value = argument.shape.back();
    if (value.isLiteral() && value.expression.value < kDynamic)
      extent.error("expected an extent of 0 or more, -1 for a dynamic one, or "
                   "an expression");
    argument.dims.push_back(value.isLiteral() ? value.expression.value
                                              : kDynamic);
  }
  return argument;
}

/// Reads which arguments hold the results; by default those that are written
/// only.
std::vector<int> LaunchFileReader::readResults(const Node &root) {
  std::vector<int> results;
  int64_t count = int64_t(file.arguments.size());
  std::optional<Node> node = root.find("results");
  if (!node) {
    for (int64_t i = 0; i < count; ++i)
      if (file.arguments[i].access == MOE_ACCESS_WRITE)
        results.push_back(int(i));
    return results;
  }
  for (const Node &entry : node->elements()) {
    if (count == 0)
      entry.error("the program has no argument that could hold a result");
    int64_t index = entry.integer(0, count - 1);
    const Argument &argument = file.arguments[index];
    if (argument.access == MOE_ACCESS_READ)
      entry.error("argument ", index, " '", argument.name,
                  "' has access \"read\"; a result needs one with \"write\" or "
                  "\"readwrite\"");
    results.push_back(int(index));
  }
  return results;
}

Temporary LaunchFileReader::readTemporary(const Node &node) {
  node.object({"element_type", "shape"});
  Temporary temporary;
  temporary.elementType = readElementType(node["element_type"]);
  // Only buffers before this one are in `ranks`: no shape can depend on itself.
  for (const Node &extent : node["shape"].elements())
    temporary.shape.push_back(readValue(extent));
  return temporary;
}

int LaunchFileReader::readBuffer(const Node &node) {
  if (ranks.empty())
    node.error("the program has no buffers");
  return int(node.integer(0, int64_t(ranks.size()) - 1));
}

TensorMapDecl LaunchFileReader::readTensorMap(const Node &node) {
  TensorMapDecl map;
  map.elementType = readElementType(node["element_type"]);
  std::vector<Node> dims = node["dims"].elements();
  if (dims.empty() || dims.size() > 5)
    node["dims"].error("a tensor map has 1 to 5 dimensions, found ",
                       dims.size());
  for (const Node &dim : dims)
    map.dims.push_back(readValue(dim));
  for (const Node &stride : node["strides"].elements(dims.size() - 1))
    map.strides.push_back(readValue(stride));
  for (const Node &extent : node["box"].elements(dims.size()))
    map.box.push_back(uint32_t(extent.integer(1, 256)));

  map.swizzle = node["swizzle"].choice({"none", "32b", "64b", "128b"});
  map.l2Promotion =
      node["l2_promotion"].choice({"none", "64b", "128b", "256b"});
  if (std::optional<Node> interleave = node.find("interleave"))
    interleave->choice({"none"});
  map.oobFill = 0;
  if (std::optional<Node> oob = node.find("oob")) {
    map.oobFill = oob->choice({"zero", "nan"});
    if (map.oobFill && !map.elementType->isFloat)
      oob->error("only f16, bf16, f32 and f64 can be filled with NaN, not ",
                 map.elementType->name);
  }

  uint32_t rowBytes = map.box[0] * uint32_t(map.elementType->size);
  if (rowBytes % 16 != 0)
    node["box"].error("the innermost extent is ", rowBytes,
                      " bytes; TMA needs a multiple of 16");
  if (map.swizzle && rowBytes > (16u << map.swizzle))
    node["box"].error("the innermost extent is ", rowBytes,
                      " bytes, more than the swizzle's ", 16u << map.swizzle);
  return map;
}

Parameter LaunchFileReader::readParameter(const Node &node) {
  using Kind = Parameter::Kind;
  node.object({"kind", "buffer", "element_type", "dims", "strides", "box",
               "swizzle", "l2_promotion", "interleave", "oob", "offset",
               "value"});
  Parameter parameter;
  parameter.path = node.where();
  parameter.kind = Kind(
      node["kind"].choice({"tensor_map", "buffer", "workspace", "i32", "i64"}));
  switch (parameter.kind) {
  case Kind::TensorMap:
    node.object({"kind", "buffer", "element_type", "dims", "strides", "box",
                 "swizzle", "l2_promotion", "interleave", "oob"});
    parameter.buffer = readBuffer(node["buffer"]);
    parameter.map = readTensorMap(node);
    break;
  case Kind::Buffer:
    node.object({"kind", "buffer"});
    parameter.buffer = readBuffer(node["buffer"]);
    break;
  case Kind::Workspace:
    node.object({"kind", "offset"});
    if (!file.workspaceBytes)
      node.error("the program declares no workspace");
    parameter.offset =
        node["offset"].integer(0, std::numeric_limits<int64_t>::max());
    break;
  case Kind::I32:
  case Kind::I64:
    node.object({"kind", "value"});
    parameter.value = readValue(node["value"]);
    break;
  }
  return parameter;
}

Condition LaunchFileReader::readCondition(const Node &node) {
  node.object({"value", "min", "max"});
  Condition condition;
  condition.value = readValue(node["value"]);
  auto bound = [&](const char *key) -> std::optional<int64_t> {
    if (std::optional<Node> found = node.find(key))
      return found->integer(std::numeric_limits<int64_t>::min(),
                            std::numeric_limits<int64_t>::max());
    return std::nullopt;
  };
  condition.min = bound("min");
  condition.max = bound("max");
  if (!condition.min && !condition.max)
    node.error("a condition needs \"min\", \"max\", or both");
  return condition;
}

/// Reads three extents of at most `max` each whose product is at most
/// `maxProduct`.
static std::array<uint32_t, 3>
readExtents(const Node &node, std::array<int64_t, 3> max, int64_t maxProduct) {
  std::vector<Node> nodes = node.elements(3);
  std::array<uint32_t, 3> extents;
  int64_t product = 1;
  for (int i = 0; i < 3; ++i) {
    extents[i] = uint32_t(nodes[i].integer(1, max[i]));
    product *= extents[i];
  }
  if (product > maxProduct)
    node.error("the product is ", product, ", more than ", maxProduct);
  return extents;
}

Launch LaunchFileReader::readLaunch(const Node &node) {
  node.object({"kernel", "grid", "block", "cluster", "shared_memory",
               "programmatic", "when", "parameters"});
  Launch launch;
  launch.path = node.where();
  launch.kernel = node["kernel"].string();
  std::vector<Node> grid = node["grid"].elements(3);
  for (int i = 0; i < 3; ++i)
    launch.grid[i] = readValue(grid[i]);
  launch.block = readExtents(node["block"], {1024, 1024, 64}, 1024);
  if (std::optional<Node> cluster = node.find("cluster"))
    launch.cluster = readExtents(*cluster, {16, 16, 16}, 16);
  launch.sharedMemory = uint32_t(node["shared_memory"].integer(0, 1 << 20));
  if (std::optional<Node> programmatic = node.find("programmatic"))
    launch.programmatic = programmatic->boolean();
  if (std::optional<Node> when = node.find("when"))
    for (const Node &condition : when->elements())
      launch.when.push_back(readCondition(condition));
  for (const Node &parameter : node["parameters"].elements())
    launch.parameters.push_back(readParameter(parameter));
  return launch;
}

LaunchFile LaunchFileReader::read(const Node &root) {
  // The version comes first: another version may have other keys.
  if (!root.find("abi"))
    root.error("key \"abi\" is missing: not a launch file");
  int64_t abi = root["abi"].integer(0, std::numeric_limits<int32_t>::max());
  if (abi != MOE_LAUNCH_ABI_VERSION)
    root["abi"].error("version ", abi, ", but this runtime reads version ",
                      MOE_LAUNCH_ABI_VERSION,
                      "; use moe-compile and libMoERuntime of one release");
  root.object({"abi", "target", "image", "entry", "arguments", "results",
               "temporaries", "workspace", "launches"});
  file.target = readTarget(root["target"]);
  file.image = root["image"].string();
  if (file.image.find('/') != std::string::npos)
    root["image"].error("expected the name of a file in the same folder, "
                        "found \"",
                        file.image, "\"");
  file.entry = root["entry"].string();

  std::vector<Node> arguments = root["arguments"].elements();
  // A shape may name any argument, a later one too, so ranks come first.
  for (const Node &node : arguments)
    ranks.push_back(
        int(node.object({"name", "element_type", "shape", "access"})["shape"]
                .elements()
                .size()));
  for (const Node &node : arguments)
    file.arguments.push_back(readArgument(node));
  file.results = readResults(root);
  if (std::optional<Node> temporaries = root.find("temporaries"))
    for (const Node &node : temporaries->elements()) {
      file.temporaries.push_back(readTemporary(node));
      ranks.push_back(int(file.temporaries.back().shape.size()));
    }
  if (std::optional<Node> workspace = root.find("workspace"))
    file.workspaceBytes = readValue(workspace->object({"bytes"})["bytes"]);
  for (const Node &node : root["launches"].elements())
    file.launches.push_back(readLaunch(node));
  return std::move(file);
}

LaunchFile moe::runtime::parseLaunchFile(const std::string &text) {
  json document = parseJson(text);
  Node root(document, "");
  if (!document.is_object())
    root.error("expected an object, found ", describe(document));
  return LaunchFileReader().read(root);
}
