#include "train/edge_factors.h"

#include <algorithm>
#include <cmath>

#include "base/need.h"
#include "kernels/elementary.h"
#include "kernels/kernels.h"

namespace tagwright {

EdgeFactors::EdgeFactors(const WeightStore& store, std::shared_ptr<const PairRules> rules)
    : store_(store),
      rules_(std::move(rules)),
      L_(store.corpus().L),
      padded_((L_ + kGroup - 1) / kGroup * kGroup),
      into_(padded_, 0.0F),
      out_(padded_, 0.0F),
      best_correction_(store.corpus().sets(), 0.0F) {
  if (choose_edge_form(L_, 0, EdgeUse::kTraining) == EdgeForm::kSparse) return;
  factor_.assign(times(L_, L_), 1.0F);
  for (size_t q = 0; q < factor_.size() && rules_; ++q)
    if (!rules_->may_follow(q / L_, q % L_)) factor_[q] = 0;
}

void EdgeFactors::fill(const Corpus& corpus, size_t token, std::span<const int32_t> from, std::span<const int32_t> to,
                       double* out) const {
  const size_t n = to.size();
  for (size_t p = 0; p < from.size(); ++p) {
    const auto i = static_cast<size_t>(from[p]);
    double* const row = out + p * n;
    if (!factor_.empty()) {
      const float* const all = factor_.data() + i * L_;
      for (size_t q = 0; q < n; ++q) row[q] = all[to[q]];
    } else {
      for (size_t q = 0; q < n; ++q) row[q] = store_.edges().at(i, static_cast<uint16_t>(to[q]));
      kernels().exp_d(row, 0, n, row);
      for (size_t q = 0; q < n && rules_; ++q)
        if (!rules_->may_follow(i, static_cast<size_t>(to[q]))) row[q] = 0;
    }
    for (const int32_t set : corpus.sets_of(token)) {
      for (size_t q = 0; q < n; ++q) {
        const float more = store_.sets().at(static_cast<size_t>(set), Corrections::pair(from[p], to[q]));
        if (more != 0) row[q] *= portable_exp(static_cast<double>(more));
      }
    }
  }
}

double EdgeFactors::correction_bound(const Corpus& corpus, size_t token) const {
  double sum = 0;
  for (const int32_t set : corpus.sets_of(token)) sum += best_correction_[static_cast<size_t>(set)];
  return sum;
}

void EdgeFactors::edge_changed(size_t i, size_t j, float weight) {
  // A model that training starts from may have weights for pairs that are forbidden now.
  if (rules_ && !rules_->may_follow(i, j)) return;
  into_[j] = std::max(into_[j], weight);
  out_[i] = std::max(out_[i], weight);
  if (factor_.empty()) return;
  const double score = weight;
  double factor;
  kernels().exp_d(&score, 0, 1, &factor);
  factor_[i * L_ + j] = static_cast<float>(factor);
}

void EdgeFactors::correction_changed(size_t set, float weight) {
  best_correction_[set] = std::max(best_correction_[set], weight);
}

// The bounds are those of the weights as they are, so that they do not depend on how these came about.
void EdgeFactors::rebuild() {
  std::fill(into_.begin(), into_.end(), 0.0F);
  std::fill(out_.begin(), out_.end(), 0.0F);
  std::fill(best_correction_.begin(), best_correction_.end(), 0.0F);
  const auto& edges = store_.edges();
  for (size_t i = 0; i < edges.rows(); ++i)
    for (size_t q = 0; q < edges.size(i); ++q) edge_changed(i, edges.keys(i)[q], edges.values(i)[q]);
  const auto& sets = store_.sets();
  for (size_t set = 0; set < sets.rows(); ++set)
    for (const float weight : sets.values(set)) correction_changed(set, weight);
}

std::vector<float> EdgeFactors::bounds() const {
  std::vector<float> made(into_);
  made.insert(made.end(), out_.begin(), out_.end());
  made.insert(made.end(), best_correction_.begin(), best_correction_.end());
  return made;
}

void EdgeFactors::set_bounds(std::span<const float> bounds) {
  need(bounds.size() == bound_count(), "there must be one bound per label and correction set");
  for (std::vector<float>* to : {&into_, &out_, &best_correction_}) {
    std::copy_n(bounds.begin(), to->size(), to->begin());
    bounds = bounds.subspan(to->size());
  }
}

}  // namespace tagwright
