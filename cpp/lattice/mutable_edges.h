// MutableEdges: edges that a trainer changes in place.
#pragma once

#include "lattice/edges.h"

namespace tagwright {

// Changes are made between sentences, while no other thread reads; decoders get Edges. Derived data stay valid:
// a bound that an edge was lowered below stays too high, which is still true, until many were; the hints of how much
// edges matter only rise.
class MutableEdges : public Edges {
 public:
  // All edges score 0; sets of corrections are empty. rules: what is forbidden, or nullptr.
  MutableEdges(size_t L, EdgeForm form, size_t correction_sets, std::shared_ptr<const PairRules> rules = nullptr);

  // Of an edge that the rules allow.
  void change(size_t i, size_t j, double score);
  void change_correction(size_t set, size_t i, size_t j, double score);

  // From now on these label n-grams, as in NgramList, have scores, which are 0 at first.
  void hold_ngrams(std::span<const int32_t> runs);
  void change_ngram(LabelNgrams::Node node, double score);

 private:
  std::shared_ptr<MutableNgrams> own_ngrams_;
  size_t lowered_ = 0;  // edges, since the bounds were last made
};

}  // namespace tagwright
