#include "lattice/scores.h"

#include <cmath>
#include <cstdio>

#include "kernels/kernels.h"

namespace tagwright {

double largest_of(Scores scores, size_t n) {
  return scores.f ? kernels().max_f(scores.f, n) : kernels().max_d(scores.d, n);
}

bool is_score(double score) { return score <= kLargestScore && !(std::isfinite(score) && score < -kLargestScore); }

std::string why_no_score(double score) {
  if (std::isnan(score)) return " is NaN; scores must be numbers or -inf";
  if (std::isinf(score)) return " is +inf; only -inf is allowed (it forbids)";
  char number[32];
  std::snprintf(number, sizeof number, "%g", score);
  return std::string(" is ") + number + "; scores beyond 1e290 cannot be summed, scale them down";
}

ScoreCheck check_scores(Scores scores, size_t n) {
  const Scan found = scores.f ? kernels().scan_f(scores.f, n) : kernels().scan_d(scores.d, n);
  if (found.valid && found.magnitude <= kLargestScore) return {found.magnitude, n};
  size_t bad = 0;
  while (bad + 1 < n && is_score(scores[bad])) ++bad;
  return {found.magnitude, bad};
}

}  // namespace tagwright
