// LabelNgrams: sequences of three or four labels that have a score, which is added wherever they occur.
//
// They are a trie that is closed under suffixes: with an n-gram, all its prefixes and all their suffixes are nodes. The
// longest node that a labelling ends with is therefore all that n-grams depend on (Aho and Corasick 1975; Cuong, Ye,
// Lee and Chieu 2014 build CRFs of variable order on it). Nodes 0 .. L-1 are the labels themselves, followed by the
// pairs, the trigrams and the 4-grams, each in the order of their labels: the children of a node are consecutive.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lattice/scores.h"

namespace tagwright {

// N-grams of labels, four places to each, the last one -1 in trigrams. score: one per n-gram.
struct NgramList {
  static constexpr size_t kLongest = 4, kShortest = 3;

  std::span<const int32_t> labels;  // [q * kLongest + n]
  std::span<const double> score;
  bool keep_all = false;  // whether n-grams of score 0 are held, so that the nodes do not depend on scores

  size_t size() const { return score.size(); }
};

class LabelNgrams {
 public:
  using Node = int32_t;
  static constexpr Node kNoNode = -1;

  // Throws std::invalid_argument for labels out of range, n-grams of another length or given twice, and invalid scores.
  LabelNgrams(size_t L, const NgramList& ngrams);

  size_t L() const { return L_; }
  // The number of n-grams; the longest has order() + 1 labels.
  size_t size() const { return size_; }
  size_t order() const { return order_; }
  size_t nodes() const { return label_.size(); }
  // The number of distinct values of context().
  size_t contexts() const { return contexts_; }
  // Upper bound of the absolute value of more(), -inf aside.
  double magnitude() const { return magnitude_; }

  // --- the longest node that a labelling ends with, label by label from Node(first label) on ---

  // The longest node that the labelling ends with once label k is appended; at: that of the labelling before.
  Node next(Node at, int32_t k) const {
    for (Node from = context(at);; from = suffix(from)) {
      if (const Node found = child(from, k); found != kNoNode) return found;
      if (is_label(from)) return k;
    }
  }
  // The same where the labelling ends with more than a label, and the pair of that label and k is a node.
  Node next(Node at, int32_t k, Node pair) const {
    for (Node from = context(at); !is_label(from); from = suffix(from))
      if (const Node found = child(from, k); found != kNoNode) return found;
    return pair;
  }
  // What n-grams add where a labelling reaches this node: its own score and those of its suffixes.
  double more(Node at) const { return facts_[at].more; }
  // All that next() depends on: the longest suffix of the node that has children, or its last label.
  Node context(Node at) const { return facts_[at].context; }

  // --- of the trie ---

  bool is_label(Node node) const { return static_cast<size_t>(node) < L_; }
  Node child(Node node, int32_t k) const {
    const auto [first, end] = children(node);
    return place_of(label_.data() + first, static_cast<size_t>(end - first), k, first);
  }
  // The node of the pair j, k, or kNoNode: as child(j, k), but faster for several j and one k.
  Node pair(int32_t j, int32_t k) const {
    const Node first = longer_begin_[k];
    const Node found = place_of(first_.data() + first, static_cast<size_t>(longer_begin_[k + 1] - first), j, first);
    return found == kNoNode ? kNoNode : longer_[static_cast<size_t>(found)];
  }
  // The children of a node are first .. end - 1, their labels in rising order.
  struct Range {
    Node first, end;
  };
  Range children(Node node) const { return {facts_[node].begin, facts_[node + 1].begin}; }
  int32_t label(Node node) const { return label_[node]; }                  // the last one
  const int32_t* labels(Node node) const { return label_.data() + node; }  // of consecutive nodes
  Node parent(Node node) const { return facts_[node].parent; }             // without the last label
  Node suffix(Node node) const { return facts_[node].suffix; }  // without the first one; of a label, the label
  double score(Node node) const { return facts_[node].score; }  // its own; 0 where it is only a prefix or suffix
  size_t depth(Node node) const;
  // The nodes that end with this one and have one label more.
  std::span<const Node> longer(Node node) const {
    return std::span(longer_).subspan(static_cast<size_t>(longer_begin_[node]),
                                      static_cast<size_t>(longer_begin_[node + 1] - longer_begin_[node]));
  }
  // The nodes of a depth: first .. end - 1. Depth 1 are the labels.
  Range at_depth(size_t depth) const { return {level_[depth - 1], level_[depth]}; }
  // The node of a sequence of labels, or kNoNode.
  Node find(std::span<const int32_t> labels) const;

 protected:
  // Where a label stands among n rising ones, counted from `first`; kNoNode where it does not.
  static Node place_of(const int32_t* labels, size_t n, int32_t label, Node first) {
    if (n == 0) return kNoNode;
    const int32_t* base = labels;
    // std::lower_bound without branches: where a label lies cannot be guessed.
    while (n > 1) {
      const size_t half = n / 2;
      base += base[half - 1] < label ? half : 0;
      n -= half;
    }
    return *base == label ? first + static_cast<Node>(base - labels) : kNoNode;
  }

  size_t L_, size_ = 0, order_ = 0, contexts_ = 0;
  std::array<Node, NgramList::kLongest + 1> level_{};  // [depth - 1]: its first node
  // In one place, since they are read together.
  struct Facts {
    double score = 0, more = 0;
    Node begin = 0;  // its first child
    Node parent = 0, suffix = 0, context = 0;
  };
  std::vector<Facts> facts_;                 // [node], and one more
  std::vector<int32_t> label_;               // [node]
  std::vector<Node> longer_begin_, longer_;  // [node], and one more; the nodes that longer() returns
  std::vector<int32_t> first_;               // beside those of labels: the first label of each pair
  double magnitude_ = 0;
};

// LabelNgrams whose scores a trainer changes; the set of n-grams is fixed.
class MutableNgrams : public LabelNgrams {
 public:
  // All score 0. labels: as in NgramList.
  MutableNgrams(size_t L, std::span<const int32_t> labels);

  void change(Node node, double score);
};

}  // namespace tagwright
