// Sums over padded batches: log Z of every sentence, and the derivatives of their weighted sum with respect to node,
// edge, start and stop scores. What a neural network's CRF layer needs, and nothing that grows with T * L * L.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/arena.h"
#include "sums/batch_edges.h"
#include "sums/pruning.h"

namespace tagwright {

// Input and output. The function whose derivatives are taken is
//   sum_b weight_b * (log Z_b - score_b),   score_b = 0 where there are no tags.
struct Batch {
  size_t B = 0, T = 0;
  Scores nodes = {};                      // [b][t][y]
  std::span<const int64_t> lengths = {};  // [b]: tokens; what is behind them is padding
  const bool* allowed = nullptr;          // [b][t][y]: labels that a token may have, or all
  const int64_t* tags = nullptr;          // [b][t], or none
  double all_weigh = 1;                   // the weight of every sentence, or
  std::span<const double> weights = {};   // [b]
  PruningRule keep = {};

  std::span<double> log_z = {};   // [b], filled
  std::span<double> scores = {};  // [b], filled with those of the tags, where there are some
  float* nodes_f = nullptr;       // [b][t][y], filled with the derivatives; one of the two, or none
  double* nodes_d = nullptr;
  const PairShape* counted = nullptr;        // the pairs whose derivatives are requested; nullptr: all
  double *start = nullptr, *stop = nullptr;  // [y], filled; only beside those of the nodes

  bool wants_nodes() const { return nodes_f || nodes_d; }
  double weight(size_t b) const { return weights.empty() ? all_weigh : weights[b]; }
  bool alike() const {
    return std::all_of(weights.begin(), weights.end(), [&](double w) { return w == weights[0]; });
  }
  size_t length(size_t b) const { return static_cast<size_t>(lengths[b]); }
};

// In precision E, which edge_counts has, too: [given pair] or [i * L + j], filled; empty: not requested. The relative
// error of a probability is a few units of the last place of E per token. Sentences whose sums single precision cannot
// hold, for their range or since edges forbid, are summed in double precision or in the log domain. Throws
// std::invalid_argument for scores that are none, tags that are no labels, or no path.
template <class E>
void sum_batch(const BatchEdges& edges, const Batch& batch, std::span<E> edge_counts, size_t threads);

}  // namespace tagwright
