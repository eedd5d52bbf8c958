//===- MoETarget.cpp - description of a GPU -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/MoE/IR/MoE.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"

#include <array>
#include <optional>
#include <tuple>

using namespace mlir;
using namespace mlir::moe;

namespace {
/// Number of fields, in the order of the attribute's parameters.
constexpr size_t kNumFields = 14;
using Fields = std::array<int64_t, kNumFields>;

constexpr std::array<StringLiteral, kNumFields> kFieldNames = {
    "sm_count",
    "shared_memory",
    "memory_bandwidth",
    "l2_bandwidth",
    "peak_16bit",
    "peak_8bit",
    "peak_f32",
    "swapped_efficiency",
    "unswapped_efficiency",
    "m_step",
    "n_step",
    "n_max",
    "launch_overhead",
    "tile_overhead",
};

/// Largest value of a field, and of the sizes of the matrix instruction.
constexpr int64_t kMaxField = int64_t(1) << 40;
constexpr int64_t kMaxInstructionSize = 1024;

struct Preset {
  StringLiteral name;
  Fields fields;
};
} // namespace

/// Sizes are from NVIDIA's data sheets: "NVIDIA H100 Tensor Core GPU" (SXM5:
/// 132 multiprocessors, 3.35 TB/s, 989 TFLOP/s dense bf16, 1979 fp8, 67 f32),
/// "NVIDIA H200 Tensor Core GPU" (the same chip, 4.8 TB/s), "NVIDIA H20" (78
/// multiprocessors, 4.0 TB/s, 148, 296 and 44 TFLOP/s), and 227 KiB of shared
/// memory a block from the CUDA programming guide's table for compute
/// capability 9.0.
///
/// Rates are sustained ones. On an H200, reads of device memory were measured
/// at 4.57 TB/s and dense bf16 at 790 TFLOP/s: 95 and 80 percent of its data
/// sheet. The other cards' rates are their data sheets' times those shares. The
/// L2 rate is the one that explains the measured times of weight-streaming
/// kernels on the H200 once token tiles grow, and is taken to be the same on
/// the three cards, which share the chip. The efficiencies are those of the
/// best swapped (595 TFLOP/s) and unswapped (390 TFLOP/s, tokens that pad a
/// tile not counted) kernel measured on the H200 at 1024 and 256 tokens an
/// expert. A launch of the H200 takes 1.2 us without tokens and some 3.5 us
/// more than its bytes with them: the first loads on their way, the last
/// results. The overhead of a tile is an estimate.
static constexpr Preset kPresets[] = {
    {"h100-sxm",
     {132, 232448, 3190, 7000, 790, 1580, 53, 75, 65, 64, 8, 256, 3500, 500}},
    {"h200",
     {132, 232448, 4570, 7000, 790, 1580, 53, 75, 65, 64, 8, 256, 3500, 500}},
    {"h20",
     {78, 232448, 3810, 7000, 118, 236, 35, 75, 65, 64, 8, 256, 3500, 500}},
};

/// What compilers call the instruction set of all three stands for the first.
static constexpr StringLiteral kArchitecture = "sm_90a";

static const Preset *findPreset(StringRef name) {
  if (name == kArchitecture)
    return &kPresets[0];
  for (const Preset &preset : kPresets)
    if (preset.name == name)
      return &preset;
  return nullptr;
}

static Fields getFields(TargetAttr target) {
  return {target.getSmCount(),
          target.getSharedMemory(),
          target.getMemoryBandwidth(),
          target.getL2Bandwidth(),
          target.getPeak16bit(),
          target.getPeak8bit(),
          target.getPeakF32(),
          target.getSwappedEfficiency(),
          target.getUnswappedEfficiency(),
          target.getMStep(),
          target.getNStep(),
          target.getNMax(),
          target.getLaunchOverhead(),
          target.getTileOverhead()};
}

TargetAttr TargetAttr::getPreset(MLIRContext *context, StringRef name) {
  const Preset *preset = findPreset(name);
  if (!preset)
    return {};
  return std::apply(
      [&](auto... fields) {
        return TargetAttr::get(context, preset->name, fields...);
      },
      preset->fields);
}

TargetAttr TargetAttr::getAround(Operation *op) {
  for (Operation *around = op; around; around = around->getParentOp())
    if (auto target = around->getAttrOfType<TargetAttr>(getAttrName()))
      return target;
  return getPreset(op->getContext(), kPresets[0].name);
}

std::string TargetAttr::getPresetNames() {
  std::string names;
  for (const Preset &preset : kPresets)
    names += (preset.name + ", ").str();
  return names + kArchitecture.str();
}

FailureOr<TargetAttr>
TargetAttr::parseText(MLIRContext *context, StringRef text,
                      function_ref<InFlightDiagnostic()> emitError) {
  text = text.trim();
  if (TargetAttr preset = getPreset(context, text))
    return preset;
  if (!text.starts_with("#")) {
    emitError() << "unknown target '" << text << "'; give one of "
                << getPresetNames() << ", or #moe.target<...>";
    return failure();
  }
  // The parser's own message goes through the caller's diagnostic.
  std::string message;
  Attribute attribute;
  {
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      if (message.empty())
        message = diagnostic.str();
      return success();
    });
    attribute = parseAttribute(text, context);
  }
  if (auto target = dyn_cast_or_null<TargetAttr>(attribute))
    return target;
  emitError() << "target '" << text << "' is not a #moe.target attribute"
              << (message.empty() ? "" : ": ") << message;
  return failure();
}

LogicalResult TargetAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, StringRef name,
    int64_t smCount, int64_t sharedMemory, int64_t memoryBandwidth,
    int64_t l2Bandwidth, int64_t peak16bit, int64_t peak8bit, int64_t peakF32,
    int64_t swappedEfficiency, int64_t unswappedEfficiency, int64_t mStep,
    int64_t nStep, int64_t nMax, int64_t launchOverhead, int64_t tileOverhead) {
  const Fields fields = {
      smCount,  sharedMemory, memoryBandwidth,   l2Bandwidth,         peak16bit,
      peak8bit, peakF32,      swappedEfficiency, unswappedEfficiency, mStep,
      nStep,    nMax,         launchOverhead,    tileOverhead};
  if (name.empty())
    return emitError() << "target needs a name";
  for (auto [field, value] : llvm::zip_equal(kFieldNames, fields)) {
    bool mayBeZero = field.ends_with("_overhead");
    if (value < (mayBeZero ? 0 : 1))
      return emitError() << "target needs a " << field << " of at least "
                         << (mayBeZero ? 0 : 1) << ", got " << value;
    // So that no product of a few of them overflows.
    if (value > kMaxField)
      return emitError() << "target needs a " << field << " of at most "
                         << kMaxField << ", got " << value;
    if (field.ends_with("_efficiency") && value > 100)
      return emitError() << "target needs a " << field
                         << " of at most 100 percent, got " << value;
  }
  if (mStep > kMaxInstructionSize || nMax > kMaxInstructionSize)
    return emitError() << "target needs m_step and n_max of at most "
                       << kMaxInstructionSize << ", got " << mStep << " and "
                       << nMax;
  if (nMax % nStep != 0)
    return emitError() << "target needs n_max to be a multiple of n_step = "
                       << nStep << ", got " << nMax;
  return success();
}

/// Parses `, field = value` up to the closing bracket.
static ParseResult
parseFields(AsmParser &parser,
            std::array<std::optional<int64_t>, kNumFields> &values) {
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc location = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseKeyword(&keyword))
      return failure();
    const auto *field = llvm::find(kFieldNames, keyword);
    if (field == kFieldNames.end())
      return parser.emitError(location)
             << "target has no field '" << keyword << "'; its fields are "
             << llvm::join(kFieldNames, ", ");
    std::optional<int64_t> &value = values[field - kFieldNames.begin()];
    if (value)
      return parser.emitError(location)
             << "target gives '" << keyword << "' twice";
    int64_t number;
    if (parser.parseEqual() || parser.parseInteger(number))
      return failure();
    value = number;
  }
  return success();
}

Attribute TargetAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  std::string name;
  std::array<std::optional<int64_t>, kNumFields> values;
  if (parser.parseLess() || parser.parseString(&name) ||
      parseFields(parser, values) || parser.parseGreater())
    return {};

  const Preset *preset = findPreset(name);
  Fields fields;
  for (size_t i = 0; i < kNumFields; ++i) {
    if (!values[i] && !preset) {
      parser.emitError(location)
          << "target \"" << name << "\" is not a preset (" << getPresetNames()
          << ") and lacks the field '" << kFieldNames[i] << "'";
      return {};
    }
    fields[i] = values[i] ? *values[i] : preset->fields[i];
  }
  StringRef kept = preset ? StringRef(preset->name) : StringRef(name);
  return std::apply(
      [&](auto... field) {
        return parser.getChecked<TargetAttr>(location, parser.getContext(),
                                             kept, field...);
      },
      fields);
}

void TargetAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printString(getName());
  const Preset *preset = findPreset(getName());
  Fields fields = getFields(*this);
  for (size_t i = 0; i < kNumFields; ++i)
    if (!preset || fields[i] != preset->fields[i])
      printer << ", " << kFieldNames[i] << " = " << fields[i];
  printer << ">";
}
