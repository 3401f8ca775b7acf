#include "train/crf/batch_weights.h"

#include <algorithm>
#include <cmath>

#include "base/need.h"

namespace tagwright {
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
  // N-grams of weight 0 count as well, so that their nodes are those of the layout, whatever the weights.
  EdgeScores made = edges_of(corpus.L, layout.keys(), corpus.sets(),
                             {{nullptr, weights.data() + layout.first_edge()},
                              {nullptr, weights.data() + layout.first_correction()},
                              weights.last(layout.keys().ngrams()),
                              true},
                             form);
  edges_ = std::make_unique<const Edges>(rules ? made.constrained(rules, false) : std::move(made));
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
