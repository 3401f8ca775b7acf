// Labels that are made of parts: NN|B-NP is NN and B-NP, ncmsl1 is n, c, m, s, l and 1.
//
// A feature may have weights for parts beside those for labels; a label's score is its own and those of its parts. So
// what is learnt of NN|B-NP serves NN|I-NP too (Silfverberg, Ruokolainen, Lindén and Kurimo 2014).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/need.h"

namespace tagwright {

// Part p has the key L + p, behind the labels' own. Every label has `each` parts; a label of fewer pieces has the empty
// piece in the other places.
struct Parts {
  size_t L = 0, count = 0, each = 0;
  std::span<const uint16_t> of;  // [k * L + y]: the k-th part of label y

  // Those that an array [k * L + y] describes.
  static Parts of_array(std::span<const uint16_t> of, size_t L) {
    const size_t count = of.empty() ? 0 : size_t{*std::max_element(of.begin(), of.end())} + 1;
    return {L, count, L ? of.size() / L : 0, of};
  }

  size_t keys() const { return L + count; }
  // The key of the k-th part of label y.
  size_t key(size_t k, size_t y) const { return L + of[k * L + y]; }

  void check() const { need(of.size() == each * L, "parts: there must be as many for each label"); }

  // scores: [key], of labels and parts; those of the parts are added to those of the labels.
  template <class Score>
  void add_to_labels(Score* scores) const {
    size_t k = 0;
    for (; k + 3 <= each; k += 3) add_some<3>(k, scores + L, scores);
    if (k + 2 == each) add_some<2>(k, scores + L, scores);
    if (k + 1 == each) add_some<1>(k, scores + L, scores);
  }
  // The same for one label: returns its score.
  template <class Score>
  Score of_label(const Score* scores, size_t y) const {
    Score sum = scores[y];
    for (size_t k = 0; k < each; ++k) sum += scores[key(k, y)];
    return sum;
  }

 private:
  // The parts k .. k + N - 1: a label's score is read and written once for all of them.
  template <size_t N, class Score>
  void add_some(size_t k, const Score* __restrict part, Score* __restrict scores) const {
    const uint16_t* const own = of.data() + k * L;
    for (size_t y = 0; y < L; ++y) {
      Score sum = scores[y];
      for (size_t n = 0; n < N; ++n) sum += part[own[n * L + y]];
      scores[y] = sum;
    }
  }
};

}  // namespace tagwright
