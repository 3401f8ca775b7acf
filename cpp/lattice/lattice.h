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

// One sentence's scores, or those of some columns of it. on: for each of the T - 1 steps, the correction sets switched
// on. first: the number of the first column in its sentence, for messages. Scores of labels that are not allowed are
// never read.
class Lattice {
 public:
  Lattice(const Edges& edges, size_t T, Scores nodes, const std::vector<std::vector<int32_t>>* on, size_t first = 0,
          Allowed allowed = {});
  // The same without lists: labels that are not allowed have scores of -inf, in the arena.
  Lattice(const Lattice& listed, Arena& arena);

  const size_t T, L;
  const Edges& edges;
  const Scores nodes;     // [t * L + y]
  const Allowed allowed;  // only decoders that know lists are given some; the others see scores of -inf

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
  // The scores of all edges into label j of column t + 1; out: [i].
  void column(size_t t, size_t j, double* out) const;

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

// What a decoder looked at. rounds: searches of a (coarse) lattice; nodes: labels or blocks, or partial paths that end
// in them, that the search went on from; edges: edge scores or bounds that were read.
struct Work {
  uint64_t rounds = 0, nodes = 0, edges = 0;

  Work& operator+=(const Work& more) {
    rounds += more.rounds;
    nodes += more.nodes;
    edges += more.edges;
    return *this;
  }
};

}  // namespace tagwright
