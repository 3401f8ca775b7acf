// BatchWeights: the weights of one evaluation of the batch objective in the forms that scores and sums need.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/arena.h"
#include "lattice/edges.h"
#include "model/rows.h"
#include "train/crf/weight_layout.h"

namespace tagwright {

class BatchWeights {
 public:
  // All arguments must outlive the object. form: of the edges. rules: which every labelling keeps to, or nullptr.
  // Throws std::invalid_argument for weights that are not finite; -inf forbids, where no feature has values.
  BatchWeights(const Corpus& corpus, const WeightLayout& layout, EdgeForm form, std::shared_ptr<const PairRules> rules,
               std::span<const double> weights);

  // Fills the node scores of a token; out: [label].
  void score(size_t token, double* out) const;
  const Edges& edges() const { return *edges_; }
  const Factors& factors() const { return *edges_->factors(); }
  // Whether sums over several sentences in SIMD lanes are exact with these weights: all scores are finite, the edges
  // are shared by all steps and close enough not to underflow.
  bool suits_lanes() const;

 private:
  const Corpus& corpus_;
  const WeightLayout& layout_;
  std::span<const double> weights_;
  PackedRows<double> rows_;
  std::vector<double> dense_;  // [dense row][key]
  bool finite_ = true;
  std::unique_ptr<const Edges> edges_;
};

}  // namespace tagwright
