//===- Corpus.h - the files that mutation starts from -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOE_TOOLS_MOEFUZZ_CORPUS_H
#define MOE_TOOLS_MOEFUZZ_CORPUS_H

#include "Random.h"

#include "mlir/Support/LLVM.h"
#include "llvm/Support/Error.h"

#include <array>
#include <string>
#include <vector>

namespace mlir::moe::fuzz {

/// A piece of MLIR text, as far as mutation tells pieces apart.
struct Token {
  enum Kind {
    Space,
    Number,
    String,
    /// A keyword, an op name, or a type.
    Word,
    /// A value, symbol, attribute, type alias or block: `%x @x #x !x ^x`.
    Value,
    Symbol,
    Attribute,
    Type,
    Block,
    Punctuation
  };
  static constexpr unsigned numKinds = Punctuation + 1;

  Kind kind;
  std::string text;
};

/// Splits `text` into tokens that, joined, are `text`. In a shape
/// (`8x?x16xbf16`) every size, `x` and the element type is a token.
std::vector<Token> tokenize(StringRef text);

/// Joins tokens.
std::string join(ArrayRef<Token> tokens);

/// The inputs that mutation starts from.
class Corpus {
public:
  /// One module: a file, or a part of it between lines `// -----`, without the
  /// lines that are comments.
  struct Seed {
    std::string file;
    std::string text;
    /// Whether the test expects an error.
    bool isInvalid;
    /// Whether it is the whole of its file, as programs are.
    bool isWhole;
  };

  /// Reads `paths`: MLIR files, or folders that are searched for `*.mlir`.
  static llvm::Expected<Corpus> load(ArrayRef<std::string> paths);

  ArrayRef<Seed> getSeeds() const { return seeds; }

  /// One of the seeds, a valid one most of the time.
  const Seed &pickSeed(Random &random) const;

  /// One of the seeds that may be a program to compile.
  const Seed &pickProgram(Random &random) const;

  /// All different tokens of a kind.
  ArrayRef<std::string> getTokens(Token::Kind kind) const {
    return tokens[kind];
  }

  /// All different `name = value` pairs whose value is an attribute in `#`
  /// syntax or an array, such as `weight_layout = #moe.weight_layout<kn>`.
  ArrayRef<std::string> getAttributePairs() const { return attributePairs; }

private:
  llvm::Error addFile(const std::string &path);
  void addDictionary(StringRef text);

  std::vector<Seed> seeds;
  std::array<std::vector<std::string>, Token::numKinds> tokens;
  std::vector<std::string> attributePairs;
};

} // namespace mlir::moe::fuzz

#endif // MOE_TOOLS_MOEFUZZ_CORPUS_H
