// Viterbi (1967; Huang et al. 2012, section 3.1): max steps from left to right (lattice/step_edges.h).
//
// No back-pointers: finding the predecessors of the best path again costs T*L, storing them slows the T*L*L loop.
//
// In double precision the recursion gives the exact maximum of left-to-right sums, because rounding is monotone.
// float32 scores are first run in float32, which is twice as fast, with a proven limit on the rounding error of
// each column; on the way back every predecessor within that limit is kept, and the few paths left are settled
// in double. Where many are left (ties, or scores of very different size) the sentence is run again in double.
#include "decode/viterbi.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/stop.h"
#include "decode/lanes.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

// One sentence on its way through the lattice. alpha(t)[y]: score of the best path that ends in y of column t;
// in float32 it is counted from the best of the column before, and off by at most error[t].
template <class A>
struct Forward {
  const Lattice* lattice;
  const double* first = nullptr;  // [y]: the scores of column 0, where these are given
  A* alphas = nullptr;
  std::vector<double> error = {};  // [t]
  Work work = {};

  A* alpha(size_t t) const { return alphas + t * lattice->edges.stride(); }
};

// Column 0 of a sentence, or column t once best[] stands in its place.
template <class A>
void add_nodes(Forward<A>& run, size_t t) {
  const Lattice& lattice = *run.lattice;
  const size_t L = lattice.L;
  A* alpha = run.alpha(t);
  const Scores nodes = lattice.nodes.from(t * L);
  if constexpr (std::is_same_v<A, float>) {
    const Scan before = t ? kernels().scan_f(run.alpha(t - 1), L) : Scan{0, 0, true};
    const float shift = std::isfinite(before.max) ? static_cast<float>(before.max) : 0.0f;
    if (t == 0)
      for (size_t y = 0; y < L; ++y) alpha[y] = static_cast<float>(lattice.edges.start(y));
    for (size_t y = 0; y < L; ++y) alpha[y] = (alpha[y] + nodes.f[y]) - shift;
    const double size = before.magnitude + lattice.edge_magnitude() + lattice.node_magnitude(t);
    run.error[t] = (t ? run.error[t - 1] : 0) + 6 * kFloatRounding * size + kFloatTiny;
  } else {
    if (t == 0)
      for (size_t y = 0; y < L; ++y) alpha[y] = run.first ? run.first[y] : lattice.edges.start(y);
    if (t == 0 && run.first) return;
    if (nodes.f)
      for (size_t y = 0; y < L; ++y) alpha[y] += static_cast<double>(nodes.f[y]);
    else
      for (size_t y = 0; y < L; ++y) alpha[y] += nodes.d[y];
  }
  run.work.nodes += L;
}

// All columns of all sentences; those still running at a step share one walk over the edges.
template <class A>
void run_forward(std::span<Forward<A>> runs, Arena& arena) {
  size_t longest = 0;
  for (Forward<A>& run : runs) {
    run.alphas = arena.array<A>(run.lattice->T * run.lattice->edges.stride());
    run.error.assign(run.lattice->T, 0);
    ++run.work.rounds;
    if (run.lattice->T) add_nodes(run, 0);
    longest = std::max(longest, run.lattice->T);
  }
  std::vector<LatticeStep<A>> steps;
  Arena step_arena;
  Meter meter;
  const size_t step_cost = runs[0].lattice->edges.costs().max_step;
  for (size_t t = 1; t < longest; ++t) {
    step_arena.reset();
    steps.clear();
    for (Forward<A>& run : runs)
      if (t < run.lattice->T) steps.push_back({run.lattice, run.alpha(t - 1), run.alpha(t), &run.work});
    meter.count(steps.size() * step_cost);
    max_step<A>(t - 1, steps, step_arena);
    for (Forward<A>& run : runs)
      if (t < run.lattice->T) add_nodes(run, t);
  }
}

// The best path, from alphas in double.
std::optional<Path> trace(Forward<double>& run, Arena& arena) {
  const Lattice& lattice = *run.lattice;
  const size_t T = lattice.T, L = lattice.L;
  double* reached = arena.array<double>(L);
  for (size_t y = 0; y < L; ++y) reached[y] = run.alpha(T - 1)[y] + lattice.edges.stop(y);
  const size_t last = kernels().argmax_d(reached, L);
  if (reached[last] == kForbidden) return std::nullopt;
  std::vector<int32_t> labels(T);
  labels[T - 1] = static_cast<int32_t>(last);
  trace_back(lattice, {run.alphas, lattice.edges.stride()}, labels.data(), arena, run.work);
  return Path{std::move(labels)};
}

// The best path, from alphas in float32: keeps every label that the rounding error leaves in question, then settles
// them in double. None where too many are in question.
std::optional<Answer> settle(Forward<float>& run, Arena& arena) {
  const Lattice& lattice = *run.lattice;
  const size_t T = lattice.T, L = lattice.L;
  double* reached = arena.array<double>(L);
  double* column = arena.array<double>(L);
  int32_t* within = arena.array<int32_t>(L);
  const size_t most = 2 * T + 16;
  // Labels that may be on the best path, those of the last column first; those of column t end at end[t].
  int32_t* question = arena.array<int32_t>(most + 1);
  size_t* end = arena.array<size_t>(T);
  size_t count = 0;
  const auto begin = [&](size_t t) { return t + 1 < T ? end[t + 1] : 0; };

  // Labels whose value is within twice the error of the best; false where there are too many.
  const auto leave_in_question = [&](size_t t) {
    const double best = reached[kernels().argmax_d(reached, L)];
    if (best == kForbidden) return true;
    const size_t n = kernels().at_least_d(reached, L, best - 2 * run.error[t], within);
    for (size_t q = 0; q < n; ++q) {
      if (std::find(question + begin(t), question + count, within[q]) != question + count) continue;
      question[count++] = within[q];
      if (count > most) return false;
    }
    return true;
  };

  for (size_t y = 0; y < L; ++y) reached[y] = static_cast<double>(run.alpha(T - 1)[y]) + lattice.edges.stop(y);
  if (!leave_in_question(T - 1)) return std::nullopt;
  if (count == 0) return Answer{{}, run.work};
  end[T - 1] = count;
  for (size_t t = T - 1; t > 0; --t) {
    for (size_t p = begin(t); p < end[t]; ++p) {
      lattice.column(t - 1, static_cast<size_t>(question[p]), column);
      for (size_t i = 0; i < L; ++i) reached[i] = static_cast<double>(run.alpha(t - 1)[i]) + column[i];
      run.work.edges += L;
      if (!leave_in_question(t - 1) || count == end[t]) return std::nullopt;
    }
    end[t - 1] = count;
  }

  std::vector<int32_t> labels(T);
  if (count == T) {
    // The usual case: one label per column.
    std::reverse_copy(question, question + count, labels.begin());
    return Answer{{{std::move(labels)}}, run.work};
  }
  double* alpha = arena.array<double>(count);
  size_t* back = arena.array<size_t>(count);
  for (size_t t = 0; t < T; ++t) {
    for (size_t p = begin(t); p < end[t]; ++p) {
      const size_t y = static_cast<size_t>(question[p]);
      alpha[p] = t ? kForbidden : lattice.edges.start(y);
      back[p] = t ? begin(t - 1) : 0;
      for (size_t q = end[t]; t && q < end[t - 1]; ++q) {
        const double v = alpha[q] + lattice.edge(t - 1, static_cast<size_t>(question[q]), y);
        if (v > alpha[p]) {
          alpha[p] = v;
          back[p] = q;
        }
      }
      alpha[p] += lattice.node(t, y);
    }
  }
  size_t at = 0;
  for (size_t p = 0; p < end[T - 1]; ++p) {
    alpha[p] += lattice.edges.stop(static_cast<size_t>(question[p]));
    if (alpha[p] > alpha[at]) at = p;
  }
  for (size_t t = T; t-- > 0;) {
    labels[t] = question[at];
    at = back[at];
  }
  return Answer{{{std::move(labels)}}, run.work};
}

}  // namespace

ForwardScores forward_scores(const Lattice& lattice, Arena& arena, Work& work, const double* first) {
  Forward<double> run{&lattice, first};
  run_forward<double>({&run, 1}, arena);
  work.nodes += run.work.nodes;
  work.edges += run.work.edges;
  return {run.alphas, lattice.edges.stride()};
}

void trace_back(const Lattice& lattice, const ForwardScores& alpha, int32_t* labels, Arena& arena, Work& work) {
  const size_t L = lattice.L;
  double* reached = arena.array<double>(L);
  for (size_t t = lattice.T; t-- > 1;) {
    lattice.column(t - 1, static_cast<size_t>(labels[t]), reached);
    for (size_t i = 0; i < L; ++i) reached[i] += alpha[t - 1][i];
    labels[t - 1] = static_cast<int32_t>(kernels().argmax_d(reached, L));
    work.edges += L;
  }
}

std::vector<Answer> viterbi_batch(std::span<const Lattice* const> lattices, const Options&, Arena& arena) {
  constexpr size_t kFewSentences = 3;  // eight lanes cost as much as three sentences
  if (lattices.size() >= kFewSentences &&
      std::all_of(lattices.begin(), lattices.end(), [](const Lattice* lattice) { return lattice->suits_lanes(); }))
    if (std::optional<std::vector<Answer>> answers = viterbi_in_lanes(lattices, arena)) return std::move(*answers);
  std::vector<Answer> answers(lattices.size());
  std::vector<Forward<float>> fast;
  std::vector<Forward<double>> sure;
  std::vector<size_t> whose_fast, whose_sure;
  for (size_t s = 0; s < lattices.size(); ++s) {
    if (lattices[s]->fits_float()) {
      fast.push_back({lattices[s]});
      whose_fast.push_back(s);
    } else {
      sure.push_back({lattices[s]});
      whose_sure.push_back(s);
    }
  }
  if (!fast.empty()) run_forward<float>(fast, arena);
  for (size_t r = 0; r < fast.size(); ++r) {
    if (auto answer = settle(fast[r], arena)) {
      answers[whose_fast[r]] = std::move(*answer);
    } else {
      sure.push_back({lattices[whose_fast[r]]});
      sure.back().work = fast[r].work;
      whose_sure.push_back(whose_fast[r]);
    }
  }
  if (!sure.empty()) run_forward<double>(sure, arena);
  for (size_t r = 0; r < sure.size(); ++r) {
    Answer& answer = answers[whose_sure[r]];
    if (auto path = trace(sure[r], arena)) answer.paths.push_back(std::move(*path));
    answer.work = sure[r].work;
  }
  return answers;
}

Answer viterbi(const Lattice& lattice, const Options& options, Arena& arena) {
  if (options.k > 1) return viterbi_astar(lattice, options, arena);
  const Lattice* one = &lattice;
  return std::move(viterbi_batch({&one, 1}, options, arena)[0]);
}

}  // namespace tagwright
