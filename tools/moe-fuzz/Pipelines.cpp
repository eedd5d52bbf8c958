//===- Pipelines.cpp - what inputs are put through ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pipelines.h"

#include "TextMutator.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::moe::fuzz;

/// `$L`, `$N`, `$F` and `$T` stand for a number of vector lanes, any integer,
/// a number of tokens, and a target.
static const char *const kPipelines[] = {
    // The passes of this project, each alone.
    "moe-raise-ragged-dot",
    "moe-decompose-experts",
    "moe-decompose-experts{gather=copy}",
    "moe-swap-ab",
    "moe-swap-ab{mode=always}",
    "moe-swap-ab{mode=never}",
    "moe-swap-ab{multi-version=false}",
    "moe-swap-ab{expected-tokens=$F target=$T}",
    "moe-fold-transposes",
    "moe-select-schedule",
    "moe-select-schedule{expected-tokens=$F target=$T}",
    "convert-moe-to-linalg",
    "convert-moe-to-linalg{vector-lanes=$L}",
    "convert-moe-to-nvgpu",
    "convert-moe-to-nvgpu{multiprocessors=$N}",
    "convert-nvgpu-warpgroup-to-nvvm",
    "moe-set-host-interface",
    // And together.
    "moe-raise-ragged-dot,moe-swap-ab,moe-fold-transposes",
    "moe-decompose-experts,moe-swap-ab{mode=always},moe-fold-transposes",
    "moe-swap-ab{mode=always},moe-fold-transposes,moe-select-schedule",
    "moe-decompose-experts{gather=copy},moe-select-schedule,"
    "one-shot-bufferize{bufferize-function-boundaries},convert-moe-to-linalg",
    "moe-decompose-experts,one-shot-bufferize{bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map},"
    "convert-moe-to-linalg{vector-lanes=$L}",
    "moe-swap-ab{mode=always},moe-fold-transposes,moe-select-schedule,"
    "one-shot-bufferize{bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map},"
    "convert-moe-to-nvgpu",
    // Upstream passes, for the interfaces that the ops implement.
    "canonicalize",
    "canonicalize,cse",
    "one-shot-bufferize{bufferize-function-boundaries}",
    "one-shot-bufferize",
    "generate-runtime-verification",
    "one-shot-bufferize{bufferize-function-boundaries},"
    "generate-runtime-verification",
    "resolve-shaped-type-result-dims",
    "resolve-ranked-shaped-type-result-dims,canonicalize",
    "transform-interpreter",
    "transform-interpreter,canonicalize",
    "transform-interpreter,one-shot-bufferize{bufferize-function-boundaries},"
    "convert-moe-to-linalg",
    "func.func(sharding-propagation{traversal=backward-forward})",
    "func.func(sharding-propagation{traversal=backward-forward},"
    "shard-partition)",
    "func.func(shard-partition)",
    "loop-invariant-code-motion",
    // The pipelines, which are the slowest.
    "moe-to-cpu",
    "moe-to-cpu{openmp=false}",
    "moe-to-cpu{vector-lanes=$L}",
    "moe-to-nvgpu",
    "moe-to-nvgpu{swap=always}",
    "moe-to-nvgpu{swap=never}",
    "moe-to-nvgpu{target=$T expected-tokens=$F}",
    "moe-to-nvgpu,gpu.module(convert-nvgpu-warpgroup-to-nvvm)",
};

static const char *const kBackendPipelines[] = {
    "moe-to-ptx",
    "moe-to-ptx{swap=always}",
    "moe-to-ptx{swap=never}",
    "gpu-module-to-binary{format=isa}",
};

static const char *const kCompilations[] = {
    "moe-compile --emit=nvgpu",
    "moe-compile --emit=nvgpu --swap=always",
    "moe-compile --emit=nvgpu --swap=never",
    "moe-compile --emit=nvgpu --target=$T --expected-tokens=$F",
};

static const char *const kBackendCompilations[] = {
    "moe-compile --emit=ptx",
    "moe-compile --emit=ptx --swap=always",
    "moe-compile --emit=ptx --swap=never",
    "moe-compile --emit=obj",
};

static const char *const kTokens[] = {
    "0",   "1",   "8",    "64",  "300",  "4096",  "-1",     "-5",
    "0.5", "nan", "-nan", "inf", "-inf", "1e300", "1e-300", "1e18"};

static const char *const kTargets[] = {"h100-sxm", "h200",   "h20",
                                       "sm_90a",   "sm_100", "\"\""};

/// A target, in the syntax of the `target` options: a preset, or an attribute
/// whose numbers may be anything.
static std::string pickTarget(const Corpus &corpus, Random &random) {
  SmallVector<StringRef> attributes;
  for (StringRef pair : corpus.getAttributePairs())
    if (StringRef value = pair.split(" = ").second;
        value.starts_with("#moe.target"))
      attributes.push_back(value);
  if (attributes.empty() || random.oneIn(2))
    return random.pick(kTargets);
  std::string target = random.pick(attributes).str();
  if (random.oneIn(2))
    target = mutateText(target, corpus, random);
  return "{" + target + "}";
}

static std::string pickOption(char kind, const Corpus &corpus, Random &random) {
  static const char *const lanes[] = {"4", "8", "16", "32", "8"};
  switch (kind) {
  case 'L':
    return random.oneIn(4) ? pickNumber(random).str() : random.pick(lanes);
  case 'N':
    return pickNumber(random).str();
  case 'F':
    return random.pick(kTokens);
  default:
    return pickTarget(corpus, random);
  }
}

/// `form` with values for what stands for options.
static std::string fillIn(StringRef form, const Corpus &corpus,
                          Random &random) {
  std::string pipeline;
  for (size_t i = 0; i < form.size(); ++i) {
    if (form[i] == '$')
      pipeline += pickOption(form[++i], corpus, random);
    else
      pipeline += form[i];
  }
  return pipeline;
}

/// A pipeline with a pass for what `seed` holds, if that is of interest to few
/// passes.
static StringRef pickFittingPipeline(StringRef seed, Random &random) {
  static const std::pair<const char *, const char *> passes[] = {
      {"chlo.ragged_dot", "moe-raise-ragged-dot"},
      {"nvgpu.warpgroup", "convert-nvgpu-warpgroup-to-nvvm"},
      {"transform.", "transform-interpreter"},
      {"shard.", "shard"},
      {"moe.experts", "moe-decompose-experts"},
      {"memref", "convert-moe-to"}};
  for (auto [content, pass] : passes) {
    if (!seed.contains(content))
      continue;
    SmallVector<StringRef> fitting;
    for (StringRef pipeline : kPipelines)
      if (pipeline.contains(pass))
        fitting.push_back(pipeline);
    return random.pick(fitting);
  }
  return random.pick(kPipelines);
}

std::string mlir::moe::fuzz::pickPipeline(StringRef seed, const Corpus &corpus,
                                          bool backend, Random &random) {
  StringRef form = random.oneIn(2) ? pickFittingPipeline(seed, random)
                                   : StringRef(random.pick(kPipelines));
  // Code generation takes as long as a hundred other inputs.
  if (backend && random.oneIn(50))
    form = random.pick(kBackendPipelines);
  return fillIn(form, corpus, random);
}

std::string mlir::moe::fuzz::pickCompilation(const Corpus &corpus, bool backend,
                                             Random &random) {
  StringRef form = backend && random.oneIn(16)
                       ? random.pick(kBackendCompilations)
                       : random.pick(kCompilations);
  return fillIn(form, corpus, random);
}
