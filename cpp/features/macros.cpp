#include "features/macros.h"

#include "features/unicode.h"

namespace tagwright {
namespace {

// Calls each(c) for every character of the text.
template <class Each>
void for_each_char(std::string_view text, Each&& each) {
  for (const char *at = text.data(), *end = at + text.size(); at < end;) each(next_char(at, end));
}

std::string_view x(std::string_view cell, Macro::Third, TextPool&) { return cell; }

std::string_view lower(std::string_view cell, Macro::Third, TextPool& pool) {
  std::string& made = pool.fresh();
  append_lower(made, cell);
  return made;
}

std::string_view prefix(std::string_view cell, Macro::Third third, TextPool&) {
  const char* begin = cell.data();
  const char* end = prefix_end(begin, begin + cell.size(), third.n);
  return end ? std::string_view(begin, static_cast<size_t>(end - begin)) : std::string_view();
}

std::string_view suffix(std::string_view cell, Macro::Third third, TextPool&) {
  const char* end = cell.data() + cell.size();
  const char* begin = suffix_begin(cell.data(), end, third.n);
  return begin ? std::string_view(begin, static_cast<size_t>(end - begin)) : std::string_view();
}

// Of the cell in lower case, which may have other lengths in bytes.
std::string_view lower_prefix(std::string_view cell, Macro::Third third, TextPool& pool) {
  return prefix(lower(cell, third, pool), third, pool);
}

std::string_view lower_suffix(std::string_view cell, Macro::Third third, TextPool& pool) {
  return suffix(lower(cell, third, pool), third, pool);
}

// Runs are shortened to one character, so that McDonald's is XxXx'x.
std::string_view shape(std::string_view cell, Macro::Third, TextPool& pool) {
  std::string& made = pool.fresh();
  char32_t before = ~char32_t{0};
  for_each_char(cell, [&](char32_t c) {
    const Kind kind = kind_of(c);
    if (kind == Kind::upper) c = U'X';
    if (kind == Kind::lower) c = U'x';
    if (kind == Kind::letter) c = U'o';
    if (kind == Kind::digit) c = U'd';
    if (c != before) append_utf8(made, c);
    before = c;
  });
  return made;
}

std::string_view digit(std::string_view cell, Macro::Third, TextPool&) {
  size_t all = 0, digits = 0, between = 0;
  for_each_char(cell, [&](char32_t c) {
    ++all;
    digits += kind_of(c) == Kind::digit;
    between += c == U'.' || c == U',' || c == U'-' || c == U'/' || c == U':';
  });
  if (digits == 0) return "none";
  return digits + between == all ? "all" : "some";
}

// A single capital is `first`, not `all`.
std::string_view capital(std::string_view cell, Macro::Third, TextPool&) {
  size_t all = 0, capitals = 0, small = 0;
  bool first = false;
  for_each_char(cell, [&](char32_t c) {
    const Kind kind = kind_of(c);
    first = first || (all == 0 && kind == Kind::upper);
    ++all;
    capitals += kind == Kind::upper;
    small += kind == Kind::lower;
  });
  if (capitals == 0) return "none";
  if (small == 0 && all > 1) return "all";
  return first && capitals == 1 ? "first" : "some";
}

std::string_view punct(std::string_view cell, Macro::Third, TextPool&) {
  size_t all = 0, marks = 0;
  for_each_char(cell, [&](char32_t c) {
    ++all;
    marks += kind_of(c) == Kind::punctuation;
  });
  if (marks == 0) return "none";
  return marks == all ? "all" : "some";
}

std::string_view word_class(std::string_view cell, Macro::Third third, TextPool&) {
  return third.table->class_of(cell, third.n);
}

std::string_view lexicon(std::string_view cell, Macro::Third third, TextPool&) {
  return third.table->value_of(cell, third.n);
}

// The macros of Wapiti work on bytes.

std::string_view ascii_lower(std::string_view text, TextPool& pool) {
  std::string& made = pool.fresh();
  for (const char c : text) made.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  return made;
}

std::string_view x_lower(std::string_view cell, Macro::Third, TextPool& pool) { return ascii_lower(cell, pool); }

std::string_view test(std::string_view cell, Macro::Third third, TextPool&) {
  return third.regex->find(cell) ? "true" : "false";
}

std::string_view match(std::string_view cell, Macro::Third third, TextPool& pool) {
  const auto found = third.regex->find(cell);
  if (!found) return "";
  const std::string_view rest = cell.substr(found->begin);
  if (found->length <= rest.size()) return rest.substr(0, found->length);
  std::string& made = pool.fresh();
  made.append(rest).push_back(kEndsFeature);
  return made;
}

std::string_view match_lower(std::string_view cell, Macro::Third third, TextPool& pool) {
  return ascii_lower(match(cell, third, pool), pool);
}

constexpr Macro::From kCell = Macro::From::cell, kList = Macro::From::list, kLabel = Macro::From::label;

constexpr Macro kMacros[] = {
    {"x", "row,column", "the cell", kCell, x, false, true},
    {"lower", "row,column", "the cell in lower case", kCell, lower},
    {"prefix", "row,column,length", "its first length characters; no feature if it has fewer", kCell, prefix},
    {"suffix", "row,column,length", "its last length characters; no feature if it has fewer", kCell, suffix},
    {"Prefix", "row,column,length", "as %prefix, of the cell in lower case", kCell, lower_prefix},
    {"Suffix", "row,column,length", "as %suffix, of the cell in lower case", kCell, lower_suffix},
    {"shape", "row,column",
     "capitals as X, lower-case letters as x, letters without case as o, digits as d; repetitions collapsed", kCell,
     shape, true},
    {"digit", "row,column",
     "all if it consists of digits, possibly with . , - / : between them; some if it contains a digit; none", kCell,
     digit, true},
    {"capital", "row,column", "all if all letters are capitals; first if only the first character is one; some; none",
     kCell, capital, true},
    {"punct", "row,column", "all if it consists of punctuation; some; none", kCell, punct, true},
    {"in", "row,column,list", "B, I or O: whether an entry of the word list starts or continues here", kList, nullptr},
    {"class", "row,column,list,parts",
     "the class of the word in a file of word classes; with parts, that many parts of its path; no feature if it has "
     "none",
     kCell, word_class, false, false, ListKind::classes, true},
    {"lexicon", "row,column,list,number",
     "the values of the word in a lexicon as one; with number, the one of that number; no feature if "
     "there is none",
     kCell, lexicon, false, false, ListKind::lexicon, true},
    {"t", "row,column,regex", "true or false: whether the regular expression matches", kCell, test, true, true},
    {"m", "row,column,regex", "what the regular expression matches; empty if nothing", kCell, match, false, true},
    {"X", "row,column", "as %x, with ASCII letters in lower case", kCell, x_lower, false, true},
    {"T", "row,column,regex", "as %t", kCell, test, true, true},
    {"M", "row,column,regex", "as %m, with ASCII letters in lower case", kCell, match_lower, false, true},
    {"y", "back", "the label of a preceding token, from -1 to -4; only for tw.MEMM", kLabel, nullptr},
};

}  // namespace

std::span<const Macro> macros() { return kMacros; }

void append_lower(std::string& out, std::string_view text) {
  for_each_char(text, [&](char32_t c) { append_utf8(out, lower_of(c)); });
}

}  // namespace tagwright
