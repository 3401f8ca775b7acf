// Edge scores as factors, exp(e - shift), for sums: for all steps, or for one of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/arena.h"
#include "base/csr.h"
#include "kernels/kernels.h"
#include "lattice/pair_rules.h"
#include "lattice/scores.h"

namespace tagwright {

using Labels = std::span<const int32_t>;

// Labels of a column, and one value for each.
struct LabelValues {
  Labels labels;
  const double* value;  // [p]

  size_t size() const { return labels.size(); }
};

struct Factors {
  // The factors out of each label: [0] by previous label, [1] by current label. So a message backward is a message
  // forward over the other side.
  struct Side : Csr {            // exceptions of each label
    std::vector<double> factor;  // [entry]
    std::vector<double> more;    // [entry]: factor - rest
    std::vector<double> matrix;  // or, where dense, [i * stride + j]
  };
  size_t L = 0, stride = 0;
  bool dense = false;
  double shift = 0;
  double rest = 0;                   // the factor of every edge that is no exception, and that the rules allow
  const PairRules* rules = nullptr;  // of the edges, where these limit the default
  Side side[2];
  bool close = false;    // whether the finite edge scores are within kTame of each other
  bool forbids = false;  // whether one is -inf, or is forbidden by the rules
  // Whether no exception is far below the default. What default edges bring is a total less the exceptions; where these
  // are far below, too few digits may be left, and it must be summed again.
  bool mild = false;

  double at(size_t i, size_t j) const;
  // Which of the factors by previous label that of an edge is, or Csr::kNoPlace where it has the default; and how many
  // there are.
  size_t entry(size_t i, size_t j) const;
  size_t entries() const { return dense ? side[0].matrix.size() : side[0].factor.size(); }
  // Adds from * factor * to, rounded to multiples of grain, to the counts of these factors, [entry]. zeros: [label],
  // scratch.
  void count(const LabelValues& from, const LabelValues& to, double grain, double* zeros, double* counts) const;
};

// What is left of a total must be more than this share of it to be trusted.
inline constexpr double kFewDigits = 1e-6;

// See forward_backward.cpp.
inline constexpr double kTame = 300;

// x, rounded to a multiple of grain (a power of 2; |x| < 2^51 grain). Sums of such numbers are exact as long as they
// stay below 2^53 grains, so they do not depend on the order in which they are taken.
inline double to_grain(double x, double grain) {
  const double anchor = grain * 0x1.8p52;
  return (x + anchor) - anchor;
}

// The range of some edge scores, from which factors get their shift.
struct ScoreRange {
  double least = -kForbidden, most = kForbidden;
  bool forbids = false;

  void add(double score) {
    if (score == kForbidden) {
      forbids = true;
    } else {
      least = std::min(least, score);
      most = std::max(most, score);
    }
  }
  void apply(Factors& factors) const {
    factors.shift = most == kForbidden ? 0 : most;
    factors.close = !(most - least > kTame);
    factors.forbids = forbids;
  }
};

// Factors as a matrix. row(i, out): writes the scores of row i.
template <class Row>
Factors dense_factors(size_t L, Row&& row) {
  constexpr size_t kLine = 8;
  Factors made;
  made.L = L;
  made.dense = true;
  made.stride = (L + kLine - 1) / kLine * kLine;
  std::vector<double> scores(L);
  ScoreRange range;
  for (size_t i = 0; i < L; ++i) {
    row(i, scores.data());
    for (const double score : scores) range.add(score);
  }
  range.apply(made);
  for (Factors::Side& side : made.side) side.matrix.assign(times(L, made.stride), 0.0);
  for (size_t i = 0; i < L; ++i) {
    row(i, scores.data());
    double* const to = made.side[0].matrix.data() + i * made.stride;
    kernels().exp_d(scores.data(), made.shift, L, to);
    for (size_t j = 0; j < L; ++j) made.side[1].matrix[j * made.stride + i] = to[j];
  }
  return made;
}

}  // namespace tagwright
