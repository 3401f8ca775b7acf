// Forward-backward for several sentences side by side; see forward_backward.cpp for one.
//
// Everything is [label][lane]: one cache line per label, so that whatever an edge leads to is one whole vector.
#include <algorithm>
#include <cmath>

#include "base/stop.h"
#include "kernels/kernels.h"
#include "sums/forward_backward.h"

namespace tagwright {

void forward_backward_lanes(const Factors& factors, const LaneSums& sums, Arena& arena, double* log_z) {
  const Kernels& k = kernels();
  const size_t L = factors.L, T = sums.lengths[0], lanes = sums.lengths.size(), size = times(L, kLanes);
  double* const psi = arena.array<double>(times(T, size));    // [t][y][lane]
  double* const alpha = arena.array<double>(times(T, size));  // [t][y][lane]
  double* const scale = arena.array<double>(times(T, kLanes));
  double* const beta = arena.array<double>(size);
  double* const ahead = arena.array<double>(size);
  double* const one = arena.array<double>(L);
  double total[kLanes];
  Meter meter;

  const auto send = [&](size_t side, const double* from, const double* sum, double* to) {
    const Factors::Side& rows = factors.side[side];
    for (size_t y = 0; y < L; ++y)
      for (size_t lane = 0; lane < kLanes; ++lane) to[y * kLanes + lane] = factors.rest * sum[lane];
    if (factors.dense) return k.spread_dense_lanes(L, factors.stride, rows.matrix.data(), from, to);
    k.spread_sparse_lanes(L, rows.begin.data(), rows.index.data(), rows.more.data(), from, to);
    if (factors.mild) return;
    const Factors::Side& columns = factors.side[1 - side];
    for (size_t y = 0; y < L; ++y) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        if (!(to[y * kLanes + lane] < kFewDigits * factors.rest * sum[lane])) continue;
        std::fill(one, one + L, factors.rest);
        for (size_t q = columns.begin[y]; q < columns.begin[y + 1]; ++q) one[columns.index[q]] = columns.factor[q];
        double again = 0;
        for (size_t i = 0; i < L; ++i) again += one[i] * from[i * kLanes + lane];
        to[y * kLanes + lane] = again;
      }
    }
  };

  std::fill(log_z, log_z + lanes, 0.0);
  for (size_t t = 0; t < T; ++t) {
    double *column = alpha + t * size, *factor = psi + t * size;
    double lowered[kLanes] = {};
    meter.count(lanes * L * L);
    std::fill(factor, factor + size, 0.0);
    for (size_t lane = 0; lane < lanes && t < sums.lengths[lane]; ++lane) {
      sums.score(lane, t, one);
      lowered[lane] = k.max_d(one, L);
      k.exp_d(one, lowered[lane], L, one);
      for (size_t y = 0; y < L; ++y) factor[y * kLanes + lane] = one[y];
    }
    if (t == 0) {
      std::fill(column, column + size, 1.0);
    } else {
      std::fill(total, total + kLanes, 1.0);  // alpha is scaled to it
      send(0, column - size, total, column);
    }
    k.multiply_lanes(factor, L, column, total);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const bool there = lane < lanes && t < sums.lengths[lane];
      scale[t * kLanes + lane] = there ? 1 / total[lane] : 0;
      if (there) log_z[lane] += std::log(total[lane]) + lowered[lane] + (t ? factors.shift : 0);
    }
    k.scale_lanes(scale + t * kLanes, L, column);
  }

  for (size_t t = T; t-- > 0;) {
    meter.count(lanes * L * L);
    if (t + 1 < T) {
      // beta, scaled as alpha was, so that the sum of their products is 1 in every column.
      std::copy(beta, beta + size, ahead);
      k.multiply_lanes(psi + (t + 1) * size, L, ahead, total);
      k.scale_lanes(scale + (t + 1) * kLanes, L, ahead);
      for (size_t lane = 0; lane < kLanes; ++lane) total[lane] *= scale[(t + 1) * kLanes + lane];
      send(1, ahead, total, beta);
      if (sums.edge_counts) {
        const Factors::Side& rows = factors.side[0];
        if (factors.dense) {
          k.count_dense_lanes(L, factors.stride, rows.matrix.data(), alpha + t * size, ahead, sums.grain,
                              sums.edge_counts);
        } else {
          k.count_sparse_lanes(L, rows.begin.data(), rows.index.data(), rows.factor.data(), alpha + t * size, ahead,
                               sums.grain, sums.edge_counts);
        }
      }
    } else {
      std::fill(beta, beta + size, 0.0);
    }
    for (size_t lane = 0; lane < lanes; ++lane) {
      if (t >= sums.lengths[lane]) continue;
      const double* column = alpha + t * size;
      if (t + 1 == sums.lengths[lane])
        for (size_t y = 0; y < L; ++y) beta[y * kLanes + lane] = 1;
      for (size_t y = 0; y < L; ++y) one[y] = to_grain(column[y * kLanes + lane] * beta[y * kLanes + lane], sums.grain);
      sums.take(lane, t, one);
    }
  }
}

}  // namespace tagwright
