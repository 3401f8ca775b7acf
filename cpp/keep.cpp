#include "keep.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernels.h"

namespace tagwright {
namespace {

// The smallest belief there is: what reaches it is not 0.
constexpr double kSome = std::numeric_limits<double>::denorm_min();

// Leaves the labels that are not behind `last`: of more belief, or of the same and not higher.
size_t up_to(int32_t last, const double* belief, size_t n, int32_t* kept) {
  const double least = belief[last];
  return static_cast<size_t>(
      std::remove_if(kept, kept + n, [&](int32_t y) { return belief[y] < least || (belief[y] == least && y > last); }) -
      kept);
}

}  // namespace

double reached_by(const double* values, size_t count, size_t n) {
  constexpr size_t kRun = 16;
  const size_t runs = count / kRun;
  if (runs < n) return -std::numeric_limits<double>::infinity();
  thread_local std::vector<double> best;
  best.resize(runs);
  for (size_t r = 0; r < runs; ++r) best[r] = kernels().max_d(values + r * kRun, kRun);
  const auto nth = best.begin() + static_cast<ptrdiff_t>(n - 1);
  std::nth_element(best.begin(), nth, best.end(), std::greater<>());
  return *nth;
}

size_t Chooser::choose(const Keep& keep, const double* belief, size_t L, int32_t also, int32_t* kept) {
  size_t n = 0;
  switch (keep.rule) {
    case Keep::Rule::kAll:
      n = kernels().at_least_d(belief, L, kSome, kept);
      break;
    case Keep::Rule::kDivergence:
      n = divergence(keep, belief, L, kept);
      break;
    case Keep::Rule::kSize:
      n = best(belief, L, keep.size, kept);
      break;
    case Keep::Rule::kRatio:
      n = kernels().at_least_d(belief, L, std::max(kSome, keep.ratio * kernels().max_d(belief, L)), kept);
      break;
  }
  if (also < 0) return n;
  int32_t* const place = std::lower_bound(kept, kept + n, also);
  if (place != kept + n && *place == also) return n;
  std::copy_backward(place, kept + n, kept + n + 1);
  *place = also;
  return n + 1;
}

size_t Chooser::best(const double* belief, size_t L, size_t n, int32_t* kept) {
  const size_t some = kernels().at_least_d(belief, L, std::max(kSome, reached_by(belief, L, n)), kept);
  if (some <= n) return some;
  order_.assign(kept, kept + some);
  const auto nth = order_.begin() + static_cast<ptrdiff_t>(n - 1);
  std::nth_element(order_.begin(), nth, order_.end(),
                   [&](int32_t a, int32_t b) { return belief[a] != belief[b] ? belief[a] > belief[b] : a < b; });
  return up_to(*nth, belief, some, kept);
}

// Equation 8: of all sets of one size the one with the most mass diverges least, so the best labels are taken until
// the mass Z(I) has -log Z(I) <= epsilon.
size_t Chooser::divergence(const Keep& keep, const double* belief, size_t L, int32_t* kept) {
  const double total = kernels().sum_d(belief, L), wanted = std::exp(-keep.epsilon) * total;
  if (!(wanted < total)) return kernels().at_least_d(belief, L, kSome, kept);
  // All labels below their share of what may be lost can be lost together.
  const double least = std::max(kSome, (total - wanted) / static_cast<double>(L));
  const size_t some = kernels().at_least_d(belief, L, least, kept);
  if (some <= keep.at_least) return best(belief, L, keep.at_least, kept);
  order_.assign(kept, kept + some);
  const auto before = [&](int32_t a, int32_t b) { return belief[a] != belief[b] ? belief[a] > belief[b] : a < b; };
  // Halves: the better one is kept whole if it is not enough, else the other one is left out whole.
  size_t low = 0, high = some;
  double missing = wanted;
  constexpr size_t kFew = 16;
  while (high - low > kFew) {
    const size_t middle = low + (high - low) / 2;
    const auto at = [&](size_t q) { return order_.begin() + static_cast<ptrdiff_t>(q); };
    std::nth_element(at(low), at(middle), at(high), before);
    double mass = 0;
    for (size_t q = low; q < middle; ++q) mass += belief[order_[q]];
    if (mass >= missing) {
      high = middle;
    } else {
      missing -= mass;
      low = middle;
    }
  }
  std::sort(order_.begin() + static_cast<ptrdiff_t>(low), order_.begin() + static_cast<ptrdiff_t>(high), before);
  while (low < high && missing > 0) missing -= belief[order_[low++]];
  if (low < keep.at_least) return best(belief, L, keep.at_least, kept);
  return up_to(order_[low - 1], belief, some, kept);
}

}  // namespace tagwright
