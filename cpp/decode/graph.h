// Searches of a lattice, coarse or not, as a graph: A* and Viterbi A*.
#pragma once

#include <functional>
#include <vector>

#include "decode/table.h"

namespace tagwright {

// Columns 0 .. T-1 in the order in which they are searched. The heuristic is kept apart from the scores: it may be far
// larger, and a sum of both would lose the scores' last digits.
struct Graph {
  size_t T;
  std::function<size_t(size_t t)> size;
  // out[q]: score of starting in node q of the first column.
  std::function<void(double* out)> first;
  // out[q]: score of the step from node p of column t to node q of column t + 1.
  std::function<void(size_t t, size_t p, double* out)> next;
  // [q]: score of the best path behind node q of column t, or an upper bound of it.
  std::function<const double*(size_t t)> heuristic;
};

// A path as positions in its columns, with its score.
struct GraphPath {
  std::vector<int32_t> at;  // [t]
  double score;
};

// Returns up to k best paths, best first, where the heuristic is an upper bound (astar.cpp).
std::vector<GraphPath> search_astar(const Graph& graph, size_t k, Work& work);

// Returns up to k best paths, best first, where the heuristic is exact (viterbi_astar.cpp).
std::vector<GraphPath> enumerate_paths(const Graph& graph, size_t k, Work& work);

// The result of a forward pass over states: labels, or contexts of label n-grams.
struct ForwardPass {
  size_t states;
  std::function<int32_t(size_t c)> label_of;  // none: states are labels
  const double* alpha;  // [t * stride + c]: score of the best path that ends in state c of column t
  size_t stride;
  // out[p]: score of the step from state p of column t - 1 to state c of column t, without c's node.
  std::function<void(size_t t, size_t c, double* out)> into;

  int32_t label(size_t c) const { return label_of ? label_of(c) : static_cast<int32_t>(c); }
};

// Returns the labels of up to k best paths, best first, by A* against the pass, whose scores are the exact heuristic.
std::vector<Path> enumerate_backward(const Lattice& lattice, const ForwardPass& pass, size_t k, Work& work);

// Returns [t * L + y], an upper bound of what follows each label: backward scores of the coarse lattice with 2^level
// labels and one block per column (refine.cpp).
double* coarse_heuristic(const Lattice& lattice, size_t level, Arena& arena, Work& work);

}  // namespace tagwright
