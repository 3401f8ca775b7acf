#include "train/crf/crf.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "base/threads.h"
#include "kernels/kernels.h"
#include "model/weight_rows.h"

namespace tagwright {
namespace {

std::vector<int32_t> by_length(std::span<const int32_t> sentences, auto&& length) {
  std::vector<int32_t> order;
  for (const int32_t s : sentences)
    if (length(static_cast<size_t>(s))) order.push_back(s);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return length(static_cast<size_t>(a)) > length(static_cast<size_t>(b));
  });
  return order;
}

}  // namespace

Crf::Crf(Encoded corpus, std::vector<int32_t> labels, CrfPairs pairs, const CrfOptions& options)
    : options_(options), corpus_(std::move(corpus)), labels_(std::move(labels)), pairs_(std::move(pairs)) {
  const size_t L = options_.L, features = pairs_.node_end.size();
  whole_.assign(features, -1);
  for (size_t f = 0; f < features; ++f) {
    const size_t n = pairs_.node_end[f] - node_begin(f);
    if (n < L && is_large(n, L) && !options_.closed) whole_[f] = static_cast<int32_t>(whole_rows_++);
  }
  feature_tokens_.assign(features, 0);
  set_tokens_.assign(pairs_.set_end.size(), 0);
  for (const int32_t id : corpus_.edge.id)
    if (static_cast<size_t>(id) < set_tokens_.size()) ++set_tokens_[static_cast<size_t>(id)];
  // A count is below 2^52 of its grains.
  const auto grain_for = [](double most) {
    return std::ldexp(1.0, static_cast<int>(std::ceil(std::log2(most + 1))) - 51);
  };
  std::vector<double> mass(features, 0);
  std::vector<bool> valued(features, false);
  for (size_t at = 0; at < corpus_.node.id.size(); ++at) {
    const size_t f = static_cast<size_t>(corpus_.node.id[at]);
    const double value = corpus_.node.value_of(at);
    ++feature_tokens_[f];
    mass[f] += std::fabs(value);
    valued[f] = valued[f] || value != 1;
  }
  double most = static_cast<double>(corpus_.node.end.size());
  for (const double times : feature_tokens_) most = std::max(most, times);
  grain_ = grain_for(most);
  for (size_t f = 0; f < features; ++f) feature_grain_.push_back(valued[f] ? grain_for(mass[f]) : grain_);

  shape_.L = L;
  shape_.dense = options_.dense_edges;
  if (shape_.dense) {
    shape_.stride = (L + 7) / 8 * 8;
    for (Factors::Side& side : shape_.side) side.matrix.assign(times(L, shape_.stride), 0.0);
    return;
  }
  const size_t n = pairs_.edges();
  column_order_.resize(n);
  std::iota(column_order_.begin(), column_order_.end(), size_t{0});
  std::stable_sort(column_order_.begin(), column_order_.end(),
                   [&](size_t a, size_t b) { return pairs_.current[a] < pairs_.current[b]; });
  for (size_t side = 0; side < 2; ++side) {
    Factors::Side& to = shape_.side[side];
    to.begin.assign(L + 1, 0);
    to.index.resize(n);
    to.factor.resize(n);
    to.more.resize(n);
    for (size_t q = 0; q < n; ++q) {
      const size_t row = side ? column_order_[q] : q;
      ++to.begin[static_cast<size_t>(side ? pairs_.current[row] : pairs_.previous[row]) + 1];
      to.index[q] = side ? pairs_.previous[row] : pairs_.current[row];
    }
    std::partial_sum(to.begin.begin(), to.begin.end(), to.begin.begin());
  }
}

size_t Crf::edge_of(int32_t i, int32_t j) const {
  const auto first = std::lower_bound(pairs_.previous.begin(), pairs_.previous.end(), i);
  const auto last = std::upper_bound(first, pairs_.previous.end(), i);
  const auto begin = pairs_.current.begin() + (first - pairs_.previous.begin());
  const auto end = pairs_.current.begin() + (last - pairs_.previous.begin());
  const auto found = std::lower_bound(begin, end, j);
  return found == end || *found != j ? kNoPlace : static_cast<size_t>(found - pairs_.current.begin());
}

// Edges that have no weight score 0.
void Crf::prepare(std::span<const double> weights, bool whole, Ready& ready) const {
  const size_t L = options_.L, n = pairs_.edges();
  const double* edge = weights.data() + pairs_.nodes();
  ready.weights = weights;
  ready.edges.reset();
  if (whole) {
    ready.whole.assign(times(whole_rows_, L), 0.0);
    for (size_t f = 0; f < whole_.size(); ++f) {
      if (whole_[f] < 0) continue;
      double* row = ready.whole.data() + static_cast<size_t>(whole_[f]) * L;
      for (size_t q = node_begin(f); q < pairs_.node_end[f]; ++q) row[pairs_.node_label[q]] = weights[q];
    }
  }
  Factors& to = ready.factors;
  if (to.L != L) to = shape_;
  double most = 0, least = 0;
  to.forbids = false;
  for (size_t q = 0; q < n; ++q) {
    if (edge[q] == kForbidden) {
      to.forbids = true;
      continue;
    }
    most = std::max(most, edge[q]);
    least = std::min(least, edge[q]);
  }
  to.shift = most;
  to.close = most - least <= kTame;
  const double zero = 0;
  double rest;
  kernels().exp_d(&zero, most, 1, &rest);
  if (to.dense) {
    for (size_t i = 0; i < L; ++i)
      for (Factors::Side& side : to.side)
        std::fill_n(side.matrix.begin() + static_cast<ptrdiff_t>(i * to.stride), L, rest);
    std::vector<double> factor(n);
    kernels().exp_d(edge, most, n, factor.data());
    for (size_t q = 0; q < n; ++q) {
      const size_t i = static_cast<size_t>(pairs_.previous[q]), j = static_cast<size_t>(pairs_.current[q]);
      to.side[0].matrix[i * to.stride + j] = to.side[1].matrix[j * to.stride + i] = factor[q];
    }
    return;
  }
  to.rest = rest;
  to.mild = !to.forbids && std::exp(least - most) > 2 * kFewDigits * rest;
  kernels().exp_d(edge, most, n, to.side[0].factor.data());
  for (size_t q = 0; q < n; ++q) to.side[1].factor[q] = to.side[0].factor[column_order_[q]];
  for (Factors::Side& side : to.side)
    for (size_t q = 0; q < n; ++q) side.more[q] = side.factor[q] - rest;
}

// Where single sentences are summed.
void Crf::make_edges(const std::vector<std::vector<int32_t>>& work, Ready& ready) const {
  if (std::none_of(work.begin(), work.end(), [](const auto& group) { return group.size() == 1; })) return;
  const double* edge = ready.weights.data() + pairs_.nodes();
  std::vector<int32_t> set, previous, current;
  for (size_t s = 0, q = 0; s < pairs_.set_end.size(); ++s) {
    for (; q < pairs_.set_end[s]; ++q) {
      set.push_back(static_cast<int32_t>(s));
      previous.push_back(Corrections::previous(pairs_.set_pair[q]));
      current.push_back(Corrections::current(pairs_.set_pair[q]));
    }
  }
  const EdgeExtras extras{.correction_sets = pairs_.set_end.size(),
                          .correction_set = set,
                          .corrections = {previous, current, {nullptr, edge + pairs_.edges()}}};
  // Sums read factors, not a matrix.
  ready.edges = std::make_unique<Edges>(EdgeScores::from_triples(
      options_.L, 0.0, {pairs_.previous, pairs_.current, {nullptr, edge}}, EdgeForm::kSparse, extras));
}

// How many labels a sentence may keep for sparse sums to be worth it: a quarter.
size_t Crf::most_kept(const Ready& ready, const Keep& keep, size_t T) const {
  constexpr size_t kFewLabels = 64;
  if (keep.all() || options_.L < kFewLabels || !together(ready, {})) return SIZE_MAX;
  return T * (options_.L / 4);
}

// Whether sentences are summed side by side.
bool Crf::together(const Ready& ready, const Keep& keep) const {
  return options_.lanes && keep.all() && pairs_.set_end.empty() && !options_.closed && ready.factors.close &&
         !ready.factors.forbids;
}

// Sentences of like length beside each other, very long ones alone; of empty ones none.
std::vector<std::vector<int32_t>> Crf::groups(std::span<const int32_t> sentences, size_t lanes) const {
  const std::vector<int32_t> order = by_length(sentences, [&](size_t s) { return length(s); });
  std::vector<std::vector<int32_t>> made;
  constexpr size_t kBytes = size_t{256} << 20;
  for (const int32_t s : order) {
    const size_t bytes =
        made.empty() ? 0 : length(static_cast<size_t>(made.back()[0])) * options_.L * kLanes * 2 * sizeof(double);
    if (made.empty() || made.back().size() == lanes || bytes > kBytes) made.emplace_back();
    made.back().push_back(s);
  }
  return made;
}

void Crf::score(const Ready& ready, size_t token, double* out) const {
  const size_t L = options_.L, begin = corpus_.node.begin(token), end = corpus_.node.end[token];
  std::fill(out, out + L, options_.closed ? kForbidden : 0.0);
  for (size_t at = begin; at < end; ++at) {
    const size_t f = static_cast<size_t>(corpus_.node.id[at]);
    const double value = corpus_.node.value_of(at);
    const size_t first = node_begin(f), n = pairs_.node_end[f] - first;
    const double* weight = ready.weights.data() + first;
    if (at + 4 < end)
      __builtin_prefetch(ready.weights.data() + node_begin(static_cast<size_t>(corpus_.node.id[at + 4])));
    if (options_.closed && at == begin) {
      for (size_t q = 0; q < n; ++q) out[pairs_.node_label[first + q]] = weight[q];
    } else if (n == L) {
      kernels().add_scaled_dd(weight, value, L, out);
    } else if (whole_[f] >= 0 && !ready.whole.empty()) {
      kernels().add_scaled_dd(ready.whole.data() + static_cast<size_t>(whole_[f]) * L, value, L, out);
    } else {
      const uint16_t* label = pairs_.node_label.data() + first;
      for (size_t q = 0; q < n; ++q) out[label[q]] += weight[q] * value;
    }
  }
}

// p: [y], multiples of the grain.
void Crf::take(const Ready& ready, size_t token, const double* p, Strand& strand) const {
  const size_t L = options_.L;
  for (size_t at = corpus_.node.begin(token); at < corpus_.node.end[token]; ++at) {
    const size_t f = static_cast<size_t>(corpus_.node.id[at]);
    const double value = corpus_.node.value_of(at);
    const size_t first = node_begin(f), n = pairs_.node_end[f] - first;
    double* count = strand.counts.data() + first;
    const uint16_t* label = pairs_.node_label.data() + first;
    const double grain = feature_grain_[f];
    if (value != 1 || grain != grain_) {
      for (size_t q = 0; q < n; ++q) count[q] += to_grain(p[label[q]] * value, grain);
    } else if (n == L) {
      kernels().add_scaled_dd(p, 1, L, count);
    } else if (whole_[f] >= 0 && !ready.whole.empty()) {
      kernels().add_scaled_dd(p, 1, L, strand.whole_counts.data() + static_cast<size_t>(whole_[f]) * L);
    } else {
      for (size_t q = 0; q < n; ++q) count[q] += p[label[q]];
    }
  }
}

// The same where few labels have a probability. p: beside the labels.
void Crf::take_kept(const Ready& ready, size_t token, std::span<const int32_t> labels, const double* p,
                    Strand& strand) const {
  const size_t L = options_.L;
  double* const dense = strand.left.data();
  for (size_t q = 0; q < labels.size(); ++q) dense[labels[q]] = to_grain(p[q], grain_);
  if (labels.size() * 4 > L) {
    take(ready, token, dense, strand);
  } else {
    for (size_t at = corpus_.node.begin(token); at < corpus_.node.end[token]; ++at) {
      const size_t f = static_cast<size_t>(corpus_.node.id[at]);
      const double value = corpus_.node.value_of(at), grain = feature_grain_[f];
      const size_t first = node_begin(f), n = pairs_.node_end[f] - first;
      double* count = strand.counts.data() + first;
      const uint16_t *label = pairs_.node_label.data() + first, *from = label;
      const bool whole = whole_[f] >= 0 && !ready.whole.empty();
      if (whole || n == L) {
        if (whole) count = strand.whole_counts.data() + static_cast<size_t>(whole_[f]) * L;
        for (const int32_t y : labels) count[y] += to_grain(dense[y] * value, grain);
      } else if (n < 8 * labels.size()) {
        for (size_t q = 0; q < n; ++q) count[q] += to_grain(dense[label[q]] * value, grain);
      } else {
        for (const int32_t y : labels) {
          from = std::lower_bound(from, label + n, static_cast<uint16_t>(y));
          if (from != label + n && *from == y) count[from - label] += to_grain(dense[y] * value, grain);
        }
      }
    }
  }
  for (const int32_t y : labels) dense[y] = 0;
}

void Crf::sum_group(const Ready& ready, std::span<const int32_t> group, Strand& strand, double* log_z) const {
  size_t lengths[kLanes];
  for (size_t lane = 0; lane < group.size(); ++lane) lengths[lane] = length(static_cast<size_t>(group[lane]));
  const auto token = [&](size_t lane, size_t t) { return corpus_.first_token(static_cast<size_t>(group[lane])) + t; };
  LaneSums sums;
  sums.lengths = {lengths, group.size()};
  sums.score = [&](size_t lane, size_t t, double* out) { score(ready, token(lane, t), out); };
  sums.take = [&](size_t lane, size_t t, const double* p) { take(ready, token(lane, t), p, strand); };
  sums.grain = grain_;
  if (pairs_.edges())
    sums.edge_counts = options_.dense_edges ? strand.matrix.data() : strand.counts.data() + pairs_.nodes();
  strand.arena.reset();
  forward_backward_lanes(ready.factors, sums, strand.arena, log_z);
}

size_t Crf::sum_one(const Ready& ready, const Keep& keep, size_t s, Strand& strand, double* log_z) const {
  const size_t first = corpus_.first_token(s), T = length(s), L = options_.L;
  strand.arena.reset();
  double* nodes = strand.arena.array<double>(times(T, L));
  for (size_t t = 0; t < T; ++t) score(ready, first + t, nodes + t * L);
  const bool sets = !pairs_.set_end.empty();
  if (sets) {
    strand.on.resize(T - 1);
    for (size_t t = 1; t < T; ++t)
      strand.on[t - 1].assign(corpus_.edge.id.begin() + static_cast<ptrdiff_t>(corpus_.edge.begin(first + t)),
                              corpus_.edge.id.begin() + static_cast<ptrdiff_t>(corpus_.edge.end[first + t]));
  }
  const Lattice lattice(*ready.edges, T, {nullptr, nodes}, sets ? &strand.on : nullptr);
  // The right labels are always kept: what is learnt is to tell them from the others.
  const int32_t* right = labels_.empty() ? nullptr : labels_.data() + first;
  const size_t most = most_kept(ready, keep, T);
  const Sums sums = forward_backward(lattice, &ready.factors, keep, right, strand.arena, most);
  if (sums.wide) return kNoPlace;
  *log_z = sums.log_z;
  if (sums.log_z == kForbidden) throw std::invalid_argument("sentence " + std::to_string(s) + " has no path");
  size_t kept = 0;
  for (size_t t = 0; t < T; ++t) {
    kept += sums.columns[t].labels.size();
    take_kept(ready, first + t, sums.columns[t].labels, sums.columns[t].node, strand);
    if (t + 1 == T) break;
    if (sums.logs) sums.step(lattice, t, strand.step);
    if (pairs_.edges()) take_edges(ready, lattice, sums, t, strand);
    if (sets) take_set_edges(lattice, sums, t, strand);
  }
  return kept;
}

// Brings what was counted elsewhere to its weights.
void Crf::fold(Strand& strand) const {
  for (size_t f = 0; f < whole_.size() && !strand.whole_counts.empty(); ++f) {
    if (whole_[f] < 0) continue;
    const double* row = strand.whole_counts.data() + static_cast<size_t>(whole_[f]) * options_.L;
    for (size_t q = node_begin(f); q < pairs_.node_end[f]; ++q) strand.counts[q] += row[pairs_.node_label[q]];
  }
  std::fill(strand.whole_counts.begin(), strand.whole_counts.end(), 0.0);
  if (!options_.dense_edges) return;
  for (size_t q = 0; q < pairs_.edges(); ++q)
    strand.counts[pairs_.nodes() + q] +=
        strand.matrix[static_cast<size_t>(pairs_.previous[q]) * shape_.stride + static_cast<size_t>(pairs_.current[q])];
  std::fill(strand.matrix.begin(), strand.matrix.end(), 0.0);
}

void Crf::start(Strand& strand, const Ready& ready) const {
  strand.counts.assign(pairs_.size(), 0.0);
  strand.whole_counts.assign(ready.whole.size(), 0.0);
  strand.left.assign(options_.L, 0.0);
  strand.right.assign(options_.L, 0.0);
  if (options_.dense_edges) strand.matrix.assign(shape_.side[0].matrix.size(), 0.0);
}

size_t Crf::sum(const Ready& ready, const Keep& keep, std::span<const int32_t> group, bool lanes, Strand& strand,
                double* log_z) const {
  if (!lanes || group.size() == 1) return sum_one(ready, keep, static_cast<size_t>(group[0]), strand, log_z);
  sum_group(ready, group, strand, log_z);
  size_t kept = 0;
  for (const int32_t s : group) kept += length(static_cast<size_t>(s)) * options_.L;
  return kept;
}

Crf::Seen Crf::expect(std::span<const double> weights, const Keep& keep, std::span<const int32_t> sentences,
                      size_t threads, double* counts) const {
  Ready ready;
  prepare(weights, true, ready);
  const bool lanes = together(ready, keep);
  const std::vector<std::vector<int32_t>> work = groups(sentences, lanes ? kLanes : 1);
  make_edges(work, ready);
  std::vector<Strand> strands(std::max<size_t>(1, std::min(threads, work.size())));
  std::vector<double> log_z(corpus_.sentences(), 0.0);
  std::vector<size_t> kept(strands.size(), 0);
  std::vector<char> wide(corpus_.sentences(), false);
  for (Strand& strand : strands) start(strand, ready);
  const auto sum_all = [&](const std::vector<std::vector<int32_t>>& all, const Keep& rule, bool together) {
    std::atomic<size_t> next{0};
    in_parallel(strands.size(), strands.size(), [&](size_t n) {
      for (size_t g = next++; g < all.size(); g = next++) {
        double own[kLanes];
        const size_t many = sum(ready, rule, all[g], together, strands[n], own);
        kept[n] += many == kNoPlace ? 0 : many;
        wide[static_cast<size_t>(all[g][0])] = many == kNoPlace;
        for (size_t lane = 0; lane < all[g].size() && many != kNoPlace; ++lane)
          log_z[static_cast<size_t>(all[g][lane])] = own[lane];
      }
    });
  };
  sum_all(work, keep, lanes);
  std::vector<int32_t> again;
  for (const int32_t s : sentences)
    if (wide[static_cast<size_t>(s)]) again.push_back(s);
  sum_all(groups(again, kLanes), {}, true);
  for (Strand& strand : strands) fold(strand);
  std::fill(counts, counts + pairs_.size(), 0.0);
  for (const Strand& strand : strands) kernels().add_scaled_dd(strand.counts.data(), 1, pairs_.size(), counts);
  Seen seen;
  for (const int32_t s : sentences) {
    seen.log_z += log_z[static_cast<size_t>(s)];
    seen.tokens += length(static_cast<size_t>(s));
  }
  for (const size_t n : kept) seen.kept += n;
  return seen;
}

}  // namespace tagwright
