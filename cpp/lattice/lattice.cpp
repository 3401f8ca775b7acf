#include "lattice/lattice.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "kernels/kernels.h"

namespace tagwright {

namespace {

// An edge's corrections are added in the order in which their sets are active.
void add_sparsely(const Edges& edges, size_t t, const std::vector<int32_t>& on, std::vector<Override>& entries) {
  const Corrections& sets = edges.corrections();
  for (const int32_t s : on) {
    const std::span<const uint64_t> pairs = sets.keys(static_cast<size_t>(s));
    const std::span<const double> scores = sets.values(static_cast<size_t>(s));
    for (size_t q = 0; q < pairs.size(); ++q)
      entries.push_back({Corrections::previous(pairs[q]), Corrections::current(pairs[q]), scores[q]});
  }
  std::stable_sort(entries.begin(), entries.end(), before);
  size_t kept = 0;
  for (size_t q = 0; q < entries.size(); ++q) {
    const Override e = entries[q];
    if (kept && entries[kept - 1].i == e.i && entries[kept - 1].j == e.j) {
      entries[kept - 1].score += e.score;
    } else {
      const double base = edges.base(t, static_cast<size_t>(e.i), static_cast<size_t>(e.j));
      entries[kept++] = {e.i, e.j, base + e.score};
    }
  }
  entries.resize(kept);
}

// The same where most edges are corrected: the sums are the same bits.
void add_densely(const Edges& edges, size_t t, const std::vector<int32_t>& on, std::vector<Override>& entries) {
  const size_t L = edges.L();
  thread_local std::vector<double> sum;     // [i * L + j]
  thread_local std::vector<uint8_t> added;  // the same; whether the edge is corrected
  sum.resize(L * L);
  added.assign(L * L, 0);
  for (size_t i = 0; i < L; ++i) edges.row(t, i, sum.data() + i * L);
  const Corrections& sets = edges.corrections();
  size_t corrected = 0;
  for (const int32_t s : on) {
    const std::span<const uint64_t> pairs = sets.keys(static_cast<size_t>(s));
    const std::span<const double> scores = sets.values(static_cast<size_t>(s));
    for (size_t q = 0; q < pairs.size(); ++q) {
      const auto i = static_cast<size_t>(Corrections::previous(pairs[q]));
      const size_t at = i * L + static_cast<size_t>(Corrections::current(pairs[q]));
      sum[at] += scores[q];
      corrected += !added[at];
      added[at] = 1;
    }
  }
  entries.reserve(corrected);
  for (size_t i = 0; i < L; ++i)
    for (size_t j = 0; j < L; ++j)
      if (added[i * L + j]) entries.push_back({static_cast<int32_t>(i), static_cast<int32_t>(j), sum[i * L + j]});
}

}  // namespace

Lattice::Lattice(const Edges& edges, size_t T, Scores nodes, const std::vector<std::vector<int32_t>>* on, size_t first,
                 Allowed allowed)
    : T(T), L(edges.L()), edges(edges), nodes(nodes), allowed(allowed), edge_magnitude_(edges.magnitude()) {
  if (const std::optional<size_t> steps = edges.steps()) {
    if (*steps + 1 != std::max<size_t>(T, 1))
      throw std::invalid_argument("the edges hold " + std::to_string(*steps) + " steps, but " + std::to_string(T) +
                                  " tokens have " + std::to_string(T ? T - 1 : 0));
    edge_magnitude_ = std::max(edge_magnitude_, edges.check_steps());
  }
  node_magnitude_.resize(T);
  double sum = 0;
  constexpr size_t kAhead = 8;
  const auto prefetch = [&](size_t t) {
    for (const int32_t y : allowed[t])
      __builtin_prefetch(nodes.f ? static_cast<const void*>(nodes.f + t * L + static_cast<size_t>(y))
                                 : nodes.d + t * L + static_cast<size_t>(y));
  };
  for (size_t t = 0; allowed && t < std::min(T, kAhead); ++t) prefetch(t);
  for (size_t t = 0; t < T; ++t) {
    if (allowed && t + kAhead < T) prefetch(t + kAhead);
    const ScoreCheck found = check_column(t);
    if (found.bad < L)
      throw std::invalid_argument("the node score of token " + std::to_string(first + t) + ", label " +
                                  std::to_string(found.bad) + why_no_score(node(t, found.bad)));
    node_magnitude_[t] = found.magnitude;
    sum += found.magnitude;
  }
  if (on) activate(*on, first);
  // A path has 2T + 1 terms, with ngrams another T; each addition errs by at most half a unit in the last place of a
  // partial sum.
  const double steps = static_cast<double>(T + 2), step = edge_magnitude_ + ngram_magnitude();
  // Never nothing: decoders drop what is not above the floor less the slack.
  slack_ = 8 * steps * std::numeric_limits<double>::epsilon() * (sum + steps * step) + 1e-300;
}

Lattice::Lattice(const Lattice& listed, Arena& arena)
    : T(listed.T),
      L(listed.L),
      edges(listed.edges),
      nodes(masked(listed.nodes, T, L, listed.allowed, arena)),
      patches_(listed.patches_),
      node_magnitude_(listed.node_magnitude_),
      edge_magnitude_(listed.edge_magnitude_),
      slack_(listed.slack_) {}

Lattice::Lattice(const Lattice& lattice, Allowed fewer)
    : T(lattice.T),
      L(lattice.L),
      edges(lattice.edges),
      nodes(lattice.nodes),
      allowed(fewer),
      patches_(lattice.patches_),
      node_magnitude_(lattice.node_magnitude_),
      edge_magnitude_(lattice.edge_magnitude_),
      slack_(lattice.slack_) {}

ScoreCheck Lattice::check_column(size_t t) const {
  if (allowed[t].empty()) return check_scores(nodes.from(t * L), L);
  ScoreCheck found{0, L};
  for (const int32_t label : allowed[t]) {
    const auto y = static_cast<size_t>(label);
    const double score = node(t, y);
    if (!is_score(score) && found.bad == L) found.bad = y;
    if (score != kForbidden) found.magnitude = std::max(found.magnitude, std::fabs(score));
  }
  return found;
}

void Lattice::activate(const std::vector<std::vector<int32_t>>& on, size_t first) {
  const Corrections& sets = edges.corrections();
  if (on.size() + 1 != std::max<size_t>(T, 1))
    throw std::invalid_argument("active has " + std::to_string(on.size()) + " steps, but " + std::to_string(T) +
                                " tokens have " + std::to_string(T ? T - 1 : 0));
  patches_.resize(on.size());
  for (size_t t = 0; t < on.size(); ++t) {
    std::vector<int32_t> sorted(on[t]);
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
      throw std::invalid_argument("active names set " + std::to_string(*twice) + " twice at step " +
                                  std::to_string(first + t));
    std::vector<Override>& entries = patches_[t].by_row;
    size_t all = 0;
    for (const int32_t s : on[t]) {
      if (s < 0 || static_cast<size_t>(s) >= sets.rows())
        throw std::invalid_argument("active names set " + std::to_string(s) + " at step " + std::to_string(first + t) +
                                    ", but the edges have " + std::to_string(sets.rows()) + " correction sets");
      all += sets.keys(static_cast<size_t>(s)).size();
    }
    if (all >= L * L / 4)
      add_densely(edges, t, on[t], entries);
    else
      add_sparsely(edges, t, on[t], entries);
    for (const Override& e : entries)
      if (std::isfinite(e.score)) edge_magnitude_ = std::max(edge_magnitude_, std::fabs(e.score));
    patches_[t].index_columns();
  }
  if (std::all_of(patches_.begin(), patches_.end(), [](const Patch& patch) { return patch.empty(); })) patches_.clear();
}

double Lattice::corrected_edge(size_t t, size_t i, size_t j) const {
  const std::vector<Override>& entries = patches_[t].by_row;
  const Override key{static_cast<int32_t>(i), static_cast<int32_t>(j), 0};
  const auto at = std::lower_bound(entries.begin(), entries.end(), key, before);
  return at != entries.end() && at->i == key.i && at->j == key.j ? at->score : edges.base(t, i, j);
}

bool Lattice::fits_float() const {
  if (!nodes.f || T <= 1 || !edges.step(0).has_float_steps()) return false;
  double size = edge_magnitude_;
  for (const double magnitude : node_magnitude_) size = std::max(size, magnitude);
  return size <= kFloatRange;
}

void Lattice::row(size_t t, size_t i, double* out) const {
  edges.row(t, i, out);
  if (patched())
    for (const Override& e : patches_[t].row(static_cast<int32_t>(i))) out[e.j] = e.score;
}

void Lattice::bound_row(size_t t, size_t i, double* out) const {
  row(t, i, out);
  const LabelNgrams* const ngrams = edges.ngrams();
  if (!ngrams) return;
  const LabelNgrams::Range pairs = ngrams->children(static_cast<LabelNgrams::Node>(i));
  for (LabelNgrams::Node pair = pairs.first; pair < pairs.end; ++pair)
    out[static_cast<size_t>(ngrams->label(pair))] += edges.most_added(pair);
}

void Lattice::column(size_t t, size_t j, double* out) const {
  edges.column(t, j, out);
  if (patched())
    for (const Override& e : patches_[t].column(static_cast<int32_t>(j))) out[e.i] = e.score;
}

void Lattice::extend(size_t t, double score, size_t i, double* out) const {
  const Scores next = nodes.from((t + 1) * L);
  if (!patched()) return edges.step(t).extend(score, i, next, out);
  row(t, i, out);
  for (size_t j = 0; j < L; ++j) out[j] = (score + out[j]) + next[j];
}

size_t Lattice::best_extension(size_t t, double score, size_t i, double* room) const {
  if (!patched()) return edges.step(t).best_extension(score, i, nodes.from((t + 1) * L), room);
  extend(t, score, i, room);
  return kernels().argmax_d(room, L);
}

const float* Lattice::best_outs(size_t t, std::span<const int32_t> list, const float* shared, Arena& arena) const {
  const bool last = t + 1 == T;
  if (last) shared = edges.stop_reach();
  if (list.empty() && shared && (last || patch(t).empty())) return shared;
  const size_t n = list.empty() ? L : list.size(), width = (n + kGroup - 1) / kGroup * kGroup;
  float* const made = arena.array<float>(width);
  std::fill(made + n, made + width, -std::numeric_limits<float>::infinity());
  const auto raise = [](float& bound, const Override& e) { bound = std::max(bound, rounded_up(e.score)); };
  for (size_t q = 0; q < n; ++q) {
    const size_t y = list.empty() ? q : static_cast<size_t>(list[q]);
    made[q] = shared ? shared[y] : edges.step(t).best_out(y);
    if (last || !patched() || list.empty()) continue;
    for (const Override& e : patches_[t].row(static_cast<int32_t>(y))) raise(made[q], e);
  }
  if (!last && list.empty())
    for (const Override& e : patch(t).by_row) raise(made[e.i], e);
  return made;
}

void Lattice::max_step_without_ngrams(size_t t, const MaxStep<double>& run, Arena& arena) const {
  if (is_uniform()) return edges.other_edges().step(t).max_step({&run, 1}, arena);
  const LabelNgrams& ngrams = *edges.ngrams();
  double* const scores = arena.array<double>(L);
  run.work->edges += L * L;
  std::fill(run.best, run.best + L, kForbidden);
  for (size_t i = 0; i < L; ++i) {
    row(t, i, scores);
    const LabelNgrams::Range pairs = ngrams.children(static_cast<LabelNgrams::Node>(i));
    for (LabelNgrams::Node pair = pairs.first; pair < pairs.end; ++pair) scores[ngrams.label(pair)] = kForbidden;
    for (size_t k = 0; k < L; ++k) run.best[k] = std::max(run.best[k], run.previous[i] + scores[k]);
  }
}

void Lattice::bound_step(size_t t, const BoundStep& step, float* before, float* scores, Work& work) const {
  edges.step(t).bound_step(step, before, scores, work);
  for (size_t q = 0; patched() && q < step.hot.size(); ++q) {
    const float value = step.hot_sum[q] - step.top;
    for (const Override& e : patches_[t].row(step.hot[q]))
      before[e.j] = std::max(before[e.j], value + static_cast<float>(e.score));
  }
}

namespace {

// Rows of step t with a corrected edge that is worse than the shared one: the shared scores must not be used there.
std::vector<int32_t> lowered_rows(const Lattice& lattice, size_t t) {
  std::vector<int32_t> rows;
  for (const Override& e : lattice.patch(t).by_row) {
    if (!rows.empty() && rows.back() == e.i) continue;
    if (e.score < lattice.edges.base(t, static_cast<size_t>(e.i), static_cast<size_t>(e.j))) rows.push_back(e.i);
  }
  return rows;
}

// best[j] = max(best[j], previous[i] + e(t, i, j)) for the corrected edges and for the rows left out of `best`.
template <class A>
void raise_corrected(size_t t, const LatticeStep<A>& run, const std::vector<int32_t>& left_out, Arena& arena) {
  const Lattice& lattice = *run.lattice;
  const auto raise = [&](size_t i, size_t j, double score) {
    const A v = run.previous[i] + static_cast<A>(score);
    run.best[j] = v > run.best[j] ? v : run.best[j];
  };
  for (const Override& e : lattice.patch(t).by_row) raise(static_cast<size_t>(e.i), static_cast<size_t>(e.j), e.score);
  run.work->edges += lattice.patch(t).by_row.size();
  if (left_out.empty()) return;
  double* const row = arena.array<double>(lattice.L);
  for (const int32_t i : left_out) {
    lattice.row(t, static_cast<size_t>(i), row);
    for (size_t j = 0; j < lattice.L; ++j) raise(static_cast<size_t>(i), j, row[j]);
    run.work->edges += lattice.L;
  }
}

}  // namespace

template <class A>
void max_step(size_t t, std::span<const LatticeStep<A>> runs, Arena& arena) {
  constexpr size_t kFew = 32;
  MaxStep<A> few[kFew];
  MaxStep<A>* const shared = runs.size() <= kFew ? few : arena.array<MaxStep<A>>(runs.size());
  std::vector<std::vector<int32_t>> left_out;  // [run]: rows, where there are corrections
  for (size_t q = 0; q < runs.size(); ++q) {
    shared[q] = {runs[q].previous, runs[q].best, runs[q].work};
    if (!runs[q].lattice->patched()) continue;
    left_out.resize(runs.size());
    left_out[q] = lowered_rows(*runs[q].lattice, t);
    if (left_out[q].empty()) continue;
    A* const copy = arena.array<A>(runs[q].lattice->L);
    std::copy(runs[q].previous, runs[q].previous + runs[q].lattice->L, copy);
    for (const int32_t i : left_out[q]) copy[i] = static_cast<A>(kForbidden);
    shared[q].previous = copy;
  }
  runs[0].lattice->edges.step(t).max_step(std::span<const MaxStep<A>>(shared, runs.size()), arena);
  for (size_t q = 0; q < left_out.size(); ++q)
    if (runs[q].lattice->patched()) raise_corrected(t, runs[q], left_out[q], arena);
}

template void max_step<float>(size_t t, std::span<const LatticeStep<float>> runs, Arena& arena);
template void max_step<double>(size_t t, std::span<const LatticeStep<double>> runs, Arena& arena);

namespace {

// node(t, y), edge(t, i, j): scores. ngrams: nullptr where there are none.
template <class Node, class Edge>
double with_steps(double score, const LabelNgrams* ngrams, std::span<const int32_t> labels, Node&& node, Edge&& edge) {
  LabelNgrams::Node at = labels.empty() ? 0 : labels[0];
  for (size_t t = 1; t < labels.size(); ++t) {
    const auto i = static_cast<size_t>(labels[t - 1]), j = static_cast<size_t>(labels[t]);
    score += edge(t - 1, i, j);
    if (ngrams) score += ngrams->more(at = ngrams->next(at, labels[t]));
    score += node(t, j);
  }
  return score;
}

template <class Node, class Edge>
double whole_path(const Edges& edges, std::span<const int32_t> labels, Node&& node, Edge&& edge) {
  if (labels.empty()) return 0;
  const auto first = static_cast<size_t>(labels.front()), last = static_cast<size_t>(labels.back());
  return with_steps(edges.start(first) + node(0, first), edges.ngrams(), labels, node, edge) + edges.stop(last);
}

}  // namespace

double path_score(const Lattice& lattice, std::span<const int32_t> labels) {
  return whole_path(
      lattice.edges, labels, [&](size_t t, size_t y) { return lattice.node(t, y); },
      [&](size_t t, size_t i, size_t j) { return lattice.edge(t, i, j); });
}

double path_score(const Edges& edges, Scores nodes, std::span<const int32_t> labels) {
  return whole_path(
      edges, labels, [&](size_t t, size_t y) { return nodes[t * edges.L() + y]; },
      [&](size_t t, size_t i, size_t j) { return edges.base(t, i, j); });
}

double add_steps(double score, const Lattice& lattice, std::span<const int32_t> labels) {
  return with_steps(
      score, lattice.edges.ngrams(), labels, [&](size_t t, size_t y) { return lattice.node(t, y); },
      [&](size_t t, size_t i, size_t j) { return lattice.edge(t, i, j); });
}

Path scored(const Lattice& lattice, std::vector<int32_t> labels) {
  const double score = path_score(lattice, labels);
  return {std::move(labels), score};
}

double largest_edge(const Lattice& lattice, size_t t) {
  double largest = lattice.edges.chain_bounds(t).largest;
  for (const Override& e : lattice.patch(t).by_row) largest = std::max(largest, e.score);
  return largest;
}

Patch bound_patch(const Lattice& lattice, size_t t) {
  Patch patch;
  if (lattice.patch(t).empty()) return patch;
  const Chain& chain = lattice.edges.chain();
  const Bounds& bounds = lattice.edges.chain_bounds(t);
  const size_t L = bounds.L, B = bounds.B;
  const auto raise = [&](size_t a, size_t b, double bound, double score) {
    if (score > bound) patch.by_row.push_back({static_cast<int32_t>(a), static_cast<int32_t>(b), score});
  };
  for (const Override& e : lattice.patch(t).by_row) {
    const size_t i = static_cast<size_t>(e.i), j = static_cast<size_t>(e.j);
    patch.by_row.push_back(e);
    for (size_t c = 0; c < chain.inside[j]; ++c) raise(i, L + c, bounds.to[i * B + c], e.score);
    for (size_t m = 0; m < chain.inside[i]; ++m) {
      raise(L + m, j, bounds.from[m * L + j], e.score);
      for (size_t c = 0; c < chain.inside[j]; ++c) raise(L + m, L + c, bounds.between[m * B + c], e.score);
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
