// The source of every kernel level: included once per instruction set, inside an anonymous namespace, so that no
// two levels share a function; nothing here may call a library function that is not inlined, for the same reason.
// Plain loops that the compiler vectorises for the flags of the including file.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels.h"

namespace tagwright {
namespace {

constexpr size_t kRows = 8;        // rows of the edge matrix taken at a time: one load of best[] serves eight
constexpr size_t kTileMany = 512;  // columns at a time for several sentences: eight rows of it stay in L1
constexpr size_t kTileOne = 4096;

template <class A, class E>
void dense_rows(const E* __restrict edges, size_t L, size_t rows, size_t n, const A* __restrict previous,
                A* __restrict best) {
  if (rows == kRows) {
    A score[kRows];
    for (size_t r = 0; r < kRows; ++r) score[r] = previous[r];
    for (size_t j = 0; j < n; ++j) {
      A m = best[j];
#pragma GCC unroll 8
      for (size_t r = 0; r < kRows; ++r) {
        const A v = score[r] + static_cast<A>(edges[r * L + j]);
        m = v > m ? v : m;
      }
      best[j] = m;
    }
    return;
  }
  for (size_t r = 0; r < rows; ++r) {
    const A score = previous[r];
    const E* __restrict row = edges + r * L;
    for (size_t j = 0; j < n; ++j) {
      const A v = score + static_cast<A>(row[j]);
      best[j] = v > best[j] ? v : best[j];
    }
  }
}

template <class A, class E>
void dense_step(const E* edges, size_t L, StepOf<A>* steps, size_t count) {
  const size_t tile = count > 1 ? kTileMany : kTileOne;
  for (size_t s = 0; s < count; ++s)
    for (size_t j = 0; j < L; ++j) steps[s].best[j] = -std::numeric_limits<A>::infinity();
  for (size_t j = 0; j < L; j += tile) {
    const size_t n = std::min(tile, L - j);
    for (size_t i = 0; i < L; i += kRows) {
      const size_t rows = std::min(kRows, L - i);
      for (size_t s = 0; s < count; ++s)
        dense_rows<A, E>(edges + i * L + j, L, rows, n, steps[s].previous + i, steps[s].best + j);
    }
  }
}

template <class E>
double raise(double score, const E* __restrict row, size_t stride, const int32_t* __restrict index, size_t n,
             double* __restrict best) {
  double least = std::numeric_limits<double>::infinity();
  if (stride == 1) {
    for (size_t q = 0; q < n; ++q) {
      const double v = score + static_cast<double>(row[index[q]]);
      const double m = v > best[q] ? v : best[q];
      best[q] = m;
      least = m < least ? m : least;
    }
  } else {
    for (size_t q = 0; q < n; ++q) {
      const double v = score + static_cast<double>(row[static_cast<size_t>(index[q]) * stride]);
      const double m = v > best[q] ? v : best[q];
      best[q] = m;
      least = m < least ? m : least;
    }
  }
  return least;
}

template <class E>
void extend(double score, const E* __restrict row, const E* __restrict nodes, size_t n, double* __restrict out) {
  for (size_t j = 0; j < n; ++j) out[j] = (score + static_cast<double>(row[j])) + static_cast<double>(nodes[j]);
}

// Independent lanes: a single running maximum would be a chain of dependent instructions.
template <class E>
Scan scan(const E* __restrict scores, size_t n) {
  constexpr size_t kLanes = 32;
  constexpr E kLargest = std::numeric_limits<E>::max();
  E most[kLanes], least[kLanes];
  int bad[kLanes];
  for (size_t r = 0; r < kLanes; ++r) {
    most[r] = -std::numeric_limits<E>::infinity();
    least[r] = 0;
    bad[r] = 0;
  }
  size_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    for (size_t r = 0; r < kLanes; ++r) {
      const E v = scores[j + r];
      bad[r] |= !(v <= kLargest);
      most[r] = v > most[r] ? v : most[r];
      const E finite = v >= -kLargest ? v : E(0);
      least[r] = finite < least[r] ? finite : least[r];
    }
  }
  E top = -std::numeric_limits<E>::infinity(), bottom = 0;
  bool valid = true;
  for (size_t r = 0; r < kLanes; ++r) {
    top = std::max(top, most[r]);
    bottom = std::min(bottom, least[r]);
    valid = valid && !bad[r];
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

size_t argmax(const double* __restrict values, size_t n) {
  constexpr size_t kLanes = 16;
  double lane[kLanes];
  for (size_t r = 0; r < kLanes; ++r) lane[r] = -std::numeric_limits<double>::infinity();
  size_t j = 0;
  for (; j + kLanes <= n; j += kLanes)
    for (size_t r = 0; r < kLanes; ++r) lane[r] = values[j + r] > lane[r] ? values[j + r] : lane[r];
  double m = lane[0];
  for (size_t r = 1; r < kLanes; ++r) m = std::max(m, lane[r]);
  for (; j < n; ++j) m = std::max(m, values[j]);
  j = 0;
  while (j + 1 < n && values[j] != m) ++j;
  return j;
}

template <class E>
size_t at_least(const E* __restrict scores, size_t n, double least, int32_t* __restrict out) {
  constexpr size_t kLanes = 32;
  size_t count = 0, j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    // Most runs hold none: the maximum of a run is vectorised, the writing of positions is not.
    E m = scores[j];
    for (size_t r = 1; r < kLanes; ++r) m = scores[j + r] > m ? scores[j + r] : m;
    if (!(static_cast<double>(m) >= least)) continue;
    for (size_t r = 0; r < kLanes; ++r) {
      out[count] = static_cast<int32_t>(j + r);
      count += static_cast<double>(scores[j + r]) >= least;
    }
  }
  for (; j < n; ++j) {
    if (static_cast<double>(scores[j]) >= least) out[count++] = static_cast<int32_t>(j);
  }
  return count;
}

constexpr Kernels table(const char* name) {
  return {name,          dense_step<float, float>, dense_step<double, float>, dense_step<double, double>,
          raise<float>,  raise<double>,            extend<float>,             extend<double>,
          scan<float>,   scan<double>,             argmax,                    at_least<float>,
          at_least<double>};
}

}  // namespace
}  // namespace tagwright
