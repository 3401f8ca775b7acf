#include "train/crf/scale.h"

#include <algorithm>
#include <cmath>

namespace tagwright {

CrfScale scale_of(const Corpus& corpus, size_t features) {
  CrfScale made;
  made.feature_tokens.assign(features, 0);
  made.set_tokens.assign(corpus.sets(), 0);
  std::vector<double> mass(features, 0);
  std::vector<bool> valued(features, false);
  for (size_t s = 0; s < corpus.sentences(); ++s) {
    corpus.visit();
    for (size_t token = corpus.first_token(s); token < corpus.sentence_end[s]; ++token) {
      corpus.for_each_feature(token, [&](size_t f, double value) {
        ++made.feature_tokens[f];
        mass[f] += std::fabs(value);
        valued[f] = valued[f] || value != 1;
      });
      for (const int32_t set : corpus.sets_of(token)) ++made.set_tokens[static_cast<size_t>(set)];
    }
  }
  // A count is below 2^52 of its grains.
  const auto grain_for = [](double most) {
    return std::ldexp(1.0, static_cast<int>(std::ceil(std::log2(most + 1))) - 51);
  };
  double most = static_cast<double>(corpus.tokens());
  for (const double times : made.feature_tokens) most = std::max(most, times);
  const double weight = corpus.largest_weight();
  made.grain = grain_for(weight * most);
  for (size_t f = 0; f < features; ++f)
    made.feature_grain.push_back(valued[f] ? grain_for(weight * mass[f]) : made.grain);
  return made;
}

}  // namespace tagwright
