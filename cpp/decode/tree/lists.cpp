#include "decode/tree/lists.h"

#include <algorithm>
#include <limits>

namespace tagwright {
namespace {

constexpr size_t kLong = 64;  // labels; beyond, bounds of whole columns pay

struct Reached {
  double alpha;    // score of the best path that ends in the label
  double at_best;  // alpha and the label's best edge out
  int32_t label;
  int32_t place;  // in its list
};

bool all_short(const Lattice& lattice) {
  for (size_t t = 0; t < lattice.T; ++t)
    if (lattice.allowed[t].empty() || lattice.allowed[t].size() > kLong) return false;
  return true;
}

}  // namespace

// The labels before an edge are tried in the order of what their best edges would reach, so that the first that cannot
// improve ends the search: as in CarpeDiem (Esposito & Radicioni 2009), but over lists. Rounding is monotone, so a sum
// with an edge is no more than the sum with the best edge, and the answer is that of Viterbi in double precision.
std::optional<Answer> viterbi_over_lists(const Lattice& lattice, const Options& options, Arena& arena) {
  if (options.k > 1 || !lattice.allowed || !all_short(lattice)) return std::nullopt;
  const Edges& edges = lattice.edges;
  const float* const reach = lattice.is_uniform() ? edges.reach() : nullptr;
  Answer answer;
  answer.work.rounds = 1;
  const size_t* const begin = lattice.allowed.begin;
  int32_t* const before =
      arena.array<int32_t>(begin[lattice.T] - begin[0]);  // [place of column t]: that of its best way
  Reached reached[kLong], next[kLong];
  size_t size = 0;
  for (size_t t = 0; t < lattice.T; ++t) {
    const std::span<const int32_t> list = lattice.allowed[t];
    int32_t* const back = before + (begin[t] - begin[0]);
    size_t n = 0;
    for (size_t q = 0; q < list.size(); ++q) {
      const auto j = static_cast<size_t>(list[q]);
      double best = t ? kForbidden : edges.start(j);
      for (size_t p = 0; p < size && reached[p].at_best > best; ++p) {
        const double score = reached[p].alpha + lattice.edge(t - 1, static_cast<size_t>(reached[p].label), j);
        ++answer.work.edges;
        if (!(score > best)) continue;
        best = score;
        back[q] = reached[p].place;
      }
      best += lattice.node(t, j);
      if (best == kForbidden) continue;
      if (t + 1 == lattice.T) best += edges.stop(j);
      const double out = t + 1 == lattice.T ? 0
                         : reach            ? static_cast<double>(reach[j])
                                            : std::numeric_limits<double>::infinity();
      next[n++] = {best, best + out, list[q], static_cast<int32_t>(q)};
    }
    answer.work.nodes += n;
    size = n;
    std::copy_n(next, n, reached);
    for (size_t p = 0; p < n && t + 1 < lattice.T; ++p) edges.step(t).prefetch(static_cast<size_t>(next[p].label));
    std::sort(reached, reached + n, [](const Reached& a, const Reached& b) { return a.at_best > b.at_best; });
  }
  if (size == 0 || reached[0].alpha == kForbidden) return answer;
  std::vector<int32_t> labels(lattice.T);
  int32_t place = reached[0].place;
  for (size_t t = lattice.T; t-- > 0;) {
    labels[t] = lattice.allowed[t][static_cast<size_t>(place)];
    place = before[begin[t] - begin[0] + static_cast<size_t>(place)];
  }
  answer.paths.push_back({std::move(labels)});
  return answer;
}

}  // namespace tagwright
