// k-best Viterbi (Huang et al. 2012, section 3.4): every node keeps its k best partial paths.
//
// Differs from the plain form in one way that changes no answer: the r-th partial path of a label skips its whole row
// of edges when none of them leads into a list.
#include <algorithm>

#include "decode/viterbi.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

// A partial path that ends in a node: its score and the partial path before it.
struct Partial {
  double score;
  int32_t label, which;  // of the column before
};

}  // namespace

Answer kbest_viterbi(const Lattice& lattice, size_t k, Arena& arena) {
  const size_t T = lattice.T, L = lattice.L;
  Answer answer;
  answer.work.rounds = 1;

  std::vector<size_t> room(T);     // [t]: partial paths that a node of column t can have, at most k
  std::vector<Partial*> kept(T);   // [t][y * room + r], best first
  std::vector<size_t*> counts(T);  // [t][y]
  double* row = arena.array<double>(L);
  double* worst = arena.array<double>(L);  // [j]: what a newcomer must beat
  for (size_t t = 0; t < T; ++t) {
    room[t] = t == 0 ? 1 : times_up_to(room[t - 1], L, k);
    kept[t] = arena.array<Partial>(times(L, room[t]));
    counts[t] = arena.array<size_t>(L);
    std::fill(counts[t], counts[t] + L, 0);
    answer.work.nodes += L;
    if (t == 0) {
      for (size_t y = 0; y < L; ++y) {
        const double score = lattice.edges.start(y) + lattice.node(0, y);
        if (score == kForbidden) continue;
        kept[0][y] = {score, -1, -1};
        counts[0][y] = 1;
      }
      continue;
    }
    std::fill(worst, worst + L, kForbidden);
    for (size_t i = 0; i < L; ++i) {
      if (!counts[t - 1][i]) continue;
      lattice.row(t - 1, i, row);
      for (size_t r = 0; r < counts[t - 1][i]; ++r) {
        const double score = kept[t - 1][i * room[t - 1] + r].score;
        answer.work.edges += L;
        bool any = false;
        for (size_t j = 0; j < L; ++j) any |= score + row[j] > worst[j];
        if (!any) break;
        for (size_t j = 0; j < L; ++j) {
          const double v = score + row[j];
          if (!(v > worst[j])) continue;
          Partial* list = kept[t] + j * room[t];
          size_t& n = counts[t][j];
          size_t at = n < room[t] ? n++ : n - 1;
          for (; at > 0 && list[at - 1].score < v; --at) list[at] = list[at - 1];
          list[at] = {v, static_cast<int32_t>(i), static_cast<int32_t>(r)};
          if (n == room[t]) worst[j] = list[n - 1].score;
        }
      }
    }
    for (size_t y = 0; y < L; ++y) {
      const double node = lattice.node(t, y);
      for (size_t r = 0; r < counts[t][y]; ++r) kept[t][y * room[t] + r].score += node;
      if (node == kForbidden) counts[t][y] = 0;
    }
  }

  std::vector<Partial> ends;
  for (size_t y = 0; y < L; ++y) {
    const double stop = lattice.edges.stop(y);
    if (stop == kForbidden) continue;
    for (size_t r = 0; r < counts[T - 1][y]; ++r)
      ends.push_back({kept[T - 1][y * room[T - 1] + r].score + stop, static_cast<int32_t>(y), static_cast<int32_t>(r)});
  }
  const size_t found = std::min(k, ends.size());
  std::partial_sort(
      ends.begin(), ends.begin() + static_cast<ptrdiff_t>(found), ends.end(), [](const Partial& a, const Partial& b) {
        return a.score != b.score ? a.score > b.score : a.label != b.label ? a.label < b.label : a.which < b.which;
      });
  for (size_t e = 0; e < found; ++e) {
    std::vector<int32_t> labels(T);
    Partial at = ends[e];
    for (size_t t = T; t-- > 0;) {
      labels[t] = at.label;
      at = kept[t][static_cast<size_t>(at.label) * room[t] + static_cast<size_t>(at.which)];
    }
    answer.paths.push_back(scored(lattice, std::move(labels)));
  }
  return answer;
}

}  // namespace tagwright
