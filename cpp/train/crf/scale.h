// What a CRF must know of its whole corpus where it has only a part of it: how finely counts are rounded, and how often
// features occur.
#pragma once

#include <vector>

#include "train/corpus.h"

namespace tagwright {

struct CrfScale {
  double grain = 0;                    // of probabilities
  std::vector<double> feature_grain;   // [feature]: of its counts; another one where it has values
  std::vector<double> feature_tokens;  // [feature]: on how many tokens
  std::vector<double> set_tokens;      // [set]
};

// features: how many have weights.
CrfScale scale_of(const Corpus& corpus, size_t features);

}  // namespace tagwright
