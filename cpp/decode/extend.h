// How beams extend a partial path by all labels of the next column.
#pragma once

#include "kernels/kernels.h"
#include "lattice/lattice.h"

namespace tagwright {

// scores[j]: a partial path of this score that ends in label i of column t - 1, extended by label j of column t. row:
// room for L scores.
inline void extend(const Lattice& lattice, size_t t, double score, size_t i, double* row, double* scores) {
  const size_t L = lattice.L;
  const Scores nodes = lattice.nodes.from(t * L);
  if (lattice.edges.has_matrix() && !lattice.patched()) {
    const Scores edges = lattice.edges.matrix(t - 1).from(i * lattice.edges.stride());
    if (edges.f && nodes.f) return kernels().extend_ff(score, edges.f, nodes.f, L, scores);
    if (edges.d && nodes.d) return kernels().extend_dd(score, edges.d, nodes.d, L, scores);
  }
  lattice.row(t - 1, i, row);
  for (size_t j = 0; j < L; ++j) scores[j] = (score + row[j]) + nodes[j];
}

// The same for the first column, where nothing is extended.
inline void begin(const Lattice& lattice, double* scores) {
  for (size_t j = 0; j < lattice.L; ++j) scores[j] = lattice.edges.start(j) + lattice.node(0, j);
}

}  // namespace tagwright
