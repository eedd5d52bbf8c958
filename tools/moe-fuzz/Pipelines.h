//===- Pipelines.h - what inputs are put through ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_TOOLS_MOEFUZZ_PIPELINES_H
#define MOE_TOOLS_MOEFUZZ_PIPELINES_H

#include "Corpus.h"
#include "Random.h"

namespace mlir::moe::fuzz {

/// A textual pass pipeline, without `builtin.module`: one of this project's
/// passes or pipelines, or upstream passes that call its interfaces; often one
/// that has something to do in inputs made from `seed`. Options
/// have fitting values most of the time. With `backend`, LLVM's code generator
/// may be part of it.
std::string pickPipeline(StringRef seed, const Corpus &corpus, bool backend,
                         Random &random);

/// A command line of `moe-compile`; with `backend`, LLVM's code generator may
/// be part of it.
std::string pickCompilation(const Corpus &corpus, bool backend, Random &random);

} // namespace mlir::moe::fuzz

#endif // MOE_TOOLS_MOEFUZZ_PIPELINES_H
