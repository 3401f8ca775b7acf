#include "sums/marginals.h"

#include <algorithm>
#include <cmath>

#include "base/need.h"
#include "base/thread_pool.h"
#include "kernels/elementary.h"
#include "lattice/no_path.h"
#include "sums/ngram_sums.h"

namespace tagwright {
namespace {

[[noreturn]] void fail_without_path(const Lattice& lattice, const PruningRule& keep) {
  throw std::invalid_argument(keep.all() ? why_no_path(lattice).value_or(kUnderflow)
                                         : "no path among the labels that keep chose: -inf scores forbid them all; "
                                           "keep more, or use keep=None to see whether there is one");
}

}  // namespace

Marginals marginals(const Lattice& lattice, const PruningRule& keep, bool with_edges, Arena& arena) {
  Marginals out;
  const size_t T = lattice.T, L = lattice.L;
  out.nodes = Zeros(times(T, L));
  if (with_edges) out.edges.assign(times(T ? T - 1 : 0, times(L, L)), 0.0);
  if (T == 0) return out;
  thread_local NgramSums ngrams;
  const Sums sums = forward_backward(lattice, {keep}, arena, ngrams);
  if (sums.log_z == kForbidden) fail_without_path(lattice, keep);
  out.log_z = sums.log_z;
  out.entropy = entropy(sums, arena);
  std::vector<double> step;
  for (size_t t = 0; t < T; ++t) {
    const Sums::Column& column = sums.columns[t];
    for (size_t q = 0; q < column.labels.size(); ++q)
      out.nodes[t * L + static_cast<size_t>(column.labels[q])] = column.node[q];
    const size_t all = lattice.allowed[t].empty() ? L : lattice.allowed[t].size();
    out.kept.push_back(static_cast<int32_t>(keep.all() ? all : column.labels.size()));
    if (!with_edges || t + 1 == T) continue;
    const Sums::Column& next = sums.columns[t + 1];
    sums.step(t, step);
    for (size_t p = 0; p < column.labels.size(); ++p)
      for (size_t q = 0; q < next.labels.size(); ++q)
        out.edges[(t * L + static_cast<size_t>(column.labels[p])) * L + static_cast<size_t>(next.labels[q])] =
            step[p * next.labels.size() + q];
  }
  return out;
}

namespace {

// [label]: its place among the labels of a column, -1 where it has none.
class Places {
 public:
  explicit Places(size_t L) : place_(L, -1) {}
  void set(std::span<const int32_t> labels) {
    for (const int32_t y : known_) place_[static_cast<size_t>(y)] = -1;
    known_.assign(labels.begin(), labels.end());
    for (size_t q = 0; q < known_.size(); ++q) place_[static_cast<size_t>(known_[q])] = static_cast<int32_t>(q);
  }
  int32_t of(int32_t y) const { return place_[static_cast<size_t>(y)]; }

 private:
  std::vector<int32_t> place_, known_;
};

}  // namespace

PathsThrough paths_through(const Lattice& lattice, std::span<const std::vector<int32_t>> labels, bool probabilities,
                           Arena& arena) {
  need(labels.size() == lattice.T, "labels: one list per token");
  for (const std::vector<int32_t>& own : labels)
    for (const int32_t y : own) need(y >= 0 && static_cast<size_t>(y) < lattice.L, "labels: no such label");
  PathsThrough out;
  if (lattice.T == 0) return out;
  const auto behind = [](std::vector<double> values) {
    for (double& value : values) value = std::max(0.0, -value);
    return values;
  };
  for (const bool maxima : {true, false}) {
    if (!maxima && !probabilities) break;
    NgramSums ngrams;
    const Sums sums = maxima ? max_marginals(lattice, arena, ngrams) : forward_backward(lattice, {}, arena, ngrams);
    if (sums.log_z == kForbidden) fail_without_path(lattice, {});
    if (maxima) out.best = sums.log_z;
    const double lacking = maxima ? kForbidden : 0.0;
    std::vector<double> all;  // pairs of a step, where there are n-grams
    const auto pair = [&](size_t t, size_t p, size_t q) {
      const Sums::Column &from = sums.columns[t], &to = sums.columns[t + 1];
      if (sums.ngrams) return all[p * to.labels.size() + q];
      if (!sums.logs) return sums.edge(t, p, q);
      const auto i = static_cast<size_t>(from.labels[p]), j = static_cast<size_t>(to.labels[q]);
      const double score = from.from[p] + lattice.edge(t, i, j) + to.to[q];
      return maxima ? score : portable_exp(score);
    };
    Places left(lattice.L), right(lattice.L);
    for (size_t t = 0; t < lattice.T; ++t) {
      left.set(sums.columns[t].labels);
      if (maxima) {
        std::vector<double> own;
        for (const int32_t y : labels[t]) own.push_back(left.of(y) < 0 ? lacking : sums.columns[t].node[left.of(y)]);
        out.nodes.push_back(behind(std::move(own)));
      }
      if (t + 1 == lattice.T) break;
      right.set(sums.columns[t + 1].labels);
      if (sums.ngrams) sums.step(t, all);
      std::vector<double> pairs;
      for (const int32_t i : labels[t])
        for (const int32_t j : labels[t + 1]) {
          const int32_t p = left.of(i), q = right.of(j);
          pairs.push_back(p < 0 || q < 0 ? lacking : pair(t, static_cast<size_t>(p), static_cast<size_t>(q)));
        }
      maxima ? out.edges.push_back(behind(std::move(pairs))) : out.probabilities.push_back(std::move(pairs));
    }
  }
  return out;
}

std::vector<double> behind_best(const Lattice& lattice, Arena& arena) {
  std::vector<double> made(times(lattice.T, lattice.L), -kForbidden);
  if (lattice.T == 0) return made;
  NgramSums ngrams;
  const Sums sums = max_marginals(lattice, arena, ngrams);
  if (sums.log_z == kForbidden) fail_without_path(lattice, {});
  for (size_t t = 0; t < lattice.T; ++t) {
    const Sums::Column& column = sums.columns[t];
    for (size_t q = 0; q < column.labels.size(); ++q)
      made[t * lattice.L + static_cast<size_t>(column.labels[q])] = std::max(0.0, -column.node[q]);
  }
  return made;
}

std::vector<Marginals> marginals_all(size_t sentences, const std::function<Lattice(size_t)>& lattice,
                                     const PruningRule& keep, bool with_edges, size_t threads) {
  std::vector<Marginals> made(sentences);
  in_parallel(sentences, threads, [&](size_t s) {
    Arena& arena = thread_arena();
    arena.reset();
    const Trimmed trimmed(arena, kHeldBytes);
    try {
      made[s] = marginals(lattice(s), keep, with_edges, arena);
    } catch (const std::invalid_argument& error) {
      if (sentences == 1) throw;
      fail_in(s, error);
    }
  });
  return made;
}

}  // namespace tagwright
