//===- Sandbox.cpp - run inputs where a crash does no harm ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sandbox.h"

#include "llvm/Support/thread.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <execinfo.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace mlir::moe::fuzz;

#ifdef __SANITIZE_ADDRESS__
// Findings end the child by SIGABRT, whose handler records the stack. That has
// a stack of its own, which the sanitizer would take for one of its making and
// unmap when the thread ends. The rest is explained in test/moe_lit.py, whose
// environment takes precedence.
extern "C" const char *__asan_default_options() {
  return "abort_on_error=1:handle_abort=1:detect_leaks=0:"
         "allow_user_poisoning=0:detect_stack_use_after_return=0:"
         "use_sigaltstack=0:allocator_may_return_null=1";
}
extern "C" const char *__ubsan_default_options() {
  return "abort_on_error=1:halt_on_error=1:print_stacktrace=1";
}
static constexpr bool kHasSanitizer = true;
#else
static constexpr bool kHasSanitizer = false;
#endif

/// As in the guard of the tools: parsers and verifiers recurse.
static constexpr unsigned kStackBytes = 512u << 20;

/// Exit statuses of a child.
static constexpr int kBugStatus = 101, kCrashStatus = 102, kTimeoutStatus = 103;

static void setText(char (&to)[ChildState::kMaxText], StringRef from) {
  size_t size = std::min(from.size(), ChildState::kMaxText - 1);
  memcpy(to, from.data(), size);
  to[size] = '\0';
}

void ChildState::setInput(StringRef text) {
  inputSize = std::min(text.size(), kMaxInput);
  memcpy(input, text.data(), inputSize);
}
void ChildState::setStage(StringRef text) { setText(stage, text); }
void ChildState::setPipeline(StringRef text) { setText(pipeline, text); }
void ChildState::setBug(StringRef text) { setText(bug, text); }

//===----------------------------------------------------------------------===//
// The child
//===----------------------------------------------------------------------===//

/// Where handlers find the state: they take no other argument.
static ChildState *handlerState;

static void recordStack(int signal) {
  handlerState->signal = signal;
  handlerState->numFrames =
      backtrace(handlerState->frames, ChildState::kMaxFrames);
}

static void handleSignal(int signal) {
  recordStack(signal);
  bool timeout = signal == SIGPROF || signal == SIGALRM;
  _exit(timeout ? kTimeoutStatus : kCrashStatus);
}

/// A fatal error of LLVM may call exit().
static void handleExit() {
  recordStack(0);
  _exit(kCrashStatus);
}

/// Handlers for the calling thread, with a stack of their own: that of the
/// thread may have overflown.
static void installHandlers() {
  static char handlerStack[256 << 10];
  stack_t stack = {};
  stack.ss_sp = handlerStack;
  stack.ss_size = sizeof(handlerStack);
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = handleSignal;
  action.sa_flags = SA_ONSTACK;
  sigfillset(&action.sa_mask);
  for (int signal :
       {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP, SIGPROF, SIGALRM})
    sigaction(signal, &action, nullptr);
  std::atexit(handleExit);
}

static sigset_t getClockSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPROF);
  sigaddset(&set, SIGALRM);
  return set;
}

void Sandbox::startInput() {
  itimerval time = {};
  time.it_value.tv_sec = cpuSeconds;
  setitimer(ITIMER_PROF, &time, nullptr);
  // For what waits instead of working; the machine may be busy.
  time.it_value.tv_sec = 20 * cpuSeconds;
  setitimer(ITIMER_REAL, &time, nullptr);
}

void Sandbox::runChild(llvm::function_ref<bool()> body) {
  if (ftruncate(errorFile, 0) == 0)
    lseek(errorFile, 0, SEEK_SET);
  dup2(errorFile, STDERR_FILENO);
  rlimit noCore = {};
  setrlimit(RLIMIT_CORE, &noCore);
  // A sanitizer reserves terabytes of address space.
  if (!kHasSanitizer) {
    rlimit memory = {};
    memory.rlim_cur = memory.rlim_max = static_cast<rlim_t>(memoryMiB) << 20;
    setrlimit(RLIMIT_AS, &memory);
  }
  handlerState = state;
  // The clock's signals must interrupt the thread that works.
  sigset_t clockSignals = getClockSignals();
  pthread_sigmask(SIG_BLOCK, &clockSignals, nullptr);
  bool good = false;
  llvm::thread worker(std::optional<unsigned>(kStackBytes), [&] {
    installHandlers();
    pthread_sigmask(SIG_UNBLOCK, &clockSignals, nullptr);
    good = body();
  });
  worker.join();
  _exit(good ? 0 : kBugStatus);
}

//===----------------------------------------------------------------------===//
// The parent
//===----------------------------------------------------------------------===//

llvm::Expected<Sandbox> Sandbox::create(unsigned cpuSeconds,
                                        unsigned memoryMiB) {
  Sandbox sandbox;
  sandbox.cpuSeconds = cpuSeconds;
  sandbox.memoryMiB = memoryMiB;
  void *memory = mmap(nullptr, sizeof(ChildState), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  FILE *file = tmpfile();
  if (memory == MAP_FAILED || !file)
    return llvm::createStringError("no shared memory or temporary file");
  sandbox.state = static_cast<ChildState *>(memory);
  sandbox.errorFile = fileno(file);
  // The first call loads the unwinder, which a handler must not.
  void *frame;
  backtrace(&frame, 1);
  return sandbox;
}

ChildEnd Sandbox::run(llvm::function_ref<bool()> body) {
  state->numFrames = 0;
  state->bug[0] = '\0';
  // Or both processes would write what is buffered.
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0)
    runChild(body);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
    return ChildEnd::Killed;
  switch (WEXITSTATUS(status)) {
  case 0:
    return ChildEnd::Done;
  case kBugStatus:
    return ChildEnd::Bug;
  case kCrashStatus:
    return ChildEnd::Crash;
  case kTimeoutStatus:
    return ChildEnd::Timeout;
  default:
    return ChildEnd::Killed;
  }
}

std::string Sandbox::getErrorOutput() {
  std::string text(64 << 10, '\0');
  ssize_t size = pread(errorFile, &text[0], text.size(), 0);
  text.resize(std::max<ssize_t>(size, 0));
  return text;
}
