// The gradient of a CRF: expected counts over all paths less those of the correct path; or, where several labels are
// allowed for a token, less those over all allowed paths.
//
// Sums go over the labels that a pruning rule keeps (train/pruned_columns.h), or over all. With n-grams the labels are
// chosen by the weights of labels and pairs, and the sums go over the n-grams of those.
#pragma once

#include <memory>
#include <vector>

#include "base/lazy.h"
#include "train/gradient.h"
#include "train/pruned_columns.h"
#include "train/sentence_sums.h"

namespace tagwright {

struct SumOptions {
  PruningOptions pruning = {};
  double margin = 0;  // the score of a correct label is lowered by it
};

// Gradients closer to 0 than this are left out.
inline constexpr double kLeastGradient = 0.01;

class SumGradient : public Gradient {
 public:
  SumGradient(const WeightStore& store, const SumOptions& options, PathLimits limits);

  std::unique_ptr<Gradient::Workspace> workspace() const override;
  void compute(const Corpus& corpus, size_t sentence, Gradient::Workspace& workspace,
               SparseGradient& gradient) const override;

  void edge_changed(size_t i, size_t j, float weight) override { factors_.edge_changed(i, j, weight); }
  void correction_changed(size_t set, size_t, size_t, float weight) override {
    factors_.correction_changed(set, weight);
  }
  void ngram_changed(size_t q, float weight) override;
  void ngrams_replaced(NgramIndex& ngrams) override;
  void weights_replaced() override;
  void end_batch() override { exact_edges_.forget(); }
  void end_epoch() override { weights_replaced(); }
  std::vector<float> bounds() const override;
  void set_bounds(std::span<const float> bounds) override;

 private:
  void raise_best_ngram(size_t q);
  struct Workspace;
  // A sentence and what is computed for it.
  struct Sentence {
    const Corpus& corpus;
    size_t s, first, T;
    Workspace& workspace;
  };

  void score(const Sentence& sentence) const;
  void forbid(const Sentence& sentence) const;
  double correct_score(const Sentence& sentence) const;
  const Edges& exact_edges() const;
  // Each leaves the expectations in the workspace. The first two return false where pruning, which left the sums
  // `kept`, leaves no allowed path.
  bool sum_pruned(const Sentence& sentence) const;
  bool sum_ngrams(const Sentence& sentence, const Sums* kept) const;
  void sum_exactly(const Sentence& sentence) const;
  double missing_ngrams(const Sentence& sentence, double kept_log_z) const;
  // Fills the gradient with the difference of the expectations.
  void subtract(const Sentence& sentence, SparseGradient& gradient) const;
  void end_token(SparseGradient& gradient) const;

  const WeightStore& store_;
  const SumOptions options_;
  EdgeFactors factors_;
  std::unique_ptr<MutableNgrams> ngrams_;  // or none
  float best_ngram_ = 0;                   // no label gains more by the n-grams that end with it; at least 0
  Lazy<Edges> exact_edges_;                // of this batch
};

}  // namespace tagwright
