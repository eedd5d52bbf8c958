//===- Campaign.h - make inputs, run them, report findings ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_TOOLS_MOEFUZZ_CAMPAIGN_H
#define MOE_TOOLS_MOEFUZZ_CAMPAIGN_H

#include "Corpus.h"
#include "Executor.h"
#include "Random.h"
#include "Sandbox.h"
#include "Triage.h"

#include <map>

namespace mlir::moe::fuzz {

struct CampaignOptions {
  uint64_t seed = 1;
  /// The first input, and how many there are.
  uint64_t start = 0, runs = 1000;
  /// Inputs that one child runs.
  uint64_t batch = 200;
  /// Wall time after which no more inputs are started; 0 means no limit.
  unsigned seconds = 0;
  /// Whether inputs may go through LLVM's code generator.
  bool backend = false;
  /// A pipeline for all inputs; empty means one picked for each.
  std::string pipeline;
  /// Whether to report known crashes as well, each once.
  bool reportKnown = false;
  /// The folder for the inputs of findings.
  std::string artifacts;
};

/// Something that must not happen.
struct Event {
  uint64_t index;
  std::string input, pipeline, stage;
  bool isTimeout;
  /// Whether it happened while the input was being made.
  bool isGenerating;
  /// A sanitizer's message, the signal, or the bug.
  std::string message;
  std::vector<Frame> frames;
  /// The same for events that are taken for one.
  std::string signature;
  /// The known crash that it is, or empty.
  std::string known;
};

class Campaign {
public:
  Campaign(const Corpus &corpus, const KnownCrashes &known, Sandbox sandbox,
           const CampaignOptions &options);

  /// Runs all inputs, and returns the number of different findings, which it
  /// has printed.
  size_t run();

private:
  /// One input, made in a child.
  void makeInput(uint64_t index);
  std::string makeText(StringRef seed, Random &random);
  bool runInput();
  /// Runs inputs from `begin` on, up to `end`, until one has a bug or may have
  /// done harm.
  bool runBatch(uint64_t begin, uint64_t end);

  /// What ended the last child.
  Event describe(ChildEnd end);
  std::string describeCrash(ChildEnd end);
  void handle(Event event);

  /// A smaller input for which the same happens.
  std::string reduce(const Event &event);
  /// Runs `body` in a child whose inputs do not count.
  ChildEnd runAgain(llvm::function_ref<bool()> body);
  ChildEnd runAlone(const Event &event, StringRef input);
  bool happensAlone(const Event &event);
  bool happensWith(const Event &event, StringRef input);
  void report(const Event &event);
  void printSummary(uint64_t inputs);

  const Corpus &corpus;
  const KnownCrashes &known;
  Sandbox sandbox;
  CampaignOptions options;
  Executor executor;
  Symbolizer symbolizer;
  /// How often each known crash and each finding happened.
  std::map<std::string, uint64_t> knownCounts, findingCounts;
};

} // namespace mlir::moe::fuzz

#endif // MOE_TOOLS_MOEFUZZ_CAMPAIGN_H
