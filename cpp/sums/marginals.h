// Probabilities of nodes and edges as arrays, of one sentence or many.
#pragma once

#include <functional>
#include <vector>

#include "sums/forward_backward.h"

namespace tagwright {

// What a thread's arena may hold between sentences.
inline constexpr size_t kHeldBytes = size_t{64} << 20;

struct Marginals {
  double log_z = 0;
  std::vector<double> nodes;  // [t * L + y]
  std::vector<double> edges;  // [(t * L + i) * L + j], where they are wanted
  std::vector<int32_t> kept;  // [t]: labels that were kept
};

Marginals marginals(const Lattice& lattice, const Keep& keep, bool with_edges, Arena& arena);

// The same for lattices that are made one by one, over several threads. Throws std::invalid_argument for the first
// sentence with a bad score or without a path.
std::vector<Marginals> marginals_all(size_t sentences, const std::function<Lattice(size_t)>& lattice, const Keep& keep,
                                     bool with_edges, size_t threads);

}  // namespace tagwright
