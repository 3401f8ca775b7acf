// StepEdges: the edges of one step, from the labels of a column to those of the next. One interface for every kind.
//
// Decoders, sums and trainers request scores, rows, columns, max steps and bounds, never the kind of edges. Virtual
// calls are made per step or per row, not per edge. A new kind is one file: a class that implements score and row;
// whatever else it can do faster than by rows, it overrides.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/arena.h"
#include "lattice/chain.h"
#include "lattice/factors.h"
#include "lattice/pair_rules.h"
#include "lattice/scores.h"

namespace tagwright {

// Operations that a decoder counted. rounds: searches of a (coarse) lattice; nodes: labels or blocks, or partial paths
// that end in them, that were extended; edges: edge scores or bounds that were read.
struct Work {
  uint64_t rounds = 0, nodes = 0, edges = 0;

  Work& operator+=(const Work& more) {
    rounds += more.rounds;
    nodes += more.nodes;
    edges += more.edges;
    return *this;
  }
};

// One sentence's share of a max step: best[j] = max_i previous[i] + score(i, j). best: with room for stride() numbers.
template <class A>
struct MaxStep {
  const A* previous;  // [i]
  A* best;            // [j]
  Work* work;
};

// A step of bounds in float32 (decode/tree/bounds.h): hot labels are followed edge by edge, all others as one block.
struct BoundStep {
  std::span<const int32_t> hot;  // labels
  const float* hot_sum;          // [hot]: bound of the paths that end in the label
  const float* hot_key;          // [hot]: hot_sum and the label's best edge out
  float top;                     // the largest sum of the column; results are relative to it
  float rest;                    // no less than sum + best edge out of any label that is not hot
  // Of all labels of the column: [label], or [place in the list] where not all labels are allowed.
  std::span<const int32_t> list;
  const float *sum, *out;
};

// What operations cost. Hints, which choose between algorithms and change no answer.
struct EdgeCosts {
  size_t max_step = 0;           // edges that a max step reads, about
  size_t shared_bytes = 0;       // that a max step streams from memory, once for all sentences that share it
  size_t few_labels = 128;       // up to that many labels, max steps are faster than bounds
  size_t hot_labels = SIZE_MAX;  // labels of a column that are worth following edge by edge, at most
  size_t hot_factor = 1;         // how many times more labels may be hot, where most of their rows cost nothing
  bool one_round = false;        // whether bounds that prune too little are not worth tightening
  bool lanes = false;            // whether sentences are decoded faster in SIMD lanes
};

class StepEdges {
 public:
  explicit StepEdges(size_t L) : L_(L), stride_(L) {}
  virtual ~StepEdges() = default;

  size_t L() const { return L_; }
  // Numbers that the result of a max step has room for: L, or more.
  size_t stride() const { return stride_; }

  double score(size_t i, size_t j) const { return table_ ? table_[i * stride_ + j] : find(i, j); }
  // The same, faster where several i are looked up one after the other for one j.
  double score_into(size_t i, size_t j) const { return table_ ? table_[i * stride_ + j] : find_in_column(i, j); }
  void row(size_t i, double* out) const;                 // out: [j]
  virtual void column(size_t j, double* out) const = 0;  // out: [i]
  // Fetches what looking up edges out of label i needs.
  virtual void prefetch(size_t) const {}

  // The edges of label i out (side 0) or in (side 1), from or to some labels. out[q]: the score of the q-th.
  void gather(size_t side, size_t i, std::span<const int32_t> labels, double* out) const;
  // bound[q] = max(bound[q], value + score of the q-th); returns the least bound. room: for as many numbers.
  double raise(size_t side, double value, size_t i, std::span<const int32_t> labels, double* bound, double* room) const;
  // out[j] = (value + score(i, j)) + nodes[j].
  void extend(double value, size_t i, Scores nodes, double* out) const;
  // The label j for which that is largest, by the sum of edge and node score in their own precision. room: [j].
  size_t best_extension(double value, size_t i, Scores nodes, double* room) const;

  virtual void max_step(std::span<const MaxStep<double>> runs, Arena& arena) const;
  // The same in float32, where has_float_steps().
  virtual void max_step(std::span<const MaxStep<float>> runs, Arena& arena) const;
  virtual bool has_float_steps() const { return false; }

  // No less than any edge out of label i, in float32.
  virtual float best_out(size_t i) const;
  // The best edge into each label, or more. out: [j].
  virtual void best_in(double* out) const;
  // Fills to, from, and the labels' share of out and in.
  virtual void fill_bounds(const Chain& chain, Bounds& bounds) const;
  // before[j]: an upper bound of what reaches label j, relative to step.top. scores: room for L numbers.
  virtual void bound_step(const BoundStep& step, float* before, float* scores, Work& work) const;
  virtual Factors factors() const;
  virtual EdgeCosts costs() const;
  // Finite scores the median of which is typical.
  virtual std::vector<double> typical_scores() const;

  // The same edges with -inf where rules forbid. choose_form: whether another kind may be chosen.
  virtual std::shared_ptr<StepEdges> constrained(const std::shared_ptr<const PairRules>& rules, bool choose_form) const;
  // Changes one score in place; only for edges that nobody else holds, with a table of float32 or none.
  virtual void change(size_t i, size_t j, double score);

  // Returns the largest finite magnitude; throws std::invalid_argument for the first number that is not a score.
  // where: for the message, such as " of step 3".
  double check(const std::string& where) const;

  // The form that a user sees: default + exceptions, or nothing.
  virtual const class SparseEdges* sparse() const { return nullptr; }

  // Makes the table. fill(i, row): writes the scores of row i. Rows start on cache lines and do not all fall into the
  // same set of the cache; beyond L they hold -inf.
  template <class E, class Fill>
  void make_table(Fill&& fill);
  // Takes over a table of rows without gaps, which `owner` holds.
  void borrow_table(Scores table, std::shared_ptr<void> owner);
  // Uses the table of other edges, which have the same scores.
  void share_table(const StepEdges& from) {
    stride_ = from.stride_;
    table_ = from.table_;
    owner_ = from.owner_;
  }
  // Makes the table a copy of another one, with -inf where rules forbid.
  void copy_table(const StepEdges& from, const PairRules& rules);
  bool is_float() const { return table_.f; }
  // [i * stride + j], or null where single edges are searched for.
  Scores table() const { return table_; }

 protected:
  virtual double find(size_t i, size_t j) const = 0;  // without a table
  virtual double find_in_column(size_t i, size_t j) const { return find(i, j); }
  virtual void fill_row(size_t i, double* out) const = 0;  // the same
  Scores table_row(size_t i) const { return table_.from(i * stride_); }

  size_t L_, stride_;
  Scores table_;                 // [i * stride + j]: finds single edges at once; may be missing
  std::shared_ptr<void> owner_;  // of the table; where that is our own copy, its first number
};

// Kaji's equations 2 to 4 for every pair of nodes.
Bounds edge_bounds(const StepEdges& edges, const Chain& chain);

template <class E, class Fill>
void StepEdges::make_table(Fill&& fill) {
  constexpr size_t kLine = 16, kPage = 128;
  constexpr std::align_val_t kAlign{64};
  stride_ = (L_ + kLine - 1) / kLine * kLine;
  if (stride_ % kPage == 0) stride_ += kLine;
  const std::shared_ptr<E> made(static_cast<E*>(::operator new(times(L_, stride_) * sizeof(E), kAlign)),
                                [](E* p) { ::operator delete(p, kAlign); });
  for (size_t i = 0; i < L_; ++i) {
    E* const row = made.get() + i * stride_;
    fill(i, row);
    std::fill(row + L_, row + stride_, -std::numeric_limits<E>::infinity());
  }
  owner_ = made;
  if constexpr (std::is_same_v<E, float>) {
    table_ = {made.get(), nullptr};
  } else {
    table_ = {nullptr, made.get()};
  }
}

}  // namespace tagwright
