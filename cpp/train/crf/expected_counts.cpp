#include "train/crf/expected_counts.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace tagwright {
namespace {

// Returns the place of a label in a sorted list, or kNoPlace.
size_t place(std::span<const int32_t> labels, int32_t y) {
  const auto found = std::lower_bound(labels.begin(), labels.end(), y);
  return found == labels.end() || *found != y ? kNoPlace : static_cast<size_t>(found - labels.begin());
}

}  // namespace

ExpectedCounts::ExpectedCounts(const Corpus& corpus, const WeightLayout& layout, const CountGrain& grain,
                               const Factors& factors)
    : corpus_(corpus),
      layout_(layout),
      grain_(grain),
      factors_(factors),
      counts_(layout.size(), 0.0),
      dense_(times(layout.dense_rows(), corpus.L), 0.0),
      edges_(factors.dense ? factors.side[0].matrix.size() : factors.side[0].factor.size(), 0.0),
      by_label_(corpus.L, 0.0),
      to_(corpus.L, 0.0) {}

void ExpectedCounts::add(const SentenceSums& sentence, double times) {
  for (size_t t = 0; t < sentence.lattice.T; ++t) {
    const Sums::Column& column = sentence.sums.columns[t];
    scaled_.assign(column.node, column.node + column.labels.size());
    for (double& p : scaled_) p *= times;
    add_labels(sentence.first_token + t, column.labels, scaled_);
    if (t + 1 < sentence.lattice.T) add_step(sentence, t, times);
  }
}

void ExpectedCounts::add_token(size_t token, const double* probability) {
  const size_t L = corpus_.L;
  corpus_.for_each_feature(token, [&](size_t f, double value) {
    const std::span<const uint16_t> label = layout_.row_labels(f);
    double* const count = counts_.data() + layout_.row_begin(f);
    const double grain = grain_.feature[f];
    if (value != 1 || grain != grain_.probability) {
      for (size_t q = 0; q < label.size(); ++q) count[q] += to_grain(probability[label[q]] * value, grain);
    } else if (label.size() == L) {
      kernels().add_scaled_dd(probability, 1, L, count);
    } else if (layout_.dense_row(f) >= 0) {
      kernels().add_scaled_dd(probability, 1, L, dense_.data() + static_cast<size_t>(layout_.dense_row(f)) * L);
    } else {
      for (size_t q = 0; q < label.size(); ++q) count[q] += probability[label[q]];
    }
  });
}

void ExpectedCounts::add_labels(size_t token, std::span<const int32_t> labels, std::span<const double> probability) {
  const size_t L = corpus_.L;
  double* const by_label = by_label_.data();
  for (size_t q = 0; q < labels.size(); ++q) by_label[labels[q]] = to_grain(probability[q], grain_.probability);
  if (labels.size() * 4 > L) {
    add_token(token, by_label);
  } else {
    corpus_.for_each_feature(token, [&](size_t f, double value) {
      const double grain = grain_.feature[f];
      const std::span<const uint16_t> row = layout_.row_labels(f);
      double* count = counts_.data() + layout_.row_begin(f);
      const bool dense = layout_.dense_row(f) >= 0;
      if (dense || row.size() == L) {
        if (dense) count = dense_.data() + static_cast<size_t>(layout_.dense_row(f)) * L;
        for (const int32_t y : labels) count[y] += to_grain(by_label[y] * value, grain);
      } else if (row.size() < 8 * labels.size()) {
        for (size_t q = 0; q < row.size(); ++q) count[q] += to_grain(by_label[row[q]] * value, grain);
      } else {
        auto from = row.begin();
        for (const int32_t y : labels) {
          from = std::lower_bound(from, row.end(), static_cast<uint16_t>(y));
          if (from != row.end() && *from == y) count[from - row.begin()] += to_grain(by_label[y] * value, grain);
        }
      }
    });
  }
  for (const int32_t y : labels) by_label[y] = 0;
}

// The step from column t to column t + 1.
void ExpectedCounts::add_step(const SentenceSums& sentence, size_t t, double times) {
  if (layout_.size() == layout_.first_edge()) return;  // no weights beyond those of nodes
  if (!sentence.sums.logs) return add_products(sentence, t, times);
  if (layout_.trie()) {
    add_ngrams(sentence.ngrams, t + 1, times);
  } else {
    sentence.sums.step(sentence.lattice, t, pairs_);
  }
  for (double& p : pairs_) p *= times;
  add_pairs(sentence, t);
}

// Counts the n-grams that end in column t, and fills pairs_ for the step into it.
void ExpectedCounts::add_ngrams(const NgramSums& sums, size_t t, double times) {
  const size_t n = sums.labels(t).size();
  pairs_.assign(sums.labels(t - 1).size() * n, 0.0);
  sums.for_each_move(t, false, [&](const NgramSums::Move& move) {
    pairs_[move.p * n + move.q] += move.probability;
    if (move.node == LabelNgrams::kNoNode) return;
    layout_.for_each_ngram(move.node,
                           [&](size_t q) { counts_[q] += to_grain(times * move.probability, grain_.probability); });
  });
}

// Counts the corrections that are active at the step into a token. probability(p, q): of the edge from left[p] to
// right[q], a multiple of the grain.
template <class Probability>
void ExpectedCounts::add_corrections(size_t token, std::span<const int32_t> left, std::span<const int32_t> right,
                                     Probability&& probability) {
  const WeightKeys<Borrowed>& keys = layout_.keys();
  for (const int32_t own : corpus_.sets_of(token)) {
    const auto set = static_cast<size_t>(own);
    for (size_t at = layout_.set_begin(set); at < layout_.set_end(set); ++at) {
      const size_t entry = at - layout_.first_correction();
      const size_t p = place(left, keys.set_previous[entry]), q = place(right, keys.set_current[entry]);
      if (p != kNoPlace && q != kNoPlace) counts_[at] += probability(p, q);
    }
  }
}

// Counts a step whose pairs of labels have the probabilities pairs_.
void ExpectedCounts::add_pairs(const SentenceSums& sentence, size_t t) {
  const std::span<const int32_t> left = sentence.sums.columns[t].labels, right = sentence.sums.columns[t + 1].labels;
  const auto probability = [&](size_t p, size_t q) {
    return to_grain(pairs_[p * right.size() + q], grain_.probability);
  };
  for (size_t p = 0; p < left.size() && layout_.keys().edges(); ++p)
    for (size_t q = 0; q < right.size(); ++q)
      if (const size_t at = edge_place(left[p], right[q]); at != kNoPlace) edges_[at] += probability(p, q);
  add_corrections(sentence.first_token + t + 1, left, right, probability);
}

// Counts a step whose edges have the probability from * factor * to.
void ExpectedCounts::add_products(const SentenceSums& sentence, size_t t, double times) {
  const Sums::Column &left = sentence.sums.columns[t], &right = sentence.sums.columns[t + 1];
  const auto probability = [&](size_t p, size_t q) {
    return to_grain(times * sentence.sums.edge(sentence.lattice, t, p, q), grain_.probability);
  };
  if (layout_.keys().edges()) {
    // The edges that corrections change do not have the shared factor: their counts are set afterwards.
    corrected_.clear();
    for (const Override& e : sentence.lattice.patch(t).by_row) {
      const size_t p = place(left.labels, e.i), q = place(right.labels, e.j), at = edge_place(e.i, e.j);
      if (p == kNoPlace || q == kNoPlace || at == kNoPlace) continue;
      corrected_.emplace_back(&edges_[at], edges_[at] + probability(p, q));
    }
    scaled_.assign(left.from, left.from + left.labels.size());
    for (double& from : scaled_) from *= times;
    add_shared_factors(left.labels, scaled_.data(), right);
    for (const auto& [at, value] : corrected_) *at = value;
  }
  add_corrections(sentence.first_token + t + 1, left.labels, right.labels, probability);
}

void ExpectedCounts::add_shared_factors(std::span<const int32_t> left, const double* from, const Sums::Column& right) {
  const std::span<const int32_t> labels = right.labels;
  const double grain = grain_.probability;
  if (factors_.dense) {
    for (size_t p = 0; p < left.size(); ++p) {
      const size_t row = static_cast<size_t>(left[p]) * factors_.stride;
      const double* const factor = factors_.side[0].matrix.data() + row;
      if (labels.size() == factors_.L) {
        kernels().count_row(from[p], factor, right.to, factors_.L, grain, edges_.data() + row);
        continue;
      }
      for (size_t q = 0; q < labels.size(); ++q)
        edges_[row + static_cast<size_t>(labels[q])] += to_grain(from[p] * factor[labels[q]] * right.to[q], grain);
    }
    return;
  }
  for (size_t q = 0; q < labels.size(); ++q) to_[static_cast<size_t>(labels[q])] = right.to[q];
  const Factors::Side& rows = factors_.side[0];
  for (size_t p = 0; p < left.size(); ++p) {
    const size_t i = static_cast<size_t>(left[p]);
    for (size_t e = rows.begin[i]; e < rows.begin[i + 1]; ++e)
      edges_[e] += to_grain(from[p] * rows.factor[e] * to_[static_cast<size_t>(rows.index[e])], grain);
  }
  for (const int32_t y : labels) to_[static_cast<size_t>(y)] = 0;
}

size_t ExpectedCounts::edge_place(int32_t i, int32_t j) const {
  const auto row = static_cast<size_t>(i), column = static_cast<size_t>(j);
  if (factors_.dense) return row * factors_.stride + column;
  const Factors::Side& rows = factors_.side[0];
  const std::span<const int32_t> own =
      std::span(rows.index).subspan(rows.begin[row], rows.begin[row + 1] - rows.begin[row]);
  const size_t found = place(own, j);
  return found == kNoPlace ? kNoPlace : rows.begin[row] + found;
}

void ExpectedCounts::add_to(std::span<double> to) const {
  kernels().add_scaled_dd(counts_.data(), 1, counts_.size(), to.data());
  const WeightKeys<Borrowed>& keys = layout_.keys();
  for (size_t f = 0; f < keys.row_end.size(); ++f) {
    if (layout_.dense_row(f) < 0) continue;
    const double* const row = dense_.data() + static_cast<size_t>(layout_.dense_row(f)) * corpus_.L;
    for (size_t q = layout_.row_begin(f); q < keys.row_end[f]; ++q) to[q] += row[keys.row_label[q]];
  }
  for (size_t q = 0; q < keys.edges(); ++q)
    if (const size_t at = edge_place(keys.previous[q], keys.current[q]); at != kNoPlace)
      to[layout_.first_edge() + q] += edges_[at];
}

}  // namespace tagwright
