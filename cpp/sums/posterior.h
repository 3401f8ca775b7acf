// What the sums of a sentence say beyond single labels and edges: its entropy, and samples.
//
// p(path) = exp(score - log Z) is a Markov chain: its steps are those of Sums::Column, over the labels that were kept.
#pragma once

#include <cstdint>
#include <vector>

#include "sums/forward_backward.h"

namespace tagwright {

// The probability of label `next` of the column behind, given labels[p] of column t: what all spans, samples and
// entropies are products of. One row at a time, so that a sum in logarithms is normalised where it is used.
class Transitions {
 public:
  Transitions(const Lattice& lattice, const Sums& sums, Arena& arena);

  // Turns to labels[p] of column t.
  void from(size_t t, size_t p);
  // For labels[q] of column t + 1.
  double to(size_t q) const;

 private:
  const Lattice& lattice_;
  const Sums& sums_;
  double* scores_;  // [q], where sums are in logarithms
  size_t t_ = 0, p_ = 0;
  double base_ = 0;  // what a product, or a sum of logarithms, has to begin with
};

// The entropy of the distribution over labellings, in nats: H(y_0) + sum_t H(y_t+1 | y_t), each exact (Hernando, Crespi
// and Cybenko 2005 have it as a recursion). Nothing large is subtracted from anything large.
double entropy(const Lattice& lattice, const Factors* factors, const Sums& sums, Arena& arena);

// n labellings drawn from the distribution, [r * T + t]: backward, each label given the one behind it. Labelling r
// depends on seed and r only, not on n.
std::vector<int32_t> samples(const Lattice& lattice, const Sums& sums, size_t n, uint64_t seed, Arena& arena);

}  // namespace tagwright
