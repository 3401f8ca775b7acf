#include "model/json.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <unordered_set>

#include "features/unicode.h"

namespace tagwright {

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  Json read() {
    if (!is_utf8(text_)) fail("not UTF-8");
    Json made = value(0);
    skip_blanks();
    if (at_ != text_.size()) fail("text behind the value");
    return made;
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw std::invalid_argument("JSON: " + std::string(what) + " at byte " + std::to_string(at_));
  }
  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\n\r", at_), text_.size()); }
  void expect(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) fail("an unexpected character");
    at_ += token.size();
  }
  bool skip(char c) {
    skip_blanks();
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Json value(size_t depth) {
    if (depth > Json::kDeepest) fail("nested too deeply");
    skip_blanks();
    const size_t begin = at_;
    Json made;
    switch (peek()) {
      case '{':
        made.value_ = object(depth);
        break;
      case '[':
        made.value_ = array(depth);
        break;
      case '"':
        made.value_ = string();
        break;
      case 't':
        expect("true");
        made.value_ = true;
        break;
      case 'f':
        expect("false");
        made.value_ = false;
        break;
      case 'n':
        expect("null");
        break;
      default:
        made.value_ = number();
    }
    made.source_ = text_.substr(begin, at_ - begin);
    return made;
  }

  Json::Array array(size_t depth) {
    Json::Array made;
    expect("[");
    if (skip(']')) return made;
    do made.push_back(value(depth + 1));
    while (skip(','));
    if (!skip(']')) fail("no ] or comma");
    return made;
  }

  Json::Object object(size_t depth) {
    Json::Object made;
    std::unordered_set<std::string> names;
    expect("{");
    if (skip('}')) return made;
    do {
      skip_blanks();
      std::string name = string();
      if (!names.insert(name).second) fail("a name that occurs twice");
      if (!skip(':')) fail("no colon");
      made.emplace_back(std::move(name), value(depth + 1));
    } while (skip(','));
    if (!skip('}')) fail("no } or comma");
    return made;
  }

  double number() {
    const size_t begin = at_;
    const auto digits = [&] {
      const size_t end = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
      if (end == at_) fail("an unexpected character");
      at_ = end;
    };
    if (peek() == '-') ++at_;
    if (peek() == '0')
      ++at_;
    else
      digits();
    if (peek() == '.') ++at_, digits();
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
    return std::strtod(std::string(text_.substr(begin, at_ - begin)).c_str(), nullptr);
  }

  std::string string() {
    std::string made;
    expect("\"");
    for (;;) {
      const size_t end = std::min(text_.find_first_of("\"\\", at_), text_.size());
      for (size_t q = at_; q < end; ++q)
        if (static_cast<unsigned char>(text_[q]) < 0x20) at_ = q, fail("a control character in a string");
      made.append(text_.substr(at_, end - at_));
      at_ = end;
      if (at_end()) fail("a string without an end");
      if (text_[at_++] == '"') return made;
      escape(made);
    }
  }

  void escape(std::string& out) {
    constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const char c = peek();
    if (c == 'u') {
      ++at_;
      char32_t code = hex4();
      if (code >= 0xD800 && code <= 0xDBFF) {
        expect("\\u");
        const char32_t low = hex4();
        if (low < 0xDC00 || low > 0xDFFF) fail("a lone surrogate");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      } else if (code >= 0xDC00 && code <= 0xDFFF) {
        fail("a lone surrogate");
      }
      return append_utf8(out, code);
    }
    const size_t found = at_end() ? std::string_view::npos : kEscapes.find(c);
    if (found == std::string_view::npos) fail("an unknown escape");
    out.push_back(kMeanings[found]);
    ++at_;
  }

  char32_t hex4() {
    char32_t code = 0;
    for (int n = 0; n < 4; ++n, ++at_) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) fail("an unknown escape");
      code = code * 16 + static_cast<char32_t>(digit);
    }
    return code;
  }

  std::string_view text_;
  size_t at_ = 0;
};

Json Json::parse(std::string_view text) { return JsonReader(text).read(); }

std::optional<size_t> Json::size() const {
  const double* const found = number();
  constexpr double kMost = 9007199254740992.0;  // 2^53
  if (!found || !(*found >= 0) || *found > kMost || *found > static_cast<double>(std::numeric_limits<size_t>::max()))
    return std::nullopt;
  const auto whole = static_cast<size_t>(*found);
  if (static_cast<double>(whole) != *found) return std::nullopt;
  return whole;
}

const Json* Json::find(std::string_view name) const {
  const Object* const own = object();
  if (!own) return nullptr;
  for (const auto& [key, value] : *own)
    if (key == name) return &value;
  return nullptr;
}

void append_json(std::string& out, std::string_view text) {
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
  constexpr char kDigits[] = "0123456789abcdef";
  out.push_back('"');
  for (const char c : text) {
    const size_t found = kEscaped.find(c);
    if (found != std::string_view::npos) {
      out.append({'\\', kLetters[found]});
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out.append("\\u00").append({kDigits[c >> 4], kDigits[c & 15]});
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

}  // namespace tagwright
