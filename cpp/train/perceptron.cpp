#include "train/perceptron.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/need.h"
#include "base/stop.h"
#include "base/thread_pool.h"

namespace tagwright {
namespace {

// Weights are small whole numbers, so many labellings have the same score; which of them a decoder returns is its
// own affair. For training not to depend on the decoder, every node has a preference of its own: far too small to
// outweigh a whole point, frequent labels first, otherwise random. Its last bit is 2^-36, so that sums of whole
// numbers up to 2^16 and preferences are exact.
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
  std::vector<uint64_t> met = corpus.pairs_met().edges;
  for (const auto& [i, j] : corpus.open_pairs()) met.push_back(Corrections::pair(i, j));
  std::sort(met.begin(), met.end());
  const size_t pairs = static_cast<size_t>(std::unique(met.begin(), met.end()) - met.begin());
  // Wrong guesses give weights to about half as many pairs again.
  return choose_edge_form(corpus.L, pairs + pairs / 2, EdgeUse::kTraining);
}

}  // namespace

Perceptron::Perceptron(Corpus corpus, std::vector<uint16_t> parts, const PerceptronOptions& options)
    : options_(options),
      corpus_(std::move(corpus)),
      part_of_(std::move(parts)),
      parts_(Parts::of_array(part_of_, corpus_.L)),
      runs_(corpus_, options_.runs),
      ties_(tie_preferences(corpus_.L)) {
  need(parts_.keys() <= kMostLabels, "a model has between 1 and 65,535 labels, their parts included");
  parts_.check();
  need(options_.margin >= 0 && options_.margin <= 1e6, "margin must be between 0 and 1,000,000");
  weights_.nodes.reset(corpus_.features());
  weights_.edges.reset(corpus_.L);
  weights_.sets.reset(corpus_.sets());
  need(!options_.allowed.columns() || options_.allowed.columns() == corpus_.labels.size(),
       "allowed: one list per token");
  current_ = std::make_unique<MutableEdges>(corpus_.L, form_for(corpus_, options_.dense_edges), corpus_.sets(),
                                            options_.rules);
  hold_runs();
  if (!options_.all_pairs) observe();
  need(options_.batch >= 1, "batch must be at least 1");
  whole_numbers_ = std::has_single_bit(options_.batch) && is_whole(options_.margin);
  note_sizes();
}

// Makes entries of weight 0 for the (feature, label) pairs that the corpus has, and for the labels' parts, those of a
// feature beside each other, so that its row is made once; then for the pairs of labels.
void Perceptron::observe() {
  const LabelsMet met = corpus_.met();
  for (size_t f = 0, at = 0; f < met.end.size(); ++f)
    for (; at < met.end[f]; ++at) observe_node(f, met.label[at]);
  observe_steps();
}

void Perceptron::observe_node(size_t f, uint16_t y) {
  const size_t L = corpus_.L;
  weights_.nodes.find_or_add(f, y);
  for (size_t k = 0; k < parts_.each; ++k)
    weights_.nodes.find_or_add(f, static_cast<uint16_t>(L + parts_.of[k * L + y]));
}

void Perceptron::observe_steps() {
  corpus_.for_each_step([&](size_t token, int32_t i, int32_t j) {
    if (options_.edges) weights_.edges.find_or_add(static_cast<size_t>(i), static_cast<uint16_t>(j));
    for (const int32_t set : corpus_.sets_of(token))
      weights_.sets.find_or_add(static_cast<size_t>(set), Corrections::pair(i, j));
  });
  for (const auto& [i, j] : corpus_.open_pairs())
    if (options_.edges) weights_.edges.find_or_add(static_cast<size_t>(i), static_cast<uint16_t>(j));
}

void Perceptron::hold_runs() {
  weights_.run_weight.assign(runs_.size(), 0.0F);
  weights_.run_sum.assign(runs_.size(), 0.0);
  current_->hold_ngrams(runs_.labels());
  if (current_->ngrams()) runs_.place(*current_->ngrams());
}

void Perceptron::extend(Corpus corpus) {
  need(corpus.L == corpus_.L && corpus.features() >= corpus_.features() && corpus.sets() == corpus_.sets(),
       "a corpus with other labels, or fewer features");
  corpus_ = std::move(corpus);
  note_sizes();
  weights_.nodes.grow(corpus_.features());
  if (options_.all_pairs) return;
  corpus_.for_each_met([&](size_t f, uint16_t y) { observe_node(f, y); });
  observe_steps();
}

void Perceptron::score(size_t first, size_t T, double* nodes, Arena& arena) {
  const size_t L = corpus_.L, keys = parts_.keys();
  const auto whole = [&](size_t f) { return is_large(weights_.nodes.size(f), keys) ? whole_row(f) : nullptr; };
  const auto sum = [&](size_t token, auto* out) {
    const size_t begin = corpus_.node.begin(token);
    const auto value = [&](size_t n) { return corpus_.node.value_of(begin + n); };
    add_rows(weights_.nodes, corpus_.features_of(token), value, whole, keys, out);
    if (parts_.each) parts_.add_to_labels(out);
  };
  double* const scores = arena.array<double>(keys);  // of one token
  float* const single = arena.array<float>(keys);    // the same, without preferences
  for (size_t t = 0; t < T; ++t) {
    double* const out = nodes + t * L;
    const double* const ties = ties_.data() + t % kTieRows * L;
    if (sums_fit_float()) {
      std::fill(single, single + keys, 0.0F);
      sum(first + t, single);
      for (size_t y = 0; y < L; ++y) out[y] = ties[y] + static_cast<double>(single[y]);
      for (const int32_t y : corpus_.allowed_of(first + t)) out[y] -= options_.margin;
      continue;
    }
    std::copy(ties, ties + L, scores);
    std::fill(scores + L, scores + keys, 0.0);
    for (const int32_t y : corpus_.allowed_of(first + t)) scores[y] -= options_.margin;
    sum(first + t, scores);
    std::copy_n(scores, L, out);
  }
}

// Whether this is a multiple of what a sentence of a batch changes weights by.
bool Perceptron::is_whole(double weight) const {
  const double times = weight * static_cast<double>(options_.batch);
  return times == std::trunc(times);
}

// Sums of whole numbers are exact in single precision, too, as long as they stay below 2^24.
bool Perceptron::sums_fit_float() const {
  return whole_numbers_ && largest_ * most_added_ * static_cast<double>(options_.batch) < 0x1p24;
}

void Perceptron::note_sizes() {
  whole_numbers_ = whole_numbers_ && corpus_.node.value.empty();
  size_t most = 0;
  for (size_t s = 0; s < corpus_.sentences(); ++s) {
    const size_t first = corpus_.first_token(s), end = first + corpus_.length(s);
    for (size_t token = first; token < end; ++token) most = std::max(most, corpus_.features_of(token).size());
    corpus_.visit();
  }
  most_added_ = static_cast<double>(most * (1 + parts_.each));
}

void Perceptron::note_size(float weight) {
  whole_numbers_ = whole_numbers_ && is_whole(static_cast<double>(weight));
  largest_ = std::max(largest_, std::fabs(static_cast<double>(weight)));
}

Perceptron::Seen Perceptron::run(std::span<const int32_t> sentences, const Plan& plan, const Corpus* from,
                                 size_t threads) {
  const ReadingFrom reading(corpus_, from);
  for (const int32_t s : sentences) need(s >= 0 && static_cast<size_t>(s) < corpus_.sentences(), "no such sentence");
  plan.decoder->need_ngrams(*current_);
  Seen seen;
  const size_t batch = std::min(options_.batch, std::max<size_t>(1, sentences.size()));
  if (workspaces_.size() < batch) workspaces_.resize(batch);
  const Trimmed trimmed(thread_arena(), size_t{64} << 20);
  ThreadPool pool(std::clamp<size_t>(threads, 1, batch));
  for (size_t at = 0; at < sentences.size(); at += batch) {
    const std::span<const int32_t> own = sentences.subspan(at, std::min(batch, sentences.size() - at));
    check_stop();
    for (const int32_t s : own) {
      corpus_.visit();
      if (own.size() > 1) make_whole_rows(static_cast<size_t>(s));
    }
    pool.each(own.size(), [&](size_t n) { decode(static_cast<size_t>(own[n]), plan, workspaces_[n]); });
    for (size_t n = 0; n < own.size(); ++n) {
      const size_t s = static_cast<size_t>(own[n]), first = corpus_.first_token(s), T = corpus_.length(s);
      const Workspace& workspace = workspaces_[n];
      seen.tokens += T;
      seen.errors += workspace.errors;
      seen.wrong_sentences += workspace.errors > 0;
      seen.work += workspace.work;
      const auto by = static_cast<float>(corpus_.weight_of(s) / static_cast<double>(options_.batch));
      if (!workspace.right.empty()) update(first, T, workspace.right.data(), workspace.predicted.data(), by);
    }
    weights_.seen += static_cast<double>(own.size());
  }
  return seen;
}

void Perceptron::decode(size_t s, const Plan& plan, Workspace& workspace) {
  const size_t first = corpus_.first_token(s), T = corpus_.length(s);
  workspace.right.clear();
  workspace.errors = 0;
  workspace.work = {};
  if (T == 0) return;
  Arena& arena = thread_arena();
  arena.reset();
  double* nodes = arena.array<double>(times(T, corpus_.L));
  score(first, T, nodes, arena);
  if (corpus_.sets()) corpus_.sets_on(s, workspace.on);
  const Allowed allowed = options_.allowed.columns() ? options_.allowed.view(corpus_.place_of(s)) : Allowed{};
  const auto best = [&] {
    const Lattice lattice(*current_, T, {nullptr, nodes}, corpus_.sets() ? &workspace.on : nullptr, 0, allowed);
    return plan.decoder->lists ? plan.decoder->decode(lattice, plan.options, arena)
                               : unlisted(plan.decoder->decode, lattice, plan.options, arena);
  };
  Answer answer = best();
  need(!answer.paths.empty(),
       "sentence " + std::to_string(corpus_.number_of(s)) + ": the constraints leave no labelling");
  workspace.predicted = std::move(answer.paths[0].labels);
  workspace.work = answer.work;
  for (size_t t = 0; t < T; ++t) workspace.errors += !corpus_.may_have(first + t, workspace.predicted[t]);
  if (!workspace.errors) return;
  if (!corpus_.is_partial(s)) {
    workspace.right.assign(corpus_.labels.data() + first, corpus_.labels.data() + first + T);
    return;
  }
  corpus_.forbid_others(s, nodes);
  Answer right = best();
  if (right.paths.empty()) throw std::invalid_argument(no_known_labelling(corpus_.number_of(s)));
  workspace.right = std::move(right.paths[0].labels);
}

void Perceptron::update(size_t first, size_t T, const int32_t* labels, const int32_t* predicted, float by) {
  for (size_t t = 0; t < T; ++t) {
    const size_t token = first + t;
    const int32_t right = labels[t], wrong = predicted[t];
    if (right != wrong) change_nodes(token, right, wrong, by);
    if (t == 0 || (right == wrong && labels[t - 1] == predicted[t - 1])) continue;
    change_edge(token, labels[t - 1], right, by);
    change_edge(token, predicted[t - 1], wrong, -by);
  }
  if (!runs_.empty()) change_runs(T, labels, predicted, by);
}

void Perceptron::change_runs(size_t T, const int32_t* labels, const int32_t* predicted, float by) {
  const LabelNgrams& ngrams = *current_->ngrams();
  const auto change = [&](LabelNgrams::Node at, LabelNgrams::Node other, float own) {
    runs_.for_each_ending(ngrams, at, [&](size_t q) {
      if (runs_.node(q) == other || runs_.node(q) == ngrams.suffix(other)) return;  // ends both
      weights_.change_run(q, own);
      current_->change_ngram(runs_.node(q), static_cast<double>(weights_.run_weight[q]));
    });
  };
  LabelNgrams::Node right = labels[0], wrong = predicted[0];
  for (size_t t = 1; t < T; ++t) {
    right = ngrams.next(right, labels[t]);
    wrong = ngrams.next(wrong, predicted[t]);
    if (right == wrong) continue;
    change(right, wrong, by);
    change(wrong, right, -by);
  }
}

void Perceptron::change_nodes(size_t token, int32_t right, int32_t wrong, float by) {
  change_node(token, static_cast<size_t>(right), by);
  change_node(token, static_cast<size_t>(wrong), -by);
  for (size_t k = 0; k < parts_.each; ++k) {
    const size_t L = corpus_.L;
    const uint16_t add = parts_.of[k * L + static_cast<size_t>(right)];
    const uint16_t take = parts_.of[k * L + static_cast<size_t>(wrong)];
    if (add == take) continue;
    change_node(token, L + add, by);
    change_node(token, L + take, -by);
  }
}

void Perceptron::change_node(size_t token, size_t key, float by) {
  corpus_.for_each_feature(token, [&](size_t f, float value) {
    const double change = static_cast<double>(by) * value;
    const size_t entry = weights_.change(weights_.nodes, f, static_cast<uint16_t>(key), change, options_.all_pairs);
    if (entry == kNoPlace) return;
    const float weight = weights_.nodes.at<0>(entry);
    note_size(weight);
    note_change(f, key, weight);
  });
}

const float* Perceptron::whole_row(size_t f) {
  if (const auto found = whole_.find(f); found != whole_.end()) return found->second.data();
  std::vector<float>& row = whole_[f];
  row.assign(parts_.keys(), 0.0F);
  set_row(weights_.nodes, f, row.data());
  return row.data();
}

// Threads that decode may then look them up side by side.
void Perceptron::make_whole_rows(size_t s) {
  for (size_t t = 0; t < corpus_.length(s); ++t)
    for (const auto f : corpus_.features_of(corpus_.first_token(s) + t))
      if (is_large(weights_.nodes.size(f), parts_.keys())) whole_row(f);
}

void Perceptron::note_change(size_t f, size_t key, float weight) {
  if (!is_large(weights_.nodes.size(f), parts_.keys())) return;
  if (const auto found = whole_.find(f); found != whole_.end()) found->second[key] = weight;
}

void Perceptron::change_edge(size_t token, int32_t i, int32_t j, float by) {
  const size_t from = static_cast<size_t>(i), to = static_cast<size_t>(j);
  if (options_.edges) {
    const size_t entry = weights_.change(weights_.edges, from, static_cast<uint16_t>(j), by, options_.all_pairs);
    if (entry != kNoPlace) current_->change(from, to, weights_.edges.at<0>(entry));
  }
  for (const int32_t id : corpus_.sets_of(token)) {
    const size_t set = static_cast<size_t>(id);
    const size_t entry = weights_.change(weights_.sets, set, Corrections::pair(i, j), by, options_.all_pairs);
    if (entry != kNoPlace) current_->change_correction(set, from, to, weights_.sets.at<0>(entry));
  }
}

void Perceptron::set_node(size_t feature, size_t key, float w, double u) {
  weights_.set(weights_.nodes, feature, static_cast<uint16_t>(key), w, u);
  note_size(w);
  note_change(feature, key, w);
}

void Perceptron::set_edge(size_t i, size_t j, float w, double u) {
  weights_.set(weights_.edges, i, static_cast<uint16_t>(j), w, u);
  current_->change(i, j, w);
}

void Perceptron::set_pair(size_t set, size_t i, size_t j, float w, double u) {
  weights_.set(weights_.sets, set, Corrections::pair(static_cast<int32_t>(i), static_cast<int32_t>(j)), w, u);
  current_->change_correction(set, i, j, w);
}

void Perceptron::set_run(size_t q, float w, double u) {
  weights_.run_weight[q] = w;
  weights_.run_sum[q] = u;
  current_->change_ngram(runs_.node(q), static_cast<double>(w));
}

void Perceptron::start_from(const Weights& old, std::span<const int32_t> label) {
  corpus_.check_known(old);
  const std::vector<uint16_t> renamed = old.renamed_keys(label, parts_);
  runs_.add(old, renamed);
  hold_runs();
  old.for_each_ngram(renamed, [&](const auto& run, float w) { set_run(runs_.find(run), w, 0); });
  old.each(
      renamed, [&](size_t f, uint16_t key, float w) { set_node(f, key, w, 0); },
      [&](uint16_t i, uint16_t j, float w) { set_edge(i, j, w, 0); },
      [&](size_t set, uint16_t i, uint16_t j, float w) { set_pair(set, i, j, w, 0); });
}

void Perceptron::restore(double seen, const State<Borrowed>& state) {
  need(std::isfinite(seen) && seen >= 0, "state: sentences seen must be a number");
  const auto each = [](const OldStateArrays<Borrowed>& a, auto&& take) {
    need(a.key.size() == a.row.size() && a.weight.size() == a.row.size() && a.sum.size() == a.row.size(),
         "state: arrays of unequal length");
    for (size_t q = 0; q < a.row.size(); ++q) {
      need(std::isfinite(a.weight[q]) && std::isfinite(a.sum[q]), "state: a weight that is not finite");
      take(a.row[q], a.key[q], a.weight[q], a.sum[q]);
    }
  };
  const size_t L = corpus_.L;
  each(state[0], [&](size_t f, uint64_t key, float w, double u) {
    need(f < corpus_.features() && key < parts_.keys(), "state: a weight for a feature or label that is not there");
    set_node(f, key, w, u);
  });
  each(state[1], [&](size_t i, uint64_t j, float w, double u) {
    need(i < L && j < L, "state: an edge between labels that are not there");
    set_edge(i, j, w, u);
  });
  each(state[2], [&](size_t set, uint64_t pair, float w, double u) {
    const auto i = static_cast<size_t>(pair >> 32), j = static_cast<size_t>(pair & 0xffffffffU);
    need(set < corpus_.sets() && i < L && j < L, "state: a correction that is not there");
    set_pair(set, i, j, w, u);
  });
  each(state[3], [&](size_t, uint64_t run, float w, double u) {
    const size_t q = runs_.find_packed(run);
    need(q != kNoPlace, "state: a ngram that is not there");
    set_run(q, w, u);
  });
  weights_.seen = seen;
}

}  // namespace tagwright
