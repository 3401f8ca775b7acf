// From text to node scores: features looked up, their sparse rows of weights summed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "features/templates.h"
#include "model/parts.h"

namespace tagwright {

// The arrays of a model, wherever they are; `owner` holds them.
struct Weights {
  size_t L = 0;
  Parts parts;
  IndexView node_names, edge_names;   // edge_names: of the correction sets, in the order of their numbers
  std::span<const uint64_t> row_end;  // [feature], in entries
  std::span<const uint16_t> label;    // or part; sorted within a row
  std::span<const float> weight;
  // HMM: a token's scores are the row of the first of its features that is there; labels not in it are forbidden.
  // Otherwise they are the sum of the rows of all of them.
  bool first_only = false;
  std::shared_ptr<void> owner;
};

// Throws std::invalid_argument unless the arrays fit together: no look-up then leaves them.
void check_weights(const Weights& weights, size_t name_bytes, size_t edge_name_bytes);

class Scorer {
 public:
  Scorer(Templates templates, Weights weights);

  const Templates& templates() const { return templates_; }
  size_t L() const { return weights_.L; }
  const Weights& weights() const { return weights_; }

  // Adds the rows of a token's features to out, [key]; ids: filled with their numbers.
  void add_features(const std::vector<Feature>& features, const FeatureScratch& scratch, std::vector<int32_t>& ids,
                    float* out) const;

  // Node scores of a sentence, [t * L + y], and the correction sets that are switched on at each of its steps.
  void score(const Text& text, size_t sentence, float* nodes, std::vector<std::vector<int32_t>>& on) const;

 private:
  void look_up(const std::vector<Feature>& features, const FeatureScratch& scratch, const IndexView& index,
               std::vector<int32_t>& ids) const;

  // Adds the row of a feature, times its value, to out: [key].
  void add_row(size_t id, float value, float* out) const;

  Templates templates_;
  Weights weights_;
  // Large rows, held whole.
  std::unordered_map<size_t, std::vector<float>> whole_;  // [feature]: [key]
};

}  // namespace tagwright
