// The posterior of a sentence beyond single labels and edges: its transitions, its entropy, and samples.
//
// p(path) = exp(score - log Z) is a Markov chain over the labels that were not pruned; Sums::Column has its steps.
#pragma once

#include <cstdint>
#include <vector>

#include "sums/forward_backward.h"

namespace tagwright {

// Transition probabilities: of a label of the next column, given labels[p] of column t. One row at a time, so that sums
// in the log domain are normalised where they are used.
class Transitions {
 public:
  Transitions(const Sums& sums, Arena& arena);

  // Selects labels[p] of column t.
  void from(size_t t, size_t p);
  // For labels[q] of column t + 1.
  double to(size_t q) const;

 private:
  const Sums& sums_;
  double* scores_;  // [q], where sums are in logarithms
  size_t t_ = 0, p_ = 0;
  double base_ = 0;  // first factor of the products, or normaliser in the log domain
};

// The entropy of the distribution over labellings, in nats: H(y_0) + sum_t H(y_t+1 | y_t), each exact (Hernando, Crespi
// and Cybenko 2005 have it as a recursion). Nothing large is subtracted from anything large.
double entropy(const Sums& sums, Arena& arena);

// n labellings drawn from the distribution, [r * T + t]: backward, each label given the one behind it. Labelling r
// depends on seed and r only, not on n.
std::vector<int32_t> samples(const Sums& sums, size_t n, uint64_t seed, Arena& arena);

}  // namespace tagwright
