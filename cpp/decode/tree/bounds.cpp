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

double scale_of(const Edges& edges) {
  double scale = edges.scale();
  for (const double score : edges.start()) scale = std::max(scale, score);
  for (const double score : edges.stop()) scale = std::max(scale, score);
  return scale;
}

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
      scale_(edges_.is_stepwise() || lattice.patched() ? lattice.edge_magnitude() : scale_of(edges_)),
      usual_(edges_.is_stepwise() ? kForbiddenF : static_cast<float>(edges_.usual())),
      margin_(static_cast<float>(scale_) / 16),
      arena_(arena),
      columns_(arena.array<TreeColumn>(lattice.T)) {
  std::fill(columns_, columns_ + T_, TreeColumn{});
  if (edges_.ngrams()) states_.emplace(lattice, arena);
  before_ = floats(L_);
  found_ = arena.array<int32_t>(width_ + kTreeLanes);
  keys_ = arena.array<float>(width_ + kTreeLanes);
  sums_ = arena.array<float>(width_ + kTreeLanes);
  scores_ = arena.array<float>(L_);
  rows_ = arena.array<const void*>(L_);
  find_outs();
}

// Room for one score for each of n labels; what lies beyond the last one, up to a whole group, is forbidden.
float* TreeBounds::floats(size_t n) {
  const size_t width = (n + kGroup - 1) / kGroup * kGroup;
  float* made = arena_.array<float>(width);
  std::fill(made + n, made + width, kForbiddenF);
  return made;
}

// The best edge out of every label of every column.
void TreeBounds::find_outs() {
  const float* shared = edges_.is_stepwise() || T_ < 2 ? nullptr : states_ ? states_->reach() : edges_.reach().data();
  for (size_t t = 0; t < T_; ++t) {
    const std::span<const int32_t> list = lattice_.allowed[t];
    const bool last = t + 1 == T_;
    columns_[t].out = last && !edges_.is_stepwise() ? edges_.stop_reach().data() : shared;
    if (list.empty() && columns_[t].out && (last || lattice_.patch(t).empty())) continue;
    const auto out = [&](size_t y) {
      return last ? rounded_up(edges_.stop(y)) : shared ? shared[y] : best_out(edges_, t, y);
    };
    const auto raise = [](float& bound, const Override& e) { bound = std::max(bound, rounded_up(e.score)); };
    float* const own = list.empty() ? floats(L_) : arena_.array<float>(list.size());
    columns_[t].out = own;
    for (size_t q = 0; q < list.size(); ++q) {
      own[q] = out(static_cast<size_t>(list[q]));
      if (last || !lattice_.patched()) continue;
      for (const Override& e : lattice_.patch(t).row(list[q])) raise(own[q], e);
    }
    if (!list.empty()) continue;
    for (size_t y = 0; y < L_; ++y) own[y] = out(y);
    if (last) continue;
    for (const Override& e : lattice_.patch(t).by_row) raise(own[e.i], e);
  }
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
  // Over a matrix each of them costs a row, over exceptions most cost nothing.
  if (c.hots > (edges_.is_sparse() && !states_ ? 8 * most : most)) cut(c, most);
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
  if (edges_.is_sparse()) {
    follow_exceptions(t, c, rest, work);
  } else {
    follow_rows(t, c, rest, work);
  }
  for (size_t q = 0; lattice_.patched() && q < c.hots; ++q) {
    const float score = c.hot_sum[q] - c.top;
    for (const Override& e : lattice_.patch(t).row(c.hot[q]))
      before_[e.j] = std::max(before_[e.j], score + static_cast<float>(e.score));
  }
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

void TreeBounds::follow_rows(size_t t, const TreeColumn& c, float rest, Work& work) {
  std::fill(before_, before_ + L_, rest);
  const Scores matrix = edges_.matrix(t);
  const size_t stride = edges_.stride();
  for (size_t q = 0; q < c.hots; ++q) {
    const size_t i = static_cast<size_t>(c.hot[q]);
    scores_[q] = c.hot_sum[q] - c.top;
    rows_[q] = matrix.f ? static_cast<const void*>(matrix.f + i * stride) : matrix.d + i * stride;
  }
  if (matrix.f) {
    kernels().follow_rows_f(reinterpret_cast<const float* const*>(rows_), scores_, c.hots, L_, before_);
  } else {
    kernels().follow_rows_d(reinterpret_cast<const double* const*>(rows_), scores_, c.hots, L_, before_);
  }
  work.edges += c.hots * L_;
}

// Every label is reached by the best one's default edge. Where that label's exception is worse, the second best of
// the hot ones counts; its own worse exceptions are not looked at, which leaves a bound.
void TreeBounds::follow_exceptions(size_t t, const TreeColumn& c, float rest, Work& work) {
  const float fallback = rounded_up(edges_.fallback());
  const Exceptions& better = edges_.better();
  float least = std::max(fallback, rest);
  if (const PairRules* rules = edges_.default_rules()) {
    follow_classes(t, rules->classes(), rest, fallback);
    least = kForbiddenF;
  } else {
    std::fill(before_, before_ + L_, least);
    int32_t top = -1;
    float second = kForbiddenF;
    for (size_t q = 0; q < c.hots; ++q) {
      if (c.hot_sum[q] == c.top && top < 0) {
        top = c.hot[q];
      } else {
        second = std::max(second, c.hot_sum[q]);
      }
    }
    if (top >= 0 && edges_.worse().size(static_cast<size_t>(top)) > 0) {
      const size_t i = static_cast<size_t>(top);
      least = std::max(second - c.top + fallback, rest);
      const std::span<const int32_t> label = edges_.worse().keys(i);
      const std::span<const double> score = edges_.worse().values(i);
      for (size_t q = 0; q < label.size(); ++q) before_[label[q]] = std::max(static_cast<float>(score[q]), least);
      work.edges += label.size();
    }
  }
  for (size_t q = 0; q < c.hots; ++q) {
    if (!(c.key[q] - c.top > least)) continue;
    const size_t i = static_cast<size_t>(c.hot[q]);
    kernels().scatter_f(c.hot_sum[q] - c.top, better.keys(i).data(), better.values(i).data(), better.size(i), before_);
    work.edges += better.size(i);
  }
}

// Default edges where rules limit them: the largest class of labels is reached by the best hot label that leads there,
// every other class by each hot label that does. Worse exceptions are not looked at, which leaves a bound. What is not
// hot reaches the largest class with the rest, and every other class with the best of the labels that lead there.
void TreeBounds::follow_classes(size_t t, const PairClasses& classes, float rest, float fallback) {
  const TreeColumn& c = columns_[t];
  const PairClasses::Side &before = classes.side[0], &after = classes.side[1];
  const auto class_of = [&](int32_t y) { return static_cast<size_t>(before.of[static_cast<size_t>(y)]); };
  float* const best = scores_;  // [class]: the best sum + out of a label that is not hot
  std::fill(best, best + before.others.size(), kForbiddenF);
  const std::span<const int32_t> list = lattice_.allowed[t];
  for (size_t q = 0; q < (list.empty() ? L_ : list.size()); ++q) {
    const float key = c.sum[q] + c.out[q];
    float& own = best[class_of(list.empty() ? static_cast<int32_t>(q) : list[q])];
    if (key <= c.rest && key > own) own = key;
  }
  float leads = rest;
  for (size_t target = 0; target < after.others.size(); ++target) {
    if (target == classes.main) continue;
    float most = kForbiddenF;
    for (const int32_t r : after.others[target]) most = std::max(most, best[r]);
    for (const int32_t j : after.members[target]) before_[j] = most - c.top;
  }
  for (size_t q = 0; q < c.hots; ++q) {
    const float reached = c.hot_sum[q] - c.top + fallback;
    for (const int32_t target : before.others[class_of(c.hot[q])]) {
      if (static_cast<size_t>(target) == classes.main) {
        leads = std::max(leads, reached);
      } else {
        for (const int32_t j : after.members[static_cast<size_t>(target)]) before_[j] = std::max(before_[j], reached);
      }
    }
  }
  for (const int32_t j : after.members[classes.main]) before_[j] = leads;
}

}  // namespace tagwright
