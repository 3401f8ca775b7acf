// Beam search over ngrams, as in decode/beam.cpp: a column keeps `width` partial paths, at most k of them with the
// same context, since these go on alike. With width >= k times the number of contexts nothing is lost.
#include <algorithm>

#include "base/stop.h"
#include "decode/extend.h"
#include "decode/ngrams/ngrams.h"
#include "sums/keep.h"

namespace tagwright {
namespace {

struct Partial {
  double score;
  LabelNgrams::Node at;  // a context
  int32_t before;        // the partial path that it extends
};

bool better(const Partial& a, const Partial& b) {
  return a.score != b.score ? a.score > b.score : a.at != b.at ? a.at < b.at : a.before < b.before;
}

class Beam {
 public:
  Beam(const Lattice& lattice, const Options& options, Arena& arena)
      : lattice_(lattice),
        ngrams_(*lattice.edges.ngrams()),
        options_(options),
        width_(options.keep.all() ? std::max(options.width, options.k) : SIZE_MAX),
        row_(arena.array<double>(lattice.L)),
        scores_(arena.array<double>(lattice.L)),
        best_(arena.array<double>(lattice.L)),
        found_(arena.array<int32_t>(lattice.L + 1)),
        kept_(lattice.T) {}

  Answer run() {
    answer_.work.rounds = 1;
    for (size_t t = 0; t < lattice_.T; ++t) {
      meter_.count(2 * lattice_.L * (t ? kept_[t - 1].size() : 1));
      make(t);
      answer_.work.nodes += kept_[t].size();
      if (kept_[t].empty()) return std::move(answer_);
    }
    std::vector<Partial> ends = kept_[lattice_.T - 1];
    for (size_t e = 0; e < ends.size(); ++e) {
      ends[e].score += lattice_.edges.stop(static_cast<size_t>(ngrams_.label(ends[e].at)));
      ends[e].before = static_cast<int32_t>(e);
    }
    std::erase_if(ends, [](const Partial& end) { return end.score == kForbidden; });
    std::sort(ends.begin(), ends.end(), better);
    for (size_t e = 0; e < std::min(options_.k, ends.size()); ++e) {
      std::vector<int32_t> labels(lattice_.T);
      auto at = static_cast<size_t>(ends[e].before);
      for (size_t t = lattice_.T; t-- > 0; at = static_cast<size_t>(kept_[t][at].before))
        labels[t] = ngrams_.label(kept_[t][at].at);
      answer_.paths.push_back(scored(lattice_, std::move(labels)));
    }
    return std::move(answer_);
  }

 private:
  // scores_[j]: the p-th partial path of column t - 1 extended by label j.
  void extend_by_all(size_t t, size_t p) {
    if (t == 0) return begin(lattice_, scores_);
    const Partial& from = kept_[t - 1][p];
    const int32_t i = ngrams_.label(from.at);
    extend(lattice_, t, from.score, static_cast<size_t>(i), row_, scores_);
    // Longer runs have what shorter ones add, too: these are put in the place of what those brought.
    for (size_t longest = ngrams_.depth(from.at), depth = 2; depth <= longest; ++depth) {
      LabelNgrams::Node context = from.at;
      for (size_t n = longest; n > depth; --n) context = ngrams_.suffix(context);
      const auto [first, end] = ngrams_.children(context);
      for (LabelNgrams::Node run = first; run < end; ++run) {
        const auto k = static_cast<size_t>(ngrams_.label(run));
        scores_[k] =
            (from.score + lattice_.edge(t - 1, static_cast<size_t>(i), k) + ngrams_.more(run)) + lattice_.node(t, k);
      }
    }
  }

  void make(size_t t) {
    const size_t L = lattice_.L, count = t ? kept_[t - 1].size() : 1;
    std::fill(best_, best_ + L, kForbidden);
    for (size_t p = 0; p < count; ++p) {
      extend_by_all(t, p);
      for (size_t j = 0; j < L; ++j) best_[j] = std::max(best_[j], scores_[j]);
    }
    answer_.work.edges += t ? count * L : 0;
    const double most = kernels().max_d(best_, L);
    if (most == kForbidden) return;
    // Of each label there is at least one that is as good as its best.
    const double least = options_.keep.all() ? reached_by(best_, L, width_) : kForbidden;
    size_t n = 0;
    if (options_.keep.all()) {
      n = kernels().at_least_d(best_, L, least, found_);
    } else {
      kernels().exp_d(best_, most, L, row_);
      n = chooser_.choose(options_.keep, row_, L, -1, found_);
    }
    candidates_.clear();
    for (size_t p = 0; p < count; ++p) {
      extend_by_all(t, p);
      for (size_t q = 0; q < n; ++q) {
        const int32_t y = found_[q];
        if (scores_[y] == kForbidden || scores_[y] < least) continue;
        const LabelNgrams::Node at = t ? ngrams_.context(ngrams_.next(kept_[t - 1][p].at, y)) : y;
        candidates_.push_back({scores_[y], at, static_cast<int32_t>(p)});
      }
    }
    // At most k of each context.
    std::sort(candidates_.begin(), candidates_.end(),
              [](const Partial& a, const Partial& b) { return a.at != b.at ? a.at < b.at : better(a, b); });
    size_t kept = 0, same = 0;
    for (size_t c = 0; c < candidates_.size(); ++c) {
      same = c && candidates_[c].at == candidates_[c - 1].at ? same + 1 : 0;
      if (same < options_.k) candidates_[kept++] = candidates_[c];
    }
    candidates_.resize(kept);
    const auto end = candidates_.begin() + static_cast<ptrdiff_t>(std::min(width_, kept));
    std::partial_sort(candidates_.begin(), end, candidates_.end(), better);
    kept_[t].assign(candidates_.begin(), end);
  }

  const Lattice& lattice_;
  const LabelNgrams& ngrams_;
  const Options& options_;
  const size_t width_;
  double *row_, *scores_, *best_;  // [label]
  int32_t* found_;
  std::vector<std::vector<Partial>> kept_;  // [t]
  std::vector<Partial> candidates_;
  Chooser chooser_;
  Meter meter_;
  Answer answer_;
};

}  // namespace

Answer ngram_beam(const Lattice& lattice, const Options& options, Arena& arena) {
  return Beam(lattice, options, arena).run();
}

}  // namespace tagwright
