//===- Campaign.cpp - make inputs, run them, report findings --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Campaign.h"

#include "IRMutator.h"
#include "Pipelines.h"
#include "TextMutator.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <csignal>
#include <cstring>

using namespace mlir;
using namespace mlir::moe::fuzz;

using Clock = std::chrono::steady_clock;

Campaign::Campaign(const Corpus &corpus, const KnownCrashes &known,
                   Sandbox sandbox, const CampaignOptions &options)
    : corpus(corpus), known(known), sandbox(sandbox), options(options),
      executor([this](StringRef stage) {
        this->sandbox.getState().setStage(stage);
      }) {}

//===----------------------------------------------------------------------===//
// In the child
//===----------------------------------------------------------------------===//

std::string Campaign::makeText(StringRef seed, Random &random) {
  size_t way = random.below(10);
  if (way < 6)
    return mutateText(seed, corpus, random);

  // The others need IR.
  MLIRContext context(executor.getRegistry(), MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) {});
  // Some files of the corpus are invalid by design.
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  auto module = parseSourceString<ModuleOp>(seed, config);
  if (!module)
    return mutateText(seed, corpus, random);
  if (way == 9)
    return mutateBytecode(writeBytecode(*module), random);
  mutateIR(*module, random);
  if (random.oneIn(4))
    return writeBytecode(*module);
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, OpPrintingFlags().printGenericOpForm());
  return text;
}

void Campaign::makeInput(uint64_t index) {
  ChildState &state = sandbox.getState();
  state.index = index;
  state.generating = true;
  state.inputSize = 0;
  state.setStage("mutation");
  Random random(options.seed, index);
  bool isProgram = random.oneIn(10);
  StringRef seed =
      (isProgram ? corpus.pickProgram(random) : corpus.pickSeed(random)).text;
  std::string pipeline =
      isProgram ? pickCompilation(corpus, options.backend, random)
                : pickPipeline(seed, corpus, options.backend, random);
  state.setPipeline(options.pipeline.empty() ? pipeline : options.pipeline);
  state.setInput(makeText(seed, random));
}

bool Campaign::runInput() {
  ChildState &state = sandbox.getState();
  state.generating = false;
  state.setStage("start");
  // A copy on the heap, where a sanitizer sees its end.
  std::string input = state.getInput().str();
  Result result = executor.run(input, state.pipeline);
  ++state.outcomes[static_cast<size_t>(result.outcome)];
  state.setBug(result.bug);
  return result.outcome != Outcome::Bug;
}

bool Campaign::runBatch(uint64_t begin, uint64_t end) {
  for (uint64_t index = begin; index < end; ++index) {
    sandbox.startInput();
    makeInput(index);
    if (!runInput())
      return false;
    // Corrupt bytecode may have corrupted the child's memory, for which the
    // next input must not be blamed.
    if (sandbox.getState().getInput().starts_with("ML\xefR"))
      break;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// In the parent
//===----------------------------------------------------------------------===//

/// The line of `report` in which a sanitizer or LLVM says what happened.
static StringRef findMessage(StringRef report) {
  for (StringRef line : llvm::split(report, '\n'))
    for (StringRef mark : {"ERROR: AddressSanitizer: ", "runtime error: ",
                           "LLVM ERROR: ", "UNREACHABLE executed"})
      if (size_t at = line.find(mark); at != StringRef::npos)
        return line.drop_front(at);
  return "";
}

std::string Campaign::describeCrash(ChildEnd end) {
  ChildState &state = sandbox.getState();
  if (end == ChildEnd::Bug)
    return state.bug;
  if (end == ChildEnd::Timeout)
    return "time limit";
  if (end == ChildEnd::Killed)
    return "killed";
  std::string output = sandbox.getErrorOutput();
  if (StringRef message = findMessage(output); !message.empty())
    return message.str();
  return state.signal ? strsignal(state.signal) : "call of exit()";
}

Event Campaign::describe(ChildEnd end) {
  ChildState &state = sandbox.getState();
  Event event;
  event.index = state.index;
  event.isGenerating = state.generating;
  event.input = state.getInput().str();
  event.pipeline = state.pipeline;
  event.stage = state.stage;
  event.isTimeout = end == ChildEnd::Timeout;
  event.message = describeCrash(end);
  if (end == ChildEnd::Bug) {
    // Numbers and names in it differ from input to input.
    event.signature =
        StringRef(event.message)
            .take_until([](char c) {
              return c == '\'' || c == '%' || c == '"' || llvm::isDigit(c);
            })
            .str();
    event.known = known.find(
        {KnownCrashes::Bug, event.stage, event.input, event.message, {}});
    return event;
  }
  event.frames =
      symbolizer.symbolize(ArrayRef<void *>(state.frames, state.numFrames));
  // A time limit strikes anywhere in a loop.
  event.signature = event.isTimeout
                        ? "time limit in " + event.stage
                        : event.stage + ": " + getSignature(event.frames);
  event.known =
      known.find({event.isTimeout ? KnownCrashes::Timeout : KnownCrashes::Crash,
                  event.stage, event.input, event.message, event.frames});
  // Mutation calls upstream as no input can. What it needs of this project must
  // not crash all the same.
  bool hasOurs = llvm::any_of(event.frames,
                              [](const Frame &frame) { return frame.isOurs; });
  if (event.known.empty() && state.generating && !hasOurs)
    event.known = "while mutating";
  return event;
}

ChildEnd Campaign::runAgain(llvm::function_ref<bool()> body) {
  uint64_t outcomes[4];
  std::copy_n(sandbox.getState().outcomes, 4, outcomes);
  ChildEnd end = sandbox.run(body);
  std::copy_n(outcomes, 4, sandbox.getState().outcomes);
  return end;
}

ChildEnd Campaign::runAlone(const Event &event, StringRef input) {
  return runAgain([&] {
    ChildState &state = sandbox.getState();
    sandbox.startInput();
    state.index = event.index;
    state.setPipeline(event.pipeline);
    state.setInput(input);
    return runInput();
  });
}

bool Campaign::happensAlone(const Event &event) {
  ChildEnd end =
      event.isGenerating
          ? runAgain([&] { return runBatch(event.index, event.index + 1); })
          : runAlone(event, event.input);
  return end != ChildEnd::Done;
}

void Campaign::handle(Event event) {
  // An earlier input of the child may have corrupted its memory, or what the
  // mutation of this one called of upstream. The sanitizer build finds the
  // former.
  if (event.known.empty() && !happensAlone(event))
    event.known = "not by this input alone";
  if (!event.known.empty()) {
    if (knownCounts[event.known]++ == 0 && options.reportKnown)
      report(event);
    return;
  }
  if (findingCounts[event.signature]++ == 0)
    report(event);
}

size_t Campaign::run() {
  auto start = Clock::now();
  auto timeIsUp = [&] {
    return options.seconds &&
           Clock::now() - start > std::chrono::seconds(options.seconds);
  };
  std::fill_n(sandbox.getState().outcomes, 4, 0);
  uint64_t index = options.start, end = options.start + options.runs;
  while (index < end && !timeIsUp()) {
    uint64_t batchEnd = std::min(index + options.batch, end);
    ChildEnd result = sandbox.run([&] { return runBatch(index, batchEnd); });
    if (result == ChildEnd::Done) {
      index = sandbox.getState().index + 1;
      continue;
    }
    index = sandbox.getState().index + 1;
    handle(describe(result));
  }
  printSummary(index - options.start);
  return findingCounts.size();
}

void Campaign::printSummary(uint64_t inputs) {
  const uint64_t *outcomes = sandbox.getState().outcomes;
  auto &os = llvm::outs();
  os << inputs << " inputs (seed " << options.seed
     << "): " << outcomes[static_cast<size_t>(Outcome::Refused)] << " refused, "
     << outcomes[static_cast<size_t>(Outcome::Failed)]
     << " valid but refused by a pass, "
     << outcomes[static_cast<size_t>(Outcome::Passed)] << " passed\n";
  for (auto &[name, count] : knownCounts)
    os << "known: " << name << ": " << count << "\n";
  for (auto &[signature, count] : findingCounts)
    os << "finding: " << signature << ": " << count << "\n";
  os << findingCounts.size() << " findings\n";
}

//===----------------------------------------------------------------------===//
// Findings
//===----------------------------------------------------------------------===//

bool Campaign::happensWith(const Event &event, StringRef input) {
  ChildEnd end = runAlone(event, input);
  return end != ChildEnd::Done && describe(end).signature == event.signature;
}

/// Joins all of `parts` but `count` of them from `at` on.
static std::string joinWithout(ArrayRef<std::string> parts, size_t at,
                               size_t count) {
  std::string text;
  for (auto [i, part] : llvm::enumerate(parts))
    if (i < at || i >= at + count)
      text += part;
  return text;
}

std::string Campaign::reduce(const Event &event) {
  // Long enough for small inputs; large ones stay larger.
  auto deadline = Clock::now() + std::chrono::seconds(20);
  std::string best = event.input;
  // Whole lines first, then tokens.
  for (bool lines : {true, false}) {
    std::vector<std::string> parts;
    if (lines)
      for (StringRef line : llvm::split(best, '\n'))
        parts.push_back(line.str() + "\n");
    else
      for (Token &token : tokenize(best))
        parts.push_back(token.text);
    for (size_t count = parts.size() / 2; count > 0; count /= 2) {
      for (size_t at = 0; at < parts.size() && Clock::now() < deadline;) {
        std::string candidate = joinWithout(parts, at, count);
        if (!happensWith(event, candidate)) {
          at += count;
          continue;
        }
        best = candidate;
        size_t last = std::min(at + count, parts.size());
        parts.erase(parts.begin() + at, parts.begin() + last);
      }
    }
  }
  return best;
}

/// What shows `event` with the input at `path`.
static std::string getCommand(const Event &event, StringRef path) {
  if (StringRef options = event.pipeline; options.consume_front("moe-compile"))
    return ("moe-compile " + path + " --entry=<a function>" + options).str();
  return ("moe-opt " + path +
          " --allow-unregistered-dialect --pass-pipeline='builtin.module(" +
          event.pipeline + ")'" +
          (event.stage == "round trip" ? " --verify-roundtrip" : ""))
      .str();
}

void Campaign::report(const Event &event) {
  auto &os = llvm::outs();
  os << (event.known.empty() ? "finding: " : "known: ") << event.signature
     << "\n  input " << event.index << ", stage: " << event.stage << "\n  "
     << event.message << "\n";
  for (const Frame &frame : ArrayRef<Frame>(event.frames).take_front(16))
    os << "    " << (frame.isOurs ? "* " : "  ") << frame.name << "\n";
  bool isText = !StringRef(event.input).starts_with("ML\xefR");
  std::string input = isText ? reduce(event) : event.input;

  SmallString<128> path(options.artifacts);
  std::string name = "finding-" + std::to_string(options.seed) + "-" +
                     std::to_string(event.index) +
                     (isText ? ".mlir" : ".mlirbc");
  llvm::sys::path::append(path, name);
  std::error_code error = llvm::sys::fs::create_directories(options.artifacts);
  if (!error) {
    llvm::raw_fd_ostream file(path, error);
    if (!error)
      file << input;
  }
  if (isText && input.size() < 4096)
    os << "  reduced input:\n" << input << "\n";
  os << "  to see it again: " << getCommand(event, path)
     << "\n  or: moe-fuzz --seed=" << options.seed << " --start=" << event.index
     << " --runs=1 <the same corpus>\n";
  if (error)
    os << "  (the input could not be written: " << error.message() << ")\n";
  os.flush();
}
