#include "lattice/chain.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace tagwright {

Chain make_chain(size_t L, std::span<const int32_t> order) {
  Chain chain{.L = L, .order = {order.begin(), order.end()}, .by_number = order.empty(), .inside = {}};
  if (chain.by_number) {
    chain.order.resize(L);
    std::iota(chain.order.begin(), chain.order.end(), 0);
  }
  chain.inside.resize(L);
  for (size_t r = 0; r < L; ++r) chain.inside[static_cast<size_t>(chain.order[r])] = std::bit_width(r);
  chain.B = std::bit_width(std::max<size_t>(L, 1) - 1);
  return chain;
}

namespace {

// to, from, out and in of every label, from all rows of a matrix.
void bounds_from_rows(const EdgeScores& edges, size_t t, const Chain& chain, Bounds& b) {
  const auto raise = [&](double* bound, const double* by) {
    for (size_t j = 0; j < b.L; ++j) bound[j] = std::max(bound[j], by[j]);
  };
  std::vector<double> row(b.L);
  for (size_t i = 0; i < b.L; ++i) {
    edges.row(t, i, row.data());
    block_scores(chain, {nullptr, row.data()}, b.to.data() + i * b.B);
    b.out[i] = *std::max_element(row.begin(), row.end());
    raise(b.in.data(), row.data());
    // A label's row goes into the last block that it is in; that one's bounds then go into the blocks around it.
    if (chain.inside[i]) raise(b.from.data() + (chain.inside[i] - 1) * b.L, row.data());
  }
  for (size_t m = b.B; m-- > 1;) raise(b.from.data() + (m - 1) * b.L, b.from.data() + m * b.L);
}

// The same from default and exceptions: a label has a default edge into a block unless all its edges there are
// exceptions.
void bounds_from_exceptions(const EdgeScores& edges, const Chain& chain, Bounds& b) {
  std::vector<size_t> met(b.B);
  std::vector<double> best(b.B);
  // best: of one row or column into (or out of) each block; returns that of the whole row.
  const auto summarise = [&](const Exceptions& lines, size_t i) {
    std::fill(met.begin(), met.end(), 0);
    std::fill(best.begin(), best.end(), kForbidden);
    const std::span<const int32_t> labels = lines.keys(i);
    const std::span<const double> scores = lines.values(i);
    for (size_t q = 0; q < labels.size(); ++q) {
      for (size_t m = 0; m < chain.inside[static_cast<size_t>(labels[q])]; ++m) {
        ++met[m];
        best[m] = std::max(best[m], scores[q]);
      }
    }
    for (size_t m = 0; m < b.B; ++m)
      if (met[m] < b.L - chain.before(m)) best[m] = std::max(best[m], edges.fallback());
    return std::max(lines.largest()[i], labels.size() < b.L ? edges.fallback() : kForbidden);
  };
  for (size_t i = 0; i < b.L; ++i) {
    b.out[i] = summarise(edges.rows(), i);
    std::copy(best.begin(), best.end(), b.to.begin() + static_cast<ptrdiff_t>(i * b.B));
    b.in[i] = summarise(edges.columns(), i);
    for (size_t m = 0; m < b.B; ++m) b.from[m * b.L + i] = best[m];
  }
}

}  // namespace

Bounds edge_bounds(const EdgeScores& edges, size_t t, const Chain& chain) {
  const size_t L = chain.L, B = chain.B;
  Bounds b{.L = L,
           .B = B,
           .to = std::vector<double>(L * B, kForbidden),
           .from = std::vector<double>(B * L, kForbidden),
           .between = std::vector<double>(B * B, kForbidden),
           .out = std::vector<double>(L + B, kForbidden),
           .in = std::vector<double>(L + B, kForbidden)};
  if (edges.is_sparse()) {
    bounds_from_exceptions(edges, chain, b);
  } else {
    bounds_from_rows(edges, t, chain, b);
  }
  for (size_t m = 0; m < B; ++m) {
    const double* from = b.from.data() + m * L;
    block_scores(chain, {nullptr, from}, b.between.data() + m * B);
    b.out[L + m] = *std::max_element(from, from + L);
  }
  block_scores(chain, {nullptr, b.in.data()}, b.in.data() + L);
  b.largest = *std::max_element(b.out.begin(), b.out.end());
  return b;
}

void raise_bounds(Bounds& b, const Chain& chain, size_t i, size_t j, double score) {
  const auto raise = [&](double& bound) { bound = std::max(bound, score); };
  raise(b.out[i]);
  raise(b.in[j]);
  raise(b.largest);
  for (size_t c = 0; c < chain.inside[j]; ++c) {
    raise(b.to[i * b.B + c]);
    raise(b.in[b.L + c]);
  }
  for (size_t m = 0; m < chain.inside[i]; ++m) {
    raise(b.from[m * b.L + j]);
    raise(b.out[b.L + m]);
    for (size_t c = 0; c < chain.inside[j]; ++c) raise(b.between[m * b.B + c]);
  }
}

float rounded_up(double score) {
  constexpr double kMost = std::numeric_limits<float>::max();
  if (score > kMost) return std::numeric_limits<float>::infinity();
  const float near = static_cast<float>(std::max(score, score == kForbidden ? score : -kMost));
  return static_cast<double>(near) < score ? std::nextafter(near, std::numeric_limits<float>::infinity()) : near;
}

float best_out(const EdgeScores& edges, size_t t, size_t i) {
  if (edges.is_sparse()) return rounded_up(std::max(edges.fallback(), edges.better().largest()[i]));
  return rounded_up(largest_of(edges.matrix(t).from(i * edges.stride()), edges.L()));
}

void block_scores(const Chain& chain, Scores scores, double* out) {
  for (size_t m = chain.B; m-- > 0;) {
    const size_t first = chain.before(m), last = chain.before(m + 1);
    double best = m + 1 < chain.B ? out[m + 1] : kForbidden;
    if (chain.by_number) {
      best = std::max(best, largest_of(scores.from(first), last - first));
    } else {
      for (size_t r = first; r < last; ++r) best = std::max(best, scores[static_cast<size_t>(chain.order[r])]);
    }
    out[m] = best;
  }
}

Patch bound_patch(const Patch& labels, const Bounds& bounds, const Chain& chain) {
  const size_t L = bounds.L, B = bounds.B;
  Patch patch;
  const auto raise = [&](size_t a, size_t b, double bound, double score) {
    if (score > bound) patch.by_row.push_back({static_cast<int32_t>(a), static_cast<int32_t>(b), score});
  };
  for (const Override& e : labels.by_row) {
    const size_t i = static_cast<size_t>(e.i), j = static_cast<size_t>(e.j);
    patch.by_row.push_back(e);
    for (size_t c = 0; c < chain.inside[j]; ++c) raise(i, L + c, bounds.to[i * B + c], e.score);
    for (size_t m = 0; m < chain.inside[i]; ++m) {
      raise(L + m, j, bounds.from[m * L + j], e.score);
      for (size_t c = 0; c < chain.inside[j]; ++c) raise(L + m, L + c, bounds.between[m * B + c], e.score);
    }
  }
  // Several corrected edges may raise one pair of blocks: the largest counts.
  std::sort(patch.by_row.begin(), patch.by_row.end(), [](const Override& a, const Override& b) {
    return a.i != b.i ? a.i < b.i : a.j != b.j ? a.j < b.j : a.score > b.score;
  });
  const auto same = [](const Override& a, const Override& b) { return a.i == b.i && a.j == b.j; };
  patch.by_row.erase(std::unique(patch.by_row.begin(), patch.by_row.end(), same), patch.by_row.end());
  patch.index_columns();
  return patch;
}

}  // namespace tagwright
