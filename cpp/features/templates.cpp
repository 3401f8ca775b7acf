#include "features/templates.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tagwright {
namespace {

// Tokens whose views are held at a time.
constexpr size_t kShown = 4096;

// Ends the text from `begin` on where one of its parts ended it.
void end_early(const Template& one, size_t begin, std::string& bytes) {
  if (!one.ends) return;
  if (const size_t end = bytes.find(kEndsFeature, begin); end != bytes.npos) bytes.resize(end);
}

}  // namespace

void View::append_outside(std::string& out, size_t distance, bool before) const {
  if (outside.empty()) {
    out.append(before ? "_B-" : "_B+").append(std::to_string(distance));
  } else {
    const size_t each = outside.size() / 2;
    out.append(outside[(before ? 0 : each) + std::min(distance, each) - 1]);
  }
}

std::string Template::component_name(std::string_view component) const {
  std::string made;
  for (const Part& part : parts) {
    made.append(part.literal);
    if (part.view >= 0) made.append(component);
  }
  return made;
}

std::string Template::vector_name() const {
  return component_name(dimensions > 1 ? "0.." + std::to_string(dimensions - 1) : "0");
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
        throw std::invalid_argument("a template looks at a label that is not known yet, or too far back");
    }
  }
}

std::vector<std::pair<Templates::Strings, Templates::Strings>> Templates::features(const Text& text,
                                                                                   size_t sentence) const {
  need(sentence < text.sentences(), "no such sentence");
  check_text(text);
  FeatureScratch scratch;
  std::vector<std::pair<Strings, Strings>> made(text.length(sentence));
  start(text, sentence, scratch);
  for (size_t t = 0; t < made.size(); ++t) {
    expand(text, sentence, t, scratch);
    for (const Feature& f : scratch.node) made[t].first.emplace_back(scratch.text(f));
    for (const Feature& f : scratch.edge) made[t].second.emplace_back(scratch.text(f));
  }
  return made;
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
  scratch.begin = scratch.end = 0;
  if (text.ready) return;
  const size_t T = text.length(sentence), first = text.first_token(sentence);
  scratch.pool.clear();
  scratch.views.resize(views.size());
  scratch.marks.resize(views.size());
  size_t lowered = SIZE_MAX;  // the column that scratch.lowered holds
  for (size_t v = 0; v < views.size(); ++v) {
    const View& view = views[v];
    if (view.from() != Macro::From::list) continue;
    if (lowered != view.column) {
      lowered = view.column;
      scratch.lowered.resize(T);
      for (size_t t = 0; t < T; ++t) {
        std::string& made = scratch.pool.fresh();
        append_lower(made, text.cell(text.first_cell(first + t) + view.column));
        scratch.lowered[t] = made;
      }
    }
    lists[view.n].mark(scratch.lowered, scratch.marks[v]);
  }
  if (T > kShown) scratch.pool = {};
}

TemplateSet Templates::set_of(const std::vector<bool>& chosen) const {
  TemplateSet set;
  std::vector<bool> used(views.size(), false);
  for (size_t n = 0; n < templates.size(); ++n) {
    if (!chosen[n]) continue;
    set.templates.push_back(n);
    for (const Part& part : templates[n].parts) {
      if (part.view < 0 || views[static_cast<size_t>(part.view)].from() == Macro::From::label) continue;
      used[static_cast<size_t>(part.view)] = true;
      if (part.row < 0) set.back = std::max(set.back, static_cast<size_t>(-part.row));
      if (part.row > 0) set.on = std::max(set.on, static_cast<size_t>(part.row));
    }
  }
  for (size_t v = 0; v < views.size(); ++v)
    if (used[v]) set.views.push_back(v);
  return set;
}

std::optional<int32_t> Templates::row_of(const Template& one) const {
  if (one.edge || one.history || one.finds || one.dimensions) return std::nullopt;
  std::optional<int32_t> row;
  for (const Part& part : one.parts) {
    if (part.view < 0) continue;
    const View& view = views[static_cast<size_t>(part.view)];
    if (view.from() != Macro::From::cell || view.fixed_row || row.value_or(part.row) != part.row) return std::nullopt;
    row = part.row;
  }
  return row.value_or(0);
}

void Templates::show(const Text& text, size_t sentence, size_t t, FeatureScratch& scratch) const {
  if (text.ready || (t >= scratch.begin && t < scratch.end)) return;
  show(set_of(std::vector<bool>(templates.size(), true)), text, sentence, t, scratch);
}

void Templates::show(const TemplateSet& set, const Text& text, size_t sentence, size_t t,
                     FeatureScratch& scratch) const {
  if (t >= scratch.begin && t < scratch.end) return;
  const size_t T = text.length(sentence);
  scratch.begin = t / kShown * kShown;
  scratch.end = std::min(T, scratch.begin + kShown);
  scratch.first = scratch.begin - std::min(scratch.begin, set.back);
  const size_t shown = std::min(T, scratch.end + set.on) - scratch.first;
  const size_t token = text.first_token(sentence) + scratch.first;
  scratch.pool.clear();
  for (const size_t v : set.views) {
    const View& view = views[v];
    std::vector<std::string_view>& out = scratch.views[v];
    out.resize(shown);
    if (view.fixed_row) {
      std::fill(out.begin(), out.end(), show_fixed(v, text, sentence, scratch));
    } else if (view.from() == Macro::From::list) {
      std::copy_n(scratch.marks[v].data() + scratch.first, shown, out.data());
    } else {
      for (size_t n = 0; n < shown; ++n)
        out[n] = view.show(text.cell(text.first_cell(token + n) + view.column), scratch.pool);
    }
  }
}

std::string_view Templates::show_fixed(size_t v, const Text& text, size_t sentence, FeatureScratch& scratch) const {
  const View& view = views[v];
  const auto T = static_cast<ptrdiff_t>(text.length(sentence));
  const ptrdiff_t at = *view.fixed_row < 0 ? T + *view.fixed_row : *view.fixed_row - 1;
  if (at < 0 || at >= T) {
    std::string& made = scratch.pool.fresh();
    view.append_outside(made, static_cast<size_t>(at < 0 ? -at : at - T + 1), at < 0);
    return made;
  }
  if (view.from() == Macro::From::list) return scratch.marks[v][static_cast<size_t>(at)];
  const size_t token = text.first_token(sentence) + static_cast<size_t>(at);
  return view.show(text.cell(text.first_cell(token) + view.column), scratch.pool);
}

void Templates::expand_token(const TemplateSet& set, const Text& text, size_t token, FeatureScratch& scratch,
                             std::vector<uint32_t>& which) const {
  scratch.bytes.clear();
  scratch.node.clear();
  which.clear();
  scratch.token_pool.clear();
  scratch.token_views.resize(views.size());
  for (const size_t v : set.views)
    scratch.token_views[v] = views[v].show(text.cell(text.first_cell(token) + views[v].column), scratch.token_pool);
  for (size_t n = 0; n < set.templates.size(); ++n) {
    const size_t begin = scratch.bytes.size();
    bool all = true;
    for (const Part& part : templates[set.templates[n]].parts) {
      scratch.bytes.append(part.literal);
      if (part.view < 0) continue;
      const std::string_view shown = scratch.token_views[static_cast<size_t>(part.view)];
      all = all && shown.data() != nullptr;
      scratch.bytes.append(shown);
    }
    if (!all) {
      scratch.bytes.resize(begin);
      continue;
    }
    end_early(templates[set.templates[n]], begin, scratch.bytes);
    const std::string_view made = std::string_view(scratch.bytes).substr(begin);
    scratch.node.push_back({begin, made.size(), hash_of(made), 1.0F});
    which.push_back(static_cast<uint32_t>(n));
  }
}

std::string Templates::expand_beyond(const Template& one, size_t distance, bool before) const {
  std::string made;
  for (const Part& part : one.parts) {
    made.append(part.literal);
    if (part.view >= 0) views[static_cast<size_t>(part.view)].append_outside(made, distance, before);
  }
  end_early(one, 0, made);
  return made;
}

void Templates::expand(const Text& text, size_t sentence, size_t t, FeatureScratch& scratch) const {
  scratch.bytes.clear();
  scratch.node.clear();
  scratch.edge.clear();
  show(text, sentence, t, scratch);
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
  show(text, sentence, t, scratch);
  for (const Template& one : templates)
    if (one.history && one.pure == (which == Which::pure)) expand_one(one, T, t, &before, scratch);
}

bool Templates::expand_one(const Template& one, size_t T, size_t t, const Before* before,
                           FeatureScratch& scratch) const {
  // No edge leads into the first token.
  if (one.edge && t == 0) return false;
  const size_t begin = scratch.bytes.size();
  bool found = false;
  for (const Part& part : one.parts) {
    scratch.bytes.append(part.literal);
    if (part.view < 0) continue;
    const View& view = views[static_cast<size_t>(part.view)];
    const ptrdiff_t at = static_cast<ptrdiff_t>(t) + part.row;
    if (one.dimensions) {
      scratch.bytes.resize(begin);
      if (at < 0 || at >= static_cast<ptrdiff_t>(T)) return false;
      return expand_vector(one, scratch.views[static_cast<size_t>(part.view)][static_cast<size_t>(at) - scratch.first],
                           scratch);
    }
    if (at < 0) {
      view.append_outside(scratch.bytes, static_cast<size_t>(-at), true);
    } else if (at >= static_cast<ptrdiff_t>(T)) {
      view.append_outside(scratch.bytes, static_cast<size_t>(at) - T + 1, false);
    } else if (view.from() == Macro::From::label) {
      scratch.bytes.append(before->names[static_cast<size_t>(before->label[part.row])]);
    } else {
      const std::string_view shown =
          scratch.views[static_cast<size_t>(part.view)][static_cast<size_t>(at) - scratch.first];
      if (shown.data() == nullptr) {
        scratch.bytes.resize(begin);
        return false;
      }
      found = found || (view.from() == Macro::From::list && shown != WordList::kOutside);
      scratch.bytes.append(shown);
    }
  }
  if (one.finds && !found) {
    scratch.bytes.resize(begin);
    return false;
  }
  end_early(one, begin, scratch.bytes);
  const std::string_view made = std::string_view(scratch.bytes).substr(begin);
  (one.edge ? scratch.edge : scratch.node).push_back({begin, made.size(), hash_of(made), 1.0F});
  return true;
}

bool Templates::expand_vector(const Template& one, std::string_view vector, FeatureScratch& scratch) {
  bool any = false;
  for (size_t k = 0; (k + 1) * sizeof(float) <= vector.size(); ++k) {
    float value;
    std::memcpy(&value, vector.data() + k * sizeof(float), sizeof(float));
    if (value == 0) continue;
    any = true;
    const std::string name = one.component_name(std::to_string(k));
    scratch.node.push_back({scratch.bytes.size(), name.size(), hash_of(name), value});
    scratch.bytes.append(name);
  }
  return any;
}

}  // namespace tagwright
