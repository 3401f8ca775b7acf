// Viterbi over the contexts of label n-grams (lattice/contexts.h), and its k best paths: the fallback of every decoder
// of n-grams.
//
// A column costs a first-order step over the pairs of labels in no n-gram, and one visit of each arc. Of all contexts
// that follow an arc only the best matters. It is found among the best few that end with the arc's beginning; those
// that a longer arc leads elsewhere are skipped.
#include <algorithm>

#include "base/stop.h"
#include "decode/graph.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

class ContextViterbi {
 public:
  ContextViterbi(const Lattice& lattice, Arena& arena, Work& work)
      : lattice_(lattice), ngrams_(*lattice.edges.ngrams()), states_(lattice.edges.contexts()), work_(work) {
    const size_t T = lattice.T, L = lattice.L, C = states_.size();
    alpha_ = arena.array<double>(times(T, C));
    top_ = arena.array<double>(C);
    ranked_ = arena.array<Branch>(times(C, kRanked));
    skipped_ = arena.array<int32_t>(C);
    sent_ = arena.array<double>(L);
    reached_ = arena.array<double>(lattice.edges.stride());
    pair_edge_ = arena.array<double>(states_.pairs());
    column_ = arena.array<double>(L);
    std::fill(skipped_, skipped_ + C, -1);
    for (size_t t = 0; t < T; ++t) {
      double* const here = alpha_ + t * C;
      std::fill(here, here + C, kForbidden);
      if (t) {
        step(t);
      } else {
        for (size_t y = 0; y < L; ++y) here[states_.of_label(y)] = lattice.edges.start(y);
      }
      for (size_t c = 0; c < C; ++c) here[c] += lattice.node(t, static_cast<size_t>(states_.label(c)));
      work.nodes += C;
    }
  }

  // The pass for graph.h; valid as long as this object.
  ForwardPass pass() const {
    return {.states = states_.size(),
            .label_of = [this](size_t c) { return states_.label(c); },
            .alpha = alpha_,
            .stride = states_.size(),
            .into = [this](size_t t, size_t c, double* out) { into(t, c, out); }};
  }

 private:
  // Contexts with the same suffix: one of them, and all longer ones that end with it.
  struct Branch {
    double score;  // the best among them
    int32_t context;
  };
  static constexpr size_t kRanked = 4;

  double more(int32_t arc) const { return ngrams_.more(arc + static_cast<int32_t>(lattice_.L)); }

  void insert(size_t c, const Branch& branch) {
    Branch* const own = ranked_ + c * kRanked;
    if (!(branch.score > own[kRanked - 1].score)) return;
    size_t place = kRanked - 1;
    for (; place > 0 && branch.score > own[place - 1].score; --place) own[place] = own[place - 1];
    own[place] = branch;
  }

  void rank(const double* alpha) {
    const size_t C = states_.size();
    std::fill(ranked_, ranked_ + C * kRanked, Branch{kForbidden, -1});
    // Longer contexts follow those that they end with.
    for (size_t c = C; c-- > 0;) {
      insert(c, {alpha[c], static_cast<int32_t>(c)});
      top_[c] = ranked_[c * kRanked].score;
      if (const int32_t shorter = states_.shorter(c); shorter >= 0)
        insert(static_cast<size_t>(shorter), {top_[c], static_cast<int32_t>(c)});
    }
  }

  // Returns the best score of a context that follows an arc.
  double best_along(const Contexts::Arc& arc, int32_t number) {
    const auto from = static_cast<size_t>(arc.from);
    if (arc.first == arc.end) return top_[from];
    for (int32_t q = arc.first; q < arc.end; ++q)
      skipped_[states_.arcs()[static_cast<size_t>(states_.exceptions()[static_cast<size_t>(q)])].from] = number;
    const Branch* const ranked = ranked_ + from * kRanked;
    for (size_t q = 0; q < kRanked; ++q)
      if (ranked[q].context < 0 || skipped_[ranked[q].context] != number) return ranked[q].score;
    double best = from_[from];
    for (size_t c = from + 1; c < states_.end(from); c = states_.end(c))
      if (skipped_[c] != number) best = std::max(best, top_[c]);
    return best;
  }

  void step(size_t t) {
    const size_t C = states_.size(), L = lattice_.L;
    from_ = alpha_ + (t - 1) * C;
    double* const to = alpha_ + t * C;
    rank(from_);
    for (size_t y = 0; y < L; ++y) sent_[y] = top_[states_.of_label(y)];
    step_arena_.reset();
    lattice_.max_step_without_ngrams(t - 1, {sent_, reached_, &work_}, step_arena_);
    for (size_t y = 0; y < L; ++y) to[states_.of_label(y)] = reached_[y];
    const std::span<const Contexts::Arc> arcs = states_.arcs();
    // Edge kind: scores of pairs are looked up once where all steps share them.
    for (size_t q = 0; q < states_.pairs() && !lattice_.repeats(t - 1); ++q) {
      const auto i = static_cast<size_t>(states_.label(static_cast<size_t>(arcs[q].from)));
      pair_edge_[q] = lattice_.edge(t - 1, i, static_cast<size_t>(states_.last_label(q)));
    }
    meter_.count(4 * arcs.size() + C + L);
    work_.edges += arcs.size();
    for (size_t a = 0; a < arcs.size(); ++a) {
      const auto number = static_cast<int32_t>(a);
      const double score = (best_along(arcs[a], number) + pair_edge_[arcs[a].pair]) + more(number);
      to[arcs[a].to] = std::max(to[arcs[a].to], score);
    }
  }

  void into(size_t t, size_t c, double* out) const {
    const size_t C = states_.size();
    const auto k = static_cast<size_t>(states_.label(c));
    lattice_.column(t - 1, k, column_);
    const bool is_label = states_.of_label(k) == c;
    for (size_t p = 0; p < C; ++p) out[p] = is_label ? column_[states_.label(p)] : kForbidden;
    // Longer arcs follow those that they end with.
    for (const int32_t a : states_.into(k)) {
      const Contexts::Arc& arc = states_.arcs()[static_cast<size_t>(a)];
      const auto from = static_cast<size_t>(arc.from);
      const bool leads = static_cast<size_t>(arc.to) == c;
      std::fill(out + from, out + states_.end(from), leads ? column_[states_.label(from)] + more(a) : kForbidden);
    }
  }

  const Lattice& lattice_;
  const LabelNgrams& ngrams_;
  const Contexts& states_;
  Work& work_;
  Arena step_arena_;
  Meter meter_;
  double* alpha_;                 // [t][context]
  const double* from_ = nullptr;  // [context]: alpha of the column before
  double* top_;                   // [context]: the best of those that end with it
  Branch* ranked_;                // [context][kRanked]: itself and those one label longer, best first
  int32_t* skipped_;              // [context]: for the arc of this number
  double *sent_, *reached_;       // [label]
  double* pair_edge_;             // [arc of a pair]
  double* column_;                // [label]
};

}  // namespace

Answer ngram_viterbi(const Lattice& lattice, const Options& options, Arena& arena) {
  Answer answer;
  answer.work.rounds = 1;
  const ContextViterbi viterbi(lattice, arena, answer.work);
  answer.paths = enumerate_backward(lattice, viterbi.pass(), options.k, answer.work);
  return answer;
}

}  // namespace tagwright
