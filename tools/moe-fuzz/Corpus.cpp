//===- Corpus.cpp - the files that mutation starts from -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Corpus.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::moe::fuzz;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

static bool isWordCharacter(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$';
}

static Token::Kind getSigilKind(char c) {
  switch (c) {
  case '%':
    return Token::Value;
  case '@':
    return Token::Symbol;
  case '#':
    return Token::Attribute;
  case '!':
    return Token::Type;
  case '^':
    return Token::Block;
  default:
    return Token::Punctuation;
  }
}

/// The length of the string literal at the start of `text`.
static size_t getStringLength(StringRef text) {
  size_t i = 1;
  while (i < text.size() && text[i] != '"' && text[i] != '\n')
    i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

/// The number at the start of `text`, without an `x` that ends a size.
static size_t getNumberLength(StringRef text, bool inShape) {
  if (inShape)
    return text.take_while(llvm::isDigit).size();
  return text.take_while([](char c) { return llvm::isAlnum(c) || c == '.'; })
      .size();
}

/// The first token of `text`, which is not empty, after token `previous`.
static Token takeToken(StringRef text, StringRef previous) {
  char c = text.front();
  bool inShape = previous == "<" || previous == "x";
  auto make = [&](Token::Kind kind, size_t size) {
    return Token{kind, text.take_front(std::max<size_t>(size, 1)).str()};
  };
  if (llvm::isSpace(c))
    return make(
        Token::Space,
        text.take_while([](char c) { return llvm::isSpace(c); }).size());
  if (c == '"')
    return make(Token::String, getStringLength(text));
  if (llvm::isDigit(c))
    return make(Token::Number, getNumberLength(text, inShape));
  // Between two sizes, or before the element type.
  if (c == 'x' && !previous.empty() &&
      (previous == "?" || previous == "*" ||
       llvm::all_of(previous, llvm::isDigit)))
    return make(Token::Punctuation, 1);
  if (isWordCharacter(c))
    return make(Token::Word, text.take_while(isWordCharacter).size());
  Token::Kind kind = getSigilKind(c);
  if (kind == Token::Punctuation)
    return make(kind, 1);
  size_t length = text.drop_front().take_while(isWordCharacter).size();
  return make(length ? kind : Token::Punctuation, length + 1);
}

std::vector<Token> mlir::moe::fuzz::tokenize(StringRef text) {
  std::vector<Token> tokens;
  StringRef previous;
  while (!text.empty()) {
    Token token = takeToken(text, previous);
    previous = text.take_front(token.text.size());
    text = text.drop_front(token.text.size());
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::string mlir::moe::fuzz::join(ArrayRef<Token> tokens) {
  std::string text;
  for (const Token &token : tokens)
    text += token.text;
  return text;
}

//===----------------------------------------------------------------------===//
// Corpus
//===----------------------------------------------------------------------===//

/// The text of an attribute in `#` syntax or an array at the start of
/// `tokens`, or nothing.
static std::string takeAttribute(ArrayRef<Token> tokens) {
  if (tokens.size() < 2 ||
      (tokens[0].kind != Token::Attribute && tokens[0].text != "array"))
    return "";
  if (tokens[1].text != "<")
    return tokens[0].text;
  int depth = 0;
  for (size_t i = 1; i < tokens.size(); ++i) {
    if (tokens[i].text == "<")
      ++depth;
    if (tokens[i].text == ">" && --depth == 0)
      return join(tokens.take_front(i + 1));
  }
  return "";
}

void Corpus::addDictionary(StringRef text) {
  std::vector<Token> all = tokenize(text);
  ArrayRef<Token> rest = all;
  for (size_t i = 0; i < all.size(); ++i) {
    tokens[all[i].kind].push_back(all[i].text);
    if (i + 4 >= all.size() || all[i].kind != Token::Word ||
        all[i + 2].text != "=")
      continue;
    std::string value = takeAttribute(rest.drop_front(i + 4));
    if (!value.empty())
      attributePairs.push_back(all[i].text + " = " + value);
  }
}

const Corpus::Seed &Corpus::pickSeed(Random &random) const {
  const Seed *seed = &random.pick(seeds);
  while (seed->isInvalid && !random.oneIn(8))
    seed = &random.pick(seeds);
  return *seed;
}

const Corpus::Seed &Corpus::pickProgram(Random &random) const {
  const Seed *seed = &pickSeed(random);
  for (int tries = 0; !seed->isWhole && tries < 64; ++tries)
    seed = &pickSeed(random);
  return *seed;
}

llvm::Error Corpus::addFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError(buffer.getError(),
                                   "cannot read '" + path + "'");
  SmallVector<StringRef> parts;
  (*buffer)->getBuffer().split(parts, "// -----");
  for (StringRef part : parts) {
    std::string text;
    for (StringRef line : llvm::split(part, '\n'))
      if (!line.ltrim().starts_with("//") && !line.trim().empty())
        (text += line) += "\n";
    if (text.empty())
      continue;
    addDictionary(text);
    bool isInvalid =
        part.contains("expected-error") || StringRef(path).contains("invalid");
    seeds.push_back({path, std::move(text), isInvalid, parts.size() == 1});
  }
  return llvm::Error::success();
}

/// The MLIR files in `folder` and below.
static llvm::Expected<std::vector<std::string>>
findFiles(const std::string &folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator it(folder, error), end;
       it != end && !error; it.increment(error))
    if (llvm::sys::path::extension(it->path()) == ".mlir")
      files.push_back(it->path());
  if (error)
    return llvm::createStringError(error, "cannot search '" + folder + "'");
  // The order of a directory is the file system's.
  llvm::sort(files);
  return files;
}

llvm::Expected<Corpus> Corpus::load(ArrayRef<std::string> paths) {
  Corpus corpus;
  for (const std::string &path : paths) {
    std::vector<std::string> files = {path};
    if (llvm::sys::fs::is_directory(path)) {
      auto found = findFiles(path);
      if (!found)
        return found.takeError();
      files = std::move(*found);
    }
    for (const std::string &file : files)
      if (llvm::Error error = corpus.addFile(file))
        return error;
  }
  if (corpus.seeds.empty())
    return llvm::createStringError("the corpus holds no MLIR files");
  auto makeUnique = [](std::vector<std::string> &list) {
    llvm::sort(list);
    list.erase(llvm::unique(list), list.end());
  };
  llvm::for_each(corpus.tokens, makeUnique);
  makeUnique(corpus.attributePairs);
  return corpus;
}
