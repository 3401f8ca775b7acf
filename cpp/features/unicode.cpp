#include "features/unicode.h"

#include <cstring>

namespace tagwright {
namespace {

// Characters of one kind and of the same traits, whose lower case is `add` further on.
struct Class {
  Kind kind;
  int32_t add;
  uint8_t traits;
};

#include "unicode_tables.inc"

// c < kUsed
const Class& class_of(char32_t c) {
  return kClasses[static_cast<unsigned char>(kClassOf[kBlockOf[c / kBlock] * kBlock + c % kBlock]) - '0'];
}

}  // namespace

namespace unicode {

Kind kind_of(char32_t c) { return c < kUsed ? class_of(c).kind : Kind::other; }

char32_t lower_of(char32_t c) { return c < kUsed ? c + static_cast<char32_t>(class_of(c).add) : c; }

uint8_t traits_of(char32_t c) { return c < kUsed ? class_of(c).traits : 0; }

// Table 3-7 of the Unicode Standard: only the second byte has bounds of its own.
char32_t next_char(const char*& at, const char* end) {
  const unsigned char first = *at++;
  const char32_t alone = 0xDC00 + first;
  if (first < 0xC2 || first > 0xF4) return alone;
  const ptrdiff_t more = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
  if (end - at < more) return alone;
  const unsigned char second = *at;
  const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (second < low || second > high) return alone;
  char32_t c = first & (0x3F >> more);
  for (ptrdiff_t i = 0; i < more; ++i) {
    if (!continues(at[i])) return alone;
    c = c << 6 | (at[i] & 0x3F);
  }
  at += more;
  return c;
}

}  // namespace unicode

bool is_space(char32_t c) {
  if (c < 0x80) return c == U' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_utf8(std::string_view bytes) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  while (at < end) {
    uint64_t word = 0;
    if (end - at >= 8) {
      std::memcpy(&word, at, sizeof word);
      if (!(word & 0x8080808080808080U)) {
        at += 8;
        continue;
      }
    }
    // next_char returns a byte that is not part of a character as U+DC80 ... U+DCFF.
    const char32_t c = next_char(at, end);
    if (c >= 0xDC80 && c <= 0xDCFF) return false;
  }
  return true;
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  const auto put_rest = [&](int shift) { put(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) return put(c);
  if (c >= 0xDC80 && c <= 0xDCFF) return put(c - 0xDC00);
  if ((c >= 0xD800 && c <= 0xDFFF) || c > 0x10FFFF) c = 0xFFFD;
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put_rest(6);
  } else {
    put(0xF0 | c >> 18);
    put_rest(12);
    put_rest(6);
  }
  put_rest(0);
}

}  // namespace tagwright
