// Weights that grow, are stepped one by one and are averaged over all that training has seen.
//
// AdaGrad (Duchi, Hazan and Singer 2011): beside each weight stands the sum of its squared gradients, which sets the
// length of its steps. Averaging is lazy, as a perceptron's is (train/averaged_weights.h). So a step costs what it
// touches.
//
// Rows are dealt to a fixed number of shards. Threads may change different shards at the same time; what a shard holds
// does not depend on who does.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/sparse_rows.h"

namespace tagwright {

// What a weight remembers.
struct OptimizerState {
  float squares = 0;  // of its gradients, summed
  float late = 0;     // its changes times the sentences seen before them, summed
};

template <class Key>
class SteppedRows {
 public:
  static constexpr size_t kShards = 8;
  static constexpr size_t kNoPlace = static_cast<size_t>(-1);

  void reset(size_t rows) {
    rows_ = rows;
    for (size_t n = 0; n < kShards; ++n) shards_[n].reset(rows / kShards + (n < rows % kShards));
  }
  // More rows, which are empty.
  void grow(size_t rows) {
    rows_ = std::max(rows, rows_);
    for (size_t n = 0; n < kShards; ++n) shards_[n].grow(rows_ / kShards + (n < rows_ % kShards));
  }
  static size_t shard_of(size_t r) { return r % kShards; }
  size_t rows() const { return rows_; }
  size_t entries() const {
    size_t sum = 0;
    for (const Shard& shard : shards_) sum += shard.entries();
    return sum;
  }
  size_t size(size_t r) const { return shard(r).size(r / kShards); }
  std::span<const Key> keys(size_t r) const { return shard(r).keys(r / kShards); }
  auto values(size_t r) const { return shard(r).template values<0>(r / kShards); }
  auto pasts(size_t r) const { return shard(r).template values<1>(r / kShards); }
  void prefetch(size_t r) const { shard(r).prefetch(r / kShards); }

  // The place of an entry within its shard, or kNoPlace; one that is not there may be made.
  size_t find(size_t r, Key key) const { return shard(r).find(r / kShards, key); }
  size_t find_or_add(size_t r, Key key) { return shard(r).find_or_add(r / kShards, key); }
  float& weight(size_t r, size_t entry) { return shard(r).template at<0>(entry); }
  OptimizerState& past(size_t r, size_t entry) { return shard(r).template at<1>(entry); }
  // The weight, 0 where there is none.
  float at(size_t r, Key key) const {
    const size_t entry = find(r, key);
    return entry == kNoPlace ? 0.0F : shard(r).template at<0>(entry);
  }
  // Calls take(row, key, weight, past) for all; weight and past may be changed.
  template <class Take>
  void each(Take&& take) {
    for (size_t r = 0; r < rows_; ++r) {
      const size_t begin = shard(r).begin(r / kShards), n = size(r);
      for (size_t q = 0; q < n; ++q) take(r, keys(r)[q], weight(r, begin + q), past(r, begin + q));
    }
  }

 private:
  using Shard = SparseRows<Key, float, OptimizerState>;
  const Shard& shard(size_t r) const { return shards_[r % kShards]; }
  Shard& shard(size_t r) { return shards_[r % kShards]; }
  std::array<Shard, kShards> shards_;
  size_t rows_ = 0;
};

// How weights are stepped: by rate * g / sqrt(1 + sum of g^2). The 1 keeps the first steps of small gradients small.
struct Stepper {
  double rate;
  double seen;  // sentences

  void step(double gradient, float& weight, OptimizerState& past) const {
    past.squares += static_cast<float>(gradient * gradient);
    change(static_cast<float>(-rate * gradient / std::sqrt(1.0 + past.squares)), weight, past);
  }
  // What a squared penalty asks for: the least of penalty * w^2 and of the way from where the weight is, measured by
  // the length of its steps.
  void shrink(double penalty, float& weight, OptimizerState& past) const {
    const double by = 1 + 2 * penalty * rate / std::sqrt(1.0 + past.squares);
    change(static_cast<float>(weight / by) - weight, weight, past);
  }

 private:
  void change(float by, float& weight, OptimizerState& past) const {
    weight += by;
    past.late += static_cast<float>(seen) * by;
  }
};

}  // namespace tagwright
