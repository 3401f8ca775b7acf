#include "train/pruned_columns.h"

#include <algorithm>
#include <cmath>

#include "base/stop.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

// Where more labels are opened, exact sums are faster.
size_t most_opened(size_t L) { return std::max<size_t>(128, L / 4); }

// Found by experiment: with it, sentences are rarely summed again.
double first_width(double epsilon) { return std::max(2.0, 4 - std::log(epsilon)); }

}  // namespace

// Writes labels to opened_ and returns how many.
size_t ColumnPruner::open_column(const float* scores, double width, Dropped& dropped) {
  const Kernels& k = kernels();
  const size_t padded = factors_.padded();
  const float* const out = factors_.out();
  k.bound_column_f(scores, factors_.into(), out, factors_.labels(), sum_.data(), blocks_.data());
  dropped.top = static_cast<float>(k.max_f(blocks_.data(), blocks_.size()));
  const float least = dropped.top - static_cast<float>(width);
  dropped.unopened = k.exp_below(sum_.data(), out, padded, least, dropped.top);
  return k.open_blocks(blocks_.data(), sum_.data(), out, padded, least, opened_.data(), keys_.data());
}

// Leaves the best `most` of n opened labels; the others count as not opened.
size_t ColumnPruner::best_opened(size_t n, size_t most, Dropped& dropped) {
  float* const key = keys_.data();
  int32_t* const label = opened_.data();
  bounds_.assign(key, key + n);
  std::nth_element(bounds_.begin(), bounds_.begin() + static_cast<ptrdiff_t>(most - 1), bounds_.end(),
                   std::greater<>());
  const float least = bounds_[most - 1];
  size_t kept = 0, as_good = 0;  // as_good: dropped labels whose bound equals that of the last kept one
  for (size_t q = 0; q < n; ++q) {
    if (key[q] < least) continue;
    if (kept < most) {
      label[kept++] = label[q];
    } else {
      ++as_good;
    }
  }
  dropped.unopened =
      kernels().exp_below(sum_.data(), factors_.out(), factors_.padded(), least, dropped.top) +
      static_cast<double>(as_good) * std::exp(static_cast<double>(least) - static_cast<double>(dropped.top));
  return kept;
}

// Leaves those of the n opened labels whose beliefs are close enough to the best, at the front of opened_ and of the
// messages beside them.
size_t ColumnPruner::keep_best(size_t n, double width, Dropped& dropped) {
  const double* const belief = beliefs_.data();
  const Keep& rule = options_.rule;
  double least = kernels().max_d(belief, n) * std::exp(-width);
  const size_t at_least = rule.rule == Keep::Rule::kDivergence ? rule.at_least : 1;
  const size_t at_most =
      std::min(rule.rule == Keep::Rule::kSize ? rule.size : n, options_.max_labels ? options_.max_labels : n);
  const auto nth = [&](size_t q) {
    order_.assign(belief, belief + n);
    std::nth_element(order_.begin(), order_.begin() + static_cast<ptrdiff_t>(q - 1), order_.end(), std::greater<>());
    return order_[q - 1];
  };
  if (at_most < n) least = std::max(least, nth(at_most));
  if (at_least > 1) least = std::min(least, nth(std::min(at_least, n)));
  size_t kept = 0;
  dropped.lost = 0;
  for (size_t q = 0; q < n; ++q) {
    if (belief[q] < least || kept == at_most) {
      dropped.lost += belief[q];
      continue;
    }
    opened_[kept] = opened_[q];
    messages_[kept++] = messages_[q];
  }
  return kept;
}

// What reaches labels of a column from the kept labels of the column before and from those that were left out.
void ColumnPruner::send(const Corpus& corpus, size_t token, const PrunedSums& sums, std::span<const int32_t> to,
                        double* out) {
  const size_t t = sums.T();
  std::fill_n(out, to.size(), t ? sums.left_out() : 1.0);
  if (t == 0) return;
  const std::span<const int32_t> before = sums.labels(t - 1);
  step_.resize(before.size() * to.size());
  factors_.fill(corpus, token, before, to, step_.data());
  const double* factor = step_.data();
  for (size_t p = 0; p < before.size(); ++p, factor += to.size())
    for (size_t q = 0; q < to.size(); ++q) out[q] += sums.upper()[p] * factor[q];
}

bool ColumnPruner::forward(const Corpus& corpus, size_t s, const float* scores, const Width& width, PrunedSums& sums) {
  const size_t first = corpus.first_token(s), T = corpus.length(s), L = corpus.L, padded = factors_.padded();
  sums.clear();
  sum_.resize(padded);
  blocks_.resize(padded / kTreeLanes);
  keys_.resize(padded + kTreeLanes);
  opened_.resize(padded + kTreeLanes);
  Meter meter;
  for (size_t t = 0; t < T; ++t, scores += padded) {
    const size_t token = first + t;
    Dropped dropped;
    size_t n = open_column(scores, width.open, dropped);
    if (guarantees() && n > most_opened(L)) return false;
    if (const size_t most = 4 * options_.max_labels; most > 0 && n > most) n = best_opened(n, most, dropped);
    meter.count(1000 + 10 * (L + (t ? sums.labels(t - 1).size() : 0) * n));  // exp takes as long as ten edges
    const std::span<const int32_t> required = corpus.allowed_of(token);
    messages_.resize(n + required.size());
    beliefs_.resize(n);
    const std::span<int32_t> opened(opened_);
    send(corpus, token, sums, opened.first(n), messages_.data());
    for (size_t q = 0; q < n; ++q) {
      const auto y = static_cast<size_t>(opened[q]);
      beliefs_[q] = static_cast<double>(scores[y]) + static_cast<double>(factors_.out()[y]);
    }
    dropped.shift = kernels().max_d(beliefs_.data(), n);
    kernels().exp_d(beliefs_.data(), dropped.shift, n, beliefs_.data());
    for (size_t q = 0; q < n; ++q) beliefs_[q] *= messages_[q];
    n = keep_best(n, width.keep, dropped);
    const size_t kept = n;
    for (const int32_t y : required) {
      if (scores[y] == -std::numeric_limits<float>::infinity()) continue;  // constraints forbid it
      if (std::find(opened.begin(), opened.begin() + static_cast<ptrdiff_t>(kept), y) !=
          opened.begin() + static_cast<ptrdiff_t>(kept))
        continue;
      opened[n] = y;
      send(corpus, token, sums, opened.subspan(n, 1), messages_.data() + n);
      ++n;
    }
    node_.resize(n);
    for (size_t q = 0; q < n; ++q) node_[q] = scores[opened[q]];
    sums.add_column(opened.first(n), node_.data());
    if (t) factors_.fill(corpus, token, sums.labels(t - 1), sums.labels(t), sums.factors());
    // Bounds of labels that were not opened hold for any label before them.
    const double reach = t ? sums.all() : 1;
    const double others = dropped.lost * std::exp(dropped.shift - node_[0]) +
                          dropped.unopened * std::exp(static_cast<double>(dropped.top) - node_[0]) * reach;
    const double corrected = corpus.sets() ? factors_.correction_bound(corpus, token) +
                                                 (t + 1 < T ? factors_.correction_bound(corpus, token + 1) : 0)
                                           : 0;
    if (!sums.forward(messages_.data(), others * std::exp(corrected))) return false;
    if (guarantees() && sums.missing() > 2 * options_.rule.epsilon * static_cast<double>(T)) break;
  }
  return true;
}

bool ColumnPruner::choose(const Corpus& corpus, size_t s, const float* scores, PrunedSums& sums) {
  const Keep& rule = options_.rule;
  if (rule.all()) return false;
  if (!guarantees()) {
    constexpr double kFar = 12;
    const double width = rule.rule == Keep::Rule::kSize    ? kFar
                         : rule.rule == Keep::Rule::kRatio ? -std::log(rule.ratio)
                                                           : first_width(rule.epsilon);
    return forward(corpus, s, scores, {width + 3, width}, sums);
  }
  constexpr size_t kTries = 3;
  const double T = static_cast<double>(corpus.length(s));
  double more = 0;
  for (size_t n = 0; n < kTries; ++n) {
    const double width = first_width(rule.epsilon) + more;
    if (!forward(corpus, s, scores, {width + 3, width}, sums)) return false;
    const double missing = sums.missing();
    if (sums.T() == corpus.length(s) && missing <= rule.epsilon * T) return true;
    more += 2 + std::log(missing / (rule.epsilon * T));
  }
  return false;
}

}  // namespace tagwright
