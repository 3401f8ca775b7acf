// Text without labels as counts of neighbouring words, from which classes of words are induced.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/csr.h"
#include "features/index.h"
#include "features/tokenizers.h"

namespace tagwright {

// Neighbours of words, and how often they are.
struct WordCounts {
  Csr words;                    // [word][neighbour]
  std::vector<uint32_t> count;  // [entry of words]
};

// The bigrams of a text. Behind its words there are two more symbols: all rare words together, and what is between
// two sentences.
struct WordBigrams {
  std::vector<std::string> words;  // the most frequent first, equally frequent ones in the order of their bytes
  std::vector<uint64_t> count;     // [symbol]
  WordCounts next, previous;       // [symbol]
  uint64_t tokens = 0;

  size_t rare() const { return words.size(); }
  size_t boundary() const { return words.size() + 1; }
  size_t symbols() const { return words.size() + 2; }
};

// Reads text. Digits become 0, and letters lower case, unless keep_case.
class BigramCounter {
 public:
  explicit BigramCounter(bool keep_case) : keep_case_(keep_case) {}

  void add_word(std::string_view word);
  void end_sentence();
  // Adds lines of text that are split into sentences and tokens; white_space: a line is a sentence of tokens with white
  // space between them.
  void add_lines(std::string_view lines, const Tokenizer& tokenizer, bool white_space);

  uint64_t tokens() const { return tokens_; }
  // Throws std::invalid_argument if no word occurs min_count times.
  WordBigrams bigrams(size_t min_count) const;

 private:
  static constexpr int32_t kEnd = -1;

  void add_words(std::string_view line);
  void add_line(std::string_view line, const Tokenizer& tokenizer);

  bool keep_case_;
  Index words_;
  std::vector<uint64_t> count_;  // [word]
  std::vector<int32_t> text_;    // words, and kEnd behind each sentence
  uint64_t tokens_ = 0;
  std::string lowered_, folded_;
};

}  // namespace tagwright
