// refine: searches a coarse lattice, splits the blocks on its best path, and searches again.
//
// Staggered decoding, or iterative Viterbi (Kaji et al. 2010; Huang et al. 2012, Algorithms 1 and 2), iterative A*
// (Huang, section 4.2) and iterative Viterbi A* (Huang, Algorithm 4) are this loop with three searches. Nodes whose
// bound is below the floor, a score already reached, are dropped for good.
//
// Deviations, which change no answer. A label that is split off a block inherits the block's bounds, tightened by its
// own node score and its largest incoming and outgoing edges. Within a step, a node is skipped when its score plus its
// largest edge improves nothing that is still needed (CarpeDiem's limit), so that few edges are read. The floor is
// raised by paths of labels: where the best path back from an end node passes through a block, its best label replaces
// the block. All comparisons with the floor leave room for rounding.
#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "base/stop.h"
#include "decode/graph.h"
#include "kernels/kernels.h"
#include "lattice/chain.h"

namespace tagwright {
namespace {

constexpr double kNoBound = std::numeric_limits<double>::infinity();

// The coarse lattice of one sentence over a chain of blocks (lattice/chain.h): a column holds some labels and, last,
// one block of all other labels, or none where all labels are there.
class CoarseLattice {
 public:
  // The live nodes of one column: labels, then the block.
  struct Column {
    size_t size = 0, labels = 0, room = 0;
    int32_t* id = nullptr;  // [q]: a label, or L + block
    double* n = nullptr;    // [q]: node score, with start and stop scores
    // [q]: bounds of the best path to the node [0] and behind it [1], without the node itself.
    double* bound[2] = {};
  };

  // Every column starts with the labels ranked before 2^level and the block of the rest.
  CoarseLattice(const Lattice& lattice, size_t level, Arena& arena)
      : lattice_(lattice), chain_(lattice.edges.chain()), arena_(arena), columns_(lattice.T) {
    for (int direction : {0, 1}) reach_[direction].assign(lattice.T, kNoBound);
    patches_.resize(lattice.T);
    corrected_.assign(lattice.T, kForbidden);
    for (size_t t = 0; t + 1 < lattice.T; ++t) {
      bounds_.push_back(&lattice.edges.chain_bounds(t));
      patches_[t] = bound_patch(lattice, t);
      for (const Override& e : patches_[t].by_row) corrected_[t] = std::max(corrected_[t], e.score);
    }
    const size_t L = lattice.L, B = chain_.B;
    block_node_ = arena.array<double>(lattice.T * B);
    for (double** room : {&reached_, &most_, &needed_, &scratch_}) *room = arena.array<double>(L + 1);
    found_ = arena.array<int32_t>(L + 1);
    double* ends = nullptr;
    for (size_t t = 0; t < lattice.T; ++t) {
      meter_.count(16 * L);
      if (has_ends(t)) {
        if (!ends) ends = arena.array<double>(L);
        for (size_t y = 0; y < L; ++y) ends[y] = lattice.end_node(t, y);
        block_scores(chain_, {nullptr, ends}, block_node_ + t * B);
      } else {
        block_scores(chain_, lattice.nodes.from(t * L), block_node_ + t * B);
      }
      columns_[t] = make_column(t, level);
    }
  }

  size_t T() const { return lattice_.T; }
  const Column& column(size_t t) const { return columns_[t]; }
  bool has_block(size_t t) const { return columns_[t].labels < columns_[t].size; }
  // Whether position q of column t holds the block.
  bool is_block(size_t t, int32_t q) const { return static_cast<size_t>(q) >= columns_[t].labels; }
  int32_t label(size_t t, int32_t q) const { return columns_[t].id[q]; }

  // Recomputes bound[direction] of every node from the columns before it in that direction (0: forward, Huang's
  // equation 6; 1: backward, equation 7), dropping nodes below the floor. False where a column loses all its nodes:
  // there is no path.
  bool pass(int direction, double floor, Work& work) {
    direction_ = direction;
    const double least = floor - lattice_.slack();
    for (size_t s = 0; s < T(); ++s) {
      Column& c = at(s);
      if (s == 0) {
        drop_below(c, least, [](int32_t) { return 0.0; });
        std::fill(c.bound[direction], c.bound[direction] + c.size, 0.0);
      } else {
        step(s, least, work);
      }
      if (c.size == 0) return false;
      meter_.count(16 * c.size);
      work.nodes += c.size;
    }
    return true;
  }

  // The score of the best coarse path to position q of the last column of the last pass.
  double end_score(size_t q) const {
    const Column& c = at(T() - 1);
    return c.bound[direction_][q] + c.n[q];
  }
  size_t end_size() const { return at(T() - 1).size; }

  // Returns that path as positions in columns 0 .. T-1.
  GraphPath trace(size_t q, Work& work) {
    GraphPath path{std::vector<int32_t>(T()), end_score(q)};
    for (size_t s = T(); s-- > 0;) {
      path.at[column_of(s)] = static_cast<int32_t>(q);
      if (s > 0) q = before(s, q, at(s - 1).size, work);
    }
    return path;
  }

  // Returns the score of a path of labels that ends in label q of the last column of the pass: the best path back, with
  // the best label in place of a block. -inf where a column has no label.
  double dive(size_t q, Work& work) {
    double score = at(T() - 1).n[q];
    for (size_t s = T() - 1; s > 0; --s) {
      const Column& p = at(s - 1);
      if (p.labels == 0) return kForbidden;
      q = before(s, q, p.labels, work);
      // scratch_ counts what lies before q too; only the edge and the node belong to this step.
      score += scratch_[q] - p.bound[direction_][q];
    }
    return score;
  }

  // Returns the n best labels of the last column of the pass, by the bound of the paths to them.
  std::vector<size_t> best_ends(size_t n) const {
    std::vector<size_t> ends(at(T() - 1).labels);
    std::iota(ends.begin(), ends.end(), size_t{0});
    n = std::min(n, ends.size());
    std::partial_sort(ends.begin(), ends.begin() + static_cast<ptrdiff_t>(n), ends.end(), [&](size_t a, size_t b) {
      return end_score(a) != end_score(b) ? end_score(a) > end_score(b) : a < b;
    });
    ends.resize(n);
    return ends;
  }

  // The coarse lattice for A* against the last pass, whose scores are the exact heuristic.
  Graph against_pass() {
    heuristic_.resize(T());
    for (size_t s = 0; s < T(); ++s) {
      const Column& c = at(s);
      double* heuristic = arena_.array<double>(c.size);
      for (size_t q = 0; q < c.size; ++q) heuristic[q] = c.bound[direction_][q] + c.n[q];
      heuristic_[s] = heuristic;
    }
    const auto next = [this](size_t s, size_t p, double* out) {
      const size_t from = T() - 1 - s;
      gather(step_of(from), 1 - direction_, at(from).id[p], at(from - 1), out);
      for (size_t q = 0; q < at(from - 1).size; ++q) out[q] += at(from).n[p];
    };
    return {.T = T(),
            .size = [this](size_t s) { return at(T() - 1 - s).size; },
            .first = [this](double* out) { std::fill(out, out + end_size(), 0.0); },
            .next = next,
            .heuristic = [this](size_t s) { return heuristic_[T() - 1 - s]; }};
  }

  // The coarse lattice for A* from left to right, with the heuristic of Huang's equation 9.
  Graph forward() {
    heuristic_.resize(T());
    double beyond = 0;
    for (size_t t = T(); t-- > 0;) {
      const Column& c = columns_[t];
      double* heuristic = arena_.array<double>(c.size);
      std::fill(heuristic, heuristic + c.size, beyond);
      heuristic_[t] = heuristic;
      double edge = kForbidden;
      for (size_t q = 0; t > 0 && q < columns_[t - 1].size; ++q) {
        const int32_t id = columns_[t - 1].id[q];
        edge = std::max(edge, best_edges(t - 1, 0)[id]);
        for (const Override& e : overrides(t - 1, 0, id)) edge = std::max(edge, e.score);
      }
      beyond += *std::max_element(c.n, c.n + c.size) + edge;
    }
    const auto next = [this](size_t t, size_t p, double* out) {
      const Column& to = columns_[t + 1];
      gather(t, 0, columns_[t].id[p], to, out);
      for (size_t q = 0; q < to.size; ++q) out[q] += to.n[q];
    };
    return {.T = T(),
            .size = [this](size_t t) { return columns_[t].size; },
            .first = [this](double* out) { std::copy(columns_[0].n, columns_[0].n + columns_[0].size, out); },
            .next = next,
            .heuristic = [this](size_t t) { return heuristic_[t]; }};
  }

  // Replaces the block of column t by what it splits into, without nodes that are below the floor at once.
  void split(size_t t, double floor) {
    const Column old = columns_[t];
    const size_t L = lattice_.L, q = old.labels;
    const size_t m = static_cast<size_t>(old.id[q]) - L, first = chain_.before(m), last = chain_.before(m + 1);
    const double in = old.bound[0][q], out = old.bound[1][q], least = floor - lattice_.slack();

    // The block, which is last, makes way for what comes out of it.
    Column c = old;
    const size_t room = old.size + (last - first) + (m + 1 < chain_.B);
    c.size = old.labels;
    if (room > old.room) {
      reserve(c, 2 * room);
      std::copy(old.id, old.id + q, c.id);
      std::copy(old.n, old.n + q, c.n);
      for (const int direction : {0, 1}) std::copy(old.bound[direction], old.bound[direction] + q, c.bound[direction]);
    }
    // A new node takes over its block's bounds, or the limits of its own best edges where these are tighter.
    const double* into = t > 0 ? best_edges(t - 1, 1) : nullptr;
    const double* out_of = t + 1 < T() ? best_edges(t, 0) : nullptr;
    const double before = t > 0 ? reach_[0][t - 1] : 0, after = t + 1 < T() ? reach_[1][t + 1] : 0;
    const double in_corrected = t > 0 ? corrected_[t - 1] : kForbidden,
                 out_corrected = out_of ? corrected_[t] : kForbidden;
    const auto inherit = [&](int32_t id, double n) {
      const double own_in = into ? std::min(in, before + std::max(into[id], in_corrected)) : in;
      const double own_out = out_of ? std::min(out, after + std::max(out_of[id], out_corrected)) : out;
      add(c, id, n, own_in, own_out);
      c.size -= !(own_in + n + own_out >= least);
    };

    if (chain_.by_number && !has_ends(t)) {
      const Scores run = lattice_.nodes.from(t * L + first);
      const size_t n = run.f ? kernels().at_least_f(run.f, last - first, least - (in + out), found_)
                             : kernels().at_least_d(run.d, last - first, least - (in + out), found_);
      for (size_t p = 0; p < n; ++p) {
        const size_t r = static_cast<size_t>(found_[p]);
        inherit(static_cast<int32_t>(first + r), run[r]);
      }
    } else {
      for (size_t r = first; r < last; ++r) {
        const int32_t y = chain_.order[r];
        inherit(y, lattice_.end_node(t, static_cast<size_t>(y)));
      }
    }
    c.labels = c.size;
    if (m + 1 < chain_.B) inherit(static_cast<int32_t>(L + m + 1), block_node(t, m + 1));
    columns_[t] = c;
  }

 private:
  // Edge scores or bounds from one node to all nodes of the neighbouring column.
  struct Row {
    const double* label = nullptr;  // [y * stride] of a block; nullptr for a label, whose edges are the lattice's
    size_t stride = 1;
    const double* block = nullptr;  // [b * block_stride]
    size_t block_stride = 1;
  };

  // Whether start or stop scores belong to the nodes of column t.
  bool has_ends(size_t t) const {
    return (t == 0 && !lattice_.edges.start().empty()) || (t + 1 == T() && !lattice_.edges.stop().empty());
  }
  size_t column_of(size_t s) const { return direction_ == 0 ? s : T() - 1 - s; }
  Column& at(size_t s) { return columns_[column_of(s)]; }
  const Column& at(size_t s) const { return columns_[column_of(s)]; }
  // The step between positions s - 1 and s.
  size_t step_of(size_t s) const { return direction_ == 0 ? s - 1 : T() - 1 - s; }
  double block_node(size_t t, size_t b) const { return block_node_[t * chain_.B + b]; }

  void reserve(Column& c, size_t room) {
    c.room = room;
    c.id = arena_.array<int32_t>(room);
    c.n = arena_.array<double>(room);
    c.bound[0] = arena_.array<double>(room);
    c.bound[1] = arena_.array<double>(room);
  }

  static void add(Column& c, int32_t id, double n, double in, double out) {
    c.id[c.size] = id;
    c.n[c.size] = n;
    c.bound[0][c.size] = in;
    c.bound[1][c.size] = out;
    ++c.size;
  }

  Column make_column(size_t t, size_t level) {
    Column c;
    c.labels = chain_.before(level);
    reserve(c, c.labels + 1);
    for (size_t r = 0; r < c.labels; ++r)
      add(c, chain_.order[r], lattice_.end_node(t, static_cast<size_t>(chain_.order[r])), kNoBound, kNoBound);
    if (c.labels < lattice_.L)
      add(c, static_cast<int32_t>(lattice_.L + level), block_node(t, level), kNoBound, kNoBound);
    return c;
  }

  // [id]: the best shared edge of step t that leaves `id` in a direction.
  const double* best_edges(size_t t, int direction) const {
    return (direction == 0 ? bounds_[t]->out : bounds_[t]->in).data();
  }

  // The edges of step t that leave `id` in a direction.
  Row row(size_t t, int direction, int32_t id) const {
    const Bounds& bounds = *bounds_[t];
    const size_t L = bounds.L, B = bounds.B, a = static_cast<size_t>(id);
    if (a < L) {
      if (direction == 0) return {nullptr, 0, bounds.to.data() + a * B, 1};
      return {nullptr, 0, bounds.from.data() + a, L};
    }
    const size_t m = a - L;
    if (direction == 0) return {bounds.from.data() + m * L, 1, bounds.between.data() + m * B, 1};
    return {bounds.to.data() + m, B, bounds.between.data() + m, B};
  }

  std::span<const Override> overrides(size_t t, int direction, int32_t id) const {
    if (patches_[t].empty()) return {};
    return direction == 0 ? patches_[t].row(id) : patches_[t].column(id);
  }

  // out[q]: the edge that leaves `id` for node q of column c.
  void gather(size_t t, int direction, int32_t id, const Column& c, double* out) const {
    const Row from = row(t, direction, id);
    if (from.label) {
      for (size_t q = 0; q < c.labels; ++q) out[q] = from.label[static_cast<size_t>(c.id[q]) * from.stride];
    } else {
      lattice_.edges.step(t).gather(static_cast<size_t>(direction), static_cast<size_t>(id), {c.id, c.labels}, out);
    }
    for (size_t q = c.labels; q < c.size; ++q)
      out[q] = from.block[(static_cast<size_t>(c.id[q]) - lattice_.L) * from.block_stride];
    for (const Override& e : overrides(t, direction, id)) {
      const int32_t other = direction == 0 ? e.j : e.i;
      const int32_t* found = std::find(c.id, c.id + c.size, other);
      if (found != c.id + c.size) out[found - c.id] = e.score;
    }
  }

  // bound[q] = max(bound[q], score + edge from `id` to q); returns the least of them.
  double raise(size_t t, double score, int32_t id, const Column& c, double* bound) {
    const Row from = row(t, direction_, id);
    if (!overrides(t, direction_, id).empty()) {
      gather(t, direction_, id, c, scratch_);
      double least = kNoBound;
      for (size_t q = 0; q < c.size; ++q) least = std::min(least, bound[q] = std::max(bound[q], score + scratch_[q]));
      return least;
    }
    double least = from.label
                       ? kernels().raise_d(score, from.label, from.stride, c.id, c.labels, bound)
                       : lattice_.edges.step(t).raise(static_cast<size_t>(direction_), score, static_cast<size_t>(id),
                                                      {c.id, c.labels}, bound, scratch_);
    for (size_t q = c.labels; q < c.size; ++q) {
      const double edge = from.block[(static_cast<size_t>(c.id[q]) - lattice_.L) * from.block_stride];
      least = std::min(least, bound[q] = std::max(bound[q], score + edge));
    }
    return least;
  }

  // Keeps the nodes of a column that may still reach `least`, given the scores with which each can be reached in the
  // direction of this pass, and computes what each needs to stay. Without branches: which nodes are dropped cannot be
  // predicted.
  template <class ReachedWith>
  void drop_below(Column& c, double least, ReachedWith&& reached_with) {
    double* other = c.bound[1 - direction_];
    size_t kept = 0, labels = 0;
    for (size_t q = 0; q < c.size; ++q) {
      const int32_t id = c.id[q];
      const double n = c.n[q], beyond = other[q];
      // Unknown plus -inf is not a number and compares false: the node goes.
      const double needed = least - (n + beyond);
      const size_t stays = static_cast<size_t>(reached_with(id) > needed) & static_cast<size_t>(n > kForbidden);
      c.id[kept] = id;
      c.n[kept] = n;
      other[kept] = beyond;
      needed_[kept] = needed;
      kept += stays;
      labels += stays & static_cast<size_t>(q < c.labels);
    }
    c.size = kept;
    c.labels = labels;
  }

  // One step of a pass: the bounds of position s from those of position s - 1; nodes below the floor are dropped.
  void step(size_t s, double floor, Work& work) {
    const Column& p = at(s - 1);
    Column& c = at(s);
    const size_t t = step_of(s);
    double* const reached = reached_;  // [u]: score of the best path to node u of position s - 1
    double* const most = most_;        // [u]: the same with the largest edge out of u
    const double* out_of = best_edges(t, direction_);
    for (size_t u = 0; u < p.size; ++u) {
      reached[u] = p.bound[direction_][u] + p.n[u];
      most[u] = reached[u] + out_of[p.id[u]];
    }
    const double best_corrected = corrected_[t];
    if (best_corrected > kForbidden)
      for (size_t u = 0; u < p.size; ++u) most[u] = std::max(most[u], reached[u] + best_corrected);
    size_t u = kernels().argmax_d(reached, p.size);
    reach_[direction_][column_of(s - 1)] = reached[u];

    // First by the largest edge into each node, without reading the edges themselves.
    const double* into = best_edges(t, 1 - direction_);
    drop_below(c, floor, [&](int32_t id) { return reached[u] + std::max(into[id], best_corrected); });
    // Then by the edges, those of the best nodes first, since after them few others are needed.
    double* bound = c.bound[direction_];
    double least = kNoBound;
    for (size_t q = 0; q < c.size; ++q) {
      bound[q] = needed_[q];
      least = needed_[q] < least ? needed_[q] : least;
    }
    const auto raise_from = [&](size_t u) {
      least = raise(t, reached[u], p.id[u], c, bound);
      meter_.count(2 * c.size);
      work.edges += c.size;
    };
    // In a small column looking for the next best costs more than it saves.
    constexpr size_t kSmall = 24;
    for (size_t n = p.size > kSmall ? 3 : 1; n > 0; --n) {
      if (most[u] > least) raise_from(u);
      most[u] = reached[u] = kForbidden;
      if (n > 1) u = kernels().argmax_d(reached, p.size);
    }
    for (u = 0; u < p.size; ++u)
      if (most[u] > least) raise_from(u);

    size_t lost = 0;
    for (size_t q = 0; q < c.size; ++q) lost += bound[q] <= needed_[q];
    if (lost) drop_unraised(c, bound);
  }

  // Drops the nodes whose bound no edge has raised above what is needed.
  void drop_unraised(Column& c, double* bound) {
    double* other = c.bound[1 - direction_];
    size_t kept = 0, labels = 0;
    for (size_t q = 0; q < c.size; ++q) {
      const size_t stays = bound[q] > needed_[q];
      c.id[kept] = c.id[q];
      c.n[kept] = c.n[q];
      bound[kept] = bound[q];
      other[kept] = other[q];
      kept += stays;
      labels += stays & static_cast<size_t>(q < c.labels);
    }
    c.size = kept;
    c.labels = labels;
  }

  // Returns the node of position s - 1, among the first ones, on the best path to node q of position s. Leaves in
  // scratch_[u] the score of the best path to node u of position s - 1, plus the edge to q.
  size_t before(size_t s, size_t q, size_t among, Work& work) {
    const Column& p = at(s - 1);
    gather(step_of(s), 1 - direction_, at(s).id[q], p, scratch_);
    for (size_t u = 0; u < p.size; ++u) scratch_[u] += p.bound[direction_][u] + p.n[u];
    work.edges += p.size;
    return kernels().argmax_d(scratch_, among);
  }

  const Lattice& lattice_;
  const Chain& chain_;
  Arena& arena_;
  std::vector<Column> columns_;           // [t]
  std::vector<const double*> heuristic_;  // [t] or [position]: for A*
  double* block_node_;                    // [t][block]
  std::vector<const Bounds*> bounds_;     // [t]
  std::vector<Patch> patches_;            // [t]
  std::vector<double> corrected_;         // [t]: the best score in a patch
  int direction_ = 0;                     // of the last pass
  std::vector<double> reach_[2];          // [direction][t]: best score of a path to column t in the last such pass
  double *reached_, *most_, *needed_, *scratch_;  // room for the nodes of a column
  int32_t* found_;                                // the same for its labels
  Meter meter_;
};

// Returns the k-th best of the scores of distinct paths, or the floor where that is higher.
double raised(double floor, std::vector<double>& scores, size_t k) {
  if (scores.size() < k) return floor;
  const auto kth = scores.begin() + static_cast<ptrdiff_t>(k - 1);
  std::nth_element(scores.begin(), kth, scores.end(), std::greater<>());
  return std::max(floor, *kth);
}

size_t blocks_on(const CoarseLattice& coarse, const GraphPath& path) {
  size_t blocks = 0;
  for (size_t t = 0; t < coarse.T(); ++t) blocks += coarse.is_block(t, path.at[t]);
  return blocks;
}

// Returns up to k coarse paths, best first, or none where there is no path; raises the floor by paths of labels that it
// visits. May return fewer than k while the best contains a block.
using Search = std::vector<GraphPath> (*)(CoarseLattice& coarse, size_t round, const Options&, double& floor, Work&);

// One pass, alternately forward and backward, and its best path (Huang, Algorithm 1, lines 4 to 14).
std::vector<GraphPath> search_viterbi(CoarseLattice& coarse, size_t round, const Options& options, double& floor,
                                      Work& work) {
  if (!coarse.pass(static_cast<int>(round % 2), floor, work)) return {};
  size_t best = 0;
  for (size_t q = 1; q < coarse.end_size(); ++q)
    if (coarse.end_score(q) > coarse.end_score(best)) best = q;
  std::vector<GraphPath> found = {coarse.trace(best, work)};
  const size_t blocks = blocks_on(coarse, found[0]);
  if (!options.prune || (blocks == 0 && options.k == 1)) return found;
  // A dive along a path that is mostly blocks gives no useful floor.
  if (2 * blocks > coarse.T()) return found;
  std::vector<double> reached;
  for (const size_t q : coarse.best_ends(options.k))
    if (coarse.end_score(q) > floor) reached.push_back(coarse.dive(q, work));
  floor = raised(floor, reached, options.k);
  return found;
}

// A* with equation 9 on the coarse lattice; without bounds nothing is dropped (Huang, section 4.2).
std::vector<GraphPath> search_coarse_astar(CoarseLattice& coarse, size_t, const Options&, double&, Work& work) {
  return search_astar(coarse.forward(), 1, work);
}

// A pass, and once its best path consists of labels only, Viterbi A* for k' paths (Huang, Algorithm 4).
std::vector<GraphPath> search_viterbi_astar(CoarseLattice& coarse, size_t round, const Options& options, double& floor,
                                            Work& work) {
  std::vector<GraphPath> found = search_viterbi(coarse, round, options, floor, work);
  if (found.empty() || blocks_on(coarse, found[0]) > 0) return found;
  const size_t requested = options.k > SIZE_MAX / options.extra ? options.k : options.k * options.extra;
  found = enumerate_paths(coarse.against_pass(), requested, work);
  std::vector<double> reached;
  for (GraphPath& path : found) {
    if (round % 2 == 0) std::reverse(path.at.begin(), path.at.end());
    if (blocks_on(coarse, path) == 0) reached.push_back(path.score);
  }
  floor = raised(floor, reached, options.k);
  if (found.size() > options.k) found.resize(options.k);
  return found;
}

// The k-th best path of a beam of k over all labels: a score already reached (Huang, Algorithm 4, line 1).
double first_floor(const Lattice& lattice, const Options& options, Arena& arena, Work& work) {
  static const Decoder& beam = *decoder_named("beam");
  Options narrow = options;
  narrow.width = options.k;
  const Answer found = beam.run_without_rules(lattice, narrow, arena);
  work.nodes += found.work.nodes;
  work.edges += found.work.edges;
  return found.paths.size() < options.k ? kForbidden : found.paths.back().score;
}

Answer refine(const Lattice& lattice, Search search, double floor, const Options& options, Arena& arena, Work work) {
  CoarseLattice coarse(lattice, 0, arena);
  Answer answer;
  answer.work = work;
  const bool all = options.expand == "all";
  for (size_t round = 0;; ++round) {
    check_stop();
    ++answer.work.rounds;
    const std::vector<GraphPath> found = search(coarse, round, options, floor, answer.work);
    std::vector<size_t> blocks;  // columns in which a path passes through the block
    for (size_t t = 0; t < coarse.T(); ++t)
      if (std::any_of(found.begin(), found.end(),
                      [&](const GraphPath& path) { return coarse.is_block(t, path.at[t]); }))
        blocks.push_back(t);
    if (blocks.empty()) {
      for (const GraphPath& path : found) {
        std::vector<int32_t> labels(coarse.T());
        for (size_t t = 0; t < coarse.T(); ++t) labels[t] = coarse.label(t, path.at[t]);
        answer.paths.push_back({std::move(labels)});
      }
      return answer;
    }
    if (all) {
      for (size_t t = 0; t < coarse.T(); ++t)
        if (coarse.has_block(t)) coarse.split(t, floor);
    } else {
      for (const size_t t : blocks) coarse.split(t, floor);
    }
  }
}

}  // namespace

Answer staggered(const Lattice& lattice, const Options& options, Arena& arena) {
  Work work;
  const double floor = options.prune ? first_floor(lattice, options, arena, work) : kForbidden;
  return refine(lattice, &search_viterbi, floor, options, arena, work);
}

Answer iterative_astar(const Lattice& lattice, const Options& options, Arena& arena) {
  return refine(lattice, &search_coarse_astar, kForbidden, options, arena, {});
}

Answer iterative_viterbi_astar(const Lattice& lattice, const Options& options, Arena& arena) {
  Work work;
  const double floor = first_floor(lattice, options, arena, work);
  return refine(lattice, &search_viterbi_astar, floor, options, arena, work);
}

double* coarse_heuristic(const Lattice& lattice, size_t level, Arena& arena, Work& work) {
  const Chain& chain = lattice.edges.chain();
  const size_t L = lattice.L;
  CoarseLattice coarse(lattice, level, arena);
  double* heuristic = arena.array<double>(lattice.T * L);
  std::fill(heuristic, heuristic + lattice.T * L, kForbidden);
  if (!coarse.pass(1, kForbidden, work)) return heuristic;
  for (size_t t = 0; t < lattice.T; ++t) {
    const CoarseLattice::Column& c = coarse.column(t);
    if (coarse.has_block(t))
      for (size_t r = chain.before(level); r < L; ++r)
        heuristic[t * L + static_cast<size_t>(chain.order[r])] = c.bound[1][c.labels];
    for (size_t q = 0; q < c.labels; ++q) heuristic[t * L + static_cast<size_t>(c.id[q])] = c.bound[1][q];
  }
  return heuristic;
}

}  // namespace tagwright
