// Viterbi A* (Huang et al. 2012, section 3.5, Algorithm 3): a Viterbi pass, then its paths best first.
//
// The pass gives every node the score of the best path to it; walked against the pass, that is all A* needs to know
// of what is ahead, and it never leaves the paths it returns. Differs from the paper in how the agenda is filled:
// when a path is found, not all its neighbours go on the agenda, but the next best continuation at each of its
// nodes; that one's own successor follows when it leaves. A node's continuations are ranked once for all paths, and
// no further than is asked for.
#include <algorithm>
#include <queue>

#include "decode/graph.h"
#include "decode/viterbi.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

struct Ranked {
  double promise;  // score of the continuation plus what is ahead of it
  double score;
  int32_t q;
};

bool better(const Ranked& a, const Ranked& b) { return a.promise != b.promise ? a.promise > b.promise : a.q < b.q; }

// The continuations of one node, best first, as far as asked for: a stretch of a pool.
struct Ranking {
  size_t begin = 0, size = 0, wanted = 0;
};

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
        if (const int32_t next = make(here.before, here.sibling + 1); next >= 0) agenda_.push({promise(next), next});
        if (static_cast<size_t>(here.t) + 1 == graph_.T) break;
        item = make(item, 0);
      }
      if (item >= 0) found.push_back(path_to(item));
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
    const Ranking& ranking = rank(index, t, p, sibling + 1);
    if (sibling >= ranking.size) return -1;
    const Ranked next = pool_[ranking.begin + sibling];
    const double so_far = from ? from->score : 0;
    items_.push_back({so_far + next.score, so_far + next.promise, static_cast<int32_t>(t), next.q, before, sibling});
    return static_cast<int32_t>(items_.size() - 1);
  }

  // The ranking with at least n places, or all there are. Ranks a stretch at a time, four times as long each time.
  const Ranking& rank(size_t index, size_t t, size_t p, size_t n) {
    Ranking& ranking = rankings_[index];
    if (ranking.size >= n || (ranking.wanted && ranking.size < ranking.wanted)) return ranking;
    ranking.wanted = std::max<size_t>(n, ranking.wanted ? 4 * ranking.wanted : 2);
    const size_t size = graph_.size(t);
    scratch_.resize(size);
    promise_.resize(size);
    if (t == 0) {
      graph_.first(scratch_.data());
    } else {
      graph_.next(t - 1, p, scratch_.data());
      work_.edges += size;
    }
    const double* ahead = graph_.ahead(t);
    for (size_t q = 0; q < size; ++q) promise_[q] = scratch_[q] + ahead[q];
    ranking.begin = pool_.size();
    if (ranking.wanted == 2) {
      best_two();
    } else {
      for (size_t q = 0; q < size; ++q)
        if (promise_[q] != kForbidden) pool_.push_back({promise_[q], scratch_[q], static_cast<int32_t>(q)});
      const auto begin = pool_.begin() + static_cast<ptrdiff_t>(ranking.begin);
      const auto end = begin + static_cast<ptrdiff_t>(std::min(ranking.wanted, pool_.size() - ranking.begin));
      std::nth_element(begin, end, pool_.end(), better);
      pool_.erase(end, pool_.end());
      std::sort(begin, pool_.end(), better);
    }
    ranking.size = pool_.size() - ranking.begin;
    return ranking;
  }

  void best_two() {
    for (int n = 0; n < 2 && !promise_.empty(); ++n) {
      const size_t q = kernels().argmax_d(promise_.data(), promise_.size());
      if (promise_[q] == kForbidden) return;
      pool_.push_back({promise_[q], scratch_[q], static_cast<int32_t>(q)});
      promise_[q] = kForbidden;
    }
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
  std::vector<Ranked> pool_;
  std::vector<Item> items_;
  std::vector<double> scratch_, promise_;
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
    answer.paths.push_back(scored(lattice, std::move(path.at)));
  }
  return answer;
}

}  // namespace tagwright
