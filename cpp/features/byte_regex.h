// The regular expressions of Wapiti's patterns, over bytes.
//
//   .     any byte            \a \d \l \p \s \u \w   a class of ASCII: letters, digits, lower case, punctuation, white
//   x     the byte itself                            space, upper case, letters and digits; a capital: all other bytes
//   x*    any number, as few as possible             \x   any other byte itself
//   x?    one or none, one if possible               ^ first and $ last: the start and the end of the text
//
// A search takes time proportional to the length of the text times that of the expression.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tagwright {

class ByteRegex {
 public:
  // Throws std::invalid_argument.
  explicit ByteRegex(std::string_view source);

  struct Match {
    size_t begin;
    // As Wapiti computes it: bytes that an optional item consumed before the rest of the expression failed are counted,
    // too, so that the length may be greater than that of the match, and reach beyond the text.
    size_t length;
  };
  // Returns the leftmost match.
  std::optional<Match> find(std::string_view text) const;

  const std::string& source() const { return source_; }

 private:
  enum class Times : uint8_t { once, any, maybe };
  struct Item {
    std::bitset<256> bytes;
    Times times;
  };
  // What matching some items at a position of the text results in.
  struct State {
    bool matches;
    uint32_t length;  // also of a failure: what Wapiti's counter is increased by
  };

  std::string source_;
  std::vector<Item> items_;
  bool at_start_ = false, at_end_ = false;
};

}  // namespace tagwright
