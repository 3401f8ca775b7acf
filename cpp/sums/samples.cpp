// Forward filtering, backward sampling: the sums forward once, then labellings from the last label to the first.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "base/stop.h"
#include "kernels/kernels.h"
#include "sums/ngram_sums.h"
#include "sums/posterior.h"

namespace tagwright {
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
  const double wanted = share * sums.back();
  const auto found = static_cast<size_t>(std::upper_bound(sums.begin(), sums.end(), wanted) - sums.begin());
  if (found < sums.size()) return found;
  // Rounded up to all of it: the last that has anything.
  return static_cast<size_t>(std::lower_bound(sums.begin(), sums.end(), sums.back()) - sums.begin());
}

}  // namespace

std::vector<int32_t> samples(const Lattice& lattice, const Sums& sums, size_t n, uint64_t seed, Arena& arena) {
  const size_t T = lattice.T, L = lattice.L;
  std::vector<int32_t> labels(times(n, T));
  if (T == 0 || n == 0) return labels;
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
        add_up(count, [&](size_t p) { return std::exp(column.from[p] + edge(p) - best); });
      } else {
        add_up(count, [&](size_t p) { return column.from[p] * std::exp(edge(p) - column.shift); });
      }
      for (; begin < n && labels[order[begin] * T + t + 1] == j; ++begin)
        labels[order[begin] * T + t] = column.labels[drawn(upto, uniform(seed, order[begin], t))];
    }
  }
  return labels;
}

std::vector<int32_t> samples(const NgramSums& sums, size_t n, uint64_t seed) {
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

}  // namespace tagwright
