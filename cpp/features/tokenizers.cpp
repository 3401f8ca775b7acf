#include "features/tokenizers.h"

#include "features/unicode.h"

namespace tagwright {
namespace {

template <class Separates>
std::vector<TokenSpan> between(std::u32string_view line, Separates&& separates) {
  std::vector<TokenSpan> made;
  for (size_t at = 0; at < line.size();) {
    if (separates(line[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < line.size() && !separates(line[at])) ++at;
    made.push_back({begin, at});
  }
  return made;
}

std::vector<TokenSpan> between_blanks(std::u32string_view line) {
  return between(line, [](char32_t c) { return c == U' ' || c == U'\t'; });
}

std::vector<TokenSpan> between_spaces(std::u32string_view line) { return between(line, is_space); }

constexpr Tokenizer kTokenizers[] = {
    {"none", between_blanks},  // as it is: only blanks and TABs separate tokens
    {"whitespace", between_spaces},
    {"english", english_spans, english_starts},
};

}  // namespace

std::span<const Tokenizer> tokenizers() { return kTokenizers; }

const Tokenizer* tokenizer_named(std::string_view name) {
  for (const Tokenizer& one : kTokenizers)
    if (one.name == name) return &one;
  return nullptr;
}

}  // namespace tagwright
