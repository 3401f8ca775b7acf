// Viterbi passes that several decoders use.
#pragma once

#include "decode/table.h"

namespace tagwright {

Decode viterbi_astar;  // for k > 1

// [t][y]: score of the best path that ends in label y of column t, summed from left to right.
struct ForwardScores {
  const double* alphas;
  size_t stride;

  const double* operator[](size_t t) const { return alphas + t * stride; }
};
// first: [y], the scores of column 0 where it is not the first of its sentence; nullptr where it is.
ForwardScores forward_scores(const Lattice& lattice, Arena& arena, Work& work, const double* first = nullptr);
// Fills labels[0 .. T - 2] with those of the best path that ends in labels[T - 1]: each is the first of the best.
void trace_back(const Lattice& lattice, const ForwardScores& alpha, int32_t* labels, Arena& arena, Work& work);

}  // namespace tagwright
