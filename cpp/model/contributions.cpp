// What a node score is made of; see scorer.h.
#include <algorithm>
#include <limits>

#include "model/scorer.h"

namespace tagwright {

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
  for (size_t k = 0; k <= parts.each; ++k) {
    const auto part = static_cast<int32_t>(k) - 1;
    const size_t key = k ? parts.L + parts.of[(k - 1) * parts.L + y] : y;
    for (size_t n = 0; n < ids.size(); ++n) {
      if (ids[n] == kNoId) continue;
      const Feature& feature = scratch.node[n];
      rows_.for_each_weight(static_cast<size_t>(ids[n]), key,
                            [&](float weight) { add(feature, feature.value, weight, part); });
    }
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
