// What ngrams can add at most where not all of the past is known.
#pragma once

#include <cstddef>
#include <vector>

#include "lattice/edge_scores.h"

namespace tagwright {

class NgramBounds {
 public:
  using Node = LabelNgrams::Node;

  explicit NgramBounds(const EdgeScores& edges);

  // The most that the ngrams which are longer than a node, and end with it, add to more(node); never less than 0.
  double left(Node node) const { return left_[node]; }
  // The same of the pairs that begin with a label, or end with it: the largest; and of all pairs.
  float most_left(int32_t y) const { return most_left_[static_cast<size_t>(y)]; }
  float most_left_into(int32_t y) const { return most_left_into_[static_cast<size_t>(y)]; }
  float most_left() const { return most_; }
  // Whether it may matter what stands before a labelling that is this node: whether a longer one is a context.
  bool is_open(Node node) const { return is_open_[node]; }

  // --- with edges, where all steps share them ---

  // The edge of a pair.
  double edge(Node pair) const { return edge_[static_cast<size_t>(pair) - most_left_.size()]; }
  // For the children of a node, [node]: the edge to their last label and what ngrams add, given that nothing or
  // nothing that matters stands before (known), or whatever does (any).
  const double* known(Node node) const { return known_.data() + node; }
  const double* any(Node node) const { return any_.data() + node; }
  // The best of the children.
  double best_known(Node node) const { return best_known_[node]; }
  double best_any(Node node) const { return best_any_[node]; }
  // [label]: the best edge out of it with what ngrams add, or a little more; -inf beyond the last label, up to a
  // whole group of the tree.
  const std::vector<float>& reach() const { return reach_; }
  // [label]: the same for the best edge into it; where edges or ngrams were changed, perhaps more.
  float into(int32_t y) const { return into_[static_cast<size_t>(y)]; }
  // How far what two pasts add to the same labels can be apart; infinite where ngrams forbid.
  double spread() const { return spread_; }

  // After the score of an edge or of a ngram was changed.
  void edge_changed(const EdgeScores& edges, size_t i, size_t j);
  void ngram_changed(const EdgeScores& edges, Node node);

 private:
  void find_left(const LabelNgrams& ngrams, Node node);
  void find_sums(const LabelNgrams& ngrams, Node node);
  void find_best(const LabelNgrams& ngrams, Node node);
  void find_reach(const EdgeScores& edges, size_t y);
  static void raise(float& bound, double score);
  void raise_into(const LabelNgrams& ngrams, Node pair);

  std::vector<double> left_;                       // [node]
  std::vector<bool> is_open_;                      // [node]
  std::vector<double> edge_;                       // [pair - L]
  std::vector<Node> pair_;                         // [node - L]: its last two labels
  std::vector<double> known_, any_;                // [node]
  std::vector<double> best_known_, best_any_;      // [node]
  std::vector<float> reach_, into_;                // [label]
  std::vector<float> most_left_, most_left_into_;  // [label]
  float most_ = 0;
  double spread_ = 0;
};

}  // namespace tagwright
