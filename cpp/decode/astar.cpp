// A* (Huang et al. 2012, sections 4.1 and 4.3): the most promising partial path is extended first.
//
// Differs from the paper in what the agenda holds: not every successor of every extended node, but the best waiting
// partial path of each column. The successors of a node join the waiting ones of the next column in one sweep, where
// each label keeps its k best; so a partial path that cannot be among them never waits at all.
#include <algorithm>
#include <queue>

#include "algorithms.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

// A partial path: a node, the partial path it extends, its score and the score it is believed to end with.
struct Partial {
  double score, promise;
  int32_t q, before;  // before: index of an extended partial path, -1 for none
};

struct Waiting {
  double promise;
  int32_t before;
};

struct Column {
  size_t size = 0, room = 0;
  std::vector<double> best;            // [q]: promise of the best that waits, -inf for none
  std::vector<double> worst;           // [q]: what a newcomer must beat
  std::vector<Waiting> waiting;        // [q * room + r], best first; the first taken[q] have left
  std::vector<uint32_t> count, taken;  // [q]
  size_t top = 0;                      // the best of best

  double promise() const { return best[top]; }
};

class Search {
 public:
  Search(const Graph& graph, size_t k, Work& work) : graph_(graph), k_(k), work_(work), columns_(graph.T) {}

  std::vector<GraphPath> run() {
    std::vector<GraphPath> found;
    extend(-1);
    while (!agenda_.empty() && found.size() < k_) {
      const auto [promise, t] = agenda_.top();
      agenda_.pop();
      if (columns_[t].best.empty() || promise != columns_[t].promise()) continue;  // was raised or taken since
      const int32_t partial = take(t);
      ++work_.nodes;
      if (t + 1 == graph_.T) {
        found.push_back(path_to(partial));
      } else {
        extend(partial);
      }
    }
    return found;
  }

 private:
  // The best waiting partial path of column t leaves.
  int32_t take(size_t t) {
    Column& c = columns_[t];
    const size_t q = c.top;
    const Waiting& best = c.waiting[q * c.room + c.taken[q]++];
    partials_.push_back({best.promise - graph_.ahead(t, q), best.promise, static_cast<int32_t>(q), best.before});
    depth_.push_back(t);
    c.best[q] = c.taken[q] < c.count[q] ? c.waiting[q * c.room + c.taken[q]].promise : kNever;
    promise_again(t);
    return static_cast<int32_t>(partials_.size() - 1);
  }

  // The successors of a partial path (-1: the first column) join those waiting in the next column.
  void extend(int32_t partial) {
    const size_t t = partial < 0 ? 0 : depth_[static_cast<size_t>(partial)] + 1;
    const double score = partial < 0 ? 0 : partials_[static_cast<size_t>(partial)].score;
    Column& c = columns_[t];
    if (c.best.empty()) open(t);
    scratch_.resize(c.size);
    if (partial < 0) {
      graph_.first(scratch_.data());
    } else {
      graph_.next(t - 1, static_cast<size_t>(partials_[static_cast<size_t>(partial)].q), scratch_.data());
      work_.edges += c.size;
    }
    for (size_t q = 0; q < c.size; ++q) {
      const double promise = score + scratch_[q];
      if (!(promise > c.worst[q])) continue;
      Waiting* list = c.waiting.data() + q * c.room;
      // One that has left stays before all newcomers, whatever rounding says.
      if (c.count[q] == c.room && c.taken[q] == c.room) continue;
      size_t at = c.count[q] < c.room ? c.count[q]++ : c.room - 1;
      for (; at > c.taken[q] && list[at - 1].promise < promise; --at) list[at] = list[at - 1];
      list[at] = {promise, partial};
      c.best[q] = list[c.taken[q]].promise;
      if (c.count[q] == c.room) c.worst[q] = list[c.room - 1].promise;
    }
    promise_again(t);
  }

  void open(size_t t) {
    Column& c = columns_[t];
    c.size = graph_.size(t);
    // No more partial paths can end in a node than there are.
    c.room = t == 0 ? 1
             : columns_[t - 1].room >= (k_ + columns_[t - 1].size - 1) / columns_[t - 1].size
                 ? k_
                 : columns_[t - 1].room * columns_[t - 1].size;
    c.best.assign(c.size, kNever);
    c.worst.assign(c.size, kNever);
    c.waiting.resize(c.size * c.room);
    c.count.assign(c.size, 0);
    c.taken.assign(c.size, 0);
  }

  void promise_again(size_t t) {
    Column& c = columns_[t];
    c.top = kernels().argmax_d(c.best.data(), c.size);
    if (c.promise() > kNever) agenda_.push({c.promise(), t});
  }

  GraphPath path_to(int32_t partial) const {
    GraphPath path{std::vector<int32_t>(graph_.T), partials_[static_cast<size_t>(partial)].promise};
    for (; partial >= 0; partial = partials_[static_cast<size_t>(partial)].before)
      path.at[depth_[static_cast<size_t>(partial)]] = partials_[static_cast<size_t>(partial)].q;
    return path;
  }

  const Graph& graph_;
  const size_t k_;
  Work& work_;
  std::vector<Column> columns_;    // [t]
  std::vector<Partial> partials_;  // those that have left the agenda
  std::vector<size_t> depth_;      // [partial]: the column it ends in
  std::vector<double> scratch_;
  // Promise and column; among equals the deepest, or ties would be searched in breadth.
  std::priority_queue<std::pair<double, size_t>> agenda_;
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

}  // namespace

std::vector<GraphPath> search_astar(const Graph& graph, size_t k, Work& work) { return Search(graph, k, work).run(); }

Answer astar(const Lattice& lattice, const Options& options, Arena& arena) {
  const size_t T = lattice.T, L = lattice.L;
  Answer answer;
  answer.work.rounds = 1;
  std::vector<double> naive;
  double* coarse = nullptr;  // [t * L + y]
  if (options.bound < 0) {
    naive = naive_ahead(lattice);
  } else {
    coarse = coarse_ahead(lattice, static_cast<size_t>(options.bound), arena, answer.work);
  }
  // What is worth knowing of a column once: its node scores plus what lies ahead of them.
  double* beyond = arena.array<double>(T * L);
  for (size_t t = 0; t < T; ++t)
    for (size_t y = 0; y < L; ++y) beyond[t * L + y] = lattice.end_node(t, y) + (coarse ? coarse[t * L + y] : naive[t]);
  Graph graph;
  graph.T = T;
  graph.size = [&](size_t) { return L; };
  graph.first = [&](double* out) { std::copy(beyond, beyond + L, out); };
  graph.next = [&](size_t t, size_t p, double* out) {
    lattice.row(t, p, out);
    for (size_t y = 0; y < L; ++y) out[y] += beyond[(t + 1) * L + y];
  };
  graph.ahead = [&](size_t t, size_t q) { return coarse ? coarse[t * L + q] : naive[t]; };
  for (GraphPath& path : search_astar(graph, options.k, answer.work)) {
    const double score = path_score(lattice, path.at);
    answer.paths.push_back({std::move(path.at), score});
  }
  return answer;
}

}  // namespace tagwright
