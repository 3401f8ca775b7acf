#include "model/scorer.h"

#include <algorithm>
#include <limits>

namespace tagwright {

Scorer::Scorer(Templates templates, Weights weights)
    : templates_(std::move(templates)), weights_(std::move(weights)), rows_(weights_.rows()) {
  templates_.check();
  if (weights_.first_only()) return;
  const size_t keys = weights_.parts().keys();
  for (size_t f = 0; f < rows_.rows(); ++f) {
    if (!is_large(rows_.size(f), keys)) continue;
    std::vector<float>& row = whole_[f];
    row.assign(keys, 0.0F);
    // A file may name a label twice.
    for (size_t q = 0; q < rows_.size(f); ++q) row[rows_.keys(f)[q]] += rows_.values(f)[q];
  }
}

void Scorer::look_up(const std::vector<Feature>& features, const FeatureScratch& scratch, const IndexView& index,
                     std::vector<int32_t>& ids) const {
  ids.clear();
  for (const Feature& f : features) index.prefetch(f.hash);
  for (const Feature& f : features) ids.push_back(index.find(f.hash, scratch.text(f)));
}

void Scorer::add_features(const std::vector<Feature>& features, const FeatureScratch& scratch,
                          std::vector<int32_t>& ids, float* out) const {
  look_up(features, scratch, weights_.names(), ids);
  if (weights_.first_only()) {
    const auto first = std::find_if(ids.begin(), ids.end(), [](int32_t id) { return id != kNoId; });
    if (first != ids.end()) set_row(rows_, static_cast<size_t>(*first), out);
    return;
  }
  const size_t keys = weights_.parts().keys();
  const auto whole = [&](size_t f) { return is_large(rows_.size(f), keys) ? whole_.at(f).data() : nullptr; };
  add_rows(rows_, ids, [&](size_t n) { return features[n].value; }, whole, keys, out);
}

void Scorer::score(const Text& text, size_t sentence, float* nodes, std::vector<std::vector<int32_t>>& on) const {
  thread_local FeatureScratch scratch;
  thread_local std::vector<int32_t> ids;
  thread_local std::vector<float> scores;
  const Parts& parts = weights_.parts();
  scores.resize(parts.each ? parts.keys() : 0);
  const size_t L = weights_.L(), T = text.length(sentence);
  const bool sets = weights_.edge_names().size() > 0;
  on.clear();
  if (sets) on.resize(T ? T - 1 : 0);
  templates_.start(text, sentence, scratch);
  for (size_t t = 0; t < T; ++t) {
    float* out = parts.each ? scores.data() : nodes + t * L;
    templates_.expand(text, sentence, t, scratch);
    std::fill(out, out + (parts.each ? parts.keys() : L),
              weights_.first_only() ? -std::numeric_limits<float>::infinity() : 0.0F);
    add_features(scratch.node, scratch, ids, out);
    if (parts.each) {
      parts.add_to_labels(out);
      std::copy(out, out + L, nodes + t * L);
    }
    if (!sets || t == 0) continue;
    look_up(scratch.edge, scratch, weights_.edge_names(), ids);
    std::vector<int32_t>& step = on[t - 1];
    for (const int32_t id : ids)
      if (id != kNoId && std::find(step.begin(), step.end(), id) == step.end()) step.push_back(id);
  }
}

}  // namespace tagwright
