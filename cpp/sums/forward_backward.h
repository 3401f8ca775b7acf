// Sums over lattices: log Z, the probabilities of nodes and of edges; exact, or over the labels that a pruning rule
// keeps.
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

class NgramSums;

// The sums of one sentence. Its spans and pointers point into the arena or to storage of the thread: they are valid
// until the next sums. The lattice, or what the columns came from, must outlive them.
struct Sums {
  struct Column {
    std::span<const int32_t> labels;  // that were not pruned
    const double* node;               // [q]: the probability of labels[q]
    const double* from;               // [q], [q]: see edge(); nullptr where there are n-grams
    const double* to;
    double shift;                     // of the edges behind it
    const double* factors = nullptr;  // of the edges into it, [p * labels + q], where the column was chosen with them
  };
  double log_z = kForbidden;  // kForbidden: no path
  std::vector<Column> columns;
  bool logs = false;                  // whether `from` and `to` are logarithms
  bool wide = false;                  // whether the rule kept more labels than `most`; then nothing else is filled
  const Lattice* lattice = nullptr;   // or none, where columns have factors
  const NgramSums* ngrams = nullptr;  // the sums between columns, where edges have label n-grams

  // The probability of the edge from labels[p] of column t to labels[q] of column t + 1: from * exp(e - shift) * to.
  // Not where there are logarithms or n-grams.
  double edge(size_t t, size_t p, size_t q) const;
  // Those of all edges of a step, [p * kept labels of column t + 1 + q]; they sum to 1.
  void step(size_t t, std::vector<double>& out) const;
};

// Which labels the sums go over.
struct SumPruning {
  PruningRule rule = {};
  const int32_t* also = nullptr;  // [t], labels that are never pruned, or nullptr
  size_t most = SIZE_MAX;         // the number of labels that all columns may keep in the forward pass
};
// Throws std::invalid_argument where the edges have rules about whole labellings: the sums would have to keep track of
// all of them at once.
void need_no_labelling_rules(const EdgeScores& edges);
// ngrams: filled where the edges have label n-grams. A rule then chooses labels by their beliefs without n-grams (Pal
// et al. 2006; Mueller, Schmid and Schuetze 2013 prune a CRF of higher order in this way), and the sums go over the
// sequences of those.
Sums forward_backward(const Lattice& lattice, const SumPruning& pruning, Arena& arena, NgramSums& ngrams);
// The same for edges without n-grams; throws std::invalid_argument where they have some.
Sums forward_backward(const Lattice& lattice, const SumPruning& pruning, Arena& arena);
// The same, ignoring n-grams.
Sums sums_without_ngrams(const Lattice& lattice, const SumPruning& pruning, Arena& arena);

// A column as the forward pass leaves it.
struct ReachedColumn {
  const double* psi;    // [q]: exp(node score - shift)
  const double* alpha;  // [q]: scaled to a sum of 1
  double total, shift;  // total: the sum before
};
// Columns that are chosen on the way forward, each by what has reached the one before it.
class ColumnSource {
 public:
  struct Column {
    std::span<const int32_t> labels = {};  // in any order
    const double* scores = nullptr;        // [q], of its nodes
    const double* factors = nullptr;       // [p * labels + q]: exp(edge score) of the step into it, from the second on
  };
  virtual ~ColumnSource() = default;
  // What it returns must outlive the sums. No labels: there are no sums.
  virtual Column column(size_t t) = 0;
  // Called before the next column. Returns false to give up.
  virtual bool reached(size_t, const ReachedColumn&) { return true; }
};
// Exact sums over these columns; log Z is kForbidden where nothing is left, where numbers underflow, or where the
// source gave up. L: the most labels of a column.
Sums forward_backward(ColumnSource& source, size_t T, size_t L, Arena& arena);

// The best path through each node, in the form of sums: node[q] is its score less that of the best path, and
// from[p] + edge score + to[q] is the same for an edge. log_z: the score of the best path.
Sums max_marginals(const Lattice& lattice, Arena& arena, NgramSums& ngrams);

// Exact sums of up to kLanes sentences in SIMD lanes: edges are read once for all of them, and everything is done on
// whole cache lines. The edges are shared and sparse, without corrections, all finite and close.
struct LaneSums {
  std::span<const size_t> lengths;  // of the sentences, the longest first; none is 0
  // Writes the node scores of one token, [y].
  std::function<void(size_t lane, size_t t, double* scores)> score;
  // Receives the probabilities of one token's labels, [y], rounded to multiples of `grain`, from the last token to the
  // first.
  std::function<void(size_t lane, size_t t, const double* probability)> take;
  double grain = 0;
  double* edge_counts = nullptr;  // added to: [exception]
};
// log_z: [lane], filled. Returns false, and adds nothing, where a sentence has scores that lanes cannot hold.
bool forward_backward_lanes(const Factors& factors, const LaneSums& sums, Arena& arena, double* log_z);

}  // namespace tagwright
