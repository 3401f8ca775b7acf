#include "decode/windows.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "decode/viterbi.h"
#include "kernels/kernels.h"
#include "lattice/no_path.h"

namespace tagwright {

namespace {

// Returns the bytes of the corrections of a step, by row and by column; several sets may be active.
size_t correction_bytes(const Edges& edges) {
  const Corrections& sets = edges.corrections();
  return sets.rows() ? 4 * sizeof(Override) * sets.entries() / sets.rows() + 2 * sizeof(Patch) : 0;
}

// Calls use(lattice) with columns begin .. end - 1.
template <class Use>
void with_window(const Edges& edges, const Columns& columns, size_t begin, size_t end, Arena& arena, Use&& use) {
  arena.reset();
  const Supplied supplied = columns(begin, end, arena);
  const Scores nodes = masked(supplied.nodes, end - begin, edges.L(), supplied.allowed, arena);
  use(Lattice(edges, end - begin, nodes, supplied.on.empty() ? nullptr : &supplied.on, begin));
}

}  // namespace

size_t window_of(size_t T, const Edges& edges, size_t bytes, size_t whole) {
  constexpr size_t kWindow = size_t{8} << 20;
  // Edge kind: edges per step take more memory than any column.
  if (edges.steps()) return 0;
  const size_t column = times(edges.L(), bytes) + correction_bytes(edges);
  if (times(T, column) <= whole) return 0;
  // No shorter than there are windows: the last column of each is held too.
  return std::max({kWindow / column, static_cast<size_t>(std::sqrt(static_cast<double>(T))), size_t{2}});
}

size_t window_to_decode(size_t T, const Edges& edges, const Plan& plan, bool given) {
  // With many labels and a matrix, bounds are much faster than a pass over all edges; scores that are given already fit
  // into memory.
  constexpr size_t kManyLabels = 128, kWholeGiven = size_t{1} << 30;
  const Options& options = plan.options;
  if (!plan.is_viterbi(edges) || T == 0) return 0;
  if (options.window) return window_of(T, edges, sizeof(double), 0) ? options.window : 0;
  const bool bounds = given && edges.costs().max_step > kManyLabels * edges.L();
  return window_of(T, edges, sizeof(double), bounds ? kWholeGiven : kWholeBytes);
}

double bytes_to_decode(size_t T, const Edges& edges, const Plan& plan, size_t held) {
  constexpr double kPath = 40;  // per token of each of the k paths
  // Decoders of n-grams may fall back to one number per context and token.
  const size_t contexts = (edges.states() - edges.L()) * sizeof(double);
  const auto labels =
      static_cast<double>(edges.L() * (held + plan.decoder->bytes) + correction_bytes(edges) + contexts);
  return static_cast<double>(T) * (labels + kPath * static_cast<double>(plan.options.k));
}

Answer viterbi_in_windows(size_t T, const Edges& edges, size_t window, const Columns& columns, Arena& arena) {
  const size_t L = edges.L();
  Answer answer;
  answer.work.rounds = 1;
  std::vector<double> reached;  // [w * L + y]: scores of the last column of window w
  // The scores of a window, given those of its first column.
  const auto forward = [&](size_t w, size_t begin, size_t end, auto&& use) {
    with_window(edges, columns, begin, end, arena, [&](const Lattice& lattice) {
      use(lattice, forward_scores(lattice, arena, answer.work, w ? reached.data() + (w - 1) * L : nullptr));
    });
  };
  for_each_window(T, window, false, [&](size_t w, size_t begin, size_t end) {
    forward(w, begin, end, [&](const Lattice& lattice, const ForwardScores& alpha) {
      for (size_t t = 0; t < lattice.T; ++t)
        if (kernels().max_d(alpha[t], L) == kForbidden) throw std::invalid_argument(why_no_path(begin + t));
      reached.insert(reached.end(), alpha[lattice.T - 1], alpha[lattice.T - 1] + L);
    });
  });
  double* last = reached.data() + reached.size() - L;
  std::vector<double> ends(last, last + L);
  for (size_t y = 0; y < L; ++y) ends[y] += edges.stop(y);
  const size_t best = kernels().argmax_d(ends.data(), L);
  if (ends[best] == kForbidden) throw std::invalid_argument(why_no_path({}));
  Path path{std::vector<int32_t>(T), ends[best]};
  path.labels[T - 1] = static_cast<int32_t>(best);
  for_each_window(T, window, true, [&](size_t w, size_t begin, size_t end) {
    forward(w, begin, end, [&](const Lattice& lattice, const ForwardScores& alpha) {
      trace_back(lattice, alpha, path.labels.data() + begin, arena, answer.work);
    });
  });
  answer.paths.push_back(std::move(path));
  return answer;
}

double score_in_windows(const Edges& edges, size_t window, const Columns& columns, std::span<const int32_t> labels,
                        Arena& arena) {
  double score = 0;
  for_each_window(labels.size(), window, false, [&](size_t w, size_t begin, size_t end) {
    with_window(edges, columns, begin, end, arena, [&](const Lattice& lattice) {
      const auto first = static_cast<size_t>(labels[0]);
      if (w == 0) score = edges.start(first) + lattice.node(0, first);
      score = add_steps(score, lattice, labels.subspan(begin, end - begin));
    });
  });
  return labels.empty() ? 0 : score + edges.stop(static_cast<size_t>(labels.back()));
}

}  // namespace tagwright
