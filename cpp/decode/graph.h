// Searches of a lattice, coarse or not, that take it as a graph: A* and Viterbi A*.
#pragma once

#include <functional>
#include <vector>

#include "decode/table.h"

namespace tagwright {

// Columns 0 .. T-1 in the order in which they are searched. What is ahead is kept apart from the scores: it may be far
// larger, and a sum of both would lose the scores' last digits.
struct Graph {
  size_t T;
  std::function<size_t(size_t t)> size;
  // out[q]: score of starting in q of the first column.
  std::function<void(double* out)> first;
  // out[q]: score of the step from node p of column t to q of column t + 1.
  std::function<void(size_t t, size_t p, double* out)> next;
  // [q]: score of what follows node q of column t, or a bound of it; never less than the truth.
  std::function<const double*(size_t t)> ahead;
};

// A path as positions in its columns, with its score.
struct GraphPath {
  std::vector<int32_t> at;  // [t]
  double score;
};

// Up to k best paths, best first, where `ahead` is a bound (astar.cpp).
std::vector<GraphPath> search_astar(const Graph& graph, size_t k, Work& work);

// Up to k best paths, best first, where `ahead` is the truth (viterbi_astar.cpp).
std::vector<GraphPath> enumerate_paths(const Graph& graph, size_t k, Work& work);

}  // namespace tagwright
