#include "train/best_path_gradient.h"

#include <algorithm>

#include "base/need.h"

namespace tagwright {
namespace {

// Weights are small whole numbers, so many paths have the same score, and decoders differ in which of them they return.
// For training not to depend on the decoder, every node has a preference: far too small to outweigh a whole point,
// frequent labels first, otherwise random. Its last bit is 2^-36, so that sums of whole numbers up to 2^16 and
// preferences are exact.
constexpr size_t kTieRows = 61;
constexpr double kRank = 0x1p-20, kGrain = 0x1p-36;

std::vector<double> tie_preferences(size_t L) {
  std::vector<double> ties(kTieRows * L);
  uint64_t state = 0x853c49e6748fea9bU;
  for (size_t t = 0; t < kTieRows; ++t) {
    for (size_t y = 0; y < L; ++y) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      const double rank = static_cast<double>(std::min<size_t>(y, 4095));
      ties[t * L + y] = -rank * kRank - static_cast<double>(state >> 49) * kGrain;
    }
  }
  return ties;
}

EdgeForm form_for(const Corpus& corpus, std::optional<bool> dense_edges) {
  if (dense_edges) return *dense_edges ? EdgeForm::kDense : choose_edge_form(corpus.L, 0, EdgeUse::kTraining);
  const size_t pairs = corpus.pairs_met().edges.size();
  // Wrong guesses give weights to about half as many pairs again.
  return choose_edge_form(corpus.L, pairs + pairs / 2, EdgeUse::kTraining);
}

struct BestPathWorkspace : Gradient::Workspace {
  std::vector<std::vector<int32_t>> active;  // correction sets of each step
};

}  // namespace

BestPathGradient::BestPathGradient(const WeightStore& store, BestPathOptions options, PathLimits given)
    : Gradient(store.corpus(), std::move(given)),
      store_(store),
      options_(std::move(options)),
      edges_(store.corpus().L, form_for(store.corpus(), options_.dense_edges), store.corpus().sets(), limits().rules),
      ties_(tie_preferences(store.corpus().L)) {
  need(options_.margin >= 0 && options_.margin <= 1e6, "margin must be between 0 and 1,000,000");
}

void BestPathGradient::ngrams_replaced(NgramIndex& ngrams) {
  edges_.hold_ngrams(ngrams.labels());
  if (!ngrams.empty()) ngrams.place(*edges_.ngrams());
  options_.plan.decoder->variant(edges_);  // throws where it cannot handle label n-grams
}

std::unique_ptr<Gradient::Workspace> BestPathGradient::workspace() const {
  return std::make_unique<BestPathWorkspace>();
}

void BestPathGradient::score(const Corpus& corpus, size_t s, double* nodes, Arena& arena) const {
  const size_t first = corpus.first_token(s), T = corpus.length(s), L = corpus.L, keys = store_.parts().keys();
  const bool single = store_.sums_fit_float();
  float* const sums = arena.array<float>(single ? keys : 0);      // of one token, without preferences
  double* const scores = arena.array<double>(single ? 0 : keys);  // of one token
  for (size_t t = 0; t < T; ++t) {
    double* const out = nodes + t * L;
    const double* const ties = ties_.data() + t % kTieRows * L;
    if (single) {
      std::fill(sums, sums + keys, 0.0F);
      store_.add_scores(corpus, first + t, sums);
      for (size_t y = 0; y < L; ++y) out[y] = ties[y] + static_cast<double>(sums[y]);
      for (const int32_t y : corpus.allowed_of(first + t)) out[y] -= options_.margin;
      continue;
    }
    std::copy(ties, ties + L, scores);
    std::fill(scores + L, scores + keys, 0.0);
    for (const int32_t y : corpus.allowed_of(first + t)) scores[y] -= options_.margin;
    store_.add_scores(corpus, first + t, scores);
    std::copy_n(scores, L, out);
  }
}

void BestPathGradient::compute(const Corpus& corpus, size_t s, Workspace& workspace, SparseGradient& gradient) const {
  const size_t first = corpus.first_token(s), T = corpus.length(s);
  gradient.reset(corpus, s);
  if (T == 0) return;
  Arena& arena = thread_arena();
  arena.reset();
  double* nodes = arena.array<double>(times(T, corpus.L));
  score(corpus, s, nodes, arena);
  auto& active = static_cast<BestPathWorkspace&>(workspace).active;
  if (corpus.sets()) corpus.sets_on(s, active);
  const Plan& plan = options_.plan;
  const auto best = [&] {
    const Lattice lattice(edges_, T, {nullptr, nodes}, corpus.sets() ? &active : nullptr, 0, limits().lists(corpus, s));
    return plan.decoder->run(lattice, plan.options, arena);
  };
  const Answer answer = best();
  corpus.need_of(s, !answer.paths.empty(), kNoPath);
  const std::vector<int32_t>& predicted = answer.paths[0].labels;
  EpochStats& stats = gradient.stats;
  stats.work = answer.work;
  for (size_t t = 0; t < T; ++t) stats.errors += !corpus.may_have(first + t, predicted[t]);
  stats.wrong_sentences = stats.errors > 0;
  if (!stats.errors) return;
  if (!corpus.is_partial(s)) return subtract(corpus.labels.subspan(first, T), predicted, gradient);
  corpus.forbid_others(s, nodes);
  const Answer correct = best();
  corpus.need_of(s, !correct.paths.empty(), kNoAllowedPath);
  subtract(correct.paths[0].labels, predicted, gradient);
}

void BestPathGradient::subtract(std::span<const int32_t> correct, std::span<const int32_t> predicted,
                                SparseGradient& gradient) const {
  const Parts& parts = store_.parts();
  const auto add_node = [&](size_t key, float by) { gradient.nodes.emplace_back(static_cast<uint16_t>(key), by); };
  const auto add_edge = [&](size_t t, std::span<const int32_t> path, float by) {
    gradient.edges.push_back(
        {static_cast<uint32_t>(t), static_cast<uint16_t>(path[t - 1]), static_cast<uint16_t>(path[t]), by});
  };
  for (size_t t = 0; t < correct.size(); ++t) {
    const auto right = static_cast<size_t>(correct[t]), wrong = static_cast<size_t>(predicted[t]);
    if (right != wrong) {
      add_node(right, -1);
      add_node(wrong, 1);
      for (size_t k = 0; k < parts.each; ++k) {
        if (parts.key(k, right) == parts.key(k, wrong)) continue;
        add_node(parts.key(k, right), -1);
        add_node(parts.key(k, wrong), 1);
      }
    }
    gradient.node_end.push_back(gradient.nodes.size());
    if (t == 0 || (right == wrong && correct[t - 1] == predicted[t - 1])) continue;
    add_edge(t, correct, -1);
    add_edge(t, predicted, 1);
  }
  if (!store_.ngrams().empty()) subtract_ngrams(correct, predicted, gradient);
}

void BestPathGradient::subtract_ngrams(std::span<const int32_t> correct, std::span<const int32_t> predicted,
                                       SparseGradient& gradient) const {
  const LabelNgrams& trie = *edges_.ngrams();
  const NgramIndex& index = store_.ngrams();
  const auto add = [&](LabelNgrams::Node at, LabelNgrams::Node other, float by) {
    index.for_each_ending(trie, at, [&](size_t q) {
      if (index.node(q) == other || index.node(q) == trie.suffix(other)) return;  // ends both
      gradient.ngrams.emplace_back(static_cast<uint32_t>(q), by);
    });
  };
  LabelNgrams::Node right = correct[0], wrong = predicted[0];
  for (size_t t = 1; t < correct.size(); ++t) {
    right = trie.next(right, correct[t]);
    wrong = trie.next(wrong, predicted[t]);
    if (right == wrong) continue;
    add(right, wrong, -1);
    add(wrong, right, 1);
  }
}

}  // namespace tagwright
