// Upper bounds of what n-grams add where the history is only partly known.
#pragma once

#include <cstddef>
#include <vector>

#include "lattice/edge_scores.h"

namespace tagwright {

class NgramBounds {
 public:
  using Node = LabelNgrams::Node;

  explicit NgramBounds(const EdgeScores& edges);

  // The most that n-grams which are longer than a node, and end with it, add to more(node); at least 0.
  double most_longer(Node node) const { return most_longer_[node]; }
  // Its maximum over the pairs that begin with a label.
  float most_longer_after(int32_t y) const { return most_longer_after_[static_cast<size_t>(y)]; }
  // Whether the history before this node may matter: whether a longer node is a context.
  bool is_open(Node node) const { return is_open_[node]; }

  // --- with edges, where all steps share them ---

  // The edge of a pair.
  double edge(Node pair) const { return edge_[static_cast<size_t>(pair) - most_longer_after_.size()]; }
  // For the children of a node, [node]: the edge to their last label and what n-grams add, where no history or none
  // that matters precedes them (known), or with the best history (any).
  const double* known(Node node) const { return known_.data() + node; }
  const double* any(Node node) const { return any_.data() + node; }
  // The best of the children.
  double best_known(Node node) const { return best_known_[node]; }
  double best_any(Node node) const { return best_any_[node]; }
  // [label]: the best edge out of it with what n-grams add, or a little more; -inf beyond the last label, up to a
  // whole group of the tree.
  const std::vector<float>& reach() const { return reach_; }
  // [label]: the same for the best edge into it; an upper bound only where edges or n-grams were changed.
  float into(int32_t y) const { return into_[static_cast<size_t>(y)]; }
  // Upper bound of the difference that the history makes to the same labels; infinite where n-grams forbid.
  double spread() const { return spread_; }

  // To be called after the score of an edge or of an n-gram has changed.
  void edge_changed(const EdgeScores& edges, size_t i, size_t j);
  void ngram_changed(const EdgeScores& edges, Node node);

 private:
  void find_longer(const LabelNgrams& ngrams, Node node);
  void find_sums(const LabelNgrams& ngrams, Node node);
  void find_best(const LabelNgrams& ngrams, Node node);
  void find_reach(const EdgeScores& edges, size_t y);
  static void raise(float& bound, double score);
  void raise_into(const LabelNgrams& ngrams, Node pair);

  std::vector<double> most_longer_;            // [node]
  std::vector<bool> is_open_;                  // [node]
  std::vector<double> edge_;                   // [pair - L]
  std::vector<Node> pair_;                     // [node - L]: its last two labels
  std::vector<double> known_, any_;            // [node]
  std::vector<double> best_known_, best_any_;  // [node]
  std::vector<float> reach_, into_;            // [label]
  std::vector<float> most_longer_after_;       // [label]
  double spread_ = 0;
};

}  // namespace tagwright
