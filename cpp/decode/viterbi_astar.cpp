// Viterbi A* (Huang et al. 2012, section 3.5, Algorithm 3): a Viterbi pass, then its paths best first.
//
// The pass gives every node the score of the best path to it: an exact heuristic for A* against the direction of the
// pass, which therefore extends only partial paths of its answers. Deviations: when a path is found, not all its
// neighbours enter the agenda, but the next best extension at each of its nodes; that one's own successor follows when
// it is popped. The extensions of a node are ranked once for all paths, and no further than needed.
#include <algorithm>
#include <queue>
#include <stdexcept>

#include "base/stop.h"
#include "decode/graph.h"
#include "decode/viterbi.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

// An extension of a node by node q of the next column.
struct Extension {
  double priority;  // its score plus the heuristic of node q
  double score;
  int32_t q;
};

bool better(const Extension& a, const Extension& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.q < b.q;
}

// The best extensions of one node: a range of a pool.
struct Ranking {
  size_t begin = 0, size = 0, requested = 0;
};

class Rankings {
 public:
  // Returns the n-th best extension, or nullptr where fewer are not forbidden; valid until the next call. fill(scores,
  // priorities) writes those of all `size` nodes; it is called again when a ranking grows, by a factor of four.
  template <class Fill>
  const Extension* find(Ranking& ranking, size_t n, size_t size, Fill&& fill) {
    if (n >= ranking.size && ranking.size == ranking.requested) {
      ranking.requested = std::max<size_t>(n + 1, ranking.requested ? 4 * ranking.requested : 2);
      scores_.resize(size);
      priorities_.resize(size);
      fill(scores_.data(), priorities_.data());
      ranking.begin = pool_.size();
      ranking.requested == 2 ? rank_two() : rank(ranking.requested);
      ranking.size = pool_.size() - ranking.begin;
    }
    return n < ranking.size ? &pool_[ranking.begin + n] : nullptr;
  }

 private:
  void rank_two() {
    for (int n = 0; n < 2 && !priorities_.empty(); ++n) {
      const size_t q = kernels().argmax_d(priorities_.data(), priorities_.size());
      if (priorities_[q] == kForbidden) return;
      pool_.push_back({priorities_[q], scores_[q], static_cast<int32_t>(q)});
      priorities_[q] = kForbidden;
    }
  }

  void rank(size_t n) {
    const auto begin = static_cast<ptrdiff_t>(pool_.size());
    for (size_t q = 0; q < priorities_.size(); ++q)
      if (priorities_[q] != kForbidden) pool_.push_back({priorities_[q], scores_[q], static_cast<int32_t>(q)});
    const auto first = pool_.begin() + begin;
    const auto end = first + std::min(static_cast<ptrdiff_t>(n), pool_.end() - first);
    std::nth_element(first, end, pool_.end(), better);
    pool_.erase(end, pool_.end());
    std::sort(first, pool_.end(), better);
  }

  std::vector<Extension> pool_;
  std::vector<double> scores_, priorities_;
};

// A partial path: its last node, the partial path that it extends, and the rank of that extension.
struct Partial {
  double score;
  double priority;  // score of the best path that starts with it
  int32_t t, q;
  int32_t before;
  uint32_t rank;
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
    push(-1, 0);
    while (!agenda_.empty() && found.size() < k_) {
      int32_t partial = agenda_.top().second;
      agenda_.pop();
      // Along the best extensions to the end: they need not wait on the agenda, which holds nothing better.
      while (partial >= 0) {
        const Partial here = partials_[static_cast<size_t>(partial)];
        ++work_.nodes;
        meter_.count(16);
        push(here.before, here.rank + 1);
        if (static_cast<size_t>(here.t) + 1 == graph_.T) break;
        partial = extend(partial, 0);
      }
      // The heuristic is exact: a partial path without extension would mean an endless search of all paths.
      if (partial < 0) throw std::runtime_error(kScoresChanged);
      found.push_back(path_to(partial));
    }
    return found;
  }

 private:
  double priority(int32_t partial) const { return partials_[static_cast<size_t>(partial)].priority; }

  void push(int32_t before, uint32_t rank) {
    if (const int32_t made = extend(before, rank); made >= 0) agenda_.push({priority(made), made});
  }

  // Returns a partial path (-1: the empty one) with its extension of this rank; -1 where there is none.
  int32_t extend(int32_t before, uint32_t rank) {
    const Partial* from = before < 0 ? nullptr : &partials_[static_cast<size_t>(before)];
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
    const size_t size = begin_[t + 1] - begin_[t];
    const auto fill = [&](double* scores, double* priorities) {
      from ? graph_.next(t - 1, p, scores) : graph_.first(scores);
      kernels().extend_dd(0, scores, graph_.heuristic(t), size, priorities);
      work_.edges += from ? size : 0;
      meter_.count(4 * size);
    };
    const Extension* next = extensions_.find(rankings_[index], rank, size, fill);
    if (!next) return -1;
    const double score = from ? from->score : 0;
    partials_.push_back({score + next->score, score + next->priority, static_cast<int32_t>(t), next->q, before, rank});
    return static_cast<int32_t>(partials_.size() - 1);
  }

  GraphPath path_to(int32_t partial) const {
    GraphPath path{std::vector<int32_t>(graph_.T), priority(partial)};
    for (; partial >= 0; partial = partials_[static_cast<size_t>(partial)].before) {
      const Partial& at = partials_[static_cast<size_t>(partial)];
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
  Rankings extensions_;
  std::vector<Partial> partials_;
  Meter meter_;
  std::priority_queue<std::pair<double, int32_t>> agenda_;
};

}  // namespace

std::vector<GraphPath> enumerate_paths(const Graph& graph, size_t k, Work& work) {
  return Enumeration(graph, k, work).run();
}

std::vector<Path> enumerate_backward(const Lattice& lattice, const ForwardPass& pass, size_t k, Work& work) {
  const size_t T = lattice.T, C = pass.states;
  // Position s is column T - 1 - s. The heuristic of a state is its alpha, which includes its own node score: that
  // score is added with the step that leaves the state.
  Graph graph;
  graph.T = T;
  graph.size = [&](size_t) { return C; };
  graph.first = [&](double* out) {
    std::fill(out, out + C, 0.0);
    for (size_t c = 0; c < C && !lattice.edges.stop().empty(); ++c)
      out[c] = lattice.edges.stop(static_cast<size_t>(pass.label(c)));
  };
  graph.next = [&](size_t s, size_t p, double* out) {
    const size_t t = T - 1 - s;
    const double node = lattice.node(t, static_cast<size_t>(pass.label(p)));
    pass.into(t, p, out);
    for (size_t c = 0; c < C; ++c) out[c] += node;
  };
  graph.heuristic = [&](size_t s) { return pass.alpha + (T - 1 - s) * pass.stride; };
  std::vector<Path> paths;
  for (GraphPath& path : enumerate_paths(graph, k, work)) {
    std::reverse(path.at.begin(), path.at.end());
    for (int32_t& at : path.at) at = pass.label(static_cast<size_t>(at));
    paths.push_back({std::move(path.at)});
  }
  return paths;
}

Answer viterbi_astar(const Lattice& lattice, const Options& options, Arena& arena) {
  Answer answer;
  answer.work.rounds = 1;
  const ForwardScores alpha = forward_scores(lattice, arena, answer.work);
  const ForwardPass pass{.states = lattice.L,
                         .label_of = {},
                         .alpha = alpha[0],
                         .stride = lattice.edges.stride(),
                         .into = [&](size_t t, size_t y, double* out) { lattice.column(t - 1, y, out); }};
  answer.paths = enumerate_backward(lattice, pass, options.k, answer.work);
  return answer;
}

}  // namespace tagwright
