// Posterior decoding: the path with the most expected right tokens, sum_t p(y_t), under p(path) = exp(score - log Z).
//
// Where nothing forbids it, that is the most probable label of each token. That labelling may hold an edge that -inf
// forbids; then a pass finds the best one among the paths that there are (Goodman 1996 maximises expected right
// constituents in the same way).
#include <algorithm>
#include <numeric>

#include "base/stop.h"
#include "decode/table.h"
#include "kernels/kernels.h"
#include "sums/forward_backward.h"

namespace tagwright {
namespace {

bool may_follow(const Lattice& lattice, size_t t, int32_t i, int32_t j) {
  return lattice.edge(t, static_cast<size_t>(i), static_cast<size_t>(j)) != kForbidden;
}

// The most probable label of each token.
std::vector<int32_t> most_probable(const Sums& sums) {
  std::vector<int32_t> labels;
  for (const Sums::Column& column : sums.columns)
    labels.push_back(column.labels[kernels().argmax_d(column.node, column.labels.size())]);
  return labels;
}

// The best path there is: labels are tried from the best of the column before on, until one may be followed.
std::vector<int32_t> best_allowed(const Lattice& lattice, const Sums& sums, Arena& arena, Work& work) {
  const size_t T = lattice.T;
  std::vector<int32_t*> came_from(T);  // [t][q]: a place in column t - 1
  std::vector<double> value, before;
  std::vector<int32_t> order;
  Meter meter;
  for (size_t t = 0; t < T; ++t) {
    const Sums::Column& column = sums.columns[t];
    const size_t n = column.labels.size();
    came_from[t] = arena.array<int32_t>(n);
    value.assign(n, kForbidden);
    order.resize(before.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return before[a] > before[b]; });
    for (size_t q = 0; q < n; ++q) {
      if (lattice.end_node(t, static_cast<size_t>(column.labels[q])) == kForbidden) continue;
      if (t == 0) value[q] = column.node[q];
      for (const int32_t p : order) {
        if (before[p] == kForbidden) break;
        ++work.edges;
        meter.count(16);
        if (!may_follow(lattice, t - 1, sums.columns[t - 1].labels[p], column.labels[q])) continue;
        value[q] = before[p] + column.node[q];
        came_from[t][q] = p;
        break;
      }
    }
    before = value;
  }
  std::vector<int32_t> labels(T);
  size_t q = kernels().argmax_d(value.data(), value.size());
  for (size_t t = T; t-- > 0;) {
    labels[t] = sums.columns[t].labels[q];
    if (t) q = static_cast<size_t>(came_from[t][q]);
  }
  return labels;
}

}  // namespace

Answer posterior(const Lattice& lattice, const Options&, Arena& arena) {
  Answer answer;
  const Sums sums = forward_backward(lattice, {}, arena);
  if (sums.log_z == kForbidden) return answer;
  for (const Sums::Column& column : sums.columns) answer.work.nodes += column.labels.size();
  answer.work.rounds = 1;
  std::vector<int32_t> labels = most_probable(sums);
  for (size_t t = 0; t + 1 < lattice.T; ++t) {
    answer.work.edges += 2 * sums.columns[t].labels.size() * sums.columns[t + 1].labels.size();
    if (answer.work.rounds == 1 && !may_follow(lattice, t, labels[t], labels[t + 1])) answer.work.rounds = 2;
  }
  if (answer.work.rounds == 2) labels = best_allowed(lattice, sums, arena, answer.work);
  answer.paths.push_back({std::move(labels)});
  return answer;
}

}  // namespace tagwright
