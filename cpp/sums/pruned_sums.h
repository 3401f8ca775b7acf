// Sums of one sentence over pruned columns, with an upper bound of what pruning loses.
//
// Beside alpha, which sums over the labels of the columns, `upper` bounds the sum over all labels: the caller bounds
// the contribution of the pruned ones. So log Z over all labels is bounded before the backward pass.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tagwright {

class PrunedSums {
 public:
  // --- filled column by column, from the first on ---
  void clear();
  // A column of at least one label; they are in any order, with their node scores beside them.
  void add_column(std::span<const int32_t> labels, const double* scores);
  // The factors exp(edge score) of the step into it, [p * its labels + q], to be filled next.
  double* factors() { return step_.data() + step_begin_[step_begin_.size() - 2]; }
  // Then: goes forward into it. messages: beside the labels, the sum of upper() times the factors, plus left_out();
  // 1 in the first column. lost: a limit for the sum, over the other labels, of exp(node score) times the message times
  // the best factor out of the label, or 1 where that is less; as a multiple of exp(the first of the scores). Returns
  // whether a path remains: not where factors of 0 forbid all, or where numbers underflow.
  bool forward(const double* messages, double lost);

  // Of the last column, where alpha is scaled to a sum of 1: upper bounds of alpha, of what pruned labels send to any
  // label of the next column, and of both together.
  std::span<const double> upper() const { return upper_; }
  double left_out() const { return left_out_; }
  double all() const { return all_; }
  // Upper bound of log Z over all labels, less log Z, of the columns so far.
  double missing() const { return std::log(all_); }

  // --- then summed ---
  // Returns false where numbers underflow.
  bool backward();

  size_t T() const { return shift_.size(); }
  size_t kept() const { return label_.size(); }
  std::span<const int32_t> labels(size_t t) const { return of(label_, begin_, t); }
  // The probabilities of these labels, and of the pairs of the step into column t, [p * labels of t + q].
  std::span<const double> nodes(size_t t) const { return of(node_, begin_, t); }
  std::span<const double> edges(size_t t) const { return of(step_, step_begin_, t); }
  double log_z() const { return log_z_; }

 private:
  template <class V>
  static std::span<const V> of(const std::vector<V>& values, const std::vector<size_t>& begin, size_t t) {
    return std::span(values).subspan(begin[t], begin[t + 1] - begin[t]);
  }
  size_t size(size_t t) const { return begin_[t + 1] - begin_[t]; }

  std::vector<size_t> begin_, step_begin_;  // [t], and one more
  std::vector<int32_t> label_;
  std::vector<double> psi_, alpha_, node_;  // beside label_; psi: exp(score - shift)
  std::vector<double> shift_, total_;       // [t]; total: what alpha was divided by
  std::vector<double> step_;                // edge factors, then probabilities
  std::vector<double> upper_, beta_, to_;   // of a column
  double first_ = 0;                        // score of the last column
  double left_out_ = 0, all_ = 1, log_z_ = 0;
};

}  // namespace tagwright
