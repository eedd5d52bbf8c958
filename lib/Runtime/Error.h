//===- Error.h - Errors inside the runtime ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Inside the library an error is an exception, because the JSON parser and the
// standard containers throw anyway; the C functions turn it into a status.
//
//===----------------------------------------------------------------------===//

#ifndef MOE_LIB_RUNTIME_ERROR_H
#define MOE_LIB_RUNTIME_ERROR_H

#include "moe/Runtime/MoERuntime.h"

#include <sstream>
#include <stdexcept>
#include <string>

namespace moe::runtime {

/// A status together with a message for the caller.
class Error : public std::runtime_error {
public:
  Error(MoEStatus status, const std::string &message)
      : std::runtime_error(message), status(status) {}
  MoEStatus status;
};

/// Joins its operands as an output stream prints them.
template <typename... Ts> std::string cat(const Ts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

/// Throws an Error whose message is `parts` joined.
template <typename... Ts>
[[noreturn]] void fail(MoEStatus status, const Ts &...parts) {
  throw Error(status, cat(parts...));
}

} // namespace moe::runtime

#endif // MOE_LIB_RUNTIME_ERROR_H
