// Contexts: the states of a search over ngrams. A context is as much of the past as a ngram can still see: a label,
// or a run of two or three labels that some ngram goes on from.
//
// They are numbered so that all that end alike stand side by side: a label, behind it the pairs that end with it,
// behind each of these the runs of three that end with it. What reads the next label k goes along the arc that is the
// longest node of ngrams.h that ends with k; so contexts that end alike mostly go along the same one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lattice/ngrams.h"

namespace tagwright {

class Contexts {
 public:
  explicit Contexts(const LabelNgrams& ngrams);

  size_t size() const { return node_.size(); }
  int32_t label(size_t c) const { return label_[c]; }
  // The contexts that end with this one, itself the first of them: c .. end(c) - 1.
  size_t end(size_t c) const { return end_[c]; }
  // Its longest ending that is a context of its own, one label shorter; -1 of a label.
  int32_t shorter(size_t c) const { return shorter_[c]; }
  // The context that is a label.
  size_t of_label(size_t y) const { return of_label_[y]; }
  LabelNgrams::Node node(size_t c) const { return node_[c]; }
  size_t of_node(LabelNgrams::Node node) const { return static_cast<size_t>(of_node_[node]); }

  // A step from contexts that end with `from` to the context `to`. Arc a is the node L + a, whose more() it adds.
  struct Arc {
    int32_t from, to;
    int32_t pair;  // the arc of its last two labels
    // Contexts that end with those of the arcs first .. end - 1 of exceptions() go along these instead.
    int32_t first, end;
  };
  // In the order of their numbers; those of pairs come first.
  std::span<const Arc> arcs() const { return arcs_; }
  size_t pairs() const { return pairs_; }
  std::span<const int32_t> exceptions() const { return exceptions_; }
  // Arcs whose last label is k, those of pairs first, then longer ones.
  std::span<const int32_t> into(size_t k) const {
    return std::span(into_).subspan(into_begin_[k], into_begin_[k + 1] - into_begin_[k]);
  }
  int32_t last_label(size_t arc) const { return last_[arc]; }

 private:
  std::vector<LabelNgrams::Node> node_;
  std::vector<int32_t> label_, shorter_;
  std::vector<size_t> end_;
  std::vector<size_t> of_label_;  // [label]
  std::vector<int32_t> of_node_;  // [node]: its number, -1 where it is no context
  std::vector<Arc> arcs_;         // [node - L]
  std::vector<int32_t> last_;     // [arc]
  std::vector<int32_t> exceptions_;
  std::vector<size_t> into_begin_;
  std::vector<int32_t> into_;
  size_t pairs_ = 0;
};

}  // namespace tagwright
