// The loops of decoding, one source for every kernel level: included once per instruction set, inside an anonymous
// namespace, so that no two levels share a function; no C++ library function may be called here that is not inlined,
// for the same reason. The step over a dense matrix is a plain loop that the compiler vectorises; a running maximum or
// minimum it leaves scalar, since it may not reorder them, so those are written with vectors (vectors.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <type_traits>

#include "kernels.h"
#include "vectors.h"

namespace tagwright {
namespace {

constexpr size_t kRows = 8;        // rows of the edge matrix taken at a time: one load of best[] serves eight
constexpr size_t kTileMany = 512;  // columns at a time for several sentences: eight rows of it stay in L1
constexpr size_t kTileOne = 4096;

template <class A, class E>
void dense_rows(const E* __restrict edges, size_t stride, size_t rows, size_t n, const A* __restrict previous,
                A* __restrict best) {
  if (rows == kRows) {
    A score[kRows];
    for (size_t r = 0; r < kRows; ++r) score[r] = previous[r];
    for (size_t j = 0; j < n; ++j) {
      A m = best[j];
#pragma GCC unroll 8
      for (size_t r = 0; r < kRows; ++r) {
        const A v = score[r] + static_cast<A>(edges[r * stride + j]);
        m = v > m ? v : m;
      }
      best[j] = m;
    }
    return;
  }
  for (size_t r = 0; r < rows; ++r) {
    const A score = previous[r];
    const E* __restrict row = edges + r * stride;
    for (size_t j = 0; j < n; ++j) {
      const A v = score + static_cast<A>(row[j]);
      best[j] = v > best[j] ? v : best[j];
    }
  }
}

template <class A, class E>
void dense_step(const E* edges, size_t L, size_t stride, StepOf<A>* steps, size_t count) {
  const size_t tile = count > 1 ? kTileMany : kTileOne;
  for (size_t s = 0; s < count; ++s)
    for (size_t j = 0; j < stride; ++j) steps[s].best[j] = -std::numeric_limits<A>::infinity();
  for (size_t j = 0; j < stride; j += tile) {
    const size_t n = std::min(tile, stride - j);
    for (size_t i = 0; i < L; i += kRows) {
      const size_t rows = std::min(kRows, L - i);
      for (size_t s = 0; s < count; ++s)
        dense_rows<A, E>(edges + i * stride + j, stride, rows, n, steps[s].previous + i, steps[s].best + j);
    }
  }
}

template <class E>
double raise(double score, const E* __restrict row, size_t stride, const int32_t* __restrict index, size_t n,
             double* __restrict best) {
  using D = Lanes<double>;
  D::Vector lowest = D::all(std::numeric_limits<double>::infinity());
  const auto edge = [&](size_t q) { return static_cast<double>(row[static_cast<size_t>(index[q]) * stride]); };
  size_t q = 0;
  for (; q + 4 <= n; q += 4) {
    const D::Vector v = score + D::of(edge(q), edge(q + 1), edge(q + 2), edge(q + 3));
    D::Vector m = D::load(best + q);
    m = select(v > m, v, m);
    D::store(best + q, m);
    lowest = select(m < lowest, m, lowest);
  }
  double least = std::min(std::min(lowest[0], lowest[1]), std::min(lowest[2], lowest[3]));
  for (; q < n; ++q) {
    const double v = score + edge(q), m = v > best[q] ? v : best[q];
    best[q] = m;
    least = m < least ? m : least;
  }
  return least;
}

template <class B>
void scatter(B score, const int32_t* __restrict label, const double* __restrict edge, size_t n, B* __restrict best) {
  for (size_t q = 0; q < n; ++q) {
    const B v = score + static_cast<B>(edge[q]), m = best[label[q]];
    best[label[q]] = v > m ? v : m;
  }
}

template <class N>
float bound_column(const N* __restrict nodes, const float* __restrict before, const float* __restrict out, size_t L,
                   float* __restrict sum, float* __restrict blocks) {
  using V = Lanes<float>;
  static_assert(V::kCount == kTreeLanes);
  constexpr float kForbidden = -std::numeric_limits<float>::infinity();
  V::Vector most = V::all(kForbidden), most_too = most;
  float copy[kGroup];
  for (size_t g = 0; g < L; g += kGroup) {
    const float* here = copy;
    if (g + kGroup > L) {
      for (size_t j = 0; j < kGroup; ++j) copy[j] = g + j < L ? static_cast<float>(nodes[g + j]) : kForbidden;
    } else if constexpr (std::is_same_v<N, float>) {
      here = nodes + g;
    } else {
      for (size_t j = 0; j < kGroup; ++j) copy[j] = static_cast<float>(nodes[g + j]);
    }
    V::Vector best = V::all(kForbidden), best_too = best;
    const auto take = [&](size_t j, V::Vector& top, V::Vector& block) {
      const V::Vector s = V::load(here + j) + V::load(before + g + j), key = s + V::load(out + g + j);
      V::store(sum + g + j, s);
      top = select(s > top, s, top);
      block = select(key > block, key, block);
    };
    // Two by two: a single running maximum would wait for itself.
    for (size_t j = 0; j < kGroup; j += 2 * kTreeLanes) {
      take(j, most, best);
      take(j + kTreeLanes, most_too, best_too);
    }
    V::store(blocks + g / kTreeLanes, select(best_too > best, best_too, best));
  }
  most = select(most_too > most, most_too, most);
  float top = kForbidden;
  for (size_t r = 0; r < V::kCount; ++r) top = most[r] > top ? most[r] : top;
  return top;
}

template <class E>
void follow_rows(const E* const* rows, const float* score, size_t count, size_t n, float* __restrict best) {
  size_t r = 0;
  for (; r + 4 <= count; r += 4) {
    const E* __restrict a = rows[r], * __restrict b = rows[r + 1], * __restrict c = rows[r + 2], * __restrict d = rows[r + 3];
    const float sa = score[r], sb = score[r + 1], sc = score[r + 2], sd = score[r + 3];
    for (size_t j = 0; j < n; ++j) {
      const float va = sa + static_cast<float>(a[j]), vb = sb + static_cast<float>(b[j]);
      const float vc = sc + static_cast<float>(c[j]), vd = sd + static_cast<float>(d[j]);
      const float ab = va > vb ? va : vb, cd = vc > vd ? vc : vd, m = ab > cd ? ab : cd;
      best[j] = m > best[j] ? m : best[j];
    }
  }
  for (; r < count; ++r) {
    const E* __restrict row = rows[r];
    const float s = score[r];
    for (size_t j = 0; j < n; ++j) {
      const float v = s + static_cast<float>(row[j]);
      best[j] = v > best[j] ? v : best[j];
    }
  }
}

size_t open_blocks(const float* __restrict blocks, const float* __restrict sum, const float* __restrict out, size_t L,
                   float least, int32_t* __restrict labels, float* __restrict keys) {
  using V = Lanes<float>;
  size_t count = 0;
  for (size_t g = 0; g < L; g += kGroup) {
    if (!any(V::load(blocks + g / kTreeLanes) >= least)) continue;
    for (size_t j = g; j < g + kGroup; j += kTreeLanes) {
      const V::Vector key = V::load(sum + j) + V::load(out + j);
      if (!any(key >= least)) continue;
      for (size_t r = 0; r < kTreeLanes; ++r) {
        labels[count] = static_cast<int32_t>(j + r);
        keys[count] = key[r];
        count += key[r] >= least;
      }
    }
  }
  return count;
}

// The two largest of each lane are sixteen values; the least of them is reached by all.
float reached_by_16(const float* __restrict values, size_t n) {
  using V = Lanes<float>;
  constexpr float kForbidden = -std::numeric_limits<float>::infinity();
  V::Vector first = V::all(kForbidden), second = first;
  for (size_t j = 0; j < n; j += V::kCount) {
    const V::Vector v = V::load(values + j);
    const V::Vector less = select(v < first, v, first);
    first = select(v > first, v, first);
    second = select(less > second, less, second);
  }
  float least = second[0];
  for (size_t r = 1; r < V::kCount; ++r) least = second[r] < least ? second[r] : least;
  return least;
}

void raise_all(const double* __restrict by, size_t n, double* __restrict best) {
  for (size_t j = 0; j < n; ++j) best[j] = by[j] > best[j] ? by[j] : best[j];
}

template <class E>
void extend(double score, const E* __restrict row, const E* __restrict nodes, size_t n, double* __restrict out) {
  for (size_t j = 0; j < n; ++j) out[j] = (score + static_cast<double>(row[j])) + static_cast<double>(nodes[j]);
}

template <class E>
Scan scan(const E* __restrict scores, size_t n) {
  using V = Lanes<E>;
  constexpr E kLargest = std::numeric_limits<E>::max();
  constexpr E kForbidden = -std::numeric_limits<E>::infinity();
  typename V::Vector most = V::all(kForbidden), least = V::all(0);
  auto bad = most > most;
  size_t j = 0;
  for (; j + V::kCount <= n; j += V::kCount) {
    const typename V::Vector v = V::load(scores + j);
    bad |= ~(v <= kLargest);
    most = select(v > most, v, most);
    const typename V::Vector finite = select(v >= -kLargest, v, V::all(0));
    least = select(finite < least, finite, least);
  }
  E top = kForbidden, bottom = 0;
  bool valid = !any(bad);
  for (size_t r = 0; r < V::kCount; ++r) {
    top = std::max<E>(top, most[r]);
    bottom = std::min<E>(bottom, least[r]);
  }
  for (; j < n; ++j) {
    const E v = scores[j];
    valid = valid && v <= kLargest;
    top = v > top ? v : top;
    if (v >= -kLargest && v < bottom) bottom = v;
  }
  const double magnitude = std::max(top > 0 ? static_cast<double>(top) : 0.0, -static_cast<double>(bottom));
  return {static_cast<double>(top), magnitude, valid};
}

template <class E>
double largest(const E* __restrict scores, size_t n) {
  using V = Lanes<E>;
  constexpr E kForbidden = -std::numeric_limits<E>::infinity();
  typename V::Vector most = V::all(kForbidden);
  size_t j = 0;
  for (; j + V::kCount <= n; j += V::kCount) {
    const typename V::Vector v = V::load(scores + j);
    most = select(v > most, v, most);
  }
  E top = kForbidden;
  for (size_t r = 0; r < V::kCount; ++r) top = std::max<E>(top, most[r]);
  for (; j < n; ++j) top = scores[j] > top ? scores[j] : top;
  return static_cast<double>(top);
}

// Each lane keeps the first place of its own maximum; the first of the best lanes wins.
template <class E, class Lane, class One>
size_t first_best(size_t n, Lane&& lane, One&& one) {
  using V = Lanes<E>;
  using P = Lanes<MaskOf<E>>;
  using Place = MaskOf<E>;
  E best = -std::numeric_limits<E>::infinity();
  size_t at = 0, j = 0;
  if (n >= 2 * V::kCount) {
    typename V::Vector most = lane(0);
    Place first[V::kCount];
    for (size_t r = 0; r < V::kCount; ++r) first[r] = static_cast<Place>(r);
    typename P::Vector place = P::load(first), here = place;
    for (j = V::kCount; j + V::kCount <= n; j += V::kCount) {
      here += static_cast<Place>(V::kCount);
      const typename V::Vector v = lane(j);
      const auto more = v > most;
      most = select(more, v, most);
      place = select(more, here, place);
    }
    best = most[0];
    at = static_cast<size_t>(place[0]);
    for (size_t r = 1; r < V::kCount; ++r) {
      const size_t where = static_cast<size_t>(place[r]);
      const bool more = most[r] > best || (most[r] == best && where < at);
      best = more ? most[r] : best;
      at = more ? where : at;
    }
  }
  for (; j < n; ++j) {
    const E v = one(j);
    at = v > best ? j : at;
    best = v > best ? v : best;
  }
  return at;
}

size_t argmax(const double* __restrict values, size_t n) {
  return first_best<double>(
      n, [&](size_t j) { return Lanes<double>::load(values + j); }, [&](size_t j) { return values[j]; });
}

template <class E>
size_t argmax_sum(const E* __restrict row, const E* __restrict nodes, size_t n) {
  return first_best<E>(
      n, [&](size_t j) { return Lanes<E>::load(row + j) + Lanes<E>::load(nodes + j); },
      [&](size_t j) { return row[j] + nodes[j]; });
}

template <class E>
size_t at_least(const E* __restrict scores, size_t n, double bound, int32_t* __restrict out) {
  using V = Lanes<E>;
  E least = static_cast<E>(bound);
  if constexpr (sizeof(E) == sizeof(float))  // A float no less than the bound.
    if (static_cast<double>(least) < bound) least = __builtin_nextafterf(least, std::numeric_limits<E>::infinity());
  constexpr size_t kRun = 4 * V::kCount;
  size_t count = 0, j = 0;
  for (; j + kRun <= n; j += kRun) {
    // Most runs hold none.
    auto some = V::load(scores + j) >= least;
    for (size_t r = V::kCount; r < kRun; r += V::kCount) some |= V::load(scores + j + r) >= least;
    if (!any(some)) continue;
    for (size_t r = 0; r < kRun; ++r) {
      out[count] = static_cast<int32_t>(j + r);
      count += scores[j + r] >= least;
    }
  }
  for (; j < n; ++j) {
    out[count] = static_cast<int32_t>(j);
    count += scores[j] >= least;
  }
  return count;
}

void add_blocks(const uint16_t* __restrict first, const float* __restrict rows, size_t n, float value,
                float* __restrict out) {
  using V = Lanes<float>;
  static_assert(V::kCount == kBlockKeys);
  for (size_t b = 0; b < n; ++b)
    V::store(out + first[b], V::load(out + first[b]) + V::load(rows + b * kBlockKeys) * value);
}

template <class R, class A>
void add_scaled(const R* __restrict row, A value, size_t n, A* __restrict out) {
  for (size_t j = 0; j < n; ++j) out[j] += row[j] * value;
}

inline void multiply_panels(const float* panels, const float* vector, size_t d, size_t n, float* out) {
  using V = Lanes<float>;
  static_assert(kProductKeys == 4 * V::kCount);
  for (size_t p = 0; p < n; ++p, out += kProductKeys) {
    V::Vector a{}, b{}, c{}, e{};
    for (size_t k = 0; k < d; ++k, panels += kProductKeys) {
      const V::Vector value = V::all(vector[k]);
      a += V::load(panels) * value;
      b += V::load(panels + V::kCount) * value;
      c += V::load(panels + 2 * V::kCount) * value;
      e += V::load(panels + 3 * V::kCount) * value;
    }
    V::store(out, a);
    V::store(out + V::kCount, b);
    V::store(out + 2 * V::kCount, c);
    V::store(out + 3 * V::kCount, e);
  }
}

}  // namespace
}  // namespace tagwright
