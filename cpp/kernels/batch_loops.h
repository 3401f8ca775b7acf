// The loops of sums over padded batches (sums/batch.h), one source for every kernel level.
//
// Columns are [label][lane]: a line per label, of one or two vectors of 32 bytes, a sentence per lane. Everything is in
// the precision E of the caller; sums are taken in an order that does not depend on the level.
#pragma once

#include "sum_loops.h"

namespace tagwright {
namespace {

template <class E>
using Vec = typename Lanes<E>::Vector;

// Calls work with the number of vectors per line as a constant.
template <class Work>
auto by_vectors(size_t vectors, Work&& work) {
  return vectors == 1 ? work(std::integral_constant<size_t, 1>()) : work(std::integral_constant<size_t, 2>());
}

template <class E>
void batch_exp(const E* const* rows, const E* shift, size_t L, size_t lanes, E* __restrict out) {
  using V = Lanes<E>;
  constexpr size_t W = V::kCount;
  E tile[2 * W][W];
  for (size_t y = 0; y < L; y += W) {
    const size_t n = std::min(W, L - y);
    for (size_t lane = 0; lane < lanes; ++lane) {
      if (!rows[lane]) {
        V::store(tile[lane], V::all(0));
      } else if (n == W) {
        V::store(tile[lane], exp_lanes<E>(V::load(rows[lane] + y) - shift[lane]));
      } else {
        E part[W] = {};
        for (size_t r = 0; r < n; ++r) part[r] = rows[lane][y + r] - shift[lane];
        V::store(tile[lane], exp_lanes<E>(V::load(part)));
      }
    }
    for (size_t r = 0; r < n; ++r)
      for (size_t lane = 0; lane < lanes; ++lane) out[(y + r) * lanes + lane] = tile[lane][r];
  }
}

template <class E, size_t N>
void spread_panel(const E* __restrict panel, size_t n, bool first, const E* __restrict from, E* __restrict to) {
  using V = Lanes<E>;
  constexpr size_t W = V::kCount;
  Vec<E> sum[kPanel][N];
#pragma GCC unroll 8
  for (size_t r = 0; r < kPanel; ++r)
#pragma GCC unroll 2
    for (size_t v = 0; v < N; ++v) sum[r][v] = V::all(0);
  for (size_t i = 0; i < n; ++i) {
    Vec<E> a[N];
#pragma GCC unroll 2
    for (size_t v = 0; v < N; ++v) a[v] = V::load(from + (i * N + v) * W);
#pragma GCC unroll 8
    for (size_t r = 0; r < kPanel; ++r)
#pragma GCC unroll 2
      for (size_t v = 0; v < N; ++v) sum[r][v] += a[v] * panel[i * kPanel + r];
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < kPanel; ++r)
#pragma GCC unroll 2
    for (size_t v = 0; v < N; ++v) {
      E* const at = to + (r * N + v) * W;
      V::store(at, first ? sum[r][v] : V::load(at) + sum[r][v]);
    }
}

template <class E>
void batch_spread_dense(const E* panels, size_t L, size_t vectors, const E* from, E* to) {
  constexpr size_t kRun = 256;  // what one running sum takes in: its rounding stays small, its lines in L1
  by_vectors(vectors, [&](auto N) {
    constexpr size_t kLine = N * Lanes<E>::kCount;
    for (size_t i = 0; i < L; i += kRun)
      for (size_t j = 0; j < L; j += kPanel)
        spread_panel<E, N>(panels + j * L + i * kPanel, std::min(kRun, L - i), i == 0, from + i * kLine,
                           to + j * kLine);
  });
}

template <class E>
void batch_spread_sparse(const size_t* __restrict begin, const int32_t* __restrict index, const E* __restrict factor,
                         size_t L, size_t vectors, const E* __restrict rest, const E* __restrict from,
                         E* __restrict to) {
  by_vectors(vectors, [&](auto N) {
    using V = Lanes<E>;
    constexpr size_t W = V::kCount;
    const auto line = [&](size_t q) { return from + static_cast<size_t>(index[q]) * N * W; };
    for (size_t j = 0; j < L; ++j) {
      Vec<E> sum[N], other[N];
      for (size_t v = 0; v < N; ++v) {
        sum[v] = V::load(rest + v * W);
        other[v] = V::all(0);
      }
      size_t q = begin[j];
      for (; q + 2 <= begin[j + 1]; q += 2) {
        const E *a = line(q), *b = line(q + 1);
        for (size_t v = 0; v < N; ++v) {
          sum[v] += V::load(a + v * W) * factor[q];
          other[v] += V::load(b + v * W) * factor[q + 1];
        }
      }
      if (q < begin[j + 1])
        for (size_t v = 0; v < N; ++v) sum[v] += V::load(line(q) + v * W) * factor[q];
      for (size_t v = 0; v < N; ++v) V::store(to + (j * N + v) * W, sum[v] + other[v]);
    }
  });
}

template <class E>
void batch_multiply(const E* __restrict by, size_t L, size_t vectors, E* __restrict to, double* __restrict total) {
  constexpr size_t kRun = 32;
  by_vectors(vectors, [&](auto N) {
    using V = Lanes<E>;
    constexpr size_t W = V::kCount;
    for (size_t lane = 0; lane < N * W; ++lane) total[lane] = 0;
    for (size_t y = 0; y < L; y += kRun) {
      Vec<E> sum[N];
      for (size_t v = 0; v < N; ++v) sum[v] = V::all(0);
      for (size_t r = y; r < std::min(L, y + kRun); ++r)
        for (size_t v = 0; v < N; ++v) {
          E* const at = to + (r * N + v) * W;
          const Vec<E> product = V::load(at) * V::load(by + (r * N + v) * W);
          V::store(at, product);
          sum[v] += product;
        }
      for (size_t v = 0; v < N; ++v)
        for (size_t lane = 0; lane < W; ++lane) total[v * W + lane] += static_cast<double>(sum[v][lane]);
    }
  });
}

template <class E>
void batch_scale(const E* __restrict scale, size_t L, size_t vectors, E* __restrict values) {
  by_vectors(vectors, [&](auto N) {
    using V = Lanes<E>;
    constexpr size_t W = V::kCount;
    for (size_t y = 0; y < L; ++y)
      for (size_t v = 0; v < N; ++v) {
        E* const at = values + (y * N + v) * W;
        V::store(at, V::load(at) * V::load(scale + v * W));
      }
  });
}

template <class E>
size_t batch_below(const E* __restrict limit, size_t L, size_t vectors, const E* __restrict values,
                   int32_t* __restrict out) {
  return by_vectors(vectors, [&](auto N) {
    using V = Lanes<E>;
    constexpr size_t W = V::kCount;
    size_t found = 0;
    for (size_t y = 0; y < L; ++y) {
      auto below = V::load(values + y * N * W) < V::load(limit);
      if (N == 2) below |= V::load(values + (y * N + N - 1) * W) < V::load(limit + (N - 1) * W);
      out[found] = static_cast<int32_t>(y);
      found += any(below);
    }
    return found;
  });
}

template <class E, class Out>
void batch_store(const E* __restrict alpha, const E* __restrict beta, const E* __restrict weight, size_t L,
                 size_t lanes, Out* const* rows) {
  using V = Lanes<E>;
  constexpr size_t W = V::kCount, kTile = 8;
  E tile[kTile][2 * W];
  for (size_t y = 0; y < L; y += kTile) {
    const size_t n = std::min(kTile, L - y);
    for (size_t r = 0; r < n; ++r)
      for (size_t lane = 0; lane < lanes; lane += W) {
        const size_t at = (y + r) * lanes + lane;
        V::store(tile[r] + lane, V::load(alpha + at) * V::load(beta + at) * V::load(weight + lane));
      }
    for (size_t lane = 0; lane < lanes; ++lane)
      if (rows[lane])
        for (size_t r = 0; r < n; ++r) rows[lane][y + r] = static_cast<Out>(tile[r][lane]);
  }
}

template <class E>
E sum_of(Vec<E> v) {
  Vec<E> all[Lanes<E>::kCount] = {};
  all[0] = v;
  return sums_of(all)[0];
}

// Some steps of one row i: count[q] += sum over steps and lanes of a[step][i] * b[step][index[q]].
template <class E, size_t Vectors>
void count_row_of(const E* const (&a)[Vectors], const E* const (&b)[Vectors], size_t line,
                  const int32_t* __restrict index, size_t n, E* __restrict count) {
  using V = Lanes<E>;
  constexpr size_t W = V::kCount;
  Vec<E> left[Vectors];
#pragma GCC unroll 8
  for (size_t k = 0; k < Vectors; ++k) left[k] = V::load(a[k]);
  const auto parts = [&](size_t q) {
    const size_t at = static_cast<size_t>(index[q]) * line;
    Vec<E> sum = left[0] * V::load(b[0] + at);
#pragma GCC unroll 8
    for (size_t k = 1; k < Vectors; ++k) sum += left[k] * V::load(b[k] + at);
    return sum;
  };
  size_t q = 0;
  for (; q + W <= n; q += W) {
    Vec<E> sums[W];
#pragma GCC unroll 8
    for (size_t r = 0; r < W; ++r) sums[r] = parts(q + r);
    V::store(count + q, V::load(count + q) + sums_of(sums));
  }
  for (; q < n; ++q) count[q] += sum_of<E>(parts(q));
}

template <class E>
void batch_count_sparse(const BatchColumns<E>& columns, const size_t* begin, const int32_t* index, size_t first,
                        size_t last, E* count) {
  using V = Lanes<E>;
  constexpr size_t W = V::kCount, kVectors = 8;
  const size_t N = columns.vectors, line = N * W;
  // Vectors of two columns that stand beside each other in a sum: those of some steps, as many as there are registers.
  const size_t vectors = columns.steps * N;
  const auto at = [&](const E* base, size_t k) { return base + k / N * columns.stride + k % N * W; };
  size_t k = 0;
  const auto take = [&](auto some) {
    const E *a[some], *b[some];
    for (size_t i = first; i < last; ++i) {
      for (size_t r = 0; r < some; ++r) {
        a[r] = at(columns.left, k + r) + i * line;
        b[r] = at(columns.right, k + r);
      }
      count_row_of<E, some>(a, b, line, index + begin[i], begin[i + 1] - begin[i], count + begin[i]);
    }
    k += some;
  };
  while (k + kVectors <= vectors) take(std::integral_constant<size_t, kVectors>());
  if (k + 4 <= vectors) take(std::integral_constant<size_t, 4>());
  if (k + 2 <= vectors) take(std::integral_constant<size_t, 2>());
  if (k < vectors) take(std::integral_constant<size_t, 1>());
}

// A tile of counts, kept in registers over all steps: [i][j] for kDown * kAcross labels.
template <class E>
void count_tile(const BatchColumns<E>& columns, const E* __restrict left, const E* __restrict right, size_t down,
                size_t across, E* __restrict count, size_t stride) {
  using V = Lanes<E>;
  constexpr size_t W = V::kCount, kDown = kCountDown, kAcross = kCountAcross;
  const size_t line = columns.vectors * W;
  Vec<E> sum[kDown][kAcross];
#pragma GCC unroll 8
  for (size_t i = 0; i < kDown; ++i)
#pragma GCC unroll 8
    for (size_t j = 0; j < kAcross; ++j) sum[i][j] = V::all(0);
  for (size_t t = 0; t < columns.steps; ++t) {
    for (size_t v = 0; v < columns.vectors; ++v) {
      const E *a = left + t * columns.stride + v * W, *b = right + t * columns.stride + v * W;
      Vec<E> other[kAcross];
#pragma GCC unroll 8
      for (size_t j = 0; j < kAcross; ++j) other[j] = V::load(b + j * line);
#pragma GCC unroll 8
      for (size_t i = 0; i < kDown; ++i) {
        const Vec<E> one = V::load(a + i * line);
#pragma GCC unroll 8
        for (size_t j = 0; j < kAcross; ++j) sum[i][j] += one * other[j];
      }
    }
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < kDown; ++i)
#pragma GCC unroll 8
    for (size_t j = 0; j < kAcross; ++j)
      if (i < down && j < across) count[i * stride + j] += sum_of<E>(sum[i][j]);
}

template <class E>
void batch_count_dense(const BatchColumns<E>& columns, size_t first, size_t last, size_t L, E* count) {
  constexpr size_t kBlock = 32 * kCountAcross;  // labels whose lines of all steps stay in L2
  const size_t line = columns.vectors * Lanes<E>::kCount;
  for (size_t block = 0; block < L; block += kBlock)
    for (size_t i = first; i < last; i += kCountDown)
      for (size_t j = block; j < std::min(L, block + kBlock); j += kCountAcross)
        count_tile(columns, columns.left + i * line, columns.right + j * line, last - i, L - j, count + i * L + j, L);
}

template <class E>
constexpr BatchKernels<E> batch_table() {
  return {
      .exp = batch_exp<E>,
      .spread_dense = batch_spread_dense<E>,
      .spread_sparse = batch_spread_sparse<E>,
      .multiply = batch_multiply<E>,
      .scale = batch_scale<E>,
      .below = batch_below<E>,
      .store_f = batch_store<E, float>,
      .store_d = batch_store<E, double>,
      .count_sparse = batch_count_sparse<E>,
      .count_dense = batch_count_dense<E>,
  };
}

}  // namespace
}  // namespace tagwright
