#include "train/crf/expected_counts.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"

namespace tagwright {
namespace {

// Returns the place of a label in a sorted list, or kNoPlace.
size_t place(std::span<const int32_t> labels, int32_t y) {
  const auto found = std::lower_bound(labels.begin(), labels.end(), y);
  return found == labels.end() || *found != y ? kNoPlace : static_cast<size_t>(found - labels.begin());
}

}  // namespace

CountGrain::CountGrain(const Corpus& corpus, size_t parts) {
  std::vector<double> tokens(corpus.features(), 0), mass(corpus.features(), 0);
  std::vector<bool> valued(corpus.features(), false);
  for (size_t s = 0; s < corpus.sentences(); ++s) {
    corpus.visit();
    for (size_t token = corpus.first_token(s); token < corpus.sentence_end[s]; ++token)
      corpus.for_each_feature(token, [&](size_t f, double value) {
        ++tokens[f];
        mass[f] += std::fabs(value);
        valued[f] = valued[f] || value != 1;
      });
  }
  const double weight = corpus.largest_weight() * static_cast<double>(std::max<size_t>(parts, 1));
  const auto grain_below = [&](double most) {
    int exponent;
    const bool power = std::frexp(weight * most + 1, &exponent) == 0.5;
    return std::ldexp(1.0, exponent - power - 51);
  };
  // A feature that is listed twice at a token counts twice.
  double most = static_cast<double>(corpus.tokens());
  for (const double times : tokens) most = std::max(most, times);
  probability = grain_below(most);
  for (size_t f = 0; f < mass.size(); ++f) feature.push_back(valued[f] ? grain_below(mass[f]) : probability);
}

ExpectedCounts::ExpectedCounts(const Corpus& corpus, const WeightLayout& layout, const CountGrain& grain,
                               const Factors& factors)
    : corpus_(corpus),
      layout_(layout),
      grain_(grain),
      factors_(factors),
      counts_(layout.size(), 0.0),
      dense_(times(layout.dense_rows(), layout.parts().keys()), 0.0),
      edges_(factors.entries(), 0.0),
      by_key_(layout.parts().keys(), 0.0),
      to_(corpus.L, 0.0) {}

void ExpectedCounts::add(Expectation& expected, size_t first_token, double times) {
  for (size_t t = 0; t < expected.sums.columns.size(); ++t) {
    add_labels(first_token + t, expected.labels(t), expected.nodes(t), times);
    if (t && layout_.size() > layout_.first_edge()) add_step(expected, first_token + t, t, times);
  }
}

void ExpectedCounts::add_token(size_t token, const double* probability) {
  const Parts& parts = layout_.parts();
  if (!parts.each) return add_keys(token, probability);
  std::copy_n(probability, corpus_.L, by_key_.data());
  for (size_t k = 0; k < parts.each; ++k)
    for (size_t y = 0; y < corpus_.L; ++y) by_key_[parts.key(k, y)] += probability[y];
  add_keys(token, by_key_.data());
  std::fill(by_key_.begin(), by_key_.end(), 0.0);
}

// probability: [key].
void ExpectedCounts::add_keys(size_t token, const double* probability) {
  const size_t keys = layout_.parts().keys();
  corpus_.for_each_feature(token, [&](size_t f, double value) {
    const std::span<const uint16_t> key = layout_.row_keys(f);
    double* const count = counts_.data() + layout_.row_begin(f);
    const double grain = grain_.feature[f];
    if (value != 1 || grain != grain_.probability) {
      for (size_t q = 0; q < key.size(); ++q) count[q] += to_grain(probability[key[q]] * value, grain);
    } else if (key.size() == keys) {
      kernels().add_scaled_dd(probability, 1, keys, count);
    } else if (layout_.dense_row(f) >= 0) {
      kernels().add_scaled_dd(probability, 1, keys, dense_.data() + static_cast<size_t>(layout_.dense_row(f)) * keys);
    } else {
      for (size_t q = 0; q < key.size(); ++q) count[q] += probability[key[q]];
    }
  });
}

void ExpectedCounts::add_labels(size_t token, std::span<const int32_t> labels, const double* probability,
                                double times) {
  const Parts& parts = layout_.parts();
  double* const by_key = by_key_.data();
  keys_.assign(labels.begin(), labels.end());
  for (size_t q = 0; q < labels.size(); ++q) {
    const double p = by_key[labels[q]] = to_grain(times * probability[q], grain_.probability);
    for (size_t k = 0; k < parts.each; ++k) {
      const size_t key = parts.key(k, static_cast<size_t>(labels[q]));
      keys_.push_back(static_cast<int32_t>(key));
      by_key[key] += p;
    }
  }
  if (parts.each) {
    std::sort(keys_.begin() + static_cast<ptrdiff_t>(labels.size()), keys_.end());
    keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  }
  if (keys_.size() * 4 > parts.keys()) {
    add_keys(token, by_key);
  } else {
    corpus_.for_each_feature(token, [&](size_t f, double value) {
      const double grain = grain_.feature[f];
      const std::span<const uint16_t> row = layout_.row_keys(f);
      double* count = counts_.data() + layout_.row_begin(f);
      const bool dense = layout_.dense_row(f) >= 0;
      if (dense || row.size() == parts.keys()) {
        if (dense) count = dense_.data() + static_cast<size_t>(layout_.dense_row(f)) * parts.keys();
        for (const int32_t key : keys_) count[key] += to_grain(by_key[key] * value, grain);
      } else if (row.size() < 8 * keys_.size()) {
        for (size_t q = 0; q < row.size(); ++q) count[q] += to_grain(by_key[row[q]] * value, grain);
      } else {
        auto from = row.begin();
        for (const int32_t key : keys_) {
          from = std::lower_bound(from, row.end(), static_cast<uint16_t>(key));
          if (from != row.end() && *from == key) count[from - row.begin()] += to_grain(by_key[key] * value, grain);
        }
      }
    });
  }
  for (const int32_t key : keys_) by_key[key] = 0;
}

// The step into column t.
void ExpectedCounts::add_step(Expectation& expected, size_t token, size_t t, double times) {
  expected.enter_step(t, [&](LabelNgrams::Node node, double p) {
    layout_.for_each_ngram(node, [&](size_t q) { counts_[q] += to_grain(times * p, grain_.probability); });
  });
  if (layout_.keys().edges() && expected.has_products()) {
    add_products(expected.sums, t, times);
  } else if (layout_.keys().edges()) {
    for (size_t p = 0; p < expected.labels(t - 1).size(); ++p)
      for (size_t q = 0; q < expected.labels(t).size(); ++q)
        if (const size_t at = edge_place(expected.labels(t - 1)[p], expected.labels(t)[q]); at != kNoPlace)
          edges_[at] += to_grain(times * expected.pair(p, q), grain_.probability);
  }
  add_corrections(expected, token, t, times);
}

// The corrections that are active at the step into column t.
void ExpectedCounts::add_corrections(const Expectation& expected, size_t token, size_t t, double times) {
  const WeightKeys<Borrowed>& keys = layout_.keys();
  for (const int32_t own : corpus_.sets_of(token)) {
    const auto set = static_cast<size_t>(own);
    for (size_t at = layout_.set_begin(set); at < layout_.set_end(set); ++at) {
      const size_t entry = at - layout_.first_correction();
      const size_t p = place(expected.labels(t - 1), keys.set_previous[entry]);
      const size_t q = place(expected.labels(t), keys.set_current[entry]);
      if (p != kNoPlace && q != kNoPlace) counts_[at] += to_grain(times * expected.pair(p, q), grain_.probability);
    }
  }
}

// Counts a step whose edges have the probability from * factor * to: fewer operations per edge than one by one.
void ExpectedCounts::add_products(const Sums& sums, size_t t, double times) {
  const Sums::Column &left = sums.columns[t - 1], &right = sums.columns[t];
  const std::span<const int32_t> labels = right.labels;
  const double grain = grain_.probability;
  // The edges that corrections change do not have the shared factor: their counts are set afterwards.
  corrected_.clear();
  for (const Override& e : sums.lattice->patch(t - 1).by_row) {
    const size_t p = place(left.labels, e.i), q = place(labels, e.j), at = edge_place(e.i, e.j);
    if (p == kNoPlace || q == kNoPlace || at == kNoPlace) continue;
    corrected_.emplace_back(&edges_[at], edges_[at] + to_grain(times * sums.edge(t - 1, p, q), grain));
  }
  from_.assign(left.from, left.from + left.labels.size());
  for (double& from : from_) from *= times;
  factors_.count({left.labels, from_.data()}, {labels, right.to}, grain, to_.data(), edges_.data());
  for (const auto& [at, value] : corrected_) *at = value;
}

size_t ExpectedCounts::edge_place(int32_t i, int32_t j) const {
  return factors_.entry(static_cast<size_t>(i), static_cast<size_t>(j));
}

void ExpectedCounts::add_to(std::span<double> to) const {
  kernels().add_scaled_dd(counts_.data(), 1, counts_.size(), to.data());
  const WeightKeys<Borrowed>& keys = layout_.keys();
  for (size_t f = 0; f < keys.row_end.size(); ++f) {
    if (layout_.dense_row(f) < 0) continue;
    const double* const row = dense_.data() + static_cast<size_t>(layout_.dense_row(f)) * layout_.parts().keys();
    for (size_t q = layout_.row_begin(f); q < keys.row_end[f]; ++q) to[q] += row[keys.row_label[q]];
  }
  for (size_t q = 0; q < keys.edges(); ++q)
    if (const size_t at = edge_place(keys.previous[q], keys.current[q]); at != kNoPlace)
      to[layout_.first_edge() + q] += edges_[at];
}

}  // namespace tagwright
