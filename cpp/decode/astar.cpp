// A* (Huang et al. 2012, sections 4.1 and 4.3): the most promising partial path is extended first.
//
// Differs from the paper in what waits on the agenda. It holds the best waiting partial path of each column; a node
// that k partial paths have reached takes in none that is worse (section 4.3). Of those that were extended from one
// node, best first, all have the same extensions: so one waits at a node behind it only when the one before it has
// left. What waits grows with what was extended, not with that times the number of labels.
#include <algorithm>
#include <queue>
#include <utility>

#include "base/stop.h"
#include "decode/graph.h"
#include "decode/refine/coarse_chain.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

// A partial path that has left the agenda. The others are given by their index, -1 for none.
struct Partial {
  double score;
  int32_t t, q;
  int32_t before;      // the one that it extends
  int32_t sibling;     // another that extends that one
  int32_t child = -1;  // one that extends it
  int32_t after = -1;  // the one that was extended from its node after it, and is no better
};

// A partial path that reaches a node, taken off the agenda or still waiting there.
struct Arrival {
  double score;
  int32_t before;
  bool taken;
};

// The k best arrivals: a stretch of its column's, best first.
struct Node {
  size_t begin = 0;
  uint32_t room = 0, count = 0;
  uint32_t waiting = 0;  // the first that is not taken
  int32_t last = -1;     // the partial path that was extended last
};

struct Column {
  const double* ahead = nullptr;  // [q]
  std::vector<Node> nodes;        // [q]
  std::vector<Arrival> arrivals;
  std::vector<double> worst;    // [q]: the score that a newcomer must beat
  std::vector<double> promise;  // [q]: score plus ahead of the best arrival that waits, -inf for none
  size_t top = 0;               // the best promise
};

class Search {
 public:
  Search(const Graph& graph, size_t k, Work& work) : graph_(graph), k_(k), work_(work), columns_(graph.T) {}

  std::vector<GraphPath> run() {
    std::vector<GraphPath> found;
    open(0);
    graph_.first(ways_.data());
    for (size_t q = 0; q < columns_[0].nodes.size(); ++q) arrive(columns_[0], q, ways_[q], -1);
    update_top(0);
    while (!agenda_.empty() && found.size() < k_) {
      const auto [promise, t] = agenda_.top();
      agenda_.pop();
      if (promise != columns_[t].promise[columns_[t].top]) continue;  // was raised or taken since
      const int32_t partial = pop(t);
      ++work_.nodes;
      meter_.count(4 * columns_[t].nodes.size());
      if (t + 1 == graph_.T) {
        found.push_back(path_to(partial));
      } else {
        extend(partial);
      }
    }
    return found;
  }

 private:
  static constexpr size_t kFirstRoom = 4;  // for the arrivals at a node

  Partial& at(int32_t partial) { return partials_[static_cast<size_t>(partial)]; }

  void open(size_t t) {
    Column& c = columns_[t];
    const size_t size = graph_.size(t);
    c.ahead = graph_.ahead(t);
    const auto room = static_cast<uint32_t>(std::min(k_, kFirstRoom));
    c.arrivals.resize(times(size, room));
    c.nodes.assign(size, {.room = room});
    for (size_t q = 0; q < size; ++q) c.nodes[q].begin = q * room;
    c.worst.assign(size, kForbidden);
    c.promise.assign(size, kForbidden);
    ways_.resize(std::max(size, ways_.size()));
  }

  // Fills ways_ with the scores of extending a partial path.
  void find_ways(int32_t partial) {
    const auto t = static_cast<size_t>(at(partial).t);
    graph_.next(t, static_cast<size_t>(at(partial).q), ways_.data());
    work_.edges += columns_[t + 1].nodes.size();
  }

  // Takes the best waiting arrival at the most promising node of column t off the agenda; returns its partial path.
  int32_t pop(size_t t) {
    Column& c = columns_[t];
    const size_t q = c.top;
    Node& node = c.nodes[q];
    Arrival* arrivals = c.arrivals.data() + node.begin;
    const Arrival best = arrivals[node.waiting];
    arrivals[node.waiting].taken = true;
    while (node.waiting < node.count && arrivals[node.waiting].taken) ++node.waiting;
    c.promise[q] = node.waiting < node.count ? arrivals[node.waiting].score + c.ahead[q] : kForbidden;
    const auto partial = static_cast<int32_t>(partials_.size());
    partials_.push_back({best.score, static_cast<int32_t>(t), static_cast<int32_t>(q), best.before, -1});
    if (best.before >= 0) {
      at(partial).sibling = std::exchange(at(best.before).child, partial);
      if (const int32_t next = at(best.before).after; next >= 0) {
        find_ways(next);
        arrive(c, q, at(next).score + ways_[q], next);
      }
    }
    update_top(t);
    return partial;
  }

  // The successors of a partial path join those waiting in the next column: all, or those that the partial path before
  // it has left. It comes after one that is no worse, but for rounding: that of what is ahead, which may be large,
  // decides the order of partial paths whose promises are nearly equal.
  void extend(int32_t partial) {
    const auto t = static_cast<size_t>(at(partial).t) + 1;
    const double score = at(partial).score;
    Column& c = columns_[t];
    if (!c.ahead) open(t);
    find_ways(partial);
    const int32_t last = std::exchange(columns_[t - 1].nodes[static_cast<size_t>(at(partial).q)].last, partial);
    if (last >= 0 && at(last).score >= score) {
      at(last).after = partial;
      for (int32_t child = at(last).child; child >= 0; child = at(child).sibling) {
        const auto q = static_cast<size_t>(at(child).q);
        arrive(c, q, score + ways_[q], partial);
      }
    } else {
      const size_t size = c.nodes.size();
      const double *ways = ways_.data(), *worst = c.worst.data();
      for (size_t q = 0; q < size; ++q)
        if (score + ways[q] > worst[q]) arrive(c, q, score + ways[q], partial);
    }
    update_top(t);
  }

  // A partial path reaches node q of a column, where it waits unless k others are no worse.
  void arrive(Column& c, size_t q, double score, int32_t before) const {
    if (!(score > c.worst[q])) return;
    Node& node = c.nodes[q];
    if (node.count == node.room && node.room < k_) grow(c, node);
    Arrival* arrivals = c.arrivals.data() + node.begin;
    uint32_t place = node.count < k_ ? node.count++ : node.count - 1;
    for (; place > 0 && arrivals[place - 1].score < score; --place) arrivals[place] = arrivals[place - 1];
    arrivals[place] = {score, before, false};
    node.waiting = std::min(node.waiting, place);
    if (node.count == k_) c.worst[q] = arrivals[node.count - 1].score;
    c.promise[q] = arrivals[node.waiting].score + c.ahead[q];
  }

  void grow(Column& c, Node& node) const {
    const size_t begin = c.arrivals.size();
    node.room = static_cast<uint32_t>(times_up_to(node.room, 4, k_));
    c.arrivals.resize(begin + node.room);
    std::copy_n(c.arrivals.data() + node.begin, node.count, c.arrivals.data() + begin);
    node.begin = begin;
  }

  void update_top(size_t t) {
    Column& c = columns_[t];
    c.top = kernels().argmax_d(c.promise.data(), c.promise.size());
    if (c.promise[c.top] > kForbidden) agenda_.push({c.promise[c.top], t});
  }

  GraphPath path_to(int32_t partial) {
    GraphPath path{std::vector<int32_t>(graph_.T), at(partial).score};
    for (; partial >= 0; partial = at(partial).before) path.at[static_cast<size_t>(at(partial).t)] = at(partial).q;
    return path;
  }

  const Graph& graph_;
  const size_t k_;
  Work& work_;
  std::vector<Column> columns_;    // [t]
  std::vector<Partial> partials_;  // those that have left the agenda
  std::vector<double> ways_;       // [q]: the score of the step to node q of the next column
  Meter meter_;
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
  for (GraphPath& path : search_astar(graph, options.k, answer.work)) answer.paths.push_back({std::move(path.at)});
  return answer;
}

}  // namespace tagwright
