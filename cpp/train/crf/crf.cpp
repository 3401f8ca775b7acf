#include "train/crf/crf.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "base/need.h"
#include "base/stop.h"
#include "base/thread_pool.h"
#include "decode/table.h"
#include "kernels/kernels.h"

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

Crf::Crf(Corpus corpus, WeightKeys<Owned> keys, const CrfOptions& options, std::optional<CrfScale> scale)
    : options_(options),
      corpus_(std::move(corpus)),
      held_(std::make_shared<const WeightKeys<Owned>>(std::move(keys))),
      keys_(held_->view()),
      set_end_(corpus_.sets(), 0) {
  need(!options_.allowed.columns() || options_.allowed.columns() == corpus_.node.end.size(),
       "allowed: one list per token");
  for (const int32_t set : keys_.set) ++set_end_[static_cast<size_t>(set)];
  std::partial_sum(set_end_.begin(), set_end_.end(), set_end_.begin());
  const size_t L = corpus_.L, features = keys_.row_end.size();
  whole_.assign(features, -1);
  for (size_t f = 0; f < features; ++f) {
    const size_t n = keys_.row_end[f] - node_begin(f);
    if (n < L && is_large(n, L) && !options_.closed) whole_[f] = static_cast<int32_t>(whole_rows_++);
  }
  scale_ = scale ? std::move(*scale) : scale_of(corpus_, features);
  need(scale_.feature_grain.size() == features && scale_.feature_tokens.size() == features &&
           scale_.set_tokens.size() == corpus_.sets(),
       "scale: one number per feature and set");

  hold_runs();
  shape_.L = L;
  shape_.dense = options_.dense_edges;
  if (shape_.dense) {
    shape_.stride = (L + 7) / 8 * 8;
    for (Factors::Side& side : shape_.side) side.matrix.assign(times(L, shape_.stride), 0.0);
    return;
  }
  const size_t n = keys_.edges();
  column_order_.resize(n);
  std::iota(column_order_.begin(), column_order_.end(), size_t{0});
  std::stable_sort(column_order_.begin(), column_order_.end(),
                   [&](size_t a, size_t b) { return keys_.current[a] < keys_.current[b]; });
  for (size_t side = 0; side < 2; ++side) {
    Factors::Side& to = shape_.side[side];
    to.begin.assign(L + 1, 0);
    to.index.resize(n);
    to.factor.resize(n);
    to.more.resize(n);
    for (size_t q = 0; q < n; ++q) {
      const size_t row = side ? column_order_[q] : q;
      ++to.begin[static_cast<size_t>(side ? keys_.current[row] : keys_.previous[row]) + 1];
      to.index[q] = side ? keys_.previous[row] : keys_.current[row];
    }
    std::partial_sum(to.begin.begin(), to.begin.end(), to.begin.begin());
  }
}

// Edges that have no weight score 0.
void Crf::prepare(std::span<const double> weights, bool whole, Ready& ready) const {
  const size_t L = corpus_.L, n = keys_.edges();
  const double* edge = weights.data() + keys_.nodes();
  ready.weights = weights;
  ready.rows = {keys_.row_end, keys_.row_label, weights.first(keys_.nodes())};
  ready.edges.reset();
  if (whole) {
    ready.whole.assign(times(whole_rows_, L), 0.0);
    for (size_t f = 0; f < whole_.size(); ++f) {
      if (whole_[f] < 0) continue;
      double* row = ready.whole.data() + static_cast<size_t>(whole_[f]) * L;
      for (size_t q = node_begin(f); q < keys_.row_end[f]; ++q) row[keys_.row_label[q]] = weights[q];
    }
  }
  Factors& to = ready.factors;
  if (to.L != L) to = shape_;
  double most = 0, least = 0;
  const PairRules* const rules = options_.rules.get();
  const auto forbidden = [&](size_t q) { return rules && !rules->may_follow(keys_.previous[q], keys_.current[q]); };
  to.forbids = rules;
  bool single = rules && !rules->forbidden().empty();  // edges that are forbidden one by one
  for (size_t q = 0; q < n; ++q) {
    if (edge[q] == kForbidden) {
      to.forbids = single = true;
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
    for (size_t i = 0; rules && i < L; ++i)
      for (size_t j = 0; j < L; ++j)
        if (!rules->may_follow(i, j)) to.side[0].matrix[i * to.stride + j] = to.side[1].matrix[j * to.stride + i] = 0;
    std::vector<double> factor(n);
    kernels().exp_d(edge, most, n, factor.data());
    for (size_t q = 0; q < n; ++q) {
      const size_t i = static_cast<size_t>(keys_.previous[q]), j = static_cast<size_t>(keys_.current[q]);
      if (forbidden(q)) continue;
      to.side[0].matrix[i * to.stride + j] = to.side[1].matrix[j * to.stride + i] = factor[q];
    }
    return;
  }
  to.rest = rest;
  to.rules = rules && !rules->rules().empty() ? rules : nullptr;
  to.mild = !single && std::exp(least - most) > 2 * kFewDigits * rest;
  kernels().exp_d(edge, most, n, to.side[0].factor.data());
  for (size_t q = 0; rules && q < n; ++q)
    if (forbidden(q)) to.side[0].factor[q] = 0;
  for (size_t q = 0; q < n; ++q) to.side[0].more[q] = to.side[0].factor[q] - rest;
  // What the rules forbid has no default to be corrected.
  for (size_t q = 0; to.rules && q < n; ++q)
    if (!rules->allows(keys_.previous[q], keys_.current[q])) to.side[0].more[q] = 0;
  for (size_t q = 0; q < n; ++q) {
    to.side[1].factor[q] = to.side[0].factor[column_order_[q]];
    to.side[1].more[q] = to.side[0].more[column_order_[q]];
  }
}

// Where single sentences are summed.
void Crf::make_edges(const std::vector<std::vector<int32_t>>& work, Ready& ready) const {
  if (!runs_ && std::none_of(work.begin(), work.end(), [](const auto& group) { return group.size() == 1; })) return;
  const double* edge = ready.weights.data() + keys_.nodes();
  const auto wide = [](std::span<const uint16_t> labels) { return std::vector<int32_t>(labels.begin(), labels.end()); };
  const std::vector<int32_t> previous = wide(keys_.previous), current = wide(keys_.current);
  const std::vector<int32_t> set_previous = wide(keys_.set_previous), set_current = wide(keys_.set_current);
  EdgeExtras extras{.correction_sets = corpus_.sets(),
                    .correction_set = keys_.set,
                    .corrections = {set_previous, set_current, {nullptr, edge + keys_.edges()}}};
  std::vector<int32_t> runs;
  for (const uint16_t label : keys_.runs) runs.push_back(label == kNoLabel ? -1 : label);
  if (runs_) extras.ngrams = {runs, ready.weights.last(keys_.ngrams()), true};  // the nodes of runs_
  // Sums read factors, not a matrix.
  EdgeScores made =
      EdgeScores::from_triples(corpus_.L, 0.0, {previous, current, {nullptr, edge}}, EdgeForm::kSparse, extras);
  ready.edges = std::make_unique<Edges>(options_.rules ? made.constrained(options_.rules) : std::move(made));
}

// How many labels a sentence may keep for sparse sums to be worth it: a quarter.
size_t Crf::most_kept(const Ready& ready, const Keep& keep, size_t T) const {
  constexpr size_t kFewLabels = 64;
  if (keep.all() || corpus_.L < kFewLabels || !together(ready, {})) return SIZE_MAX;
  return T * (corpus_.L / 4);
}

// Whether sentences are summed side by side.
bool Crf::together(const Ready& ready, const Keep& keep) const {
  return options_.lanes && keep.all() && !runs_ && !options_.rules && !options_.allowed.columns() &&
         corpus_.sets() == 0 && !options_.closed && ready.factors.close && !ready.factors.forbids;
}

// Sentences of like length beside each other, very long ones alone; of empty ones none.
std::vector<std::vector<int32_t>> Crf::groups(std::span<const int32_t> sentences, size_t lanes) const {
  const std::vector<int32_t> order = by_length(sentences, [&](size_t s) { return length(s); });
  std::vector<std::vector<int32_t>> made;
  constexpr size_t kBytes = size_t{256} << 20;
  bool before = false;
  for (const int32_t s : order) {
    const size_t bytes =
        made.empty() ? 0 : length(static_cast<size_t>(made.back()[0])) * corpus_.L * kLanes * 2 * sizeof(double);
    const bool now = alone(static_cast<size_t>(s));
    if (made.empty() || made.back().size() == lanes || bytes > kBytes || now || before) made.emplace_back();
    made.back().push_back(s);
    before = now;
  }
  return made;
}

// The same within each stretch of the corpus: counts of pairs of labels are rounded group by group, so that a group
// must be the same whether a Crf has the whole corpus or some stretches of it. A mapped corpus is read in order.
std::vector<std::vector<int32_t>> Crf::groups_by_block(std::span<const int32_t> sentences, size_t lanes) const {
  std::vector<std::vector<int32_t>> made;
  for (size_t begin = 0, end; begin < sentences.size(); begin = end) {
    const auto block = [&](size_t n) { return static_cast<size_t>(sentences[n]) / kBlock; };
    for (end = begin + 1; end < sentences.size() && block(end) == block(begin);) ++end;
    for (std::vector<int32_t>& group : groups(sentences.subspan(begin, end - begin), lanes))
      made.push_back(std::move(group));
  }
  return made;
}

void Crf::score(const Ready& ready, size_t token, double* out) const {
  const size_t L = corpus_.L;
  std::span<const int32_t> ids = corpus_.features_of(token);
  size_t first = corpus_.node.begin(token);
  std::fill(out, out + L, options_.closed ? kForbidden : 0.0);
  if (options_.closed && !ids.empty()) {
    set_row(ready.rows, static_cast<size_t>(ids[0]), out);
    ids = ids.subspan(1);
    ++first;
  }
  const auto value = [&](size_t n) { return corpus_.node.value_of(first + n); };
  const auto whole = [&](size_t f) -> const double* {
    if (ready.rows.size(f) == L) return ready.weights.data() + node_begin(f);
    return whole_[f] < 0 || ready.whole.empty() ? nullptr : ready.whole.data() + static_cast<size_t>(whole_[f]) * L;
  };
  add_rows(ready.rows, ids, value, whole, L, out);
}

void Crf::sum_group(const Ready& ready, std::span<const int32_t> group, Workspace& workspace, double* log_z) const {
  size_t lengths[kLanes];
  for (size_t lane = 0; lane < group.size(); ++lane) lengths[lane] = length(static_cast<size_t>(group[lane]));
  const auto token = [&](size_t lane, size_t t) { return corpus_.first_token(static_cast<size_t>(group[lane])) + t; };
  LaneSums sums;
  sums.lengths = {lengths, group.size()};
  sums.score = [&](size_t lane, size_t t, double* out) { score(ready, token(lane, t), out); };
  sums.take = [&](size_t lane, size_t t, const double* p) { take(ready, token(lane, t), p, workspace); };
  sums.grain = scale_.grain;
  if (keys_.edges())
    sums.edge_counts = options_.dense_edges ? workspace.matrix.data() : workspace.counts.data() + keys_.nodes();
  workspace.arena.reset();
  if (forward_backward_lanes(ready.factors, sums, workspace.arena, log_z)) return;
  for (size_t lane = 0; lane < group.size(); ++lane)
    sum_one(ready, {}, static_cast<size_t>(group[lane]), workspace, log_z + lane);
}

size_t Crf::sum_one(const Ready& ready, const Keep& keep, size_t s, Workspace& workspace, double* log_z) const {
  const size_t first = corpus_.first_token(s), T = length(s), L = corpus_.L;
  workspace.arena.reset();
  double* nodes = workspace.arena.array<double>(times(T, L));
  for (size_t t = 0; t < T; ++t) score(ready, first + t, nodes + t * L);
  const bool sets = corpus_.sets() > 0;
  if (sets) corpus_.sets_on(s, workspace.on);
  const Lattice lattice(*ready.edges, T, {nullptr, nodes}, sets ? &workspace.on : nullptr, 0, lists_of(s));
  const bool partial = corpus_.is_partial(s);
  // The right labels are always kept: what is learnt is to tell them from the others.
  const int32_t* right = corpus_.labels.empty() ? nullptr : corpus_.labels.data() + first;
  std::vector<int32_t> best;
  if (partial && !keep.all()) {
    best = best_allowed(ready, s, nodes, workspace);
    right = best.data();
  }
  const Sums sums =
      label_sums(lattice, &ready.factors, keep, right, workspace.arena, workspace.ngrams, most_kept(ready, keep, T));
  if (sums.wide) return kNoPlace;
  const double weight = corpus_.weight_of(s);
  *log_z = weight * sums.log_z;
  if (sums.log_z == kForbidden)
    throw std::invalid_argument("sentence " + std::to_string(corpus_.number_of(s)) + " has no path");
  count(ready, lattice, sums, first, weight, workspace);
  size_t kept = 0;
  for (const Sums::Column& column : sums.columns) kept += column.labels.size();
  if (!partial) return kept;
  // What is allowed of what was kept takes the place of the right labels: its sums are taken away.
  double* inside = workspace.arena.array<double>(times(T, L));
  std::fill(inside, inside + T * L, kForbidden);
  for (size_t t = 0; t < T; ++t)
    for (const int32_t y : sums.columns[t].labels)
      inside[t * L + static_cast<size_t>(y)] = nodes[t * L + static_cast<size_t>(y)];
  corpus_.forbid_others(s, inside);
  const Lattice allowed(*ready.edges, T, {nullptr, inside}, sets ? &workspace.on : nullptr);
  const Sums own = label_sums(allowed, &ready.factors, {}, nullptr, workspace.arena, workspace.ngrams);
  if (own.log_z == kForbidden) throw std::invalid_argument(no_known_labelling(s));
  *log_z -= weight * own.log_z;
  count(ready, allowed, own, first, -weight, workspace);
  return kept;
}

// Adds to the counts what a sentence's sums say, so many times.
void Crf::count(const Ready& ready, const Lattice& lattice, const Sums& sums, size_t first, double times,
                Workspace& workspace) const {
  const auto scaled = [&](const double* values, size_t n) -> const double* {
    if (times == 1) return values;
    double* made = workspace.arena.array<double>(n);
    for (size_t q = 0; q < n; ++q) made[q] = times * values[q];
    return made;
  };
  Sums own = sums;
  for (size_t t = 0; t < lattice.T; ++t) {
    Sums::Column& column = own.columns[t];
    take_kept(ready, first + t, column.labels, scaled(column.node, column.labels.size()), workspace);
    if (t + 1 == lattice.T) break;
    if (sums.logs) {
      runs_ ? step_runs(t + 1, times, workspace) : sums.step(lattice, t, workspace.step);
      for (double& p : workspace.step) p *= times;
    } else {
      column.from = scaled(column.from, column.labels.size());
    }
    if (keys_.edges()) take_edges(ready, lattice, own, t, workspace);
    if (corpus_.sets()) take_set_edges(lattice, own, t, workspace);
  }
}

// The labels that the tokens of a sentence may have, by the constraints.
Allowed Crf::lists_of(size_t s) const {
  return options_.allowed.columns() ? options_.allowed.view(corpus_.place_of(s)) : Allowed{};
}

// The best labelling of those that are allowed, so that a rule keeps at least one.
std::vector<int32_t> Crf::best_allowed(const Ready& ready, size_t s, const double* nodes, Workspace& workspace) const {
  const size_t T = length(s), L = corpus_.L;
  double* inside = workspace.arena.array<double>(times(T, L));
  std::copy_n(nodes, T * L, inside);
  corpus_.forbid_others(s, inside);
  const Lattice lattice(*ready.edges, T, {nullptr, inside}, corpus_.sets() ? &workspace.on : nullptr, 0, lists_of(s));
  const Answer answer = unlisted(viterbi, lattice, {}, workspace.arena);
  if (answer.paths.empty()) throw std::invalid_argument(no_known_labelling(s));
  return answer.paths[0].labels;
}

void Crf::start(Workspace& workspace, const Ready& ready) const {
  workspace.counts.assign(keys_.size(), 0.0);
  workspace.whole_counts.assign(ready.whole.size(), 0.0);
  workspace.left.assign(corpus_.L, 0.0);
  workspace.right.assign(corpus_.L, 0.0);
  if (options_.dense_edges) workspace.matrix.assign(shape_.side[0].matrix.size(), 0.0);
}

size_t Crf::sum(const Ready& ready, const Keep& keep, std::span<const int32_t> group, bool lanes, Workspace& workspace,
                double* log_z) const {
  if (!lanes || group.size() == 1) return sum_one(ready, keep, static_cast<size_t>(group[0]), workspace, log_z);
  sum_group(ready, group, workspace, log_z);
  size_t kept = 0;
  for (const int32_t s : group) kept += length(static_cast<size_t>(s)) * corpus_.L;
  return kept;
}

Crf::Seen Crf::expect(std::span<const double> weights, const Keep& keep, std::span<const int32_t> sentences,
                      size_t threads, std::span<double> counts, std::span<double> each) const {
  check(sentences, {weights.size(), counts.size()}, weights);
  need(each.empty() || each.size() == sentences.size(), "there must be one number per sentence");
  need(threads >= 1, "threads must be at least 1");
  Ready ready;
  prepare(weights, true, ready);
  const bool lanes = together(ready, keep);
  const std::vector<std::vector<int32_t>> work = groups_by_block(sentences, lanes ? kLanes : 1);
  make_edges(work, ready);
  std::vector<Workspace> workspaces(std::max<size_t>(1, std::min(threads, work.size())));
  std::vector<double> log_z(corpus_.sentences(), 0.0);
  std::vector<size_t> kept(workspaces.size(), 0);
  std::vector<char> wide(corpus_.sentences(), false);
  for (Workspace& workspace : workspaces) start(workspace, ready);
  const auto sum_all = [&](const std::vector<std::vector<int32_t>>& all, const Keep& rule, bool together) {
    std::atomic<size_t> next{0};
    in_parallel(workspaces.size(), workspaces.size(), [&](size_t n) {
      for (size_t g = next++; g < all.size(); g = next++) {
        check_stop();
        for (size_t lane = 0; lane < all[g].size(); ++lane) corpus_.visit();
        double own[kLanes];
        const size_t many = sum(ready, rule, all[g], together, workspaces[n], own);
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
  sum_all(groups_by_block(again, kLanes), {}, true);
  for (Workspace& workspace : workspaces) fold(workspace);
  std::fill(counts.begin(), counts.end(), 0.0);
  for (const Workspace& workspace : workspaces)
    kernels().add_scaled_dd(workspace.counts.data(), 1, keys_.size(), counts.data());
  Seen seen;
  for (const int32_t s : sentences) {
    seen.log_z += log_z[static_cast<size_t>(s)];
    seen.tokens += length(static_cast<size_t>(s));
  }
  for (const size_t n : kept) seen.kept += n;
  for (size_t n = 0; n < each.size(); ++n) each[n] = log_z[static_cast<size_t>(sentences[n])];
  return seen;
}

}  // namespace tagwright
