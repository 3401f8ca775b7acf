// A* (Huang et al. 2012, sections 4.1 and 4.3): the most promising partial path is extended first.
//
// Differs from the paper in what the agenda holds: not every successor of every extended node, but the best waiting
// partial path of each column. The successors of a node join the waiting ones of the next column in one sweep, where
// each label keeps its k best; so a partial path that cannot be among them never waits at all.
#include <algorithm>
#include <queue>

#include "decode/graph.h"
#include "decode/refine/coarse_chain.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

// A partial path that has left the agenda.
struct Partial {
  double score;
  size_t t;
  int32_t q, before;  // before: index of the partial path it extends, -1 for none
};

// A partial path that reaches a node, taken off the agenda or still waiting there.
struct Arrival {
  double score;
  int32_t before;
  bool taken;
};

struct Column {
  size_t size = 0, room = 0;
  const double* ahead = nullptr;  // [q]
  std::vector<Arrival> arrivals;  // [q * room + r], best score first
  std::vector<uint32_t> count;    // [q]
  std::vector<double> worst;      // [q]: the score that a newcomer must beat
  std::vector<double> promise;    // [q]: score plus ahead of the best arrival that waits, -inf for none
  size_t top = 0;                 // the best promise
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
      if (promise != columns_[t].promise[columns_[t].top]) continue;  // was raised or taken since
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
  // Takes the best waiting arrival at the most promising node of column t off the agenda; returns its partial path.
  int32_t take(size_t t) {
    Column& c = columns_[t];
    const size_t q = c.top;
    Arrival* best = c.arrivals.data() + q * c.room;
    while (best->taken) ++best;
    best->taken = true;
    partials_.push_back({best->score, t, static_cast<int32_t>(q), best->before});
    update_promise(c, q);
    update_top(t);
    return static_cast<int32_t>(partials_.size() - 1);
  }

  // The successors of a partial path (-1: the first column) join those waiting in the next column. A node that was
  // taken before may be reached by a better path later: the rounding of what is ahead, which may be large, decides the
  // order of nodes whose promises are nearly equal.
  void extend(int32_t partial) {
    const size_t t = partial < 0 ? 0 : partials_[static_cast<size_t>(partial)].t + 1;
    const double score = partial < 0 ? 0 : partials_[static_cast<size_t>(partial)].score;
    Column& c = columns_[t];
    if (!c.ahead) open(t);
    scratch_.resize(c.size);
    if (partial < 0) {
      graph_.first(scratch_.data());
    } else {
      graph_.next(t - 1, static_cast<size_t>(partials_[static_cast<size_t>(partial)].q), scratch_.data());
      work_.edges += c.size;
    }
    for (size_t q = 0; q < c.size; ++q) {
      const double reached = score + scratch_[q];
      if (!(reached > c.worst[q])) continue;
      Arrival* arrivals = c.arrivals.data() + q * c.room;
      size_t at = c.count[q] < c.room ? c.count[q]++ : c.room - 1;
      for (; at > 0 && arrivals[at - 1].score < reached; --at) arrivals[at] = arrivals[at - 1];
      arrivals[at] = {reached, partial, false};
      if (c.count[q] == c.room) c.worst[q] = arrivals[c.room - 1].score;
      update_promise(c, q);
    }
    update_top(t);
  }

  void open(size_t t) {
    Column& c = columns_[t];
    c.size = graph_.size(t);
    c.ahead = graph_.ahead(t);
    // No more partial paths can end in a node than there are.
    c.room = t == 0 ? 1 : times_up_to(columns_[t - 1].room, columns_[t - 1].size, k_);
    c.arrivals.resize(times(c.size, c.room));
    c.count.assign(c.size, 0);
    c.worst.assign(c.size, kForbidden);
    c.promise.assign(c.size, kForbidden);
  }

  void update_promise(Column& c, size_t q) {
    c.promise[q] = kForbidden;
    const Arrival* arrivals = c.arrivals.data() + q * c.room;
    for (size_t r = 0; r < c.count[q]; ++r) {
      if (arrivals[r].taken) continue;
      c.promise[q] = arrivals[r].score + c.ahead[q];
      return;
    }
  }

  void update_top(size_t t) {
    Column& c = columns_[t];
    c.top = kernels().argmax_d(c.promise.data(), c.size);
    if (c.promise[c.top] > kForbidden) agenda_.push({c.promise[c.top], t});
  }

  GraphPath path_to(int32_t partial) const {
    GraphPath path{std::vector<int32_t>(graph_.T), partials_[static_cast<size_t>(partial)].score};
    for (; partial >= 0; partial = partials_[static_cast<size_t>(partial)].before)
      path.at[partials_[static_cast<size_t>(partial)].t] = partials_[static_cast<size_t>(partial)].q;
    return path;
  }

  const Graph& graph_;
  const size_t k_;
  Work& work_;
  std::vector<Column> columns_;    // [t]
  std::vector<Partial> partials_;  // those that have left the agenda
  std::vector<double> scratch_;
  // Promise and column; among equals the deepest, or ties would be searched in breadth.
  std::priority_queue<std::pair<double, size_t>> agenda_;
};

// Huang's equation 9: the best node of every later column and the best edge into it. node, ahead: [t * L + y].
double* naive_ahead(const Lattice& lattice, const double* node, Arena& arena) {
  const size_t T = lattice.T, L = lattice.L;
  double* ahead = arena.array<double>(times(T, L));
  double beyond = 0;
  for (size_t t = T; t-- > 0;) {
    std::fill(ahead + t * L, ahead + (t + 1) * L, beyond);
    if (t > 0) beyond += kernels().max_d(node + t * L, L) + largest_edge(lattice, t - 1);
  }
  return ahead;
}

}  // namespace

std::vector<GraphPath> search_astar(const Graph& graph, size_t k, Work& work) { return Search(graph, k, work).run(); }

Answer astar(const Lattice& lattice, const Options& options, Arena& arena) {
  const size_t T = lattice.T, L = lattice.L;
  Answer answer;
  answer.work.rounds = 1;
  double* node = arena.array<double>(times(T, L));
  for (size_t t = 0; t < T; ++t)
    for (size_t y = 0; y < L; ++y) node[t * L + y] = lattice.end_node(t, y);
  const double* ahead =
      options.bound ? coarse_ahead(lattice, *options.bound, arena, answer.work) : naive_ahead(lattice, node, arena);
  const auto next = [&](size_t t, size_t p, double* out) {
    lattice.row(t, p, out);
    kernels().add_scaled_dd(node + (t + 1) * L, 1.0, L, out);
  };
  const Graph graph{.T = T,
                    .size = [&](size_t) { return L; },
                    .first = [&](double* out) { std::copy(node, node + L, out); },
                    .next = next,
                    .ahead = [&](size_t t) { return ahead + t * L; }};
  for (GraphPath& path : search_astar(graph, options.k, answer.work))
    answer.paths.push_back(scored(lattice, std::move(path.at)));
  return answer;
}

}  // namespace tagwright
