// Word lists: which tokens of a sentence are entries, at a cost that does not depend on how long entries are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "features/index.h"

namespace tagwright {

// Entries of one or several words, in lower case. A sentence is marked with them from left to right, the longest
// entry first: B where one begins, I where it continues, O elsewhere.
//
// The entries are an automaton (Aho and Corasick 1975). Differs from the paper in that entries and sentences are read
// from their end: so each state knows the longest entry that begins at the word just read, which is what marking from
// left to right needs.
class WordList {
 public:
  // The mark of a token that is in no entry.
  static constexpr std::string_view kOutside = "O";

  explicit WordList(const std::vector<std::string>& entries);
  // lowered: the tokens in lower case; blanks inside a token separate words, as they do in entries.
  void mark(const std::vector<std::string_view>& lowered, std::vector<std::string_view>& marks) const;

 private:
  struct Node {
    uint32_t length;   // in words, from the end of an entry
    uint32_t fail;     // the longest other node whose words are the last ones of these, as they are read
    uint32_t longest;  // the longest entry among this node and those that fail leads to; 0: none
  };

  void add(std::string_view entry);
  void link();
  // The node that a word leads to.
  uint32_t next(uint32_t node, int32_t word) const;

  Index words_;
  Index steps_;                  // the node before and the word, as bytes; its id is that of the node less 1
  std::vector<Node> nodes_;      // 0: no word read
  std::vector<uint32_t> first_;  // [word]: the node of this word alone, or 0
};

}  // namespace tagwright
