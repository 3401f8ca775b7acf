#include "sums/marginals.h"

#include "base/need.h"
#include "base/threads.h"
#include "lattice/no_path.h"
#include "sums/ngram_sums.h"

namespace tagwright {
namespace {

[[noreturn]] void fail_without_path(const Lattice& lattice, const Keep& keep) {
  throw std::invalid_argument(keep.all() ? why_no_path(lattice).value_or(kUnderflow)
                                         : "no path among the labels that keep chose: -inf scores forbid them all; "
                                           "keep more, or use keep=None to see whether there is one");
}

void add_ngram_sums(const Lattice& lattice, const Keep& keep, Arena& arena, Marginals& out) {
  const size_t L = lattice.L;
  thread_local NgramSums sums;
  sum_ngrams(lattice, keep, nullptr, arena, sums);
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

Marginals marginals(const Lattice& lattice, const Keep& keep, bool with_edges, Arena& arena) {
  Marginals out;
  const size_t T = lattice.T, L = lattice.L;
  out.nodes = Zeros(times(T, L));
  if (with_edges) out.edges.assign(times(T ? T - 1 : 0, times(L, L)), 0.0);
  if (T == 0) return out;
  if (lattice.edges.ngrams()) {
    add_ngram_sums(lattice, keep, arena, out);
    return out;
  }
  const Sums sums = forward_backward(lattice, lattice.edges.factors(), keep, nullptr, arena);
  if (sums.log_z == kForbidden) fail_without_path(lattice, keep);
  out.log_z = sums.log_z;
  out.entropy = entropy(lattice, lattice.edges.factors(), sums, arena);
  std::vector<double> step;
  for (size_t t = 0; t < T; ++t) {
    const Sums::Column& column = sums.columns[t];
    for (size_t q = 0; q < column.labels.size(); ++q)
      out.nodes[t * L + static_cast<size_t>(column.labels[q])] = column.node[q];
    out.kept.push_back(static_cast<int32_t>(column.labels.size()));
    if (!with_edges || t + 1 == T) continue;
    const Sums::Column& next = sums.columns[t + 1];
    sums.step(lattice, t, step);
    for (size_t p = 0; p < column.labels.size(); ++p)
      for (size_t q = 0; q < next.labels.size(); ++q)
        out.edges[(t * L + static_cast<size_t>(column.labels[p])) * L + static_cast<size_t>(next.labels[q])] =
            step[p * next.labels.size() + q];
  }
  return out;
}

std::vector<Marginals> marginals_all(size_t sentences, const std::function<Lattice(size_t)>& lattice, const Keep& keep,
                                     bool with_edges, size_t threads) {
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
