#include "sums/pruning.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/need.h"
#include "kernels/elementary.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

// The smallest belief there is: what reaches it is not 0.
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();

// Leaves the labels that are not behind `last`: of more belief, or of the same and not higher.
size_t up_to(int32_t last, const double* belief, size_t n, int32_t* kept) {
  const double least = belief[last];
  return static_cast<size_t>(
      std::remove_if(kept, kept + n, [&](int32_t y) { return belief[y] < least || (belief[y] == least && y > last); }) -
      kept);
}

}  // namespace

PruningRule PruningRule::named(const std::string& rule, double value, size_t at_least) {
  if (rule.empty()) return {};
  if (rule == "divergence") {
    need(value >= 0 && at_least >= 1, "keep: epsilon must be at least 0, at_least at least 1");
    return {.rule = Rule::kDivergence, .epsilon = value, .at_least = at_least};
  }
  if (rule == "size") {
    need(value >= 1 && value < 0x1p31, "keep: the size must be at least 1");
    return {.rule = Rule::kSize, .size = static_cast<size_t>(value)};
  }
  need(rule == "ratio", "keep: no such rule");
  need(value > 0 && value <= 1, "keep: the ratio must be above 0 and at most 1");
  return {.rule = Rule::kRatio, .ratio = value};
}

std::string PruningRule::text() const {
  char text[64] = "all";
  if (rule == Rule::kDivergence) std::snprintf(text, sizeof text, "divergence:%g:%zu", epsilon, at_least);
  if (rule == Rule::kSize) std::snprintf(text, sizeof text, "size:%zu", size);
  if (rule == Rule::kRatio) std::snprintf(text, sizeof text, "ratio:%g", ratio);
  return text;
}

double reached_by(const double* values, size_t count, size_t n) {
  constexpr size_t kRun = 16;
  const size_t runs = count / kRun;
  if (count < n) return -std::numeric_limits<double>::infinity();
  thread_local std::vector<double> best;
  if (runs < n) {
    best.assign(values, values + count);
  } else {
    best.resize(runs);
    for (size_t r = 0; r < runs; ++r) best[r] = kernels().max_d(values + r * kRun, kRun);
  }
  const auto nth = best.begin() + static_cast<ptrdiff_t>(n - 1);
  std::nth_element(best.begin(), nth, best.end(), std::greater<>());
  return *nth;
}

size_t Chooser::choose(const PruningRule& keep, const double* belief, size_t L, int32_t also, int32_t* kept) {
  size_t n = 0;
  switch (keep.rule) {
    case PruningRule::Rule::kAll:
      n = kernels().at_least_d(belief, L, kSmallest, kept);
      break;
    case PruningRule::Rule::kDivergence:
      n = divergence(keep, belief, L, kept);
      break;
    case PruningRule::Rule::kSize:
      n = best(belief, L, keep.size, kept);
      break;
    case PruningRule::Rule::kRatio:
      n = kernels().at_least_d(belief, L, std::max(kSmallest, keep.ratio * kernels().max_d(belief, L)), kept);
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
  const size_t some = kernels().at_least_d(belief, L, std::max(kSmallest, reached_by(belief, L, n)), kept);
  return enough(belief, 0, n, some, kept);
}

// Equation 8: of all sets of one size the one with the most mass diverges least, so the best labels are taken until
// the mass Z(I) has -log Z(I) <= epsilon.
size_t Chooser::divergence(const PruningRule& keep, const double* belief, size_t L, int32_t* kept) {
  const double total = kernels().sum_d(belief, L), target = portable_exp(-keep.epsilon) * total;
  if (!(target < total)) return kernels().at_least_d(belief, L, kSmallest, kept);
  // All labels below their share of what may be lost can be lost together.
  double least = std::min((total - target) / static_cast<double>(L), kernels().max_d(belief, L));
  if (keep.at_least > 1) least = std::min(least, reached_by(belief, L, keep.at_least));
  const size_t some = kernels().at_least_d(belief, L, std::max(kSmallest, least), kept);
  return enough(belief, target, keep.at_least, some, kept);
}

// Leaves the best of `some` labels: as many as it takes to have a mass of `target`, and at least n. Beliefs are grouped
// by their powers of 2; only the group in which the mass is reached is visited more closely.
size_t Chooser::enough(const double* belief, double target, size_t n, size_t some, int32_t* kept) {
  if (some <= n) return some;
  const auto power = [&](int32_t y) { return std::bit_cast<uint64_t>(belief[y]) >> 52; };
  uint64_t low = UINT64_MAX, high = 0;
  for (size_t q = 0; q < some; ++q) {
    low = std::min(low, power(kept[q]));
    high = std::max(high, power(kept[q]));
  }
  mass_.assign(high - low + 1, 0.0);
  count_.assign(high - low + 1, 0);
  for (size_t q = 0; q < some; ++q) {
    mass_[power(kept[q]) - low] += belief[kept[q]];
    ++count_[power(kept[q]) - low];
  }
  double mass = 0;
  size_t count = 0, at = high - low;
  for (; at > 0 && (mass + mass_[at] < target || count + count_[at] < n); --at) {
    mass += mass_[at];
    count += count_[at];
  }
  order_.clear();
  for (size_t q = 0; q < some; ++q)
    if (power(kept[q]) - low == at) order_.push_back(kept[q]);
  // By halves: the better one is taken whole if it is not enough, otherwise the other one is left out whole.
  const auto before = [&](int32_t a, int32_t b) { return belief[a] != belief[b] ? belief[a] > belief[b] : a < b; };
  const auto place = [&](size_t q) { return order_.begin() + static_cast<ptrdiff_t>(q); };
  size_t first = 0, behind = order_.size();
  while (behind - first > 1) {
    const size_t middle = first + (behind - first) / 2;
    std::nth_element(place(first), place(middle), place(behind), before);
    double half = 0;
    for (size_t q = first; q < middle; ++q) half += belief[order_[q]];
    if (mass + half >= target && count + middle - first >= n) {
      behind = middle;
    } else {
      mass += half;
      count += middle - first;
      first = middle;
    }
  }
  return up_to(order_[first], belief, some, kept);
}

}  // namespace tagwright
