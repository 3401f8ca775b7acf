// PairTable: what ngrams of three labels add, written out for all L * L * L of them.
#pragma once

#include <cstddef>
#include <vector>

#include "lattice/ngrams.h"

namespace tagwright {

struct PairTable {
  size_t L = 0, stride = 0;
  bool single = false;    // whether every score is one of float32, which is held then
  std::vector<float> f;   // [(j * L + i) * stride + k]: what i, j, k in this order add
  std::vector<double> d;  // the same

  explicit PairTable(const LabelNgrams& ngrams);
  // Takes over the score of a run of three labels, which has changed to one of float32 where `single`.
  void change(const LabelNgrams& ngrams, LabelNgrams::Node run);
  double at(size_t i, size_t j, size_t k) const {
    const size_t place = (j * L + i) * stride + k;
    return single ? static_cast<double>(f[place]) : d[place];
  }
};

}  // namespace tagwright
