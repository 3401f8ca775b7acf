#include "lattice/edges.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernels.h"

namespace tagwright {
namespace {

double median(std::vector<double>& values) {
  const auto at = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

const Edges::ChainAndBounds& Edges::chain_and_bounds() const {
  return chain_and_bounds_.get([&] {
    ChainAndBounds made{make_chain(L_, order_), {}};
    for (const auto& step : steps_) made.bounds.push_back(edge_bounds(*step, made.chain));
    return made;
  });
}

const EdgeScores& Edges::other_edges() const {
  return other_edges_.get([&] {
    PairRules::Pairs forbidden;
    const LabelNgrams::Range pairs = ngrams_->at_depth(2);
    for (LabelNgrams::Node pair = pairs.first; pair < pairs.end; ++pair)
      forbidden.emplace_back(ngrams_->parent(pair), ngrams_->label(pair));
    const std::vector<bool> any;
    return constrained(std::make_shared<const PairRules>(L_, std::vector<PairRule>(), std::move(forbidden), any, any));
  });
}

const Factors* Edges::factors() const {
  return per_step_ ? nullptr : &factors_.get([&] { return factors_of(*this); });
}

const std::vector<double>& Edges::weighted_scores() const {
  return weighted_scores_.get([&] {
    const Factors& own = *factors();
    std::vector<double> made = own.side[0].matrix;
    for (size_t i = 0; i < L_; ++i)
      for (size_t j = 0; j < L_; ++j)
        if (double& value = made[i * own.stride + j]; value > 0) value *= base(0, i, j) - own.shift;
    return made;
  });
}

const Edges::Outlook& Edges::outlook() const {
  return outlook_.get([&] {
    Outlook made;
    made.reach.assign((L_ + kGroup - 1) / kGroup * kGroup, -std::numeric_limits<float>::infinity());
    made.stop = made.reach;
    for (size_t y = 0; y < L_; ++y) made.stop[y] = rounded_up(stop(y));
    for (const double score : start_) made.scale = std::max(made.scale, score);
    for (const double score : stop_) made.scale = std::max(made.scale, score);
    if (per_step_) return made;
    std::vector<double> sizes;
    for (size_t i = 0; i < L_; ++i) {
      made.reach[i] = shared_->best_out(i);
      if (!std::isfinite(made.reach[i])) continue;
      const double best = static_cast<double>(made.reach[i]);
      sizes.push_back(std::fabs(best));
      made.scale = std::max(made.scale, best);
    }
    if (!sizes.empty()) made.scale = std::max(made.scale, median(sizes));
    if (std::vector<double> some = shared_->typical_scores(); !some.empty()) made.usual = median(some);
    return made;
  });
}

}  // namespace tagwright
