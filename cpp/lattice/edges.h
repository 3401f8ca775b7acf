// Edges: scores, and what is derived from them, shared by every sentence and every thread.
#pragma once

#include <vector>

#include "base/lazy.h"
#include "lattice/chain.h"
#include "lattice/contexts.h"
#include "lattice/edge_scores.h"
#include "lattice/factors.h"
#include "lattice/ngram_bounds.h"

namespace tagwright {

// Each derived thing is made on first use.
class Edges : public EdgeScores {
 public:
  explicit Edges(EdgeScores scores) : EdgeScores(std::move(scores)) {}

  // The chain of Kaji and Huang over these labels, and its edge bounds at step t.
  const Chain& chain() const { return chain_and_bounds().chain; }
  const Bounds& chain_bounds(size_t t) const { return chain_and_bounds().bounds[per_step_ ? t : 0]; }
  // The states that ngrams need; only where there are some.
  const Contexts& contexts() const {
    return contexts_.get([&] { return Contexts(*ngrams_); });
  }
  // What they can add at most. Not for one matrix per step.
  const NgramBounds& ngram_bounds() const {
    return ngram_bounds_.get([&] { return NgramBounds(*this); });
  }
  // The most that they add where this pair ends, whatever comes before it.
  double most_added(LabelNgrams::Node pair) const {
    return per_step_ ? ngrams_->magnitude() : ngrams_->more(pair) + ngram_bounds().most_longer(pair);
  }
  // The edges of which no ngram knows: -inf for the pairs of labels that are nodes. Not for one matrix per step.
  const EdgeScores& other_edges() const;
  // The same for sums; nullptr where there is one matrix per step.
  const Factors* factors() const;
  // For expected scores: factor * (score - shift) of each edge, beside the matrix of factors(); where that is dense.
  const std::vector<double>& weighted_scores() const;

  // [i]: the best edge out of label i, or a little more; -inf beyond the last label, up to a whole group of the tree.
  // nullptr where steps differ.
  const float* reach() const { return per_step_ ? nullptr : outlook().reach.data(); }
  // [y]: the stop score of label y, or a little more; padded in the same way.
  const float* stop_reach() const { return outlook().stop.data(); }
  // What many edges score: the default if it does not forbid, or the median of some; -inf where steps differ. A hint,
  // not a bound.
  double usual() const { return outlook().usual; }
  // How much edges, start and stop scores matter: the best one, or the median of the labels' best edges where that is
  // of larger magnitude. Edges that all but forbid, such as -1e9, do not count. A hint, not a bound.
  double scale() const { return outlook().scale; }

 protected:
  struct ChainAndBounds {
    Chain chain;
    std::vector<Bounds> bounds;  // [t], or one for all steps
  };
  struct Outlook {
    std::vector<float> reach, stop;
    double usual = kForbidden, scale = 0;
  };
  const ChainAndBounds& chain_and_bounds() const;
  const Outlook& outlook() const;

  Lazy<ChainAndBounds> chain_and_bounds_;
  Lazy<Outlook> outlook_;
  Lazy<Contexts> contexts_;
  Lazy<EdgeScores> other_edges_;
  Lazy<NgramBounds> ngram_bounds_;
  Lazy<Factors> factors_;
  Lazy<std::vector<double>> weighted_scores_;
};

}  // namespace tagwright
