#include "train/crf/count_grain.h"

#include <algorithm>
#include <cmath>

namespace tagwright {

CountGrain::CountGrain(const Corpus& corpus) {
  std::vector<double> tokens(corpus.features(), 0), mass(corpus.features(), 0);
  std::vector<bool> valued(corpus.features(), false);
  for (size_t s = 0; s < corpus.sentences(); ++s) {
    corpus.visit();
    for (size_t token = corpus.first_token(s); token < corpus.sentence_end[s]; ++token)
      corpus.for_each_feature(token, [&](size_t f, double value) {
        ++tokens[f];
        mass[f] += std::fabs(value);
        valued[f] = valued[f] || value != 1;
      });
  }
  const double weight = corpus.largest_weight();
  const auto grain_below = [&](double most) {
    return std::ldexp(1.0, static_cast<int>(std::ceil(std::log2(weight * most + 1))) - 51);
  };
  // A feature that is listed twice at a token counts twice.
  double most = static_cast<double>(corpus.tokens());
  for (const double times : tokens) most = std::max(most, times);
  probability = grain_below(most);
  for (size_t f = 0; f < mass.size(); ++f) feature.push_back(valued[f] ? grain_below(mass[f]) : probability);
}

}  // namespace tagwright
