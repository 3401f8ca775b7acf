// BatchObjective: log Z and expected counts of a CRF over all sentences of a corpus, and the observed counts.
//
// For batch training (L-BFGS). The gradient of the log-likelihood is observed minus expected counts (Pal et al. 2006,
// equation 4). Sums are exact or pruned. Results do not depend on the number of threads, nor on which shard of the
// corpus has a sentence: expected counts are exact sums of rounded numbers (expected_counts.h), and log Z is summed in
// the order of the sentences.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "train/crf/expected_counts.h"
#include "train/gradient.h"

namespace tagwright {

struct BatchOptions {
  // kSparse: sums over a default and its exceptions. kDense: over the matrix of all pairs of labels, one sentence at a
  // time, as Pal et al. (2006) have it.
  EdgeForm form = EdgeForm::kSparse;
  PathLimits limits = {};
  // Softmax-margin (Gimpel and Smith 2010): the score of a correct label is lowered by it. log Z of a sentence is then
  // raised by as much for every token, so that log Z less the score of the labels is the loss.
  double margin = 0;
};

struct BatchSums {
  double log_z = 0;
  size_t tokens = 0, kept = 0;  // kept: labels, summed over tokens
};

class BatchObjective {
 public:
  // Sentences are batched within blocks of this many. Counts of edges are rounded batch by batch, so that a shard must
  // begin and end with a block for its batches to be those of the whole corpus.
  static constexpr size_t kBlock = 512;

  // grain: that of the whole corpus, where this is a shard of it.
  BatchObjective(Corpus corpus, WeightLayout layout, BatchOptions options, std::optional<CountGrain> grain = {});
  // For hidden Markov models: no labels are known; the first feature of a token, its word, has a row with the labels
  // that the token may have. names: of the features, one per row of the keys.
  static BatchObjective hmm(const Text& text, size_t L, const std::vector<std::string_view>& names,
                            WeightKeys<Owned> keys);

  // Sums over some sentences. counts: [weight], filled with expected counts. For partially labelled sentences, log Z
  // and counts are those of all labellings minus those of the labellings that are allowed. Sums of a sentence are
  // multiplied by its weight. per_sentence: [sentence of these], filled with log Z; or empty.
  // Throws std::invalid_argument that names the sentence, by its number in the whole corpus, where it has no path.
  BatchSums expect(std::span<const double> weights, const PruningRule& rule, std::span<const int32_t> sentences,
                   size_t threads, std::span<double> counts, std::span<double> per_sentence = {}) const;
  // Fills counts, [weight], with those of the right labels. Partially labelled sentences count in expect() alone.
  void observe(std::span<const int32_t> sentences, std::span<double> counts) const;

  const WeightLayout& layout() const { return layout_; }
  const CountGrain& grain() const { return grain_; }
  // Weights as a model holds them; weights of a model as a start (its features come first in the corpus).
  Weights model_weights(std::span<const double> weights) const;
  void warm_start(const Weights& model, std::span<const int32_t> label, std::span<double> weights) const;

 private:
  class Evaluation;
  using Batch = std::vector<int32_t>;  // sentences, the longest first

  std::vector<Batch> batches(std::span<const int32_t> sentences, size_t lanes) const;
  void add_block(std::span<const int32_t> sentences, size_t lanes, std::vector<Batch>& to) const;
  void count_observed(size_t sentence, std::span<double> counts) const;
  void check_size(std::span<const double> weights) const;

  Corpus corpus_;
  WeightLayout layout_;
  BatchOptions options_;
  CountGrain grain_;
};

}  // namespace tagwright
