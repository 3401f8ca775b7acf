#include "train/sum_gradient.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/need.h"
#include "base/stop.h"

namespace tagwright {
namespace {

constexpr float kForbiddenF = -std::numeric_limits<float>::infinity();

// The labels of each column of a sentence, rising.
struct ColumnLabels {
  std::vector<int32_t> label;
  std::vector<std::span<const int32_t>> columns;  // [t]

  // Those of `kept`, or all. Of partially labelled sentences, where `scores`, [t * stride + y], are given, those that
  // the corpus allows and that do not score -inf. Returns whether every column has a label.
  bool collect(const Corpus& corpus, size_t s, const Sums* kept, const float* scores = nullptr, size_t stride = 0) {
    std::vector<size_t> end;
    label.clear();
    for (size_t t = 0; t < corpus.length(s); ++t) {
      const size_t begin = label.size();
      std::span<const int32_t> own;
      if (scores) own = corpus.allowed_of(corpus.first_token(s) + t);
      if (own.empty() && kept) own = kept->columns[t].labels;
      label.insert(label.end(), own.begin(), own.end());
      if (own.empty()) label.resize(begin + corpus.L);
      const auto first = label.begin() + static_cast<ptrdiff_t>(begin);
      own.empty() ? std::iota(first, label.end(), 0) : std::sort(first, label.end());
      if (scores)
        label.erase(
            std::remove_if(first, label.end(),
                           [&](int32_t y) { return scores[t * stride + static_cast<size_t>(y)] == kForbiddenF; }),
            label.end());
      if (label.size() == begin) return false;
      end.push_back(label.size());
    }
    columns.clear();
    for (size_t t = 0, begin = 0; t < end.size(); begin = end[t++])
      columns.push_back(std::span(label).subspan(begin, end[t] - begin));
    return true;
  }
};

// The columns of the allowed labellings.
class AllowedColumns : public ColumnSource {
 public:
  struct Scores {
    const float* nodes;  // [t * stride + y]
    size_t stride;
    const EdgeFactors& edges;
  };
  AllowedColumns(const Corpus& corpus, size_t s, const ColumnLabels& labels, const Scores& scores, Arena& arena)
      : corpus_(corpus), first_(corpus.first_token(s)), labels_(labels.columns), scores_(scores), arena_(arena) {}

  Column column(size_t t) override {
    const std::span<const int32_t> labels = labels_[t], before = t ? labels_[t - 1] : std::span<const int32_t>();
    double* const nodes = arena_.array<double>(labels.size());
    for (size_t q = 0; q < labels.size(); ++q)
      nodes[q] = scores_.nodes[t * scores_.stride + static_cast<size_t>(labels[q])];
    double* const factors = arena_.array<double>(before.size() * labels.size());
    if (t) scores_.edges.fill(corpus_, first_ + t, before, labels, factors);
    return {labels, nodes, factors};
  }

 private:
  const Corpus& corpus_;
  const size_t first_;
  const std::vector<std::span<const int32_t>>& labels_;
  const Scores scores_;
  Arena& arena_;
};

// The expected counts of the correct labellings: of one, or of all that are allowed.
struct CorrectCounts {
  Expectation* allowed;  // of a partially labelled sentence, with sorted columns
  const int32_t* label;  // [t]: of others

  double node(size_t t, int32_t y) const {
    if (!allowed) return label[t] == y;
    const size_t q = place(t, y);
    return q == kNoPlace ? 0 : allowed->nodes(t)[q];
  }
  // Of the step that `allowed` has entered.
  double pair(size_t t, int32_t i, int32_t j) const {
    if (!allowed) return label[t - 1] == i && label[t] == j;
    const size_t p = place(t - 1, i), q = place(t, j);
    return p == kNoPlace || q == kNoPlace ? 0 : allowed->pair(p, q);
  }
  // Enters the step into column t: calls visit(node of the trie, probability) for the n-grams that end there.
  void enter_step(size_t t, const LabelNgrams* trie, auto&& visit) const {
    if (allowed) return allowed->enter_step(t, visit);
    if (!trie) return;
    const size_t begin = t < NgramList::kLongest ? 0 : t + 1 - NgramList::kLongest;
    LabelNgrams::Node at = label[begin];
    for (size_t u = begin + 1; u <= t; ++u) at = trie->next(at, label[u]);
    visit(at, 1.0);
  }

 private:
  size_t place(size_t t, int32_t y) const {
    const std::span<const int32_t> own = allowed->labels(t);
    const auto found = std::lower_bound(own.begin(), own.end(), y);
    return found != own.end() && *found == y ? static_cast<size_t>(found - own.begin()) : kNoPlace;
  }
};

}  // namespace

struct SumGradient::Workspace : Gradient::Workspace {
  explicit Workspace(const EdgeFactors& factors, const PruningOptions& options) : pruner(factors, options) {}

  std::vector<float> scores;  // [t * padded + y]: of the nodes
  std::vector<float> by_key;  // [key]: scores of labels and parts, of a token
  ColumnPruner pruner;
  SentenceSums sums;
  ColumnLabels labels, allowed_labels;
  std::optional<Lattice> lattice;  // of exact sums
  std::vector<size_t> likely;      // places of labels in two columns
  // Of the n-grams that end in a column.
  std::vector<double> ngram_count;  // [n-gram], 0 between uses
  std::vector<uint32_t> counted;    // those that are not 0
};

SumGradient::SumGradient(const WeightStore& store, const SumOptions& options, PathLimits given)
    : Gradient(store.corpus(), std::move(given)), store_(store), options_(options), factors_(store, limits().rules) {
  need(std::isfinite(options_.margin) && options_.margin >= 0, "margin must be finite and not negative");
}

std::unique_ptr<Gradient::Workspace> SumGradient::workspace() const {
  return std::make_unique<Workspace>(factors_, options_.pruning);
}

// --- the weights ---

void SumGradient::ngrams_replaced(NgramIndex& ngrams) {
  ngrams_.reset();
  best_ngram_ = 0;
  if (ngrams.empty()) return;
  ngrams_ = std::make_unique<MutableNgrams>(store_.corpus().L, ngrams.labels());
  ngrams.place(*ngrams_);
}

void SumGradient::ngram_changed(size_t q, float weight) {
  ngrams_->change(store_.ngrams().node(q), static_cast<double>(weight));
  raise_best_ngram(q);
}

// Raises best_ngram_ to what n-gram q adds, and those that include it.
void SumGradient::raise_best_ngram(size_t q) {
  const auto raise = [&](LabelNgrams::Node at) {
    if (const double more = ngrams_->more(at); more > 0)
      best_ngram_ = std::max(best_ngram_, std::nextafter(static_cast<float>(more), INFINITY));
  };
  const LabelNgrams::Node node = store_.ngrams().node(q);
  raise(node);
  for (const LabelNgrams::Node longer : ngrams_->longer(node)) raise(longer);
}

void SumGradient::weights_replaced() {
  factors_.rebuild();
  best_ngram_ = 0;
  for (size_t q = 0; q < store_.ngrams().size(); ++q) raise_best_ngram(q);
}

std::vector<float> SumGradient::bounds() const {
  std::vector<float> made = factors_.bounds();
  made.push_back(best_ngram_);
  return made;
}

void SumGradient::set_bounds(std::span<const float> bounds) {
  need(bounds.size() == factors_.bound_count() + 1, "there must be one bound per label and correction set");
  factors_.set_bounds(bounds.first(bounds.size() - 1));
  best_ngram_ = bounds.back();
}

const Edges& SumGradient::exact_edges() const {
  return exact_edges_.get([&] {
    WeightKeys<Owned> keys;
    std::vector<float> weights;
    store_.list_edges(false, keys, weights);
    EdgeScores made =
        edges_of(store_.corpus().L, keys.view(), store_.corpus().sets(),
                 {{weights.data(), nullptr}, {weights.data() + keys.edges(), nullptr}}, EdgeForm::kSparse);
    return Edges(limits().rules ? made.constrained(limits().rules) : std::move(made));
  });
}

// --- scores ---

void SumGradient::score(const Sentence& sentence) const {
  const auto& [corpus, s, first, T, workspace] = sentence;
  const size_t L = corpus.L, keys = store_.parts().keys(), padded = factors_.padded();
  workspace.scores.resize(T * padded);
  workspace.by_key.resize(keys);
  Meter meter;
  for (size_t t = 0; t < T; ++t) {
    meter.count(1000 + keys);
    float* const scores = workspace.scores.data() + t * padded;
    float* const out = store_.parts().each ? workspace.by_key.data() : scores;
    std::fill(out, out + keys, 0.0F);
    store_.add_scores(corpus, first + t, out);
    if (out != scores) std::copy(out, out + L, scores);
    for (const int32_t y : corpus.allowed_of(first + t)) scores[y] -= static_cast<float>(options_.margin);
  }
  if (limits().rules || limits().allowed.columns()) forbid(sentence);
}

// Labels that a token may not have, or that may be neither first nor last, score -inf.
void SumGradient::forbid(const Sentence& sentence) const {
  const auto& [corpus, s, first, T, workspace] = sentence;
  const size_t L = corpus.L, padded = factors_.padded();
  const Allowed lists = limits().lists(corpus, s);
  for (size_t t = 0; t < T; ++t) {
    const std::span<const int32_t> list = lists[t];
    if (list.empty()) continue;
    float* const scores = workspace.scores.data() + t * padded;
    workspace.by_key.assign(scores, scores + L);
    std::fill(scores, scores + L, kForbiddenF);
    for (const int32_t y : list) scores[y] = workspace.by_key[static_cast<size_t>(y)];
  }
  for (size_t y = 0; y < L && limits().rules; ++y) {
    if (!limits().rules->may_start(y)) workspace.scores[y] = kForbiddenF;
    if (!limits().rules->may_stop(y)) workspace.scores[(T - 1) * padded + y] = kForbiddenF;
  }
}

double SumGradient::correct_score(const Sentence& sentence) const {
  const auto& [corpus, s, first, T, workspace] = sentence;
  double sum = 0;
  for (size_t t = 0; t < T; ++t) {
    const int32_t j = corpus.labels[first + t];
    sum += workspace.scores[t * factors_.padded() + static_cast<size_t>(j)];
    if (t == 0) continue;
    const int32_t i = corpus.labels[first + t - 1];
    sum += store_.edges().at(static_cast<size_t>(i), static_cast<uint16_t>(j));
    for (const int32_t set : corpus.sets_of(first + t))
      sum += store_.sets().at(static_cast<size_t>(set), Corrections::pair(i, j));
  }
  // Edge kind: as in path_score.
  if (ngrams_) {
    LabelNgrams::Node at = corpus.labels[first];
    for (size_t t = 1; t < T; ++t) sum += ngrams_->more(at = ngrams_->next(at, corpus.labels[first + t]));
  }
  return sum;
}

// --- sums ---

void SumGradient::compute(const Corpus& corpus, size_t s, Gradient::Workspace& any, SparseGradient& gradient) const {
  auto& workspace = static_cast<Workspace&>(any);
  SentenceSums& sums = workspace.sums;
  const Sentence sentence{corpus, s, corpus.first_token(s), corpus.length(s), workspace};
  gradient.reset(corpus, s);
  if (sentence.T == 0) return;
  score(sentence);
  sums.all.sums = workspace.pruner.sum(corpus, s, workspace.scores.data(), sums.arena);
  const double kept_log_z = sums.all.sums.log_z;
  bool pruned = kept_log_z != kForbidden;
  double missing = 0;
  // Edge kind: n-grams are summed over the labels that were kept without them.
  if (ngrams_) {
    const Sums kept = std::move(sums.all.sums);
    pruned = pruned && sum_ngrams(sentence, &kept);
    if (!pruned) sum_ngrams(sentence, nullptr);
    if (pruned) missing = missing_ngrams(sentence, kept_log_z);
  } else {
    pruned = pruned && sum_pruned(sentence);
    if (!pruned) sum_exactly(sentence);
    if (pruned) missing = std::max(0.0, workspace.pruner.missing());
  }
  EpochStats& stats = gradient.stats;
  gradient.log_z = sums.all.sums.log_z;
  for (const Sums::Column& column : sums.all.sums.columns) stats.kept += column.labels.size();
  stats.exact = !pruned;
  if (pruned) stats.missing = missing;
  subtract(sentence, gradient);
  const double correct = corpus.is_partial(s) ? sums.allowed.sums.log_z : correct_score(sentence);
  stats.loss = gradient.weight * (gradient.log_z - correct);
}

bool SumGradient::sum_pruned(const Sentence& sentence) const {
  const auto& [corpus, s, first, T, workspace] = sentence;
  if (!corpus.is_partial(s)) return true;
  SentenceSums& sums = workspace.sums;
  const float* const scores = workspace.scores.data();
  if (!workspace.allowed_labels.collect(corpus, s, &sums.all.sums, scores, factors_.padded())) return false;
  AllowedColumns columns(corpus, s, workspace.allowed_labels, {scores, factors_.padded(), factors_}, sums.arena);
  sums.allowed.sums = forward_backward(columns, T, corpus.L, sums.arena);
  return sums.allowed.sums.log_z != kForbidden;
}

void SumGradient::sum_exactly(const Sentence& sentence) const {
  const auto& [corpus, s, first, T, workspace] = sentence;
  SentenceSums& sums = workspace.sums;
  const size_t L = corpus.L;
  sums.arena.reset();
  double* const nodes = sums.arena.array<double>(times(T, L));
  for (size_t t = 0; t < T; ++t) std::copy_n(workspace.scores.data() + t * factors_.padded(), L, nodes + t * L);
  workspace.lattice.emplace(exact_edges(), T, Scores{nullptr, nodes}, sums.active_sets(corpus, s));
  sums.sum(corpus, s, *workspace.lattice, {});
}

bool SumGradient::sum_ngrams(const Sentence& sentence, const Sums* kept) const {
  const Corpus& corpus = sentence.corpus;
  Workspace& workspace = sentence.workspace;
  const size_t s = sentence.s, stride = factors_.padded();
  const float* const scores = workspace.scores.data();
  const auto sum = [&](const ColumnLabels& labels, Expectation& to) {
    const auto& columns = labels.columns;
    to.ngrams.sum(
        {.ngrams = *ngrams_,
         .labels = columns,
         .nodes =
             [&, scores, stride](size_t t, double* out) {
               for (const int32_t y : columns[t]) *out++ = scores[t * stride + static_cast<size_t>(y)];
             },
         .edges = [&, first = sentence.first](
                      size_t t, double* out) { factors_.fill(corpus, first + t, columns[t - 1], columns[t], out); },
         .factors = true});
    to.sums = to.ngrams.sums(nullptr);
    return to.sums.log_z != kForbidden;
  };
  if (corpus.is_partial(s)) {
    ColumnLabels& labels = workspace.allowed_labels;
    const bool found = labels.collect(corpus, s, kept, scores, stride) && sum(labels, workspace.sums.allowed);
    corpus.need_of(s, found || kept, kNoAllowedPath);
    if (!found) return false;
  }
  workspace.labels.collect(corpus, s, kept);
  const bool found = sum(workspace.labels, workspace.sums.all);
  corpus.need_of(s, found || kept, kNoPath);
  return found;
}

// Paths through labels that were left out have, without n-grams, at most exp(missing) - 1 times the mass of the others,
// and n-grams multiply it by at most exp(best_ngram_) per label from the third on. kept_log_z: without n-grams.
double SumGradient::missing_ngrams(const Sentence& sentence, double kept_log_z) const {
  const double lacking = std::max(0.0, sentence.workspace.pruner.missing()),
               steps = sentence.T > 2 ? static_cast<double>(sentence.T - 2) : 0;
  constexpr double kLarge = 30;  // from here, log(exp(x) - 1) and log(exp(x) + 1) are x
  const double outside = kept_log_z + (lacking > kLarge ? lacking : portable_log(portable_expm1(lacking)));
  const double more = outside + steps * static_cast<double>(best_ngram_) - sentence.workspace.sums.all.sums.log_z;
  return more > kLarge ? more : portable_log1p(portable_exp(more));
}

// --- gradients ---

void SumGradient::subtract(const Sentence& sentence, SparseGradient& gradient) const {
  const auto& [corpus, s, first, T, workspace] = sentence;
  Expectation& all = workspace.sums.all;
  const CorrectCounts correct{corpus.is_partial(s) ? &workspace.sums.allowed : nullptr, corpus.labels.data() + first};
  const bool pairs = store_.options().edges || corpus.sets() > 0, steps = pairs || !store_.ngrams().empty();
  workspace.ngram_count.resize(store_.ngrams().size(), 0.0);
  const auto count = [&](LabelNgrams::Node node, double by) {
    store_.ngrams().for_each_ending(*ngrams_, node, [&](size_t q) {
      if (workspace.ngram_count[q] == 0) workspace.counted.push_back(static_cast<uint32_t>(q));
      workspace.ngram_count[q] += by;
    });
  };
  std::vector<size_t>& likely = workspace.likely;
  size_t before = 0;  // how many of them are those of the column before
  likely.clear();
  for (size_t t = 0; t < T; ++t) {
    const auto labels = all.labels(t);
    const double* const nodes = all.nodes(t);
    likely.erase(likely.begin(), likely.begin() + static_cast<ptrdiff_t>(before));
    before = likely.size();
    for (size_t q = 0; q < labels.size(); ++q) {
      const double observed = correct.node(t, labels[q]), g = nodes[q] - observed;
      // A pair of labels is no more likely than either of them: others need not be visited.
      if (nodes[q] >= kLeastGradient || observed >= kLeastGradient) likely.push_back(q);
      if (std::fabs(g) >= kLeastGradient)
        gradient.nodes.emplace_back(static_cast<uint16_t>(labels[q]), static_cast<float>(g));
    }
    end_token(gradient);
    if (t == 0 || !steps) continue;
    all.enter_step(t, count);
    correct.enter_step(t, ngrams_.get(), [&](LabelNgrams::Node node, double by) { count(node, -by); });
    for (size_t a = 0; a < before && pairs; ++a) {
      for (size_t b = before; b < likely.size(); ++b) {
        const int32_t i = all.labels(t - 1)[likely[a]], j = labels[likely[b]];
        const double g = all.pair(likely[a], likely[b]) - correct.pair(t, i, j);
        if (std::fabs(g) >= kLeastGradient)
          gradient.edges.push_back(
              {static_cast<uint32_t>(t), static_cast<uint16_t>(i), static_cast<uint16_t>(j), static_cast<float>(g)});
      }
    }
    for (const uint32_t q : workspace.counted) {
      const double g = std::exchange(workspace.ngram_count[q], 0.0);
      if (std::fabs(g) >= kLeastGradient) gradient.ngrams.emplace_back(q, static_cast<float>(g));
    }
    workspace.counted.clear();
  }
}

// The gradients of the labels of a token are those of their parts, too.
void SumGradient::end_token(SparseGradient& gradient) const {
  const size_t begin = gradient.node_end.empty() ? 0 : gradient.node_end.back(), labels = gradient.nodes.size();
  const Parts& parts = store_.parts();
  for (size_t q = begin; q < labels; ++q) {
    const auto [label, own] = gradient.nodes[q];
    for (size_t k = 0; k < parts.each; ++k) {
      const auto key = static_cast<uint16_t>(parts.key(k, label));
      const auto first = gradient.nodes.begin() + static_cast<ptrdiff_t>(labels);
      const auto found = std::find_if(first, gradient.nodes.end(), [&](const auto& one) { return one.first == key; });
      if (found == gradient.nodes.end()) {
        gradient.nodes.emplace_back(key, own);
      } else {
        found->second += own;
      }
    }
  }
  const auto small = [](const auto& one) { return std::fabs(one.second) < kLeastGradient; };
  gradient.nodes.erase(
      std::remove_if(gradient.nodes.begin() + static_cast<ptrdiff_t>(labels), gradient.nodes.end(), small),
      gradient.nodes.end());
  gradient.node_end.push_back(gradient.nodes.size());
}

}  // namespace tagwright
