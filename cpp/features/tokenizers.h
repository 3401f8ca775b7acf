// Tokenisers: where the tokens and the sentences of a line of text are.
//
// Offsets are in characters, and every tokeniser takes time linear in the length of the line, for any line. A byte that
// is not UTF-8 is the character U+DC00 + byte (unicode.h).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace tagwright {

// Where a token is.
struct TokenSpan {
  size_t begin, end;
};

// A row of the table.
struct Tokenizer {
  std::string_view name;
  std::vector<TokenSpan> (*spans)(std::u32string_view line);
  // Returns the numbers of the tokens that begin a sentence, in rising order; nullptr: a line is one sentence.
  std::vector<size_t> (*starts)(std::u32string_view line, std::span<const TokenSpan> spans) = nullptr;
};

std::span<const Tokenizer> tokenizers();
// Returns the tokeniser of this name, or nullptr.
const Tokenizer* tokenizer_named(std::string_view name);

// English as the English Web Treebank has it (Bies et al. 2012; Silveira et al. 2014): clitics (ca n't, it 's, can
// not), punctuation, hyphens (long - term, but anti-American) and units (5 pm) are tokens of their own; addresses,
// numbers, abbreviations and emoticons are whole. Differs from the treebank where only the meaning decides: "its" for
// "it is" stays whole.
std::vector<TokenSpan> english_spans(std::u32string_view line);
// A sentence ends after ".", "!", "?" or several of them, with the quotes and brackets that close there and the
// emoticons that follow, before a blank. It does not end where dots trail off ("...") before a lower-case letter, and
// after the number of a list ("1.").
std::vector<size_t> english_starts(std::u32string_view line, std::span<const TokenSpan> spans);

}  // namespace tagwright
