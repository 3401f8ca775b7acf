// ExpectedCounts: the expected counts of all weights, summed over sentences by one thread.
//
// Probabilities are rounded to multiples of a power of 2, the grain, that is small, and still so large that all sums of
// them are below 2^52 multiples. Such sums are exact in double precision: the counts are the same bits for any number
// of threads and for any division of the corpus into shards.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "train/crf/weight_layout.h"
#include "train/sentence_sums.h"

namespace tagwright {

struct CountGrain {
  double probability = 0;
  std::vector<double> feature;  // [feature]: that of its counts; a different one where the feature has values

  CountGrain() = default;
  // That of a whole corpus, which all of its shards use. parts: of each label.
  CountGrain(const Corpus& corpus, size_t parts);
};

class ExpectedCounts {
 public:
  // All arguments must outlive the object. factors: of the edges, whose form edge counts are held in.
  ExpectedCounts(const Corpus& corpus, const WeightLayout& layout, const CountGrain& grain, const Factors& factors);

  // Adds what is expected of a sentence, multiplied by `times`.
  void add(Expectation& expected, size_t first_token, double times);
  // Adds the label probabilities of a token, [label], which are multiples of the grain.
  void add_token(size_t token, const double* probability);
  // Edge counts for sums in SIMD lanes to add to: [exception of the factors]; nullptr where no edge has a weight.
  double* edge_counts() { return layout_.keys().edges() ? edges_.data() : nullptr; }

  // Adds all counts to `to`, [weight].
  void add_to(std::span<double> to) const;

 private:
  void add_keys(size_t token, const double* probability);
  void add_labels(size_t token, std::span<const int32_t> labels, const double* probability, double times);
  void add_step(Expectation& expected, size_t token, size_t t, double times);
  void add_corrections(const Expectation& expected, size_t token, size_t t, double times);
  void add_products(const Sums& sums, size_t t, double times);
  // Where edges_ counts an edge, or kNoPlace.
  size_t edge_place(int32_t i, int32_t j) const;

  const Corpus& corpus_;
  const WeightLayout& layout_;
  const CountGrain& grain_;
  const Factors& factors_;
  std::vector<double> counts_;  // [weight]; those of dense rows and of edges are held below
  std::vector<double> dense_;   // [dense row][key]
  std::vector<double> edges_;   // beside the factors: [exception], or [i * stride + j] of a matrix
  // Reused by every step. The first two are 0 between uses.
  std::vector<double> by_key_, to_;  // [key]; [label]
  std::vector<int32_t> keys_;        // labels and their parts
  std::vector<double> from_;
  std::vector<std::pair<double*, double>> corrected_;
};

}  // namespace tagwright
