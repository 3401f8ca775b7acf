// The gradient of the structured perceptron (Collins 2002): the features of the best path less those of the correct
// one.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "decode/table.h"
#include "lattice/mutable_edges.h"
#include "train/gradient.h"

namespace tagwright {

struct BestPathOptions {
  Plan plan;          // the decoder; it maximises the score
  double margin = 0;  // the correct label of a token must win by this much: its score is lowered by it
  std::optional<bool> dense_edges = {};  // by default chosen by how many pairs of labels the corpus has
};

// Where several labels are allowed for a token, the best allowed path is the correct one.
class BestPathGradient : public Gradient {
 public:
  BestPathGradient(const WeightStore& store, BestPathOptions options, PathLimits limits);

  std::unique_ptr<Workspace> workspace() const override;
  void compute(const Corpus& corpus, size_t sentence, Workspace& workspace, SparseGradient& gradient) const override;

  void edge_changed(size_t i, size_t j, float weight) override { edges_.change(i, j, weight); }
  void correction_changed(size_t set, size_t i, size_t j, float weight) override {
    edges_.change_correction(set, i, j, weight);
  }
  void ngram_changed(size_t q, float weight) override {
    edges_.change_ngram(store_.ngrams().node(q), static_cast<double>(weight));
  }
  void ngrams_replaced(NgramIndex& ngrams) override;

 private:
  void score(const Corpus& corpus, size_t sentence, double* nodes, Arena& arena) const;
  // The difference of two paths, [t].
  void subtract(std::span<const int32_t> correct, std::span<const int32_t> predicted, SparseGradient& gradient) const;
  void subtract_ngrams(std::span<const int32_t> correct, std::span<const int32_t> predicted,
                       SparseGradient& gradient) const;

  const WeightStore& store_;
  const BestPathOptions options_;
  MutableEdges edges_;              // the scores of edges, corrections and n-grams
  const std::vector<double> ties_;  // [kTieRows][L]
};

}  // namespace tagwright
