// Every kernel level that this CPU runs, in one process, and scores to try them on.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "check.h"
#include "kernels/cpu.h"
#include "kernels/kernels.h"

namespace tagwright {

extern const Kernels kBaseKernels;
#ifdef TAGWRIGHT_AVX2
extern const Kernels kAvx2Kernels;
#endif

namespace test {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline std::vector<const Kernels*> levels() {
  std::vector<const Kernels*> all = {&kBaseKernels};
#ifdef TAGWRIGHT_AVX2
  if (has_avx2()) all.push_back(&kAvx2Kernels);
#endif
  return all;
}

// What `work` returns at the plainest level; every other level must return the same bits. It returns a vector of
// floats or doubles: all that a kernel wrote and returned.
template <class Work>
auto at_every_level(const Work& work) {
  const auto first = work(kBaseKernels);
  using E = typename decltype(first)::value_type;
  using Bits = std::conditional_t<sizeof(E) == 4, uint32_t, uint64_t>;
  for (const Kernels* level : levels()) {
    const auto found = work(*level);
    bool same = found.size() == first.size();
    for (size_t q = 0; same && q < first.size(); ++q)
      same = std::bit_cast<Bits>(found[q]) == std::bit_cast<Bits>(first[q]);
    CHECK(same);
  }
  return first;
}

// The same for a kernel that changes what is there: work(level, copy of `before`).
template <class E, class Work>
std::vector<E> at_every_level(const std::vector<E>& before, const Work& work) {
  return at_every_level([&](const Kernels& level) {
    std::vector<E> changed = before;
    work(level, changed.data());
    return changed;
  });
}

// 0 to 70, and sizes around the tiles and runs that loops are cut into.
inline std::vector<size_t> sizes() {
  std::vector<size_t> all;
  for (size_t n = 0; n <= 70; ++n) all.push_back(n);
  for (const size_t n : {127, 128, 129, 255, 512, 513, 1000, 4095, 4097}) all.push_back(n);
  return all;
}

// kWhole: small whole numbers, so that ties are likely and sums exact. kMasked: a fifth is -inf.
enum class Kind { kWhole, kReal, kMasked };
inline constexpr Kind kKinds[] = {Kind::kWhole, Kind::kReal, Kind::kMasked};

inline double draw_score(Draw& draw, Kind kind) {
  if (kind == Kind::kWhole) return draw.whole(-4, 4);
  if (kind == Kind::kMasked && draw.chance(0.2)) return -kInfinity;
  return draw.normal(10);
}

template <class E>
std::vector<E> draw_scores(Draw& draw, Kind kind, size_t n) {
  std::vector<E> scores(n);
  for (E& score : scores) score = static_cast<E>(draw_score(draw, kind));
  return scores;
}

// Factors and probabilities: not negative; whole numbers for kWhole.
inline std::vector<double> draw_factors(Draw& draw, Kind kind, size_t n) {
  std::vector<double> factors(n);
  for (double& factor : factors) {
    factor = kind == Kind::kWhole ? draw.whole(0, 5) : std::abs(draw.normal());
    if (kind == Kind::kMasked && draw.chance(0.2)) factor = 0;
  }
  return factors;
}

// Some of the labels below L, in random order, none twice.
inline std::vector<int32_t> draw_labels(Draw& draw, size_t L, size_t n) {
  std::vector<int32_t> labels(L);
  for (size_t y = 0; y < L; ++y) labels[y] = static_cast<int32_t>(y);
  std::shuffle(labels.begin(), labels.end(), draw.bits);
  labels.resize(n);
  return labels;
}

// Calls work(draw, n, kind) for every size and kind of score.
template <class Work>
void for_every_size(size_t seed, const Work& work, const std::vector<size_t>& of = sizes()) {
  Draw draw(seed);
  for (const size_t n : of)
    for (const Kind kind : kKinds) {
      doing("n = " + std::to_string(n) + ", kind " + std::to_string(static_cast<int>(kind)));
      work(draw, n, kind);
    }
}

}  // namespace test
}  // namespace tagwright
