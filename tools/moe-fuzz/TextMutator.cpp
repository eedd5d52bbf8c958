//===- TextMutator.cpp - changes to MLIR text -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TextMutator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::moe::fuzz;

/// Inputs that grew beyond this are cut: duplicated lines would otherwise make
/// them grow without end.
static constexpr size_t kMaxText = 256u << 10;

static const char *const kNumbers[] = {
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "8",
    "9",
    "16",
    "33",
    "63",
    "64",
    "65",
    "127",
    "128",
    "255",
    "256",
    "257",
    "1000003",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "-2147483648",
    "1099511627776",
    "4611686018427387904",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "340282366920938463463374607431768211456",
    "1.0e+308",
    "-1.0",
    "0.5",
    "0xFF",
    "0x7FC00000"};

static const char *const kElementTypes[] = {"f32",
                                            "f16",
                                            "bf16",
                                            "f64",
                                            "i32",
                                            "i64",
                                            "index",
                                            "i1",
                                            "i8",
                                            "i4",
                                            "f8E4M3FN",
                                            "f8E5M2",
                                            "tf32",
                                            "f4E2M1FN",
                                            "si32",
                                            "ui64",
                                            "complex<f32>",
                                            "i128",
                                            "none",
                                            "!llvm.ptr",
                                            "vector<4xf32>",
                                            "!quant.any<i8<-8:7>:f32>"};

static const char *const kShapedTypes[] = {
    "tensor<*xf32>",
    "tensor<bf16>",
    "tensor<0x0xbf16>",
    "tensor<?x?xbf16>",
    "tensor<?x?x?xf16>",
    "tensor<?xi32>",
    "tensor<?xi64>",
    "tensor<8x8xf32, \"encoding\">",
    "memref<*xbf16>",
    "memref<?x?xbf16>",
    "memref<?x?x?xbf16, strided<[?, ?, ?], offset: ?>>",
    "memref<64x64xbf16, strided<[1, 64]>>",
    "memref<64x64xbf16, strided<[0, -1], offset: 7>>",
    "memref<64x64xbf16, affine_map<(i, j) -> (j, i)>>",
    "memref<64x64xbf16, 3>",
    "memref<64x64xf32, #gpu.address_space<workgroup>>",
    "memref<9223372036854775807x2xbf16>",
    "tensor<9223372036854775807x2xbf16>",
    "vector<64x8xf32>",
    "vector<[4]xf32>"};

StringRef mlir::moe::fuzz::pickNumber(Random &random) {
  return random.pick(kNumbers);
}

namespace {
/// The text under mutation.
class TextMutator {
public:
  TextMutator(StringRef text, const Corpus &corpus, Random &random)
      : corpus(corpus), random(random), tokens(tokenize(text)) {}

  void mutateOnce();
  std::string take() { return join(tokens); }

private:
  /// A position of a token that `accept` accepts, if there is one.
  std::optional<size_t> find(llvm::function_ref<bool(const Token &)> accept);
  std::optional<size_t> findKind(Token::Kind kind);
  std::optional<size_t> findSolid();
  bool isElementType(size_t position) const;

  void replaceAll(const std::string &from, StringRef to);
  void retokenize(const std::string &text) { tokens = tokenize(text); }

  void swapTokens();
  void deleteToken();
  void duplicateToken();
  void replaceNumber();
  void replaceNumberEverywhere();
  void replaceElementType();
  void replaceElementTypeEverywhere();
  void replaceSize();
  void replaceShapedType();
  void replaceContainer();
  void replaceByKind();
  void swapValues();
  void insertAttribute();
  void replaceAttribute();
  void changeLines();
  void splice();

  const Corpus &corpus;
  Random &random;
  std::vector<Token> tokens;
};
} // namespace

std::optional<size_t>
TextMutator::find(llvm::function_ref<bool(const Token &)> accept) {
  if (tokens.empty())
    return std::nullopt;
  size_t start = random.below(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    size_t position = (start + i) % tokens.size();
    if (accept(tokens[position]))
      return position;
  }
  return std::nullopt;
}

std::optional<size_t> TextMutator::findKind(Token::Kind kind) {
  return find([&](const Token &token) { return token.kind == kind; });
}

std::optional<size_t> TextMutator::findSolid() {
  return find([](const Token &token) { return token.kind != Token::Space; });
}

bool TextMutator::isElementType(size_t position) const {
  return position > 0 && tokens[position].kind == Token::Word &&
         (tokens[position - 1].text == "x" || tokens[position - 1].text == "<");
}

void TextMutator::replaceAll(const std::string &from, StringRef to) {
  for (Token &token : tokens)
    if (token.text == from)
      token.text = to.str();
}

void TextMutator::swapTokens() {
  auto a = findSolid(), b = findSolid();
  if (a && b)
    std::swap(tokens[*a], tokens[*b]);
}

void TextMutator::deleteToken() {
  if (auto at = findSolid())
    tokens.erase(tokens.begin() + *at);
}

void TextMutator::duplicateToken() {
  if (auto at = findSolid()) {
    Token copy = tokens[*at];
    tokens.insert(tokens.begin() + *at, {copy, {Token::Space, " "}});
  }
}

void TextMutator::replaceNumber() {
  if (auto at = findKind(Token::Number))
    tokens[*at].text = pickNumber(random).str();
}

void TextMutator::replaceNumberEverywhere() {
  if (auto at = findKind(Token::Number))
    replaceAll(std::string(tokens[*at].text),
               random.oneIn(4) ? StringRef("?") : pickNumber(random));
}

void TextMutator::replaceElementType() {
  if (auto at = findKind(Token::Word); at && isElementType(*at))
    tokens[*at].text = random.pick(kElementTypes);
}

void TextMutator::replaceElementTypeEverywhere() {
  static const char *const common[] = {"f32", "f16", "bf16", "i32", "i64"};
  std::string from = random.pick(common);
  // Mostly types that the ops take.
  replaceAll(from, random.oneIn(3) ? random.pick(kElementTypes)
                                   : random.pick(common));
}

void TextMutator::replaceSize() {
  auto at = find([](const Token &token) {
    return token.kind == Token::Number || token.text == "?";
  });
  if (!at || *at == 0)
    return;
  StringRef before = tokens[*at - 1].text;
  if (before != "<" && before != "x")
    return;
  switch (random.below(4)) {
  case 0:
    tokens[*at].text = "?";
    break;
  case 1: // One dimension more.
    tokens[*at].text += "x8";
    break;
  case 2: // One dimension less.
    if (*at + 1 < tokens.size())
      tokens.erase(tokens.begin() + *at, tokens.begin() + *at + 2);
    break;
  default:
    tokens[*at].text = pickNumber(random).str();
  }
}

void TextMutator::replaceShapedType() {
  auto at = find([](const Token &token) {
    return token.text == "tensor" || token.text == "memref" ||
           token.text == "vector";
  });
  if (!at)
    return;
  int depth = 0;
  size_t end = *at + 1;
  for (; end < tokens.size(); ++end) {
    depth += tokens[end].text == "<";
    depth -= tokens[end].text == ">";
    if (depth <= 0)
      break;
  }
  if (end == tokens.size())
    return;
  std::vector<Token> type(tokens.begin() + *at, tokens.begin() + end + 1);
  std::string from = join(type), text = take();
  std::string to = random.pick(kShapedTypes);
  if (random.oneIn(2)) { // Everywhere.
    for (size_t i = text.find(from); i != std::string::npos;
         i = text.find(from, i + to.size()))
      text.replace(i, from.size(), to);
    return retokenize(text);
  }
  tokens.erase(tokens.begin() + *at + 1, tokens.begin() + end + 1);
  tokens[*at].text = to;
}

void TextMutator::replaceContainer() {
  static const char *const containers[] = {"tensor", "memref", "vector"};
  std::string from = random.pick(containers), to = random.pick(containers);
  if (random.oneIn(2))
    return replaceAll(from, to);
  if (auto at = find([&](const Token &token) { return token.text == from; }))
    tokens[*at].text = to;
}

void TextMutator::replaceByKind() {
  auto at = findSolid();
  if (!at)
    return;
  ArrayRef<std::string> others = corpus.getTokens(tokens[*at].kind);
  if (!others.empty())
    tokens[*at].text = random.pick(others);
}

void TextMutator::swapValues() {
  auto a = findKind(Token::Value), b = findKind(Token::Value);
  if (!a || !b)
    return;
  if (random.oneIn(2))
    std::swap(tokens[*a], tokens[*b]);
  else
    tokens[*a] = tokens[*b];
}

void TextMutator::insertAttribute() {
  auto at = find([](const Token &token) { return token.text == "{"; });
  if (!at || corpus.getAttributePairs().empty())
    return;
  ArrayRef<std::string> pairs = corpus.getAttributePairs();
  tokens[*at].text += random.pick(pairs) + (random.oneIn(8) ? " " : ", ");
  retokenize(take());
}

void TextMutator::replaceAttribute() {
  ArrayRef<std::string> pairs = corpus.getAttributePairs();
  auto at = find([&](const Token &token) {
    return token.kind == Token::Word &&
           llvm::any_of(pairs, [&](StringRef pair) {
             return pair.split(" = ").first == token.text;
           });
  });
  if (!at)
    return;
  // Another value of the same attribute, or any other attribute in its place.
  std::string text = take(), old;
  size_t offset = join(ArrayRef<Token>(tokens).take_front(*at)).size();
  for (const std::string &pair : pairs)
    if (StringRef(text).substr(offset).starts_with(pair) &&
        pair.size() > old.size())
      old = pair;
  SmallVector<StringRef> choices;
  for (StringRef pair : pairs)
    if (pair.split(" = ").first == tokens[*at].text || random.oneIn(16))
      choices.push_back(pair);
  if (old.empty() || choices.empty())
    return;
  text.replace(offset, old.size(), random.pick(choices).str());
  retokenize(text);
}

void TextMutator::changeLines() {
  std::string text = take();
  SmallVector<StringRef> lines;
  StringRef(text).split(lines, '\n');
  size_t at = random.below(lines.size());
  size_t count = 1 + random.below(std::min<size_t>(lines.size() - at, 4));
  switch (random.below(4)) {
  case 0:
    lines.erase(lines.begin() + at, lines.begin() + at + count);
    break;
  case 1: {
    SmallVector<StringRef> copy(lines.begin() + at, lines.begin() + at + count);
    lines.insert(lines.begin() + random.below(lines.size() + 1), copy.begin(),
                 copy.end());
    break;
  }
  case 2:
    std::swap(lines[at], random.pick(lines));
    break;
  default: {
    SmallVector<StringRef> other;
    ArrayRef<Corpus::Seed> seeds = corpus.getSeeds();
    StringRef(random.pick(seeds).text).split(other, '\n');
    lines.insert(lines.begin() + at, random.pick(other));
  }
  }
  retokenize(llvm::join(lines, "\n"));
}

void TextMutator::splice() {
  ArrayRef<Corpus::Seed> seeds = corpus.getSeeds();
  StringRef other = random.pick(seeds).text;
  std::string text = take();
  if (random.oneIn(2)) // Two modules in one.
    return retokenize(text + other.str());
  SmallVector<StringRef> head, tail;
  StringRef(text).split(head, '\n');
  other.split(tail, '\n');
  head.truncate(random.below(head.size() + 1));
  tail.erase(tail.begin(), tail.begin() + random.below(tail.size() + 1));
  retokenize(llvm::join(head, "\n") + "\n" + llvm::join(tail, "\n"));
}

void TextMutator::mutateOnce() {
  using Mutation = void (TextMutator::*)();
  // Those that often give valid IR are here more than once.
  static const Mutation mutations[] = {
      &TextMutator::swapTokens,
      &TextMutator::deleteToken,
      &TextMutator::duplicateToken,
      &TextMutator::replaceNumber,
      &TextMutator::replaceNumberEverywhere,
      &TextMutator::replaceNumberEverywhere,
      &TextMutator::replaceNumberEverywhere,
      &TextMutator::replaceElementType,
      &TextMutator::replaceElementTypeEverywhere,
      &TextMutator::replaceElementTypeEverywhere,
      &TextMutator::replaceSize,
      &TextMutator::replaceShapedType,
      &TextMutator::replaceContainer,
      &TextMutator::replaceByKind,
      &TextMutator::swapValues,
      &TextMutator::insertAttribute,
      &TextMutator::insertAttribute,
      &TextMutator::replaceAttribute,
      &TextMutator::replaceAttribute,
      &TextMutator::replaceAttribute,
      &TextMutator::changeLines,
      &TextMutator::splice};
  (this->*random.pick(mutations))();
}

std::string mlir::moe::fuzz::mutateText(StringRef text, const Corpus &corpus,
                                        Random &random) {
  TextMutator mutator(text, corpus, random);
  do
    mutator.mutateOnce();
  while (random.oneIn(3));
  std::string result = mutator.take();
  if (result.size() > kMaxText)
    result.resize(kMaxText);
  return result;
}
