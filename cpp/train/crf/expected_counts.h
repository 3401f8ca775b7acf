// ExpectedCounts: the expected counts of all weights, summed over sentences by one thread.
//
// Every summand is rounded (count_grain.h), so that the counts are exact sums, whatever the order.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "sums/forward_backward.h"
#include "sums/ngram_sums.h"
#include "train/crf/count_grain.h"
#include "train/crf/weight_layout.h"

namespace tagwright {

// The sums of one sentence. ngrams: filled where the layout has n-grams.
struct SentenceSums {
  const Lattice& lattice;
  const Sums& sums;
  const NgramSums& ngrams;
  size_t first_token;
};

class ExpectedCounts {
 public:
  // All arguments must outlive the object. factors: of the edges, whose form edge counts are held in.
  ExpectedCounts(const Corpus& corpus, const WeightLayout& layout, const CountGrain& grain, const Factors& factors);

  // Adds the counts of a sentence, multiplied by `times`.
  void add(const SentenceSums& sentence, double times);
  // Adds the label probabilities of a token, [label], which are multiples of the grain.
  void add_token(size_t token, const double* probability);
  // Edge counts for sums in SIMD lanes to add to: [exception of the factors]; nullptr where no edge has a weight.
  double* edge_counts() { return layout_.keys().edges() ? edges_.data() : nullptr; }

  // Adds all counts to `to`, [weight].
  void add_to(std::span<double> to) const;

 private:
  void add_labels(size_t token, std::span<const int32_t> labels, std::span<const double> probability);
  void add_step(const SentenceSums& sentence, size_t t, double times);
  void add_ngrams(const NgramSums& sums, size_t t, double times);
  template <class Probability>
  void add_corrections(size_t token, std::span<const int32_t> left, std::span<const int32_t> right,
                       Probability&& probability);
  void add_pairs(const SentenceSums& sentence, size_t t);
  void add_products(const SentenceSums& sentence, size_t t, double times);
  void add_shared_factors(std::span<const int32_t> left, const double* from, const Sums::Column& right);
  // Where edges_ counts an edge, or kNoPlace.
  size_t edge_place(int32_t i, int32_t j) const;

  const Corpus& corpus_;
  const WeightLayout& layout_;
  const CountGrain& grain_;
  const Factors& factors_;
  std::vector<double> counts_;  // [weight]; those of dense rows and of edges are held below
  std::vector<double> dense_;   // [dense row][label]
  std::vector<double> edges_;   // beside the factors: [exception], or [i * stride + j] of a matrix
  // Reused by every step. The first two are 0 between uses.
  std::vector<double> by_label_, to_;  // [label]
  std::vector<double> scaled_;         // node probabilities, or factors, times a sentence's weight
  std::vector<double> pairs_;          // [p * labels of t + 1 + q]: probabilities of all edges of a step
  std::vector<std::pair<double*, double>> corrected_;
};

}  // namespace tagwright
