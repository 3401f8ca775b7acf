// Pruning rules: which labels of a column sparse forward-backward keeps (Pal, Sutton and McCallum 2006, section 3,
// where a rule is a beam criterion).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tagwright {

struct PruningRule {
  enum class Rule { kAll, kDivergence, kSize, kRatio };
  Rule rule = Rule::kAll;
  double epsilon = 0;   // kDivergence: the most that -log Z(I) may be
  size_t at_least = 1;  // kDivergence
  size_t size = 1;      // kSize
  double ratio = 1;     // kRatio: of the best belief

  // The rule of this name ("" for all labels) with its number and, of "divergence", the fewest labels it keeps. Throws
  // std::invalid_argument where they are out of range.
  static PruningRule named(const std::string& rule, double value, size_t at_least);

  bool all() const { return rule == Rule::kAll; }
  // As the command line writes it: "divergence:0.001:4".
  std::string text() const;
};

// Chooses labels by their beliefs, in time that grows with L and the number chosen, not with the sorting of all.
class Chooser {
 public:
  // Fills kept, with room for L, with the chosen labels in their order; returns how many there are. belief: [y], not
  // negative; they need not sum to 1. Labels of belief 0 are never chosen, and of equal ones the lower goes first.
  // also: a label that is kept whatever its belief, or -1.
  size_t choose(const PruningRule& keep, const double* belief, size_t L, int32_t also, int32_t* kept);

 private:
  size_t best(const double* belief, size_t L, size_t n, int32_t* kept);
  size_t divergence(const PruningRule& keep, const double* belief, size_t L, int32_t* kept);
  size_t enough(const double* belief, double target, size_t n, size_t some, int32_t* kept);
  std::vector<int32_t> order_;
  std::vector<double> mass_;   // [power of 2]
  std::vector<size_t> count_;  // [power of 2]
};

// Returns a value that at least n of the values reach, found without sorting them: the n-th best of the best of each
// run, or of all where there are fewer runs. -inf where there are fewer values.
double reached_by(const double* values, size_t count, size_t n);

}  // namespace tagwright
