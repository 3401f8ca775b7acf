// Upper bounds for every label of a lattice, at little more than the cost of reading the node scores once.
//
// A column is a tree of three levels: all labels, blocks of eight, labels. Going forward, each column gives every label
// a bound of the best path that ends in it. Only labels that stand out, the hot ones, are followed edge by edge. The
// rest continues as one block, whose bound is the largest sum of a label's own bound and its best edge out: the
// same for every label of the next column, so it costs nothing.
//
// A column with a list of allowed labels is narrow: it has these labels only, so that all it costs follows its list.
//
// Bounds are in float32, counted from the best of the column before; how much rounding may have taken is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/arena.h"
#include "decode/ngrams/hot_states.h"
#include "lattice/lattice.h"

namespace tagwright {

struct TreeColumn {
  // [label], or [place in the list] where the column is narrow:
  float* sum = nullptr;        // bound of a path that ends in it, counted from `offset`
  const float* out = nullptr;  // its best edge out; its stop score in the last column
  float* blocks = nullptr;     // [block]: the largest sum + out of its labels; not of narrow columns
  double offset = 0;           // what the sums are counted from
  double error = 0;            // how far rounding may have taken them below the truth
  float top = 0;               // the largest sum
  float rest = 0;              // no less than any sum + out of a label that is not hot
  int32_t* hot = nullptr;      // labels
  float* key = nullptr;        // [hot]: sum + out
  float* hot_sum = nullptr;    // [hot]: sum
  size_t hots = 0;
  // --- with ngrams ---
  // The states of hot label q, the best first: states[state_begin[q]] .. states[state_begin[q + 1] - 1].
  HotState* states = nullptr;
  uint32_t* state_begin = nullptr;
  int32_t* order = nullptr;  // [place]: hot labels, the best sums first
  float of_path = 0;         // the best value of a path through hot states
  float near = 0;            // states that are worse by no more than that, and what is usual, are not merged
  // Labels whose sum + out is no more than that below the top are hot, however many.
  float heated = -std::numeric_limits<float>::infinity();
};

class TreeBounds {
 public:
  // Whether the scores are small enough to be summed in float32.
  static bool can(const Lattice& lattice);

  TreeBounds(const Lattice& lattice, Arena& arena);

  // Makes column t, after those before it, with about `most` hot labels; margin_only: of these only the ones close to
  // the best. False where no path reaches it.
  bool make(size_t t, size_t most, bool margin_only, Work& work);
  const TreeColumn& operator[](size_t t) const { return columns_[t]; }
  // With ngrams, for what leaks by so much (hot_states.h). Later columns are to be made again. Each returns whether
  // it helped. Makes labels of column t hot whose sum + out is that far below the rest; up to about `most` labels.
  bool heat(size_t t, float leak, size_t most, Work& work);
  // Keeps the states of column t apart that are so much worse.
  bool keep_apart(size_t t, float leak, Work& work);
  // Takes the values of column t as they are.
  void accept(size_t t) { states_->accept(columns_[t]); }
  // How far the bound of the rest of column t exceeds its best label with a usual edge.
  double excess(size_t t) const {
    const float more = columns_[t].rest - (columns_[t].top + usual_);
    return more > 0 && more <= std::numeric_limits<float>::max() ? static_cast<double>(more) : 0;
  }

  // How much edges matter.
  double scale() const { return scale_; }
  // Those of hot labels, where the edges have ngrams.
  const HotStates& states() const { return *states_; }

  // Finds the labels of column t whose sum + out is at least this and not -inf; returns how many there are.
  size_t open(size_t t, double least);
  const int32_t* found() const { return found_; }
  // No less than the sum + out of the q-th label that was found, from which the float32 key may be rounded down.
  double found_reach(size_t q) const {
    const auto key = static_cast<double>(keys_[q]);
    return key + (key < 0 ? -key : key) * 2 * kFloatRounding + kFloatTiny;
  }
  const float* found_sum() const { return sums_; }  // [found]

 private:
  float* floats(size_t n);
  double lowest_that_matters(double top, double& size) const;
  Scores lift(size_t t, double& size);
  float bound_list(size_t t, double& size);
  float reached_by(const float* blocks, size_t count, size_t n);
  float best_below(size_t t, float least) const;
  void choose(size_t t, size_t most, bool margin_only);
  void cut(TreeColumn& c, size_t most);
  double follow(size_t t, Work& work);
  void follow_into_list(size_t t, const TreeColumn& c, float rest, Work& work);

  const Lattice& lattice_;
  const Edges& edges_;
  const size_t T_, L_, width_;
  const double scale_;
  const float usual_;        // what many edges score
  const size_t hot_factor_;  // see EdgeCosts
  const float margin_;  // how far below the best label's usual edge a hot label's best edge may be, with margin_only
  Arena& arena_;
  TreeColumn* columns_;
  std::optional<HotStates> states_;
  float* before_;   // [j], or [place in the list]: bound of what reaches label j of the column that is made
  int32_t* found_;  // labels, by open()
  float* keys_;     // [found]
  float* sums_;     // [found]
  float* scores_;
};

}  // namespace tagwright
