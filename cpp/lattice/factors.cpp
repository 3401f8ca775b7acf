#include "lattice/factors.h"

#include <algorithm>

#include "base/arena.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

struct Range {
  double least = -kForbidden, most = kForbidden;
  bool forbids = false;

  void add(double score) {
    if (score == kForbidden) {
      forbids = true;
    } else {
      least = std::min(least, score);
      most = std::max(most, score);
    }
  }
};

void fill_side(const Exceptions& from, size_t L, double shift, double rest, Factors::Side& to) {
  to.begin.reserve(L + 1);
  to.begin.push_back(0);
  for (size_t i = 0; i < L; ++i) {
    const std::span<const int32_t> keys = from.keys(i);
    const std::span<const double> scores = from.values(i);
    to.index.insert(to.index.end(), keys.begin(), keys.end());
    to.factor.insert(to.factor.end(), scores.begin(), scores.end());
    to.begin.push_back(to.index.size());
  }
  kernels().exp_d(to.factor.data(), shift, to.factor.size(), to.factor.data());
  for (const double factor : to.factor) to.more.push_back(factor - rest);
}

}  // namespace

double Factors::at(size_t i, size_t j) const {
  if (dense) return side[0].matrix[i * stride + j];
  const auto first = side[0].index.begin() + static_cast<ptrdiff_t>(side[0].begin[i]);
  const auto last = side[0].index.begin() + static_cast<ptrdiff_t>(side[0].begin[i + 1]);
  const auto found = std::lower_bound(first, last, static_cast<int32_t>(j));
  if (found == last || *found != static_cast<int32_t>(j)) return rules && !rules->allows(i, j) ? 0 : rest;
  return side[0].factor[static_cast<size_t>(found - side[0].index.begin())];
}

Factors factors_of(const EdgeScores& edges, size_t t) {
  Factors made;
  const size_t L = made.L = edges.L();
  Range range;
  if (edges.is_sparse()) {
    made.rules = edges.default_rules();
    range.forbids = made.rules;
    range.add(edges.fallback());
    for (size_t i = 0; i < L; ++i)
      for (const double score : edges.rows().values(i)) range.add(score);
    made.shift = range.most == kForbidden ? 0 : range.most;
    const double fallback = edges.fallback();
    kernels().exp_d(&fallback, made.shift, 1, &made.rest);
    fill_side(edges.rows(), L, made.shift, made.rest, made.side[0]);
    made.mild = std::all_of(made.side[0].factor.begin(), made.side[0].factor.end(),
                            [&](double factor) { return factor > kFewDigits * made.rest; });
    fill_side(edges.columns(), L, made.shift, made.rest, made.side[1]);
  } else {
    constexpr size_t kLine = 8;
    made.dense = true;
    made.stride = (L + kLine - 1) / kLine * kLine;
    std::vector<double> row(L);
    for (size_t i = 0; i < L; ++i) {
      edges.row(t, i, row.data());
      for (const double score : row) range.add(score);
    }
    made.shift = range.most == kForbidden ? 0 : range.most;
    for (Factors::Side& side : made.side) side.matrix.assign(times(L, made.stride), 0.0);
    for (size_t i = 0; i < L; ++i) {
      edges.row(t, i, row.data());
      double* const to = made.side[0].matrix.data() + i * made.stride;
      kernels().exp_d(row.data(), made.shift, L, to);
      for (size_t j = 0; j < L; ++j) made.side[1].matrix[j * made.stride + i] = to[j];
    }
  }
  made.close = !(range.most - range.least > kTame);
  made.forbids = range.forbids;
  return made;
}

}  // namespace tagwright
