#include "decode/ngrams/pair_viterbi.h"

#include <algorithm>

#include "base/stop.h"
#include "kernels/kernels.h"

namespace tagwright {

bool can_pairs(const Edges& edges) {
  constexpr size_t kMostLabels = 320;  // 250 MB of scores
  return edges.ngrams()->order() == 2 && edges.L() <= kMostLabels;
}

bool worth_pairs(const Edges& edges) {
  // Found by trying: an arc takes as long as so many edges of the plain loop, which vectors go through.
  constexpr size_t kArc = 30, kContext = 36;
  if (!can_pairs(edges)) return false;
  const Contexts& states = edges.contexts();
  const size_t L = edges.L();
  return kArc * states.arcs().size() + kContext * states.size() > L * L * L;
}

Answer pair_viterbi(const Lattice& lattice, Arena& arena) {
  const size_t T = lattice.T, L = lattice.L;
  const PairTable& table = lattice.edges.pair_table();
  Answer answer;
  answer.work.rounds = 1;
  const size_t stride = table.stride;
  // alpha[t][j * stride + i]: score of the best path that ends in label j behind label i; of the first column, [j].
  double** const alpha = arena.array<double*>(T);
  double* const best = arena.array<double>(stride);
  double* const row = arena.array<double>(L);
  Meter meter;
  for (size_t t = 0; t < T; ++t) {
    alpha[t] = arena.array<double>(t ? times(L, stride) : L);
    double* const here = alpha[t];
    if (t == 0) {
      for (size_t y = 0; y < L; ++y) here[y] = lattice.edges.start(y) + lattice.node(0, y);
      continue;
    }
    meter.count(t > 1 ? L * L * L : L * L);
    answer.work.nodes += L * L;
    answer.work.edges += t > 1 ? L * L * L : L * L;
    for (size_t j = 0; j < L; ++j) {
      const double* reached = best;
      if (t == 1) {
        std::fill(best, best + L, alpha[0][j]);
      } else {
        StepOf<double> one{alpha[t - 1] + j * stride, best};
        table.single ? kernels().dense_step_df(table.f.data() + j * L * stride, L, stride, &one, 1)
                     : kernels().dense_step_dd(table.d.data() + j * L * stride, L, stride, &one, 1);
      }
      lattice.row(t - 1, j, row);
      for (size_t k = 0; k < L; ++k) here[k * stride + j] = (reached[k] + row[k]) + lattice.node(t, k);
    }
  }

  std::vector<int32_t> labels(T);
  double* const reached = arena.array<double>(L);
  // Finds the best pair (or label) that the path ends with.
  double score = kForbidden;
  for (size_t j = 0; j < L; ++j) {
    const double* own = alpha[T - 1] + (T > 1 ? j * stride : j);
    const size_t i = T > 1 ? kernels().argmax_d(own, L) : 0;
    if (!(own[i] + lattice.edges.stop(j) > score)) continue;
    score = own[i] + lattice.edges.stop(j);
    labels[T - 1] = static_cast<int32_t>(j);
    if (T > 1) labels[T - 2] = static_cast<int32_t>(i);
  }
  if (score == kForbidden) return answer;
  for (size_t t = T - 1; t-- > 1;) {
    // The label before labels[t]: it goes on by both.
    const auto j = static_cast<size_t>(labels[t]), k = static_cast<size_t>(labels[t + 1]);
    for (size_t i = 0; i < L; ++i) reached[i] = alpha[t][j * stride + i] + table.at(i, j, k);
    labels[t - 1] = static_cast<int32_t>(kernels().argmax_d(reached, L));
    answer.work.edges += L;
  }
  answer.paths.push_back(scored(lattice, std::move(labels)));
  return answer;
}

}  // namespace tagwright
