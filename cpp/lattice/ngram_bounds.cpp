#include "lattice/ngram_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernels.h"
#include "lattice/chain.h"

namespace tagwright {

NgramBounds::NgramBounds(const EdgeScores& edges) {
  const LabelNgrams& ngrams = *edges.ngrams();
  const size_t L = edges.L(), nodes = ngrams.nodes();
  most_longer_.assign(nodes, 0.0);
  is_open_.assign(nodes, false);
  pair_.resize(nodes - L);
  known_.assign(nodes, kForbidden);
  any_.assign(nodes, kForbidden);
  best_known_.assign(nodes, kForbidden);
  best_any_.assign(nodes, kForbidden);
  reach_.assign((L + kGroup - 1) / kGroup * kGroup, -std::numeric_limits<float>::infinity());
  most_longer_after_.resize(L);
  const LabelNgrams::Range pairs = ngrams.at_depth(2);
  for (Node pair = pairs.first; pair < pairs.end; ++pair)
    edge_.push_back(edges.steps() ? 0
                                  : edges.base(0, static_cast<size_t>(ngrams.parent(pair)),
                                               static_cast<size_t>(ngrams.label(pair))));
  double most = 0, least = 0;
  // Longer ones first.
  for (auto node = static_cast<Node>(nodes); node-- > 0;) {
    find_longer(ngrams, node);
    for (const Node longer : ngrams.longer(node)) is_open_[node] = is_open_[node] || ngrams.context(longer) == longer;
    if (ngrams.is_label(node)) continue;
    pair_[static_cast<size_t>(node) - L] = node;
    most = std::max(most, ngrams.more(node));
    least = std::min(least, ngrams.more(node));
  }
  for (Node node = pairs.end; node < static_cast<Node>(nodes); ++node)
    pair_[static_cast<size_t>(node) - L] = pair_[static_cast<size_t>(ngrams.suffix(node)) - L];
  // The history matters to order - 1 of the labels behind it.
  spread_ = (most - least) * static_cast<double>(ngrams.order() - 1);
  for (Node node = static_cast<Node>(L); node < static_cast<Node>(nodes); ++node) find_sums(ngrams, node);
  for (Node node = 0; node < static_cast<Node>(nodes); ++node) find_best(ngrams, node);
  for (size_t y = 0; y < L; ++y) find_reach(edges, y);
  into_.assign(L, rounded_up(kForbidden));
  if (!edges.steps()) {
    std::vector<double> best(L);
    edges.step(0).best_in(best.data());
    for (size_t j = 0; j < L; ++j) raise(into_[j], best[j]);
  }
  for (Node pair = pairs.first; pair < pairs.end; ++pair) raise_into(ngrams, pair);
}

void NgramBounds::raise(float& bound, double score) { bound = std::max(bound, rounded_up(score)); }

// Updates the bound of the label that a pair ends with.
void NgramBounds::raise_into(const LabelNgrams& ngrams, Node pair) {
  const auto y = static_cast<size_t>(ngrams.label(pair));
  raise(into_[y], any_[pair]);
}

void NgramBounds::find_longer(const LabelNgrams& ngrams, Node node) {
  most_longer_[node] = 0;
  for (const Node longer : ngrams.longer(node))
    most_longer_[node] = std::max(most_longer_[node], ngrams.score(longer) + most_longer_[longer]);
}

void NgramBounds::find_sums(const LabelNgrams& ngrams, Node node) {
  const auto L = static_cast<Node>(ngrams.L());
  known_[node] = edge_[pair_[node - L] - L] + ngrams.more(node);
  any_[node] = known_[node] + most_longer_[node];
}

void NgramBounds::find_best(const LabelNgrams& ngrams, Node node) {
  const LabelNgrams::Range children = ngrams.children(node);
  const auto best = [&](const std::vector<double>& of) {
    const auto begin = of.begin() + children.first, end = of.begin() + children.end;
    return begin == end ? kForbidden : *std::max_element(begin, end);
  };
  best_known_[node] = best(known_);
  best_any_[node] = best(any_);
}

void NgramBounds::find_reach(const EdgeScores& edges, size_t y) {
  double most = 0;
  const LabelNgrams::Range pairs = edges.ngrams()->children(static_cast<Node>(y));
  for (Node pair = pairs.first; pair < pairs.end; ++pair) most = std::max(most, most_longer_[pair]);
  most_longer_after_[y] = rounded_up(most);
  if (edges.steps()) return;
  reach_[y] = std::max(edges.step(0).best_out(y), rounded_up(best_any_[y]));
}

void NgramBounds::edge_changed(const EdgeScores& edges, size_t i, size_t j) {
  const LabelNgrams& ngrams = *edges.ngrams();
  const Node pair = ngrams.child(static_cast<Node>(i), static_cast<int32_t>(j));
  raise(into_[j], edges.base(0, i, j));
  if (pair == LabelNgrams::kNoNode) return find_reach(edges, i);
  edge_[static_cast<size_t>(pair) - edges.L()] = edges.base(0, i, j);
  const auto change = [&](auto&& self, Node node) -> void {
    find_sums(ngrams, node);
    find_best(ngrams, ngrams.parent(node));
    for (const Node longer : ngrams.longer(node)) self(self, longer);
  };
  change(change, pair);
  raise_into(ngrams, pair);
  find_reach(edges, i);
}

void NgramBounds::ngram_changed(const EdgeScores& edges, Node changed) {
  const LabelNgrams& ngrams = *edges.ngrams();
  spread_ = std::max(spread_, 2 * ngrams.magnitude() * static_cast<double>(ngrams.order() - 1));
  const auto change = [&](Node node) {
    find_sums(ngrams, node);
    find_best(ngrams, ngrams.parent(node));
  };
  for (const Node longer : ngrams.longer(changed)) change(longer);
  change(changed);
  Node node = changed;
  while (!ngrams.is_label(ngrams.parent(node))) {
    node = ngrams.suffix(node);
    find_longer(ngrams, node);
    change(node);
  }
  raise_into(ngrams, node);
  find_reach(edges, static_cast<size_t>(ngrams.parent(node)));
}

}  // namespace tagwright
