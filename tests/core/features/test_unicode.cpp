#include "check.h"
#include "features/unicode.h"

using namespace tagwright;

TEST(any_bytes_survive_reading_and_writing_characters) {
  for (size_t seed = 0; seed < 200; ++seed) {
    test::Draw draw(seed);
    std::string bytes, again;
    for (size_t n = draw.below(40); n > 0; --n) bytes.push_back(static_cast<char>(draw.below(256)));
    for (const char *at = bytes.data(), *end = at + bytes.size(); at < end;) append_utf8(again, next_char(at, end));
    CHECK(again == bytes);
  }
}

TEST(utf8_is_recognised) {
  CHECK(is_utf8("") && is_utf8("abcdefghij") && is_utf8("\xc3\xa9t\xc3\xa9 \xf0\x9f\x98\x80"));
  for (const char* bad : {"\xff", "abcdefgh\x80", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"})
    CHECK(!is_utf8(bad));
}

TEST(kinds_and_cases_follow_unicode) {
  CHECK(kind_of(U'A') == Kind::upper && kind_of(U'\u00e9') == Kind::lower && kind_of(U'\u0660') == Kind::digit);
  CHECK(kind_of(U'\u4e00') == Kind::letter && kind_of(U'\u00ab') == Kind::punctuation && kind_of(U'+') == Kind::other);
  CHECK(lower_of(U'\u00c9') == U'\u00e9' && lower_of(U'\u0416') == U'\u0436' && lower_of(U'1') == U'1');
}
