#include "sums/marginals.h"

#include "base/need.h"
#include "base/threads.h"
#include "lattice/no_path.h"

namespace tagwright {

Marginals marginals(const Lattice& lattice, const Keep& keep, bool with_edges, Arena& arena) {
  Marginals out;
  const size_t T = lattice.T, L = lattice.L;
  out.nodes = Zeros(times(T, L));
  if (with_edges) out.edges.assign(times(T ? T - 1 : 0, times(L, L)), 0.0);
  if (T == 0) return out;
  const Sums sums = forward_backward(lattice, lattice.edges.factors(), keep, nullptr, arena);
  if (sums.log_z == kForbidden)
    throw std::invalid_argument(keep.all() ? why_no_path(lattice).value_or(kUnderflow)
                                           : "no path among the labels that keep chose: -inf scores forbid them all; "
                                             "keep more, or use keep=None to see whether there is one");
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
