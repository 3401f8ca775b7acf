// English tokens. The rules are tried in the order of `kRules`; the first that matches is the token.
//
// Time is linear: a rule that looks far ahead and may fail is tried only at the start of the characters that it looks
// at (the conditions on what precedes), or is followed by a rule that takes all of them.
#include <algorithm>
#include <array>
#include <cstdint>

#include "features/tokenizers.h"
#include "features/unicode.h"

namespace tagwright {
namespace {

using Names = std::span<const std::string_view>;

constexpr bool between(char32_t c, char32_t low, char32_t high) { return c >= low && c <= high; }

// What may not be part of a word: of ASCII and Latin-1, then blocks of punctuation, symbols and emoji.
bool is_symbol(char32_t c) {
  if (c < 0x80)
    return between(c, '!', '/') || between(c, ':', '@') || between(c, '[', '^') || c == '`' || between(c, '{', '~');
  if (c < 0x100)
    return between(c, 0xA1, 0xA9) || c == 0xAB || c == 0xAC || between(c, 0xAE, 0xB1) || c == 0xB4 ||
           between(c, 0xB6, 0xB8) || c == 0xBB || c == 0xBF || c == 0xD7 || c == 0xF7;
  return between(c, 0x2010, 0x205E) || between(c, 0x20A0, 0x20CF) || between(c, 0x2190, 0x2BFF) ||
         between(c, 0x3001, 0x303F) || between(c, 0xFF01, 0xFF0F) || between(c, 0xFF1A, 0xFF20) ||
         between(c, 0xFF3B, 0xFF3E) || between(c, 0xFF5B, 0xFF65) || between(c, 0x1F000, 0x1FAFF);
}

// Classes of characters; a character may be in several.
enum Class : uint8_t {
  kSpace = 1,
  kChar = 2,     // may be part of a word: neither a space nor a symbol
  kWord = 4,     // a letter, a digit, another number or _
  kDigit = 8,    // decimal
  kLetter = 16,  // A to Z and a to z
};

uint8_t classes_of(char32_t c) {
  const bool space = is_space(c);
  return static_cast<uint8_t>((space ? kSpace : 0) | (space || is_symbol(c) ? 0 : kChar) |
                              (is_alnum(c) || c == '_' ? kWord : 0) | (kind_of(c) == Kind::digit ? kDigit : 0) |
                              (c < 0x80 && is_alnum(c) && kind_of(c) != Kind::digit ? kLetter : 0));
}

const std::array<uint8_t, 128>& ascii_classes() {
  static const std::array<uint8_t, 128> made = [] {
    std::array<uint8_t, 128> classes{};
    for (char32_t c = 0; c < 128; ++c) classes[c] = classes_of(c);
    return classes;
  }();
  return made;
}

// The lower case of ASCII letters, and of the four characters that are variants of one.
char32_t folded(char32_t c) {
  if (c < 0x80) return between(c, 'A', 'Z') ? c + 32 : c;
  return c == 0x130 || c == 0x131 ? 'i' : c == 0x17F ? 's' : c == 0x212A ? 'k' : c;
}

bool is_apostrophe(char32_t c) { return c == '\'' || c == 0x2019; }
bool is_emoji(char32_t c) { return between(c, 0x2600, 0x27BF) || between(c, 0x1F000, 0x1FAFF); }
bool is_stop(char32_t c) { return c == '.' || c == '!' || c == '?' || c == 0x2026; }

constexpr size_t kNone = 0;  // no match; a token has at least one character

// Words in two without an apostrophe, as their two pieces. Only those that are nothing else.
constexpr std::string_view kDoubles[] = {
    "can not", "gon na", "wan na",  "got ta",  "out ta",   "gim me",   "lem me",    "i m",     "i ve",   "you re",
    "you ll",  "you ve", "they re", "they ll", "they ve",  "do nt",    "does nt",   "did nt",  "wo nt",  "ca nt",
    "is nt",   "are nt", "was nt",  "were nt", "could nt", "would nt", "should nt", "have nt", "has nt", "had nt",
    "ai nt",   "that s", "what s",  "he s",    "she s",    "there s",  "here s"};
// Before a hyphen these stay with the word after it.
constexpr std::string_view kPrefixes[] = {
    "ante",  "anti",  "arch",  "bi",    "bio",   "co",    "counter", "cross", "cyber", "de",     "e",      "eco",
    "ex",    "extra", "hyper", "infra", "inter", "intra", "macro",   "mega",  "micro", "mid",    "mini",   "mis",
    "multi", "neo",   "non",   "over",  "pan",   "para",  "post",    "pre",   "pro",   "pseudo", "psycho", "quasi",
    "re",    "semi",  "socio", "sub",   "super", "trans", "tri",     "ultra", "un",    "under",  "uni"};
constexpr std::string_view kAbbreviations[] = {
    "mr",   "mrs", "ms",   "dr",  "drs",  "prof", "st",   "ft",     "mt",  "jr",   "sr",  "lt",   "sgt",
    "capt", "inc", "corp", "co",  "ltd",  "bros", "dept", "univ",   "ave", "blvd", "rd",  "attn", "esq",
    "etc",  "vs",  "eg",   "ie",  "al",   "cf",   "ca",   "approx", "esp", "est",  "ext", "govt", "misc",
    "oz",   "lb",  "lbs",  "min", "mins", "hr",   "hrs",  "yr",     "yrs", "p",    "pp",  "tel",  "vol"};
constexpr std::string_view kCapitalAbbreviations[] = {  // Without a capital they are words.
    "Gen", "Col", "Maj",  "Rev", "Hon",  "Gov",   "Sen", "Sens", "Rep",  "Reps", "Pres", "Ph",
    "Jan", "Feb", "Mar",  "Apr", "Jun",  "Jul",   "Aug", "Sep",  "Sept", "Oct",  "Nov",  "Dec",
    "Mon", "Tue", "Tues", "Wed", "Thur", "Thurs", "Fri", "Sat",  "Sun",  "Fig"};
constexpr std::string_view kNumberAbbreviations[] = {"No", "Nos"};  // before a number
constexpr std::string_view kUnits[] = {"am", "pm", "a.m", "p.m", "k",   "m",   "b",   "x",   "bn",  "mm",  "cm",
                                       "km", "ft", "kg",  "lb",  "lbs", "hz",  "khz", "mhz", "ghz", "kb",  "mb",
                                       "gb", "tb", "mph", "hh",  "yr",  "yrs", "hr",  "hrs", "min", "mins"};
constexpr std::string_view kHostEndings[] = {
    "com", "org",  "net", "edu", "gov", "mil", "info", "biz", "co",   "uk",   "ca",  "de",  "fr",   "au",  "us",
    "eu",  "io",   "tv",  "ru",  "jp",  "htm", "html", "php", "asp",  "aspx", "jsp", "doc", "docx", "xls", "xlsx",
    "ppt", "pptx", "pdf", "txt", "csv", "zip", "exe",  "jpg", "jpeg", "png",  "gif", "mp3", "js",   "url"};

// The line, and the rules: each returns where the token that begins at p ends, or kNone.
class English {
 public:
  explicit English(std::u32string_view line) : s_(line), n_(line.size()), classes_(line.size()) {
    const auto& ascii = ascii_classes();
    for (size_t p = 0; p < n_; ++p) classes_[p] = s_[p] < 0x80 ? ascii[s_[p]] : classes_of(s_[p]);
  }

  std::vector<TokenSpan> spans() const {
    std::vector<TokenSpan> made;
    for (size_t p = 0; p < n_;) {
      if (in(p, kSpace)) {
        ++p;
        continue;
      }
      const size_t end = token(p);
      made.push_back({p, end});
      p = end;
    }
    return made;
  }

 private:
  using Rule = size_t (English::*)(size_t) const;

  bool in(size_t p, uint8_t classes) const { return p < n_ && (classes_[p] & classes) != 0; }
  bool at(size_t p, char32_t c) const { return p < n_ && s_[p] == c; }
  bool any(size_t p, std::u32string_view of) const { return p < n_ && of.find(s_[p]) != std::u32string_view::npos; }
  bool apostrophe(size_t p) const { return p < n_ && is_apostrophe(s_[p]); }
  // Whether a word ends before p.
  bool ends(size_t p) const { return !in(p, kChar); }
  // The end of the characters from p on that satisfy a condition.
  template <class Is>
  size_t skip_while(size_t p, Is&& is) const {
    while (p < n_ && is(p)) ++p;
    return p;
  }
  size_t skip(size_t p, uint8_t classes) const {
    return skip_while(p, [&](size_t q) { return in(q, classes); });
  }
  size_t skip_spaces(size_t p) const { return skip(p, kSpace); }

  // Whether a text is at p, in any case or, if exact, as it is.
  bool text(size_t p, std::string_view wanted, bool exact = false) const {
    if (n_ - p < wanted.size()) return false;
    for (size_t k = 0; k < wanted.size(); ++k)
      if ((exact ? s_[p + k] : folded(s_[p + k])) != static_cast<char32_t>(wanted[k])) return false;
    return true;
  }
  // Whether characters p .. end - 1 are one of the names.
  bool named(size_t p, size_t end, Names names, bool exact = false) const {
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return name.size() == end - p && text(p, name, exact); });
  }
  // The end of the one of these texts that is at p and ends a word.
  size_t word_of(size_t p, Names names) const {
    for (const std::string_view name : names)
      if (text(p, name) && ends(p + name.size())) return p + name.size();
    return kNone;
  }
  // Whether decimal digits are at p, as many as low .. high, and no more; returns their end.
  size_t digits(size_t p, size_t low, size_t high) const {
    const size_t end = skip(std::min(p, n_), kDigit);
    return end >= p + low && end <= p + high ? end : kNone;
  }
  size_t some_digits(size_t p, size_t count) const {
    for (size_t k = 0; k < count; ++k)
      if (!in(p + k, kDigit)) return kNone;
    return p + count;
  }

  size_t token(size_t p) const {
    for (const Rule rule : kRules)
      if (const size_t end = (this->*rule)(p)) return end;
    return p + 1;
  }

  size_t first_of_double(size_t p) const {
    constexpr size_t kLongest = 8;
    if (!in(p, kLetter) && s_[p] < 0x80) return kNone;
    size_t end = p;
    while (in(end, kChar) && end - p <= kLongest) ++end;
    for (const std::string_view both : kDoubles) {
      const size_t first = both.find(' ');
      if (end - p == both.size() - 1 && text(p, both.substr(0, first)) && text(p + first, both.substr(first + 1)))
        return p + first;
    }
    return kNone;
  }

  // Most words, soon.
  size_t plain_word(size_t p) const {
    const size_t end = skip(p, kLetter);
    return end > p && (in(end, kSpace) || at(end, ',')) ? end : kNone;
  }

  // --- addresses, files, hosts, tags ---

  // The last of the characters before `end`, from `begin` on, that satisfies a condition; returns what is behind it.
  template <class Is>
  static size_t last(size_t begin, size_t end, Is&& is) {
    while (end > begin && !is(end - 1)) --end;
    return end > begin ? end : kNone;
  }

  size_t url(size_t p) const {
    if (p > 0 && in(p - 1, kChar)) return kNone;
    constexpr std::string_view kSchemes[] = {"http://", "https://", "ftp://", "file://", "www.", "mailto:"};
    for (const std::string_view scheme : kSchemes) {
      if (!text(p, scheme)) continue;
      const size_t begin = p + scheme.size();
      const size_t end = skip_while(begin, [&](size_t q) { return !in(q, kSpace) && !any(q, U"<>\"“”"); });
      return last(begin, end, [&](size_t q) { return !any(q, U".,;:!?'’)]}"); });
    }
    return kNone;
  }

  size_t mail(size_t p) const {
    const auto local = [&](size_t q) { return in(q, kWord) || any(q, U".%+-"); };
    const auto host = [&](size_t q) { return in(q, kWord) || at(q, '-'); };
    if (p > 0 && (local(p - 1) || at(p - 1, '@'))) return kNone;
    if (!local(p) || at(p, '.')) return kNone;
    size_t end = skip_while(p, local);
    if (!at(end, '@') || !in(end + 1, kWord)) return kNone;
    end = skip_while(end + 1, host);
    while (at(end, '.') && end + 1 < n_ && host(end + 1)) end = skip_while(end + 1, host);
    return end;
  }

  // A name of pieces separated by dots, of which the last is a known ending, with a path.
  size_t host(size_t p) const {
    const auto part = [&](size_t q) { return in(q, kWord) || at(q, '-'); };
    if (p > 0 && (part(p - 1) || at(p - 1, '.'))) return kNone;
    size_t end = skip_while(p, part), found = kNone;
    if (end == p) return kNone;
    while (at(end, '.') && end + 1 < n_ && part(end + 1)) {
      const size_t begin = end + 1;
      end = skip_while(begin, part);
      if (!at(end, '@') && !(at(end, '.') && in(end + 1, kWord)) && named(begin, end, kHostEndings)) found = end;
    }
    if (!found || !at(found, '/')) return found;
    const size_t path = skip_while(found, [&](size_t q) { return !in(q, kSpace) && !any(q, U"<>\""); });
    const size_t most = last(found + 1, path, [&](size_t q) { return in(q, kWord) || at(q, '/'); });
    return most ? most : found;
  }

  // Three or more names in lower case with dots between them.
  size_t dotted(size_t p) const {
    const auto small = [&](size_t q) { return q < n_ && between(s_[q], 'a', 'z'); };
    if (!small(p) || (p > 0 && (in(p - 1, kWord) || any(p - 1, U".-")))) return kNone;
    size_t end = skip_while(p, small), more = 0;
    for (; at(end, '.') && small(end + 1); ++more) end = skip_while(end + 1, small);
    return more >= 2 && !in(end, kWord) && !(at(end, '.') && in(end + 1, kWord)) ? end : kNone;
  }

  size_t tag(size_t p) const {
    if (!any(p, U"#@") || !(in(p + 1, kLetter) || at(p + 1, '_'))) return kNone;
    size_t end = skip(p + 1, kWord);
    while (at(end, '.') && in(end + 1, kLetter)) end = skip(end + 1, kLetter);
    return end;
  }

  // --- emoticons ---

  size_t mouth(size_t p) const {
    if (any(p, U")(")) {
      const size_t end = skip_while(p, [&](size_t q) { return any(q, U")("); });
      if (!in(end, kWord)) return end;
      if (end > p + 1) return end - 1;
    }
    if (p >= 2 && (in(p - 2, kWord) || any(p - 2, U")]"))) return kNone;
    if (!any(p, U"][DP/\\|*") && !(any(p, U"opdO") && at(p - 1, '-'))) return kNone;
    return in(p + 1, kWord) ? kNone : p + 1;
  }

  size_t emoticon(size_t p) const {
    if (any(p, U":;=")) {
      if (any(p + 1, U"-'^o"))
        if (const size_t end = mouth(p + 2)) return end;
      return mouth(p + 1);
    }
    const auto drawn = [&](char32_t middle) { return skip_while(p + 1, [&](size_t q) { return at(q, middle); }); };
    if (at(p, '<')) {
      const size_t end = drawn('3');
      return end > p + 1 && !in(end, kDigit) ? end : kNone;
    }
    if (!any(p, U"^-")) return kNone;
    const size_t end = drawn('_');
    return end > p + 1 && at(end, s_[p]) ? end + 1 : kNone;
  }

  // --- numbers ---

  size_t telephone_from(size_t p) const {
    const auto done = [&](size_t end) { return end && ends(end) && !at(end, '-') ? end : kNone; };
    const auto then = [&](size_t end, std::u32string_view marks, size_t count) {
      return end && any(end, marks) ? some_digits(end + 1, count) : kNone;
    };
    const size_t three = some_digits(p, 3);
    if (const size_t end = done(then(then(three, U"-/.", 3), U"-.", 4))) return end;
    if (const size_t end = done(then(three, U"-", 4))) return end;
    if (const size_t end = done(then(some_digits(p, 5), U"-", 4))) return end;
    return done(date_from(p, '-'));
  }
  size_t date_from(size_t p, char32_t mark) const {
    const size_t first = digits(p, 1, 2);
    if (!first || !at(first, mark)) return kNone;
    const size_t second = digits(first + 1, 1, 2);
    return second && at(second, mark) ? digits(second + 1, 2, 4) : kNone;
  }

  size_t telephone(size_t p) const {
    if (!in(p, kDigit)) return kNone;
    if (any(p + 1, U"-."))
      if (const size_t end = telephone_from(p + 2)) return end;
    return telephone_from(p);
  }

  size_t date(size_t p) const {
    const auto done = [&](size_t end) { return end && ends(end) ? end : kNone; };
    if (const size_t end = done(date_from(p, '/'))) return end;
    if (text(p, "9/11", true) && ends(p + 4)) return p + 4;
    if (at(p, '+')) return done(digits(p + 1, 1, 3));
    return at(p, '.') ? done(digits(p + 1, 1, n_)) : kNone;
  }

  size_t number(size_t p) const {
    if (!in(p, kDigit) || (p >= 2 && in(p - 2, kDigit) && any(p - 1, U".,:"))) return kNone;
    size_t end = skip(p, kDigit);
    while (any(end, U".,:") && in(end + 1, kDigit)) end = skip(end + 1, kDigit);
    if (word_of(end, kUnits)) return end;
    if (at(end - 1, '0') && apostrophe(end) && at(end + 1, 's') && ends(end + 2)) return end + 2;
    return ends(end) ? end : kNone;
  }

  size_t decade(size_t p) const {
    if (!apostrophe(p)) return kNone;
    const size_t end = some_digits(p + 1, 2);
    if (!end) return kNone;
    if (at(end, 's') && ends(end + 1)) return end + 1;
    return ends(end) ? end : kNone;
  }

  // --- abbreviations ---

  // Whether a dot before p is not the sentence's: at the end of the text, and of "etc." before a capital, it is.
  bool inside(size_t p) const {
    const size_t closed = skip_while(p, [&](size_t q) { return any(q, U"\"'”’)]"); });
    if (skip_spaces(closed) == n_) return false;
    if (p < 3 || !any(p - 3, U"Tt") || !any(p - 2, U"Cc") || !at(p - 1, '.')) return true;
    const size_t following = skip_spaces(p);
    return following == p || !between(s_[following], 'A', 'Z');
  }
  // The end of a dot at p that belongs to an abbreviation.
  size_t own_dot(size_t p) const {
    return at(p, '.') && !in(p + 1, kWord) && !at(p + 1, '.') && inside(p + 1) ? p + 1 : kNone;
  }

  // Single letters with dots between them.
  size_t initials(size_t p) const {
    if (!in(p, kLetter) || !at(p + 1, '.') || (p >= 2 && in(p - 2, kLetter) && at(p - 1, '.'))) return kNone;
    size_t end = p;  // behind the pairs of a letter and a dot
    while (in(end, kLetter) && at(end + 1, '.')) end += 2;
    if (in(end, kLetter) && ends(end + 1)) return end + 1;
    if (end < p + 4) return kNone;
    if (own_dot(end - 1)) return end;
    return in(end, kWord) ? kNone : end - 1;
  }

  size_t abbreviation(size_t p) const {
    constexpr size_t kLongest = 6;
    if (!in(p, kLetter)) return kNone;
    size_t end = p;
    while (end - p <= kLongest && in(end, kLetter)) ++end;
    if (end - p > kLongest || !at(end, '.')) return kNone;
    const auto before_number = [&] {
      return named(p, end, kNumberAbbreviations, true) && in(in(end + 1, kSpace) ? end + 2 : end + 1, kDigit);
    };
    if (named(p, end, kAbbreviations) || named(p, end, kCapitalAbbreviations, true) || before_number())
      if (const size_t found = own_dot(end)) return found;
    const bool initial = end == p + 1 && between(s_[p], 'A', 'Z') && s_[p] != 'I';
    if (!initial) return kNone;
    const size_t following = skip_spaces(end + 1);
    return in(following, kWord) || at(following, '(') ? end + 1 : kNone;
  }

  size_t with_symbols(size_t p) const {
    if (!in(p, kLetter)) return kNone;
    const auto letters = [&](size_t q, size_t most) {
      size_t end = q;
      while (end - q <= most && in(end, kLetter)) ++end;
      return end > q && end - q <= most ? end : kNone;
    };
    if (const size_t first = letters(p, 3); first && at(first, '&'))
      if (const size_t end = letters(first + 1, 2); end && ends(end)) return end;
    constexpr std::string_view kShort[] = {"w/o", "w/out", "b/c"};
    if (const size_t end = word_of(p, kShort)) return end;
    if (text(p, "w/") && in(p + 2, kSpace)) return p + 2;
    constexpr std::string_view kWhole[] = {"US$", "AU$", "CA$", "NZ$", "HK$", "U$", "C$", "A$", "C++", "C#", "F#"};
    for (const std::string_view one : kWhole)
      if (text(p, one, true)) return p + one.size();
    return kNone;
  }

  // --- words ---

  size_t clitic(size_t p) const {
    constexpr std::string_view kAfter[] = {"s", "m", "d", "ll", "re", "ve"};
    if (apostrophe(p)) return word_of(p + 1, kAfter);
    if (p >= n_) return kNone;
    const char32_t first = folded(s_[p]);
    if (first == '`') return p + 1 < n_ && folded(s_[p + 1]) == 's' && ends(p + 2) ? p + 2 : kNone;
    return first == 'n' && apostrophe(p + 1) && p + 2 < n_ && folded(s_[p + 2]) == 't' && ends(p + 3) ? p + 3 : kNone;
  }

  size_t clitic_or_short(size_t p) const {
    if (const size_t end = clitic(p)) return end;
    if (!apostrophe(p)) return kNone;
    constexpr std::string_view kShort[] = {"em", "n", "til", "cause", "bout"}, kIs[] = {"is", "was"};
    if (const size_t end = word_of(p + 1, kShort)) return end;
    return text(p + 1, "t") && word_of(p + 2, kIs) ? p + 2 : kNone;
  }

  size_t word(size_t p) const {
    if (!in(p, kChar)) return kNone;
    constexpr size_t kLongest = 7;
    size_t hyphen = p;
    while (hyphen - p <= kLongest && in(hyphen, kChar)) ++hyphen;
    if (at(hyphen, '-') && in(hyphen + 1, kChar) && named(p, hyphen, kPrefixes)) p = hyphen + 1;
    // Up to the first clitic, or all.
    for (size_t end = p + 1;; ++end) {
      if (clitic(end)) return end;
      if (in(end, kChar)) continue;
      if (!(apostrophe(end) && in(end - 1, kChar) && in(end + 1, kChar))) return end;
    }
  }

  // --- marks: several stops, dashes, quotes and lines; emoji with what belongs to them ---

  size_t marks(size_t p) const {
    const auto same = [&](std::u32string_view of) { return skip_while(p, [&](size_t q) { return any(q, of); }); };
    if (is_stop(s_[p])) return skip_while(p, [&](size_t q) { return is_stop(s_[q]); });
    if (at(p, '-') && at(p + 1, '-')) return same(U"-");
    constexpr std::u32string_view kPairs[] = {U"''", U"``", U"’’", U"‘’", U"‘‘", U"->"};
    for (const std::u32string_view pair : kPairs)
      if (s_.substr(p, 2) == pair) return p + 2;
    if (const size_t end = same(U"-=*~+<>|#^"); end >= p + 4) return end;
    if (!any(p, U"*=~+#$><)(") || !at(p + 1, s_[p])) return kNone;
    return same(s_.substr(p, 1));
  }

  size_t emoji(size_t p) const {
    if (!is_emoji(s_[p])) return kNone;
    for (++p; p < n_;) {
      if (s_[p] == 0xFE0F || between(s_[p], 0x1F3FB, 0x1F3FF)) {
        ++p;
      } else if (s_[p] == 0x200D && p + 1 < n_ && is_emoji(s_[p + 1])) {
        p += 2;
      } else {
        break;
      }
    }
    return p;
  }

  static const Rule kRules[19];

  const std::u32string_view s_;
  const size_t n_;
  std::vector<uint8_t> classes_;
};

const English::Rule English::kRules[19] = {
    &English::first_of_double, &English::plain_word, &English::url,      &English::mail,         &English::host,
    &English::dotted,          &English::tag,        &English::emoticon, &English::telephone,    &English::date,
    &English::number,          &English::decade,     &English::initials, &English::abbreviation, &English::with_symbols,
    &English::clitic_or_short, &English::word,       &English::marks,    &English::emoji};

bool is_one_of(std::u32string_view word, std::u32string_view single, std::initializer_list<std::u32string_view> more) {
  if (word.size() == 1) return single.find(word[0]) != std::u32string_view::npos;
  return std::find(more.begin(), more.end(), word) != more.end();
}

bool closes(std::u32string_view word) { return is_one_of(word, U"\"'”’)]}»", {U"''", U"’’"}); }
bool opens(std::u32string_view word) { return is_one_of(word, U"\"'“‘([«*-", {U"``"}); }

bool is_face(std::u32string_view word) {
  if (word == U"<3") return true;
  const std::u32string_view eyes = U":;=", mouths = U"()DP";
  if (word.empty() || eyes.find(word[0]) == std::u32string_view::npos) return false;
  word.remove_prefix(1);
  if (!word.empty() && word[0] == '-') word.remove_prefix(1);
  return !word.empty() && word.find_first_not_of(mouths) == std::u32string_view::npos;
}

}  // namespace

std::vector<TokenSpan> english_spans(std::u32string_view line) { return English(line).spans(); }

std::vector<size_t> english_starts(std::u32string_view line, std::span<const TokenSpan> spans) {
  std::vector<size_t> starts;
  if (spans.empty()) return starts;
  starts.push_back(0);
  const size_t n = spans.size();
  const auto word = [&](size_t t) { return line.substr(spans[t].begin, spans[t].end - spans[t].begin); };
  const auto all = [&](size_t t, bool (*is)(char32_t)) {
    const std::u32string_view own = word(t);
    return std::all_of(own.begin(), own.end(), is);
  };
  const auto touches = [&](size_t t) { return spans[t].begin == spans[t - 1].end; };
  for (size_t t = 0; t < n;) {
    const size_t stop = t++;
    if (!all(stop, is_stop) || (stop == starts.back() + 1 && all(stop - 1, is_digit))) continue;
    while (t < n && (is_face(word(t)) || (closes(word(t)) && touches(t)))) ++t;
    if (t == n || touches(t)) continue;
    size_t following = t;
    while (following < n && opens(word(following))) ++following;
    const std::u32string_view dots = word(stop);
    const bool trails_off = dots.starts_with(U"..") || dots == U"…";
    if (!(trails_off && following < n && is_lower(word(following)[0]))) starts.push_back(t);
  }
  return starts;
}

}  // namespace tagwright
