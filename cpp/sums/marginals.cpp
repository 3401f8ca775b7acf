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

void add_ngram_sums(const Lattice& lattice, const PruningRule& keep, Arena& arena, Marginals& out) {
  const size_t L = lattice.L;
  thread_local NgramSums sums;
  sum_ngrams(lattice, {keep}, arena, sums);
  if (sums.log_z() == kForbidden) fail_without_path(lattice, keep);
  out.log_z = sums.log_z();
  out.entropy = entropy(sums);
  std::vector<double> step;
  for (size_t t = 0; t < lattice.T; ++t) {
    const std::span<const int32_t> labels = sums.labels(t);
    for (size_t q = 0; q < labels.size(); ++q) out.nodes[t * L + static_cast<size_t>(labels[q])] = sums.nodes(t)[q];
    const size_t all = lattice.allowed[t].empty() ? L : lattice.allowed[t].size();
    out.kept.push_back(static_cast<int32_t>(keep.all() ? all : labels.size()));
    if (out.edges.empty() || t == 0) continue;
    sums.pairs(t, step);
    const double* pair = step.data();
    for (const int32_t i : sums.labels(t - 1))
      for (const int32_t j : labels)
        out.edges[((t - 1) * L + static_cast<size_t>(i)) * L + static_cast<size_t>(j)] = *pair++;
  }
}

}  // namespace

Marginals marginals(const Lattice& lattice, const PruningRule& keep, bool with_edges, Arena& arena) {
  Marginals out;
  const size_t T = lattice.T, L = lattice.L;
  out.nodes = Zeros(times(T, L));
  if (with_edges) out.edges.assign(times(T ? T - 1 : 0, times(L, L)), 0.0);
  if (T == 0) return out;
  if (lattice.edges.ngrams()) {
    add_ngram_sums(lattice, keep, arena, out);
    return out;
  }
  const Sums sums = forward_backward(lattice, {keep}, arena);
  if (sums.log_z == kForbidden) fail_without_path(lattice, keep);
  out.log_z = sums.log_z;
  out.entropy = entropy(sums, arena);
  std::vector<double> step;
  for (size_t t = 0; t < T; ++t) {
    const Sums::Column& column = sums.columns[t];
    for (size_t q = 0; q < column.labels.size(); ++q)
      out.nodes[t * L + static_cast<size_t>(column.labels[q])] = column.node[q];
    out.kept.push_back(static_cast<int32_t>(column.labels.size()));
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

// Selects the values of requested pairs of labels out of those of all pairs of two columns.
struct Selection {
  std::span<const int32_t> from, to;  // requested
  const Places &left, &right;         // of the labels that there are
  double lacking;                     // the value of a pair with a label that there is not

  template <class Value>
  std::vector<double> pairs(Value&& value) const {
    std::vector<double> out;
    out.reserve(times(from.size(), to.size()));
    for (const int32_t i : from)
      for (const int32_t j : to) {
        const int32_t p = left.of(i), q = right.of(j);
        out.push_back(p < 0 || q < 0 ? lacking : value(static_cast<size_t>(p), static_cast<size_t>(q)));
      }
    return out;
  }
};

// Maxima and sums of a lattice with or without n-grams, behind one interface.
class PathValues {
 public:
  PathValues(const Lattice& lattice, bool maxima, Arena& arena) : lattice_(lattice), maxima_(maxima) {
    if (lattice.edges.ngrams()) {
      maxima ? maximise_ngrams(lattice, arena, ngrams_) : sum_ngrams(lattice, {}, arena, ngrams_);
    } else {
      sums_ = maxima ? max_marginals(lattice, arena) : forward_backward(lattice, arena);
    }
  }
  double total() const { return lattice_.edges.ngrams() ? ngrams_.log_z() : sums_.log_z; }
  std::span<const int32_t> labels(size_t t) const {
    return lattice_.edges.ngrams() ? ngrams_.labels(t) : sums_.columns[t].labels;
  }
  double node(size_t t, size_t q) const {
    return lattice_.edges.ngrams() ? ngrams_.nodes(t)[q] : sums_.columns[t].node[q];
  }
  // The values of requested pairs of the step behind column t.
  std::vector<double> pairs(size_t t, const Selection& selection) {
    if (lattice_.edges.ngrams()) {
      ngrams_.pairs(t + 1, all_);
      const size_t n = labels(t + 1).size();
      return selection.pairs([&](size_t p, size_t q) { return all_[p * n + q]; });
    }
    const Sums::Column &left = sums_.columns[t], &right = sums_.columns[t + 1];
    return selection.pairs([&](size_t p, size_t q) {
      if (!sums_.logs) return sums_.edge(t, p, q);
      const double value = left.from[p] +
                           lattice_.edge(t, static_cast<size_t>(left.labels[p]), static_cast<size_t>(right.labels[q])) +
                           right.to[q];
      return maxima_ ? value : portable_exp(value);
    });
  }

 private:
  const Lattice& lattice_;
  const bool maxima_;
  Sums sums_;
  NgramSums ngrams_;
  std::vector<double> all_;
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
    PathValues values(lattice, maxima, arena);
    if (values.total() == kForbidden) fail_without_path(lattice, {});
    if (maxima) out.best = values.total();
    Places left(lattice.L), right(lattice.L);
    for (size_t t = 0; t < lattice.T; ++t) {
      left.set(values.labels(t));
      if (maxima) {
        std::vector<double> own;
        for (const int32_t y : labels[t])
          own.push_back(left.of(y) < 0 ? kForbidden : values.node(t, static_cast<size_t>(left.of(y))));
        out.nodes.push_back(behind(std::move(own)));
      }
      if (t + 1 == lattice.T) break;
      right.set(values.labels(t + 1));
      std::vector<double> pairs = values.pairs(t, {labels[t], labels[t + 1], left, right, maxima ? kForbidden : 0.0});
      maxima ? out.edges.push_back(behind(std::move(pairs))) : out.probabilities.push_back(std::move(pairs));
    }
  }
  return out;
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
