// Contexts: the states of a search over n-grams. A context is the part of the history that an n-gram can still depend
// on: a label, or a sequence of two or three labels that is a proper prefix of some n-gram.
//
// They are numbered so that those with the same suffix are consecutive: a label, then the pairs that end with it, each
// followed by the triples that end with it. The next label k leads along the arc that is the longest node of ngrams.h
// that ends with k; contexts with the same suffix mostly share it.
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

  size_t size() const { return label_.size(); }
  int32_t label(size_t c) const { return label_[c]; }
  // The contexts that end with this one, itself the first of them: c .. end(c) - 1.
  size_t end(size_t c) const { return end_[c]; }
  // Its longest ending that is a context of its own, one label shorter; -1 of a label.
  int32_t shorter(size_t c) const { return shorter_[c]; }
  // The context that is a label.
  size_t of_label(size_t y) const { return of_label_[y]; }

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
  std::vector<int32_t> label_, shorter_;
  std::vector<size_t> end_;
  std::vector<size_t> of_label_;  // [label]
  std::vector<Arc> arcs_;         // [node - L]
  std::vector<int32_t> last_;     // [arc]
  std::vector<int32_t> exceptions_;
  std::vector<size_t> into_begin_;
  std::vector<int32_t> into_;
  size_t pairs_ = 0;
};

}  // namespace tagwright
