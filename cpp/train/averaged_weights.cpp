#include "train/averaged_weights.h"

#include <algorithm>

#include "lattice/lattice.h"

namespace tagwright {

Weights AveragedWeights::average(const Corpus& corpus, const NgramIndex& runs, std::span<const uint16_t> parts) const {
  struct Held {
    WeightKeys<Owned> keys;
    std::vector<uint16_t> parts;
  };
  const auto held = std::make_shared<Held>();
  held->parts.assign(parts.begin(), parts.end());
  WeightKeys<Owned>& keys = held->keys;
  std::vector<float> values;
  values.reserve(nodes.entries() + edges.entries() + sets.entries() + runs.size());
  const double n = std::max(seen, 1.0);
  const auto each = [&](const auto& rows, auto&& take) {
    for (size_t r = 0; r < rows.rows(); ++r) {
      const auto weight = rows.template values<0>(r);
      const auto sum = rows.template values<1>(r);
      for (size_t q = 0; q < weight.size(); ++q) {
        take(r, rows.keys(r)[q]);
        values.push_back(static_cast<float>(weight[q] - sum[q] / n));
      }
    }
  };
  keys.row_label.reserve(nodes.entries());
  each(nodes, [&](size_t, uint16_t key) { keys.row_label.push_back(key); });
  for (size_t f = 0, end = 0; f < nodes.rows(); ++f) keys.row_end.push_back(end += nodes.size(f));
  each(edges, [&](size_t i, uint16_t j) {
    keys.previous.push_back(static_cast<uint16_t>(i));
    keys.current.push_back(j);
  });
  each(sets, [&](size_t set, uint64_t pair) {
    keys.set.push_back(static_cast<int32_t>(set));
    keys.set_previous.push_back(static_cast<uint16_t>(Corrections::previous(pair)));
    keys.set_current.push_back(static_cast<uint16_t>(Corrections::current(pair)));
  });
  keys.runs = runs.keys();
  for (size_t q = 0; q < runs.size(); ++q) values.push_back(static_cast<float>(run_weight[q] - run_sum[q] / n));
  return corpus.weights(keys.view(), std::move(values), held->parts, held);
}

State<Owned> AveragedWeights::state(const NgramIndex& runs) const {
  const auto entries = [](const auto& rows) {
    OldStateArrays<Owned> out;
    for (size_t r = 0; r < rows.rows(); ++r) {
      const auto key = rows.keys(r);
      const auto weight = rows.template values<0>(r);
      const auto sum = rows.template values<1>(r);
      out.row.insert(out.row.end(), key.size(), static_cast<uint32_t>(r));
      out.key.insert(out.key.end(), key.begin(), key.end());
      out.weight.insert(out.weight.end(), weight.begin(), weight.end());
      out.sum.insert(out.sum.end(), sum.begin(), sum.end());
    }
    return out;
  };
  OldStateArrays<Owned> ngrams;
  for (size_t q = 0; q < runs.size(); ++q) {
    ngrams.row.push_back(0);
    ngrams.key.push_back(runs.packed(q));
  }
  ngrams.weight = run_weight;
  ngrams.sum = run_sum;
  return {entries(nodes), entries(edges), entries(sets), std::move(ngrams)};
}

}  // namespace tagwright
