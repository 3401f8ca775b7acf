#include "train/crf/batch_objective.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/need.h"
#include "base/stop.h"
#include "base/thread_pool.h"
#include "kernels/kernels.h"
#include "model/rows.h"

namespace tagwright {
namespace {

// The weights of one evaluation of the batch objective in the forms that scores and sums need.
class BatchWeights {
 public:
  // All arguments must outlive the object. Throws std::invalid_argument for weights that are not finite; -inf forbids,
  // where no feature has values.
  BatchWeights(const Corpus& corpus, const WeightLayout& layout, const BatchOptions& options,
               std::span<const double> weights)
      : corpus_(corpus),
        layout_(layout),
        weights_(weights),
        rows_{layout.keys().row_end, layout.keys().row_label, weights.first(layout.first_edge())},
        dense_(times(layout.dense_rows(), layout.parts().keys()), 0.0) {
    for (const double weight : weights) {
      need(std::isfinite(weight) || (weight == kForbidden && corpus.labels.empty()), "a weight is not finite");
      finite_ = finite_ && weight != kForbidden;
    }
    for (size_t f = 0; f < rows_.rows(); ++f)
      if (layout.dense_row(f) >= 0)
        set_row(rows_, f, dense_.data() + static_cast<size_t>(layout.dense_row(f)) * layout.parts().keys());
    // N-grams of weight 0 count as well, so that their nodes are those of the layout, whatever the weights.
    EdgeScores made = edges_of(corpus.L, layout.keys(), corpus.sets(),
                               {{nullptr, weights.data() + layout.first_edge()},
                                {nullptr, weights.data() + layout.first_correction()},
                                weights.last(layout.keys().ngrams()),
                                true},
                               options.form);
    const std::shared_ptr<const PairRules>& rules = options.limits.rules;
    edges_ = std::make_unique<const Edges>(rules ? made.constrained(rules, false) : std::move(made));
  }

  // Fills the node scores of a token; out: [label].
  void score(size_t token, double* out) const {
    const Parts& parts = layout_.parts();
    const size_t keys = parts.keys(), first = corpus_.node.begin(token);
    thread_local std::vector<double> room;
    room.resize(parts.each ? keys : 0);
    double* const by_key = parts.each ? room.data() : out;
    std::fill(by_key, by_key + keys, 0.0);
    const auto value = [&](size_t n) { return corpus_.node.value_of(first + n); };
    const auto whole = [&](size_t f) -> const double* {
      if (rows_.size(f) == keys) return weights_.data() + rows_.begin(f);
      return layout_.dense_row(f) < 0 ? nullptr : dense_.data() + static_cast<size_t>(layout_.dense_row(f)) * keys;
    };
    add_rows(rows_, corpus_.features_of(token), value, whole, keys, by_key);
    if (!parts.each) return;
    parts.add_to_labels(by_key);
    std::copy_n(by_key, corpus_.L, out);
  }
  const Edges& edges() const { return *edges_; }
  const Factors& factors() const { return *edges_->factors(); }
  // Whether sums over several sentences in SIMD lanes are exact with these weights: all scores are finite, the edges
  // are shared by all steps and close enough not to underflow.
  bool suits_lanes() const {
    // Edge kind: lanes hold labels, not contexts of n-grams, and one list of factors.
    return finite_ && !edges_->ngrams() && corpus_.sets() == 0 && !edges_->rules() && !factors().dense &&
           factors().close && !factors().forbids;
  }

 private:
  const Corpus& corpus_;
  const WeightLayout& layout_;
  std::span<const double> weights_;
  PackedRows<double> rows_;
  std::vector<double> dense_;  // [dense row][key]
  bool finite_ = true;
  std::unique_ptr<const Edges> edges_;
};

}  // namespace

// One call of expect(): sums batches of sentences in threads.
class BatchObjective::Evaluation {
 public:
  Evaluation(const BatchObjective& objective, std::span<const double> weights, size_t threads);

  // Whether sentences can be batched in SIMD lanes.
  bool suits_lanes() const { return suits_lanes_; }
  // Sums batches; single sentences by a pruning rule. Returns the sentences that were not summed, because the rule
  // keeps so many labels that exact sums in lanes are faster.
  std::vector<int32_t> sum(const std::vector<Batch>& batches, const PruningRule& rule);

  double log_z(size_t sentence) const { return log_z_[sentence]; }
  size_t kept() const;
  void add_counts(std::span<double> to) const;

 private:
  // What one thread works with.
  struct Workspace {
    ExpectedCounts counts;
    size_t kept = 0;
    SentenceSums sums = {};
  };

  void score(size_t token, double* out) const;
  void sum_lanes(const Batch& batch, Workspace& workspace);
  bool sum_sentence(size_t s, const PruningRule& rule, Workspace& workspace);
  size_t most_kept(const PruningRule& rule, size_t T) const;
  double margin_of(size_t s) const { return objective_.options_.margin * static_cast<double>(corpus_.length(s)); }

  const BatchObjective& objective_;
  const Corpus& corpus_;
  const BatchWeights weights_;
  const bool suits_lanes_;
  std::vector<Workspace> workspaces_;
  std::vector<double> log_z_;  // [sentence]
};

BatchObjective::Evaluation::Evaluation(const BatchObjective& objective, std::span<const double> weights, size_t threads)
    : objective_(objective),
      corpus_(objective.corpus_),
      weights_(corpus_, objective.layout_, objective.options_, weights),
      suits_lanes_(weights_.suits_lanes() && !objective.options_.limits.allowed.columns()),
      log_z_(corpus_.sentences(), 0.0) {
  workspaces_.reserve(threads);
  for (size_t n = 0; n < threads; ++n)
    workspaces_.push_back({{corpus_, objective.layout_, objective.grain_, weights_.factors()}});
}

std::vector<int32_t> BatchObjective::Evaluation::sum(const std::vector<Batch>& batches, const PruningRule& rule) {
  std::atomic<size_t> next{0};
  std::vector<char> skipped(batches.size(), false);
  in_parallel(workspaces_.size(), workspaces_.size(), [&](size_t n) {
    for (size_t b = next++; b < batches.size(); b = next++) {
      check_stop();
      for (size_t lane = 0; lane < batches[b].size(); ++lane) corpus_.visit();
      workspaces_[n].sums.arena.reset();
      if (batches[b].size() > 1) {
        sum_lanes(batches[b], workspaces_[n]);
      } else {
        skipped[b] = !sum_sentence(static_cast<size_t>(batches[b][0]), rule, workspaces_[n]);
      }
    }
  });
  std::vector<int32_t> left;
  for (size_t b = 0; b < batches.size(); ++b)
    if (skipped[b]) left.push_back(batches[b][0]);
  return left;
}

void BatchObjective::Evaluation::score(size_t token, double* out) const {
  weights_.score(token, out);
  if (objective_.options_.margin == 0) return;
  for (const int32_t y : corpus_.allowed_of(token)) out[y] -= objective_.options_.margin;
}

void BatchObjective::Evaluation::sum_lanes(const Batch& batch, Workspace& workspace) {
  size_t lengths[kLanes];
  double log_z[kLanes];
  for (size_t lane = 0; lane < batch.size(); ++lane) lengths[lane] = corpus_.length(static_cast<size_t>(batch[lane]));
  const auto token = [&](size_t lane, size_t t) { return corpus_.first_token(static_cast<size_t>(batch[lane])) + t; };
  LaneSums sums;
  sums.lengths = {lengths, batch.size()};
  sums.score = [&](size_t lane, size_t t, double* out) { score(token(lane, t), out); };
  sums.take = [&](size_t lane, size_t t, const double* p) { workspace.counts.add_token(token(lane, t), p); };
  sums.grain = objective_.grain_.probability;
  sums.edge_counts = workspace.counts.edge_counts();
  if (!forward_backward_lanes(weights_.factors(), sums, workspace.sums.arena, log_z)) {
    for (const int32_t s : batch) sum_sentence(static_cast<size_t>(s), {}, workspace);
    return;
  }
  for (size_t lane = 0; lane < batch.size(); ++lane) {
    const auto s = static_cast<size_t>(batch[lane]);
    log_z_[s] = log_z[lane] + margin_of(s);
    workspace.kept += lengths[lane] * corpus_.L;
  }
}

// Returns false, without counting anything, where the rule keeps more labels than are worth it.
bool BatchObjective::Evaluation::sum_sentence(size_t s, const PruningRule& rule, Workspace& workspace) {
  const size_t first = corpus_.first_token(s), T = corpus_.length(s), L = corpus_.L;
  SentenceSums& sums = workspace.sums;
  double* const nodes = sums.arena.array<double>(times(T, L));
  for (size_t t = 0; t < T; ++t) score(first + t, nodes + t * L);
  const Lattice lattice(weights_.edges(), T, {nullptr, nodes}, sums.active_sets(corpus_, s), 0,
                        objective_.options_.limits.lists(corpus_, s));
  if (!sums.sum(corpus_, s, lattice, rule, most_kept(rule, T))) return false;
  const double weight = corpus_.weight_of(s);
  const bool partial = corpus_.is_partial(s);
  log_z_[s] = weight * (sums.all.sums.log_z - (partial ? sums.allowed.sums.log_z : -margin_of(s)));
  workspace.counts.add(sums.all, first, weight);
  if (partial) workspace.counts.add(sums.allowed, first, -weight);
  for (const Sums::Column& column : sums.all.sums.columns) workspace.kept += column.labels.size();
  return true;
}

// Returns how many labels a sentence may keep for pruned sums to be faster than exact ones in lanes: a quarter.
size_t BatchObjective::Evaluation::most_kept(const PruningRule& rule, size_t T) const {
  constexpr size_t kFewLabels = 64;
  return rule.all() || corpus_.L < kFewLabels || !suits_lanes_ ? SIZE_MAX : T * (corpus_.L / 4);
}

size_t BatchObjective::Evaluation::kept() const {
  size_t kept = 0;
  for (const Workspace& workspace : workspaces_) kept += workspace.kept;
  return kept;
}

void BatchObjective::Evaluation::add_counts(std::span<double> to) const {
  for (const Workspace& workspace : workspaces_) workspace.counts.add_to(to);
}

BatchObjective::BatchObjective(Corpus corpus, WeightLayout layout, BatchOptions options,
                               std::optional<CountGrain> grain)
    : corpus_(std::move(corpus)),
      layout_(std::move(layout)),
      options_(std::move(options)),
      grain_(grain ? std::move(*grain) : CountGrain(corpus_, layout_.parts().each)) {
  const AllowedLists& lists = options_.limits.allowed;
  need(!lists.columns() || lists.columns() == corpus_.tokens(), "allowed: there must be one list per token");
  need(std::isfinite(options_.margin) && options_.margin >= 0, "margin must be finite and not negative");
  need(grain_.feature.size() == corpus_.features(), "grain: there must be one number per feature");
}

BatchObjective BatchObjective::hmm(const Text& text, size_t L, const std::vector<std::string_view>& names,
                                   WeightKeys<Owned> keys) {
  need(L > 0 && L <= kMostLabels, "a model has between 1 and 65,535 labels");
  need(text.ready, "features must be ready-made");
  Names known;
  for (const std::string_view name : names) known.node.add(name);
  need(known.node.size() == names.size(), "names: each feature must be given once");
  CorpusArrays<Owned> encoded{encode(text, Templates({}, {}, {}), {}, known, 1)};
  need(known.node.size() == names.size(), "names: a feature of the text is missing");
  Corpus corpus = hold(std::move(encoded), std::move(known), L);
  WeightLayout layout(std::move(keys), corpus);
  BatchOptions options;
  for (size_t token = 0; token < corpus.tokens(); ++token) {
    need(!corpus.features_of(token).empty(), "every token must have a word");
    const auto labels = layout.row_keys(static_cast<size_t>(corpus.features_of(token)[0]));
    need(!labels.empty(), "every word must have a label");
    if (labels.size() == L) {
      options.limits.allowed.add_wide();
    } else {
      options.limits.allowed.add(std::vector<int32_t>(labels.begin(), labels.end()));
    }
  }
  return {std::move(corpus), std::move(layout), std::move(options)};
}

// Adds batches of sentences of similar length. A sentence that is summed alone is a batch: a partially labelled one,
// one with a weight, and very long ones. Empty sentences are left out.
void BatchObjective::add_block(std::span<const int32_t> sentences, size_t lanes, std::vector<Batch>& to) const {
  constexpr size_t kBytes = size_t{256} << 20;
  const auto length = [&](int32_t s) { return corpus_.length(static_cast<size_t>(s)); };
  Batch order;
  for (const int32_t s : sentences)
    if (length(s)) order.push_back(s);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return length(a) > length(b); });
  bool full = true;
  for (const int32_t s : order) {
    const bool alone = corpus_.is_partial(static_cast<size_t>(s)) || corpus_.weight_of(static_cast<size_t>(s)) != 1;
    if (full || alone) to.emplace_back();
    to.back().push_back(s);
    const size_t bytes = length(to.back()[0]) * corpus_.L * kLanes * 2 * sizeof(double);
    full = alone || to.back().size() == lanes || bytes > kBytes;
  }
}

std::vector<BatchObjective::Batch> BatchObjective::batches(std::span<const int32_t> sentences, size_t lanes) const {
  std::vector<Batch> made;
  for (size_t begin = 0, end; begin < sentences.size(); begin = end) {
    const auto block = [&](size_t n) { return static_cast<size_t>(sentences[n]) / kBlock; };
    for (end = begin + 1; end < sentences.size() && block(end) == block(begin);) ++end;
    add_block(sentences.subspan(begin, end - begin), lanes, made);
  }
  return made;
}

BatchSums BatchObjective::expect(std::span<const double> weights, const PruningRule& rule,
                                 std::span<const int32_t> sentences, size_t threads, std::span<double> counts,
                                 std::span<double> per_sentence) const {
  corpus_.check_sentences(sentences);
  check_size(weights);
  check_size(counts);
  need(per_sentence.empty() || per_sentence.size() == sentences.size(), "there must be one number per sentence");
  need(threads >= 1, "threads must be at least 1");
  Evaluation evaluation(*this, weights, std::max<size_t>(1, std::min(threads, sentences.size())));
  const std::vector<int32_t> left =
      evaluation.sum(batches(sentences, rule.all() && evaluation.suits_lanes() ? kLanes : 1), rule);
  evaluation.sum(batches(left, kLanes), {});
  std::fill(counts.begin(), counts.end(), 0.0);
  evaluation.add_counts(counts);
  BatchSums made{.kept = evaluation.kept()};
  for (size_t n = 0; n < sentences.size(); ++n) {
    const auto s = static_cast<size_t>(sentences[n]);
    made.log_z += evaluation.log_z(s);
    made.tokens += corpus_.length(s);
    if (!per_sentence.empty()) per_sentence[n] = evaluation.log_z(s);
  }
  return made;
}

void BatchObjective::observe(std::span<const int32_t> sentences, std::span<double> counts) const {
  corpus_.check_sentences(sentences);
  check_size(counts);
  need(!corpus_.labels.empty() || corpus_.tokens() == 0, "the right labels are not known");
  std::fill(counts.begin(), counts.end(), 0.0);
  for (const int32_t s : sentences) {
    corpus_.visit();
    if (!corpus_.is_partial(static_cast<size_t>(s))) count_observed(static_cast<size_t>(s), counts);
  }
}

void BatchObjective::count_observed(size_t s, std::span<double> counts) const {
  const double weight = corpus_.weight_of(s);
  const size_t first = corpus_.first_token(s);
  const Parts& parts = layout_.parts();
  const auto add = [&](size_t at, double times) {
    if (at != kNoPlace) counts[at] += weight * times;
  };
  LabelNgrams::Node node = corpus_.length(s) ? corpus_.labels[first] : 0;
  for (size_t token = first; token < corpus_.sentence_end[s]; ++token) {
    const int32_t j = corpus_.labels[token];
    corpus_.for_each_feature(token, [&](size_t f, double value) {
      add(layout_.node(f, static_cast<size_t>(j)), value);
      for (size_t k = 0; k < parts.each; ++k) add(layout_.node(f, parts.key(k, static_cast<size_t>(j))), value);
    });
    if (token == first) continue;
    const int32_t i = corpus_.labels[token - 1];
    add(layout_.edge(i, j), 1);
    for (const int32_t set : corpus_.sets_of(token)) add(layout_.correction(static_cast<size_t>(set), i, j), 1);
    if (!layout_.trie()) continue;
    node = layout_.trie()->next(node, j);
    layout_.for_each_ngram(node, [&](size_t at) { add(at, 1); });
  }
}

Weights BatchObjective::model_weights(std::span<const double> weights) const {
  check_size(weights);
  return corpus_.weights(layout_.held(), std::vector<float>(weights.begin(), weights.end()));
}

void BatchObjective::warm_start(const Weights& model, std::span<const int32_t> label, std::span<double> weights) const {
  check_size(weights);
  corpus_.check_known(model);
  layout_.warm_start(model, label, weights);
}

void BatchObjective::check_size(std::span<const double> weights) const {
  need(weights.size() == layout_.size(), "there must be one number per weight");
}

}  // namespace tagwright
