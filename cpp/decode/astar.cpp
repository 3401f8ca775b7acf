// A* (Huang et al. 2012, sections 4.1 and 4.3) and Viterbi A* (section 3.5, Algorithm 3).
//
// One search serves both: A* walks forward and looks ahead by a bound; Viterbi A* walks backward and looks ahead by
// the forward scores themselves, so that it never leaves the paths it returns.
//
// Differs from the paper in how the agenda is filled: not with all L successors of a node but with the best one,
// and with the next best when that one leaves the agenda. A node's successors are ranked once, in ever longer
// stretches, for all the partial paths that reach it.
#include <algorithm>
#include <cmath>
#include <queue>

#include "algorithms.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

struct Ranked {
  double score;  // edge and node score plus ahead
  int32_t q;
};

bool better(const Ranked& a, const Ranked& b) { return a.score != b.score ? a.score > b.score : a.q < b.q; }

// The successors of one node, best first, as far as anybody has asked.
struct Ranking {
  std::vector<Ranked> best;
  size_t wanted = 0;
};

// A partial path: a node and the partial path it extends.
struct Item {
  double score;     // of the path so far
  double priority;  // plus ahead
  int32_t t, q;
  int32_t before;    // index of an item, -1 for none
  uint32_t sibling;  // place among the successors of `before`
};

class Search {
 public:
  Search(const Graph& graph, size_t k, Work& work) : graph_(graph), k_(k), work_(work) {
    begin_.resize(graph.T + 1);
    for (size_t t = 0; t < graph.T; ++t) begin_[t + 1] = begin_[t] + graph.size(t);
    ranking_of_.assign(begin_[graph.T], -1);
    popped_.assign(begin_[graph.T], 0);
  }

  std::vector<GraphPath> run() {
    std::vector<GraphPath> found;
    rankings_.emplace_back();
    push(-1, 0);
    while (!agenda_.empty() && found.size() < k_) {
      const int32_t top = agenda_.top().second;
      agenda_.pop();
      const Item item = items_[static_cast<size_t>(top)];
      push(item.before, item.sibling + 1);
      // A node's k best partial paths leave the agenda first; no later one can be part of an answer.
      uint32_t& times = popped_[begin_[static_cast<size_t>(item.t)] + static_cast<size_t>(item.q)];
      if (times == k_) continue;
      ++times;
      ++work_.nodes;
      if (static_cast<size_t>(item.t) + 1 == graph_.T) {
        found.push_back(path_to(top));
      } else {
        push(top, 0);
      }
    }
    return found;
  }

 private:
  // Deeper partial paths first among equals: ties would otherwise be searched in breadth.
  struct Later {
    const std::vector<Item>* items;
    bool operator()(const std::pair<double, int32_t>& a, const std::pair<double, int32_t>& b) const {
      if (a.first != b.first) return a.first < b.first;
      const int32_t deep_a = (*items)[static_cast<size_t>(a.second)].t;
      const int32_t deep_b = (*items)[static_cast<size_t>(b.second)].t;
      return deep_a != deep_b ? deep_a < deep_b : a.second > b.second;
    }
  };

  // Puts the sibling-th best extension of an item on the agenda, where there is one.
  void push(int32_t before, uint32_t sibling) {
    const Item* from = before < 0 ? nullptr : &items_[static_cast<size_t>(before)];
    const size_t t = from ? static_cast<size_t>(from->t) + 1 : 0;
    size_t index = 0;
    if (from) {
      int32_t& of = ranking_of_[begin_[t - 1] + static_cast<size_t>(from->q)];
      if (of < 0) {
        of = static_cast<int32_t>(rankings_.size());
        rankings_.emplace_back();
      }
      index = static_cast<size_t>(of);
    }
    const Ranking& ranking = rank(index, t, from ? static_cast<size_t>(from->q) : 0, sibling + 1);
    if (sibling >= ranking.best.size()) return;
    const Ranked next = ranking.best[sibling];
    const double so_far = from ? from->score : 0;
    const double score = so_far + (next.score - graph_.ahead(t, static_cast<size_t>(next.q)));
    items_.push_back({score, so_far + next.score, static_cast<int32_t>(t), next.q, before, sibling});
    agenda_.push({so_far + next.score, static_cast<int32_t>(items_.size() - 1)});
  }

  // The ranking with at least n places, or all there are. Ranks a stretch at a time, twice as long each time.
  const Ranking& rank(size_t index, size_t t, size_t p, size_t n) {
    Ranking& ranking = rankings_[index];
    const size_t size = graph_.size(t);
    if (ranking.best.size() >= n || (ranking.wanted && ranking.best.size() < ranking.wanted)) return ranking;
    ranking.wanted = std::max<size_t>(n, ranking.wanted ? 2 * ranking.wanted : 2);
    scratch_.resize(size);
    if (t == 0) {
      graph_.first(scratch_.data());
    } else {
      graph_.next(t - 1, p, scratch_.data());
      work_.edges += size;
    }
    ranking.best.clear();
    if (ranking.wanted == 2) {
      best_two(ranking.best);
      return ranking;
    }
    for (size_t q = 0; q < size; ++q)
      if (scratch_[q] != kNever) ranking.best.push_back({scratch_[q], static_cast<int32_t>(q)});
    const size_t keep = std::min(ranking.wanted, ranking.best.size());
    const auto end = ranking.best.begin() + static_cast<ptrdiff_t>(keep);
    std::partial_sort(ranking.best.begin(), end, ranking.best.end(), better);
    ranking.best.erase(end, ranking.best.end());
    return ranking;
  }

  void best_two(std::vector<Ranked>& best) {
    for (int n = 0; n < 2 && !scratch_.empty(); ++n) {
      const size_t q = kernels().argmax_d(scratch_.data(), scratch_.size());
      if (scratch_[q] == kNever) return;
      best.push_back({scratch_[q], static_cast<int32_t>(q)});
      scratch_[q] = kNever;
    }
  }

  GraphPath path_to(int32_t item) const {
    GraphPath path{std::vector<int32_t>(graph_.T), items_[static_cast<size_t>(item)].priority};
    for (; item >= 0; item = items_[static_cast<size_t>(item)].before) {
      const Item& at = items_[static_cast<size_t>(item)];
      path.at[static_cast<size_t>(at.t)] = at.q;
    }
    return path;
  }

  const Graph& graph_;
  const size_t k_;
  Work& work_;
  std::vector<size_t> begin_;        // [t]: where column t's nodes start in the arrays below
  std::vector<int32_t> ranking_of_;  // [node]: index into rankings_, -1: not ranked yet
  std::vector<uint32_t> popped_;     // [node]: partial paths that left the agenda
  std::vector<Ranking> rankings_;    // 0: of the first column
  std::vector<Item> items_;
  std::vector<double> scratch_;
  std::priority_queue<std::pair<double, int32_t>, std::vector<std::pair<double, int32_t>>, Later> agenda_{
      Later{&items_}};
};

// Huang's equation 9: the best node of every later column and the best edge into it. ahead: [t].
std::vector<double> naive_ahead(const Lattice& lattice) {
  std::vector<double> ahead(lattice.T, 0);
  for (size_t t = lattice.T; t-- > 1;) {
    double node = kNever;
    for (size_t y = 0; y < lattice.L; ++y) node = std::max(node, lattice.end_node(t, y));
    ahead[t - 1] = ahead[t] + (node + largest_edge(lattice, t - 1));
  }
  return ahead;
}

Answer as_answer(const Lattice& lattice, std::vector<GraphPath> found, bool reversed, Work work) {
  Answer answer;
  answer.work = work;
  answer.work.rounds = 1;
  for (GraphPath& path : found) {
    if (reversed) std::reverse(path.at.begin(), path.at.end());
    const double score = path_score(lattice, path.at);
    answer.paths.push_back({std::move(path.at), score});
  }
  return answer;
}

}  // namespace

std::vector<GraphPath> search_astar(const Graph& graph, size_t k, Work& work) { return Search(graph, k, work).run(); }

Answer astar(const Lattice& lattice, const Options& options, Arena& arena) {
  const size_t T = lattice.T, L = lattice.L;
  Work work;
  std::vector<double> naive;
  double* coarse = nullptr;  // [t * L + y]
  if (options.bound < 0) {
    naive = naive_ahead(lattice);
  } else {
    coarse = coarse_ahead(lattice, static_cast<size_t>(options.bound), arena, work);
  }
  // What is worth knowing of a column once: its node scores plus what lies ahead of them.
  double* beyond = arena.array<double>(T * L);
  for (size_t t = 0; t < T; ++t)
    for (size_t y = 0; y < L; ++y)
      beyond[t * L + y] = lattice.end_node(t, y) + (coarse ? coarse[t * L + y] : naive[t]);
  Graph graph;
  graph.T = T;
  graph.size = [&](size_t) { return L; };
  graph.first = [&](double* out) { std::copy(beyond, beyond + L, out); };
  graph.next = [&](size_t t, size_t p, double* out) {
    lattice.row(t, p, out);
    for (size_t y = 0; y < L; ++y) out[y] += beyond[(t + 1) * L + y];
  };
  graph.ahead = [&](size_t t, size_t q) { return coarse ? coarse[t * L + q] : naive[t]; };
  return as_answer(lattice, search_astar(graph, options.k, work), false, work);
}

Answer viterbi_astar(const Lattice& lattice, const Options& options, Arena& arena) {
  const size_t T = lattice.T, L = lattice.L;
  Work work;
  const double* alpha = forward_scores(lattice, arena, work);
  // Searched from the last column to the first: position s is column T - 1 - s. What is ahead of a label is its
  // alpha, which holds its own node score already; that score joins the path when the path moves on.
  Graph graph;
  graph.T = T;
  graph.size = [&](size_t) { return L; };
  graph.first = [&](double* out) {
    for (size_t y = 0; y < L; ++y) out[y] = alpha[(T - 1) * L + y] + lattice.edges.stop(y);
  };
  graph.next = [&](size_t s, size_t p, double* out) {
    const size_t t = T - 1 - s;
    const double node = lattice.node(t, p);
    lattice.column(t - 1, p, out);
    for (size_t y = 0; y < L; ++y) out[y] = (alpha[(t - 1) * L + y] + out[y]) + node;
  };
  graph.ahead = [&](size_t s, size_t q) { return alpha[(T - 1 - s) * L + q]; };
  return as_answer(lattice, search_astar(graph, options.k, work), true, work);
}

}  // namespace tagwright
