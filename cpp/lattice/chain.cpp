#include "lattice/chain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/kernels.h"

namespace tagwright {

Chain make_chain(size_t L, std::span<const int32_t> order) {
  Chain h;
  h.L = L;
  h.by_number = order.empty();
  h.order.resize(L);
  std::iota(h.order.begin(), h.order.end(), 0);
  if (!order.empty()) h.order.assign(order.begin(), order.end());
  for (size_t first = 1; first < L; first *= 2) {
    const size_t m = h.blocks.size(), last = std::min(2 * first, L);
    h.blocks.push_back({first, last, m + 1, last < L ? m + 2 : m + 1});
  }
  h.inside.resize(L);
  for (size_t m = 0; m < h.blocks.size(); ++m)
    for (size_t r = h.blocks[m].first; r < L; ++r)
      h.inside[static_cast<size_t>(h.order[r])].push_back(static_cast<int32_t>(L + m));
  return h;
}

namespace {

// to, from, out and in of every label, from all rows of a matrix; a block takes in its own labels' rows only.
void bounds_from_rows(const EdgeScores& edges, size_t t, const Chain& h, Bounds& b) {
  std::vector<size_t> own(b.L, b.B);  // [label]: the block that releases it; none for the first label of a chain
  for (size_t m = 0; m < b.B; ++m)
    for (size_t r = h.blocks[m].first; r < h.blocks[m].last; ++r) own[static_cast<size_t>(h.order[r])] = m;
  std::vector<double> row(b.L);
  for (size_t i = 0; i < b.L; ++i) {
    edges.row(t, i, row.data());
    block_scores(h, row.data(), b.to.data() + i * b.B);
    b.out[i] = *std::max_element(row.begin(), row.end());
    for (size_t j = 0; j < b.L; ++j) b.in[j] = std::max(b.in[j], row[j]);
    if (own[i] == b.B) continue;
    double* from = b.from.data() + own[i] * b.L;
    for (size_t j = 0; j < b.L; ++j) from[j] = std::max(from[j], row[j]);
  }
  for (size_t m = b.B; m-- > 0;)
    for (size_t c = h.blocks[m].next_first; c < h.blocks[m].next_last; ++c)
      for (size_t j = 0; j < b.L; ++j) b.from[m * b.L + j] = std::max(b.from[m * b.L + j], b.from[c * b.L + j]);
}

// The same from default and exceptions: a label has a default edge into a block unless all its edges there are
// exceptions.
void bounds_from_exceptions(const EdgeScores& edges, const Chain& h, Bounds& b) {
  std::vector<size_t> members(b.B);
  for (const std::vector<int32_t>& blocks : h.inside)
    for (const int32_t id : blocks) ++members[static_cast<size_t>(id) - b.L];
  std::vector<size_t> met(b.B);
  std::vector<double> best(b.B);
  // best: of one row or column into (or out of) each block; returns that of the whole row.
  const auto summarise = [&](const Exceptions& lines, size_t i) {
    std::fill(met.begin(), met.end(), 0);
    std::fill(best.begin(), best.end(), kForbidden);
    const std::span<const int32_t> labels = lines.keys(i);
    const std::span<const double> scores = lines.values(i);
    const double largest = std::max(lines.largest()[i], labels.size() < b.L ? edges.fallback() : kForbidden);
    for (size_t q = 0; q < labels.size(); ++q) {
      for (const int32_t id : h.inside[static_cast<size_t>(labels[q])]) {
        const size_t m = static_cast<size_t>(id) - b.L;
        ++met[m];
        best[m] = std::max(best[m], scores[q]);
      }
    }
    for (size_t m = 0; m < b.B; ++m)
      if (met[m] < members[m]) best[m] = std::max(best[m], edges.fallback());
    return largest;
  };
  for (size_t i = 0; i < b.L; ++i) {
    b.out[i] = summarise(edges.rows(), i);
    std::copy(best.begin(), best.end(), b.to.begin() + static_cast<ptrdiff_t>(i * b.B));
    b.in[i] = summarise(edges.columns(), i);
    for (size_t m = 0; m < b.B; ++m) b.from[m * b.L + i] = best[m];
  }
}

}  // namespace

Bounds edge_bounds(const EdgeScores& edges, size_t t, const Chain& h) {
  const size_t L = h.L, B = h.blocks.size();
  Bounds b;
  b.L = L;
  b.B = B;
  b.to.assign(L * B, kForbidden);
  b.from.assign(B * L, kForbidden);
  b.between.assign(B * B, kForbidden);
  b.out.assign(L + B, kForbidden);
  b.in.assign(L + B, kForbidden);
  if (edges.is_sparse()) {
    bounds_from_exceptions(edges, h, b);
  } else {
    bounds_from_rows(edges, t, h, b);
  }
  for (size_t m = 0; m < B; ++m) {
    const double* from = b.from.data() + m * L;
    block_scores(h, from, b.between.data() + m * B);
    b.out[L + m] = *std::max_element(from, from + L);
  }
  block_scores(h, b.in.data(), b.in.data() + L);
  b.largest = *std::max_element(b.out.begin(), b.out.end());
  return b;
}

void raise_bounds(Bounds& b, const Chain& h, size_t i, size_t j, double score) {
  const auto raise = [&](double& bound) { bound = std::max(bound, score); };
  raise(b.out[i]);
  raise(b.in[j]);
  raise(b.largest);
  for (const int32_t to : h.inside[j]) {
    raise(b.to[i * b.B + static_cast<size_t>(to) - b.L]);
    raise(b.in[static_cast<size_t>(to)]);
  }
  for (const int32_t from : h.inside[i]) {
    const size_t m = static_cast<size_t>(from) - b.L;
    raise(b.from[m * b.L + j]);
    raise(b.out[static_cast<size_t>(from)]);
    for (const int32_t to : h.inside[j]) raise(b.between[m * b.B + static_cast<size_t>(to) - b.L]);
  }
}

float rounded_up(double score) {
  constexpr double kMost = std::numeric_limits<float>::max();
  if (score > kMost) return std::numeric_limits<float>::infinity();
  const float near = static_cast<float>(std::max(score, score == kForbidden ? score : -kMost));
  return static_cast<double>(near) < score ? std::nextafter(near, std::numeric_limits<float>::infinity()) : near;
}

float best_out(const EdgeScores& edges, size_t t, size_t i) {
  if (edges.is_sparse()) return rounded_up(std::max(edges.fallback(), edges.better().largest()[i]));
  const Scores row = edges.matrix(t).from(i * edges.stride());
  return rounded_up(row.f ? kernels().max_f(row.f, edges.L()) : kernels().max_d(row.d, edges.L()));
}

namespace {

template <class LargestOf>
void gather_blocks(const Chain& h, double* out, LargestOf&& largest_of) {
  for (size_t m = h.blocks.size(); m-- > 0;) {
    const Block& block = h.blocks[m];
    double best = largest_of(block.first, block.last);
    for (size_t c = block.next_first; c < block.next_last; ++c) best = std::max(best, out[c]);
    out[m] = best;
  }
}

}  // namespace

void block_scores(const Chain& h, const double* scores, double* out) {
  gather_blocks(h, out, [&](size_t first, size_t last) {
    double best = kForbidden;
    for (size_t r = first; r < last; ++r) best = std::max(best, scores[h.order[r]]);
    return best;
  });
}

void block_scores(const Chain& h, Scores scores, double* out) {
  gather_blocks(h, out, [&](size_t first, size_t last) {
    if (h.by_number) {
      const Scores run = scores.from(first);
      return run.f ? kernels().max_f(run.f, last - first) : kernels().max_d(run.d, last - first);
    }
    double best = kForbidden;
    for (size_t r = first; r < last; ++r) best = std::max(best, scores[static_cast<size_t>(h.order[r])]);
    return best;
  });
}

Patch bound_patch(const Patch& labels, const Bounds& bounds, const Chain& h) {
  const size_t L = bounds.L, B = bounds.B;
  Patch patch;
  for (const Override& e : labels.by_row) {
    const size_t i = static_cast<size_t>(e.i), j = static_cast<size_t>(e.j);
    patch.by_row.push_back(e);
    for (const int32_t c : h.inside[j])
      if (e.score > bounds.to[i * B + static_cast<size_t>(c) - L]) patch.by_row.push_back({e.i, c, e.score});
    for (const int32_t b : h.inside[i]) {
      const size_t m = static_cast<size_t>(b) - L;
      if (e.score > bounds.from[m * L + j]) patch.by_row.push_back({b, e.j, e.score});
      for (const int32_t c : h.inside[j])
        if (e.score > bounds.between[m * B + static_cast<size_t>(c) - L]) patch.by_row.push_back({b, c, e.score});
    }
  }
  // Several corrected edges may raise one pair of blocks: the largest counts.
  std::sort(patch.by_row.begin(), patch.by_row.end(), [](const Override& a, const Override& b) {
    return a.i != b.i ? a.i < b.i : a.j != b.j ? a.j < b.j : a.score > b.score;
  });
  const auto same = [](const Override& a, const Override& b) { return a.i == b.i && a.j == b.j; };
  patch.by_row.erase(std::unique(patch.by_row.begin(), patch.by_row.end(), same), patch.by_row.end());
  patch.index_columns();
  return patch;
}

}  // namespace tagwright
