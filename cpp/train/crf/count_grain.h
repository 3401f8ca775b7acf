// CountGrain: how finely expected counts are rounded, so that their sums do not depend on the order of summation.
//
// Probabilities are rounded to multiples of a power of 2 that is small, and still so large that all sums of them are
// below 2^52 multiples. Such sums are exact in double precision: the counts are the same bits for any number of threads
// and for any division of the corpus into shards.
#pragma once

#include <vector>

#include "train/corpus.h"

namespace tagwright {

struct CountGrain {
  double probability = 0;
  std::vector<double> feature;  // [feature]: that of its counts; a different one where the feature has values

  CountGrain() = default;
  // That of a whole corpus, which all of its shards use.
  explicit CountGrain(const Corpus& corpus);
};

}  // namespace tagwright
