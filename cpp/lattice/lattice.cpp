#include "lattice/lattice.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace tagwright {

Lattice::Lattice(const Edges& edges, size_t T, Scores nodes, const std::vector<std::vector<int32_t>>* on)
    : T(T), L(edges.L()), edges(edges), nodes(nodes), edge_magnitude_(edges.magnitude()) {
  if (edges.is_stepwise() && edges.matrices() + 1 != std::max<size_t>(T, 1))
    throw std::invalid_argument("the edges hold " + std::to_string(edges.matrices()) + " steps, but " +
                                std::to_string(T) + " tokens have " + std::to_string(T ? T - 1 : 0));
  if (edges.is_stepwise()) edge_magnitude_ = std::max(edge_magnitude_, edges.check_matrices());
  node_magnitude_.resize(T);
  double sum = 0;
  for (size_t t = 0; t < T; ++t) {
    const Scores column = nodes.from(t * L);
    const ScoreCheck seen = check_scores(column, L);
    if (seen.bad < L)
      throw std::invalid_argument("the node score of token " + std::to_string(t) + ", label " +
                                  std::to_string(seen.bad) + why_no_score(column[seen.bad]));
    node_magnitude_[t] = seen.magnitude;
    sum += seen.magnitude;
  }
  if (on) switch_on(*on);
  // A path has 2T + 1 terms; each addition errs by at most half a unit in the last place of a partial sum.
  const double steps = static_cast<double>(T + 2);
  // Never nothing: decoders drop what is not above the floor less the slack.
  slack_ = 8 * steps * std::numeric_limits<double>::epsilon() * (sum + steps * edge_magnitude_) + 1e-300;
}

void Lattice::switch_on(const std::vector<std::vector<int32_t>>& on) {
  const Corrections& sets = edges.corrections();
  if (on.size() + 1 != std::max<size_t>(T, 1))
    throw std::invalid_argument("switched_on has " + std::to_string(on.size()) + " steps, but " + std::to_string(T) +
                                " tokens have " + std::to_string(T ? T - 1 : 0));
  patches_.resize(on.size());
  for (size_t t = 0; t < on.size(); ++t) {
    std::vector<int32_t> sorted(on[t]);
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
      throw std::invalid_argument("switched_on names set " + std::to_string(*twice) + " twice at step " +
                                  std::to_string(t));
    std::vector<Override>& entries = patches_[t].by_row;
    for (const int32_t s : on[t]) {
      if (s < 0 || static_cast<size_t>(s) >= sets.rows())
        throw std::invalid_argument("switched_on names set " + std::to_string(s) + " at step " + std::to_string(t) +
                                    ", but the edges have " + std::to_string(sets.rows()) + " correction sets");
      const std::span<const uint64_t> pairs = sets.keys(static_cast<size_t>(s));
      const std::span<const double> scores = sets.values(static_cast<size_t>(s));
      for (size_t q = 0; q < pairs.size(); ++q)
        entries.push_back({Corrections::previous(pairs[q]), Corrections::current(pairs[q]), scores[q]});
    }
    // Stable, so that an edge's corrections are added in the order in which their sets were switched on.
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

void Lattice::row(size_t t, size_t i, double* out) const {
  edges.row(t, i, out);
  if (patched())
    for (const Override& e : patches_[t].row(static_cast<int32_t>(i))) out[e.j] = e.score;
}

void Lattice::column(size_t t, size_t j, double* out) const {
  edges.column(t, j, out);
  if (patched())
    for (const Override& e : patches_[t].column(static_cast<int32_t>(j))) out[e.i] = e.score;
}

double path_score(const Lattice& lattice, std::span<const int32_t> labels) {
  double score = 0;
  for (size_t t = 0; t < labels.size(); ++t) {
    const size_t y = static_cast<size_t>(labels[t]);
    if (t == 0) score += lattice.edges.start(y);
    if (t > 0) score += lattice.edge(t - 1, static_cast<size_t>(labels[t - 1]), y);
    score += lattice.node(t, y);
  }
  if (!labels.empty()) score += lattice.edges.stop(static_cast<size_t>(labels.back()));
  return score;
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

}  // namespace tagwright
