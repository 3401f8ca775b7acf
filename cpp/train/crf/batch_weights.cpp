#include "train/crf/batch_weights.h"

#include <algorithm>
#include <cmath>

#include "base/need.h"

namespace tagwright {
namespace {

std::unique_ptr<const Edges> make_edges(const WeightLayout& layout, const Corpus& corpus, EdgeForm form,
                                        const std::shared_ptr<const PairRules>& rules,
                                        std::span<const double> weights) {
  const auto widened = [](std::span<const uint16_t> labels) {
    return std::vector<int32_t>(labels.begin(), labels.end());
  };
  const WeightKeys<Borrowed>& keys = layout.keys();
  const std::vector<int32_t> previous = widened(keys.previous), current = widened(keys.current);
  const std::vector<int32_t> set_previous = widened(keys.set_previous), set_current = widened(keys.set_current);
  EdgeExtras extras{.correction_sets = corpus.sets(),
                    .correction_set = keys.set,
                    .corrections = {set_previous, set_current, {nullptr, weights.data() + layout.first_correction()}}};
  // Scores of 0 count as well: so the nodes of these n-grams are those of the layout, whatever the weights.
  const std::vector<int32_t> ngrams = layout.ngrams().labels();
  if (!ngrams.empty()) extras.ngrams = {ngrams, weights.last(keys.ngrams()), true};
  EdgeScores made = EdgeScores::from_triples(
      corpus.L, 0.0, {previous, current, {nullptr, weights.data() + layout.first_edge()}}, form, extras);
  return std::make_unique<const Edges>(rules ? made.constrained(rules, false) : std::move(made));
}

}  // namespace

BatchWeights::BatchWeights(const Corpus& corpus, const WeightLayout& layout, EdgeForm form,
                           std::shared_ptr<const PairRules> rules, std::span<const double> weights)
    : corpus_(corpus),
      layout_(layout),
      weights_(weights),
      rows_{layout.keys().row_end, layout.keys().row_label, weights.first(layout.first_edge())},
      dense_(times(layout.dense_rows(), layout.parts().keys()), 0.0) {
  for (const double weight : weights) {
    need(std::isfinite(weight) || (weight == kForbidden && corpus.labels.empty()), "a weight is not finite");
    finite_ = finite_ && weight != kForbidden;
  }
  for (size_t f = 0; f < rows_.rows(); ++f)
    if (layout.dense_row(f) >= 0)
      set_row(rows_, f, dense_.data() + static_cast<size_t>(layout.dense_row(f)) * layout.parts().keys());
  edges_ = make_edges(layout, corpus, form, rules, weights);
}

void BatchWeights::score(size_t token, double* out) const {
  const Parts& parts = layout_.parts();
  const size_t keys = parts.keys(), first = corpus_.node.begin(token);
  thread_local std::vector<double> room;
  room.resize(parts.each ? keys : 0);
  double* const by_key = parts.each ? room.data() : out;
  std::fill(by_key, by_key + keys, 0.0);
  const auto value = [&](size_t n) { return corpus_.node.value_of(first + n); };
  const auto whole = [&](size_t f) -> const double* {
    if (rows_.size(f) == keys) return weights_.data() + rows_.begin(f);
    return layout_.dense_row(f) < 0 ? nullptr : dense_.data() + static_cast<size_t>(layout_.dense_row(f)) * keys;
  };
  add_rows(rows_, corpus_.features_of(token), value, whole, keys, by_key);
  if (!parts.each) return;
  parts.add_to_labels(by_key);
  std::copy_n(by_key, corpus_.L, out);
}

bool BatchWeights::suits_lanes() const {
  return finite_ && !edges_->ngrams() && corpus_.sets() == 0 && !edges_->rules() && !factors().dense &&
         factors().close && !factors().forbids;
}

}  // namespace tagwright
