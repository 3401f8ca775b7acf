// Sums over lattices: log Z, the probabilities of nodes and of edges; exact, or over the labels that a rule keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/arena.h"
#include "lattice/factors.h"
#include "lattice/lattice.h"
#include "sums/pruning.h"

namespace tagwright {

// The sums of one sentence. What its spans and pointers lead to lies in the arena or belongs to the thread: it holds
// until the next sums.
struct Sums {
  struct Column {
    std::span<const int32_t> labels;  // that were kept
    const double* node;               // [q]: the probability of labels[q]
    const double* from;               // [q], [q]: see edge()
    const double* to;
    double shift;  // of the edges behind it
  };
  double log_z = kForbidden;  // kForbidden: no path
  std::vector<Column> columns;
  bool logs = false;  // whether `from` and `to` are logarithms
  bool wide = false;  // whether more labels were to be kept than allowed; then there is nothing else

  // The probability of the edge from labels[p] of column t to labels[q] of column t + 1: from * exp(e - shift) * to.
  // Not where there are logarithms.
  double edge(const Lattice& lattice, size_t t, size_t p, size_t q) const;
  // Those of all edges of a step, [p * kept labels of column t + 1 + q]; they sum to 1.
  void step(const Lattice& lattice, size_t t, std::vector<double>& out) const;
};

// Throws std::invalid_argument where the edges have ngrams: sums/ngram_sums.h has those.
// factors: of the lattice's edges; nullptr where there is one matrix per step. also: [t], labels that are kept whatever
// the rule says, or nullptr. most: labels that the columns may keep together on the way forward.
Sums forward_backward(const Lattice& lattice, const Factors* factors, const PruningRule& keep, const int32_t* also,
                      Arena& arena, size_t most = SIZE_MAX);
// The same, whatever ngrams would add.
Sums sums_without_ngrams(const Lattice& lattice, const Factors* factors, const PruningRule& keep, const int32_t* also,
                         Arena& arena, size_t most = SIZE_MAX);

// The best path through each node, in the form of sums: node[q] is its score less that of the best path, and
// from[p] + edge score + to[q] is the same for an edge. log_z: the score of the best path.
Sums max_marginals(const Lattice& lattice, Arena& arena);

// Exact sums of up to kLanes sentences in SIMD lanes: edges are read once for all of them, and everything is done on
// whole cache lines. The edges are shared, without corrections, all finite and close.
struct LaneSums {
  std::span<const size_t> lengths;  // of the sentences, the longest first; none is 0
  // Writes the node scores of one token, [y].
  std::function<void(size_t lane, size_t t, double* scores)> score;
  // Is given the probabilities of one token's labels, [y], rounded to multiples of `grain`; tokens come from the last
  // to the first.
  std::function<void(size_t lane, size_t t, const double* probability)> take;
  double grain = 0;
  double* edge_counts = nullptr;  // added to: [exception], or [i * stride + j] for a matrix
};
// log_z: [lane], filled. Returns false, and adds nothing, where a sentence has scores that lanes cannot hold.
bool forward_backward_lanes(const Factors& factors, const LaneSums& sums, Arena& arena, double* log_z);

// x, rounded to a multiple of grain (a power of 2; |x| < 2^51 grain). Sums of such numbers are exact as long as they
// stay below 2^53 grains, so they do not depend on the order in which they are taken.
inline double to_grain(double x, double grain) {
  const double anchor = grain * 0x1.8p52;
  return (x + anchor) - anchor;
}

}  // namespace tagwright
