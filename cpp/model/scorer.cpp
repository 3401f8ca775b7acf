#include "model/scorer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "model/weight_rows.h"

namespace tagwright {

void check_weights(const Weights& w, size_t name_bytes, size_t edge_name_bytes) {
  const auto need = [](bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
  };
  need(w.L > 0 && w.L <= std::numeric_limits<uint16_t>::max(), "a model has between 1 and 65,535 labels");
  need(w.row_end.size() == w.node_names.size(), "there must be one row of weights a feature");
  need(w.label.size() == w.weight.size(), "there must be one label a weight");
  check_index(w.node_names, name_bytes);
  check_index(w.edge_names, edge_name_bytes);
  uint64_t before = 0;
  for (const uint64_t end : w.row_end) {
    need(end >= before, "the ends of weight rows do not rise");
    before = end;
  }
  need(before == w.weight.size(), "the weight rows end elsewhere than the weights");
  uint16_t highest = 0;
  for (const uint16_t label : w.label) highest = std::max(highest, label);
  need(w.parts.L == w.L && w.parts.count <= std::numeric_limits<uint16_t>::max() - w.L, "parts: too many");
  w.parts.check();
  need(w.label.empty() || highest < w.parts.keys(), "a weight is for a label that is not there");
  bool finite = true;
  for (const float weight : w.weight) finite &= std::fabs(weight) <= std::numeric_limits<float>::max();
  need(finite, "a weight is NaN or infinite");
}

Scorer::Scorer(Templates templates, Weights weights) : templates_(std::move(templates)), weights_(std::move(weights)) {
  templates_.check();
  if (weights_.first_only) return;
  const size_t keys = weights_.parts.keys();
  for (size_t id = 0, begin = 0; id < weights_.row_end.size(); begin = weights_.row_end[id++]) {
    if (!is_large(weights_.row_end[id] - begin, keys)) continue;
    std::vector<float>& row = whole_[id];
    row.assign(keys, 0.0F);
    for (size_t at = begin; at < weights_.row_end[id]; ++at) row[weights_.label[at]] += weights_.weight[at];
  }
}

void Scorer::add_row(size_t id, float value, float* out) const {
  const size_t begin = id ? weights_.row_end[id - 1] : 0, size = weights_.row_end[id] - begin;
  const size_t keys = weights_.parts.keys();
  if (is_large(size, keys)) {
    add_whole(whole_.at(id).data(), value, keys, out);
  } else {
    add_sparse(weights_.label.subspan(begin, size), weights_.weight.subspan(begin, size), value, out);
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
  const uint64_t* end = weights_.row_end.data();
  look_up(features, scratch, weights_.node_names, ids);
  for (const int32_t id : ids) {
    if (id == kNoId) continue;
    const size_t begin = id ? end[id - 1] : 0;
    __builtin_prefetch(weights_.label.data() + begin);
    __builtin_prefetch(weights_.weight.data() + begin);
  }
  for (size_t n = 0; n < ids.size(); ++n) {
    if (ids[n] == kNoId) continue;
    const size_t id = static_cast<size_t>(ids[n]);
    if (weights_.first_only) {
      for (size_t at = id ? end[id - 1] : 0; at < end[id]; ++at) out[weights_.label[at]] = weights_.weight[at];
      break;
    }
    add_row(id, features[n].value, out);
  }
}

void Scorer::score(const Text& text, size_t sentence, float* nodes, std::vector<std::vector<int32_t>>& on) const {
  thread_local FeatureScratch scratch;
  thread_local std::vector<int32_t> ids;
  thread_local std::vector<float> scores;
  const Parts& parts = weights_.parts;
  scores.resize(parts.each ? parts.keys() : 0);
  const size_t L = weights_.L, T = text.length(sentence);
  const bool sets = weights_.edge_names.size() > 0;
  on.clear();
  if (sets) on.resize(T ? T - 1 : 0);
  templates_.start(text, sentence, scratch);
  for (size_t t = 0; t < T; ++t) {
    float* out = parts.each ? scores.data() : nodes + t * L;
    templates_.expand(text, sentence, t, scratch);
    std::fill(out, out + (parts.each ? parts.keys() : L),
              weights_.first_only ? -std::numeric_limits<float>::infinity() : 0.0F);
    add_features(scratch.node, scratch, ids, out);
    if (parts.each) {
      parts.add_to_labels(out);
      std::copy(out, out + L, nodes + t * L);
    }
    if (!sets || t == 0) continue;
    look_up(scratch.edge, scratch, weights_.edge_names, ids);
    std::vector<int32_t>& step = on[t - 1];
    for (const int32_t id : ids)
      if (id != kNoId && std::find(step.begin(), step.end(), id) == step.end()) step.push_back(id);
  }
}

}  // namespace tagwright
