// Sentences of a batch in SIMD lanes: forward, backward, and expected counts of edges.
#pragma once

#include <vector>

#include "kernels/kernels.h"
#include "sums/batch.h"

namespace tagwright {

// Sentences that share the lanes of one or two vectors of 32 bytes, in precision E.
template <class E>
inline constexpr size_t kMostLanes = 64 / sizeof(E);

template <class E>
const BatchKernels<E>& batch_kernels() {
  if constexpr (sizeof(E) == 4) {
    return kernels().batch_f;
  } else {
    return kernels().batch_d;
  }
}

template <class E>
class LaneUnit {
 public:
  // who: sentences, the longest first, none without tokens.
  LaneUnit(const BatchFactors<E>& factors, const BatchEdges& edges, const Batch& batch, std::span<const size_t> who);

  // The memory that it needs, in values of E.
  size_t room() const { return times(2 * T_ + 2, stride_); }
  // Fills log Z and, where it goes backward, the derivatives of nodes. The memory is used until the last count.
  void run(E* memory, bool back);
  // Adds what edges count to `count`: those of labels first <= i < last. Weighted neither by their factors nor by what
  // all sentences share. entries: the pairs that are counted, by previous label; nullptr: all, [i * L + j].
  void count(size_t first, size_t last, const PairEntries* entries, E* count) const;
  // The sentences whose numbers left the range of E; they are not counted.
  std::vector<size_t> in_trouble() const;

 private:
  void nodes(size_t t);
  const E* row(size_t lane, size_t t, double& most);
  void send(size_t direction, const E* from, const double* total, E* to);
  void sum_again(size_t direction, const E* from, const double* total, E* to);
  void look(size_t t, const E* column);
  void forward();
  void backward();
  E* alpha(size_t t) const { return alpha_ + t * stride_; }
  E* psi(size_t t) const { return psi_ + t * stride_; }
  bool there(size_t lane, size_t t) const { return lane < who_.size() && t < lengths_[lane]; }

  const BatchFactors<E>& factors_;
  const BatchEdges& edges_;
  const Batch& batch_;
  std::vector<size_t> who_, lengths_;
  size_t L_, T_, vectors_, lanes_, stride_;
  E *alpha_ = nullptr, *psi_ = nullptr;  // [t][y][lane]; going backward, psi becomes what follows a step
  E *beta_ = nullptr, *rows_ = nullptr;  // [y][lane]; [lane][y]
  std::vector<double> scale_;            // [t][lane]
  std::vector<double> lowered_;          // [lane]: by how much the scores of the column were
  std::vector<bool> trouble_;            // [lane]
  std::vector<int32_t> below_;
};

}  // namespace tagwright
