// Edge scores as factors, exp(e - shift), for sums: for all steps, or for one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lattice/edge_scores.h"

namespace tagwright {

struct Factors {
  // The factors out of each label: [0] by previous label, [1] by current label. So a message backward is a message
  // forward over the other side.
  struct Side {
    // A matrix, [i * stride + j], or
    std::vector<double> matrix;
    // default + exceptions: those of label i from begin[i] to begin[i + 1].
    std::vector<size_t> begin;
    std::vector<int32_t> index;
    std::vector<double> factor;
    std::vector<double> more;  // factor - rest
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
};

// t: the step, where there is one matrix per step.
Factors factors_of(const EdgeScores& edges, size_t t = 0);

// What is left of a total must be more than this share of it to be trusted.
inline constexpr double kFewDigits = 1e-6;

// See forward_backward.cpp.
inline constexpr double kTame = 300;

}  // namespace tagwright
