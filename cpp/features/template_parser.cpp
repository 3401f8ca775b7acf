#include "features/template_parser.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "features/unicode.h"

namespace tagwright {
namespace {

// The least and the greatest value of a macro's argument.
struct Range {
  std::string_view argument;
  int32_t low, high;
};
constexpr Range kRanges[] = {{"row", -1000, 1000},         {"column", 0, 10'000},
                             {"length", 1, kLongestAffix}, {"parts", 1, 1000},
                             {"number", 1, 1000},          {"back", -static_cast<int32_t>(kLongestHistory), -1}};

bool is_ascii_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_space(char32_t c) {
  return c == U' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

std::string_view trimmed(std::string_view text) {
  const char *begin = text.data(), *const end = begin + text.size();
  for (const char* at = begin; at < end && is_space(next_char(at, end));) begin = at;
  const char* last = begin;  // behind the last character that is not a space
  for (const char* at = begin; at < end;)
    if (!is_space(next_char(at, end))) last = at;
  return {begin, static_cast<size_t>(last - begin)};
}

// Text in quotes, with control characters escaped.
std::string quoted(std::string_view text) {
  const bool twice = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = twice ? '"' : '\'';
  std::string made(1, quote);
  for (const char c : text) {
    if (c == quote || c == '\\')
      made += {'\\', c};
    else if (c == '\t')
      made += "\\t";
    else if (c == '\r')
      made += "\\r";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      constexpr char kDigits[] = "0123456789abcdef";
      made += {'\\', 'x', kDigits[static_cast<unsigned char>(c) >> 4], kDigits[c & 15]};
    } else {
      made += c;
    }
  }
  return made + quote;
}

// Returns where one of some characters next occurs outside of double quotes, in which \ escapes a character.
size_t find_unquoted(std::string_view text, std::string_view characters, size_t from) {
  bool inside = false;
  for (size_t at = from; at < text.size(); ++at) {
    if (!inside && characters.find(text[at]) != characters.npos) return at;
    if (inside && text[at] == '\\')
      ++at;
    else if (text[at] == '"')
      inside = !inside;
  }
  return text.npos;
}

// The pieces between separators that are not quoted.
std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> pieces;
  for (size_t begin = 0;;) {
    const size_t end = find_unquoted(text, separator, begin);
    pieces.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return pieces;
    begin = end + 1;
  }
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0, end = 0; end != text.npos; begin = end + 1) {
    end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    while (lines.back().ends_with('\r')) lines.back().remove_suffix(1);
  }
  return lines;
}

bool is_template(std::string_view line) { return !trimmed(line).empty() && line.front() != '#'; }

const Macro* macro_named(std::string_view name) {
  const auto all = macros();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Macro& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

// Whether a line can only be a pattern of Wapiti.
bool is_wapiti(std::string_view line) {
  if (line.front() == 'u' || line.front() == 'b' || line.front() == '*') return true;
  for (size_t at = line.find('%'); at != line.npos; at = line.find('%', at + 1)) {
    if (line.substr(at + 1).starts_with('%')) {
      ++at;
      continue;
    }
    const size_t open = line.find('[', at);
    if (open == line.npos) return false;
    const Macro* const macro = macro_named(line.substr(at + 1, open - at - 1));
    if (macro && ((macro->wapiti && macro->name != "x") || trimmed(line.substr(open + 1)).starts_with('@')))
      return true;
  }
  return false;
}

// A pattern as Wapiti reads it: without its comment, and with its first character in lower case.
std::string pattern_of(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const size_t last = line.find_last_not_of(" \t\n\v\f\r");
  std::string made(line.substr(0, last == line.npos ? 0 : last + 1));
  if (made.starts_with('U')) made.front() = 'u';
  if (made.starts_with('B')) made.front() = 'b';
  return made;
}

// What stands outside of a sentence, as Wapiti names it.
constexpr std::string_view kOutside[] = {"_x-1", "_x-2", "_x-3", "_x-4", "_x-#",
                                         "_x+1", "_x+2", "_x+3", "_x+4", "_x+#"};

std::string joined(const auto& pieces, auto&& text_of) {
  std::string made;
  for (const auto& piece : pieces) made.append(made.empty() ? "" : ", ").append(text_of(piece));
  return made;
}

// Where a * stands for all lists of a kind, as in %in[0,0,*]: its place; npos if nowhere.
struct Star {
  size_t at = std::string_view::npos;
  ListKind kind = ListKind::entries;
};
Star find_star(std::string_view line, size_t from) {
  for (size_t at = line.find('%', from); at != std::string_view::npos; at = line.find('%', at + 1)) {
    const size_t open = std::min(line.find('[', at), line.size() - 1);
    const Macro* const macro = macro_named(line.substr(at + 1, open - at - 1));
    if (!macro || macro->arguments.find("list") == std::string_view::npos) continue;
    const size_t first = line.find_first_of("],", open);
    if (first == std::string_view::npos || line[first] != ',') continue;
    const size_t second = line.find_first_of("],", first + 1);
    if (second == std::string_view::npos || line[second] != ',') continue;
    const size_t end = line.find_first_of(macro->shorter ? "]," : "]", second + 1);
    if (end == std::string_view::npos) continue;
    const std::string_view inside = line.substr(second + 1, end - second - 1);
    if (trimmed(inside) == "*") return {second + 1 + inside.find('*'), macro->reads};
  }
  return {};
}

class Parser {
 public:
  Parser(std::string name, std::span<const NamedList> lists, bool only_found) : lists_(lists), only_found_(only_found) {
    out_.name = std::move(name);
  }

  ParsedTemplates parse(std::string_view text) {
    const std::vector<std::string_view> lines = lines_of(text);
    wapiti_ = std::any_of(lines.begin(), lines.end(),
                          [](std::string_view line) { return is_template(line) && is_wapiti(line); });
    for (const std::string_view line : lines) {
      ++line_;
      if (!is_template(line)) continue;
      const std::string pattern = wapiti_ ? pattern_of(line) : std::string(line);
      if (!pattern.empty()) parse_line(pattern);
    }
    if (out_.templates.templates.empty() && !out_.edges)
      throw TemplateError(out_.name + ": no template in it; a line such as U00:%x[0,0] is one");
    out_.templates.check();
    return std::move(out_);
  }

 private:
  void parse_line(std::string_view line) {
    if (std::string_view(wapiti_ ? "ub*" : "UB").find(line.front()) == std::string_view::npos) {
      const char* const end = prefix_end(line.data(), line.data() + line.size(), 1);
      fail(line, 0,
           std::string("a template begins with U (for labels) or B (for edges)") +
               (wapiti_ ? ", a pattern of Wapiti also with * (for both)" : "") + ", not " +
               quoted({line.data(), static_cast<size_t>(end - line.data())}));
    }
    const Star star = find_star(line, 0);
    if (star.at == std::string_view::npos) return add(line, false);
    if (star.kind == ListKind::vectors) fail(line, star.at, "%vector reads one list, by its name");
    // Most words are in no list: features that say so would occur on nearly all tokens.
    for (const NamedList& list : lists_)
      if (list.kind() == star.kind) add(named(line, star, list.name), only_found_ && star.kind == ListKind::entries);
  }

  // The line for one of the lists that its * stands for.
  std::string named(std::string_view line, Star star, const std::string& list) const {
    std::string made;
    size_t done = 0;
    for (const ListKind kind = star.kind; star.at != std::string_view::npos; star = find_star(line, done)) {
      if (star.kind != kind) fail(line, star.at, "* stands for lists of one kind; write two templates");
      made.append(line.substr(done, star.at - done)).append(list);
      done = star.at + 1;
    }
    return made.append(line.substr(done)).append("@").append(list);
  }

  void add(std::string_view line, bool finds) {
    Template made{false, false, true, finds, pieces(line)};
    bool only_text = true;
    for (const Part& part : made.parts) {
      if (part.view < 0) continue;
      only_text = false;
      const View& view = out_.templates.views[static_cast<size_t>(part.view)];
      const bool label = view.from() == Macro::From::label;
      made.history = made.history || label;
      made.pure = made.pure && label;
      made.ends = made.ends || view.macro->name == "m" || view.macro->name == "M";
      if (view.vectors) made.dimensions = view.vectors->dimensions();
    }
    const auto macros = std::count_if(made.parts.begin(), made.parts.end(), [](const Part& p) { return p.view >= 0; });
    if (made.dimensions && (macros > 1 || (line.front() != 'U' && line.front() != 'u')))
      fail(line, 0, "%vector needs a U template of its own: text may stand around it, but no other macro");
    if (line.front() == '*') add(line, made, only_text);
    made.edge = line.front() != 'U' && line.front() != 'u';
    add(line, std::move(made), only_text);
  }

  void add(std::string_view line, Template made, bool only_text) {
    if (made.edge && made.history) fail(line, 0, "%y is for U templates; edges depend on the previous label anyway");
    if (made.edge && only_text) {
      out_.edges = true;
    } else {
      out_.templates.templates.push_back(std::move(made));
    }
  }

  std::vector<Part> pieces(std::string_view line) {
    std::vector<Part> made;
    std::string literal;
    size_t at = 0;
    for (size_t percent; (percent = line.find('%', at)) != std::string_view::npos;) {
      literal.append(line.substr(at, percent - at));
      at = percent + 1;
      if (at < line.size() && line[at] == '%') {
        literal.push_back('%');
        ++at;
        continue;
      }
      const size_t open = name_end(line, at);
      const size_t close =
          open < line.size() && line[open] == '[' ? find_unquoted(line, "]", open) : std::string_view::npos;
      if (open == at || close == std::string_view::npos)
        fail(line, percent, "% begins a macro such as %x[0,0]; for the character itself write %%");
      made.push_back(macro(line, percent, line.substr(at, open - at), line.substr(open + 1, close - open - 1)));
      made.back().literal = std::move(literal);
      literal.clear();
      at = close + 1;
    }
    literal.append(line.substr(at));
    if (!literal.empty()) made.push_back({literal, -1, 0});
    return made;
  }

  // Where the name of a macro ends: letters, digits and _, a digit not first.
  static size_t name_end(std::string_view line, size_t begin) {
    if (begin >= line.size() || !is_ascii_word(line[begin]) || (line[begin] >= '0' && line[begin] <= '9')) return begin;
    const char *at = line.data() + begin, *const end = line.data() + line.size();
    while (at < end) {
      const char* next = at;
      const char32_t c = next_char(next, end);
      const Kind kind = kind_of(c);
      const bool word =
          c < 128 ? is_ascii_word(static_cast<char>(c)) : kind != Kind::other && kind != Kind::punctuation;
      if (!word) break;
      at = next;
    }
    return static_cast<size_t>(at - line.data());
  }

  Part macro(std::string_view line, size_t at, std::string_view name, std::string_view inside) {
    const Macro* const found = macro_named(name);
    const std::string own = std::string("%").append(name);
    if (!found)
      fail(line, at, "no macro " + own + "; there are " + joined(macros(), [](const Macro& one) {
                       return std::string("%").append(one.name);
                     }));
    const std::vector<std::string_view> names = split(found->arguments, ","), given = split(inside, ",");
    const std::string written = own + "[" + std::string(inside) + "]";
    if (given.size() != names.size() && !(found->shorter && given.size() + 1 == names.size()))
      fail(line, at,
           own + " is written " + own + "[" + std::string(found->arguments) + "]" +
               (found->shorter ? ", possibly without the last argument" : "") + ", not " + written);
    int32_t numbers[4] = {0, 0, 0, 0};
    View view{found, 0, 0};
    for (size_t n = 0; n < given.size(); ++n) {
      std::string_view argument = trimmed(given[n]);
      if (names[n] == "regex") {
        view.regex = regex(line, at, argument);
        continue;
      }
      const bool fixed = names[n] == "row" && argument.starts_with('@');
      if (fixed) argument = trimmed(argument.substr(1));
      if (names[n] == "list") {
        const size_t place = list(line, at, argument, found->reads);
        view.table = out_.tables[place];
        view.vectors = vectors_[place];
        if (view.vectors && view.fixed_row) fail(line, at, "the row of %vector is counted from the token");
        if (!view.table) numbers[n] = static_cast<int32_t>(place_[place]);
        continue;
      }
      numbers[n] = number(line, at, names[n], argument);
      if (fixed) view.fixed_row = std::exchange(numbers[n], 0);
    }
    const auto [row, column, third, fourth] = numbers;
    view.column = static_cast<size_t>(column);
    view.n = static_cast<size_t>(view.table ? fourth : third);
    if (wapiti_) show_outside(view);
    if (found->from != Macro::From::label) add_reader(view.column, line, at, written);
    return {"", view_number(view), row};
  }

  static void show_outside(View& view) {
    TextPool pool;
    for (const std::string_view cell : kOutside)
      view.outside.emplace_back(view.macro->wapiti ? view.show(cell, pool) : cell);
  }

  std::shared_ptr<const ByteRegex> regex(std::string_view line, size_t at, std::string_view text) {
    if (text.size() < 2 || !text.starts_with('"') || !text.ends_with('"'))
      fail(line, at, "the regular expression must be in double quotes, not " + quoted(text));
    try {
      return std::make_shared<const ByteRegex>(text.substr(1, text.size() - 2));
    } catch (const std::invalid_argument& error) {
      fail(line, at, error.what());
    }
  }

  int32_t number(std::string_view line, size_t at, std::string_view argument, std::string_view text) {
    const Range range = *std::find_if(std::begin(kRanges), std::end(kRanges),
                                      [&](const Range& one) { return one.argument == argument; });
    const bool sign = text.starts_with('+') || text.starts_with('-');
    const std::string_view digits = text.substr(sign);
    int32_t value = 0;
    const bool whole =
        !digits.empty() && digits.size() <= 6 && digits.find_first_not_of("0123456789") == std::string_view::npos;
    if (whole) std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (text.starts_with('-')) value = -value;
    if (wapiti_ && argument == "row" && digits.size() > 1 && digits.starts_with('0'))
      fail(line, at, "Wapiti reads the row " + quoted(text) + " as an octal number; write it without leading zeros");
    if (!whole || value < range.low || value > range.high)
      fail(line, at,
           std::string(argument) + " must be a whole number from " + std::to_string(range.low) + " to " +
               std::to_string(range.high) + ", not " + quoted(text));
    return value;
  }

  // The number of a list among those in use.
  size_t list(std::string_view line, size_t at, std::string_view name, ListKind kind) {
    const auto found =
        std::find_if(lists_.begin(), lists_.end(), [&](const NamedList& one) { return one.name == name; });
    if (found == lists_.end()) {
      const std::string names = joined(lists_, [](const NamedList& one) { return one.name; });
      fail(line, at,
           "no word list named " + quoted(name) + "; " +
               (lists_.empty() ? "give it with lists= or --list" : "there are " + names));
    }
    if (kind == ListKind::vectors && !found->vectors)
      fail(line, at, "the list " + quoted(name) + " has no vectors; in Python, give tw.Vectors or the path of a file");
    if (kind != ListKind::vectors && found->vectors)
      fail(line, at, "the list " + quoted(name) + " has vectors, which only %vector reads");
    const auto used = std::find(out_.lists.begin(), out_.lists.end(), name);
    const auto place = static_cast<size_t>(used - out_.lists.begin());
    if (used != out_.lists.end()) {
      if (kinds_[place] != kind)
        fail(line, at,
             "another macro reads the list " + quoted(name) +
                 " in another way; give it under two names, or, where that is a *, begin it with the line "
                 "word<TAB>class or word<TAB>values");
      return place;
    }
    kinds_.push_back(kind);
    place_.push_back(out_.templates.lists.size());
    out_.lists.push_back(found->name);
    out_.tables.emplace_back();
    vectors_.push_back(found->vectors);
    if (kind == ListKind::vectors) return place;
    if (kind == ListKind::entries) {
      out_.templates.lists.emplace_back(found->entries);
      out_.templates.list_names.push_back(found->name);
      return place;
    }
    try {
      out_.tables.back() = std::make_shared<const WordTable>(found->entries, kind);
    } catch (const std::invalid_argument& error) {
      fail(line, at, "list " + quoted(name) + ": " + error.what());
    }
    return place;
  }

  int32_t view_number(const View& view) {
    std::vector<View>& views = out_.templates.views;
    const auto found = std::find_if(views.begin(), views.end(), [&](const View& one) {
      return one.macro == view.macro && one.column == view.column && one.n == view.n && one.table == view.table &&
             one.vectors == view.vectors && one.fixed_row == view.fixed_row &&
             (one.regex == view.regex || (one.regex && view.regex && one.regex->source() == view.regex->source()));
    });
    const auto place = static_cast<int32_t>(found - views.begin());
    if (found == views.end()) views.push_back(view);
    return place;
  }

  void add_reader(size_t column, std::string_view line, size_t at, const std::string& macro) {
    for (const ParsedTemplates::Reader& reader : out_.readers)
      if (reader.column == column) return;
    out_.readers.push_back({column, line_, place_of(line, at), macro});
  }

  // A place in a line in characters, from 1.
  static size_t place_of(std::string_view line, size_t at) {
    return 1 + static_cast<size_t>(std::count_if(line.begin(), line.begin() + static_cast<ptrdiff_t>(at),
                                                 [](char c) { return !unicode::continues(c); }));
  }

  [[noreturn]] void fail(std::string_view line, size_t at, const std::string& message) const {
    throw TemplateError(out_.name + ":" + std::to_string(line_) + ":" + std::to_string(place_of(line, at)) + ": " +
                        message);
  }

  std::span<const NamedList> lists_;
  bool only_found_;
  bool wapiti_ = false;          // reads patterns of Wapiti
  size_t line_ = 0;              // the number of the current line
  std::vector<ListKind> kinds_;  // [list in use]
  std::vector<size_t> place_;    // [list in use]: in Templates::lists, where it is a word list
  std::vector<std::shared_ptr<const VectorTable>> vectors_;  // [list in use]: what %vector reads; else nullptr
  ParsedTemplates out_;
};

}  // namespace

std::optional<std::string> ParsedTemplates::word_prefix() const {
  for (const Template& one : templates.templates) {
    if (one.edge || one.parts.size() != 1 || one.parts[0].view < 0 || one.parts[0].row != 0) continue;
    const View& view = templates.views[static_cast<size_t>(one.parts[0].view)];
    if (view.macro->name == "x" && view.column == 0 && !view.fixed_row) return one.parts[0].literal;
  }
  return std::nullopt;
}

std::string ParsedTemplates::missing_column(size_t columns) const {
  const Reader* missing = nullptr;
  for (const Reader& reader : readers)
    if (reader.column >= columns && (!missing || reader.column < missing->column)) missing = &reader;
  if (!missing) return name + " reads no further column";
  return name + ":" + std::to_string(missing->line) + ":" + std::to_string(missing->at) + " (" + missing->macro +
         ") reads column " + std::to_string(missing->column) + ", counted from 0";
}

ParsedTemplates parse_templates(std::string_view text, std::string name, std::span<const NamedList> lists,
                                bool only_found) {
  return Parser(std::move(name), lists, only_found).parse(text);
}

}  // namespace tagwright
