// Edges of batched sums: a matrix, or one score for all pairs of labels but some; and their factors.
//
// Unlike Edges, they derive only what such sums need: a neural network changes its weights with every batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lattice/edges.h"

namespace tagwright {

// Pairs of labels, found by the previous and by the current one. Made once; weights come and go.
class PairShape {
 public:
  static constexpr size_t kNoPlace = Csr::kNoPlace;
  struct Side : Csr {
    std::vector<size_t> given;  // [entry]: which of the given pairs it is
  };

  // Throws std::invalid_argument where a pair is given twice or names no label.
  PairShape(size_t L, std::span<const int32_t> previous, std::span<const int32_t> current);

  size_t L() const { return L_; }
  size_t size() const { return sides_[0].index.size(); }
  // 0: by previous label, 1: by current label.
  const Side& side(size_t which) const { return sides_[which]; }
  // Which entry by previous label a pair is, or kNoPlace.
  size_t find(size_t i, size_t j) const { return sides_[0].find(i, j); }

 private:
  size_t L_;
  Side sides_[2];
};

// A view of edge scores: `matrix`, [i * L + j], or `values` of some pairs, as they were given, and `fallback` of all
// others. start, stop: [label], or none.
struct BatchEdges {
  size_t L = 0;
  Scores matrix = {};
  const PairShape* pairs = nullptr;
  Scores values = {};
  double fallback = 0;
  Scores start = {}, stop = {};

  double edge(size_t i, size_t j) const;
  double start_of(size_t y) const { return start ? start[y] : 0; }
  double stop_of(size_t y) const { return stop ? stop[y] : 0; }
  // Throws std::invalid_argument for the first number that is no score.
  void check() const;
  // The same scores in the form that single sentences need.
  Edges whole() const;
};

// A copy of edges that are the same at every step, as a BatchEdges.
class CopiedEdges {
 public:
  explicit CopiedEdges(const EdgeScores& edges);
  CopiedEdges(const CopiedEdges&) = delete;
  CopiedEdges& operator=(const CopiedEdges&) = delete;
  const BatchEdges& view() const { return view_; }

 private:
  std::vector<double> scores_;
  std::vector<PairShape> pairs_;  // one or none
  BatchEdges view_;
};

// How far finite edge scores may be apart. What a column then loses to underflow is on no path that counts: a node that
// is worse than another one by more could be replaced by it (see forward_backward.cpp).
template <class E>
inline constexpr double kBatchRange = sizeof(E) == 4 ? 30 : 300;
// What is left of a total must be more than this share of it to be trusted.
template <class E>
inline constexpr double kBatchDigits = sizeof(E) == 4 ? 1.0 / 16 : 1e-6;

// Some pairs of labels, by one of the two: those of label y from begin[y] to begin[y + 1], the other one rising.
struct PairEntries {
  std::span<const size_t> begin;
  std::span<const int32_t> index;
};

// Factors exp(e - shift) in precision E. What they are made of must outlive them.
template <class E>
struct BatchFactors {
  explicit BatchFactors(const BatchEdges& edges);
  // The same of sparse factors without rules for pairs.
  explicit BatchFactors(const Factors& factors);

  size_t L = 0;
  bool dense = false;
  double shift = 0;
  double rest = 0;           // the factor of all pairs but some
  bool fits = false;         // whether finite scores are within kBatchRange
  bool forbids = false;      // whether one is -inf
  bool mild = true;          // whether no factor is far below `rest`
  std::vector<E> panels[2];  // as kernels take them; [0]: messages forward, [1]: backward
  // Where factors are sparse: the pairs by current label [0], by previous label [1], and beside them:
  PairEntries entries[2];
  std::vector<E> factor[2], more[2];  // more: factor - rest

 private:
  template <class Row>
  void fill_panels(Row&& row);
};

}  // namespace tagwright
