#include <stdexcept>

#include "check.h"
#include "features/byte_regex.h"

using namespace tagwright;

namespace {

// Wapiti's rules as a recursion: whether an expression matches at the start of the text; `length` is counted as there.
bool matches(std::string_view re, std::string_view text, uint32_t& length) {
  if (re.empty()) return true;
  if (re == "$") return text.empty();
  const size_t size = re[0] == '\\' ? 2 : 1;
  const std::string_view rest = re.substr(size), one = re.substr(0, size);
  const auto fits = [&](std::string_view at) {
    if (at.empty() || one == "$") return at.starts_with('$');
    return ByteRegex(std::string("^") + std::string(one)).find(at.substr(0, 1)).has_value();
  };
  if (rest.starts_with('*')) {
    for (;; text.remove_prefix(1)) {
      const uint32_t before = length;
      if (matches(rest.substr(1), text, length)) return true;
      length = before + 1;
      if (!fits(text)) return false;
    }
  }
  if (rest.starts_with('?')) {
    if (fits(text)) {
      ++length;
      if (matches(rest.substr(1), text.substr(1), length)) return true;
      --length;
    }
    return matches(rest.substr(1), text, length);
  }
  ++length;
  return fits(text) && matches(rest, text.substr(1), length);
}

std::string found(std::string_view re, std::string_view text) {
  const auto match = ByteRegex(re).find(text);
  return match ? std::to_string(match->begin) + "+" + std::to_string(match->length) : "none";
}

std::string expected(std::string_view re, std::string_view text) {
  const bool anchored = re.starts_with('^');
  for (size_t begin = 0; begin <= (anchored ? 0 : text.size()); ++begin)
    if (uint32_t length = 0; matches(re.substr(anchored), text.substr(begin), length))
      return std::to_string(begin) + "+" + std::to_string(length);
  return "none";
}

bool refused(std::string_view re) {
  try {
    ByteRegex{re};
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

}  // namespace

TEST(regexes_of_bytes_match_as_in_wapiti) {
  CHECK(found(".?.?.?$", "abcd") == "1+3" && found("^.?.?", "a") == "0+1");
  CHECK(found("\\u", "abC") == "2+1" && found("^\\u*$", "ABc") == "none" && found("^\\u*$", "") == "0+0");
  CHECK(found("a*", "aaa") == "0+0" && found("a*b", "xaab") == "1+3");
  CHECK(found("\\A\\W", "a.-") == "1+2" && found("\\p\\*\\.", "x,*.") == "1+3" && found("$^x", "a$^x") == "1+3");
  CHECK(found(".", "\xc3\xa9") == "0+1" && found("\\W", "a\xc3") == "1+1" && found("\\s", "a\v") == "1+1");
  // The optional b is counted although it is taken back.
  CHECK(found("b?b", "xbcd") == "1+2" && found("b?b", "b") == "0+2");
  CHECK(refused("*a") && refused("a**") && refused("^?") && refused("a\\") && !refused("\\*") && !refused(""));
}

TEST(regexes_of_bytes_agree_with_the_recursion) {
  test::Draw draw(5);
  const std::vector<std::string> pieces = {"a", "b", ".", "\\u", "\\l", "\\D", "$", "\\."};
  for (int n = 0; n < 20'000; ++n) {
    std::string re = draw.chance(0.3) ? "^" : "", text;
    for (int q = draw.whole(0, 5); q > 0; --q) {
      re += pieces[draw.below(pieces.size())];
      if (draw.chance(0.5)) re += draw.chance(0.5) ? "*" : "?";
    }
    if (draw.chance(0.3)) re += "$";
    for (int q = draw.whole(0, 6); q > 0; --q) text.push_back("abA.$^"[draw.below(6)]);
    test::doing(re + " in " + text);
    CHECK(found(re, text) == expected(re, text));
  }
}

TEST(regexes_of_bytes_take_linear_time) {
  std::string re, text(20'000, 'a');
  for (int n = 0; n < 40; ++n) re += n % 2 ? "a*" : "a?";
  CHECK(found(re + "b", text) == "none");
}
