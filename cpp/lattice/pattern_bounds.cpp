#include "lattice/pattern_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernels.h"
#include "lattice/chain.h"

namespace tagwright {

PatternBounds::PatternBounds(const EdgeScores& edges) {
  const Patterns& patterns = *edges.patterns();
  const size_t L = edges.L(), nodes = patterns.nodes();
  left_.assign(nodes, 0.0);
  is_open_.assign(nodes, false);
  pair_.resize(nodes - L);
  known_.assign(nodes, kForbidden);
  any_.assign(nodes, kForbidden);
  best_known_.assign(nodes, kForbidden);
  best_any_.assign(nodes, kForbidden);
  reach_.assign((L + kGroup - 1) / kGroup * kGroup, -std::numeric_limits<float>::infinity());
  most_left_.resize(L);
  most_left_into_.resize(L);
  const Patterns::Range pairs = patterns.at_depth(2);
  for (Node pair = pairs.first; pair < pairs.end; ++pair)
    edge_.push_back(edges.is_stepwise() ? 0
                                        : edges.base(0, static_cast<size_t>(patterns.parent(pair)),
                                                     static_cast<size_t>(patterns.label(pair))));
  double most = 0, least = 0;
  // Longer ones first.
  for (auto node = static_cast<Node>(nodes); node-- > 0;) {
    find_left(patterns, node);
    for (const Node longer : patterns.longer(node))
      is_open_[node] = is_open_[node] || patterns.context(longer) == longer;
    if (patterns.is_label(node)) continue;
    pair_[static_cast<size_t>(node) - L] = node;
    most = std::max(most, patterns.more(node));
    least = std::min(least, patterns.more(node));
  }
  for (Node node = pairs.end; node < static_cast<Node>(nodes); ++node)
    pair_[static_cast<size_t>(node) - L] = pair_[static_cast<size_t>(patterns.suffix(node)) - L];
  // A past matters to as many labels behind it as the order has more than one.
  spread_ = (most - least) * static_cast<double>(patterns.order() - 1);
  for (Node node = static_cast<Node>(L); node < static_cast<Node>(nodes); ++node) find_sums(patterns, node);
  for (Node node = 0; node < static_cast<Node>(nodes); ++node) find_best(patterns, node);
  for (size_t y = 0; y < L; ++y) find_reach(edges, y);
  into_.assign(L, rounded_up(edges.is_sparse() ? edges.fallback() : kForbidden));
  std::vector<double> row(L);
  for (size_t i = 0; i < L && !edges.is_stepwise(); ++i) {
    if (edges.is_sparse()) {
      raise(into_[i], edges.columns().largest()[i]);
      continue;
    }
    edges.row(0, i, row.data());
    for (size_t j = 0; j < L; ++j) raise(into_[j], row[j]);
  }
  for (Node pair = pairs.first; pair < pairs.end; ++pair) raise_into(patterns, pair);
}

void PatternBounds::raise(float& bound, double score) { bound = std::max(bound, rounded_up(score)); }

// What is said of the labels that a pair ends with, and of all pairs.
void PatternBounds::raise_into(const Patterns& patterns, Node pair) {
  const auto y = static_cast<size_t>(patterns.label(pair));
  raise(into_[y], any_[pair]);
  raise(most_left_into_[y], left_[pair]);
  raise(most_, left_[pair]);
}

void PatternBounds::find_left(const Patterns& patterns, Node node) {
  left_[node] = 0;
  for (const Node longer : patterns.longer(node))
    left_[node] = std::max(left_[node], patterns.score(longer) + left_[longer]);
}

void PatternBounds::find_sums(const Patterns& patterns, Node node) {
  const auto L = static_cast<Node>(patterns.L());
  known_[node] = edge_[pair_[node - L] - L] + patterns.more(node);
  any_[node] = known_[node] + left_[node];
}

void PatternBounds::find_best(const Patterns& patterns, Node node) {
  const Patterns::Range children = patterns.children(node);
  const auto best = [&](const std::vector<double>& of) {
    const auto begin = of.begin() + children.first, end = of.begin() + children.end;
    return begin == end ? kForbidden : *std::max_element(begin, end);
  };
  best_known_[node] = best(known_);
  best_any_[node] = best(any_);
}

void PatternBounds::find_reach(const EdgeScores& edges, size_t y) {
  double most = 0;
  const Patterns::Range pairs = edges.patterns()->children(static_cast<Node>(y));
  for (Node pair = pairs.first; pair < pairs.end; ++pair) most = std::max(most, left_[pair]);
  most_left_[y] = rounded_up(most);
  if (edges.is_stepwise()) return;
  reach_[y] = std::max(best_out(edges, 0, y), rounded_up(best_any_[y]));
}

void PatternBounds::edge_changed(const EdgeScores& edges, size_t i, size_t j) {
  const Patterns& patterns = *edges.patterns();
  const Node pair = patterns.child(static_cast<Node>(i), static_cast<int32_t>(j));
  raise(into_[j], edges.base(0, i, j));
  if (pair == Patterns::kNoNode) return find_reach(edges, i);
  edge_[static_cast<size_t>(pair) - edges.L()] = edges.base(0, i, j);
  const auto change = [&](auto&& self, Node node) -> void {
    find_sums(patterns, node);
    find_best(patterns, patterns.parent(node));
    for (const Node longer : patterns.longer(node)) self(self, longer);
  };
  change(change, pair);
  raise_into(patterns, pair);
  find_reach(edges, i);
}

void PatternBounds::pattern_changed(const EdgeScores& edges, Node changed) {
  const Patterns& patterns = *edges.patterns();
  spread_ = std::max(spread_, 2 * patterns.magnitude() * static_cast<double>(patterns.order() - 1));
  const auto change = [&](Node node) {
    find_sums(patterns, node);
    find_best(patterns, patterns.parent(node));
  };
  for (const Node longer : patterns.longer(changed)) change(longer);
  change(changed);
  Node node = changed;
  while (!patterns.is_label(patterns.parent(node))) {
    node = patterns.suffix(node);
    find_left(patterns, node);
    change(node);
  }
  raise_into(patterns, node);
  find_reach(edges, static_cast<size_t>(patterns.parent(node)));
}

}  // namespace tagwright
