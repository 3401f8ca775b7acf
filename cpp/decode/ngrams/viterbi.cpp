#include <algorithm>

#include "decode/graph.h"
#include "decode/ngrams/context_viterbi.h"
#include "decode/ngrams/ngrams.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

// The best path, from alphas: each context is the first of the best that lead to the one behind it.
Answer best_path(const Lattice& lattice, const ContextViterbi& pass, Arena& arena, Work work) {
  const size_t T = lattice.T, C = pass.states();
  Answer answer;
  double* const reached = arena.array<double>(C);
  for (size_t c = 0; c < C; ++c)
    reached[c] = pass.alpha(T - 1)[c] + lattice.edges.stop(static_cast<size_t>(pass.label(c)));
  size_t at = kernels().argmax_d(reached, C);
  if (reached[at] != kForbidden) {
    std::vector<int32_t> labels(T);
    for (size_t t = T; t-- > 0;) {
      labels[t] = pass.label(at);
      if (t == 0) break;
      pass.into(t, at, reached);
      for (size_t c = 0; c < C; ++c) reached[c] += pass.alpha(t - 1)[c];
      at = kernels().argmax_d(reached, C);
      work.edges += C;
    }
    answer.paths.push_back(scored(lattice, std::move(labels)));
  }
  answer.work = work;
  return answer;
}

// As viterbi_astar.cpp does it over labels: from the last column to the first, what is ahead of a context is its alpha.
Answer best_paths(const Lattice& lattice, const ContextViterbi& pass, size_t k, Work work) {
  const size_t T = lattice.T, C = pass.states();
  Answer answer;
  answer.work = work;
  Graph graph;
  graph.T = T;
  graph.size = [&](size_t) { return C; };
  graph.first = [&](double* out) {
    for (size_t c = 0; c < C; ++c) out[c] = lattice.edges.stop(static_cast<size_t>(pass.label(c)));
  };
  graph.next = [&](size_t s, size_t p, double* out) {
    const size_t t = T - 1 - s;
    const double node = lattice.node(t, static_cast<size_t>(pass.label(p)));
    pass.into(t, p, out);
    for (size_t c = 0; c < C; ++c) out[c] += node;
  };
  graph.ahead = [&](size_t s) { return pass.alpha(T - 1 - s); };
  for (GraphPath& path : enumerate_paths(graph, k, answer.work)) {
    std::reverse(path.at.begin(), path.at.end());
    for (int32_t& at : path.at) at = pass.label(static_cast<size_t>(at));
    answer.paths.push_back(scored(lattice, std::move(path.at)));
  }
  return answer;
}

}  // namespace

Answer ngram_viterbi(const Lattice& lattice, const Options& options, Arena& arena) {
  Work work{.rounds = 1};
  const ContextViterbi pass(lattice, arena, work);
  return options.k == 1 ? best_path(lattice, pass, arena, work) : best_paths(lattice, pass, options.k, work);
}

}  // namespace tagwright
