// k-best Viterbi (Huang et al. 2012, section 3.4): every node has a list of its best partial paths.
//
// Differs from the paper in when the lists are filled: a pass finds the first entry of each, and an entry behind it is
// made when a path needs it (recursive enumeration: Jimenez and Marzal 1999; Huang and Chiang 2005, Algorithm 3). So
// the lists hold what the k answers pass through, not k entries each, and time grows with k, not with its square.
//
// All sums are taken from left to right, in double precision, so that the order is that of the reported scores. Of
// entries with equal scores that of the lower label before comes first.
#include <algorithm>

#include "base/stop.h"
#include "decode/ranking.h"
#include "decode/viterbi.h"

namespace tagwright {
namespace {

// A partial path that ends in a node: its score, and the partial path before it.
struct Partial {
  double score;
  int32_t label, which;  // of the column before: which entry of that label's list
};

bool worse(const Partial& a, const Partial& b) { return a.score != b.score ? a.score < b.score : a.label > b.label; }

struct Node {
  size_t t, y;
  std::vector<Partial> list;        // best first
  std::vector<Partial> candidates;  // for the next entry, a heap; scores without the node's own
  Ranking before;                   // the labels of the column before, by the first entries of their lists
  size_t opened = 0;                // of these, how many have been candidates
  bool whole = false;               // whether the list has no further entry
};

class KBest {
 public:
  KBest(const Lattice& lattice, Arena& arena, Work& work)
      : lattice_(lattice), alpha_(forward_scores(lattice, arena, work)), work_(work) {
    number_.assign(lattice.T * lattice.L + 1, -1);
    end_ = node(lattice.T, 0);
  }

  // The labels of the r-th best path; empty where there are fewer. To be called for r = 0, 1, 2, ...
  std::vector<int32_t> labels(size_t r) {
    if (r > 0) extend_list();
    if (nodes_[end_].list.size() <= r) return {};
    std::vector<int32_t> labels(lattice_.T);
    Partial at = nodes_[end_].list[r];
    for (size_t t = lattice_.T; t-- > 0;) {
      labels[t] = at.label;
      at = nodes_[before(t + 1, at)].list[static_cast<size_t>(at.which)];
    }
    return labels;
  }

 private:
  // Label y of column t with, at least, the first entry of its list. The end is behind the last column.
  size_t node(size_t t, size_t y) {
    int32_t& number = number_[t * lattice_.L + y];
    if (number >= 0) return static_cast<size_t>(number);
    number = static_cast<int32_t>(nodes_.size());
    Node made{t, y, {}, {}, {}, 0, t == 0};
    if (t == 0) {
      made.list.push_back({alpha_[0][y], -1, -1});
    } else {
      open(made);
      append_best(made);
    }
    nodes_.push_back(std::move(made));
    return nodes_.size() - 1;
  }

  size_t before(size_t t, const Partial& at) { return node(t - 1, static_cast<size_t>(at.label)); }

  // The next label of the column before becomes a candidate, by the first entry of its list.
  void open(Node& node) {
    const auto fill = [&](double* edges, double* reached) {
      const size_t L = lattice_.L;
      if (node.t < lattice_.T) lattice_.column(node.t - 1, node.y, edges);
      for (size_t i = 0; node.t == lattice_.T && i < L; ++i) edges[i] = lattice_.edges.stop(i);
      for (size_t i = 0; i < L; ++i) reached[i] = alpha_[node.t - 1][i] + edges[i];
      work_.edges += L;
      meter_.count(4 * L);
    };
    if (const Way* way = rankings_.way(node.before, node.opened, lattice_.L, fill)) {
      push(node, {way->promise, way->q, 0});
      ++node.opened;
    }
  }

  static void push(Node& node, const Partial& candidate) {
    node.candidates.push_back(candidate);
    std::push_heap(node.candidates.begin(), node.candidates.end(), worse);
  }

  // The best candidate becomes the next entry.
  void append_best(Node& node) {
    node.whole = node.candidates.empty();
    if (node.whole) return;
    std::pop_heap(node.candidates.begin(), node.candidates.end(), worse);
    Partial best = node.candidates.back();
    node.candidates.pop_back();
    if (node.t < lattice_.T) best.score += lattice_.node(node.t, node.y);
    node.list.push_back(best);
    ++work_.nodes;
  }

  // Makes the next entry of the end's list. Behind its last entry comes the entry behind that one's own predecessor,
  // for which the same holds: down to a node whose list has it already, or has no more; and then up again.
  void extend_list() {
    meter_.count(16 * lattice_.T);
    chain_.clear();
    for (size_t n = end_; !nodes_[n].whole;) {
      chain_.push_back(n);
      const Partial last = nodes_[n].list.back();
      const size_t from = before(nodes_[n].t, last);
      if (nodes_[from].list.size() > static_cast<size_t>(last.which) + 1) break;
      n = from;
    }
    for (; !chain_.empty(); chain_.pop_back()) {
      Node& node = nodes_[chain_.back()];
      const Partial last = node.list.back();
      const std::vector<Partial>& list = nodes_[before(node.t, last)].list;
      const auto next = static_cast<size_t>(last.which) + 1;
      if (next < list.size()) push(node, {list[next].score + edge(node, last.label), last.label, last.which + 1});
      if (last.which == 0) open(node);
      append_best(node);
    }
  }

  double edge(const Node& node, int32_t label) const {
    const auto i = static_cast<size_t>(label);
    return node.t == lattice_.T ? lattice_.edges.stop(i) : lattice_.edge(node.t - 1, i, node.y);
  }

  const Lattice& lattice_;
  const ForwardScores alpha_;
  Work& work_;
  std::vector<int32_t> number_;  // [t * L + y]: index of a node, -1: not made yet
  std::vector<Node> nodes_;
  Rankings rankings_;
  std::vector<size_t> chain_;
  Meter meter_;
  size_t end_;
};

}  // namespace

Answer kbest_viterbi(const Lattice& lattice, size_t k, Arena& arena) {
  Answer answer;
  answer.work.rounds = 1;
  KBest best(lattice, arena, answer.work);
  while (answer.paths.size() < k) {
    std::vector<int32_t> labels = best.labels(answer.paths.size());
    if (labels.empty()) break;
    answer.paths.push_back({std::move(labels)});
  }
  return answer;
}

}  // namespace tagwright
