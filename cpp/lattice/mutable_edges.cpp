#include "lattice/mutable_edges.h"

#include <algorithm>
#include <cmath>

namespace tagwright {

namespace {

EdgeScores first_scores(size_t L, EdgeForm form, size_t correction_sets, std::shared_ptr<const PairRules> rules) {
  EdgeScores made = EdgeScores::from_triples(L, 0.0, {}, form, {.correction_sets = correction_sets});
  return rules ? made.constrained(std::move(rules), false) : made;
}

}  // namespace

MutableEdges::MutableEdges(size_t L, EdgeForm form, size_t correction_sets, std::shared_ptr<const PairRules> rules)
    : Edges(first_scores(L, form, correction_sets, std::move(rules))) {}

void MutableEdges::change(size_t i, size_t j, double score) {
  const double before = base(0, i, j);
  if (score == before || (rules_ && !rules_->may_follow(i, j))) return;
  steps_[0]->change(i, j, score);
  if (std::isfinite(score)) magnitude_ = std::max(magnitude_, std::fabs(score));
  factors_.forget();
  other_edges_.forget();
  if (NgramBounds* bounds = ngram_bounds_.made()) bounds->edge_changed(*this, i, j);
  if (Outlook* outlook = outlook_.made()) {
    outlook->reach[i] = shared_->best_out(i);
    outlook->scale = std::max(outlook->scale, static_cast<double>(outlook->reach[i]));
  }
  ChainAndBounds* const derived = chain_and_bounds_.made();
  if (!derived) return;
  constexpr size_t kMany = 1024;
  if (score > before) {
    raise_bounds(derived->bounds[0], derived->chain, i, j, score);
  } else if (++lowered_ >= kMany) {
    derived->bounds[0] = edge_bounds(*shared_, derived->chain);
    lowered_ = 0;
  }
}

void MutableEdges::hold_ngrams(std::span<const int32_t> runs) {
  own_ngrams_ = runs.empty() ? nullptr : std::make_shared<MutableNgrams>(L_, runs);
  ngrams_ = own_ngrams_;
  contexts_.forget();
  other_edges_.forget();
  ngram_bounds_.forget();
}

void MutableEdges::change_ngram(LabelNgrams::Node node, double score) {
  own_ngrams_->change(node, score);
  if (NgramBounds* const bounds = ngram_bounds_.made()) bounds->ngram_changed(*this, node);
}

void MutableEdges::change_correction(size_t set, size_t i, size_t j, double score) {
  corrections_.at(corrections_.find_or_add(set, Corrections::pair(static_cast<int32_t>(i), static_cast<int32_t>(j)))) =
      score;
}

}  // namespace tagwright
