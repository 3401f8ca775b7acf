// Transitions of the posterior, its entropy, and samples by forward filtering and backward sampling.
#include "sums/posterior.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "base/stop.h"
#include "kernels/elementary.h"
#include "kernels/kernels.h"
#include "sums/arithmetic.h"
#include "sums/ngram_sums.h"

namespace tagwright {

Transitions::Transitions(const Sums& sums, Arena& arena)
    : sums_(sums), scores_(sums.logs ? arena.array<double>(sums.lattice->L) : nullptr) {}

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
  for (size_t q = 0; q < n; ++q)
    scores_[q] = sums_.lattice->edge(t, i, static_cast<size_t>(right.labels[q])) + right.to[q];
  const double best = kernels().max_d(scores_, n);
  base_ = 0;
  for (size_t q = 0; q < n; ++q) scores_[q] = best == kForbidden ? 0 : portable_exp(scores_[q] - best);
  for (size_t q = 0; q < n; ++q) base_ += scores_[q];
}

double Transitions::to(size_t q) const {
  if (sums_.logs) return base_ > 0 ? scores_[q] / base_ : 0;
  const Sums::Column &left = sums_.columns[t_], &right = sums_.columns[t_ + 1];
  if (!(right.to[q] > 0) || !(base_ > 0)) return 0;
  const double score =
      sums_.lattice->edge(t_, static_cast<size_t>(left.labels[p_]), static_cast<size_t>(right.labels[q]));
  return std::min(base_ * portable_exp(score - left.shift) * right.to[q], 1.0);
}

namespace {

double times_log(double p, double x) { return p > 0 && x > 0 ? p * portable_log(x) : 0; }

// Returns the entropy of the distribution that some scores give; overwrites them. share: room for as many.
double entropy_of(double* terms, size_t n, double* share) {
  n = static_cast<size_t>(std::remove(terms, terms + n, kForbidden) - terms);
  if (n < 2) return 0;
  const double best = kernels().max_d(terms, n);
  kernels().exp_d(terms, best, n, share);
  double sum = 0, expected = 0;
  for (size_t q = 0; q < n; ++q) {
    sum += share[q];
    expected += share[q] * (terms[q] - best);
  }
  return portable_log(sum) - expected / sum;
}

// H(s_0) + sum_t H(s_t+1 | s_t): labellings and their states are the same thing.
double entropy_of_states(const NgramSums& sums) {
  double found = 0;
  for (const double p : sums.nodes(0)) found -= times_log(p, p);
  for (size_t t = 1; t < sums.T(); ++t) {
    // p(s' | s) = alpha / p(s) * (p(s, s') / alpha), where the second factor is the same for all states of a move.
    const bool scaled = sums.is_scaled();
    for (size_t s = sums.state(t - 1, 0); scaled && s < sums.state(t, 0); ++s)
      found -= times_log(sums.state_p(s), sums.alpha(s) / sums.state_p(s));
    sums.for_each_move(t, !scaled, [&](const NgramSums::Move& move) {
      found -= times_log(move.probability, move.probability / (scaled ? move.alpha : sums.state_p(move.from)));
    });
  }
  return std::max(found, 0.0);
}

// The mean over y_t of the entropy of its transitions, which is at most log L.
double mean_entropy(const Sums& sums, size_t t, LogSteps& steps, double* terms, double* share) {
  constexpr double kNegligible = 1e-30;
  const Sums::Column &left = sums.columns[t], &right = sums.columns[t + 1];
  double mean = 0;
  steps.with(t, 1, {right.labels, right.to}, [&](auto&& terms_of) {
    for (size_t p = 0; p < left.labels.size(); ++p)
      if (left.node[p] > kNegligible)
        mean += left.node[p] * entropy_of(terms, terms_of(static_cast<size_t>(left.labels[p]), terms), share);
  });
  return mean;
}

// A column's share of the mean log probability of a labelling, where
//   log p(y) = log p(y_0) + sum_t log p(y_t+1 | y_t)  and  log p(j | i) = log from_i - log p_i + e_ij - shift + log
//   to_j.
// Without the edges, that is the mean of log from + log to - log p, without log to of the first column and without
// log from of the last one, whose terms log p cancel. All of these are a node's score and a constant: one label of the
// column shows the constant.
double mean_of_column(const Sums& sums, size_t t) {
  const Lattice& lattice = *sums.lattice;
  const Sums::Column& column = sums.columns[t];
  const bool first = t == 0, last = t + 1 == lattice.T;
  const size_t n = column.labels.size(), best = kernels().argmax_d(column.node, n);
  double constant = first == last ? portable_log(column.node[best]) * (first ? 1 : -1) : 0;
  if (!last) constant += portable_log(column.from[best]);
  if (!first) constant += portable_log(column.to[best]);
  const auto score = [&](size_t q) { return lattice.end_node(t, static_cast<size_t>(column.labels[q])); };
  const double reference = score(best);
  double mean = 0;
  for (size_t q = 0; q < n; ++q)
    if (column.node[q] > 0) mean += column.node[q] * ((score(q) - reference) + constant);
  return mean;
}

}  // namespace

double entropy(const Sums& sums, Arena& arena) {
  if (sums.ngrams) return entropy_of_states(*sums.ngrams);
  const Lattice& lattice = *sums.lattice;
  const size_t T = lattice.T, L = lattice.L;
  if (T == 0) return 0;
  double found = 0;
  Meter meter;
  const auto count = [&](size_t t) { meter.count(sums.columns[t].labels.size() * sums.columns[t + 1].labels.size()); };
  if (sums.logs) {
    double *const terms = arena.array<double>(L), *const share = arena.array<double>(L);
    LogSteps steps(lattice, arena);
    const Sums::Column& first = sums.columns[0];
    for (size_t q = 0; q < first.labels.size(); ++q) found -= times_log(first.node[q], first.node[q]);
    for (size_t t = 0; t + 1 < T; ++t) {
      count(t);
      found += mean_entropy(sums, t, steps, terms, share);
    }
    return std::max(found, 0.0);
  }
  FactorSteps steps(lattice, arena);
  for (size_t t = 0; t < T; ++t) {
    found -= mean_of_column(sums, t);
    if (t + 1 == T) break;
    const Sums::Column &left = sums.columns[t], &right = sums.columns[t + 1];
    count(t);
    found -= steps.expected(t, left.shift, {left.labels, left.from}, {right.labels, right.to});
  }
  return std::max(found, 0.0);
}

namespace {

// SplitMix64's mixing (Steele, Lea and Flood 2014): numbers that look unrelated for numbers that are close.
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// A number from 0 to 1, without 1, for token t of labelling r: whoever asks, and in which order.
double uniform(uint64_t seed, size_t r, size_t t) {
  return static_cast<double>(mixed(mixed(mixed(seed) + r) + t) >> 11) * 0x1p-53;
}

// The first place whose sum up to and including it is above `share` of all.
size_t drawn(const std::vector<double>& sums, double share) {
  const double target = share * sums.back();
  const auto found = static_cast<size_t>(std::upper_bound(sums.begin(), sums.end(), target) - sums.begin());
  if (found < sums.size()) return found;
  // Rounded up to all of it: the last that has anything.
  return static_cast<size_t>(std::lower_bound(sums.begin(), sums.end(), sums.back()) - sums.begin());
}

// Labellings drawn from sums over the states of n-grams.
std::vector<int32_t> samples_of_states(const NgramSums& sums, size_t n, uint64_t seed) {
  const size_t T = sums.T();
  std::vector<int32_t> labels(times(n, T));
  std::vector<size_t> state(n);  // [r]: of the column behind
  struct Way {
    size_t place, from;  // of the label, of the state
  };
  struct Ways {
    std::vector<Way> all;
    std::vector<double> upto;  // [way]: its probability and those before
  };
  const auto add = [](Ways& ways, size_t place, size_t from, double p) {
    ways.upto.push_back((ways.upto.empty() ? 0.0 : ways.upto.back()) + p);
    ways.all.push_back({place, from});
  };
  Ways last;
  for (size_t q = 0; q < sums.labels(T - 1).size(); ++q)
    for (size_t s = sums.state(T - 1, q); s < sums.state(T - 1, q + 1); ++s) add(last, q, s, sums.state_p(s));
  const auto draw = [&](const Ways& ways, size_t r, size_t t) {
    const Way& way = ways.all[drawn(ways.upto, uniform(seed, r, t))];
    labels[r * T + t] = sums.labels(t)[way.place];
    state[r] = way.from;
  };
  for (size_t r = 0; r < n; ++r) draw(last, r, T - 1);
  for (size_t t = T - 1; t-- > 0;) {
    std::unordered_map<size_t, Ways> into;  // [state of column t + 1 that was drawn]
    for (const size_t s : state) into[s];
    sums.for_each_move(t + 1, true, [&](const NgramSums::Move& move) {
      if (const auto found = into.find(move.to); found != into.end())
        add(found->second, move.p, move.from, move.probability);
    });
    for (size_t r = 0; r < n; ++r) draw(into.at(state[r]), r, t);
  }
  return labels;
}

}  // namespace

std::vector<int32_t> samples(const Sums& sums, size_t n, uint64_t seed, Arena& arena) {
  if (sums.ngrams) return samples_of_states(*sums.ngrams, n, seed);
  const size_t T = sums.columns.size();
  std::vector<int32_t> labels(times(n, T));
  if (T == 0 || n == 0) return labels;
  const Lattice& lattice = *sums.lattice;
  const size_t L = lattice.L;
  double* const edges = arena.array<double>(L);
  std::vector<double> upto;
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  const auto add_up = [&](size_t count, auto&& weight) {
    upto.resize(count);
    double sum = 0;
    for (size_t p = 0; p < count; ++p) upto[p] = sum += weight(p);
  };
  const Sums::Column& last = sums.columns[T - 1];
  add_up(last.labels.size(), [&](size_t q) { return last.node[q]; });
  for (size_t r = 0; r < n; ++r) labels[r * T + T - 1] = last.labels[drawn(upto, uniform(seed, r, T - 1))];
  Meter meter;
  for (size_t t = T - 1; t-- > 0;) {
    // Labellings with the same label behind are drawn together: its edges are added up once.
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const int32_t x = labels[a * T + t + 1], y = labels[b * T + t + 1];
      return x != y ? x < y : a < b;
    });
    const Sums::Column& column = sums.columns[t];
    const size_t count = column.labels.size();
    for (size_t begin = 0; begin < n;) {
      const int32_t j = labels[order[begin] * T + t + 1];
      lattice.column(t, static_cast<size_t>(j), edges);
      const auto edge = [&](size_t p) { return edges[column.labels[p]]; };
      meter.count(8 * L);
      if (sums.logs) {
        double best = kForbidden;
        for (size_t p = 0; p < count; ++p) best = std::max(best, column.from[p] + edge(p));
        add_up(count, [&](size_t p) { return portable_exp(column.from[p] + edge(p) - best); });
      } else {
        add_up(count, [&](size_t p) { return column.from[p] * portable_exp(edge(p) - column.shift); });
      }
      for (; begin < n && labels[order[begin] * T + t + 1] == j; ++begin)
        labels[order[begin] * T + t] = column.labels[drawn(upto, uniform(seed, order[begin], t))];
    }
  }
  return labels;
}

}  // namespace tagwright
