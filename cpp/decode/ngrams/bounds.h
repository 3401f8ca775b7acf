// Upper bounds of labels (decode/tree/bounds.h) where edges have label n-grams.
//
// A hot label is followed as several states: one per history, among hot labels, on which an n-gram can still depend,
// and one for all other histories. The former know what n-grams add; the latter adds the most that n-grams can add for
// any history. Labels that are not hot continue as one number: the largest sum of a bound, the best outgoing edge and
// the most that n-grams can add to it.
//
// Where the best value of a column is not the value of a path through hot states, there is a gap: something known as
// one number only, the rest of a column or states that were merged, has a bound that is too high. Its source can be
// tightened: more labels of that column become hot, or its states are kept apart.
#pragma once

#include "decode/tree/bounds.h"

namespace tagwright {

struct HotState {
  LabelNgrams::Node at;  // the longest node that its paths are known to end with
  bool open;             // whether they may end with longer nodes: the history before is unknown, and may matter
  float value;           // bound of its paths, relative as the sums of the column
  int32_t before;        // the state of the column before that the best of them come from; -1: none that is hot
  int32_t label;
  int32_t source;  // kOfPath: the value is that of a path; otherwise what raised it, see bounds.cpp
};

// The states of the hot labels of a column.
struct StateColumn {
  // Those of hot label q, best first: states[begin[q]] .. states[begin[q + 1] - 1].
  HotState* states = nullptr;
  uint32_t* begin = nullptr;
  int32_t* order = nullptr;  // [place]: hot labels, the best sums first
  float of_path = 0;         // the best value of a path through hot states
  float near = 0;            // states that are worse by no more than this, and a default, are not merged
};

struct BoundGap {
  float size;     // how far the value exceeds that of the best path through hot states
  size_t column;  // its source: the rest of this column,
  bool merged;    // or states of it that were merged
};

class NgramTreeBounds : public TreeBounds {
 public:
  NgramTreeBounds(const Lattice& lattice, Arena& arena);

  const StateColumn& states(size_t t) const { return states_[t]; }
  // The largest gap of column t. wide: how far below the best path the rest of a column has a gap, too.
  BoundGap gap(size_t t, float wide) const;
  // Both close a gap of this size, and return whether that helped; later columns are to be made again. The first makes
  // labels of column t hot whose sum + out is that far below the rest, up to about `most` labels; the second keeps
  // states of column t apart that are so much worse.
  bool add_hot_labels(size_t t, float gap, size_t most, Work& work);
  bool split_states(size_t t, float gap, Work& work);
  // Treats the values of column t as those of paths.
  void accept(size_t t);

  // Whether a path may end in hot label q of column t with at least `required`, counting the n-grams that begin before
  // that label and end with `next`, or with `after` behind it; -1 beyond the last column.
  bool reaches(size_t t, size_t q, int32_t next, int32_t after, double required) const;
  // The most that such n-grams add for any label i.
  double most_across(int32_t i, int32_t next, int32_t after) const;

 protected:
  // Finds the states of the hot labels of column t, and sets the sums of these labels to those of their best states.
  void enter(size_t t, Work& work) override;
  void scatter(size_t t, float least, Work& work) override;
  float into(size_t t, int32_t k, float rest, Work& work) override;
  float rest_below(size_t t, float least) const override;

 private:
  void add(const HotState& state);
  void add_transitions(size_t t, int32_t k, float near, Work& work);
  size_t find_states(size_t t, size_t q, HotState* out, Work& work);

  const LabelNgrams& ngrams_;
  const NgramBounds& limits_;
  StateColumn* states_;
  float far_;        // states so much worse than another one of their label do not count,
  bool far_counts_;  // or count as if they were no worse
  // The states of one label of column here_ while they are found; the first is that of other histories.
  HotState* found_states_;
  size_t count_ = 0;
  float best_ = 0;     // value
  float of_path_ = 0;  // the best that is the value of a path
  int32_t here_ = 0;
};

}  // namespace tagwright
