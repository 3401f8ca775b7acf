// Beam search from left to right (Huang et al. 2012, Table 1): approximate, and the first floor of every refinement.
//
// A column keeps `width` partial paths, at most k of them with the same last label: for k = 1 these are the best
// labels, each with its best partial path. With width >= k * L nothing is lost and the answer is exact. With a rule of
// sparse forward-backward in place of the width (Pal et al. 2006, 4.1) a column keeps the labels that the rule chooses,
// the scores of their best partial paths taken as log beliefs; up to k partial paths each.
#include <algorithm>

#include "base/stop.h"
#include "decode/extend.h"
#include "decode/ngrams/ngrams.h"
#include "decode/table.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

struct Partial {
  double score;
  int32_t label, before;  // before: index of the partial path it extends
};

bool better(const Partial& a, const Partial& b) {
  return a.score != b.score ? a.score > b.score : a.label != b.label ? a.label < b.label : a.before < b.before;
}

// scores[j]: the partial path `from` extended by label j of column t.
void extend(const Lattice& lattice, size_t t, const Partial* from, double* row, double* scores) {
  if (!from) return begin(lattice, scores);
  extend(lattice, t, from->score, static_cast<size_t>(from->label), row, scores);
}

// The best label to extend a single partial path with, by the sum of edge and node score in their own precision;
// false where that cannot be read off the matrix, or nothing is found.
bool extend_one(const Lattice& lattice, size_t t, const Partial& from, Partial& to) {
  const size_t L = lattice.L, i = static_cast<size_t>(from.label);
  const Scores nodes = lattice.nodes.from(t * L);
  if (!lattice.edges.has_matrix() || lattice.patched()) return false;
  const Scores edges = lattice.edges.matrix(t - 1).from(i * lattice.edges.stride());
  if (!edges.f != !nodes.f) return false;
  const size_t y =
      edges.f ? kernels().argmax_sum_ff(edges.f, nodes.f, L) : kernels().argmax_sum_dd(edges.d, nodes.d, L);
  to = {(from.score + edges[y]) + nodes[y], static_cast<int32_t>(y), 0};
  return to.score != kForbidden;  // Sums of float32 may overflow where those of double do not.
}

// The best `width` of the candidates, best first.
void keep_best(std::vector<Partial>& candidates, size_t width, std::vector<Partial>& kept) {
  const auto behind = candidates.begin() + static_cast<ptrdiff_t>(std::min(width, candidates.size()));
  std::partial_sort(candidates.begin(), behind, candidates.end(), better);
  kept.assign(candidates.begin(), behind);
}

}  // namespace

Answer beam(const Lattice& lattice, const Options& options, Arena& arena) {
  if (lattice.edges.ngrams()) return ngram_beam(lattice, options, arena);
  const size_t T = lattice.T, L = lattice.L;
  const bool ruled = !options.keep.all();
  const size_t width = ruled ? times_up_to(L, options.k, SIZE_MAX) : std::max(options.width, options.k);
  Answer answer;
  answer.work.rounds = 1;
  std::vector<std::vector<Partial>> kept(T);
  double* row = arena.array<double>(L);
  double* scores = arena.array<double>(L);
  double* best = arena.array<double>(L);  // [j], over all partial paths
  int32_t* found = arena.array<int32_t>(L + 1);
  constexpr size_t kRows = size_t{1} << 18;
  double* rows = nullptr;
  size_t rows_kept = 0;
  std::vector<Partial> candidates;
  Chooser chooser;
  Meter meter;
  const Partial nothing{0, -1, -1};
  for (size_t t = 0; t < T; ++t) {
    const std::span<const Partial> before = t ? std::span<const Partial>(kept[t - 1]) : std::span(&nothing, 1);
    meter.count(2 * before.size() * L);
    Partial next;
    if (t && width == 1 && !ruled && extend_one(lattice, t, before[0], next)) {
      kept[t].push_back(next);
    } else if (width == 1 && !ruled) {
      extend(lattice, t, t ? &before[0] : nullptr, row, scores);
      const size_t y = kernels().argmax_d(scores, L);
      if (scores[y] != kForbidden) kept[t].push_back({scores[y], static_cast<int32_t>(y), 0});
    } else {
      // All extensions side by side, unless that takes much memory: then they are computed twice.
      const bool keep_rows = before.size() * L <= kRows;
      if (keep_rows && before.size() > rows_kept) {
        rows_kept = before.size();
        rows = arena.array<double>(rows_kept * L);
      }
      const auto extended = [&](size_t p, bool again) {
        double* out = keep_rows ? rows + p * L : scores;
        if (!again || !keep_rows) extend(lattice, t, t ? &before[p] : nullptr, row, out);
        return out;
      };
      for (size_t p = 0; p < before.size(); ++p) {
        const double* out = extended(p, false);
        if (p == 0) std::copy(out, out + L, best);
        for (size_t j = 0; p && j < L; ++j) best[j] = out[j] > best[j] ? out[j] : best[j];
      }
      const double least = ruled ? kForbidden : reached_by(best, L, width);
      size_t n = 0;
      if (!ruled) {
        n = kernels().at_least_d(best, L, least, found);
      } else if (const double most = kernels().max_d(best, L); most != kForbidden) {
        kernels().exp_d(best, most, L, row);
        n = chooser.choose(options.keep, row, L, -1, found);
      }
      const std::span<const int32_t> labels(found, n);
      candidates.clear();
      if (options.k == 1) {
        for (const int32_t y : labels)
          if (best[y] != kForbidden) candidates.push_back({best[y], y, -1});
      }
      for (size_t p = 0; p < before.size(); ++p) {
        const double* out = extended(p, true);
        if (options.k == 1) {
          for (Partial& one : candidates)
            if (one.before < 0 && out[one.label] == one.score) one.before = static_cast<int32_t>(p);
          continue;
        }
        for (const int32_t y : labels)
          if (out[y] >= least && out[y] != kForbidden) candidates.push_back({out[y], y, static_cast<int32_t>(p)});
      }
      // At most k partial paths per label: those beyond can end in no answer.
      if (options.k > 1 && before.size() > options.k) {
        std::sort(candidates.begin(), candidates.end(), [](const Partial& a, const Partial& b) {
          return a.label != b.label ? a.label < b.label : better(a, b);
        });
        size_t n = 0, same = 0;
        for (size_t c = 0; c < candidates.size(); ++c) {
          same = c && candidates[c].label == candidates[c - 1].label ? same + 1 : 0;
          if (same < options.k) candidates[n++] = candidates[c];
        }
        candidates.resize(n);
      }
      keep_best(candidates, width, kept[t]);
    }
    answer.work.nodes += kept[t].size();
    answer.work.edges += t ? before.size() * L : 0;
    if (kept[t].empty()) return answer;
  }
  std::vector<Partial> ends = kept[T - 1];
  for (size_t e = 0; e < ends.size(); ++e) {
    ends[e].score += lattice.edges.stop(static_cast<size_t>(ends[e].label));
    ends[e].before = static_cast<int32_t>(e);
  }
  std::erase_if(ends, [](const Partial& e) { return e.score == kForbidden; });
  std::sort(ends.begin(), ends.end(), better);
  for (size_t e = 0; e < std::min(options.k, ends.size()); ++e) {
    Path path{std::vector<int32_t>(T), ends[e].score};
    size_t at = static_cast<size_t>(ends[e].before);
    for (size_t t = T; t-- > 0;) {
      path.labels[t] = kept[t][at].label;
      at = static_cast<size_t>(kept[t][at].before);
    }
    answer.paths.push_back(std::move(path));
  }
  return answer;
}

std::string beam_lost(const Options& options) {
  if (options.keep.all())
    return "a beam of width " + std::to_string(std::max(options.width, options.k)) +
           " lost every path to -inf scores; widen it or use an exact decoder";
  return "a beam that keeps " + options.keep.text() +
         " lost every path to -inf scores; keep more or use an exact decoder";
}

}  // namespace tagwright
