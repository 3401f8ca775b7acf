#include "decode/tree/bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernels.h"
#include "lattice/chain.h"

namespace tagwright {
namespace {

constexpr double kAbsurd = 0x1p18;                                      // see lowest_that_matters()
constexpr double kLargestMagnitude = 1e30;                              // beyond it, sums of float32 might overflow
constexpr float kForbiddenF = -std::numeric_limits<float>::infinity();  // kForbidden in float32

}  // namespace

bool TreeBounds::can(const Lattice& lattice) {
  double magnitude = lattice.edge_magnitude() + lattice.ngram_magnitude();
  for (size_t t = 0; t < lattice.T; ++t) magnitude = std::max(magnitude, lattice.node_magnitude(t));
  return magnitude <= kLargestMagnitude;
}

TreeBounds::TreeBounds(const Lattice& lattice, Arena& arena)
    : lattice_(lattice),
      edges_(lattice.edges),
      T_(lattice.T),
      L_(lattice.L),
      width_((lattice.L + kGroup - 1) / kGroup * kGroup),
      scale_(lattice.edge_scale()),
      usual_(static_cast<float>(edges_.usual())),
      hot_factor_(edges_.costs().hot_factor),
      margin_(static_cast<float>(scale_) / 16),
      arena_(arena),
      columns_(arena.array<TreeColumn>(lattice.T)) {
  std::fill(columns_, columns_ + T_, TreeColumn{});
  if (edges_.ngrams()) states_.emplace(lattice, arena);  // hot labels have several states
  before_ = floats(L_);
  found_ = arena.array<int32_t>(width_ + kTreeLanes);
  keys_ = arena.array<float>(width_ + kTreeLanes);
  sums_ = arena.array<float>(width_ + kTreeLanes);
  scores_ = arena.array<float>(L_);
  const float* const shared = T_ < 2 ? nullptr : states_ ? states_->reach() : edges_.reach();
  for (size_t t = 0; t < T_; ++t) columns_[t].out = lattice.best_outs(t, lattice.allowed[t], shared, arena);
}

// Room for one score for each of n labels; what lies beyond the last one, up to a whole group, is forbidden.
float* TreeBounds::floats(size_t n) {
  const size_t width = (n + kGroup - 1) / kGroup * kGroup;
  float* made = arena_.array<float>(width);
  std::fill(made + n, made + width, kForbiddenF);
  return made;
}

// Scores such as -1e9, which all but forbid a label, would leave so much room for rounding that nothing could be
// pruned. Where there are such scores, they are raised to the lowest that could matter, which leaves a bound. Returns
// it, or -inf; `size` becomes that of the scores that count. top: the best of the column.
double TreeBounds::lowest_that_matters(double top, double& size) const {
  constexpr double kEnough = 256;
  const double matters = std::fabs(top) + scale_;
  if (!(size > kAbsurd * matters) || matters == 0) return kForbidden;
  const double low = kEnough * matters;
  size = 4 * low;
  return -low;
}

// Returns the node scores to take.
Scores TreeBounds::lift(size_t t, double& size) {
  const Scores nodes = lattice_.nodes.from(t * L_);
  if (size <= kAbsurd * scale_) return nodes;
  const double low = lowest_that_matters(largest_of(nodes, L_), size);
  if (low == kForbidden) return nodes;
  for (size_t y = 0; y < L_; ++y) {
    const double score = nodes[y];
    scores_[y] = score == kForbidden ? kForbiddenF : static_cast<float>(std::max(score, low));
    if (before_[y] != kForbiddenF) before_[y] = std::max(before_[y], static_cast<float>(low));
  }
  return {scores_, nullptr};
}

// The sums of a narrow column; returns the largest.
float TreeBounds::bound_list(size_t t, double& size) {
  const TreeColumn& c = columns_[t];
  const std::span<const int32_t> list = lattice_.allowed[t];
  const Scores nodes = lattice_.nodes.from(t * L_);
  double best = kForbidden;
  for (const int32_t y : list) best = std::max(best, nodes[static_cast<size_t>(y)]);
  const double low = lowest_that_matters(best, size);
  float top = kForbiddenF;
  for (size_t q = 0; q < list.size(); ++q) {
    const double score = nodes[static_cast<size_t>(list[q])];
    float before = before_[q];
    if (before != kForbiddenF) before = std::max(before, static_cast<float>(low));
    c.sum[q] = score == kForbidden ? kForbiddenF : static_cast<float>(std::max(score, low)) + before;
    top = std::max(top, c.sum[q]);
  }
  return top;
}

bool TreeBounds::make(size_t t, size_t most, bool margin_only, Work& work) {
  TreeColumn& c = columns_[t];
  const std::span<const int32_t> list = lattice_.allowed[t];
  const bool narrow = !list.empty();
  if (!c.sum) {
    c.sum = arena_.array<float>(narrow ? list.size() : width_);
    if (!narrow) c.blocks = arena_.array<float>(width_ / kTreeLanes);
  }
  double size = lattice_.node_magnitude(t) + 2 * lattice_.edge_magnitude() + (states_ ? states_->size() : 0);
  if (t == 0) {
    const std::span<const double> start = edges_.start();
    if (start.empty()) {
      std::fill(before_, before_ + (narrow ? list.size() : L_), 0.0F);
    } else {
      for (size_t q = 0; q < (narrow ? list.size() : L_); ++q)
        before_[q] = static_cast<float>(start[narrow ? static_cast<size_t>(list[q]) : q]);
    }
  } else {
    size += follow(t - 1, work);
  }
  if (narrow) {
    c.top = bound_list(t, size);
  } else {
    const Scores nodes = lift(t, size);
    c.top = nodes.f ? kernels().bound_column_f(nodes.f, before_, c.out, L_, c.sum, c.blocks)
                    : kernels().bound_column_d(nodes.d, before_, c.out, L_, c.sum, c.blocks);
  }
  if (c.top == kForbiddenF) return false;
  c.offset = t ? columns_[t - 1].offset + static_cast<double>(columns_[t - 1].top) : 0;
  c.error = (t ? columns_[t - 1].error : 0) + 8 * kFloatRounding * size + kFloatTiny;
  choose(t, most, margin_only);
  if (states_) states_->enter(t, columns_, work);
  work.nodes += c.hots;
  return true;
}

size_t TreeBounds::open(size_t t, double least) {
  const TreeColumn& c = columns_[t];
  // Rounding is monotone: what reaches `least` before its sum is rounded reaches the rounded one after it. -inf never
  // does.
  const float reached = std::max(static_cast<float>(least), -std::numeric_limits<float>::max());
  size_t n = 0;
  if (const std::span<const int32_t> list = lattice_.allowed[t]; !list.empty()) {
    for (size_t q = 0; q < list.size(); ++q) {
      found_[n] = list[q];
      sums_[n] = c.sum[q];
      keys_[n] = c.sum[q] + c.out[q];
      n += keys_[n] >= reached;
    }
    return n;
  }
  n = kernels().open_blocks(c.blocks, c.sum, c.out, width_, reached, found_, keys_);
  for (size_t q = 0; q < n; ++q) sums_[q] = c.sum[found_[q]];
  return n;
}

// A key that the best labels of at least n blocks reach.
float TreeBounds::reached_by(const float* blocks, size_t count, size_t n) {
  if (n <= 16) return kernels().reached_by_16(blocks, count);
  if (n >= count) return kForbiddenF;
  std::copy(blocks, blocks + count, scores_);
  std::nth_element(scores_, scores_ + n - 1, scores_ + count, std::greater<>());
  return scores_[n - 1];
}

// The hot labels: those of the best blocks.
void TreeBounds::choose(size_t t, size_t most, bool margin_only) {
  TreeColumn& c = columns_[t];
  c.rest = c.blocks ? reached_by(c.blocks, width_ / kTreeLanes, most) : kForbiddenF;
  if (margin_only) c.rest = std::max(c.rest, c.top + usual_ - margin_);
  c.rest = std::min(c.rest, c.top - c.heated);
  c.hots = open(t, static_cast<double>(c.rest));
  if (states_) c.rest = best_below(t, c.rest);
  if (c.hots > (states_ ? most : hot_factor_ * most)) cut(c, most);
  c.hot = arena_.array<int32_t>(c.hots);
  c.key = arena_.array<float>(c.hots);
  c.hot_sum = arena_.array<float>(c.hots);
  std::copy(found_, found_ + c.hots, c.hot);
  std::copy(keys_, keys_ + c.hots, c.key);
  std::copy(sums_, sums_ + c.hots, c.hot_sum);
}

// Leaves the `most` best of what was found.
void TreeBounds::cut(TreeColumn& c, size_t most) {
  std::copy(keys_, keys_ + c.hots, scores_);
  std::nth_element(scores_, scores_ + most, scores_ + c.hots, std::greater<>());
  c.rest = scores_[most];
  size_t above = 0, n = 0;
  for (size_t q = 0; q < c.hots; ++q) above += keys_[q] > c.rest;
  for (size_t q = 0; q < c.hots; ++q) {
    if (keys_[q] < c.rest || (keys_[q] == c.rest && above == most)) continue;
    above += keys_[q] == c.rest;
    found_[n] = found_[q];
    sums_[n] = sums_[q];
    keys_[n++] = keys_[q];
  }
  c.hots = n;
}

// before_[j]: bound of what reaches label j of column t + 1, counted from the top of column t. Returns the largest
// magnitude of what was added to edges.
double TreeBounds::follow(size_t t, Work& work) {
  const TreeColumn& c = columns_[t];
  const float rest = c.rest - c.top;
  double size = std::isfinite(rest) ? std::fabs(rest) : 0;
  for (size_t q = 0; q < c.hots; ++q) size = std::max(size, std::fabs(static_cast<double>(c.hot_sum[q] - c.top)));
  if (!lattice_.allowed[t + 1].empty()) {
    follow_into_list(t, c, rest, work);
    return size;
  }
  const BoundStep step{.hot = {c.hot, c.hots},
                       .hot_sum = c.hot_sum,
                       .hot_key = c.key,
                       .top = c.top,
                       .rest = c.rest,
                       .list = lattice_.allowed[t],
                       .sum = c.sum,
                       .out = c.out};
  lattice_.bound_step(t, step, before_, scores_, work);
  if (states_) states_->scatter(c, rest, before_, work);
  return size;
}

// Into a narrow column, edge by edge; not where the best edge of a hot label would bring nothing.
void TreeBounds::follow_into_list(size_t t, const TreeColumn& c, float rest, Work& work) {
  const std::span<const int32_t> list = lattice_.allowed[t + 1];
  for (size_t q = 0; q < list.size(); ++q) {
    float best = states_ ? std::max(rest, states_->into(t, c, list[q], work)) : rest;
    for (size_t p = 0; p < c.hots && !states_; ++p) {
      if (!(c.key[p] - c.top > best)) continue;
      const double edge = lattice_.edge(t, static_cast<size_t>(c.hot[p]), static_cast<size_t>(list[q]));
      best = std::max(best, c.hot_sum[p] - c.top + static_cast<float>(edge));
      ++work.edges;
    }
    before_[q] = best;
  }
}

}  // namespace tagwright
