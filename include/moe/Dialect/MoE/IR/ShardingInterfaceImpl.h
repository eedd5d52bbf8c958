//===- ShardingInterfaceImpl.h - Sharding of moe ops ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_DIALECT_MOE_IR_SHARDINGINTERFACEIMPL_H
#define MOE_DIALECT_MOE_IR_SHARDINGINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;

namespace moe {

/// Attaches ShardingInterface to both grouped matmuls. They are sharded along
/// the columns of the result, and with them N of the weights and the bias:
/// every device computes some output elements of every row. Any other
/// dimension is replicated: rows, because the groups count them from the first;
/// K, because the epilogue needs whole sums; experts, because the rows of an
/// expert are known at run time only.
///
/// Columns are refused too with a concatenated gate, whose gate and up rows lie
/// apart. An option for sharding is refused by a missed remark of the category
/// `moe-sharding`, what can not be partitioned by an error.
void registerShardingInterfaceExternalModels(DialectRegistry &registry);

} // namespace moe
} // namespace mlir

#endif // MOE_DIALECT_MOE_IR_SHARDINGINTERFACEIMPL_H
