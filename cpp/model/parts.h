// Labels that are made of parts: NN|B-NP is NN and B-NP, ncmsl1 is n, c, m, s, l and 1.
//
// A feature may have weights for parts beside those for labels; a label's score is its own and those of its parts. So
// what is learnt of NN|B-NP serves NN|I-NP too (Silfverberg, Ruokolainen, Lindén and Kurimo 2014).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace tagwright {

// Part p has the key L + p, behind the labels' own. Every label has `each` parts; one that falls into fewer pieces has
// the empty piece in the other places.
struct Parts {
  size_t L = 0, count = 0, each = 0;
  std::span<const uint16_t> of;  // [k * L + y]: the k-th part of label y

  size_t keys() const { return L + count; }

  void check() const {
    if (each == 0 && count != 0) throw std::invalid_argument("parts: no label has any");
    if (of.size() != each * L) throw std::invalid_argument("parts: there must be as many for each label");
    for (const uint16_t part : of)
      if (part >= count) throw std::invalid_argument("parts: one that is not there");
  }

  // scores: [key], of labels and parts; those of the parts are added to those of the labels.
  template <class Score>
  void add_to_labels(Score* scores) const {
    for (size_t k = 0; k < each; ++k) {
      const uint16_t* part = of.data() + k * L;
      for (size_t y = 0; y < L; ++y) scores[y] += scores[L + part[y]];
    }
  }
};

}  // namespace tagwright
