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
        best[r][v] = sum > best[r][v] ? sum : best[r][v];
      }
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < N; ++r)
#pragma GCC unroll 2
    for (size_t v = 0; v < W; ++v) V::store(to + r * kLanes + v * V::kCount, best[r][v]);
}

template <class E>
void max_lanes(const E* edges, size_t L, const E* from, E* to) {
  constexpr size_t kWide = Lanes<E>::kCount;  // so that there are eight running maxima
  size_t j = 0;
  for (; j + kWide <= L; j += kWide) max_panel<E, kWide>(edges + j, L, from, to + j * kLanes);
  for (; j < L; ++j) max_panel<E, 1>(edges + j, L, from, to + j * kLanes);
}

using F = Lanes<float>;
static_assert(F::kCount == kLanes);

#if defined(__clang__) || __GNUC__ >= 12
#define TAGWRIGHT_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int ShuffleMask __attribute__((vector_size(32)));
#define TAGWRIGHT_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, ShuffleMask{__VA_ARGS__})
#endif

// Eight rows of eight numbers become eight columns.
void transpose(F::Vector (&v)[8]) {
  F::Vector a[8], b[8];
#pragma GCC unroll 4
  for (size_t r = 0; r < 8; r += 2) {
    a[r] = TAGWRIGHT_SHUFFLE(v[r], v[r + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    a[r + 1] = TAGWRIGHT_SHUFFLE(v[r], v[r + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma GCC unroll 2
  for (size_t r = 0; r < 8; r += 4) {
    b[r] = TAGWRIGHT_SHUFFLE(a[r], a[r + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    b[r + 1] = TAGWRIGHT_SHUFFLE(a[r], a[r + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    b[r + 2] = TAGWRIGHT_SHUFFLE(a[r + 1], a[r + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    b[r + 3] = TAGWRIGHT_SHUFFLE(a[r + 1], a[r + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
#pragma GCC unroll 4
  for (size_t r = 0; r < 4; ++r) {
    v[r] = TAGWRIGHT_SHUFFLE(b[r], b[r + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    v[r + 4] = TAGWRIGHT_SHUFFLE(b[r], b[r + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}
#undef TAGWRIGHT_SHUFFLE

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
    top = sum > top ? sum : top;
    const F::Vector other = -sum, magnitude = sum > other ? sum : other;
    size = ((magnitude > size) & (sum != kLowest)) ? magnitude : size;
  });
  F::store(most, top);
  float all = 0;
  for (size_t lane = 0; lane < kLanes; ++lane) all = std::max(all, size[lane]);
  return all;
}

void best_of_lanes(const float* const* rows, size_t L, const float* column, float* best, float* second,
                   int32_t* where) {
  typedef int32_t Labels __attribute__((vector_size(32)));
  F::Vector top = F::all(-std::numeric_limits<float>::infinity()), next = top;
  Labels at{};
  for_each_line(rows, L, [&](size_t y, F::Vector line) {
    const F::Vector sum = F::load(column + y * kLanes) + line;
    const auto better = sum > top;
    const F::Vector lower = better ? top : sum;
    next = lower > next ? lower : next;
    top = better ? sum : top;
    at = better ? Labels{} + static_cast<int32_t>(y) : at;
  });
  F::store(best, top);
  F::store(second, next);
  std::memcpy(where, &at, sizeof at);
}

}  // namespace
}  // namespace tagwright
