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
