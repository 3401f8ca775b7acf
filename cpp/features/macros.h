// The macros of templates: %x, %suffix, ... One row each; Python's parser, its messages and the docs read the same
// rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>

#include "features/byte_regex.h"
#include "features/vector_table.h"
#include "features/word_table.h"

namespace tagwright {

// Strings that never move, to be written again for the next sentence.
class TextPool {
 public:
  void clear() { used_ = 0; }
  // An empty string, which stays until clear().
  std::string& fresh() {
    if (used_ == made_.size()) made_.emplace_back();
    made_[used_].clear();
    return made_[used_++];
  }

 private:
  std::deque<std::string> made_;
  size_t used_ = 0;
};

struct Macro {
  // Where the text comes from: one cell of a token; a word list, which marks a sentence; the label of an earlier token.
  enum class From : uint8_t { cell, list, label };

  std::string_view name;       // as templates write it, without %
  std::string_view arguments;  // what stands in its brackets, such as row,column,length
  std::string_view meaning;    // what it gives, for the docs
  From from;
  // The third argument, or the third and the fourth.
  struct Third {
    size_t n = 0;  // a length, or the number of a word list
    const ByteRegex* regex = nullptr;
    const WordTable* table = nullptr;
    const VectorTable* vectors = nullptr;
  };
  // From::cell: what it gives for a cell; a null view where it gives nothing. New text is made in the pool. Of a
  // word's vector, the bytes of its components.
  std::string_view (*show)(std::string_view cell, Third third, TextPool& pool);
  bool few = false;     // whether most tokens show one of a few texts
  bool wapiti = false;  // a macro of Wapiti, which reads what stands outside the sentence as it reads any cell
  ListKind reads = ListKind::entries;  // how it reads its list
  bool shorter = false;                // whether the last argument may be left out
};

// Ends a text that Wapiti would read beyond its end (ByteRegex::Match): the feature ends there, too.
inline constexpr char kEndsFeature = '\0';

std::span<const Macro> macros();

// Appends the text in lower case, character by character.
void append_lower(std::string& out, std::string_view text);

}  // namespace tagwright
