#include "features/templates.h"

#include <algorithm>
#include <stdexcept>

namespace tagwright {
namespace {

// The mark of a token that is in no entry of a word list.
constexpr std::string_view kOutside = "O";

// Appends what stands before and after a sentence, as CRF++ writes it: _B-1, _B-2, ..., _B+1, _B+2, ...
void append_beyond(std::string& out, size_t distance, bool before) {
  out.append(before ? "_B-" : "_B+");
  out.append(std::to_string(distance));
}

}  // namespace

void WordList::add(std::string_view entry) {
  std::string lowered, joined;
  append_lower(lowered, entry);
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
    if (view.from() == Macro::From::list && view.n >= lists.size())
      throw std::invalid_argument("a template names no list");
  for (const Template& one : templates) {
    for (const Part& part : one.parts) {
      if (part.view >= static_cast<int32_t>(views.size())) throw std::invalid_argument("a template names no view");
      const bool label = part.view >= 0 && views[static_cast<size_t>(part.view)].from() == Macro::From::label;
      if (label && (!one.history || one.edge || part.row >= 0 || -part.row > static_cast<int32_t>(kLongestHistory)))
        throw std::invalid_argument("a template asks for a label that is not there yet, or too far back");
    }
  }
}

size_t Templates::history() const {
  size_t most = 0;
  for (const Template& one : templates)
    for (const Part& part : one.parts)
      if (part.view >= 0 && views[static_cast<size_t>(part.view)].from() == Macro::From::label)
        most = std::max(most, static_cast<size_t>(-part.row));
  return most;
}

size_t Templates::columns() const {
  size_t most = 0;
  for (const View& view : views)
    if (view.from() != Macro::From::label) most = std::max(most, view.column + 1);
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
  scratch.pool.clear();
  scratch.views.resize(views.size());
  size_t lowered = SIZE_MAX;  // the column that scratch.lowered holds
  for (size_t v = 0; v < views.size(); ++v) {
    const View& view = views[v];
    std::vector<std::string_view>& shown = scratch.views[v];
    if (view.from() == Macro::From::label) continue;
    const auto cell = [&](size_t t) { return text.cell(text.first_cell(first + t) + view.column); };
    if (view.from() == Macro::From::list) {
      if (lowered != view.column) {
        lowered = view.column;
        scratch.lowered.resize(T);
        for (size_t t = 0; t < T; ++t) {
          std::string& made = scratch.pool.fresh();
          append_lower(made, cell(t));
          scratch.lowered[t] = made;
        }
      }
      lists[view.n].mark(scratch.lowered, shown);
      continue;
    }
    shown.resize(T);
    for (size_t t = 0; t < T; ++t) shown[t] = view.macro->show(cell(t), view.n, scratch.pool);
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
  // No edge leads into the first token.
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
    } else if (views[static_cast<size_t>(part.view)].from() == Macro::From::label) {
      scratch.bytes.append(before->names[static_cast<size_t>(before->label[part.row])]);
    } else {
      const std::string_view shown = scratch.views[static_cast<size_t>(part.view)][static_cast<size_t>(at)];
      if (shown.data() == nullptr) {
        scratch.bytes.resize(begin);
        return;
      }
      found = found || (views[static_cast<size_t>(part.view)].from() == Macro::From::list && shown != kOutside);
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
