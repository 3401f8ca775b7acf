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

}  // namespace tagwright
