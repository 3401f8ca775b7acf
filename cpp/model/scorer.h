// From text to node scores: features looked up, their sparse rows of weights summed.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "features/templates.h"
#include "model/weights.h"

namespace tagwright {

class Scorer {
 public:
  // The weights were checked.
  Scorer(Templates templates, Weights weights);

  const Templates& templates() const { return templates_; }
  size_t L() const { return weights_.L(); }
  const Weights& weights() const { return weights_; }

  // Adds the rows of a token's features to out, [key]; ids: filled with their numbers.
  void add_features(const std::vector<Feature>& features, const FeatureScratch& scratch, std::vector<int32_t>& ids,
                    float* out) const;

  // Node scores of a sentence, [t * L + y], and the correction sets that are switched on at each of its steps.
  void score(const Text& text, size_t sentence, float* nodes, std::vector<std::vector<int32_t>>& on) const;

 private:
  void look_up(const std::vector<Feature>& features, const FeatureScratch& scratch, const IndexView& index,
               std::vector<int32_t>& ids) const;

  Templates templates_;
  Weights weights_;
  PackedRows<float> rows_;
  // Large rows, held whole.
  std::unordered_map<size_t, std::vector<float>> whole_;  // [feature]: [key]
};

}  // namespace tagwright
