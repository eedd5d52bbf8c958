//===- SharedMemoryTest.cpp - Tests of the layout of shared memory --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plays a stage through without a GPU: fills a plain array as TMA would fill
// shared memory with the boxes of a KernelPlan, and reads it through the matrix
// descriptors that the lowering of nvgpu.warpgroup.mma makes. Every element of
// every matrix instruction must be the one of the right row and depth.
//
// The models of TMA and of the descriptors are from the PTX ISA ("Tensor
// swizzling modes", "Asynchronous Warpgroup Level Matrix Shared Memory Layout")
// and share nothing with the code under test.
//
//===----------------------------------------------------------------------===//

#include "KernelPlan.h"
#include "moe/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::moe;

namespace {

constexpr int64_t kRowBytes = 128, kDepth = 64, kAtomRows = 8;
constexpr int64_t kExperts = 5, kContraction = 192;

/// A kernel: orientation, layout of the weights, gate, schedule, and whether
/// tokens are gathered.
struct Config {
  bool swapped, kn;
  Gate gate;
  int64_t m, n, stages, warpgroups;
  bool gather = false;
};

std::string toString(const Config &config) {
  return llvm::formatv(
      "{0} {1} gate {2} m{3} n{4} stages {5} warpgroups {6}{7}",
      config.swapped ? "swapped" : "unswapped", config.kn ? "kn" : "nk",
      stringifyGate(config.gate), config.m, config.n, config.stages,
      config.warpgroups, config.gather ? " gather" : "");
}

std::vector<Config> getConfigs() {
  std::vector<Config> configs;
  for (bool kn : {false, true})
    for (Gate gate : {Gate::None, Gate::Concat, Gate::Interleaved})
      for (int64_t warpgroups : {1, 2, 3}) {
        // Swapped: m is weight rows, with gate and up apart a slab of each.
        for (int64_t slabs : {1, 2})
          for (int64_t n : {8, 24, 64})
            if (gate != Gate::Concat || slabs == 2)
              configs.push_back({true, kn, gate, 64 * slabs * warpgroups, n,
                                 /*stages=*/3, warpgroups});
        // Unswapped: n is weight rows, in panels of 64 if they are kn.
        for (int64_t n : {32, 48, 64, 128, 192, 256})
          if ((!kn || n % (gate == Gate::Concat ? 128 : 64) == 0) &&
              (warpgroups < 3 || n <= 128))
            configs.push_back({false, kn, gate, 64 * warpgroups, n,
                               /*stages=*/2, warpgroups});
      }
  configs.push_back({true, false, Gate::None, 64, 8, 16, 1, /*gather=*/true});
  configs.push_back({true, false, Gate::None, 384, 16, 4, 3});
  // Slabs that are not full.
  configs.push_back({true, false, Gate::None, 40, 8, 3, 1});
  configs.push_back({true, false, Gate::Interleaved, 80, 16, 3, 2});
  configs.push_back({true, false, Gate::None, 176, 8, 3, 2});
  configs.push_back({false, true, Gate::None, 128, 64, 4, 2, /*gather=*/true});
  return configs;
}

class SharedMemoryTest : public ::testing::Test {
protected:
  SharedMemoryTest() {
    context
        .loadDialect<MoEDialect, arith::ArithDialect, func::FuncDialect,
                     gpu::GPUDialect, LLVM::LLVMDialect, memref::MemRefDialect,
                     NVVM::NVVMDialect, nvgpu::NVGPUDialect>();
  }

  /// The plan of a matmul with 400 outputs, which fill no tile evenly.
  KernelPlan makePlan(const Config &config) {
    constexpr int64_t columns = 400, rows = 100;
    int64_t weightRows = config.gate == Gate::None ? columns : 2 * columns;
    std::string weights = llvm::formatv("memref<{0}x{1}x{2}xbf16>", kExperts,
                                        config.kn ? kContraction : weightRows,
                                        config.kn ? weightRows : kContraction);
    std::string tokens =
        llvm::formatv("memref<{0}x{1}xbf16>", rows, kContraction);
    std::string text = llvm::formatv(
        R"mlir(
        func.func @f(%t: {0}, %w: {1}, %o: memref<6xi32>,
                     %g: memref<{2}xi32>, %y: memref<{2}x{3}xbf16>) {{
          moe.grouped_matmul{4} {{
              {5} weight_layout = #moe.weight_layout<{6}>,
              epilogue = #moe.epilogue<silu, gate = {7}>,
              schedule = #moe.schedule<m = {8}, n = {9}, k = 64, stages = {10},
                                       warpgroups = {11}>}
              ins({12} : {13}, memref<6xi32>) {14}
              outs(%y : memref<{2}x{3}xbf16>)
          return
        })mlir",
        tokens, weights, rows, columns, config.swapped ? "_swapped" : "",
        config.swapped ? "token_order = #moe.order<row_major>, "
                         "result_order = #moe.order<row_major>,"
                       : "",
        config.kn ? "kn" : "nk", stringifyGate(config.gate), config.m, config.n,
        config.stages, config.warpgroups,
        config.swapped ? "%w, %t, %o" : "%t, %w, %o",
        config.swapped ? weights + ", " + tokens : tokens + ", " + weights,
        config.gather
            ? llvm::formatv("gather(%g : memref<{0}xi32>)", rows).str()
            : "");
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    FailureOr<KernelPlan> plan = failure();
    if (module)
      module->walk(
          [&](GroupedMatmulInterface op) { plan = KernelPlan::create(op); });
    EXPECT_TRUE(succeeded(plan));
    return succeeded(plan) ? *plan : KernelPlan();
  }

  MLIRContext context;
};

/// Which weight row, counted from the first one of the tile, place `slot` of
/// the weight tile holds. With gate and up apart every consumer has a run of
/// either.
int64_t getWeightRowOfSlot(const Config &config, const KernelPlan &plan,
                           int64_t slot) {
  if (config.gate != Gate::Concat)
    return slot;
  int64_t consumers = config.swapped ? config.warpgroups : 1;
  int64_t extent = (config.swapped ? config.m : config.n) / consumers;
  int64_t consumer = slot / extent, place = slot % extent, half = extent / 2;
  return consumer * half + place % half +
         (place < half ? 0 : plan.resultColumns);
}

TEST_F(SharedMemoryTest, BoxesCoverTheTileOnce) {
  for (const Config &config : getConfigs()) {
    SCOPED_TRACE(toString(config));
    KernelPlan plan = makePlan(config);
    int64_t extent = config.swapped ? config.m : config.n;
    EXPECT_EQ(plan.getWeightTile().extent, extent);
    EXPECT_EQ(plan.getWeightTile().isKMajor, !config.kn);
    int64_t boxExtent = plan.getWeightTile().boxExtent;
    // Limits of TMA: elements of a box in one dimension, and bytes of the
    // innermost one in this swizzle.
    EXPECT_LE(boxExtent, config.kn ? 64 : 256);
    std::vector<int64_t> rowOfSlot(extent, -1);
    for (const WeightBox &box : plan.weightBoxes) {
      // The swizzle repeats every 1024 bytes.
      EXPECT_EQ(box.byteOffset % (kAtomRows * kRowBytes), 0);
      // As many bytes a row in either layout: 64 elements of depth.
      for (int64_t row = 0; row < boxExtent; ++row) {
        int64_t slot = box.byteOffset / kRowBytes + row;
        ASSERT_LT(slot, extent);
        EXPECT_EQ(rowOfSlot[slot], -1) << "two boxes hold " << slot;
        rowOfSlot[slot] = box.rowOffset + row;
      }
    }
    for (int64_t slot = 0; slot < extent; ++slot)
      EXPECT_EQ(rowOfSlot[slot], getWeightRowOfSlot(config, plan, slot));

    const OperandTile &tokens = plan.getTokenTile();
    EXPECT_EQ(tokens.extent, config.swapped ? config.n : config.m);
    EXPECT_TRUE(tokens.isKMajor);
    EXPECT_EQ(tokens.extent % tokens.boxExtent, 0);
    EXPECT_LE(tokens.boxExtent, 256);
    EXPECT_EQ(tokens.boxExtent == 1, config.gather);
  }
}

TEST_F(SharedMemoryTest, PartsAreAlignedAndDoNotOverlap) {
  for (const Config &config : getConfigs()) {
    SCOPED_TRACE(toString(config));
    KernelPlan plan = makePlan(config);
    int64_t stageBytes = (config.m + config.n) * kRowBytes;
    EXPECT_EQ(plan.stageBytes, stageBytes);
    EXPECT_EQ(stageBytes % 1024, 0);
    EXPECT_EQ(plan.a.getBytes(), config.m * kRowBytes);
    EXPECT_EQ(plan.a.getBytes() % 1024, 0);
    // Stages; a record of four i32 each; a full and an empty barrier of eight
    // bytes each; two i32 for every expert and for the end.
    int64_t records = config.stages * stageBytes;
    int64_t barriers = records + config.stages * 4 * 4;
    int64_t table = barriers + config.stages * 2 * 8;
    EXPECT_EQ(plan.recordOffset, records);
    EXPECT_EQ(plan.recordOffset % 16, 0);
    EXPECT_EQ(plan.barrierOffset, barriers);
    EXPECT_EQ(plan.barrierOffset % 8, 0);
    EXPECT_EQ(plan.tableOffset, table);
    EXPECT_EQ(plan.tableOffset % 8, 0);
    // The last slab of the last warpgroup is read whole, full or not.
    int64_t rows = config.m / config.warpgroups;
    int64_t slabEnd = (config.warpgroups - 1) * rows + (rows + 63) / 64 * 64;
    EXPECT_EQ(plan.sharedBytes,
              std::max(table + (kExperts + 1) * 2 * 4,
                       records - stageBytes + slabEnd * kRowBytes));
  }
}

//===----------------------------------------------------------------------===//
// Shared memory as TMA fills it
//===----------------------------------------------------------------------===//

/// An element of an operand tile: its row and its depth.
using Element = std::pair<int64_t, int64_t>;

/// A stage, two bytes an element.
class Stage {
public:
  Stage(const KernelPlan &plan) : elements(plan.stageBytes / 2, {-1, -1}) {}

  /// Writes one box of 128-byte rows as TMA does with the 128-byte swizzle:
  /// chunk c, of 16 bytes, of row r lies at chunk c XOR (r mod 8).
  void writeBox(int64_t byteOffset, int64_t boxRows,
                function_ref<Element(int64_t row, int64_t column)> source) {
    for (int64_t row = 0; row < boxRows; ++row)
      for (int64_t column = 0; column < kRowBytes / 2; ++column) {
        int64_t chunk = (column / 8) ^ (row % kAtomRows);
        int64_t place = row * (kRowBytes / 2) + chunk * 8 + column % 8;
        Element &element = elements[byteOffset / 2 + place];
        EXPECT_EQ(element.first, -1) << "two boxes hold one place";
        element = source(row, column);
      }
  }

  /// The element at a byte address that was computed without the swizzle: its
  /// bits 4 to 6 are exchanged with bits 7 to 9 in between.
  Element read(int64_t byteAddress) const {
    int64_t swizzled = byteAddress ^ ((byteAddress >> 7 & 7) << 4);
    return elements.at(swizzled / 2);
  }

private:
  std::vector<Element> elements;
};

void writeTile(Stage &stage, int64_t tileOffset, const OperandTile &tile,
               ArrayRef<WeightBox> boxes) {
  for (const WeightBox &box : boxes) {
    int64_t rows = tile.isKMajor ? tile.boxExtent : kDepth;
    stage.writeBox(tileOffset + box.byteOffset, rows,
                   [&](int64_t row, int64_t column) -> Element {
                     return tile.isKMajor
                                ? Element(box.rowOffset + row, column)
                                : Element(box.rowOffset + column, row);
                   });
  }
}

SmallVector<WeightBox> getTokenBoxes(const OperandTile &tokens) {
  SmallVector<WeightBox> boxes;
  for (int64_t row = 0; row < tokens.extent; row += tokens.boxExtent)
    boxes.push_back({row, row * kRowBytes});
  return boxes;
}

//===----------------------------------------------------------------------===//
// Matrix descriptors
//===----------------------------------------------------------------------===//

/// One wgmma.mma_async: its descriptors, and whether its operands are K-major.
struct Instruction {
  uint64_t a, b;
  bool aIsKMajor, bIsKMajor;
};

/// Computes descriptors from the arithmetic that makes them. A memref is as its
/// address says.
class DescriptorEvaluator {
public:
  DescriptorEvaluator(uint32_t addressA, uint32_t addressB)
      : addresses{addressA, addressB} {}

  uint64_t evaluate(Value value) {
    Operation *op = value.getDefiningOp();
    if (auto constant = dyn_cast_or_null<LLVM::ConstantOp>(op))
      return cast<IntegerAttr>(constant.getValue()).getInt();
    if (auto cast = dyn_cast_or_null<LLVM::PtrToIntOp>(op))
      return evaluateAddress(cast.getArg());
    if (auto bitcast = dyn_cast_or_null<LLVM::BitcastOp>(op)) {
      std::array<uint64_t, 2> words = {0, 0};
      for (auto insert =
               bitcast.getArg().getDefiningOp<LLVM::InsertElementOp>();
           insert;
           insert = insert.getVector().getDefiningOp<LLVM::InsertElementOp>())
        words.at(evaluate(insert.getPosition())) = evaluate(insert.getValue());
      return words[1] << 32 | words[0];
    }
    if (!isa_and_nonnull<LLVM::LShrOp, LLVM::AndOp, LLVM::OrOp, LLVM::AddOp>(
            op)) {
      ADD_FAILURE() << "descriptors are made of an unknown op";
      return 0;
    }
    uint32_t lhs = evaluate(op->getOperand(0)),
             rhs = evaluate(op->getOperand(1));
    return isa<LLVM::LShrOp>(op)  ? lhs >> rhs
           : isa<LLVM::AndOp>(op) ? lhs & rhs
           : isa<LLVM::OrOp>(op)  ? lhs | rhs
                                  : lhs + rhs;
  }

private:
  /// The pointer of a memref argument, of which there are two.
  uint32_t evaluateAddress(Value pointer) {
    while (Operation *op = pointer.getDefiningOp()) {
      if (!isa<LLVM::ExtractValueOp, UnrealizedConversionCastOp>(op)) {
        ADD_FAILURE() << "an address is made of an unknown op";
        return 0;
      }
      pointer = op->getOperand(0);
    }
    return addresses.at(cast<BlockArgument>(pointer).getArgNumber());
  }

  std::array<uint32_t, 2> addresses;
};

/// The instructions that one consumer warpgroup runs on a stage, slab by slab
/// of each k-step, with its A and B at the given addresses.
std::vector<Instruction> getInstructions(MLIRContext &context,
                                         const KernelPlan &plan,
                                         uint32_t addressA, uint32_t addressB) {
  int64_t rows = plan.slabs * 64;
  // As Accumulator writes it: an MN-major operand is the transposed view of how
  // it is stored, and says so by the strides of A, and by transposeB.
  constexpr llvm::StringLiteral transposed = ", strided<[1, 64]>";
  std::string text = llvm::formatv(
      R"mlir(
      !map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>,
        swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
      !a = memref<{0}x64xbf16{2}, 3>
      !b = memref<{1}x64xbf16{3}, 3>
      !descA = !nvgpu.warpgroup.descriptor<tensor = !a>
      !descB = !nvgpu.warpgroup.descriptor<tensor = memref<64x{1}xbf16, 3>>
      !acc = !nvgpu.warpgroup.accumulator<fragmented = vector<{0}x{1}xf32>>
      func.func @f(%a: !a, %b: !b, %map: !map, %c: !acc) -> !acc {{
        %da = nvgpu.warpgroup.generate.descriptor %a, %map
            : !a, !map -> !descA
        %db = nvgpu.warpgroup.generate.descriptor %b, %map
            : !b, !map -> !descB
        %d = nvgpu.warpgroup.mma %da, %db, %c {4}
            : !descA, !descB, !acc -> !acc
        return %d : !acc
      })mlir",
      rows, plan.n, plan.a.isKMajor ? "" : transposed,
      plan.b.isKMajor ? "" : transposed, plan.b.isKMajor ? "" : "{transposeB}");
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  std::vector<Instruction> instructions;
  if (!module)
    return instructions;
  PassManager passes(&context);
  passes.addPass(createConvertNVGPUWarpgroupToNVVM());
  EXPECT_TRUE(succeeded(passes.run(*module)));
  DescriptorEvaluator evaluator(addressA, addressB);
  module->walk([&](NVVM::WgmmaMmaAsyncOp op) {
    EXPECT_EQ(op.getShape().getN(), plan.n);
    instructions.push_back({evaluator.evaluate(op.getDescriptorA()),
                            evaluator.evaluate(op.getDescriptorB()),
                            op.getLayoutA() == NVVM::MMALayout::row,
                            op.getLayoutB() == NVVM::MMALayout::col});
  });
  return instructions;
}

/// The element of row `mn` and depth `k` of an instruction's operand.
Element readThrough(const Stage &stage, uint64_t descriptor, bool isKMajor,
                    int64_t mn, int64_t k) {
  auto field = [&](int first) {
    return static_cast<int64_t>(descriptor >> first & 0x3FFF) << 4;
  };
  int64_t start = field(0), leading = field(16), stride = field(32);
  EXPECT_EQ(descriptor >> 62, 1u) << "the code of the 128-byte swizzle";
  EXPECT_EQ(descriptor >> 49 & 7, 0u) << "tiles are aligned to the swizzle";
  // K-major: groups of eight rows are `stride` apart. MN-major: groups of eight
  // k are, and panels of 64 rows are `leading` apart.
  int64_t address = isKMajor
                        ? start + mn / 8 * stride + mn % 8 * kRowBytes + k * 2
                        : start + mn / 64 * leading + k / 8 * stride +
                              k % 8 * kRowBytes + mn % 64 * 2;
  return stage.read(address);
}

/// Elements that the instructions on one stage read and that are not those of
/// the row and depth that they are to multiply.
int64_t countWrongElements(MLIRContext &context, const Config &config,
                           const KernelPlan &plan) {
  Stage stage(plan);
  OperandTile tokens = plan.getTokenTile();
  // Rows that come one by one land where their addresses say: as in one box.
  if (config.gather)
    tokens.boxExtent = tokens.extent;
  writeTile(stage, config.swapped ? plan.a.getBytes() : 0, tokens,
            getTokenBoxes(tokens));
  writeTile(stage, config.swapped ? 0 : plan.a.getBytes(), plan.getWeightTile(),
            plan.weightBoxes);

  auto rowOfSlot = [&](bool isWeight, int64_t slot) {
    return isWeight ? getWeightRowOfSlot(config, plan, slot) : slot;
  };
  int64_t rows = plan.warpgroupRows, wrong = 0;
  for (int64_t warpgroup = 0; warpgroup < plan.warpgroups; ++warpgroup) {
    std::vector<Instruction> instructions = getInstructions(
        context, plan, warpgroup * rows * kRowBytes, plan.a.getBytes());
    // What a slab reads beyond its rows is in the block's memory, and aligned.
    EXPECT_EQ(rows * kRowBytes % 1024, 0);
    EXPECT_LE((plan.stages - 1) * plan.stageBytes +
                  (warpgroup * rows + plan.slabs * 64) * kRowBytes,
              plan.sharedBytes);
    EXPECT_EQ(instructions.size(), static_cast<size_t>(4 * plan.slabs));
    for (auto [index, instruction] : llvm::enumerate(instructions)) {
      int64_t step = index / plan.slabs, slab = index % plan.slabs;
      EXPECT_EQ(instruction.aIsKMajor, plan.a.isKMajor);
      EXPECT_EQ(instruction.bIsKMajor, plan.b.isKMajor);
      for (int64_t k = 0; k < 16; ++k) {
        for (int64_t i = 0; i < std::min<int64_t>(64, rows - slab * 64); ++i) {
          int64_t slot = warpgroup * rows + slab * 64 + i;
          wrong +=
              readThrough(stage, instruction.a, instruction.aIsKMajor, i, k) !=
              Element(rowOfSlot(config.swapped, slot), step * 16 + k);
        }
        for (int64_t j = 0; j < plan.n; ++j)
          wrong +=
              readThrough(stage, instruction.b, instruction.bIsKMajor, j, k) !=
              Element(rowOfSlot(!config.swapped, j), step * 16 + k);
      }
    }
  }
  return wrong;
}

TEST_F(SharedMemoryTest, InstructionsReadWhatTMAWrote) {
  for (const Config &config : getConfigs()) {
    SCOPED_TRACE(toString(config));
    KernelPlan plan = makePlan(config);
    ASSERT_FALSE(HasFailure());
    // Tiles of few tokens are computed by code of their own, with a smaller B.
    SmallVector<int64_t> tokenTiles = plan.getTokenTiles();
    EXPECT_EQ(tokenTiles.back(), plan.getTokenTile().extent);
    for (int64_t tokens : tokenTiles) {
      SCOPED_TRACE(tokens);
      KernelPlan narrow = plan.withTokenTile(tokens);
      EXPECT_EQ(narrow.getTokenTile().extent, tokens);
      EXPECT_LE(narrow.getLoadBytes(), plan.stageBytes);
      EXPECT_EQ(countWrongElements(context, config, narrow), 0);
    }
  }
}

} // namespace
