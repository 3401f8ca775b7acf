#include "decode/ngrams/coarse_contexts.h"

#include <algorithm>
#include <numeric>

#include "kernels/kernels.h"

namespace tagwright {

constexpr double kNoBound = std::numeric_limits<double>::infinity();
constexpr double kUnknown[2] = {kNoBound, kNoBound};

CoarseContexts::CoarseContexts(const Lattice& lattice, Arena& arena)
    : lattice_(lattice),
      ngrams_(*lattice.edges.ngrams()),
      limits_(lattice.edges.ngram_bounds()),
      chain_(lattice.edges.chain()),
      arena_(arena),
      columns_(lattice.T) {
  const size_t L = lattice.L;
  block_node_ = arena.array<double>(times(lattice.T, chain_.B));
  double* const nodes = arena.array<double>(L);
  if (lattice.patched()) corrected_.assign(lattice.T - 1, kForbidden);
  for (size_t t = 0; t + 1 < lattice.T; ++t)
    for (const Override& e : lattice.patch(t).by_row) corrected_[t] = std::max(corrected_[t], e.score);
  for (size_t t = 0; t < lattice.T; ++t) {
    meter_.count(16 * L);
    for (size_t y = 0; y < L; ++y) nodes[y] = lattice.end_node(t, y);
    block_scores(chain_, {nullptr, nodes}, block_node_ + t * chain_.B);
    add_labels(t, columns_[t], 0, 1, kUnknown, kForbidden);
    if (chain_.B) add_block(t, columns_[t], 0, kUnknown, kForbidden);
  }
}

int32_t CoarseContexts::any_block(size_t t) const {
  int32_t found = -1;
  for (size_t q = 0; q < columns_[t].size; ++q) {
    const Kind kind = columns_[t].nodes[q].kind;
    if (kind == Kind::kBlock || (kind == Kind::kLabel && found < 0)) found = static_cast<int32_t>(q);
  }
  return found;
}

void CoarseContexts::add(Column& c, const Node& node) {
  if (c.size == c.room) {
    c.room = std::max<size_t>(4, 2 * c.room);
    Node* const nodes = arena_.array<Node>(c.room);
    std::copy(c.nodes, c.nodes + c.size, nodes);
    c.nodes = nodes;
  }
  c.nodes[c.size++] = node;
}

// The best edge of step t that leaves a node in a direction, with the most that ngrams add.
double CoarseContexts::best_edge(size_t t, int direction, Kind kind, int32_t id) const {
  const bool block = kind == Kind::kBlock;
  const size_t place = static_cast<size_t>(id) + (block ? lattice_.L : 0);
  const double edge = (direction == 0 ? bounds(t).out : bounds(t).in)[place];
  const float left = block ? limits_.most_left() : direction == 0 ? limits_.most_left(id) : limits_.most_left_into(id);
  return std::max(edge, corrected_.empty() ? kForbidden : corrected_[t]) + static_cast<double>(left);
}

CoarseContexts::Node CoarseContexts::made(size_t t, Kind kind, int32_t id, LabelNgrams::Node context,
                                          const double* inherited) const {
  Node node{kind, id, context, 0, {inherited[0], inherited[1]}, {0, 0}};
  node.n = kind == Kind::kBlock ? block_node_[t * chain_.B + static_cast<size_t>(id)]
                                : lattice_.end_node(t, static_cast<size_t>(id));
  if (t + 1 < T()) node.out[0] = best_edge(t, 0, kind, id);
  if (t > 0) node.out[1] = best_edge(t - 1, 1, kind, id);
  return node;
}

// Adds the labels of some ranks, without those that the floor rules out at once. Nothing stands before those of the
// first column, and nothing that matters before some others: they are contexts.
void CoarseContexts::add_labels(size_t t, Column& c, size_t first, size_t last, const double* inherited, double least) {
  for (size_t r = first; r < last; ++r) {
    const int32_t y = chain_.order[r];
    const bool known = t == 0 || !limits_.is_open(y);
    const Node node = made(t, known ? Kind::kContext : Kind::kLabel, y, y, inherited);
    if (node.bound[0] + node.n + node.bound[1] >= least) add(c, node);
  }
}

void CoarseContexts::add_block(size_t t, Column& c, size_t block, const double* inherited, double least) {
  const Node node = made(t, Kind::kBlock, static_cast<int32_t>(block), 0, inherited);
  if (node.bound[0] + node.n + node.bound[1] >= least) add(c, node);
}

void CoarseContexts::add_contexts(Column& c, const Node& label) {
  const Contexts& states = lattice_.edges.contexts();
  const size_t first = states.of_label(static_cast<size_t>(label.id));
  for (size_t q = first; q < states.end(first); ++q) {
    Node node = label;
    node.kind = Kind::kContext;
    node.context = states.node(q);
    add(c, node);
  }
}

void CoarseContexts::split(size_t t, std::span<const int32_t> positions, double floor) {
  const Column old = columns_[t];
  const double least = floor - lattice_.slack();
  Column c;
  for (size_t q = 0; q < old.size; ++q) {
    const Node& node = old.nodes[q];
    if (std::find(positions.begin(), positions.end(), static_cast<int32_t>(q)) == positions.end()) {
      add(c, node);
    } else if (node.kind == Kind::kLabel) {
      add_contexts(c, node);
    } else {
      const auto m = static_cast<size_t>(node.id);
      add_labels(t, c, chain_.before(m), chain_.before(m + 1), node.bound, least);
      if (m + 1 < chain_.B) add_block(t, c, m + 1, node.bound, least);
    }
  }
  columns_[t] = c;
}

double CoarseContexts::edge(size_t t, const Node& u, const Node& v) const {
  const Bounds& b = bounds(t);
  const double corrected = corrected_.empty() ? kForbidden : corrected_[t];
  const auto i = static_cast<size_t>(u.id), j = static_cast<size_t>(v.id);
  if (u.kind != Kind::kBlock && v.kind != Kind::kBlock) return edge_to_label(t, u, v);
  if (u.kind != Kind::kBlock)
    return std::max(b.to[i * b.B + j], corrected) + static_cast<double>(limits_.most_left(u.id));
  if (v.kind == Kind::kBlock)
    return std::max(b.between[i * b.B + j], corrected) + static_cast<double>(limits_.most_left());
  if (v.kind == Kind::kContext && !ngrams_.is_label(v.context)) {
    // The label before is known, and is in the block or not.
    const int32_t before = ngrams_.label(ngrams_.parent(v.context));
    if (chain_.inside[static_cast<size_t>(before)] <= i) return kForbidden;
    Node label = u;
    label.kind = Kind::kLabel;
    label.id = before;
    return edge_to_label(t, label, v);
  }
  return std::max(b.from[i * b.L + j], corrected) + static_cast<double>(limits_.most_left_into(v.id));
}

// The same between labels and contexts.
double CoarseContexts::edge_to_label(size_t t, const Node& u, const Node& v) const {
  const double edge = lattice_.edge(t, static_cast<size_t>(u.id), static_cast<size_t>(v.id));
  if (edge == kForbidden) return edge;
  if (u.kind == Kind::kContext) {
    const LabelNgrams::Node to = ngrams_.next(u.context, v.id);
    const bool leads = v.kind == Kind::kLabel || ngrams_.context(to) == v.context;
    return leads ? edge + ngrams_.more(to) : kForbidden;
  }
  const LabelNgrams::Node pair = ngrams_.child(u.id, v.id);
  const double left = pair == LabelNgrams::kNoNode ? 0 : limits_.left(pair);
  if (v.kind == Kind::kLabel) return edge + left;
  if (ngrams_.is_label(v.context))  // A pair that is a context would not be forgotten.
    return pair != LabelNgrams::kNoNode && ngrams_.context(pair) == pair ? kForbidden : edge + left;
  if (ngrams_.label(ngrams_.parent(v.context)) != u.id) return kForbidden;
  return edge + ngrams_.more(v.context) + limits_.left(v.context);
}

bool CoarseContexts::pass(int direction, double floor, Work& work) {
  direction_ = direction;
  dives_.clear();
  const double least = floor - lattice_.slack();
  for (size_t s = 0; s < T(); ++s) {
    Column& c = at(s);
    const Column* const p = s ? &at(s - 1) : nullptr;
    // Those with the largest scores first: after them few others are looked at.
    reached_.clear();
    order_.resize(p ? p->size : 0);
    double most = kForbidden;
    for (size_t u = 0; u < order_.size(); ++u) {
      reached_.push_back(p->nodes[u].bound[direction] + p->nodes[u].n);
      most = std::max(most, p->nodes[u].out[direction]);
    }
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return reached_[a] > reached_[b]; });
    size_t kept = 0;
    for (size_t q = 0; q < c.size; ++q) {
      Node node = c.nodes[q];
      double bound = s ? kForbidden : 0;
      for (const uint32_t u : order_) {
        if (!(reached_[u] + most > bound)) break;
        if (!(reached_[u] + p->nodes[u].out[direction] > bound)) continue;
        bound = std::max(bound, reached_[u] + step(s, p->nodes[u], node));
        ++work.edges;
      }
      node.bound[direction] = bound;
      // Unknown plus -inf is not a number and compares false: the node goes.
      if (bound + node.n + node.bound[1 - direction] >= least && bound != kForbidden && node.n != kForbidden)
        c.nodes[kept++] = node;
    }
    meter_.count(16 * (c.size + (p ? p->size : 0)) + c.size * (p ? p->size : 0));
    c.size = kept;
    if (kept == 0) return false;
    work.nodes += kept;
  }
  return true;
}

int32_t CoarseContexts::before(size_t s, const Node& to, bool labels, Work& work) const {
  const Column& p = at(s - 1);
  double best = kForbidden;
  int32_t found = -1;
  for (size_t u = 0; u < p.size; ++u) {
    const Node& from = p.nodes[u];
    if (labels && from.kind == Kind::kBlock) continue;
    const double reached = from.bound[direction_] + from.n;
    if (found >= 0 && !(reached + from.out[direction_] > best)) continue;
    const double score = reached + step(s, from, to);
    ++work.edges;
    if (!(score > best)) continue;
    best = score;
    found = static_cast<int32_t>(u);
  }
  return found;
}

GraphPath CoarseContexts::trace(size_t q, Work& work) {
  GraphPath path{std::vector<int32_t>(T()), end_score(q)};
  for (size_t s = T(); s-- > 0;) {
    path.at[column_of(s)] = static_cast<int32_t>(q);
    if (s > 0) q = static_cast<size_t>(before(s, at(s).nodes[q], false, work));
  }
  return path;
}

// Where the best way back leads through a block of labels, the best label is taken instead. The score is that of the
// labels, since those of nodes may be bounds.
double CoarseContexts::dive(size_t q, Work& work) {
  std::vector<int32_t> labels(T());
  for (size_t s = T(); s-- > 0;) {
    const Node& node = at(s).nodes[q];
    labels[column_of(s)] = node.id;
    const int32_t next = s ? before(s, node, true, work) : 0;
    if (next < 0) return kForbidden;
    q = static_cast<size_t>(next);
  }
  // Several contexts may lead to the same labels, which count once.
  if (std::find(dives_.begin(), dives_.end(), labels) != dives_.end()) return kForbidden;
  dives_.push_back(labels);
  return path_score(lattice_, labels);
}

std::vector<size_t> CoarseContexts::best_ends(size_t n) const {
  std::vector<size_t> ends;
  for (size_t q = 0; q < end_size(); ++q)
    if (at(T() - 1).nodes[q].kind != Kind::kBlock) ends.push_back(q);
  n = std::min(n, ends.size());
  std::partial_sort(ends.begin(), ends.begin() + static_cast<ptrdiff_t>(n), ends.end(), [&](size_t a, size_t b) {
    return end_score(a) != end_score(b) ? end_score(a) > end_score(b) : a < b;
  });
  ends.resize(n);
  return ends;
}

Graph CoarseContexts::against_pass() {
  ahead_.resize(T());
  for (size_t s = 0; s < T(); ++s) {
    const Column& c = at(s);
    double* const ahead = arena_.array<double>(c.size);
    for (size_t q = 0; q < c.size; ++q) ahead[q] = c.nodes[q].bound[direction_] + c.nodes[q].n;
    ahead_[s] = ahead;
  }
  const auto next = [this](size_t s, size_t p, double* out) {
    const size_t from = T() - 1 - s;
    const Column& c = at(from - 1);
    const Node& node = at(from).nodes[p];
    for (size_t q = 0; q < c.size; ++q) out[q] = step(from, c.nodes[q], node) + node.n;
  };
  return {.T = T(),
          .size = [this](size_t s) { return at(T() - 1 - s).size; },
          .first = [this](double* out) { std::fill(out, out + end_size(), 0.0); },
          .next = next,
          .ahead = [this](size_t s) { return ahead_[T() - 1 - s]; }};
}

}  // namespace tagwright
