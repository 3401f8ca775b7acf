// What labels count: the right ones, and all by their probabilities.
#include <algorithm>

#include "kernels/kernels.h"
#include "train/crf/crf.h"

namespace tagwright {

void Crf::observe(std::span<const int32_t> sentences, std::span<double> counts) const {
  check(sentences, {counts.size()}, {});
  need_labels();
  std::fill(counts.begin(), counts.end(), 0.0);
  for (const int32_t s : sentences) {
    corpus_.visit();
    for_each_observed(static_cast<size_t>(s), [&](size_t q, double times) { counts[q] += times; });
  }
}

void Crf::for_each_observed(size_t s, const std::function<void(size_t, double)>& take) const {
  // What is allowed is summed as what is expected is: see sum_one().
  if (corpus_.is_partial(s)) return;
  const double weight = corpus_.weight_of(s);
  const auto found = [&](size_t shift, size_t place, double times) {
    if (place != kNoPlace) take(shift + place, weight * times);
  };
  for (size_t token = corpus_.first_token(s); token < corpus_.sentence_end[s]; ++token) {
    const int32_t j = corpus_.labels[token];
    corpus_.for_each_feature(token, [&](size_t f, double value) { found(0, node_of(f, j), value); });
    if (token == corpus_.first_token(s)) continue;
    const int32_t i = corpus_.labels[token - 1];
    found(keys_.nodes(), edge_of(i, j), 1);
    for (const int32_t set : corpus_.sets_of(token))
      found(keys_.nodes() + keys_.edges(), correction_of(static_cast<size_t>(set), i, j), 1);
  }
  if (!runs_ || corpus_.length(s) == 0) return;
  LabelNgrams::Node at = corpus_.labels[corpus_.first_token(s)];
  for (size_t token = corpus_.first_token(s) + 1; token < corpus_.sentence_end[s]; ++token) {
    at = runs_->next(at, corpus_.labels[token]);
    for_each_run(at, [&](size_t q) { found(keys_.size() - keys_.ngrams(), q, 1); });
  }
}

// p: [y], multiples of the grain.
void Crf::take(const Ready& ready, size_t token, const double* p, Workspace& workspace) const {
  const size_t L = corpus_.L;
  corpus_.for_each_feature(token, [&](size_t f, double value) {
    const size_t first = node_begin(f), n = keys_.row_end[f] - first;
    double* count = workspace.counts.data() + first;
    const uint16_t* label = keys_.row_label.data() + first;
    const double grain = scale_.feature_grain[f];
    if (value != 1 || grain != scale_.grain) {
      for (size_t q = 0; q < n; ++q) count[q] += to_grain(p[label[q]] * value, grain);
    } else if (n == L) {
      kernels().add_scaled_dd(p, 1, L, count);
    } else if (whole_[f] >= 0 && !ready.whole.empty()) {
      kernels().add_scaled_dd(p, 1, L, workspace.whole_counts.data() + static_cast<size_t>(whole_[f]) * L);
    } else {
      for (size_t q = 0; q < n; ++q) count[q] += p[label[q]];
    }
  });
}

// The same where few labels have a probability. p: beside the labels.
void Crf::take_kept(const Ready& ready, size_t token, std::span<const int32_t> labels, const double* p,
                    Workspace& workspace) const {
  const size_t L = corpus_.L;
  double* const dense = workspace.left.data();
  for (size_t q = 0; q < labels.size(); ++q) dense[labels[q]] = to_grain(p[q], scale_.grain);
  if (labels.size() * 4 > L) {
    take(ready, token, dense, workspace);
  } else {
    corpus_.for_each_feature(token, [&](size_t f, double value) {
      const double grain = scale_.feature_grain[f];
      const size_t first = node_begin(f), n = keys_.row_end[f] - first;
      double* count = workspace.counts.data() + first;
      const uint16_t *label = keys_.row_label.data() + first, *from = label;
      const bool whole = whole_[f] >= 0 && !ready.whole.empty();
      if (whole || n == L) {
        if (whole) count = workspace.whole_counts.data() + static_cast<size_t>(whole_[f]) * L;
        for (const int32_t y : labels) count[y] += to_grain(dense[y] * value, grain);
      } else if (n < 8 * labels.size()) {
        for (size_t q = 0; q < n; ++q) count[q] += to_grain(dense[label[q]] * value, grain);
      } else {
        for (const int32_t y : labels) {
          from = std::lower_bound(from, label + n, static_cast<uint16_t>(y));
          if (from != label + n && *from == y) count[from - label] += to_grain(dense[y] * value, grain);
        }
      }
    });
  }
  for (const int32_t y : labels) dense[y] = 0;
}

// Brings what was counted elsewhere to its weights.
void Crf::fold(Workspace& workspace) const {
  for (size_t f = 0; f < whole_.size() && !workspace.whole_counts.empty(); ++f) {
    if (whole_[f] < 0) continue;
    const double* row = workspace.whole_counts.data() + static_cast<size_t>(whole_[f]) * corpus_.L;
    for (size_t q = node_begin(f); q < keys_.row_end[f]; ++q) workspace.counts[q] += row[keys_.row_label[q]];
  }
  std::fill(workspace.whole_counts.begin(), workspace.whole_counts.end(), 0.0);
  if (!options_.dense_edges) return;
  for (size_t q = 0; q < keys_.edges(); ++q)
    workspace.counts[keys_.nodes() + q] +=
        workspace
            .matrix[static_cast<size_t>(keys_.previous[q]) * shape_.stride + static_cast<size_t>(keys_.current[q])];
  std::fill(workspace.matrix.begin(), workspace.matrix.end(), 0.0);
}

}  // namespace tagwright
