// Word tables: words and what is known of each, its class or the values of a lexicon.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/lazy.h"
#include "features/index.h"

namespace tagwright {

// How a macro reads the entries of a list.
enum class ListKind : uint8_t {
  entries,  // names of one or several words (word_list.h)
  classes,  // a word, a TAB, its class; further cells are ignored
  lexicon,  // a word, a TAB, its values, with TABs or commas between them; a word may have several entries
  vectors,  // no entries, but a VectorTable
};

// Returns the kind that the first entry declares: "word", a TAB, and "class" or "values". Otherwise they are names.
ListKind declared_kind(const std::vector<std::string>& entries);

// A class is a path: parts from the coarsest to the finest with dots between them, or a bit string.
class WordTable {
 public:
  // Words that must agree before a suffix stands for a word, and its length in characters.
  static constexpr size_t kVotes = 3, kShortestSuffix = 2, kLongestSuffix = 5;

  // Throws std::invalid_argument, with the number of the entry, if one has no value. The first class of a word counts.
  WordTable(const std::vector<std::string>& entries, ListKind kind);

  // Returns the class of a word, or its first `parts` parts (of a path without dots: characters), 0 for all; a null
  // view if there is none.
  std::string_view class_of(std::string_view word, size_t parts) const;
  // Returns the n-th value of a word, from 1; or, for 0, all its values in alphabetical order with | between them; a
  // null view if there is none.
  std::string_view value_of(std::string_view word, size_t n) const;

  // The entries of the same table in a canonical form, which is about half as long: an entry that begins with a TAB has
  // values, then words with blanks between them.
  std::vector<std::string> entries() const;

 private:
  using Row = int32_t;  // of rows_; kNoId: none
  // The rows that suffixes stand for.
  struct Suffixes {
    Index text;
    std::vector<Row> row;  // [id]
  };

  void add(std::string_view entry, size_t number, std::vector<std::string>& values);
  void add(std::string_view word, std::string_view cells, std::vector<std::string>& values);
  // The row of the word, of its other forms or, of classes, of its longest known suffix.
  Row find(std::string_view word) const;
  Row find_exact(std::string_view word) const;
  Row find_suffix(std::string_view folded) const;
  Suffixes make_suffixes() const;
  Row elected(std::vector<std::string_view>& votes) const;

  ListKind kind_;
  bool declared_;  // the first entry says what kind it is
  Index words_;
  std::vector<Row> row_of_word_;
  Index rows_;                       // the values of a row in the order in which they were given, with TABs
  std::vector<std::string> joined_;  // [row]: in alphabetical order, with |
  // Made for the first word that needs it: most sentences need none.
  Lazy<Suffixes> suffixes_;
};

// Appends the text with each digit as 0.
void append_folded(std::string& out, std::string_view text);

}  // namespace tagwright
