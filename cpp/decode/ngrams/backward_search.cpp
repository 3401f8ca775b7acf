#include "decode/ngrams/backward_search.h"

#include <algorithm>
#include <cmath>

#include "decode/graph.h"

namespace tagwright {

using Node = LabelNgrams::Node;

BackwardSearch::BackwardSearch(const Lattice& lattice, TreeBounds& bounds, size_t k, Arena& arena)
    : lattice_(lattice),
      ngrams_(*lattice.edges.ngrams()),
      limits_(lattice.edges.ngram_bounds()),
      bounds_(bounds),
      k_(k),
      long_(ngrams_.order() > 2),
      arena_(arena),
      surviving_(arena.array<Surviving>(lattice.T)) {}

bool BackwardSearch::find(double least, size_t budget, Work& work) {
  double most = 0;
  for (size_t t = lattice_.T; t-- > 0;) {
    const TreeColumn& c = bounds_[t];
    const bool last = t + 1 == lattice_.T;
    const double needed = least - c.offset - c.error;
    find_candidates(t, needed - most);
    find_groups(last ? Surviving() : surviving_[t + 1]);
    const size_t sums = find_pairs(needed, budget);
    if (sums > budget) return false;
    budget -= sums;
    meter_.count(lattice_.L + 4 * sums);
    work.edges += sums;
    Surviving& here = surviving_[t];
    here = {0, arena_.array<Run>(last ? candidates_.size() : pairs_.size())};
    for (size_t q = 0; q < candidates_.size() && last; ++q) {
      const int32_t y = candidates_[q].label;
      add(t, candidates_[q], {.label = y, .behind = lattice_.edges.stop(static_cast<size_t>(y))}, needed);
    }
    for (const auto& [q, g] : pairs_) extend(t, candidates_[q], groups_[g], needed);
    work.nodes += here.size;
    if (here.size == 0) {
      surviving_[0].size = 0;
      break;
    }
    most = kForbidden;
    for (size_t q = 0; q < here.size; ++q) most = std::max(most, here.runs[q].most);
  }
  return true;
}

// Labels of column t whose sum + out is at least this.
void BackwardSearch::find_candidates(size_t t, double least) {
  const TreeColumn& c = bounds_[t];
  candidates_.clear();
  for (size_t q = 0; q < c.hots; ++q) {
    const auto key = static_cast<double>(c.key[q]);
    const double reach = key + std::fabs(key) * 2 * kFloatRounding + kFloatTiny;  // a key may be rounded down
    if (reach >= least && key != kForbidden)
      candidates_.push_back({c.hot[q], static_cast<int32_t>(q), static_cast<double>(c.hot_sum[q]), reach});
  }
  if (!(static_cast<double>(c.rest) >= least)) return;
  const size_t n = bounds_.open(t, least);
  for (size_t q = 0; q < n; ++q) {
    const int32_t y = bounds_.found()[q];
    if (std::find(c.hot, c.hot + c.hots, y) == c.hot + c.hots)
      candidates_.push_back({y, -1, static_cast<double>(bounds_.found_sum()[q]), bounds_.found_reach(q)});
  }
}

// Equal sequences are consecutive.
void BackwardSearch::find_groups(const Surviving& next) {
  groups_.clear();
  const auto alike = [&](const Run& a, const Run& b) { return a.label == b.label && (!long_ || a.next == b.next); };
  for (size_t begin = 0, end = 0; begin < next.size; begin = end) {
    double most = kForbidden;
    for (; end < next.size && alike(next.runs[begin], next.runs[end]); ++end)
      most = std::max(most, next.runs[end].most);
    groups_.push_back({begin, end, next.runs[begin].label, most});
  }
}

// Finds the candidates and groups that bounds do not keep apart; returns how many sums there are between them, and for
// how many looking for them stands.
size_t BackwardSearch::find_pairs(double needed, size_t budget) {
  constexpr size_t kLooks = 8;  // take as long as a sum
  pairs_.clear();
  size_t sums = 0;
  for (size_t q = 0; q < candidates_.size(); ++q) {
    const Candidate& one = candidates_[q];
    for (size_t g = 0; g < groups_.size(); ++g) {
      const double into = one.sum + static_cast<double>(limits_.into(groups_[g].label));
      if (std::min(into, one.reach) + groups_[g].most < needed - lattice_.slack()) continue;
      pairs_.emplace_back(static_cast<uint32_t>(q), static_cast<uint32_t>(g));
      sums += groups_[g].end - groups_[g].begin;
    }
    if (sums + q * groups_.size() / kLooks > budget) return SIZE_MAX;
  }
  return sums + candidates_.size() * groups_.size() / kLooks;
}

double BackwardSearch::step(size_t t, int32_t i, int32_t next, int32_t after, int32_t last) const {
  if (next < 0) return lattice_.edges.stop(static_cast<size_t>(i));
  double score = lattice_.edge(t, static_cast<size_t>(i), static_cast<size_t>(next));
  Node at = after < 0 ? LabelNgrams::kNoNode : ngrams_.child(i, next);
  if (at == LabelNgrams::kNoNode || (at = ngrams_.child(at, after)) == LabelNgrams::kNoNode) return score;
  score += ngrams_.score(at);
  if (last < 0 || (at = ngrams_.child(at, last)) == LabelNgrams::kNoNode) return score;
  return score + ngrams_.score(at);
}

void BackwardSearch::extend(size_t t, const Candidate& candidate, const Group& group, double needed) {
  const Run* const runs = surviving_[t + 1].runs;
  const double low = needed - candidate.reach - lattice_.slack();
  Run made{.label = candidate.label, .next = group.label, .behind = kForbidden, .begin = group.begin, .end = group.end};
  if (long_) made.after = runs[group.begin].next;
  if (k_ > 1) made.edges = arena_.array<double>(group.end - group.begin);
  for (size_t p = group.begin; p < group.end; ++p) {
    // What the best edge would not take to the floor need not be looked up; k best need all edges.
    if (k_ == 1 && runs[p].most < low) continue;
    const double edge = step(t, candidate.label, group.label, runs[p].next, runs[p].after);
    if (made.edges) made.edges[p - group.begin] = edge;
    if (!(edge + runs[p].from > made.behind)) continue;
    made.behind = edge + runs[p].from;
    made.best = static_cast<int32_t>(p);
  }
  if (made.behind != kForbidden) add(t, candidate, made, needed);
}

void BackwardSearch::add(size_t t, const Candidate& candidate, Run run, double needed) {
  const double required = needed - run.behind;
  if (candidate.hot >= 0) {
    if (!bounds_.states().reaches(bounds_[t], static_cast<size_t>(candidate.hot), run.next, run.after, required))
      return;
  }
  const double across = bounds_.states().most_across(run.label, run.next, run.after);
  if (candidate.hot < 0 && !(candidate.sum + across >= required)) return;
  const auto y = static_cast<size_t>(run.label);
  run.node = t ? lattice_.node(t, y) : lattice_.edges.start(y) + lattice_.node(t, y);
  run.from = run.node + run.behind;
  run.most = run.from + across;
  surviving_[t].runs[surviving_[t].size++] = run;
}

Path BackwardSearch::best() const {
  const auto better = [](const Run& a, const Run& b) { return a.from < b.from; };
  const Run* run = std::max_element(surviving_[0].runs, surviving_[0].runs + surviving_[0].size, better);
  std::vector<int32_t> labels{run->label};
  for (size_t t = 1; t < lattice_.T; ++t) {
    run = surviving_[t].runs + run->best;
    labels.push_back(run->label);
  }
  return scored(lattice_, std::move(labels));
}

std::vector<Path> BackwardSearch::enumerate(Work& work) {
  if (!any()) return {};
  const size_t T = lattice_.T;
  double** const behind = arena_.array<double*>(T);
  for (size_t t = 0; t < T; ++t) {
    behind[t] = arena_.array<double>(surviving_[t].size);
    for (size_t q = 0; q < surviving_[t].size; ++q) behind[t][q] = surviving_[t].runs[q].behind;
  }
  Graph graph;
  graph.T = T;
  graph.size = [&](size_t t) { return surviving_[t].size; };
  graph.first = [&](double* out) {
    for (size_t q = 0; q < surviving_[0].size; ++q) out[q] = surviving_[0].runs[q].node;
  };
  graph.next = [&](size_t t, size_t p, double* out) {
    const Surviving& next = surviving_[t + 1];
    const Run& from = surviving_[t].runs[p];
    std::fill(out, out + next.size, kForbidden);
    for (size_t q = from.begin; q < from.end; ++q) out[q] = from.edges[q - from.begin] + next.runs[q].node;
  };
  graph.ahead = [&](size_t t) { return behind[t]; };
  std::vector<Path> paths;
  for (GraphPath& path : enumerate_paths(graph, k_, work)) {
    for (size_t t = 0; t < T; ++t) path.at[t] = surviving_[t].runs[path.at[t]].label;
    paths.push_back(scored(lattice_, std::move(path.at)));
  }
  return paths;
}

}  // namespace tagwright
