// Upper bounds for every label of a lattice, at little more than the cost of reading the node scores once.
//
// A column is a tree of three levels: all labels, blocks of eight, labels. A forward pass gives every label of a column
// an upper bound of the best path that ends in it. Only labels that stand out, the hot ones, are followed edge by edge.
// The rest of a column is one block, whose bound is the largest sum of a label's bound and its best outgoing edge: the
// same for every label of the next column, so it costs nothing.
//
// A column with a list of allowed labels is narrow: it has these labels only, and its cost follows its list.
//
// Bounds are float32, relative to the best of the column before; a limit of their rounding error is known.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/arena.h"
#include "lattice/lattice.h"

namespace tagwright {

struct TreeColumn {
  // [label], or [place in the list] of a narrow column:
  float* sum = nullptr;        // bound of a path that ends in the label, relative to `offset`
  const float* out = nullptr;  // its best outgoing edge; its stop score in the last column
  float* blocks = nullptr;     // [block]: the largest sum + out of its labels; not of narrow columns
  double offset = 0;           // the score that sums are relative to
  double error = 0;            // limit of how far rounding lowered them
  float top = 0;               // the largest sum
  float rest = 0;              // no less than any sum + out of a label that is not hot
  int32_t* hot = nullptr;      // labels
  float* key = nullptr;        // [hot]: sum + out
  float* hot_sum = nullptr;    // [hot]: sum
  size_t hots = 0;
  // Labels whose sum + out is no more than this below the top are hot, however many.
  float hot_margin = -std::numeric_limits<float>::infinity();
};

// The bounds of labels. States of several labels are added by a derived class (decode/ngrams/bounds.h).
class TreeBounds {
 public:
  // Whether the scores are small enough to be summed in float32.
  static bool can(const Lattice& lattice);

  TreeBounds(const Lattice& lattice, Arena& arena) : TreeBounds(lattice, lattice.edges.reach(), arena) {}
  virtual ~TreeBounds() = default;

  // Makes column t, after those before it, with about `most` hot labels; margin_only: of these only the ones close to
  // the best. False where no path reaches it.
  bool make(size_t t, size_t most, bool margin_only, Work& work);
  const TreeColumn& operator[](size_t t) const { return columns_[t]; }
  // How far the bound of the rest of column t exceeds its best label with a typical edge.
  double excess(size_t t) const {
    const float more = columns_[t].rest - (columns_[t].top + usual_);
    return more > 0 && more <= std::numeric_limits<float>::max() ? static_cast<double>(more) : 0;
  }
  // Upper bound of all paths, once the last column is made.
  double limit() const;

  // Finds the labels of column t whose sum + out is at least this and not -inf; returns their number.
  size_t open(size_t t, double least);
  const int32_t* found() const { return found_; }
  // No less than the sum + out of the q-th label that was found: its float32 key may be rounded down.
  double found_reach(size_t q) const { return reach_of(keys_[q]); }
  static double reach_of(float key) {
    return static_cast<double>(key) + std::fabs(static_cast<double>(key)) * 2 * kFloatRounding + kFloatTiny;
  }
  const float* found_sum() const { return sums_; }  // [found]

 protected:
  // reach: [label], the best outgoing edges at all steps, or nullptr where steps differ.
  TreeBounds(const Lattice& lattice, const float* reach, Arena& arena);

  // Called when the hot labels of column t are chosen.
  virtual void enter(size_t, Work&) {}
  // Raises before_[k] to what else the hot labels of column t reach label k of the next with, relative to its top.
  // least: smaller values need not be visited.
  virtual void scatter(size_t, float, Work&) {}
  // The bound with which label k of column t + 1 is reached, relative to the top of column t; at least `rest`.
  virtual float into(size_t t, int32_t k, float rest, Work& work);
  // The bound of the labels of column t whose sum + out is less than `least`.
  virtual float rest_below(size_t, float least) const { return least; }

  void choose(size_t t, size_t most, bool margin_only);

  const Lattice& lattice_;
  const Edges& edges_;
  const size_t T_, L_, width_;
  const double scale_;
  const float usual_;      // the score of a typical edge
  size_t hot_factor_;      // see EdgeCosts
  double state_size_ = 0;  // magnitude of what states add to the sums of labels
  Arena& arena_;
  TreeColumn* columns_;
  float* before_;  // [j], or [place in the list]: bound of what reaches label j of the column that is made

 private:
  float* floats(size_t n);
  double lowest_relevant(double top, double& size) const;
  Scores lift(size_t t, double& size);
  float bound_list(size_t t, double& size);
  float reached_by(const float* blocks, size_t count, size_t n);
  void cut(TreeColumn& c, size_t most);
  double follow(size_t t, Work& work);

  const float margin_;  // how far below the best label's typical edge a hot label's best edge may be, with margin_only
  int32_t* found_;      // labels, by open()
  float* keys_;         // [found]
  float* sums_;         // [found]
  float* scores_;
};

}  // namespace tagwright
