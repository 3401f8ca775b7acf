#include "features/templates.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "features/unicode.h"

namespace tagwright {
namespace {

std::string_view text_of(const char* begin, const char* end) { return {begin, static_cast<size_t>(end - begin)}; }

void lower(std::string_view cell, std::string& out) {
  out.clear();
  for (const char *at = cell.data(), *end = at + cell.size(); at < end;) append_utf8(out, lower_of(next_char(at, end)));
}

// Capitals become X, small letters x, letters without case o, digits d; other characters stay. Runs are shortened to
// one, so that McDonald's is XxXx'x.
void shape(std::string_view cell, std::string& out) {
  out.clear();
  char32_t before = ~char32_t{0};
  for (const char *at = cell.data(), *end = at + cell.size(); at < end;) {
    char32_t c = next_char(at, end);
    switch (kind_of(c)) {
      case Kind::upper:
        c = U'X';
        break;
      case Kind::lower:
        c = U'x';
        break;
      case Kind::letter:
        c = U'o';
        break;
      case Kind::digit:
        c = U'd';
        break;
      default:
        break;
    }
    if (c != before) append_utf8(out, c);
    before = c;
  }
}

struct Count {
  size_t all = 0, of_kind = 0, commas = 0;
  bool first = false;
};

Count count(std::string_view cell, Kind kind) {
  Count n;
  for (const char *at = cell.data(), *end = at + cell.size(); at < end; ++n.all) {
    const char32_t c = next_char(at, end);
    const bool is = kind_of(c) == kind;
    if (is && n.all == 0) n.first = true;
    n.of_kind += is;
    n.commas += c == U'.' || c == U',' || c == U'-' || c == U'/' || c == U':';
  }
  return n;
}

// all: digits with . , - / : between them, and at least one digit; some; none.
std::string_view digits(std::string_view cell) {
  const Count n = count(cell, Kind::digit);
  if (n.of_kind == 0) return "none";
  return n.of_kind + n.commas == n.all ? "all" : "some";
}

// all: of at least two characters, every letter is a capital; first: only the first is; some; none.
std::string_view capitals(std::string_view cell) {
  const Count n = count(cell, Kind::upper);
  if (n.of_kind == 0) return "none";
  const size_t small = count(cell, Kind::lower).of_kind;
  if (small == 0 && n.all > 1) return "all";
  return n.first && n.of_kind == 1 ? "first" : "some";
}

std::string_view punctuation(std::string_view cell) {
  const Count n = count(cell, Kind::punctuation);
  if (n.of_kind == 0) return "none";
  return n.of_kind == n.all ? "all" : "some";
}

std::string& fresh(FeatureScratch& scratch) {
  if (scratch.used == scratch.made.size()) scratch.made.emplace_back();
  return scratch.made[scratch.used++];
}

// What a view shows of one cell; a null view where it shows nothing.
std::string_view show(const View& view, std::string_view cell, FeatureScratch& scratch) {
  const char *begin = cell.data(), *end = begin + cell.size();
  switch (view.macro) {
    case Macro::x:
      return cell;
    case Macro::prefix: {
      const char* at = prefix_end(begin, end, view.n);
      return at ? text_of(begin, at) : std::string_view();
    }
    case Macro::suffix: {
      const char* at = suffix_begin(begin, end, view.n);
      return at ? text_of(at, end) : std::string_view();
    }
    case Macro::digit:
      return digits(cell);
    case Macro::capital:
      return capitals(cell);
    case Macro::punctuation:
      return punctuation(cell);
    case Macro::lower: {
      std::string& made = fresh(scratch);
      lower(cell, made);
      return made;
    }
    case Macro::shape: {
      std::string& made = fresh(scratch);
      shape(cell, made);
      return made;
    }
    case Macro::list:
    case Macro::label:
      break;
  }
  return {};
}

// How a word list marks a token that is in none of its entries.
constexpr std::string_view kOutside = "O";

// What stands before and behind a sentence, as CRF++ writes it: _B-1, _B-2, ..., _B+1, _B+2, ...
void append_beyond(std::string& out, size_t distance, bool before) {
  out.append(before ? "_B-" : "_B+");
  out.append(std::to_string(distance));
}

}  // namespace

void WordList::add(std::string_view entry) {
  std::string lowered, joined;
  lower(entry, lowered);
  size_t words = 0;
  for (size_t at = 0; at < lowered.size();) {
    const size_t begin = lowered.find_first_not_of(" \t", at);
    if (begin == std::string::npos) break;
    at = std::min(lowered.find_first_of(" \t", begin), lowered.size());
    if (words++) joined += ' ';
    joined.append(lowered, begin, at - begin);
  }
  if (words == 0) return;
  entries_.add(joined);
  longest_ = std::max(longest_, words);
}

void WordList::mark(const std::vector<std::string_view>& lowered, std::vector<std::string_view>& marks) const {
  const size_t T = lowered.size();
  marks.assign(T, kOutside);
  std::string joined;
  for (size_t t = 0; t < T;) {
    size_t words = 0;
    joined.clear();
    for (size_t n = 1; n <= longest_ && t + n <= T; ++n) {
      if (n > 1) joined += ' ';
      joined.append(lowered[t + n - 1]);
      if (entries_.find(joined) != kNoId) words = n;
    }
    for (size_t n = 0; n < words; ++n) marks[t + n] = n ? "I" : "B";
    t += std::max<size_t>(words, 1);
  }
}

void Templates::check() const {
  for (const View& view : views)
    if (view.macro == Macro::list && view.n >= lists.size()) throw std::invalid_argument("a template names no list");
  for (const Template& one : templates) {
    for (const Part& part : one.parts) {
      if (part.view >= static_cast<int32_t>(views.size())) throw std::invalid_argument("a template names no view");
      const bool label = part.view >= 0 && views[static_cast<size_t>(part.view)].macro == Macro::label;
      if (label && (!one.history || one.edge || part.row >= 0 || -part.row > static_cast<int32_t>(kLongestHistory)))
        throw std::invalid_argument("a template asks for a label that is not there yet, or too far back");
    }
  }
}

size_t Templates::history() const {
  size_t most = 0;
  for (const Template& one : templates)
    for (const Part& part : one.parts)
      if (part.view >= 0 && views[static_cast<size_t>(part.view)].macro == Macro::label)
        most = std::max(most, static_cast<size_t>(-part.row));
  return most;
}

size_t Templates::columns() const {
  size_t most = 0;
  for (const View& view : views)
    if (view.macro != Macro::label) most = std::max(most, view.column + 1);
  return most;
}

void Templates::check_text(const Text& text) const {
  const size_t read = columns();
  if (text.ready && read > 0) throw std::invalid_argument("the templates read text, but features are ready-made");
  if (!text.ready && text.columns < read)
    throw std::invalid_argument("the text has fewer columns than the templates read");
}

void Templates::start(const Text& text, size_t sentence, FeatureScratch& scratch) const {
  if (text.ready) return;
  const size_t T = text.length(sentence), first = text.first_token(sentence);
  scratch.used = 0;
  scratch.views.resize(views.size());
  size_t lowered = SIZE_MAX;  // the column that scratch.lowered holds
  for (size_t v = 0; v < views.size(); ++v) {
    const View& view = views[v];
    std::vector<std::string_view>& shown = scratch.views[v];
    if (view.macro == Macro::label) continue;
    const auto cell = [&](size_t t) { return text.cell(text.first_cell(first + t) + view.column); };
    if (view.macro == Macro::list) {
      if (lowered != view.column) {
        lowered = view.column;
        scratch.lowered.resize(T);
        for (size_t t = 0; t < T; ++t) {
          std::string& made = fresh(scratch);
          lower(cell(t), made);
          scratch.lowered[t] = made;
        }
      }
      lists[view.n].mark(scratch.lowered, shown);
      continue;
    }
    shown.resize(T);
    for (size_t t = 0; t < T; ++t) shown[t] = show(view, cell(t), scratch);
  }
}

void Templates::expand(const Text& text, size_t sentence, size_t t, FeatureScratch& scratch) const {
  scratch.bytes.clear();
  scratch.node.clear();
  scratch.edge.clear();
  if (!text.ready) {
    const size_t T = text.length(sentence);
    for (const Template& one : templates)
      if (!one.history) expand_one(one, T, t, nullptr, scratch);
    return;
  }
  const size_t token = text.first_token(sentence) + t;
  for (size_t at = text.first_cell(token); at < text.token_end[token]; ++at) {
    const std::string_view name = text.cell(at);
    scratch.node.push_back({scratch.bytes.size(), name.size(), hash_of(name), text.value_of(at)});
    scratch.bytes.append(name);
  }
}

void Templates::expand_history(Which which, const Text& text, size_t sentence, size_t t, const Before& before,
                               FeatureScratch& scratch) const {
  const size_t T = text.length(sentence);
  for (const Template& one : templates)
    if (one.history && one.pure == (which == Which::pure)) expand_one(one, T, t, &before, scratch);
}

void Templates::expand_one(const Template& one, size_t T, size_t t, const Before* before,
                           FeatureScratch& scratch) const {
  // The edges into the first token are none.
  if (one.edge && t == 0) return;
  const size_t begin = scratch.bytes.size();
  bool found = false;
  for (const Part& part : one.parts) {
    scratch.bytes.append(part.literal);
    if (part.view < 0) continue;
    const ptrdiff_t at = static_cast<ptrdiff_t>(t) + part.row;
    if (at < 0) {
      append_beyond(scratch.bytes, static_cast<size_t>(-at), true);
    } else if (at >= static_cast<ptrdiff_t>(T)) {
      append_beyond(scratch.bytes, static_cast<size_t>(at) - T + 1, false);
    } else if (views[static_cast<size_t>(part.view)].macro == Macro::label) {
      scratch.bytes.append(before->names[static_cast<size_t>(before->label[part.row])]);
    } else {
      const std::string_view shown = scratch.views[static_cast<size_t>(part.view)][static_cast<size_t>(at)];
      if (shown.data() == nullptr) {
        scratch.bytes.resize(begin);
        return;
      }
      found = found || (views[static_cast<size_t>(part.view)].macro == Macro::list && shown != kOutside);
      scratch.bytes.append(shown);
    }
  }
  if (one.finds && !found) {
    scratch.bytes.resize(begin);
    return;
  }
  const std::string_view made = std::string_view(scratch.bytes).substr(begin);
  (one.edge ? scratch.edge : scratch.node).push_back({begin, made.size(), hash_of(made), 1.0F});
}

}  // namespace tagwright
