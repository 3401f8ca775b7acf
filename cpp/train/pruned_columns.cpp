#include "train/pruned_columns.h"

#include <algorithm>
#include <limits>

#include "kernels/kernels.h"

namespace tagwright {
namespace {

// Where more labels are opened, exact sums are faster.
size_t most_opened(size_t L) { return std::max<size_t>(128, L / 4); }

// Found by experiment: with it, sentences are rarely summed again.
double first_width(double epsilon) { return std::max(2.0, 4 - portable_log(epsilon)); }

}  // namespace

// Writes labels to opened_ and returns how many.
size_t ColumnPruner::open_column(const float* scores, Dropped& dropped) {
  const Kernels& k = kernels();
  const size_t padded = factors_.padded();
  const float* const out = factors_.out();
  k.bound_column_f(scores, factors_.into(), out, factors_.labels(), sum_.data(), blocks_.data());
  dropped.top = static_cast<float>(k.max_f(blocks_.data(), blocks_.size()));
  const float least = dropped.top - static_cast<float>(sentence_.width.open);
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
      static_cast<double>(as_good) * portable_exp(static_cast<double>(least) - static_cast<double>(dropped.top));
  return kept;
}

// Leaves those of the n opened labels whose beliefs are close enough to the best, at the front of opened_ and of the
// messages beside them.
size_t ColumnPruner::keep_best(size_t n, Dropped& dropped) {
  const double* const belief = beliefs_.data();
  const PruningRule& rule = options_.rule;
  double least = kernels().max_d(belief, n) * portable_exp(-sentence_.width.keep);
  const size_t at_least = rule.rule == PruningRule::Rule::kDivergence ? rule.at_least : 1;
  const size_t at_most =
      std::min(rule.rule == PruningRule::Rule::kSize ? rule.size : n, options_.max_labels ? options_.max_labels : n);
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
void ColumnPruner::send(size_t token, std::span<const int32_t> to, double* out) {
  std::fill_n(out, to.size(), token == sentence_.first ? 1.0 : left_out_);
  if (token == sentence_.first) return;
  step_.resize(last_.labels.size() * to.size());
  factors_.fill(*sentence_.corpus, token, last_.labels, to, step_.data());
  const double* factor = step_.data();
  for (size_t p = 0; p < last_.labels.size(); ++p, factor += to.size())
    for (size_t q = 0; q < to.size(); ++q) out[q] += upper_[p] * factor[q];
}

// Adds the labels that the corpus allows for a token to the kept ones; returns how many there are then.
size_t ColumnPruner::add_required(size_t t, const float* scores, size_t kept) {
  size_t n = kept;
  const auto end = opened_.begin() + static_cast<ptrdiff_t>(kept);
  for (const int32_t y : sentence_.corpus->allowed_of(sentence_.first + t)) {
    if (scores[y] == -std::numeric_limits<float>::infinity()) continue;  // constraints forbid it
    if (std::find(opened_.begin(), end, y) != end) continue;
    opened_[n] = y;
    send(sentence_.first + t, std::span(opened_).subspan(n, 1), messages_.data() + n);
    ++n;
  }
  return n;
}

ColumnSource::Column ColumnPruner::column(size_t t) {
  const float* const scores = sentence_.scores + t * factors_.padded();
  const size_t token = sentence_.first + t, L = sentence_.corpus->L, before = t ? last_.labels.size() : 0;
  Dropped dropped;
  size_t n = open_column(scores, dropped);
  if (guarantees() && n > most_opened(L)) return {};
  if (const size_t most = 4 * options_.max_labels; most > 0 && n > most) n = best_opened(n, most, dropped);
  messages_.resize(n + sentence_.corpus->allowed_of(token).size());
  beliefs_.resize(n);
  send(token, std::span(opened_).first(n), messages_.data());
  for (size_t q = 0; q < n; ++q) {
    const auto y = static_cast<size_t>(opened_[q]);
    beliefs_[q] = static_cast<double>(scores[y]) + static_cast<double>(factors_.out()[y]);
  }
  dropped.shift = kernels().max_d(beliefs_.data(), n);
  kernels().exp_d(beliefs_.data(), dropped.shift, n, beliefs_.data());
  for (size_t q = 0; q < n; ++q) beliefs_[q] *= messages_[q];
  n = add_required(t, scores, keep_best(n, dropped));
  if (n == 0) return {};
  int32_t* const labels = sentence_.arena->array<int32_t>(n);
  double* const nodes = sentence_.arena->array<double>(n);
  double* const factors = sentence_.arena->array<double>(before * n);
  std::copy_n(opened_.data(), n, labels);
  for (size_t q = 0; q < n; ++q) nodes[q] = scores[labels[q]];
  if (t) factors_.fill(*sentence_.corpus, token, last_.labels, {labels, n}, factors);
  // Bounds of labels that were not opened hold for any label before them.
  const double reach = t ? all_ : 1;
  lost_ = dropped.lost * portable_exp(dropped.shift - nodes[0]) +
          dropped.unopened * portable_exp(static_cast<double>(dropped.top) - nodes[0]) * reach;
  if (sentence_.corpus->sets())
    lost_ *= portable_exp(factors_.correction_bound(*sentence_.corpus, token) +
                          (t + 1 < sentence_.T ? factors_.correction_bound(*sentence_.corpus, token + 1) : 0));
  return last_ = {{labels, n}, nodes, factors};
}

bool ColumnPruner::reached(size_t t, const ReachedColumn& column) {
  const double inverse = 1 / column.total;
  left_out_ = lost_ * portable_exp(last_.scores[0] - column.shift) * inverse;
  all_ = left_out_;
  upper_.resize(last_.labels.size());
  for (size_t q = 0; q < upper_.size(); ++q) {
    upper_[q] = std::max(column.alpha[q], messages_[q] * column.psi[q] * inverse);
    all_ += upper_[q];
  }
  gave_up_ = guarantees() &&
             missing() > (t + 1 < sentence_.T ? 2 : 1) * options_.rule.epsilon * static_cast<double>(sentence_.T);
  return !gave_up_;
}

Sums ColumnPruner::sum(const Width& width) {
  const size_t padded = factors_.padded();
  sentence_.arena->reset();
  sentence_.width = width;
  left_out_ = 0;
  all_ = 1;
  sum_.resize(padded);
  blocks_.resize(padded / kTreeLanes);
  keys_.resize(padded + kTreeLanes);
  opened_.resize(padded + kTreeLanes);
  return forward_backward(*this, sentence_.T, sentence_.corpus->L, *sentence_.arena);
}

Sums ColumnPruner::sum(const Corpus& corpus, size_t s, const float* scores, Arena& arena) {
  const PruningRule& rule = options_.rule;
  sentence_.corpus = &corpus;
  sentence_.scores = scores;
  sentence_.arena = &arena;
  sentence_.first = corpus.first_token(s);
  sentence_.T = corpus.length(s);
  if (rule.all()) return {};
  if (!guarantees()) {
    constexpr double kFar = 12;
    const double width = rule.rule == PruningRule::Rule::kSize    ? kFar
                         : rule.rule == PruningRule::Rule::kRatio ? -portable_log(rule.ratio)
                                                                  : first_width(rule.epsilon);
    return sum({width + 3, width});
  }
  constexpr size_t kTries = 3;
  const double most = rule.epsilon * static_cast<double>(sentence_.T);
  double width = first_width(rule.epsilon);
  for (size_t n = 0; n < kTries; ++n) {
    gave_up_ = false;
    Sums sums = sum({width + 3, width});
    if (!gave_up_) return sums;
    width += 2 + portable_log(missing() / most);
  }
  return {};
}

}  // namespace tagwright
