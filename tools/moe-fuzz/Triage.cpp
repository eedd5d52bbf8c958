//===- Triage.cpp - whose crash it is -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Triage.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <dlfcn.h>

using namespace mlir;
using namespace mlir::moe::fuzz;

//===----------------------------------------------------------------------===//
// Stacks
//===----------------------------------------------------------------------===//

Symbolizer::Symbolizer()
    : executable(llvm::sys::fs::getMainExecutable(
          nullptr, reinterpret_cast<void *>(&getSignature))) {}

ArrayRef<Frame> Symbolizer::lookUp(void *address) {
  auto [it, isNew] = cache.try_emplace(address);
  std::vector<Frame> &frames = it->second;
  if (!isNew)
    return frames;
  // The call is before the address to return to.
  auto call = reinterpret_cast<uintptr_t>(address) - 1;
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(call), &info) || !info.dli_fname)
    return frames;
  std::string path = info.dli_fname;
  // The dynamic linker knows the executable by the name it was called by.
  bool isOurs = !StringRef(path).contains(".so");
  if (isOurs)
    path = executable;
  uintptr_t offset = call - reinterpret_cast<uintptr_t>(info.dli_fbase);
  auto names = symbolizer.symbolizeInlinedCode(
      path, {offset, llvm::object::SectionedAddress::UndefSection});
  if (!names) {
    llvm::consumeError(names.takeError());
    return frames;
  }
  for (uint32_t i = 0; i < names->getNumberOfFrames(); ++i) {
    std::string name = names->getFrame(i).FunctionName;
    if (name.empty() || name == llvm::DILineInfo::BadString)
      name = llvm::sys::path::filename(path).str();
    frames.push_back({std::move(name), isOurs});
  }
  return frames;
}

/// Whether a frame belongs to what handles and reports a crash.
static bool isReporting(const Frame &frame) {
  StringRef name = frame.name;
  return name.contains("moe::fuzz::") || name.contains("handleSignal") ||
         name.contains("recordStack") || name.contains("handleExit") ||
         name.contains("sanitizer") || name.contains("__asan") ||
         name.contains("__ubsan") || name.contains("libasan") ||
         name.contains("libubsan") || name.contains("libc.so") ||
         name.contains("_interceptor_") || name == "backtrace" ||
         name == "abort" || name == "raise" || name == "gsignal" ||
         name == "exit" || name.contains("report_fatal_error") ||
         name.contains("reportFatal") || name.contains("std::terminate") ||
         name.contains("__cxxabiv1") || name.contains("libstdc++");
}

std::vector<Frame> Symbolizer::symbolize(ArrayRef<void *> stack) {
  std::vector<Frame> frames;
  for (void *address : stack)
    llvm::append_range(frames, lookUp(address));
  size_t begin = 0;
  while (begin < frames.size() && isReporting(frames[begin]))
    ++begin;
  frames.erase(frames.begin(), frames.begin() + begin);
  // The innermost frame of the fuzzer, and what of upstream's headers it calls.
  auto isDriver = [](const Frame &frame) {
    return StringRef(frame.name).contains("moe::fuzz::");
  };
  auto end = llvm::find_if(frames, isDriver);
  auto isHeader = [](const Frame &frame) {
    return frame.isOurs && !StringRef(frame.name).contains("moe::");
  };
  while (end != frames.end() && end != frames.begin() && isHeader(*(end - 1)))
    --end;
  frames.erase(end, frames.end());
  return frames;
}

std::string mlir::moe::fuzz::getSignature(ArrayRef<Frame> frames) {
  SmallVector<StringRef> names;
  for (const Frame &frame : frames) {
    // A function without a name is called after its library.
    StringRef name = StringRef(frame.name).split('(').first;
    if (name.empty() || StringRef(frame.name).contains(".so"))
      continue;
    names.push_back(
        StringRef(frame.name).starts_with("(") ? StringRef(frame.name) : name);
    if (names.size() == 4)
      break;
  }
  return names.empty() ? "no stack" : llvm::join(names, " <- ");
}

//===----------------------------------------------------------------------===//
// Known crashes
//===----------------------------------------------------------------------===//

llvm::Error KnownCrashes::load(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError(buffer.getError(),
                                   "cannot read '" + path + "'");
  for (StringRef line : llvm::split((*buffer)->getBuffer(), '\n')) {
    line = line.trim();
    if (line.empty() || line.starts_with("#"))
      continue;
    Entry entry;
    entry.kind = line.consume_front("timeout ") ? Timeout
                 : line.consume_front("bug ")   ? Bug
                                                : Crash;
    auto [name, functions] = line.split(": ");
    if (functions.empty())
      return llvm::createStringError(
          "'" + path + "': expected 'name: function <- caller', got '" + line +
          "'");
    entry.name = name.str();
    for (StringRef function : llvm::split(functions, " <- ")) {
      function = function.trim();
      if (function.consume_front("stage "))
        entry.stage = function.str();
      else if (function.consume_front("input "))
        entry.input = function.str();
      else if (function.consume_front("message "))
        entry.message = function.str();
      else
        entry.functions.push_back(function.str());
    }
    entries.push_back(std::move(entry));
  }
  return llvm::Error::success();
}

/// Whether `functions` are in `frames`, in this order from the innermost on,
/// and nothing else of this project before the last of them.
static bool areOn(ArrayRef<Frame> frames, ArrayRef<std::string> functions) {
  for (const Frame &frame : frames) {
    if (functions.empty())
      break;
    if (StringRef(frame.name).contains(functions.front()))
      functions = functions.drop_front();
    else if (frame.isOurs)
      break;
  }
  return functions.empty();
}

bool KnownCrashes::Entry::matches(const Symptoms &symptoms) const {
  Frame noStack = {"no stack", /*isOurs=*/false};
  ArrayRef<Frame> frames = symptoms.frames;
  if (frames.empty())
    frames = noStack;
  return kind == symptoms.kind && (stage.empty() || stage == symptoms.stage) &&
         symptoms.input.contains(input) && symptoms.message.contains(message) &&
         areOn(frames, functions);
}

StringRef KnownCrashes::find(const Symptoms &symptoms) const {
  for (const Entry &entry : entries)
    if (entry.matches(symptoms))
      return entry.name;
  return "";
}
