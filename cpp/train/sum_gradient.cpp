#include "train/sum_gradient.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/need.h"
#include "base/stop.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

constexpr float kForbiddenF = -std::numeric_limits<float>::infinity();

// Expectations have T(), labels(t) of a column, nodes(t) beside them, and visit_step(t, correct, pair, ngram) for t >
// 0, which calls pair(i, j, probability) and ngram(number, expected count) for the pairs of labels of columns t - 1 and
// t and for the n-grams that end in column t. Pairs of which neither the expectation nor `correct` has much may be left
// out. What is subtracted has node(t, y), pair(t, i, j) and for_each_ngram(t, visit).

void visit_pairs(std::span<const int32_t> from, std::span<const int32_t> to, const double* probability, auto&& visit) {
  for (const int32_t i : from)
    for (const int32_t j : to) visit(i, j, *probability++);
}

struct PrunedExpectation {
  const PrunedSums& sums;

  size_t T() const { return sums.T(); }
  std::span<const int32_t> labels(size_t t) const { return sums.labels(t); }
  std::span<const double> nodes(size_t t) const { return sums.nodes(t); }
  void visit_step(size_t t, const auto&, auto&& pair, auto&&) const {
    visit_pairs(sums.labels(t - 1), sums.labels(t), sums.edges(t).data(), pair);
  }
};

struct ExactExpectation {
  const Lattice& lattice;
  const Sums& sums;
  std::vector<double>& step;
  std::vector<int32_t>& likely;  // labels of two columns

  size_t T() const { return sums.columns.size(); }
  std::span<const int32_t> labels(size_t t) const { return sums.columns[t].labels; }
  std::span<const double> nodes(size_t t) const { return {sums.columns[t].node, sums.columns[t].labels.size()}; }
  // A pair of labels is no more likely than either of them: others need not be visited.
  void visit_step(size_t t, const auto& correct, auto&& pair, auto&&) const {
    likely.clear();
    const auto add = [&](size_t column) {
      for (size_t q = 0; q < labels(column).size(); ++q)
        if (nodes(column)[q] >= kLeastGradient || correct.node(column, labels(column)[q]) >= kLeastGradient)
          likely.push_back(static_cast<int32_t>(q));
    };
    add(t - 1);
    const size_t before = likely.size(), n = labels(t).size();
    add(t);
    if (sums.logs) sums.step(lattice, t - 1, step);
    for (size_t a = 0; a < before; ++a) {
      for (size_t b = before; b < likely.size(); ++b) {
        const auto p = static_cast<size_t>(likely[a]), q = static_cast<size_t>(likely[b]);
        pair(labels(t - 1)[p], labels(t)[q], sums.logs ? step[p * n + q] : sums.edge(lattice, t - 1, p, q));
      }
    }
  }
};

struct NgramExpectation {
  const NgramSums& sums;
  const NgramIndex& index;
  const LabelNgrams& trie;
  std::vector<double>& step;

  size_t T() const { return sums.T(); }
  std::span<const int32_t> labels(size_t t) const { return sums.labels(t); }
  std::span<const double> nodes(size_t t) const { return sums.nodes(t); }
  void visit_step(size_t t, const auto&, auto&& pair, auto&& ngram) const {
    const size_t n = sums.labels(t).size();
    step.assign(sums.labels(t - 1).size() * n, 0.0);
    sums.for_each_move(t, false, [&](const NgramSums::Move& move) {
      step[move.p * n + move.q] += move.probability;
      if (move.node == LabelNgrams::kNoNode || !(move.probability > 0)) return;
      index.for_each_ending(trie, move.node, [&](size_t q) { ngram(q, move.probability); });
    });
    visit_pairs(sums.labels(t - 1), sums.labels(t), step.data(), pair);
  }
};

// The correct path.
struct CorrectPath {
  const int32_t* label;  // [t]
  const NgramIndex& index;
  const LabelNgrams* trie;  // or none

  double node(size_t t, int32_t y) const { return label[t] == y; }
  double pair(size_t t, int32_t i, int32_t j) const { return label[t - 1] == i && label[t] == j; }
  void for_each_ngram(size_t t, auto&& visit) const {
    if (!trie) return;
    const size_t begin = t < NgramList::kLongest ? 0 : t + 1 - NgramList::kLongest;
    LabelNgrams::Node at = label[begin];
    for (size_t u = begin + 1; u <= t; ++u) at = trie->next(at, label[u]);
    index.for_each_ending(*trie, at, [&](size_t q) { visit(q, 1.0); });
  }
};

// The expectation over the allowed paths, copied.
class AllowedPaths {
 public:
  double log_z = 0;

  // Labels of smaller probability are left out.
  template <class Expected>
  void copy(const Expected& expected, double least) {
    columns_.resize(expected.T());
    for (size_t t = 0; t < columns_.size(); ++t) {
      Column& column = columns_[t];
      column.label.clear();
      column.node.clear();
      column.ngram.clear();
      for (size_t q = 0; q < expected.labels(t).size(); ++q) {
        if (expected.nodes(t)[q] < least) continue;
        column.label.push_back(expected.labels(t)[q]);
        column.node.push_back(expected.nodes(t)[q]);
      }
      if (t == 0) continue;
      const size_t n = column.label.size();
      column.pair.assign(columns_[t - 1].label.size() * n, 0.0);
      expected.visit_step(
          t, Held{*this},
          [&](int32_t i, int32_t j, double p) {
            const size_t from = place(columns_[t - 1], i), to = place(column, j);
            if (from < columns_[t - 1].label.size() && to < n) column.pair[from * n + to] = p;
          },
          [&](size_t q, double p) { column.ngram.emplace_back(q, p); });
    }
  }
  double node(size_t t, int32_t y) const {
    const size_t at = place(columns_[t], y);
    return at < columns_[t].label.size() ? columns_[t].node[at] : 0;
  }
  double pair(size_t t, int32_t i, int32_t j) const {
    const Column& column = columns_[t];
    const size_t from = place(columns_[t - 1], i), to = place(column, j), n = column.label.size();
    return from < columns_[t - 1].label.size() && to < n ? column.pair[from * n + to] : 0;
  }
  void for_each_ngram(size_t t, auto&& visit) const {
    for (const auto& [q, p] : columns_[t].ngram) visit(q, p);
  }

 private:
  struct Column {
    std::vector<int32_t> label;  // rising
    std::vector<double> node, pair;
    std::vector<std::pair<size_t, double>> ngram;
  };
  // Pairs of all labels that are held are visited.
  struct Held {
    const AllowedPaths& paths;
    double node(size_t t, int32_t y) const { return place(paths.columns_[t], y) < paths.columns_[t].label.size(); }
  };
  // Of a label, or the number of labels where it is not there.
  static size_t place(const Column& column, int32_t y) {
    const auto found = std::lower_bound(column.label.begin(), column.label.end(), y);
    return found != column.label.end() && *found == y ? static_cast<size_t>(found - column.label.begin())
                                                      : column.label.size();
  }
  std::vector<Column> columns_;
};

// The labels of each column of a sentence, rising, column after column.
struct ColumnLabels {
  std::vector<int32_t> label;
  std::vector<size_t> begin;                      // [t], and one more
  std::vector<std::span<const int32_t>> columns;  // [t]

  // Those of `sums`, or all.
  void collect(const PrunedSums* sums, size_t T, size_t L) {
    start();
    for (size_t t = 0; t < T; ++t) add(sums ? sums->labels(t) : std::span<const int32_t>(), L);
    finish();
  }
  // The same, of tokens for which the corpus allows some labels only these. Labels of score -inf are left out; returns
  // whether every column has a label. scores: [t * stride + y].
  bool collect_allowed(const Corpus& corpus, size_t s, const PrunedSums* sums, const float* scores, size_t stride) {
    start();
    bool any = true;
    for (size_t t = 0; t < corpus.length(s); ++t, scores += stride) {
      std::span<const int32_t> own = corpus.allowed_of(corpus.first_token(s) + t);
      if (own.empty() && sums) own = sums->labels(t);
      const size_t from = label.size();
      add(own, corpus.L);
      label.erase(std::remove_if(label.begin() + static_cast<ptrdiff_t>(from), label.end(),
                                 [&](int32_t y) { return scores[y] == kForbiddenF; }),
                  label.end());
      begin.back() = label.size();
      any &= label.size() > from;
    }
    finish();
    return any;
  }

 private:
  void start() {
    label.clear();
    begin.assign(1, 0);
  }
  void add(std::span<const int32_t> own, size_t L) {
    const size_t from = label.size();
    if (own.empty()) {
      label.resize(from + L);
      std::iota(label.begin() + static_cast<ptrdiff_t>(from), label.end(), 0);
    } else {
      label.insert(label.end(), own.begin(), own.end());
      std::sort(label.begin() + static_cast<ptrdiff_t>(from), label.end());
    }
    begin.push_back(label.size());
  }
  void finish() {
    columns.clear();
    for (size_t t = 0; t + 1 < begin.size(); ++t)
      columns.push_back(std::span(label).subspan(begin[t], begin[t + 1] - begin[t]));
  }
};

}  // namespace

struct SumGradient::Workspace : Gradient::Workspace {
  explicit Workspace(const EdgeFactors& factors, const PruningOptions& options) : pruner(factors, options) {}

  std::vector<float> scores;  // [t * padded + y]: of the nodes
  std::vector<float> by_key;  // [key]: scores of labels and parts, of a token
  ColumnPruner pruner;
  PrunedSums sums, allowed_sums;
  NgramSums ngrams;
  Arena arena;
  std::vector<std::vector<int32_t>> active;  // correction sets of each step
  std::vector<double> step;
  std::vector<int32_t> likely;
  AllowedPaths allowed;
  ColumnLabels labels;
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
  const LabelNgrams::Node node = store_.ngrams().node(q);
  ngrams_->change(node, static_cast<double>(weight));
  const auto raise = [&](LabelNgrams::Node at) {
    best_ngram_ = std::max(best_ngram_, std::nextafter(static_cast<float>(ngrams_->more(at)), INFINITY));
  };
  raise(node);
  for (const LabelNgrams::Node longer : ngrams_->longer(node)) raise(longer);
}

void SumGradient::weights_replaced() {
  factors_.rebuild();
  best_ngram_ = 0;
  for (size_t node = 0; ngrams_ && node < ngrams_->nodes(); ++node)
    if (const double more = ngrams_->more(static_cast<LabelNgrams::Node>(node)); more > 0)
      best_ngram_ = std::max(best_ngram_, std::nextafter(static_cast<float>(more), INFINITY));
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
    std::vector<int32_t> previous, current, set, set_previous, set_current;
    std::vector<double> score, correction;
    const auto& edges = store_.edges();
    const auto& sets = store_.sets();
    for (size_t i = 0; i < edges.rows(); ++i) {
      for (size_t q = 0; q < edges.size(i); ++q) {
        previous.push_back(static_cast<int32_t>(i));
        current.push_back(edges.keys(i)[q]);
        score.push_back(edges.values(i)[q]);
      }
    }
    for (size_t r = 0; r < sets.rows(); ++r) {
      for (size_t q = 0; q < sets.size(r); ++q) {
        set.push_back(static_cast<int32_t>(r));
        set_previous.push_back(Corrections::previous(sets.keys(r)[q]));
        set_current.push_back(Corrections::current(sets.keys(r)[q]));
        correction.push_back(sets.values(r)[q]);
      }
    }
    const EdgeExtras extras{.correction_sets = store_.corpus().sets(),
                            .correction_set = set,
                            .corrections = {set_previous, set_current, {nullptr, correction.data()}}};
    EdgeScores made = EdgeScores::from_triples(store_.corpus().L, 0.0, {previous, current, {nullptr, score.data()}},
                                               EdgeForm::kSparse, extras);
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
  if (ngrams_) {
    LabelNgrams::Node at = corpus.labels[first];
    for (size_t t = 1; t < T; ++t) sum += ngrams_->more(at = ngrams_->next(at, corpus.labels[first + t]));
  }
  return sum;
}

// --- sums ---

void SumGradient::compute(const Corpus& corpus, size_t s, Gradient::Workspace& any, SparseGradient& gradient) const {
  auto& workspace = static_cast<Workspace&>(any);
  const Sentence sentence{corpus, s, corpus.first_token(s), corpus.length(s), workspace};
  gradient.reset(corpus, s);
  if (sentence.T == 0) return;
  score(sentence);
  const bool pruned = workspace.pruner.choose(corpus, s, workspace.scores.data(), workspace.sums);
  if (ngrams_) {
    if (!pruned || !sum_ngrams(sentence, true, gradient)) sum_ngrams(sentence, false, gradient);
  } else if (!pruned || !sum_pruned(sentence, gradient)) {
    sum_exactly(sentence, gradient);
  }
  EpochStats& stats = gradient.stats;
  const double correct = corpus.is_partial(s) ? workspace.allowed.log_z : correct_score(sentence);
  stats.loss = gradient.weight * (gradient.log_z - correct);
}

bool SumGradient::sum_pruned(const Sentence& sentence, SparseGradient& gradient) const {
  const auto& [corpus, s, first, T, workspace] = sentence;
  if (!workspace.sums.backward()) return false;
  if (corpus.is_partial(s)) {
    const float* scores = workspace.scores.data();
    if (!workspace.labels.collect_allowed(corpus, s, &workspace.sums, scores, factors_.padded())) return false;
    PrunedSums& sums = workspace.allowed_sums;
    sums.clear();
    for (size_t t = 0; t < T; ++t, scores += factors_.padded()) {
      const std::span<const int32_t> labels = workspace.labels.columns[t];
      workspace.step.assign(2 * labels.size(), 0.0);
      for (size_t q = 0; q < labels.size(); ++q) workspace.step[q] = scores[labels[q]];
      sums.add_column(labels, workspace.step.data());
      if (t) factors_.fill(corpus, first + t, sums.labels(t - 1), sums.labels(t), sums.factors());
      if (!sums.forward(workspace.step.data() + labels.size(), 0)) return false;
    }
    if (!sums.backward()) return false;
    workspace.allowed.copy(PrunedExpectation{sums}, 0);
    workspace.allowed.log_z = sums.log_z();
  }
  gradient.log_z = workspace.sums.log_z();
  gradient.stats.kept = workspace.sums.kept();
  gradient.stats.missing = std::max(0.0, workspace.sums.missing());
  subtract_correct(sentence, PrunedExpectation{workspace.sums}, gradient);
  return true;
}

void SumGradient::sum_exactly(const Sentence& sentence, SparseGradient& gradient) const {
  const Corpus& corpus = sentence.corpus;
  Workspace& workspace = sentence.workspace;
  const size_t s = sentence.s, T = sentence.T, L = corpus.L;
  const Edges& edges = exact_edges();
  if (corpus.sets()) corpus.sets_on(s, workspace.active);
  // Sums of the lattice, whose nodes are written by fill().
  const auto sum = [&](auto&& fill, auto&& visit) {
    workspace.arena.reset();
    double* const nodes = workspace.arena.array<double>(times(T, L));
    fill(nodes);
    const Lattice lattice(edges, T, {nullptr, nodes}, corpus.sets() ? &workspace.active : nullptr);
    const Sums sums = forward_backward(lattice, edges.factors(), {}, nullptr, workspace.arena);
    visit(sums, ExactExpectation{lattice, sums, workspace.step, workspace.likely});
  };
  const auto fill_all = [&](double* nodes) {
    for (size_t t = 0; t < T; ++t) std::copy_n(workspace.scores.data() + t * factors_.padded(), L, nodes + t * L);
  };
  if (corpus.is_partial(s)) {
    const auto fill_allowed = [&](double* nodes) {
      fill_all(nodes);
      corpus.forbid_others(s, nodes);
    };
    sum(fill_allowed, [&](const Sums& sums, const ExactExpectation& expected) {
      need(sums.log_z != kForbidden, no_known_labelling(corpus.number_of(s)));
      constexpr double kNone = 1e-4;
      workspace.allowed.copy(expected, kNone);
      workspace.allowed.log_z = sums.log_z;
    });
  }
  sum(fill_all, [&](const Sums& sums, const ExactExpectation& expected) {
    need(sums.log_z != kForbidden,
         "sentence " + std::to_string(corpus.number_of(s)) + ": the constraints leave no labelling");
    gradient.log_z = sums.log_z;
    gradient.stats.kept = T * L;
    gradient.stats.exact = 1;
    subtract_correct(sentence, expected, gradient);
  });
}

bool SumGradient::sum_ngrams(const Sentence& sentence, bool pruned, SparseGradient& gradient) const {
  const Corpus& corpus = sentence.corpus;
  Workspace& workspace = sentence.workspace;
  const size_t s = sentence.s;
  const float* const scores = workspace.scores.data();
  const PrunedSums* const kept = pruned ? &workspace.sums : nullptr;
  const auto& columns = workspace.labels.columns;
  NgramSums& sums = workspace.ngrams;
  const auto run = [&] {
    sums.sum({.ngrams = *ngrams_,
              .labels = columns,
              .nodes =
                  [&](size_t t, double* out) {
                    for (const int32_t y : columns[t]) *out++ = scores[t * factors_.padded() + static_cast<size_t>(y)];
                  },
              .edges = [&](size_t t,
                           double* out) { factors_.fill(corpus, sentence.first + t, columns[t - 1], columns[t], out); },
              .factors = true});
    return sums.log_z() != kForbidden;
  };
  const NgramExpectation expected{sums, store_.ngrams(), *ngrams_, workspace.step};
  if (corpus.is_partial(s)) {
    if (!workspace.labels.collect_allowed(corpus, s, kept, scores, factors_.padded()) || !run()) {
      need(pruned, no_known_labelling(corpus.number_of(s)));
      return false;
    }
    workspace.allowed.copy(expected, 0);
    workspace.allowed.log_z = sums.log_z();
  }
  workspace.labels.collect(kept, sentence.T, corpus.L);
  if (!run()) {
    need(pruned, "sentence " + std::to_string(corpus.number_of(s)) + ": the constraints leave no labelling");
    return false;
  }
  gradient.log_z = sums.log_z();
  gradient.stats.kept = sums.kept();
  gradient.stats.exact = !pruned;
  gradient.stats.missing = pruned ? missing_ngrams(sentence, sums.log_z()) : 0;
  subtract_correct(sentence, expected, gradient);
  return true;
}

// Paths through labels that were left out have, without n-grams, at most exp(missing) - 1 times the mass of the others,
// and n-grams multiply it by at most exp(best_ngram_) per label from the third on.
double SumGradient::missing_ngrams(const Sentence& sentence, double log_z) const {
  const PrunedSums& sums = sentence.workspace.sums;
  const double lacking = std::max(0.0, sums.missing()),
               steps = sentence.T > 2 ? static_cast<double>(sentence.T - 2) : 0;
  constexpr double kLarge = 30;  // from here, log(exp(x) - 1) and log(exp(x) + 1) are x
  const double outside = sums.log_z() + (lacking > kLarge ? lacking : std::log(std::expm1(lacking)));
  const double more = outside + steps * static_cast<double>(best_ngram_) - log_z;
  return more > kLarge ? more : std::log1p(std::exp(more));
}

// --- gradients ---

template <class Expected>
void SumGradient::subtract_correct(const Sentence& sentence, const Expected& expected, SparseGradient& gradient) const {
  const Corpus& corpus = sentence.corpus;
  if (corpus.is_partial(sentence.s)) {
    subtract(expected, sentence.workspace.allowed, sentence.workspace, gradient);
  } else {
    const CorrectPath correct{corpus.labels.data() + sentence.first, store_.ngrams(), ngrams_.get()};
    subtract(expected, correct, sentence.workspace, gradient);
  }
}

template <class Expected, class Correct>
void SumGradient::subtract(const Expected& expected, const Correct& correct, Workspace& workspace,
                           SparseGradient& gradient) const {
  const bool pairs = store_.options().edges || store_.corpus().sets() > 0;
  workspace.ngram_count.resize(store_.ngrams().size(), 0.0);
  const auto count = [&](size_t q, double by) {
    if (workspace.ngram_count[q] == 0) workspace.counted.push_back(static_cast<uint32_t>(q));
    workspace.ngram_count[q] += by;
  };
  for (size_t t = 0; t < expected.T(); ++t) {
    const auto labels = expected.labels(t);
    const auto nodes = expected.nodes(t);
    for (size_t q = 0; q < labels.size(); ++q) {
      const double g = nodes[q] - correct.node(t, labels[q]);
      if (std::fabs(g) >= kLeastGradient)
        gradient.nodes.emplace_back(static_cast<uint16_t>(labels[q]), static_cast<float>(g));
    }
    end_token(gradient);
    if (t == 0 || !(pairs || ngrams_)) continue;
    const auto subtract_pair = [&](int32_t i, int32_t j, double p) {
      const double g = p - correct.pair(t, i, j);
      if (std::fabs(g) < kLeastGradient || !pairs) return;
      gradient.edges.push_back(
          {static_cast<uint32_t>(t), static_cast<uint16_t>(i), static_cast<uint16_t>(j), static_cast<float>(g)});
    };
    expected.visit_step(t, correct, subtract_pair, count);
    if (!ngrams_) continue;
    correct.for_each_ngram(t, [&](size_t q, double by) { count(q, -by); });
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
