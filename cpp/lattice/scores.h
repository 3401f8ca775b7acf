// Scores: numbers in the log domain. Higher is better; -inf forbids.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

namespace tagwright {

inline constexpr double kForbidden = -std::numeric_limits<double>::infinity();

// Scores beyond this could overflow when they are summed; they are refused at the door.
inline constexpr double kLargestScore = 1e290;

// What a sum in float32 may lose of itself; and what up to eight of them may lose below the smallest float32.
inline constexpr double kFloatRounding = 0x1p-24, kFloatTiny = 1e-44;

// Beyond this magnitude float32 settles too little to be worth a pass of its own.
inline constexpr double kFloatRange = 1e5;

// A view of float32 or float64 numbers; at most one pointer is set.
struct Scores {
  const float* f = nullptr;
  const double* d = nullptr;

  explicit operator bool() const { return f || d; }
  double operator[](size_t i) const { return f ? static_cast<double>(f[i]) : d[i]; }
  Scores from(size_t offset) const { return f ? Scores{f + offset, nullptr} : Scores{nullptr, d + offset}; }
};

// The largest of n scores.
double largest_of(Scores scores, size_t n);

// Whether a number may be a score.
bool is_score(double score);
// What is wrong with one that may not be, and what to do about it: " is NaN; ...".
std::string why_no_score(double score);

// magnitude: the largest finite one of n scores. bad: the first that is not a score, or n.
struct ScoreCheck {
  double magnitude;
  size_t bad;
};
ScoreCheck check_scores(Scores scores, size_t n);

}  // namespace tagwright
