// Characters of UTF-8 text: their kind, their lower case, and where they begin and end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tagwright {

// What features distinguish.
enum class Kind : uint8_t {
  other,        // marks, symbols, spaces, controls, numbers that are no digits
  upper,        // Lu, Lt
  lower,        // Ll
  letter,       // Lo, Lm: letters without case
  digit,        // Nd
  punctuation,  // P*
};

namespace unicode {

constexpr std::array<Kind, 128> ascii_kinds() {
  std::array<Kind, 128> kinds{};
  for (char c = 'A'; c <= 'Z'; ++c) kinds[c] = Kind::upper;
  for (char c = 'a'; c <= 'z'; ++c) kinds[c] = Kind::lower;
  for (char c = '0'; c <= '9'; ++c) kinds[c] = Kind::digit;
  for (const char* c = "!\"#%&'()*,-./:;?@[\\]_{}"; *c; ++c) kinds[*c] = Kind::punctuation;
  return kinds;
}
inline constexpr std::array<Kind, 128> kAscii = ascii_kinds();

// As the functions of the same name below, for characters beyond ASCII.
Kind kind_of(char32_t c);
char32_t lower_of(char32_t c);
uint8_t traits_of(char32_t c);
char32_t next_char(const char*& at, const char* end);

inline bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace unicode

// `other` also for a code that is not a character.
inline Kind kind_of(char32_t c) { return c < 128 ? unicode::kAscii[c] : unicode::kind_of(c); }

// Returns the lower case by the simple mapping, one character to one; c itself where there is none.
inline char32_t lower_of(char32_t c) {
  if (c < 128) return c - U'A' < 26 ? c + 32 : c;
  return unicode::lower_of(c);
}

// What isspace, isalnum, islower and isdigit of Python's strings return for a character.
bool is_space(char32_t c);
inline bool is_alnum(char32_t c) { return unicode::traits_of(c) & 1; }
inline bool is_lower(char32_t c) { return unicode::traits_of(c) & 2; }
inline bool is_digit(char32_t c) { return unicode::traits_of(c) & 4; }

// Returns the next character and advances `at`; 0 at the end. A byte that is not part of a character (nor are overlong
// forms, surrogates and cut characters) is returned alone, as U+DC00 + byte, as Python's "surrogateescape" does.
inline char32_t next_char(const char*& at, const char* end) {
  if (at >= end) return 0;
  if (const unsigned char byte = *at; byte < 128) {
    ++at;
    return byte;
  }
  return unicode::next_char(at, end);
}

bool is_utf8(std::string_view bytes);

// Inverts next_char, for any bytes: U+DC80 to U+DCFF become the byte again. Anything else that is not a character
// becomes U+FFFD.
void append_utf8(std::string& out, char32_t c);

// Returns where the first n characters end; nullptr where there are fewer. Here every byte but a continuation byte
// begins a character, and so does `begin`.
inline const char* prefix_end(const char* begin, const char* end, size_t n) {
  for (; n > 0; --n) {
    if (begin == end) return nullptr;
    ++begin;
    while (begin != end && unicode::continues(*begin)) ++begin;
  }
  return begin;
}

// Returns where the last n characters begin; nullptr where there are fewer.
inline const char* suffix_begin(const char* begin, const char* end, size_t n) {
  for (; n > 0; --n) {
    if (begin == end) return nullptr;
    --end;
    while (begin != end && unicode::continues(*end)) --end;
  }
  return end;
}

}  // namespace tagwright
