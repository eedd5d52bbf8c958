//===- TextMutator.h - changes to MLIR text ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_TOOLS_MOEFUZZ_TEXTMUTATOR_H
#define MOE_TOOLS_MOEFUZZ_TEXTMUTATOR_H

#include "Corpus.h"
#include "Random.h"

namespace mlir::moe::fuzz {

/// A number, as text, of the kind that breaks code: zero, negative, next to a
/// power of two, or too large for its type.
StringRef pickNumber(Random &random);

/// Changes `text` in one or a few ways. Some of the ways change every use of a
/// size or of a type at once, so that the result is often valid and gets past
/// the verifiers.
std::string mutateText(StringRef text, const Corpus &corpus, Random &random);

} // namespace mlir::moe::fuzz

#endif // MOE_TOOLS_MOEFUZZ_TEXTMUTATOR_H
