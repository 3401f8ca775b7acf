// The chooser of labels against sorting.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "check.h"
#include "sums/pruning.h"

namespace tagwright {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Labels with a belief above 0: the highest first, of equal ones the lower label.
std::vector<int32_t> ranked(const std::vector<double>& belief) {
  std::vector<int32_t> order;
  for (size_t y = 0; y < belief.size(); ++y)
    if (belief[y] > 0) order.push_back(static_cast<int32_t>(y));
  std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return belief[a] > belief[b]; });
  return order;
}

std::vector<int32_t> expected(const PruningRule& keep, const std::vector<double>& belief, int32_t also) {
  std::vector<int32_t> order = ranked(belief);
  size_t n = order.size();
  if (keep.rule == PruningRule::Rule::kSize) n = std::min(n, keep.size);
  if (keep.rule == PruningRule::Rule::kRatio)
    while (n && belief[order[n - 1]] < keep.ratio * belief[order[0]]) --n;
  if (keep.rule == PruningRule::Rule::kDivergence) {
    const double wanted = std::exp(-keep.epsilon) * std::accumulate(belief.begin(), belief.end(), 0.0);
    double mass = 0;
    n = 0;
    while (n < order.size() && (mass < wanted || n < keep.at_least)) mass += belief[order[n++]];
  }
  order.resize(n);
  if (also >= 0 && std::ranges::count(order, also) == 0) order.push_back(also);
  std::ranges::sort(order);
  return order;
}

void compare(Chooser& chooser, const PruningRule& keep, const std::vector<double>& belief) {
  const int32_t L = static_cast<int32_t>(belief.size());
  for (const int32_t also : {-1, 0, L / 2, L - 1}) {
    if (also >= L) continue;
    std::vector<int32_t> kept(belief.size());
    kept.resize(chooser.choose(keep, belief.data(), belief.size(), also, kept.data()));
    CHECK(kept == expected(keep, belief, also));
  }
}

// Beliefs whose sums are exact, so that the order in which they are taken does not matter.
std::vector<double> draw_beliefs(test::Draw& draw, size_t L, int kind) {
  std::vector<double> belief(L);
  for (double& value : belief) {
    if (kind == 0) value = draw.whole(0, 3);
    if (kind == 1) value = std::ldexp(draw.whole(1, 9), -draw.whole(0, 38));
    if (kind == 2) value = draw.chance(0.9) ? 0x1p-30 : draw.whole(1, 50);
    if (kind == 3) value = draw.chance(0.95) ? 0 : draw.whole(1, 1000);
  }
  return belief;
}

TEST(chosen_labels_are_the_best_by_sorting) {
  test::Draw draw(1);
  Chooser chooser;
  std::vector<size_t> sizes(71);
  std::iota(sizes.begin(), sizes.end(), size_t{0});
  for (const size_t L : {100, 257, 1000, 5000}) sizes.push_back(L);
  for (const size_t L : sizes)
    for (int kind = 0; kind < 4; ++kind) {
      test::doing("L = " + std::to_string(L) + ", kind " + std::to_string(kind));
      const std::vector<double> belief = draw_beliefs(draw, L, kind);
      compare(chooser, {.rule = PruningRule::Rule::kAll}, belief);
      for (const size_t n : {1, 2, 5, 16, 60, 70, 2000})
        compare(chooser, {.rule = PruningRule::Rule::kSize, .size = n}, belief);
      for (const double ratio : {0.0, 0x1p-20, 0.25, 0.5, 1.0})
        compare(chooser, {.rule = PruningRule::Rule::kRatio, .ratio = ratio}, belief);
      for (const double epsilon : {0.0, 1e-9, 0.001, 0.1, 0.7, 5.0, kInfinity})
        for (const size_t n : {1, 2, 10, 65})
          compare(chooser, {.rule = PruningRule::Rule::kDivergence, .epsilon = epsilon, .at_least = n}, belief);
    }
}

TEST(the_smallest_belief_is_not_zero) {
  constexpr double kTiny = std::numeric_limits<double>::denorm_min();
  Chooser chooser;
  const std::vector<double> belief = {0, kTiny, 0, 3 * kTiny, kTiny};
  compare(chooser, {.rule = PruningRule::Rule::kAll}, belief);
  for (size_t n = 1; n < 6; ++n) compare(chooser, {.rule = PruningRule::Rule::kSize, .size = n}, belief);
}

TEST(a_divergence_is_kept_for_any_beliefs) {
  test::Draw draw(2);
  Chooser chooser;
  for (int n = 0; n < 300; ++n) {
    std::vector<double> belief(1 + draw.below(300));
    for (double& value : belief) value = std::exp(draw.normal(10));
    const double epsilon = std::exp(draw.normal(3)) * 0.01;
    std::vector<int32_t> kept(belief.size());
    kept.resize(chooser.choose({.rule = PruningRule::Rule::kDivergence, .epsilon = epsilon}, belief.data(),
                               belief.size(), -1, kept.data()));
    double total = 0, mass = 0, least = kInfinity;
    for (const double value : belief) total += value;
    for (const int32_t y : kept) mass += belief[y], least = std::min(least, belief[y]);
    CHECK(!kept.empty() && std::ranges::is_sorted(kept));
    CHECK(mass >= std::exp(-epsilon) * total * (1 - 1e-12));
    CHECK(mass - least <= std::exp(-epsilon) * total * (1 + 1e-12));  // one fewer would not be enough
    CHECK(std::ranges::count_if(belief, [&](double value) { return value > least; }) < std::ssize(kept));
  }
}

TEST(n_values_reach_what_is_reached_by_n) {
  test::Draw draw(3);
  for (size_t count = 0; count < 200; ++count)
    for (const size_t n : {1, 2, 3, 7, 12, 70}) {
      test::doing(std::to_string(n) + " of " + std::to_string(count));
      std::vector<double> values(count);
      for (double& value : values) value = draw.chance(0.1) ? -kInfinity : draw.whole(0, 50);
      const double least = reached_by(values.data(), count, n);
      std::vector<double> sorted = values;
      std::ranges::sort(sorted, std::greater<>());
      if (count < n) {
        CHECK(least == -kInfinity);
        continue;
      }
      CHECK(least <= sorted[n - 1]);
      CHECK(std::ranges::count(values, least) > 0);
      if (count / 16 < n) CHECK(least == sorted[n - 1]);  // too few runs of 16: it looks at every value
    }
}

}  // namespace
}  // namespace tagwright
