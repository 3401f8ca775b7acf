#include "decode/ngrams/context_viterbi.h"

#include <algorithm>

#include "decode/viterbi.h"
#include "kernels/kernels.h"

namespace tagwright {

ContextViterbi::ContextViterbi(const Lattice& lattice, Arena& arena, Work& work)
    : lattice_(lattice),
      ngrams_(*lattice.edges.ngrams()),
      states_(lattice.edges.contexts()),
      shared_(lattice.is_uniform()),
      work_(work) {
  const size_t T = lattice.T, L = lattice.L, C = states_.size();
  alpha_ = arena.array<double>(times(T, C));
  top_ = arena.array<double>(C);
  ranked_ = arena.array<Branch>(times(C, kRanked));
  passed_over_ = arena.array<int32_t>(C);
  sent_ = arena.array<double>(L);
  others_ = shared_ && T > 1 ? &lattice.edges.other_edges() : nullptr;
  reached_ = arena.array<double>(others_ ? others_->stride() : L);
  pair_edge_ = arena.array<double>(states_.pairs());
  column_ = arena.array<double>(L);
  std::fill(passed_over_, passed_over_ + C, -1);
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

void ContextViterbi::insert(size_t c, const Branch& branch) {
  Branch* const own = ranked_ + c * kRanked;
  if (!(branch.score > own[kRanked - 1].score)) return;
  size_t place = kRanked - 1;
  for (; place > 0 && branch.score > own[place - 1].score; --place) own[place] = own[place - 1];
  own[place] = branch;
}

void ContextViterbi::rank(const double* alpha) {
  const size_t C = states_.size();
  std::fill(ranked_, ranked_ + C * kRanked, Branch{kForbidden, -1});
  // Longer ones come behind those that they end with.
  for (size_t c = C; c-- > 0;) {
    insert(c, {alpha[c], static_cast<int32_t>(c)});
    top_[c] = ranked_[c * kRanked].score;
    if (const int32_t shorter = states_.shorter(c); shorter >= 0)
      insert(static_cast<size_t>(shorter), {top_[c], static_cast<int32_t>(c)});
  }
}

// The best score of a context that goes along an arc.
double ContextViterbi::best_along(const Contexts::Arc& arc, int32_t number) {
  const auto from = static_cast<size_t>(arc.from);
  if (arc.first == arc.end) return top_[from];
  for (int32_t q = arc.first; q < arc.end; ++q)
    passed_over_[states_.arcs()[static_cast<size_t>(states_.exceptions()[static_cast<size_t>(q)])].from] = number;
  const Branch* const ranked = ranked_ + from * kRanked;
  for (size_t q = 0; q < kRanked; ++q)
    if (ranked[q].context < 0 || passed_over_[ranked[q].context] != number) return ranked[q].score;
  double best = from_[from];
  for (size_t c = from + 1; c < states_.end(from); c = states_.end(c))
    if (passed_over_[c] != number) best = std::max(best, top_[c]);
  return best;
}

// reached_[k]: the best score with which label k of column t is reached over edges that no arc goes along.
void ContextViterbi::send_others(size_t t) {
  const size_t L = lattice_.L;
  for (size_t y = 0; y < L; ++y) sent_[y] = top_[states_.of_label(y)];
  if (others_) {
    step_arena_.reset();
    const MaxStep<double> one{sent_, reached_, &work_};
    return others_->step(0).max_step({&one, 1}, step_arena_);
  }
  work_.edges += L * L;
  std::fill(reached_, reached_ + L, kForbidden);
  for (size_t i = 0; i < L; ++i) {
    lattice_.row(t - 1, i, column_);
    const LabelNgrams::Range pairs = ngrams_.children(static_cast<LabelNgrams::Node>(i));
    for (LabelNgrams::Node pair = pairs.first; pair < pairs.end; ++pair) column_[ngrams_.label(pair)] = kForbidden;
    for (size_t k = 0; k < L; ++k) reached_[k] = std::max(reached_[k], sent_[i] + column_[k]);
  }
}

void ContextViterbi::step(size_t t) {
  const size_t C = states_.size(), L = lattice_.L;
  from_ = alpha_ + (t - 1) * C;
  double* const to = alpha_ + t * C;
  rank(from_);
  send_others(t);
  for (size_t y = 0; y < L; ++y) to[states_.of_label(y)] = reached_[y];
  const std::span<const Contexts::Arc> arcs = states_.arcs();
  for (size_t q = 0; q < states_.pairs() && (t == 1 || !shared_); ++q) {
    const auto i = static_cast<size_t>(states_.label(static_cast<size_t>(arcs[q].from)));
    pair_edge_[q] = lattice_.edge(t - 1, i, static_cast<size_t>(states_.last_label(q)));
  }
  meter_.count(4 * arcs.size() + C + L);
  work_.edges += arcs.size();
  const auto round = static_cast<int32_t>(arcs.size());
  for (int32_t a = 0; a < round; ++a) {
    const Contexts::Arc& arc = arcs[static_cast<size_t>(a)];
    const double score = (best_along(arc, a) + pair_edge_[arc.pair]) + more(a);
    to[arc.to] = std::max(to[arc.to], score);
  }
}

void ContextViterbi::into(size_t t, size_t c, double* out) const {
  const size_t C = states_.size();
  const auto k = static_cast<size_t>(states_.label(c));
  lattice_.column(t - 1, k, column_);
  const bool is_label = states_.of_label(k) == c;
  for (size_t p = 0; p < C; ++p) out[p] = is_label ? column_[states_.label(p)] : kForbidden;
  // Longer arcs come behind those that they end with.
  for (const int32_t a : states_.into(k)) {
    const Contexts::Arc& arc = states_.arcs()[static_cast<size_t>(a)];
    const auto from = static_cast<size_t>(arc.from);
    const bool leads = static_cast<size_t>(arc.to) == c;
    const double score = leads ? column_[states_.label(from)] + more(a) : kForbidden;
    std::fill(out + from, out + states_.end(from), score);
  }
}

}  // namespace tagwright
