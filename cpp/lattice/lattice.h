// Lattice, Path and Work: what every decoder is a function of, and what it returns.
//
// A lattice is T columns of L nodes. A path takes one node per column; its score is
//   start[y_0] + n[0][y_0] + sum_t (e(t, y_t, y_t+1) + p(.., y_t, y_t+1) + n[t+1][y_t+1]) + stop[y_T-1],
// summed from left to right in double precision, where p is what ngrams add that end with y_t+1. Higher is better;
// -inf forbids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lattice/allowed.h"
#include "lattice/edges.h"
#include "lattice/patch.h"

namespace tagwright {

// One sentence's scores, or those of some columns of it. on: for each of the T - 1 steps, the active correction sets.
// first: the number of the first column in its sentence, for messages. Scores of labels that are not allowed are
// never read.
class Lattice {
 public:
  Lattice(const Edges& edges, size_t T, Scores nodes, const std::vector<std::vector<int32_t>>* on, size_t first = 0,
          Allowed allowed = {});
  // The same without lists: labels that are not allowed have scores of -inf, in the arena.
  Lattice(const Lattice& listed, Arena& arena);
  // The same with other lists, of labels that were allowed before.
  Lattice(const Lattice& lattice, Allowed fewer);

  const size_t T, L;
  const Edges& edges;
  const Scores nodes;     // [t * L + y]
  const Allowed allowed;  // decoders that do not read lists get scores of -inf

  double node(size_t t, size_t y) const { return nodes[t * L + y]; }
  // A node's score with the start or stop score it stands beside: for decoders that need no third kind of score.
  double end_node(size_t t, size_t y) const {
    double score = node(t, y);
    if (t == 0) score = edges.start(y) + score;
    if (t + 1 == T) score += edges.stop(y);
    return score;
  }
  // The one place that scores an edge: from label i of column t to label j of column t + 1.
  double edge(size_t t, size_t i, size_t j) const { return patched() ? corrected_edge(t, i, j) : edges.base(t, i, j); }
  // The scores of all edges out of label i of column t; out: [j].
  void row(size_t t, size_t i, double* out) const;
  // The same with the most that label n-grams add, whatever comes before label i.
  void bound_row(size_t t, size_t i, double* out) const;
  // The scores of all edges into label j of column t + 1; out: [i].
  void column(size_t t, size_t j, double* out) const;
  // out[j]: a partial path of this score that ends in label i of column t, extended by label j of column t + 1.
  void extend(size_t t, double score, size_t i, double* out) const;
  // The label that extends it best, by the sum of edge and node score in their own precision. room: [j].
  size_t best_extension(size_t t, double score, size_t i, double* room) const;

  // Whether all steps have the same edges, and other sentences too.
  bool is_uniform() const { return !edges.steps() && !patched(); }
  // Whether step t has the same edges as the step before it.
  bool repeats(size_t t) const { return t > 0 && is_uniform(); }
  // Whether max steps may be taken in float32, since they can be and scores are not too large for it.
  bool fits_float() const;
  // Whether it is decoded faster in SIMD lanes, with others over the same edges.
  bool suits_lanes() const { return is_uniform() && edges.costs().lanes; }
  // [y]: the best edge out of label y at every step, or a little more; nullptr where steps differ.
  const float* reach() const { return is_uniform() ? edges.reach() : nullptr; }
  // [y], or [place in the list] where there is one: the best edge out of a label of column t, or a little more; its
  // stop score in the last column. shared: upper bounds of the edges of all steps, or nullptr.
  const float* best_outs(size_t t, std::span<const int32_t> list, const float* shared, Arena& arena) const;
  // The max step from column t to t + 1 without the edges of pairs that label n-grams contain.
  void max_step_without_ngrams(size_t t, const MaxStep<double>& run, Arena& arena) const;
  // See StepEdges::bound_step.
  void bound_step(size_t t, const BoundStep& step, float* before, float* scores, Work& work) const;
  // How much edges matter. A hint, not a bound.
  double edge_scale() const { return is_uniform() ? edges.scale() : edge_magnitude_; }

  bool patched() const { return !patches_.empty(); }
  const Patch& patch(size_t t) const { return patched() ? patches_[t] : none_; }

  // Largest finite magnitude of column t's node scores, and of any edge, start or stop score.
  double node_magnitude(size_t t) const { return node_magnitude_[t]; }
  double edge_magnitude() const { return edge_magnitude_; }
  // The same for what ngrams add at a step.
  double ngram_magnitude() const { return edges.ngrams() ? edges.ngrams()->magnitude() : 0; }
  // More than the rounding error of any two sums over a path: bounds closer than this may be equal in truth.
  double slack() const { return slack_; }

 private:
  double corrected_edge(size_t t, size_t i, size_t j) const;
  void activate(const std::vector<std::vector<int32_t>>& on, size_t first);
  ScoreCheck check_column(size_t t) const;

  std::vector<Patch> patches_;  // [t], empty where nothing is active anywhere
  Patch none_;
  std::vector<double> node_magnitude_;  // [t]
  double edge_magnitude_ = 0, slack_ = 0;
};

// One sentence's share of a max step, with its corrections.
template <class A>
struct LatticeStep {
  const Lattice* lattice;
  const A* previous;  // [i]: scores of column t
  A* best;            // [j]: filled; with room for stride() numbers
  Work* work;
};
// The max step from column t to t + 1 of sentences over the same edges, which are read once for all of them. A: float
// or double.
template <class A>
void max_step(size_t t, std::span<const LatticeStep<A>> runs, Arena& arena);

struct Path {
  std::vector<int32_t> labels;
  double score = 0;
};

// The score of a path, summed from left to right: the one place from which reported scores come.
double path_score(const Lattice& lattice, std::span<const int32_t> labels);
// The same of scores that were checked, without corrections.
double path_score(const Edges& edges, Scores nodes, std::span<const int32_t> labels);
// score, with those of the columns 1, 2, ... of some labels added and of the edges into them, one after the other.
double add_steps(double score, const Lattice& lattice, std::span<const int32_t> labels);
// Labels with that score.
Path scored(const Lattice& lattice, std::vector<int32_t> labels);

// The best edge of step t, corrected ones included.
double largest_edge(const Lattice& lattice, size_t t);
// What corrections make of the bounds of a chain at step t: the corrected edges themselves, and every pair of nodes
// whose bound a corrected edge inside it exceeds. Tighter than Kaji's section 4, which adds all positive weights.
Patch bound_patch(const Lattice& lattice, size_t t);

}  // namespace tagwright
