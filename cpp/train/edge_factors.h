// The edge weights in training as pruned sums read them: factors exp(weight), and upper bounds per label.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "train/weight_store.h"

namespace tagwright {

class EdgeFactors {
 public:
  // rules: which label may follow which, or none.
  EdgeFactors(const WeightStore& store, std::shared_ptr<const PairRules> rules);

  // Fills out, [p * to + q], with the factors of all pairs at the step into a token, corrections included.
  void fill(const Corpus& corpus, size_t token, std::span<const int32_t> from, std::span<const int32_t> to,
            double* out) const;
  // [y], padded() of them: no edge into a label, or out of it, scores more; at least 0.
  const float* into() const { return into_.data(); }
  const float* out() const { return out_.data(); }
  size_t labels() const { return L_; }
  size_t padded() const { return padded_; }  // L, up to a whole group of the kernels
  // No corrections at the step into a token add more.
  double correction_bound(const Corpus& corpus, size_t token) const;

  // After a weight changed. Bounds only rise, until rebuild() finds them anew.
  void edge_changed(size_t i, size_t j, float weight);
  void correction_changed(size_t set, float weight);
  void rebuild();

  // All bounds.
  std::vector<float> bounds() const;
  size_t bound_count() const { return into_.size() + out_.size() + best_correction_.size(); }
  void set_bounds(std::span<const float> bounds);

 private:
  const WeightStore& store_;
  const std::shared_ptr<const PairRules> rules_;
  const size_t L_, padded_;
  std::vector<float> factor_;  // [i * L + j]; empty where there are too many labels
  std::vector<float> into_, out_;
  std::vector<float> best_correction_;  // [set], at least 0
};

}  // namespace tagwright
