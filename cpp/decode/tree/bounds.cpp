#include "decode/tree/bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernels.h"
#include "lattice/chain.h"

namespace tagwright {
namespace {

constexpr double kAbsurd = 0x1p18;                                      // see lowest_relevant()
constexpr double kLargestMagnitude = 1e30;                              // beyond it, sums of float32 might overflow
constexpr float kForbiddenF = -std::numeric_limits<float>::infinity();  // kForbidden in float32

}  // namespace

bool TreeBounds::can(const Lattice& lattice) {
  double magnitude = lattice.edge_magnitude() + lattice.ngram_magnitude();
  for (size_t t = 0; t < lattice.T; ++t) magnitude = std::max(magnitude, lattice.node_magnitude(t));
  return magnitude <= kLargestMagnitude;
}

TreeBounds::TreeBounds(const Lattice& lattice, const float* reach, Arena& arena)
    : lattice_(lattice),
      edges_(lattice.edges),
      T_(lattice.T),
      L_(lattice.L),
      width_((lattice.L + kGroup - 1) / kGroup * kGroup),
      scale_(lattice.edge_scale()),
      usual_(static_cast<float>(edges_.usual())),
      hot_factor_(edges_.costs().hot_factor),
      arena_(arena),
      columns_(arena.array<TreeColumn>(lattice.T)),
      margin_(static_cast<float>(scale_) / 16) {
  std::fill(columns_, columns_ + T_, TreeColumn{});
  before_ = floats(L_);
  found_ = arena.array<int32_t>(width_ + kTreeLanes);
  keys_ = arena.array<float>(width_ + kTreeLanes);
  sums_ = arena.array<float>(width_ + kTreeLanes);
  scores_ = arena.array<float>(L_);
  for (size_t t = 0; t < T_; ++t) columns_[t].out = lattice.best_outs(t, lattice.allowed[t], reach, arena);
}

// Returns room for one score per label; those beyond the n-th, up to a whole group, are -inf.
float* TreeBounds::floats(size_t n) {
  const size_t width = (n + kGroup - 1) / kGroup * kGroup;
  float* made = arena_.array<float>(width);
  std::fill(made + n, made + width, kForbiddenF);
  return made;
}

// Returns the lowest score that can matter where there are scores such as -1e9, which all but forbid a label; otherwise
// -inf. Such scores would leave so much room for rounding that nothing could be pruned; raised to this one they still
// give a bound. size: becomes the magnitude of the scores after that. top: the best of the column.
double TreeBounds::lowest_relevant(double top, double& size) const {
  constexpr double kEnough = 256;
  const double matters = std::fabs(top) + scale_;
  if (!(size > kAbsurd * matters) || matters == 0) return kForbidden;
  const double low = kEnough * matters;
  size = 4 * low;
  return -low;
}

// Returns the node scores of a column, raised where lowest_relevant() says so.
Scores TreeBounds::lift(size_t t, double& size) {
  const Scores nodes = lattice_.nodes.from(t * L_);
  if (size <= kAbsurd * scale_) return nodes;
  const double low = lowest_relevant(largest_of(nodes, L_), size);
  if (low == kForbidden) return nodes;
  for (size_t y = 0; y < L_; ++y) {
    const double score = nodes[y];
    scores_[y] = score == kForbidden ? kForbiddenF : static_cast<float>(std::max(score, low));
    if (before_[y] != kForbiddenF) before_[y] = std::max(before_[y], static_cast<float>(low));
  }
  return {scores_, nullptr};
}

// Fills the sums of a narrow column; returns the largest.
float TreeBounds::bound_list(size_t t, double& size) {
  const TreeColumn& c = columns_[t];
  const std::span<const int32_t> list = lattice_.allowed[t];
  const Scores nodes = lattice_.nodes.from(t * L_);
  double best = kForbidden;
  for (const int32_t y : list) best = std::max(best, nodes[static_cast<size_t>(y)]);
  const double low = lowest_relevant(best, size);
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
  double size = lattice_.node_magnitude(t) + 2 * lattice_.edge_magnitude() + state_size_;
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
  enter(t, work);
  work.nodes += c.hots;
  return true;
}

// That of the best hot label, or of the rest. Keys are rounded, so they are not bounds.
double TreeBounds::limit() const {
  const TreeColumn& last = columns_[T_ - 1];
  double most = last.rest;
  for (size_t q = 0; q < last.hots; ++q)
    most = std::max(most, static_cast<double>(last.hot_sum[q]) +
                              static_cast<double>(rounded_up(edges_.stop(static_cast<size_t>(last.hot[q])))));
  return last.offset + last.error + most;
}

size_t TreeBounds::open(size_t t, double least) {
  const TreeColumn& c = columns_[t];
  // Rounding is monotone: a sum that reaches `least` before rounding reaches the rounded one after it. -inf never does.
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

// Returns a key that the best labels of at least n blocks reach.
float TreeBounds::reached_by(const float* blocks, size_t count, size_t n) {
  if (n <= 16) return kernels().reached_by_16(blocks, count);
  if (n >= count) return kForbiddenF;
  std::copy(blocks, blocks + count, scores_);
  std::nth_element(scores_, scores_ + n - 1, scores_ + count, std::greater<>());
  return scores_[n - 1];
}

// Chooses the hot labels: those of the best blocks.
void TreeBounds::choose(size_t t, size_t most, bool margin_only) {
  TreeColumn& c = columns_[t];
  c.rest = c.blocks ? reached_by(c.blocks, width_ / kTreeLanes, most) : kForbiddenF;
  if (margin_only) c.rest = std::max(c.rest, c.top + usual_ - margin_);
  c.rest = std::min(c.rest, c.top - c.hot_margin);
  c.hots = open(t, static_cast<double>(c.rest));
  c.rest = rest_below(t, c.rest);
  if (c.hots > hot_factor_ * most) cut(c, most);
  c.hot = arena_.array<int32_t>(c.hots);
  c.key = arena_.array<float>(c.hots);
  c.hot_sum = arena_.array<float>(c.hots);
  std::copy(found_, found_ + c.hots, c.hot);
  std::copy(keys_, keys_ + c.hots, c.key);
  std::copy(sums_, sums_ + c.hots, c.hot_sum);
}

// Keeps the `most` best of the labels that were found.
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

// Fills before_ for column t + 1, relative to the top of column t. Returns the largest magnitude of what was added to
// edges.
double TreeBounds::follow(size_t t, Work& work) {
  const TreeColumn& c = columns_[t];
  const float rest = c.rest - c.top;
  double size = std::isfinite(rest) ? std::fabs(rest) : 0;
  for (size_t q = 0; q < c.hots; ++q) size = std::max(size, std::fabs(static_cast<double>(c.hot_sum[q] - c.top)));
  if (const std::span<const int32_t> list = lattice_.allowed[t + 1]; !list.empty()) {
    for (size_t q = 0; q < list.size(); ++q) before_[q] = into(t, list[q], rest, work);
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
  scatter(t, rest, work);
  return size;
}

// Edge by edge; not where the best edge of a hot label would not raise the bound.
float TreeBounds::into(size_t t, int32_t k, float rest, Work& work) {
  const TreeColumn& c = columns_[t];
  float best = rest;
  for (size_t p = 0; p < c.hots; ++p) {
    if (!(c.key[p] - c.top > best)) continue;
    const double edge = lattice_.edge(t, static_cast<size_t>(c.hot[p]), static_cast<size_t>(k));
    best = std::max(best, c.hot_sum[p] - c.top + static_cast<float>(edge));
    ++work.edges;
  }
  return best;
}

}  // namespace tagwright
