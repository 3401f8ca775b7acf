#include "train/crf/batch_objective.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "base/need.h"
#include "base/stop.h"
#include "base/thread_pool.h"
#include "decode/table.h"
#include "kernels/kernels.h"

namespace tagwright {

// One call of expect(): sums batches of sentences in threads.
class BatchObjective::Evaluation {
 public:
  Evaluation(const BatchObjective& objective, std::span<const double> weights, size_t threads);

  // Whether sentences can be batched in SIMD lanes.
  bool suits_lanes() const { return suits_lanes_; }
  // Sums batches; single sentences by a pruning rule. Returns the sentences that were not summed, because the rule
  // keeps so many labels that exact sums in lanes are faster.
  std::vector<int32_t> sum(const std::vector<Batch>& batches, const Keep& keep);

  double log_z(size_t sentence) const { return log_z_[sentence]; }
  size_t kept() const;
  void add_counts(std::span<double> to) const;

 private:
  // What one thread works with.
  struct Workspace {
    ExpectedCounts counts;
    size_t kept = 0;
    NgramSums ngrams = {};
    Arena arena = {};
    std::vector<std::vector<int32_t>> active = {};  // correction sets of each step
  };

  void sum_lanes(const Batch& batch, Workspace& workspace);
  bool sum_sentence(size_t s, const Keep& keep, Workspace& workspace);
  void subtract_allowed(size_t s, const Lattice& all, const Sums& kept, Workspace& workspace);
  std::vector<int32_t> best_allowed(size_t s, const Lattice& all, Workspace& workspace) const;
  size_t most_kept(const Keep& keep, size_t T) const;
  Lattice lattice(size_t s, const double* nodes, Allowed allowed, const Workspace& workspace) const;
  [[noreturn]] static void fail_partial();

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
      weights_(corpus_, objective.layout_, objective.options_.form, objective.options_.limits.rules, weights),
      suits_lanes_(weights_.suits_lanes() && !objective.options_.limits.allowed.columns()),
      log_z_(corpus_.sentences(), 0.0) {
  workspaces_.reserve(threads);
  for (size_t n = 0; n < threads; ++n)
    workspaces_.push_back({{corpus_, objective.layout_, objective.grain_, weights_.factors()}});
}

std::vector<int32_t> BatchObjective::Evaluation::sum(const std::vector<Batch>& batches, const Keep& keep) {
  std::atomic<size_t> next{0};
  std::vector<char> skipped(batches.size(), false);
  in_parallel(workspaces_.size(), workspaces_.size(), [&](size_t n) {
    for (size_t b = next++; b < batches.size(); b = next++) {
      check_stop();
      for (size_t lane = 0; lane < batches[b].size(); ++lane) corpus_.visit();
      workspaces_[n].arena.reset();
      if (batches[b].size() > 1) {
        sum_lanes(batches[b], workspaces_[n]);
        continue;
      }
      const auto s = static_cast<size_t>(batches[b][0]);
      try {
        skipped[b] = !sum_sentence(s, keep, workspaces_[n]);
      } catch (const std::invalid_argument& error) {
        throw std::invalid_argument("sentence " + std::to_string(corpus_.number_of(s)) + ": " + error.what());
      }
    }
  });
  std::vector<int32_t> left;
  for (size_t b = 0; b < batches.size(); ++b)
    if (skipped[b]) left.push_back(batches[b][0]);
  return left;
}

void BatchObjective::Evaluation::sum_lanes(const Batch& batch, Workspace& workspace) {
  size_t lengths[kLanes];
  double log_z[kLanes];
  for (size_t lane = 0; lane < batch.size(); ++lane) lengths[lane] = corpus_.length(static_cast<size_t>(batch[lane]));
  const auto token = [&](size_t lane, size_t t) { return corpus_.first_token(static_cast<size_t>(batch[lane])) + t; };
  LaneSums sums;
  sums.lengths = {lengths, batch.size()};
  sums.score = [&](size_t lane, size_t t, double* out) { weights_.score(token(lane, t), out); };
  sums.take = [&](size_t lane, size_t t, const double* p) { workspace.counts.add_token(token(lane, t), p); };
  sums.grain = objective_.grain_.probability;
  sums.edge_counts = workspace.counts.edge_counts();
  if (!forward_backward_lanes(weights_.factors(), sums, workspace.arena, log_z)) {
    for (const int32_t s : batch) sum_sentence(static_cast<size_t>(s), {}, workspace);
    return;
  }
  for (size_t lane = 0; lane < batch.size(); ++lane) {
    log_z_[static_cast<size_t>(batch[lane])] = log_z[lane];
    workspace.kept += lengths[lane] * corpus_.L;
  }
}

// Returns false, without counting anything, where the rule keeps more labels than are worth it.
bool BatchObjective::Evaluation::sum_sentence(size_t s, const Keep& keep, Workspace& workspace) {
  const size_t first = corpus_.first_token(s), T = corpus_.length(s), L = corpus_.L;
  double* const nodes = workspace.arena.array<double>(times(T, L));
  for (size_t t = 0; t < T; ++t) weights_.score(first + t, nodes + t * L);
  corpus_.sets_on(s, workspace.active);
  const Lattice all = lattice(s, nodes, objective_.options_.limits.lists(corpus_, s), workspace);
  const bool partial = corpus_.is_partial(s);
  // Pruning keeps the right labels: the gradient must contrast them with the others.
  std::vector<int32_t> best;
  if (partial && !keep.all()) best = best_allowed(s, all, workspace);
  const int32_t* right = corpus_.labels.empty() || partial ? nullptr : corpus_.labels.data() + first;
  const Sums sums = label_sums(all, &weights_.factors(), keep, best.empty() ? right : best.data(), workspace.arena,
                               workspace.ngrams, most_kept(keep, T));
  if (sums.wide) return false;
  need(sums.log_z != kForbidden, "no path: no labelling keeps to the constraints");
  const double weight = corpus_.weight_of(s);
  log_z_[s] = weight * sums.log_z;
  workspace.counts.add({all, sums, workspace.ngrams, first}, weight);
  for (const Sums::Column& column : sums.columns) workspace.kept += column.labels.size();
  if (partial) subtract_allowed(s, all, sums, workspace);
  return true;
}

// Subtracts the sums over those labellings, among the kept ones, that the labels of a sentence allow: they take the
// place of the observed counts.
void BatchObjective::Evaluation::subtract_allowed(size_t s, const Lattice& all, const Sums& kept,
                                                  Workspace& workspace) {
  const size_t T = all.T, L = all.L;
  double* const nodes = workspace.arena.array<double>(times(T, L));
  std::fill(nodes, nodes + T * L, kForbidden);
  for (size_t t = 0; t < T; ++t)
    for (const int32_t y : kept.columns[t].labels)
      nodes[t * L + static_cast<size_t>(y)] = all.node(t, static_cast<size_t>(y));
  corpus_.forbid_others(s, nodes);
  const Lattice allowed = lattice(s, nodes, {}, workspace);
  const Sums sums = label_sums(allowed, &weights_.factors(), {}, nullptr, workspace.arena, workspace.ngrams);
  if (sums.log_z == kForbidden) fail_partial();
  const double weight = corpus_.weight_of(s);
  log_z_[s] -= weight * sums.log_z;
  workspace.counts.add({allowed, sums, workspace.ngrams, corpus_.first_token(s)}, -weight);
}

// Returns the best labelling that a partially labelled sentence allows.
std::vector<int32_t> BatchObjective::Evaluation::best_allowed(size_t s, const Lattice& all,
                                                              Workspace& workspace) const {
  double* const nodes = workspace.arena.array<double>(times(all.T, all.L));
  std::copy_n(all.nodes.d, all.T * all.L, nodes);
  corpus_.forbid_others(s, nodes);
  const Answer answer = fallback_decoder({}).run(lattice(s, nodes, all.allowed, workspace), {}, workspace.arena);
  if (answer.paths.empty()) fail_partial();
  return answer.paths[0].labels;
}

// Returns how many labels a sentence may keep for pruned sums to be faster than exact ones in lanes: a quarter.
size_t BatchObjective::Evaluation::most_kept(const Keep& keep, size_t T) const {
  constexpr size_t kFewLabels = 64;
  return keep.all() || corpus_.L < kFewLabels || !suits_lanes_ ? SIZE_MAX : T * (corpus_.L / 4);
}

Lattice BatchObjective::Evaluation::lattice(size_t s, const double* nodes, Allowed allowed,
                                            const Workspace& workspace) const {
  return Lattice(weights_.edges(), corpus_.length(s), {nullptr, nodes}, corpus_.sets() ? &workspace.active : nullptr, 0,
                 allowed);
}

void BatchObjective::Evaluation::fail_partial() {
  throw std::invalid_argument("no labelling has labels that y allows and keeps to the constraints");
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
      grain_(grain ? std::move(*grain) : CountGrain(corpus_)) {
  const AllowedLists& lists = options_.limits.allowed;
  need(!lists.columns() || lists.columns() == corpus_.tokens(), "allowed: there must be one list per token");
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
    const auto labels = layout.row_labels(static_cast<size_t>(corpus.features_of(token)[0]));
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

BatchSums BatchObjective::expect(std::span<const double> weights, const Keep& keep, std::span<const int32_t> sentences,
                                 size_t threads, std::span<double> counts, std::span<double> per_sentence) const {
  check(sentences);
  check_size(weights);
  check_size(counts);
  need(per_sentence.empty() || per_sentence.size() == sentences.size(), "there must be one number per sentence");
  need(threads >= 1, "threads must be at least 1");
  Evaluation evaluation(*this, weights, std::max<size_t>(1, std::min(threads, sentences.size())));
  const std::vector<int32_t> left =
      evaluation.sum(batches(sentences, keep.all() && evaluation.suits_lanes() ? kLanes : 1), keep);
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
  check(sentences);
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
  const auto add = [&](size_t at, double times) {
    if (at != kNoPlace) counts[at] += weight * times;
  };
  LabelNgrams::Node node = corpus_.length(s) ? corpus_.labels[first] : 0;
  for (size_t token = first; token < corpus_.sentence_end[s]; ++token) {
    const int32_t j = corpus_.labels[token];
    corpus_.for_each_feature(token, [&](size_t f, double value) { add(layout_.node(f, j), value); });
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
  return layout_.model_weights(corpus_, weights);
}

void BatchObjective::warm_start(const Weights& model, std::span<const int32_t> label, std::span<double> weights) const {
  check_size(weights);
  corpus_.check_known(model);
  layout_.warm_start(model, label, weights);
}

void BatchObjective::check(std::span<const int32_t> sentences) const {
  for (const int32_t s : sentences)
    need(s >= 0 && static_cast<size_t>(s) < corpus_.sentences(), "there is no sentence of this number");
}

void BatchObjective::check_size(std::span<const double> weights) const {
  need(weights.size() == layout_.size(), "there must be one number per weight");
}

}  // namespace tagwright
