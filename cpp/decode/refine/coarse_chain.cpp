#include "decode/refine/coarse_chain.h"

#include <algorithm>
#include <numeric>

#include "kernels/kernels.h"

namespace tagwright {

constexpr double kNoBound = std::numeric_limits<double>::infinity();

CoarseChain::CoarseChain(const Lattice& lattice, size_t level, Arena& arena)
    : lattice_(lattice), chain_(lattice.edges.chain()), arena_(arena), columns_(lattice.T) {
  for (int direction : {0, 1}) reach_[direction].assign(lattice.T, kNoBound);
  patches_.resize(lattice.T);
  corrected_.assign(lattice.T, kForbidden);
  for (size_t t = 0; t + 1 < lattice.T; ++t) {
    bounds_.push_back(&lattice.edges.chain_bounds(t));
    if (lattice.patch(t).empty()) continue;
    patches_[t] = bound_patch(lattice.patch(t), *bounds_[t], chain_);
    for (const Override& e : patches_[t].by_row) corrected_[t] = std::max(corrected_[t], e.score);
  }
  const size_t L = lattice.L, B = chain_.B;
  block_node_ = arena.array<double>(lattice.T * B);
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

bool CoarseChain::pass(int direction, double floor, Work& work) {
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

GraphPath CoarseChain::trace(size_t q, Work& work) {
  GraphPath path{std::vector<int32_t>(T()), end_score(q)};
  for (size_t s = T(); s-- > 0;) {
    path.at[column_of(s)] = static_cast<int32_t>(q);
    if (s > 0) q = before(s, q, at(s - 1).size, work);
  }
  return path;
}

double CoarseChain::dive(size_t q, Work& work) {
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

std::vector<size_t> CoarseChain::best_ends(size_t n) const {
  std::vector<size_t> ends(at(T() - 1).labels);
  std::iota(ends.begin(), ends.end(), size_t{0});
  n = std::min(n, ends.size());
  std::partial_sort(ends.begin(), ends.begin() + static_cast<ptrdiff_t>(n), ends.end(), [&](size_t a, size_t b) {
    return end_score(a) != end_score(b) ? end_score(a) > end_score(b) : a < b;
  });
  ends.resize(n);
  return ends;
}

Graph CoarseChain::against_pass() {
  ahead_.resize(T());
  for (size_t s = 0; s < T(); ++s) {
    const Column& c = at(s);
    double* ahead = arena_.array<double>(c.size);
    for (size_t q = 0; q < c.size; ++q) ahead[q] = c.bound[direction_][q] + c.n[q];
    ahead_[s] = ahead;
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
          .ahead = [this](size_t s) { return ahead_[T() - 1 - s]; }};
}

Graph CoarseChain::forward() {
  ahead_.resize(T());
  double beyond = 0;
  for (size_t t = T(); t-- > 0;) {
    const Column& c = columns_[t];
    double* ahead = arena_.array<double>(c.size);
    std::fill(ahead, ahead + c.size, beyond);
    ahead_[t] = ahead;
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
          .ahead = [this](size_t t) { return ahead_[t]; }};
}

void CoarseChain::split(size_t t, double floor) {
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
  const double in_corrected = t > 0 ? corrected(t - 1) : kForbidden, out_corrected = out_of ? corrected(t) : kForbidden;
  const auto inherit = [&](int32_t id, double n) {
    const double own_in = into ? std::min(in, before + std::max(into[id], in_corrected)) : in;
    const double own_out = out_of ? std::min(out, after + std::max(out_of[id], out_corrected)) : out;
    add(c, id, n, own_in, own_out);
    c.size -= !(own_in + n + own_out >= least);
  };

  if (chain_.by_number && !has_ends(t)) {
    const Scores run = lattice_.nodes.from(t * L + first);
    found_.resize(last - first);
    const size_t n = run.f ? kernels().at_least_f(run.f, found_.size(), least - (in + out), found_.data())
                           : kernels().at_least_d(run.d, found_.size(), least - (in + out), found_.data());
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

void CoarseChain::reserve(Column& c, size_t room) {
  c.room = room;
  c.id = arena_.array<int32_t>(room);
  c.n = arena_.array<double>(room);
  c.bound[0] = arena_.array<double>(room);
  c.bound[1] = arena_.array<double>(room);
}

void CoarseChain::add(Column& c, int32_t id, double n, double in, double out) {
  c.id[c.size] = id;
  c.n[c.size] = n;
  c.bound[0][c.size] = in;
  c.bound[1][c.size] = out;
  ++c.size;
}

CoarseChain::Column CoarseChain::make_column(size_t t, size_t level) {
  Column c;
  c.labels = chain_.before(level);
  reserve(c, c.labels + 1);
  for (size_t r = 0; r < c.labels; ++r)
    add(c, chain_.order[r], lattice_.end_node(t, static_cast<size_t>(chain_.order[r])), kNoBound, kNoBound);
  if (c.labels < lattice_.L) add(c, static_cast<int32_t>(lattice_.L + level), block_node(t, level), kNoBound, kNoBound);
  return c;
}

CoarseChain::Row CoarseChain::row(size_t t, int direction, int32_t id) const {
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

void CoarseChain::gather(size_t t, int direction, int32_t id, const Column& c, double* out) const {
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

double CoarseChain::raise(size_t t, double score, int32_t id, const Column& c, double* bound) {
  const Row from = row(t, direction_, id);
  scratch_.resize(c.size);
  if (!overrides(t, direction_, id).empty()) {
    gather(t, direction_, id, c, scratch_.data());
    double least = kNoBound;
    for (size_t q = 0; q < c.size; ++q) least = std::min(least, bound[q] = std::max(bound[q], score + scratch_[q]));
    return least;
  }
  double least = from.label
                     ? kernels().raise_d(score, from.label, from.stride, c.id, c.labels, bound)
                     : lattice_.edges.step(t).raise(static_cast<size_t>(direction_), score, static_cast<size_t>(id),
                                                    {c.id, c.labels}, bound, scratch_.data());
  for (size_t q = c.labels; q < c.size; ++q) {
    const double edge = from.block[(static_cast<size_t>(c.id[q]) - lattice_.L) * from.block_stride];
    least = std::min(least, bound[q] = std::max(bound[q], score + edge));
  }
  return least;
}

template <class ReachedWith>
void CoarseChain::drop_below(Column& c, double least, ReachedWith&& reached_with) {
  needed_.resize(c.size);
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

void CoarseChain::step(size_t s, double floor, Work& work) {
  const Column& p = at(s - 1);
  Column& c = at(s);
  const size_t t = step_of(s);
  reached_.resize(p.size);
  most_.resize(p.size);
  double* reached = reached_.data();  // [u]: score of the best path to node u of position s - 1
  double* most = most_.data();        // [u]: the same with the largest edge out of u
  const double* out_of = best_edges(t, direction_);
  for (size_t u = 0; u < p.size; ++u) {
    reached[u] = p.bound[direction_][u] + p.n[u];
    most[u] = reached[u] + out_of[p.id[u]];
  }
  const double best_corrected = corrected(t);
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
  const auto visit = [&](size_t u) {
    if (most[u] > least) {
      least = raise(t, reached[u], p.id[u], c, bound);
      meter_.count(2 * c.size);
      work.edges += c.size;
    }
    most[u] = kForbidden;
  };
  // In a small column looking for the next best costs more than it saves.
  constexpr size_t kSmall = 24;
  for (size_t n = p.size > kSmall ? 3 : 1; n > 0; --n) {
    visit(u);
    reached[u] = kForbidden;
    if (n > 1) u = kernels().argmax_d(reached, p.size);
  }
  for (u = 0; u < p.size; ++u) visit(u);

  size_t lost = 0;
  for (size_t q = 0; q < c.size; ++q) lost += bound[q] <= needed_[q];
  if (lost) drop_unraised(c, bound);
}

void CoarseChain::drop_unraised(Column& c, double* bound) {
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

size_t CoarseChain::before(size_t s, size_t q, size_t among, Work& work) {
  const Column& p = at(s - 1);
  scratch_.resize(p.size);
  gather(step_of(s), 1 - direction_, at(s).id[q], p, scratch_.data());
  for (size_t u = 0; u < p.size; ++u) scratch_[u] += p.bound[direction_][u] + p.n[u];
  work.edges += p.size;
  return kernels().argmax_d(scratch_.data(), among);
}

double* coarse_ahead(const Lattice& lattice, size_t level, Arena& arena, Work& work) {
  const Chain& chain = lattice.edges.chain();
  const size_t L = lattice.L;
  CoarseChain coarse(lattice, level, arena);
  double* ahead = arena.array<double>(lattice.T * L);
  std::fill(ahead, ahead + lattice.T * L, kForbidden);
  if (!coarse.pass(1, kForbidden, work)) return ahead;
  for (size_t t = 0; t < lattice.T; ++t) {
    const CoarseChain::Column& c = coarse.column(t);
    if (coarse.has_block(t))
      for (size_t r = chain.before(level); r < L; ++r)
        ahead[t * L + static_cast<size_t>(chain.order[r])] = c.bound[1][c.labels];
    for (size_t q = 0; q < c.labels; ++q) ahead[t * L + static_cast<size_t>(c.id[q])] = c.bound[1][q];
  }
  return ahead;
}

}  // namespace tagwright
