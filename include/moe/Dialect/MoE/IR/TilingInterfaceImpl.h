//===- TilingInterfaceImpl.h - Tiling of moe ops ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_DIALECT_MOE_IR_TILINGINTERFACEIMPL_H
#define MOE_DIALECT_MOE_IR_TILINGINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;

namespace moe {

/// Attaches TilingInterface to both grouped matmuls.
///
/// Their iteration domain is [R, columns of the result], in this order for
/// every storage order, both parallel. A tile of columns takes those rows of
/// each expert's weights that make them, twice as many with an interleaved
/// gate. A tile of rows takes those tokens, and offsets moved and clamped to
/// it, so that every tile sees all experts, most of them empty.
///
/// A tile is refused, with a missed remark of the category `moe-tiling`:
/// of columns, with a concatenated gate (its gate and up rows are not
/// contiguous); of rows, with `scatter` (the rows of the result are not known),
/// with sizes instead of offsets (they hold no position), and on memrefs (the
/// moved offsets would need an allocation).
void registerTilingInterfaceExternalModels(DialectRegistry &registry);

} // namespace moe
} // namespace mlir

#endif // MOE_DIALECT_MOE_IR_TILINGINTERFACEIMPL_H
