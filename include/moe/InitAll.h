//===- InitAll.h - Register everything of the project -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One place that names every dialect, extension and pass of the project, for
// the tools, the plugin, the C API and any host that embeds them.
//
//===----------------------------------------------------------------------===//

#ifndef MOE_INITALL_H
#define MOE_INITALL_H

namespace mlir {
class DialectRegistry;

namespace moe {

/// Adds the project's dialects to `registry`. Upstream dialects that they
/// depend on come with them when a context loads them.
void registerAllDialects(DialectRegistry &registry);

/// Adds the project's external models and dialect extensions to `registry`.
/// They attach when a context loads the dialects that they extend.
void registerAllExtensions(DialectRegistry &registry);

/// Registers the project's passes and pipelines with MLIR's global registry.
void registerAllPasses();

} // namespace moe
} // namespace mlir

#endif // MOE_INITALL_H
