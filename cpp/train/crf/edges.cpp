// What the edges of a sentence that was summed alone add to the expected counts.
#include <algorithm>

#include "kernels/kernels.h"
#include "train/crf/crf.h"

namespace tagwright {
namespace {

// Where a label is among some, or kNoPlace.
size_t place(std::span<const int32_t> labels, int32_t y) {
  const auto found = std::lower_bound(labels.begin(), labels.end(), y);
  return found == labels.end() || *found != y ? kNoPlace : static_cast<size_t>(found - labels.begin());
}

}  // namespace

void Crf::take_edges(const Ready& ready, const Lattice& lattice, const Sums& sums, size_t t,
                     Workspace& workspace) const {
  const Sums::Column &left = sums.columns[t], &right = sums.columns[t + 1];
  const Factors& factors = ready.factors;
  double* count = workspace.counts.data() + keys_.nodes();
  if (sums.logs) {
    for (size_t p = 0; p < left.labels.size(); ++p) {
      for (size_t q = 0; q < right.labels.size(); ++q) {
        const size_t entry = edge_of(left.labels[p], right.labels[q]);
        if (entry != kNoPlace) count[entry] += to_grain(workspace.step[p * right.labels.size() + q], scale_.grain);
      }
    }
    return;
  }
  // Where corrections change an edge, what is counted below for its shared factor does not hold.
  workspace.patched.clear();
  for (const Override& e : lattice.patch(t).by_row) {
    const size_t p = place(left.labels, e.i), q = place(right.labels, e.j), entry = edge_of(e.i, e.j);
    if (p == kNoPlace || q == kNoPlace || entry == kNoPlace) continue;
    double* const at =
        factors.dense ? workspace.matrix.data() + static_cast<size_t>(e.i) * factors.stride + e.j : count + entry;
    workspace.patched.emplace_back(at, *at + to_grain(sums.edge(lattice, t, p, q), scale_.grain));
  }
  count_shared(ready, left, right, workspace);
  for (const auto& [at, value] : workspace.patched) *at = value;
}

void Crf::count_shared(const Ready& ready, const Sums::Column& left, const Sums::Column& right,
                       Workspace& workspace) const {
  const Factors& factors = ready.factors;
  double* count = workspace.counts.data() + keys_.nodes();
  if (factors.dense) {
    for (size_t p = 0; p < left.labels.size(); ++p) {
      const size_t row = static_cast<size_t>(left.labels[p]) * factors.stride;
      if (right.labels.size() == factors.L) {
        kernels().count_row(left.from[p], factors.side[0].matrix.data() + row, right.to, factors.L, scale_.grain,
                            workspace.matrix.data() + row);
        continue;
      }
      for (size_t q = 0; q < right.labels.size(); ++q) {
        const size_t at = row + static_cast<size_t>(right.labels[q]);
        workspace.matrix[at] += to_grain(left.from[p] * factors.side[0].matrix[at] * right.to[q], scale_.grain);
      }
    }
    return;
  }
  for (size_t q = 0; q < right.labels.size(); ++q) workspace.right[static_cast<size_t>(right.labels[q])] = right.to[q];
  const Factors::Side& rows = factors.side[0];
  for (size_t p = 0; p < left.labels.size(); ++p) {
    const size_t i = static_cast<size_t>(left.labels[p]);
    for (size_t e = rows.begin[i]; e < rows.begin[i + 1]; ++e)
      count[e] +=
          to_grain(left.from[p] * rows.factor[e] * workspace.right[static_cast<size_t>(rows.index[e])], scale_.grain);
  }
  for (const int32_t y : right.labels) workspace.right[static_cast<size_t>(y)] = 0;
}

void Crf::take_set_edges(const Lattice& lattice, const Sums& sums, size_t t, Workspace& workspace) const {
  const Sums::Column &left = sums.columns[t], &right = sums.columns[t + 1];
  double* count = workspace.counts.data() + keys_.nodes() + keys_.edges();
  for (const int32_t set : workspace.on[t]) {
    const size_t s = static_cast<size_t>(set);
    for (size_t e = set_begin(s); e < set_end_[s]; ++e) {
      const size_t p = place(left.labels, keys_.set_previous[e]), q = place(right.labels, keys_.set_current[e]);
      if (p == kNoPlace || q == kNoPlace) continue;
      const double probability = sums.logs ? workspace.step[p * right.labels.size() + q] : sums.edge(lattice, t, p, q);
      count[e] += to_grain(probability, scale_.grain);
    }
  }
}

}  // namespace tagwright
