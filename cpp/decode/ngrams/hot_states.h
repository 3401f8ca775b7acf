// The states of hot labels (decode/tree/bounds.h) where edges have n-grams.
//
// A hot label is followed as several states: one for each history, among hot labels, that an n-gram can still see, and
// one for all other histories. The first know what n-grams add; for the last it is the most that they can add for any
// history. Labels that are not hot continue as one number, as without n-grams: the largest sum of a bound, the best
// edge out and the most that n-grams can add to it.
//
// Where the best value of a column is not that of a path through hot states, it leaks: something that is known as one
// number only, the rest of a column or states that were merged, seems better than it is. That is to blame, and can be
// repaired: more labels of that column become hot, or its states are kept apart.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arena.h"
#include "lattice/lattice.h"

namespace tagwright {

struct TreeColumn;

struct HotState {
  LabelNgrams::Node at;  // the longest node that its paths are known to end with
  bool open;             // whether they may end with longer ones: what stands before is not known, and may matter
  float value;           // bound of its paths, counted as the sums of the column
  int32_t before;        // the state of the column before that the best of them come from; -1: none that is hot
  int32_t label;
  int32_t blame;  // kOfPath: the value is that of a path; otherwise whatever made it larger, see hot_states.cpp
};

struct Leak {
  float size;     // how far the value is above that of the best path through hot states
  size_t column;  // what is to blame: the rest of this column,
  bool merged;    // or states of it that were merged
};

class HotStates {
 public:
  HotStates(const Lattice& lattice, Arena& arena);

  // [label]: the best edge out of it with the most that n-grams can add.
  const float* reach() const { return bounds_.reach().data(); }
  // How much room for rounding the values need, beside that of sums without n-grams.
  double size() const { return size_; }

  // Finds the states of the hot labels of column t, and sets the sums of these labels to those of their best states.
  void enter(size_t t, TreeColumn* columns, Work& work);
  // The largest leak of a column. wide: values of rests that are no more below the best path than that leak, too.
  Leak leak(const TreeColumn& column, float wide) const;
  // Takes the values of a column as those of paths, since they cannot be made tighter.
  void accept(TreeColumn& column) const;

  // before[k]: raised to what the hot labels of a column reach label k of the next with, counted from the column's top,
  // where n-grams add to it. least: less need not be visited.
  void scatter(const TreeColumn& column, float least, float* before, Work& work) const;
  // The bound with which label k of column t + 1 is reached from hot labels of column t.
  float into(size_t t, const TreeColumn& column, int32_t k, Work& work);

  // Whether a path may end in hot label q of a column with at least `required`, counting the n-grams that begin before
  // that label and end with `next`, or with `after` behind it; -1 beyond the last column.
  bool reaches(const TreeColumn& column, size_t q, int32_t next, int32_t after, double required) const;
  // The most that such n-grams add for any label i.
  double most_across(int32_t i, int32_t next, int32_t after) const;

 private:
  void add(const HotState& state);
  void add_transitions(size_t t, const TreeColumn& column, int32_t k, float near, Work& work);
  double edge(size_t t, size_t j, size_t k) const;

  const Lattice& lattice_;
  const LabelNgrams& ngrams_;
  const NgramBounds& bounds_;
  Arena& arena_;
  double size_;
  float far_;        // states so much worse than another one of their label do not count,
  bool far_counts_;  // or count as if they were no worse
  // Of one label of column here_, while its states are found; the first is that of other histories.
  HotState* found_;
  size_t count_ = 0;
  float best_ = 0;     // value
  float of_path_ = 0;  // the best that is the value of a path
  int32_t here_ = 0;
};

}  // namespace tagwright
