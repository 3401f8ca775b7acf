// Exact sums of several sentences of a training corpus in SIMD lanes, by the passes of batch_lanes.h.
#include <algorithm>

#include "kernels/kernels.h"
#include "sums/batch_lanes.h"
#include "sums/forward_backward.h"

namespace tagwright {
namespace {

// Adds what a group of sentences expects of the edges, rounded to multiples of the grain.
void add_counts(const LaneUnit<double>& unit, const Factors& factors, const LaneSums& sums, Arena& arena) {
  const Factors::Side& rows = factors.side[0];
  const PairEntries entries{rows.begin, rows.index};
  const size_t n = rows.index.size();
  double* const raw = arena.array<double>(n);
  std::fill_n(raw, n, 0.0);
  unit.count(0, factors.L, &entries, raw);
  for (size_t q = 0; q < n; ++q) sums.edge_counts[q] += to_grain(raw[q] * rows.factor[q], sums.grain);
}

}  // namespace

bool forward_backward_lanes(const Factors& factors, const LaneSums& sums, Arena& arena, double* log_z) {
  const size_t L = factors.L, T = sums.lengths[0], lanes = sums.lengths.size();
  const BatchFactors<double> own(factors);
  const BatchEdges edges{.L = L};
  double* const nodes = arena.array<double>(times(times(lanes, T), L));
  double* const found = arena.array<double>(times(times(lanes, T), L));
  std::vector<int64_t> lengths(sums.lengths.begin(), sums.lengths.end());
  std::vector<size_t> who(lanes);
  for (size_t lane = 0; lane < lanes; ++lane) {
    who[lane] = lane;
    for (size_t t = 0; t < sums.lengths[lane]; ++t) sums.score(lane, t, nodes + (lane * T + t) * L);
  }
  Batch batch;
  batch.B = lanes;
  batch.T = T;
  batch.nodes = {nullptr, nodes};
  batch.lengths = lengths;
  batch.log_z = {log_z, lanes};
  batch.nodes_d = found;
  LaneUnit<double> unit(own, edges, batch, who);
  unit.run(arena.array<double>(unit.room()), true);
  if (!unit.in_trouble().empty()) return false;
  for (size_t t = T; t-- > 0;) {
    for (size_t lane = 0; lane < lanes; ++lane) {
      if (t >= sums.lengths[lane]) continue;
      double* const p = found + (lane * T + t) * L;
      for (size_t y = 0; y < L; ++y) p[y] = to_grain(p[y], sums.grain);
      sums.take(lane, t, p);
    }
  }
  if (sums.edge_counts) add_counts(unit, factors, sums, arena);
  return true;
}

}  // namespace tagwright
