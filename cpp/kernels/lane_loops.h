// The loops of decoding in SIMD lanes (decode/lanes.h), one source for every kernel level.
//
// Columns are [label * kLanes + lane]. Rows are those of single sentences, [label]: eight labels of eight rows are
// turned into eight lines of a column at a time.
#pragma once

#include "loops.h"

namespace tagwright {
namespace {

template <class E, size_t N>
void max_panel(const E* __restrict edges, size_t L, const E* __restrict from, E* __restrict to) {
  using V = Lanes<E>;
  constexpr size_t W = kLanes / V::kCount;  // vectors per line
  typename V::Vector best[N][W];
#pragma GCC unroll 8
  for (size_t r = 0; r < N; ++r)
#pragma GCC unroll 2
    for (size_t v = 0; v < W; ++v) best[r][v] = V::all(-std::numeric_limits<E>::infinity());
  for (size_t i = 0; i < L; ++i) {
    typename V::Vector a[W];
#pragma GCC unroll 2
    for (size_t v = 0; v < W; ++v) a[v] = V::load(from + i * kLanes + v * V::kCount);
#pragma GCC unroll 8
    for (size_t r = 0; r < N; ++r)
#pragma GCC unroll 2
      for (size_t v = 0; v < W; ++v) {
        const typename V::Vector sum = a[v] + edges[i * L + r];
        best[r][v] = select(sum > best[r][v], sum, best[r][v]);
      }
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < N; ++r)
#pragma GCC unroll 2
    for (size_t v = 0; v < W; ++v) V::store(to + r * kLanes + v * V::kCount, best[r][v]);
}

template <class E>
void max_lanes(const E* edges, size_t L, const E* from, E* to) {
  constexpr size_t kWide = Lanes<E>::kCount / kRegisters;  // so that eight registers hold running maxima
  size_t j = 0;
  for (; j + kWide <= L; j += kWide) max_panel<E, kWide>(edges + j, L, from, to + j * kLanes);
  for (; j < L; ++j) max_panel<E, 1>(edges + j, L, from, to + j * kLanes);
}

using F = Lanes<float>;
static_assert(F::kCount == kLanes);

// Calls each(y, line) for all labels: line[lane] is rows[lane][y].
template <class Each>
void for_each_line(const float* const* rows, size_t L, Each&& each) {
  F::Vector tile[8];
  size_t y = 0;
  for (; y + 8 <= L; y += 8) {
#pragma GCC unroll 8
    for (size_t lane = 0; lane < 8; ++lane) tile[lane] = F::load(rows[lane] + y);
    transpose(tile);
#pragma GCC unroll 8
    for (size_t r = 0; r < 8; ++r) each(y + r, tile[r]);
  }
  for (; y < L; ++y) {
    float line[8];
    for (size_t lane = 0; lane < 8; ++lane) line[lane] = rows[lane][y];
    each(y, F::load(line));
  }
}

float add_to_lanes(const float* const* rows, const float* less, size_t L, float* column, float* most) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const F::Vector shift = F::load(less);
  F::Vector top = F::all(kLowest), size = F::all(0);
  for_each_line(rows, L, [&](size_t y, F::Vector line) {
    const F::Vector sum = (F::load(column + y * kLanes) + line) - shift;
    F::store(column + y * kLanes, sum);
    top = select(sum > top, sum, top);
    const F::Vector other = -sum, magnitude = select(sum > other, sum, other);
    size = select((magnitude > size) & (sum != kLowest), magnitude, size);
  });
  F::store(most, top);
  float all = 0;
  for (size_t lane = 0; lane < kLanes; ++lane) all = std::max(all, size[lane]);
  return all;
}

void best_of_lanes(const float* const* rows, size_t L, const float* column, float* best, float* second,
                   int32_t* where) {
  using I = Lanes<int32_t>;
  F::Vector top = F::all(-std::numeric_limits<float>::infinity()), next = top;
  I::Vector at = I::all(0);
  for_each_line(rows, L, [&](size_t y, F::Vector line) {
    const F::Vector sum = F::load(column + y * kLanes) + line;
    const auto better = sum > top;
    const F::Vector lower = select(better, top, sum);
    next = select(lower > next, lower, next);
    top = select(better, sum, top);
    at = select(better, I::all(static_cast<int32_t>(y)), at);
  });
  F::store(best, top);
  F::store(second, next);
  I::store(where, at);
}

}  // namespace
}  // namespace tagwright
