//===- Ring.cpp - stages of shared memory behind barriers -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parity: a barrier completes its phases 0, 1, 0, 1, ...; waiting for parity p
// passes once the phase of parity p has completed. The producer starts with 1,
// the parity of "the phase before the first", and so finds every stage empty.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::moe;

/// Nanoseconds a barrier wait may sleep before it looks again; a hint only.
static constexpr int64_t kWaitTicks = 10000000;

/// Views part of shared memory as a group of barriers.
static Value createBarrierGroup(KernelBuilder &b, const KernelPlan &plan,
                                Value shared, int64_t byteOffset) {
  Value memory =
      b.sharedView(shared, b.index(byteOffset), {plan.stages}, b.getI64Type());
  auto type = nvgpu::MBarrierGroupType::get(
      b.getContext(), cast<MemRefType>(memory.getType()).getMemorySpace(),
      plan.stages);
  return UnrealizedConversionCastOp::create(b, type, memory).getResult(0);
}

Ring::Ring(KernelBuilder &b, const KernelPlan &plan, Value shared)
    : plan(plan), full(createBarrierGroup(b, plan, shared, plan.barrierOffset)),
      empty(createBarrierGroup(b, plan, shared,
                               plan.barrierOffset + 8 * plan.stages)),
      records(b.sharedView(shared, b.index(plan.recordOffset), {plan.stages},
                           VectorType::get(4, b.getI32Type()))) {}

void Ring::initBarriers(KernelBuilder &b) const {
  auto loop =
      scf::ForOp::create(b, b.index(0), b.index(plan.stages), b.index(1));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value stage = loop.getInductionVar();
    nvgpu::MBarrierInitOp::create(b, full, b.index(1), stage, Value());
    nvgpu::MBarrierInitOp::create(
        b, empty, b.index(plan.warpgroups * kWarpgroupThreads / kWarpThreads),
        stage, Value());
  }
}

RingPosition Ring::getProducerStart(KernelBuilder &b) const {
  return {b.i32(0), b.i32(1)};
}

RingPosition Ring::getConsumerStart(KernelBuilder &b) const {
  return {b.i32(0), b.i32(0)};
}

RingPosition Ring::advance(KernelBuilder &b, RingPosition position) const {
  Value next = b.add(position.stage, 1);
  Value wraps = b.compare(arith::CmpIPredicate::eq, next, b.i32(plan.stages));
  Value flipped = arith::XOrIOp::create(b, position.phase, b.i32(1));
  return {b.select(wraps, b.i32(0), next),
          b.select(wraps, flipped, position.phase)};
}

void Ring::wait(KernelBuilder &b, Value barriers, RingPosition position) const {
  Value parity = arith::TruncIOp::create(b, b.getI1Type(), position.phase);
  nvgpu::MBarrierTryWaitParityOp::create(
      b, barriers, parity, b.index(kWaitTicks), b.toIndex(position.stage));
}

void Ring::waitEmpty(KernelBuilder &b, RingPosition position) const {
  wait(b, empty, position);
}

void Ring::waitFull(KernelBuilder &b, RingPosition position) const {
  wait(b, full, position);
}

/// The tile record that says that no tile comes any more.
static Value createEndRecord(KernelBuilder &b) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(VectorType::get(4, b.getI32Type()), -1));
}

void Ring::announce(KernelBuilder &b, RingPosition position,
                    const WorkTile &tile, int64_t bytes) const {
  Value stage = b.toIndex(position.stage);
  Value record = vector::FromElementsOp::create(
      b, VectorType::get(4, b.getI32Type()),
      ValueRange{tile.expert, tile.firstRow, tile.endRow, tile.outputTile});
  memref::StoreOp::create(b, record, records, stage);
  // A box counts whole, whatever part of it lies outside the tensor.
  nvgpu::MBarrierArriveExpectTxOp::create(b, full, b.index(bytes), stage,
                                          Value());
}

void Ring::announceEnd(KernelBuilder &b, RingPosition position) const {
  Value stage = b.toIndex(position.stage);
  memref::StoreOp::create(b, createEndRecord(b), records, stage);
  nvgpu::MBarrierArriveOp::create(
      b, nvgpu::MBarrierTokenType::get(b.getContext()), full, stage);
}

std::pair<WorkTile, Value>
Ring::getTile(KernelBuilder &b, RingPosition position, Value lane) const {
  auto read =
      scf::IfOp::create(b, VectorType::get(4, b.getI32Type()),
                        b.compare(arith::CmpIPredicate::eq, lane, b.i32(0)),
                        /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(read.thenBlock());
    scf::YieldOp::create(
        b, memref::LoadOp::create(b, records, b.toIndex(position.stage))
               .getResult());
    b.setInsertionPointToStart(read.elseBlock());
    scf::YieldOp::create(b, createEndRecord(b));
  }
  auto extract = [&](int64_t i) -> Value {
    Value word =
        vector::ExtractOp::create(b, read.getResult(0), ArrayRef<int64_t>{i});
    return b.shuffle(gpu::ShuffleMode::IDX, word, 0);
  };
  WorkTile tile{extract(0), extract(1), extract(2), extract(3)};
  return {tile, b.compare(arith::CmpIPredicate::ne, tile.expert, b.i32(-1))};
}

void Ring::releasePrevious(KernelBuilder &b, RingPosition position) const {
  Value isFirst = b.compare(arith::CmpIPredicate::eq, position.stage, b.i32(0));
  Value previous = b.select(isFirst, b.i32(plan.stages - 1),
                            b.sub(position.stage, b.i32(1)));
  nvgpu::MBarrierArriveOp::create(b,
                                  nvgpu::MBarrierTokenType::get(b.getContext()),
                                  empty, b.toIndex(previous));
}

Value Ring::getStageOffset(KernelBuilder &b, RingPosition position) const {
  return b.toIndex(b.mul(position.stage, plan.stageBytes));
}
