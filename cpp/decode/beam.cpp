// Beam search from left to right (Huang et al. 2012, Table 1): approximate, and the first floor of every refinement.
//
// A column keeps `width` partial paths, at most k of them in the same state, since these have the same extensions: the
// last label or, with label n-grams, the context (lattice/contexts.h). With width >= k times the number of states the
// answer is exact. With a pruning rule of sparse forward-backward in place of the width (Pal et al. 2006, 4.1) a column
// keeps the labels that the rule chooses, with the scores of their best partial paths as log beliefs, and up to k
// partial paths per state.
#include <algorithm>

#include "base/stop.h"
#include "decode/table.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

struct Partial {
  double score;
  int32_t at, before;  // its state; the index of the partial path that it extends
};

bool better(const Partial& a, const Partial& b) {
  return a.score != b.score ? a.score > b.score : a.at != b.at ? a.at < b.at : a.before < b.before;
}

// States of first-order paths: the last label.
class LabelStates {
 public:
  explicit LabelStates(const Lattice& lattice) : lattice_(lattice) {}

  // Whether a label may have several states.
  static constexpr bool kSeveral = false;
  int32_t label(int32_t at) const { return at; }
  // The state after label y.
  int32_t next(int32_t, int32_t y) const { return y; }
  // out[j]: a partial path in state `at` of column t - 1 extended by label j of column t.
  void extend(size_t t, double score, int32_t at, double* out) const {
    lattice_.extend(t - 1, score, static_cast<size_t>(at), out);
  }

 private:
  const Lattice& lattice_;
};

// States of paths with label n-grams: contexts, as nodes of LabelNgrams.
class ContextStates {
 public:
  explicit ContextStates(const Lattice& lattice) : lattice_(lattice), ngrams_(*lattice.edges.ngrams()) {}

  static constexpr bool kSeveral = true;
  int32_t label(int32_t at) const { return ngrams_.label(at); }
  int32_t next(int32_t at, int32_t y) const { return ngrams_.context(ngrams_.next(at, y)); }
  // Labels that complete an n-gram are scored again. more() of a longer one includes the shorter ones that it ends
  // with, so longer ones come last.
  void extend(size_t t, double score, int32_t at, double* out) const {
    const auto i = static_cast<size_t>(label(at));
    lattice_.extend(t - 1, score, i, out);
    for (size_t longest = ngrams_.depth(at), depth = 2; depth <= longest; ++depth) {
      LabelNgrams::Node context = at;
      for (size_t n = longest; n > depth; --n) context = ngrams_.suffix(context);
      const auto [first, end] = ngrams_.children(context);
      for (LabelNgrams::Node node = first; node < end; ++node) {
        const auto k = static_cast<size_t>(ngrams_.label(node));
        out[k] = (score + lattice_.edge(t - 1, i, k) + ngrams_.more(node)) + lattice_.node(t, k);
      }
    }
  }

 private:
  const Lattice& lattice_;
  const LabelNgrams& ngrams_;
};

template <class States>
class Beam {
 public:
  Beam(const Lattice& lattice, const Options& options, Arena& arena)
      : lattice_(lattice),
        states_(lattice),
        options_(options),
        ruled_(!options.keep.all()),
        width_(ruled_ ? SIZE_MAX : std::max(options.width, options.k)),
        arena_(arena),
        row_(arena.array<double>(lattice.L)),
        scores_(arena.array<double>(lattice.L)),
        best_(arena.array<double>(lattice.L)),
        found_(arena.array<int32_t>(lattice.L + 1)),
        kept_(lattice.T) {}

  Answer run() {
    Meter meter;
    answer_.work.rounds = 1;
    for (size_t t = 0; t < lattice_.T; ++t) {
      const size_t before = t ? kept_[t - 1].size() : 1;
      meter.count(2 * before * lattice_.L);
      width_ == 1 ? keep_one(t) : keep_some(t, before);
      answer_.work.nodes += kept_[t].size();
      answer_.work.edges += t ? before * lattice_.L : 0;
      if (kept_[t].empty()) return std::move(answer_);
    }
    trace_back();
    return std::move(answer_);
  }

 private:
  // The state of the p-th partial path of column t - 1 extended by label y.
  int32_t state(size_t t, size_t p, int32_t y) const { return t ? states_.next(kept_[t - 1][p].at, y) : y; }

  // out[j]: the score of that, for every label j.
  void extend(size_t t, size_t p, double* out) {
    if (t) return states_.extend(t, kept_[t - 1][p].score, kept_[t - 1][p].at, out);
    for (size_t j = 0; j < lattice_.L; ++j) out[j] = lattice_.edges.start(j) + lattice_.node(0, j);
  }

  // A beam of width 1 chooses the best label by the sum of edge and node score in their own precision.
  void keep_one(size_t t) {
    if (t && !States::kSeveral) {
      const Partial& from = kept_[t - 1][0];
      const auto i = static_cast<size_t>(from.at);
      const size_t y = lattice_.best_extension(t - 1, from.score, i, scores_);
      const double score = (from.score + lattice_.edge(t - 1, i, y)) + lattice_.node(t, y);
      // Sums of float32 may overflow where those of double do not.
      if (score != kForbidden) return kept_[t].push_back({score, static_cast<int32_t>(y), 0});
    }
    extend(t, 0, scores_);
    const size_t y = kernels().argmax_d(scores_, lattice_.L);
    if (scores_[y] != kForbidden) kept_[t].push_back({scores_[y], state(t, 0, static_cast<int32_t>(y)), 0});
  }

  // Returns the scores of the p-th partial path extended by every label. Rows are held unless that takes much memory:
  // then they are computed twice.
  const double* extended(size_t t, size_t p, size_t before, bool again) {
    constexpr size_t kRows = size_t{1} << 18;
    const size_t L = lattice_.L;
    const bool held = before * L <= kRows;
    if (held && before > rows_held_) {
      rows_held_ = before;
      rows_ = arena_.array<double>(before * L);
    }
    double* const out = held ? rows_ + p * L : scores_;
    if (!again || !held) extend(t, p, out);
    return out;
  }

  void keep_some(size_t t, size_t before) {
    const size_t L = lattice_.L;
    double* const best = best_;
    for (size_t p = 0; p < before; ++p) {
      const double* const out = extended(t, p, before, false);
      if (p == 0)
        std::copy(out, out + L, best);
      else
        kernels().raise_all_d(out, L, best);
    }
    // For each label there is at least one partial path that is as good as its best.
    const double least = ruled_ ? kForbidden : reached_by(best_, L, width_);
    size_t n = 0;
    if (!ruled_) {
      n = kernels().at_least_d(best_, L, least, found_);
    } else if (const double most = kernels().max_d(best_, L); most != kForbidden) {
      kernels().exp_d(best_, most, L, row_);
      n = chooser_.choose(options_.keep, row_, L, -1, found_);
    }
    find_candidates(t, before, {found_, n}, least);
    if (before > options_.k && !one_per_label()) drop_beyond_k();
    const auto end = candidates_.begin() + static_cast<ptrdiff_t>(std::min(width_, candidates_.size()));
    std::partial_sort(candidates_.begin(), end, candidates_.end(), better);
    kept_[t].assign(candidates_.begin(), end);
  }

  // Whether a column needs only the best partial path of each label.
  bool one_per_label() const { return options_.k == 1 && !States::kSeveral; }

  void find_candidates(size_t t, size_t before, std::span<const int32_t> labels, double least) {
    candidates_.clear();
    for (const int32_t y : labels)
      if (one_per_label() && best_[y] != kForbidden) candidates_.push_back({best_[y], y, -1});
    for (size_t p = 0; p < before; ++p) {
      const double* const out = extended(t, p, before, true);
      if (one_per_label()) {
        for (Partial& one : candidates_)
          if (one.before < 0 && out[one.at] == one.score) one.before = static_cast<int32_t>(p);
        continue;
      }
      for (const int32_t y : labels)
        if (out[y] >= least && out[y] != kForbidden)
          candidates_.push_back({out[y], state(t, p, y), static_cast<int32_t>(p)});
    }
  }

  // Keeps at most k partial paths per state: no answer extends another one.
  void drop_beyond_k() {
    std::sort(candidates_.begin(), candidates_.end(),
              [](const Partial& a, const Partial& b) { return a.at != b.at ? a.at < b.at : better(a, b); });
    size_t n = 0, same = 0;
    for (size_t c = 0; c < candidates_.size(); ++c) {
      same = c && candidates_[c].at == candidates_[c - 1].at ? same + 1 : 0;
      if (same < options_.k) candidates_[n++] = candidates_[c];
    }
    candidates_.resize(n);
  }

  void trace_back() {
    std::vector<Partial> ends = kept_[lattice_.T - 1];
    for (size_t e = 0; e < ends.size(); ++e) {
      ends[e].score += lattice_.edges.stop(static_cast<size_t>(states_.label(ends[e].at)));
      ends[e].before = static_cast<int32_t>(e);
    }
    std::erase_if(ends, [](const Partial& end) { return end.score == kForbidden; });
    std::sort(ends.begin(), ends.end(), better);
    for (size_t e = 0; e < std::min(options_.k, ends.size()); ++e) {
      std::vector<int32_t> labels(lattice_.T);
      auto at = static_cast<size_t>(ends[e].before);
      for (size_t t = lattice_.T; t-- > 0; at = static_cast<size_t>(kept_[t][at].before))
        labels[t] = states_.label(kept_[t][at].at);
      answer_.paths.push_back({std::move(labels)});
    }
  }

  const Lattice& lattice_;
  const States states_;
  const Options& options_;
  const bool ruled_;
  const size_t width_;
  Arena& arena_;
  double *row_, *scores_, *best_;  // [label]
  int32_t* found_;
  double* rows_ = nullptr;  // [partial path][label]
  size_t rows_held_ = 0;
  std::vector<std::vector<Partial>> kept_;  // [t]
  std::vector<Partial> candidates_;
  Chooser chooser_;
  Answer answer_;
};

}  // namespace

Answer beam(const Lattice& lattice, const Options& options, Arena& arena) {
  return Beam<LabelStates>(lattice, options, arena).run();
}

Answer ngram_beam(const Lattice& lattice, const Options& options, Arena& arena) {
  return Beam<ContextStates>(lattice, options, arena).run();
}

std::string beam_lost(const Options& options) {
  if (options.keep.all())
    return "a beam of width " + std::to_string(std::max(options.width, options.k)) +
           " lost every path to -inf scores; widen it or use an exact decoder";
  return "a beam that keeps " + options.keep.text() +
         " lost every path to -inf scores; keep more or use an exact decoder";
}

}  // namespace tagwright
