// Viterbi A* (Huang et al. 2012, section 3.5, Algorithm 3): a Viterbi pass, then its paths best first.
//
// The pass gives every node the score of the best path to it; walked against the pass, that is all A* needs to know
// of what is ahead, and it never leaves the paths it returns. Differs from the paper in how the agenda is filled:
// when a path is found, not all its neighbours go on the agenda, but the next best continuation at each of its
// nodes; that one's own successor follows when it leaves. A node's continuations are ranked once for all paths, and
// no further than is needed.
#include <algorithm>
#include <queue>
#include <stdexcept>

#include "base/stop.h"
#include "decode/graph.h"
#include "decode/ranking.h"
#include "decode/viterbi.h"

namespace tagwright {
namespace {

// A partial path: a node, the partial path it continues, and as which of that one's continuations.
struct Item {
  double score;    // of the path so far
  double promise;  // of the best path that starts with it
  int32_t t, q;
  int32_t before;
  uint32_t sibling;
};

class Enumeration {
 public:
  Enumeration(const Graph& graph, size_t k, Work& work) : graph_(graph), k_(k), work_(work) {
    begin_.resize(graph.T + 1);
    for (size_t t = 0; t < graph.T; ++t) begin_[t + 1] = begin_[t] + graph.size(t);
    ranking_of_.assign(begin_[graph.T], -1);
    rankings_.emplace_back();
  }

  std::vector<GraphPath> run() {
    std::vector<GraphPath> found;
    if (int32_t first = make(-1, 0); first >= 0) agenda_.push({promise(first), first});
    while (!agenda_.empty() && found.size() < k_) {
      int32_t item = agenda_.top().second;
      agenda_.pop();
      // Down the best continuations to the end: none of these need wait on the agenda, nothing on it is better.
      while (item >= 0) {
        const Item here = items_[static_cast<size_t>(item)];
        ++work_.nodes;
        meter_.count(16);
        if (const int32_t next = make(here.before, here.sibling + 1); next >= 0) agenda_.push({promise(next), next});
        if (static_cast<size_t>(here.t) + 1 == graph_.T) break;
        item = make(item, 0);
      }
      // What is ahead is the truth: a path that cannot be extended would mean an endless search of all paths.
      if (item < 0) throw std::runtime_error(kScoresChanged);
      found.push_back(path_to(item));
    }
    return found;
  }

 private:
  double promise(int32_t item) const { return items_[static_cast<size_t>(item)].promise; }

  // The sibling-th best continuation of an item (-1: of nothing, in the first column); -1 where there is none.
  int32_t make(int32_t before, uint32_t sibling) {
    const Item* from = before < 0 ? nullptr : &items_[static_cast<size_t>(before)];
    const size_t t = from ? static_cast<size_t>(from->t) + 1 : 0, p = from ? static_cast<size_t>(from->q) : 0;
    size_t index = 0;
    if (from) {
      int32_t& of = ranking_of_[begin_[t - 1] + p];
      if (of < 0) {
        of = static_cast<int32_t>(rankings_.size());
        rankings_.emplace_back();
      }
      index = static_cast<size_t>(of);
    }
    const auto fill = [&](double* scores, double* promises) {
      from ? graph_.next(t - 1, p, scores) : graph_.first(scores);
      const double* ahead = graph_.ahead(t);
      const size_t size = graph_.size(t);
      for (size_t q = 0; q < size; ++q) promises[q] = scores[q] + ahead[q];
      work_.edges += from ? size : 0;
      meter_.count(4 * size);
    };
    const Way* next = ways_.way(rankings_[index], sibling, graph_.size(t), fill);
    if (!next) return -1;
    const double so_far = from ? from->score : 0;
    items_.push_back({so_far + next->score, so_far + next->promise, static_cast<int32_t>(t), next->q, before, sibling});
    return static_cast<int32_t>(items_.size() - 1);
  }

  GraphPath path_to(int32_t item) const {
    GraphPath path{std::vector<int32_t>(graph_.T), promise(item)};
    for (; item >= 0; item = items_[static_cast<size_t>(item)].before) {
      const Item& at = items_[static_cast<size_t>(item)];
      path.at[static_cast<size_t>(at.t)] = at.q;
    }
    return path;
  }

  const Graph& graph_;
  const size_t k_;
  Work& work_;
  std::vector<size_t> begin_;        // [t]: where column t's nodes start in ranking_of_
  std::vector<int32_t> ranking_of_;  // [node]: index into rankings_, -1: not ranked yet
  std::vector<Ranking> rankings_;    // 0: of the first column
  Rankings ways_;
  std::vector<Item> items_;
  Meter meter_;
  std::priority_queue<std::pair<double, int32_t>> agenda_;
};

}  // namespace

std::vector<GraphPath> enumerate_paths(const Graph& graph, size_t k, Work& work) {
  return Enumeration(graph, k, work).run();
}

Answer viterbi_astar(const Lattice& lattice, const Options& options, Arena& arena) {
  const size_t T = lattice.T, L = lattice.L;
  Answer answer;
  answer.work.rounds = 1;
  const ForwardScores alpha = forward_scores(lattice, arena, answer.work);
  // Walked from the last column to the first: position s is column T - 1 - s. What is ahead of a label is its
  // alpha, which holds its own node score already; that score joins the path when the path moves on.
  Graph graph;
  graph.T = T;
  graph.size = [&](size_t) { return L; };
  graph.first = [&](double* out) {
    for (size_t y = 0; y < L; ++y) out[y] = lattice.edges.stop(y);
  };
  graph.next = [&](size_t s, size_t p, double* out) {
    const size_t t = T - 1 - s;
    const double node = lattice.node(t, p);
    lattice.column(t - 1, p, out);
    for (size_t y = 0; y < L; ++y) out[y] += node;
  };
  graph.ahead = [&](size_t s) { return alpha[T - 1 - s]; };
  for (GraphPath& path : enumerate_paths(graph, options.k, answer.work)) {
    std::reverse(path.at.begin(), path.at.end());
    answer.paths.push_back({std::move(path.at)});
  }
  return answer;
}

}  // namespace tagwright
