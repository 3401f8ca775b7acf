// Transitions of the posterior, and its entropy.
#include <algorithm>
#include <cmath>

#include "base/stop.h"
#include "kernels/kernels.h"
#include "sums/posterior.h"

namespace tagwright {

Transitions::Transitions(const Lattice& lattice, const Sums& sums, Arena& arena)
    : lattice_(lattice), sums_(sums), scores_(sums.logs ? arena.array<double>(lattice.L) : nullptr) {}

void Transitions::from(size_t t, size_t p) {
  t_ = t;
  p_ = p;
  const Sums::Column &left = sums_.columns[t], &right = sums_.columns[t + 1];
  if (!sums_.logs) {
    base_ = left.node[p] > 0 ? left.from[p] / left.node[p] : 0;
    return;
  }
  const size_t n = right.labels.size();
  const auto i = static_cast<size_t>(left.labels[p]);
  for (size_t q = 0; q < n; ++q) scores_[q] = lattice_.edge(t, i, static_cast<size_t>(right.labels[q])) + right.to[q];
  const double best = kernels().max_d(scores_, n);
  base_ = 0;
  for (size_t q = 0; q < n; ++q) scores_[q] = best == kForbidden ? 0 : std::exp(scores_[q] - best);
  for (size_t q = 0; q < n; ++q) base_ += scores_[q];
}

double Transitions::to(size_t q) const {
  if (sums_.logs) return base_ > 0 ? scores_[q] / base_ : 0;
  const Sums::Column &left = sums_.columns[t_], &right = sums_.columns[t_ + 1];
  if (!(right.to[q] > 0) || !(base_ > 0)) return 0;
  const double score = lattice_.edge(t_, static_cast<size_t>(left.labels[p_]), static_cast<size_t>(right.labels[q]));
  return std::min(base_ * std::exp(score - left.shift) * right.to[q], 1.0);
}

namespace {

double times_log(double p, double x) { return p > 0 && x > 0 ? p * std::log(x) : 0; }

// The expected score of the edges behind column t, less their shift, where most edges have the default: it has what the
// exceptions leave. place: [label], room of -1.
double expected_of_exceptions(const Lattice& lattice, const Factors& factors, const Sums& sums, size_t t,
                              int32_t* place) {
  const Sums::Column &left = sums.columns[t], &right = sums.columns[t + 1];
  // The exceptions of the column that has fewer labels are walked.
  const bool forward = left.labels.size() <= right.labels.size();
  const Sums::Column &walked = forward ? left : right, &other = forward ? right : left;
  const double *const own = forward ? left.from : right.to, *const beside = forward ? right.to : left.from;
  const Factors::Side& rows = factors.side[forward ? 0 : 1];
  const Exceptions& exceptions = forward ? lattice.edges.rows() : lattice.edges.columns();
  for (size_t q = 0; q < other.labels.size(); ++q) place[other.labels[q]] = static_cast<int32_t>(q);
  double sum = 0, rest = 1;
  for (size_t p = 0; p < walked.labels.size(); ++p) {
    const auto i = static_cast<size_t>(walked.labels[p]);
    const std::span<const double> scores = exceptions.values(i);
    for (size_t e = rows.begin[i]; e < rows.begin[i + 1]; ++e) {
      const int32_t q = place[rows.index[e]];
      const double share = q < 0 ? 0 : own[p] * rows.factor[e] * beside[q];
      if (!(share > 0)) continue;
      rest -= share;
      sum += share * (scores[e - rows.begin[i]] - left.shift);
    }
  }
  for (const int32_t y : other.labels) place[y] = -1;
  if (factors.rest > 0) sum += std::max(rest, 0.0) * (lattice.edges.fallback() - left.shift);
  return sum;
}

// The same for a matrix that all steps share. reached: room for a row of it.
double expected_of_matrix(const Lattice& lattice, const Factors& factors, const Sums& sums, size_t t, double* reached) {
  const Sums::Column &left = sums.columns[t], &right = sums.columns[t + 1];
  const std::vector<double>& scores = lattice.edges.weighted_scores();
  const size_t n = right.labels.size();
  double sum = 0;
  if (n == lattice.L) {
    std::fill(reached, reached + factors.stride, 0.0);
    kernels().spread_rows(scores.data(), factors.stride, left.labels.data(), left.from, left.labels.size(), reached);
    return kernels().multiply_d(reached, right.to, n, reached);
  }
  for (size_t p = 0; p < left.labels.size(); ++p) {
    const double* row = scores.data() + static_cast<size_t>(left.labels[p]) * factors.stride;
    double one = 0;
    for (size_t q = 0; q < n; ++q) one += row[right.labels[q]] * right.to[q];
    sum += left.from[p] * one;
  }
  return sum;
}

// The same for any edges.
double expected_of_all(const Lattice& lattice, const Sums& sums, size_t t, double* scores, double* share) {
  constexpr double kWeightless = -1e3;  // whatever is lower has a factor of 0
  const Sums::Column &left = sums.columns[t], &right = sums.columns[t + 1];
  const size_t n = right.labels.size();
  double sum = 0;
  for (size_t p = 0; p < left.labels.size(); ++p) {
    if (!(left.from[p] > 0)) continue;
    const auto i = static_cast<size_t>(left.labels[p]);
    if (n == lattice.L) lattice.row(t, i, scores);
    for (size_t q = 0; q < n; ++q) {
      const double score = n == lattice.L ? scores[q] : lattice.edge(t, i, static_cast<size_t>(right.labels[q]));
      scores[q] = std::max(score - left.shift, kWeightless);
    }
    kernels().exp_d(scores, 0, n, share);
    kernels().multiply_d(share, right.to, n, share);
    sum += left.from[p] * kernels().multiply_d(share, scores, n, share);
  }
  return sum;
}

// H(y_t+1 | y_t) of a step in logarithms: of pairs, less that of the labels before.
double of_logs(const std::vector<double>& pairs, size_t n) {
  double found = 0;
  for (size_t begin = 0; begin < pairs.size(); begin += n) {
    const double row = kernels().sum_d(pairs.data() + begin, n);
    for (size_t q = 0; q < n; ++q) found -= times_log(pairs[begin + q], pairs[begin + q] / row);
  }
  return found;
}

}  // namespace

double entropy(const Lattice& lattice, const Factors* factors, const Sums& sums, Arena& arena) {
  const size_t T = lattice.T, L = lattice.L;
  if (T == 0) return 0;
  double* const scores = arena.array<double>(factors ? std::max(factors->stride, L) : L);
  double* const share = arena.array<double>(L);
  int32_t* const place = arena.array<int32_t>(L);
  std::fill(place, place + L, -1);
  std::vector<double> pairs;
  const bool shared = factors && !lattice.patched(), sparse = shared && !factors->dense;
  double found = 0;
  const Sums::Column& first = sums.columns[0];
  for (size_t q = 0; q < first.labels.size(); ++q) found -= times_log(first.node[q], first.node[q]);
  Meter meter;
  for (size_t t = 0; t + 1 < T; ++t) {
    const Sums::Column &left = sums.columns[t], &right = sums.columns[t + 1];
    meter.count(left.labels.size() * right.labels.size());
    if (sums.logs) {
      sums.step(lattice, t, pairs);
      found += of_logs(pairs, right.labels.size());
      continue;
    }
    // log p(j | i) = log from_i - log p_i + e_ij - shift + log to_j.
    double step = 0;
    for (size_t p = 0; p < left.labels.size(); ++p)
      step += times_log(left.node[p], left.from[p]) - times_log(left.node[p], left.node[p]);
    for (size_t q = 0; q < right.labels.size(); ++q) step += times_log(right.node[q], right.to[q]);
    constexpr size_t kFewPairs = 256;  // to which exceptions are not worth a look
    if (sparse && left.labels.size() * right.labels.size() > kFewPairs) {
      step += expected_of_exceptions(lattice, *factors, sums, t, place);
    } else if (shared && factors->dense) {
      step += expected_of_matrix(lattice, *factors, sums, t, scores);
    } else {
      step += expected_of_all(lattice, sums, t, scores, share);
    }
    found -= step;
  }
  return std::max(found, 0.0);
}

}  // namespace tagwright
