#include "sums/pruned_sums.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace tagwright {

void PrunedSums::clear() {
  begin_.assign(1, 0);
  step_begin_.assign(1, 0);
  label_.clear();
  psi_.clear();
  alpha_.clear();
  shift_.clear();
  total_.clear();
  step_.clear();
  upper_.clear();
  left_out_ = log_z_ = 0;
  all_ = 1;
}

void PrunedSums::add_column(std::span<const int32_t> labels, const double* scores) {
  const size_t n = labels.size(), at = label_.size(), before = T() ? size(T() - 1) : 0;
  label_.insert(label_.end(), labels.begin(), labels.end());
  psi_.resize(at + n);
  alpha_.resize(at + n);
  begin_.push_back(at + n);
  step_.resize(step_.size() + before * n);
  step_begin_.push_back(step_.size());
  shift_.push_back(kernels().max_d(scores, n));
  kernels().exp_d(scores, shift_.back(), n, psi_.data() + at);
  first_ = scores[0];
}

bool PrunedSums::forward(const double* messages, double lost) {
  const size_t t = T() - 1, n = size(t);
  const double* const psi = psi_.data() + begin_[t];
  double* const alpha = alpha_.data() + begin_[t];
  if (t == 0) {
    std::copy_n(psi, n, alpha);
  } else {
    const double* factor = factors();
    std::fill_n(alpha, n, 0.0);
    for (size_t p = begin_[t - 1]; p < begin_[t]; ++p, factor += n)
      for (size_t q = 0; q < n; ++q) alpha[q] += alpha_[p] * factor[q];
    for (size_t q = 0; q < n; ++q) alpha[q] *= psi[q];
  }
  double total = 0;
  for (size_t q = 0; q < n; ++q) total += alpha[q];
  if (!(total > 0)) return false;
  const double inverse = 1 / total;
  left_out_ = lost * std::exp(first_ - shift_[t]) * inverse;
  all_ = left_out_;
  upper_.resize(n);
  for (size_t q = 0; q < n; ++q) {
    alpha[q] *= inverse;
    upper_[q] = std::max(alpha[q], messages[q] * psi[q] * inverse);
    all_ += upper_[q];
  }
  total_.push_back(total);
  log_z_ += std::log(total) + shift_[t];
  return true;
}

bool PrunedSums::backward() {
  node_.resize(label_.size());
  beta_.assign(T() ? size(T() - 1) : 0, 1.0);
  for (size_t t = T(); t-- > 0;) {
    const size_t n = size(t);
    const double* const psi = psi_.data() + begin_[t];
    const double* const alpha = alpha_.data() + begin_[t];
    double* const node = node_.data() + begin_[t];
    double sum = 0;
    to_.resize(n);
    for (size_t q = 0; q < n; ++q) {
      sum += node[q] = alpha[q] * beta_[q];
      to_[q] = psi[q] * beta_[q];
    }
    if (!(sum > 0)) return false;
    for (size_t q = 0; q < n; ++q) node[q] /= sum;
    if (t == 0) break;
    beta_.resize(size(t - 1));
    const double* const from = alpha_.data() + begin_[t - 1];
    double* factor = step_.data() + step_begin_[t];
    double best = 0;
    for (size_t p = 0; p < beta_.size(); ++p, factor += n) {
      const double by = from[p] / (sum * total_[t]);
      beta_[p] = 0;
      for (size_t q = 0; q < n; ++q) {
        const double product = factor[q] * to_[q];
        beta_[p] += product;
        factor[q] = product * by;
      }
      best = std::max(best, beta_[p]);
    }
    for (double& beta : beta_) beta /= best;
  }
  return true;
}

}  // namespace tagwright
