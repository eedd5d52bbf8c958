//===- moe-fuzz.cpp - mutation fuzzer of the passes -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Changes the files of a corpus at random, and puts each result through the
// parser, the verifiers, the printer and one pass pipeline. Findings are:
//
//  - a crash, a sanitizer's report or an endless loop, unless it is one of
//    upstream that the list of known ones names;
//  - a parser or pass that fails without a diagnostic;
//  - a pass of this project that makes invalid IR;
//  - IR that is another one after printing and parsing.
//
//===----------------------------------------------------------------------===//

#include "Campaign.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::moe::fuzz;

namespace cl = llvm::cl;

static cl::OptionCategory category("moe-fuzz options");

static cl::list<std::string> corpusPaths(cl::Positional, cl::OneOrMore,
                                         cl::desc("<files or folders>"),
                                         cl::cat(category));
static cl::opt<uint64_t> seedOption("seed", cl::desc("Seed of the mutations"),
                                    cl::init(1), cl::cat(category));
static cl::opt<uint64_t> startOption("start", cl::desc("First input"),
                                     cl::init(0), cl::cat(category));
static cl::opt<uint64_t> runsOption("runs", cl::desc("Number of inputs"),
                                    cl::init(1000), cl::cat(category));
static cl::opt<unsigned>
    secondsOption("seconds",
                  cl::desc("Start no more inputs after this time (default: no "
                           "limit)"),
                  cl::init(0), cl::cat(category));
static cl::opt<unsigned>
    inputSecondsOption("input-seconds",
                       cl::desc("Processor time that one input may take"),
                       cl::init(10), cl::cat(category));
static cl::opt<unsigned>
    inputMemoryOption("input-memory",
                      cl::desc("Address space in MiB that inputs may take (not "
                               "with a sanitizer)"),
                      cl::init(8192), cl::cat(category));
static cl::opt<std::string>
    knownOption("known",
                cl::desc("List of known crashes of upstream (default: none)"),
                cl::cat(category));
static cl::opt<bool> backendOption("backend",
                                   cl::desc("Also generate code for GPUs"),
                                   cl::init(false), cl::cat(category));
static cl::opt<std::string>
    pipelineOption("pipeline",
                   cl::desc("Pass pipeline for all inputs (default: one of a "
                            "list for each)"),
                   cl::cat(category));
static cl::opt<std::string>
    artifactsOption("artifacts", cl::desc("Folder for the inputs of findings"),
                    cl::init("moe-fuzz-findings"), cl::cat(category));

static cl::opt<bool>
    reportKnownOption("report-known",
                      cl::desc("Report the first of each known crash too"),
                      cl::init(false), cl::cat(category));

static int reportError(llvm::Error error) {
  llvm::errs() << "moe-fuzz: error: " << llvm::toString(std::move(error))
               << "\n";
  return 2;
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv,
                              "Mutation fuzzer of the moe dialect\n");
  auto corpus = Corpus::load(corpusPaths);
  if (!corpus)
    return reportError(corpus.takeError());
  KnownCrashes known;
  if (!knownOption.empty())
    if (llvm::Error error = known.load(knownOption))
      return reportError(std::move(error));
  auto sandbox = Sandbox::create(inputSecondsOption, inputMemoryOption);
  if (!sandbox)
    return reportError(sandbox.takeError());

  CampaignOptions options;
  options.seed = seedOption;
  options.start = startOption;
  options.runs = runsOption;
  options.seconds = secondsOption;
  options.backend = backendOption;
  options.pipeline = pipelineOption;
  options.reportKnown = reportKnownOption;
  options.artifacts = artifactsOption;
  return Campaign(*corpus, known, *sandbox, options).run() ? 1 : 0;
}
