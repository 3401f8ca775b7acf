// A* (Huang et al. 2012, sections 4.1 and 4.3): the most promising partial path is extended first.
//
// Deviations: the agenda holds the best waiting partial path of each column. A node that k partial paths have reached
// accepts none that is worse (section 4.3). Partial paths that end in one node have the same extensions, so those of a
// worse one wait at a node only after the one before it has left it: the agenda grows with the number of extended
// partial paths, not with that times the number of labels.
#include <algorithm>
#include <queue>
#include <utility>

#include "base/stop.h"
#include "decode/graph.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

// A partial path that was popped from the agenda. Others are referred to by index, -1 for none.
struct Partial {
  double score;
  int32_t t, q;
  int32_t before;      // the one that it extends
  int32_t sibling;     // another that extends that one
  int32_t child = -1;  // one that extends it
  int32_t after = -1;  // the one that was extended from its node after it, and is no better
};

// A partial path that reaches a node, popped or still waiting.
struct Arrival {
  double score;
  int32_t before;
  bool popped;
};

// The k best arrivals: a range of its column's, best first.
struct Node {
  size_t begin = 0;
  uint32_t room = 0, count = 0;
  uint32_t waiting = 0;  // the first that is not popped
  int32_t last = -1;     // the partial path that was extended last
};

struct Column {
  const double* heuristic = nullptr;  // [q]
  std::vector<Node> nodes;            // [q]
  std::vector<Arrival> arrivals;
  std::vector<double> worst;     // [q]: the score that a new arrival must exceed
  std::vector<double> priority;  // [q]: score plus heuristic of the best waiting arrival, -inf for none
  size_t top = 0;                // the node of the best priority
};

class Search {
 public:
  Search(const Graph& graph, size_t k, Work& work) : graph_(graph), k_(k), work_(work), columns_(graph.T) {}

  std::vector<GraphPath> run() {
    std::vector<GraphPath> found;
    open(0);
    graph_.first(steps_.data());
    for (size_t q = 0; q < columns_[0].nodes.size(); ++q) arrive(columns_[0], q, steps_[q], -1);
    update_top(0);
    while (!agenda_.empty() && found.size() < k_) {
      const auto [priority, t] = agenda_.top();
      agenda_.pop();
      if (priority != columns_[t].priority[columns_[t].top]) continue;  // was raised or popped since
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
    c.heuristic = graph_.heuristic(t);
    const auto room = static_cast<uint32_t>(std::min(k_, kFirstRoom));
    c.arrivals.resize(times(size, room));
    c.nodes.assign(size, {.room = room});
    for (size_t q = 0; q < size; ++q) c.nodes[q].begin = q * room;
    c.worst.assign(size, kForbidden);
    c.priority.assign(size, kForbidden);
    steps_.resize(std::max(size, steps_.size()));
  }

  // Fills steps_ with the scores of the steps that extend a partial path.
  void find_steps(int32_t partial) {
    const auto t = static_cast<size_t>(at(partial).t);
    graph_.next(t, static_cast<size_t>(at(partial).q), steps_.data());
    work_.edges += columns_[t + 1].nodes.size();
  }

  // Pops the best waiting arrival at the best node of column t; returns its partial path.
  int32_t pop(size_t t) {
    Column& c = columns_[t];
    const size_t q = c.top;
    Node& node = c.nodes[q];
    Arrival* arrivals = c.arrivals.data() + node.begin;
    const Arrival best = arrivals[node.waiting];
    arrivals[node.waiting].popped = true;
    while (node.waiting < node.count && arrivals[node.waiting].popped) ++node.waiting;
    c.priority[q] = node.waiting < node.count ? arrivals[node.waiting].score + c.heuristic[q] : kForbidden;
    const auto partial = static_cast<int32_t>(partials_.size());
    partials_.push_back({best.score, static_cast<int32_t>(t), static_cast<int32_t>(q), best.before, -1});
    if (best.before >= 0) {
      at(partial).sibling = std::exchange(at(best.before).child, partial);
      if (const int32_t next = at(best.before).after; next >= 0) {
        find_steps(next);
        arrive(c, q, at(next).score + steps_[q], next);
      }
    }
    update_top(t);
    return partial;
  }

  // Adds the extensions of a partial path to the arrivals of the next column: all, or those that the partial path
  // before it at its node has left. That one is no worse except for rounding: the rounding of the heuristic, which may
  // be large, decides between nearly equal priorities.
  void extend(int32_t partial) {
    const auto t = static_cast<size_t>(at(partial).t) + 1;
    const double score = at(partial).score;
    Column& c = columns_[t];
    if (!c.heuristic) open(t);
    find_steps(partial);
    const int32_t last = std::exchange(columns_[t - 1].nodes[static_cast<size_t>(at(partial).q)].last, partial);
    if (last >= 0 && at(last).score >= score) {
      at(last).after = partial;
      for (int32_t child = at(last).child; child >= 0; child = at(child).sibling) {
        const auto q = static_cast<size_t>(at(child).q);
        arrive(c, q, score + steps_[q], partial);
      }
    } else {
      const size_t size = c.nodes.size();
      const double *steps = steps_.data(), *worst = c.worst.data();
      for (size_t q = 0; q < size; ++q)
        if (score + steps[q] > worst[q]) arrive(c, q, score + steps[q], partial);
    }
    update_top(t);
  }

  // Adds a partial path to the arrivals at node q of a column, unless k others are no worse.
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
    c.priority[q] = arrivals[node.waiting].score + c.heuristic[q];
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
    c.top = kernels().argmax_d(c.priority.data(), c.priority.size());
    if (c.priority[c.top] > kForbidden) agenda_.push({c.priority[c.top], t});
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
  std::vector<Partial> partials_;  // those that were popped
  std::vector<double> steps_;      // [q]: the score of the step to node q of the next column
  Meter meter_;
  // Priority and column; among equals the deepest first, or ties would be searched breadth first.
  std::priority_queue<std::pair<double, size_t>> agenda_;
};

// Huang's equation 9: the sum of the best node of every later column and the best edge into it. node: [t * L + y].
double* naive_heuristic(const Lattice& lattice, const double* node, Arena& arena) {
  const size_t T = lattice.T, L = lattice.L;
  double* heuristic = arena.array<double>(times(T, L));
  double beyond = 0;
  for (size_t t = T; t-- > 0;) {
    std::fill(heuristic + t * L, heuristic + (t + 1) * L, beyond);
    if (t > 0) beyond += kernels().max_d(node + t * L, L) + largest_edge(lattice, t - 1);
  }
  return heuristic;
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
  const double* heuristic = options.bound ? coarse_heuristic(lattice, *options.bound, arena, answer.work)
                                          : naive_heuristic(lattice, node, arena);
  const auto next = [&](size_t t, size_t p, double* out) {
    lattice.row(t, p, out);
    kernels().add_scaled_dd(node + (t + 1) * L, 1.0, L, out);
  };
  const Graph graph{.T = T,
                    .size = [&](size_t) { return L; },
                    .first = [&](double* out) { std::copy(node, node + L, out); },
                    .next = next,
                    .heuristic = [&](size_t t) { return heuristic + t * L; }};
  for (GraphPath& path : search_astar(graph, options.k, answer.work)) answer.paths.push_back({std::move(path.at)});
  return answer;
}

}  // namespace tagwright
