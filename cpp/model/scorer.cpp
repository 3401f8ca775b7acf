#include "model/scorer.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/stages.h"
#include "base/stop.h"

namespace tagwright {
namespace {

constexpr size_t kAtOnce = 64;   // tokens
constexpr size_t kSummed = 512;  // labels and parts; beyond, a sum takes more memory than the rows it is made of
constexpr size_t kFew = 16;      // if at most one in kFew keys is allowed, only those are summed

// out[key] = from[key] for some keys, or for all.
void copy_keys(const float* from, std::span<const uint16_t> only, size_t keys, float* out) {
  if (only.empty()) return void(std::copy_n(from, keys, out));
  for (const uint16_t key : only) out[key] = from[key];
}

}  // namespace

// Memory of one thread, for some tokens.
struct Scorer::Buffers {
  std::vector<TokenKey> keys;
  std::string key_bytes;
  std::vector<size_t> key_end;  // in key_bytes
  std::vector<uint32_t> which;
  std::vector<int32_t> ids;
  std::vector<RowAt> found;
  std::vector<RowAt> rows;             // [token][template of alone_]
  std::vector<RowAt> mixed;            // [token][template of mixed_]
  std::vector<const RowAt*> sequence;  // rows to be added, those of one token behind those of another
  std::vector<size_t> sequence_end;    // [token]
  std::vector<uint16_t> only;          // keys that are summed, those of one token behind those of another
  std::vector<size_t> only_end;        // [token]

  // Those of the n-th token; none where all are summed.
  Only only_of(size_t n) const {
    const size_t first = n ? only_end[n - 1] : 0;
    return Only(only).subspan(first, only_end[n] - first);
  }
};

Scorer::Scorer(Templates templates, Weights weights)
    : templates_(std::move(templates)),
      weights_(std::move(weights)),
      rows_(weights_.first_only() ? PackedRows<float>{} : weights_.rows(), weights_.parts().keys()),
      sums_(weights_.parts().keys() <= kSummed ? weights_.parts().keys() : 0) {
  templates_.check();
  plan();
}

void Scorer::plan() {
  const std::vector<Template>& all = templates_.templates;
  const IndexView names = weights_.names();
  const auto has_form = [&](const Template& one) {
    return std::all_of(one.parts.begin(), one.parts.end(), [&](const Part& part) {
      return part.view < 0 || templates_.views[static_cast<size_t>(part.view)].macro->few;
    });
  };
  std::vector<bool> alone(all.size()), mixed(all.size()), edge(all.size());
  std::vector<size_t> forms, others;
  for (size_t n = 0; n < all.size(); ++n) {
    edge[n] = all[n].edge;
    if (edge[n] || all[n].history) continue;
    if (all[n].dimensions) {
      plan_vectors(n);
      continue;
    }
    const std::optional<int32_t> row = templates_.row_of(all[n]);
    alone[n] = row.has_value();
    mixed[n] = !alone[n];
    if (row == 0) {
      (has_form(all[n]) ? forms : others).push_back(n);
      continue;
    }
    later_.push_back({n, alone[n]});
    if (!row) continue;
    Later& later = later_.back();
    later.row = *row;
    const size_t far = static_cast<size_t>(*row < 0 ? -*row : *row);
    size_t& reach = *row < 0 ? back_ : on_;
    reach = std::max(reach, far);
    for (size_t d = 1; d <= far; ++d) {
      const std::string text = templates_.expand_beyond(all[n], d, *row < 0);
      const int32_t id = weights_.first_only() ? kNoId : names.find(hash_of(text), text);
      later.beyond.push_back(id == kNoId ? RowAt{} : rows_.at(static_cast<size_t>(id)));
    }
  }
  alone_ = templates_.set_of(alone);
  alone_.templates = forms;
  alone_.templates.insert(alone_.templates.end(), others.begin(), others.end());
  forms_ = forms.size();
  own_ = alone_.templates.size();
  for (Later& later : later_) {
    if (!later.alone) continue;
    later.place = alone_.templates.size();
    alone_.templates.push_back(later.one);
  }
  mixed_ = templates_.set_of(mixed);
  for_edges_ = templates_.set_of(edge);
  mixed_.back = std::max(mixed_.back, for_edges_.back);
  mixed_.on = std::max(mixed_.on, for_edges_.on);
  std::vector<size_t>& views = mixed_.views;
  views.insert(views.end(), for_edges_.views.begin(), for_edges_.views.end());
  std::sort(views.begin(), views.end());
  views.erase(std::unique(views.begin(), views.end()), views.end());
}

void Scorer::plan_vectors(size_t n) {
  const Template& one = templates_.templates[n];
  const Part& part = one.vector_part();
  const View& view = templates_.views[static_cast<size_t>(part.view)];
  std::vector<int32_t> rows(one.dimensions, kNoId);
  for (size_t k = 0; k < rows.size(); ++k) {
    const std::string name = one.component_name(std::to_string(k));
    rows[k] = weights_.names().find(hash_of(name), name);
  }
  most_products_ += view.vectors->size();
  vectors_.push_back(
      {n, view.vectors.get(), view.column, part.row, VectorWeights(weights_.rows(), rows, weights_.parts().keys())});
}

void Scorer::find(const std::vector<Feature>& features, const FeatureScratch& scratch, const IndexView& index,
                  std::vector<int32_t>& ids) const {
  ids.resize(features.size());
  index.find_all(
      features.size(), [&](size_t n) { return features[n].hash; }, [&](size_t n) { return scratch.text(features[n]); },
      ids.data());
}

void Scorer::resolve(const std::vector<int32_t>& ids, std::vector<RowAt>& rows) const {
  for (const int32_t id : ids)
    if (id != kNoId) rows_.prefetch_place(static_cast<size_t>(id));
  rows.resize(ids.size());
  for (size_t n = 0; n < ids.size(); ++n) {
    rows[n] = ids[n] == kNoId ? RowAt{} : rows_.at(static_cast<size_t>(ids[n]));
    rows_.prefetch(rows[n]);
  }
}

void Scorer::add_features(const std::vector<Feature>& features, const FeatureScratch& scratch,
                          std::vector<int32_t>& ids, float* out) const {
  find(features, scratch, weights_.names(), ids);
  if (weights_.first_only()) {
    const auto first = std::find_if(ids.begin(), ids.end(), [](int32_t id) { return id != kNoId; });
    if (first != ids.end()) set_row(weights_.rows(), static_cast<size_t>(*first), out);
    return;
  }
  thread_local std::vector<RowAt> rows;
  resolve(ids, rows);
  for (size_t n = 0; n < rows.size(); ++n) rows_.add(rows[n], features[n].value, out);
}

void Scorer::add_all(std::span<const RowAt> rows, float* out) const {
  for (const RowAt& row : rows) rows_.add(row, 1.0F, out);
}

void Scorer::score(const Text& text, size_t sentence, float* nodes, std::vector<std::vector<int32_t>>& on) const {
  thread_local FeatureScratch scratch;
  templates_.start(text, sentence, scratch);
  score(text, sentence, 0, text.length(sentence), scratch, nodes, on);
}

void Scorer::score(const Text& text, size_t sentence, size_t begin, size_t end, FeatureScratch& scratch, float* nodes,
                   std::vector<std::vector<int32_t>>& on, Allowed allowed) const {
  thread_local std::vector<float> scores;  // of labels and parts
  thread_local Buffers own;
  const Parts& parts = weights_.parts();
  const size_t L = weights_.L(), keys = parts.keys();
  const bool one_by_one = text.ready || weights_.first_only();
  const InStage features(Stage::features);
  on.clear();
  if (weights_.edge_names().size() > 0) on.resize(end > begin ? end - begin - 1 : 0);
  std::optional<Pool<TokenCache>::Taken> cache;
  if (!one_by_one)
    cache.emplace(*caches_, [&] { return std::make_unique<TokenCache>(alone_.templates.size(), sums_, keys); });
  Meter meter;
  for (size_t first = begin; first < end; first += kAtOnce) {
    const size_t last = std::min(end, first + kAtOnce);
    if (parts.each) scores.resize((last - first) * keys);
    float* const out = parts.each ? scores.data() : nodes + (first - begin) * L;
    meter.count((last - first) * (1000 + L));
    if (one_by_one) {
      for (size_t t = first; t < last; ++t) score_one(text, sentence, t, scratch, out + (t - first) * keys);
    } else {
      own.only.clear();
      own.only_end.clear();
      for (size_t t = first; t < last; ++t) choose_keys(allowed[t - begin], own);
      score_some(text, sentence, first, last, scratch, **cache, own, out);
      if (!vectors_.empty()) add_vectors(text, sentence, first, last, own, out);
    }
    for (size_t t = first; parts.each && t < last; ++t) {
      float* const from = out + (t - first) * keys;
      float* const to = nodes + (t - begin) * L;
      if (one_by_one || own.only_of(t - first).empty()) {
        parts.add_to_labels(from);
        std::copy(from, from + L, to);
      } else {
        for (const int32_t y : allowed[t - begin]) to[y] = parts.of_label(from, static_cast<size_t>(y));
      }
    }
    for (size_t t = std::max(first, begin + 1); !on.empty() && t < last; ++t)
      activate(text, sentence, t, scratch, on[t - begin - 1]);
  }
}

// The keys of one more token: those of the labels that are allowed, and of their parts.
void Scorer::choose_keys(std::span<const int32_t> allowed, Buffers& own) const {
  const Parts& parts = weights_.parts();
  const auto first = static_cast<ptrdiff_t>(own.only.size());
  if (allowed.size() * (1 + parts.each) * kFew <= parts.keys()) {
    for (const int32_t y : allowed) own.only.push_back(static_cast<uint16_t>(y));
    for (size_t k = 0; k < parts.each; ++k)
      for (const int32_t y : allowed) own.only.push_back(static_cast<uint16_t>(parts.key(k, static_cast<size_t>(y))));
    if (parts.each) {
      std::sort(own.only.begin() + first, own.only.end());
      own.only.erase(std::unique(own.only.begin() + first, own.only.end()), own.only.end());
    }
  }
  own.only_end.push_back(own.only.size());
}

void Scorer::score_one(const Text& text, size_t sentence, size_t t, FeatureScratch& scratch, float* out) const {
  thread_local std::vector<int32_t> ids;
  templates_.expand(text, sentence, t, scratch);
  std::fill(out, out + weights_.parts().keys(), weights_.first_only() ? -std::numeric_limits<float>::infinity() : 0.0F);
  add_features(scratch.node, scratch, ids, out);
}

void Scorer::activate(const Text& text, size_t sentence, size_t t, FeatureScratch& scratch,
                      std::vector<int32_t>& step) const {
  if (text.ready) return;
  thread_local std::vector<int32_t> ids;
  scratch.bytes.clear();
  scratch.edge.clear();
  templates_.show(mixed_, text, sentence, t, scratch);
  for (const size_t n : for_edges_.templates)
    templates_.expand_one(templates_.templates[n], text.length(sentence), t, nullptr, scratch);
  find(scratch.edge, scratch, weights_.edge_names(), ids);
  for (const int32_t id : ids)
    if (id != kNoId && std::find(step.begin(), step.end(), id) == step.end()) step.push_back(id);
}

// The keys of some tokens: their cells, and where there are several, how long each is.
void Scorer::make_keys(const Text& text, size_t begin, size_t end, Buffers& own) const {
  own.keys.resize(end - begin);
  const size_t read = templates_.columns();  // the text may have more
  if (read == 1) {
    for (size_t n = begin; n < end; ++n) own.keys[n - begin].text = text.cell(text.first_cell(n));
  } else {
    own.key_bytes.clear();
    own.key_end.clear();
    for (size_t n = begin; n < end; ++n) {
      for (size_t at = text.first_cell(n); at < text.first_cell(n) + read; ++at) {
        const std::string_view cell = text.cell(at);
        const auto size = static_cast<uint32_t>(std::min<size_t>(cell.size(), UINT32_MAX));
        own.key_bytes.append(reinterpret_cast<const char*>(&size), sizeof size).append(cell);
      }
      own.key_end.push_back(own.key_bytes.size());
    }
    for (size_t n = 0, last = 0; n < own.keys.size(); last = own.key_end[n++])
      own.keys[n].text = std::string_view(own.key_bytes).substr(last, own.key_end[n] - last);
  }
  for (TokenKey& key : own.keys) key.hash = hash_of(key.text);
}

// What is known of a token: the rows of the features that depend on it alone, and the sum of its own.
void Scorer::fill(const Text& text, size_t token, FeatureScratch& scratch, const TokenCache::Entry& entry,
                  Buffers& own) const {
  templates_.expand_token(alone_, text, token, scratch, own.which);
  find(scratch.node, scratch, weights_.names(), own.ids);
  resolve(own.ids, own.found);
  std::fill(entry.row, entry.row + alone_.templates.size(), RowAt{});
  for (size_t n = 0; n < own.found.size(); ++n) entry.row[own.which[n]] = own.found[n];
  if (!sums_) return;
  const InStage rows(Stage::rows);
  std::fill(entry.sum, entry.sum + sums_, 0.0F);
  add_all({entry.row, own_}, entry.sum);
}

// The rows of the features that depend on several tokens.
void Scorer::find_mixed(const Text& text, size_t sentence, size_t begin, size_t end, FeatureScratch& scratch,
                        Buffers& own) const {
  const size_t T = text.length(sentence);
  scratch.bytes.clear();
  scratch.node.clear();
  own.which.clear();
  uint32_t place = 0;
  for (size_t t = begin; t < end; ++t) {
    templates_.show(mixed_, text, sentence, t, scratch);
    for (const size_t n : mixed_.templates) {
      if (templates_.expand_one(templates_.templates[n], T, t, nullptr, scratch)) own.which.push_back(place);
      ++place;
    }
  }
  find(scratch.node, scratch, weights_.names(), own.ids);
  resolve(own.ids, own.found);
  own.mixed.assign(place, {});
  for (size_t n = 0; n < own.found.size(); ++n) own.mixed[own.which[n]] = own.found[n];
}

void Scorer::score_some(const Text& text, size_t sentence, size_t begin, size_t end, FeatureScratch& scratch,
                        TokenCache& cache, Buffers& own, float* out) const {
  const size_t T = text.length(sentence), keys = weights_.parts().keys(), each = alone_.templates.size();
  const size_t from = begin - std::min(begin, back_), to = std::min(T, end + on_);
  const size_t token = text.first_token(sentence);
  make_keys(text, token + from, token + to, own);
  for (const TokenKey& key : own.keys) cache.prefetch(key);
  own.rows.resize((to - from) * each);
  for (size_t t = from; t < to; ++t) {
    TokenCache::Entry entry;
    if (!cache.find(own.keys[t - from], entry)) {
      entry = cache.add(own.keys[t - from]);
      fill(text, token + t, scratch, entry, own);
    }
    RowAt* const rows = own.rows.data() + (t - from) * each;
    if (sums_) {
      std::copy(entry.row + own_, entry.row + each, rows + own_);
      if (t >= begin && t < end) copy_keys(entry.sum, own.only_of(t - begin), keys, out + (t - begin) * keys);
    } else {
      std::copy(entry.row, entry.row + each, rows);
    }
  }
  if (!mixed_.templates.empty()) find_mixed(text, sentence, begin, end, scratch, own);
  list_rows(begin, end, from, T, own);
  const InStage adding(Stage::rows);
  size_t next = 0;
  for (size_t t = begin; t < end; ++t, out += keys) {
    const Only only = own.only_of(t - begin);
    const size_t last = own.sequence_end[t - begin];
    if (!sums_) start_sum({own.rows.data() + (t - from) * each, forms_}, only, cache, out);
    if (!only.empty()) {
      const size_t after = t + 1 < end ? own.sequence_end[t + 1 - begin] : last;
      for (size_t n = last; n < after; ++n) rows_.prefetch_keys(*own.sequence[n]);
      rows_.add_some({own.sequence.data() + next, last - next}, only, out);
      next = last;
    }
    for (; next < last; ++next) {
      constexpr size_t kAhead = 12;  // rows
      if (next + kAhead < own.sequence.size()) RowForms::prefetch(*own.sequence[next + kAhead]);
      rows_.add(*own.sequence[next], 1.0F, out);
    }
  }
}

// The rows that are added behind what is known as a sum, in their order.
void Scorer::list_rows(size_t begin, size_t end, size_t from, size_t T, Buffers& own) const {
  own.sequence.clear();
  own.sequence_end.clear();
  const auto list = [&](const RowAt& row) {
    if (row.n) own.sequence.push_back(&row);
  };
  const size_t each = alone_.templates.size();
  const RowAt* mixed = own.mixed.data();
  for (size_t t = begin; t < end; ++t) {
    const RowAt* const rows = own.rows.data() + (t - from) * each;
    for (size_t n = forms_; !sums_ && n < own_; ++n) list(rows[n]);
    for (const Later& later : later_) {
      const ptrdiff_t place = static_cast<ptrdiff_t>(t) + later.row;
      if (!later.alone) {
        list(*mixed++);
      } else if (place < 0) {
        list(later.beyond[static_cast<size_t>(-place) - 1]);
      } else if (static_cast<size_t>(place) >= T) {
        list(later.beyond[static_cast<size_t>(place) - T]);
      } else {
        list(own.rows[(static_cast<size_t>(place) - from) * each + later.place]);
      }
    }
    own.sequence_end.push_back(own.sequence.size());
  }
}

// out: the sum over the rows of a token's form.
void Scorer::start_sum(std::span<const RowAt> forms, Only only, TokenCache& cache, float* out) const {
  const size_t keys = weights_.parts().keys();
  if (const float* const sum = cache.shared(forms, [&](float* made) { add_all(forms, made); }))
    return copy_keys(sum, only, keys, out);
  if (only.empty()) {
    std::fill_n(out, keys, 0.0F);
    return add_all(forms, out);
  }
  for (const uint16_t key : only) out[key] = 0;
  for (const RowAt& row : forms) {
    const RowAt* const one = &row;
    rows_.add_some({&one, 1}, only, out);
  }
}

int32_t Scorer::vector_of(const OfVectors& own, const Text& text, size_t sentence, size_t t) {
  const ptrdiff_t at = static_cast<ptrdiff_t>(t) + own.row;
  if (at < 0 || at >= static_cast<ptrdiff_t>(text.length(sentence))) return kNoId;
  const size_t token = text.first_token(sentence) + static_cast<size_t>(at);
  return own.table->find(text.cell(text.first_cell(token) + own.column));
}

// What the vectors of words add.
void Scorer::add_vectors(const Text& text, size_t sentence, size_t begin, size_t end, const Buffers& own,
                         float* out) const {
  const size_t keys = weights_.parts().keys();
  const Pool<ProductCache>::Taken cache(
      *products_, [&] { return std::make_unique<ProductCache>(keys, most_products_, vectors_.size()); });
  const InStage adding(Stage::rows);
  for (size_t t = begin; t < end; ++t, out += keys) {
    const Only only = own.only_of(t - begin);
    for (size_t n = 0; n < vectors_.size(); ++n) {
      const OfVectors& one = vectors_[n];
      const int32_t row = vector_of(one, text, sentence, t);
      if (row == kNoId) continue;
      const float* const product =
          (*cache).get(static_cast<uint64_t>(n) << 32 | static_cast<uint32_t>(row),
                       [&](float* made) { one.weights.multiply(one.table->row(static_cast<size_t>(row)), made); });
      if (only.empty()) kernels().add_scaled_f(product, 1.0F, keys, out);
      for (const uint16_t key : only) out[key] += product[key];
    }
  }
}

// The features of a token in the order in which they are summed.
void Scorer::expand_in_order(const Text& text, size_t sentence, size_t t, FeatureScratch& scratch) const {
  templates_.start(text, sentence, scratch);
  if (text.ready || weights_.first_only()) return templates_.expand(text, sentence, t, scratch);
  scratch.bytes.clear();
  scratch.node.clear();
  std::vector<size_t> order(alone_.templates.begin(), alone_.templates.begin() + static_cast<ptrdiff_t>(own_));
  for (const Later& later : later_) order.push_back(later.one);
  std::vector<bool> all(templates_.templates.size(), false);
  for (const size_t n : order) all[n] = true;
  templates_.show(templates_.set_of(all), text, sentence, t, scratch);
  for (const size_t n : order)
    templates_.expand_one(templates_.templates[n], text.length(sentence), t, nullptr, scratch);
}

std::vector<Contribution> Scorer::contributions(const Text& text, size_t sentence, size_t t, size_t y) const {
  FeatureScratch scratch;
  std::vector<int32_t> ids;
  expand_in_order(text, sentence, t, scratch);
  find(scratch.node, scratch, weights_.names(), ids);
  std::vector<Contribution> made;
  const auto add = [&](const Feature& feature, float value, float weight, int32_t part) {
    made.push_back({std::string(scratch.text(feature)), value, weight, weight * value, part});
  };
  if (weights_.first_only()) {
    const auto first = std::find_if(ids.begin(), ids.end(), [](int32_t id) { return id != kNoId; });
    float weight = -std::numeric_limits<float>::infinity();
    if (first == ids.end()) return {{"", 1.0F, weight, weight, -1}};
    const PackedRows<float> rows = weights_.rows();
    const auto f = static_cast<size_t>(*first);
    for (size_t q = 0; q < rows.size(f); ++q)
      if (rows.keys(f)[q] == y) weight = rows.values(f)[q];
    add(scratch.node[static_cast<size_t>(first - ids.begin())], 1.0F, weight, -1);
    return made;
  }
  const Parts& parts = weights_.parts();
  std::vector<std::pair<size_t, std::vector<float>>> products;  // of templates of vectors
  for (const OfVectors& own : vectors_) {
    const int32_t row = text.ready ? kNoId : vector_of(own, text, sentence, t);
    if (row == kNoId) continue;
    products.emplace_back(own.one, VectorWeights::room(parts.keys()));
    own.weights.multiply(own.table->row(static_cast<size_t>(row)), products.back().second.data());
  }
  for (size_t k = 0; k <= parts.each; ++k) {
    const auto part = static_cast<int32_t>(k) - 1;
    const size_t key = k ? parts.L + parts.of[(k - 1) * parts.L + y] : y;
    for (size_t n = 0; n < ids.size(); ++n) {
      if (ids[n] == kNoId) continue;
      const Feature& feature = scratch.node[n];
      rows_.for_each_weight(static_cast<size_t>(ids[n]), key,
                            [&](float weight) { add(feature, feature.value, weight, part); });
    }
    for (const auto& [one, product] : products)
      if (product[key] != 0)
        made.push_back({templates_.templates[one].vector_name(), 1.0F, product[key], product[key], part});
  }
  return made;
}

std::vector<std::string> Scorer::unknown(const Text& text, size_t sentence, size_t t) const {
  FeatureScratch scratch;
  std::vector<int32_t> ids;
  expand_in_order(text, sentence, t, scratch);
  find(scratch.node, scratch, weights_.names(), ids);
  std::vector<std::string> made;
  for (size_t n = 0; n < ids.size(); ++n)
    if (ids[n] == kNoId) made.emplace_back(scratch.text(scratch.node[n]));
  return made;
}

}  // namespace tagwright
