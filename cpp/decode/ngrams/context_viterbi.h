// Viterbi over contexts (lattice/contexts.h): what all decoders of n-grams can fall back to.
//
// A column costs a first-order step over the pairs of labels that no n-gram knows, and one look at each arc. Of all
// contexts that go along an arc only the best matters. It is found among the best few that end with the arc's
// beginning; those that a longer arc leads elsewhere are passed over.
#pragma once

#include "base/stop.h"
#include "decode/table.h"

namespace tagwright {

class ContextViterbi {
 public:
  ContextViterbi(const Lattice& lattice, Arena& arena, Work& work);

  size_t states() const { return states_.size(); }
  int32_t label(size_t c) const { return states_.label(c); }
  // [context]: score of the best path that ends in it, in column t.
  const double* alpha(size_t t) const { return alpha_ + t * states_.size(); }
  // Scores of the steps from every context of column t - 1 to context c of column t, c's own node not counted; -inf
  // where none leads there. out: [context].
  void into(size_t t, size_t c, double* out) const;

 private:
  // Contexts that end alike: one of them, and all longer ones that end with it.
  struct Branch {
    double score;  // the best among them
    int32_t context;
  };
  static constexpr size_t kRanked = 4;

  double more(int32_t arc) const { return ngrams_.more(arc + static_cast<int32_t>(lattice_.L)); }
  void rank(const double* alpha);
  void insert(size_t c, const Branch& branch);
  double best_along(const Contexts::Arc& arc, int32_t number);
  void send_others(size_t t);
  void step(size_t t);

  const Lattice& lattice_;
  const LabelNgrams& ngrams_;
  const Contexts& states_;
  const bool shared_;         // whether all steps have the same edges
  const EdgeScores* others_;  // those that no arc goes along, where they are
  Work& work_;
  Arena step_arena_;
  Meter meter_;
  double* alpha_;                 // [t][context]
  const double* from_ = nullptr;  // alpha of the column that is left
  double* top_;                   // [context]: the best of those that end with it
  Branch* ranked_;                // [context][kRanked]: itself and those one label longer, the best of them first
  int32_t* passed_over_;          // [context]: for the arc of this number
  double *sent_, *reached_;       // [label]; with room for a row of a matrix
  double* pair_edge_;             // [arc of a pair]
  double* column_;                // [label]
};

}  // namespace tagwright
