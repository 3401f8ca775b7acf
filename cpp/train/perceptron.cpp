#include "train/perceptron.h"

#include <algorithm>
#include <cmath>

#include "base/need.h"
#include "base/stop.h"

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
  std::vector<uint64_t> met;
  corpus.each_step([&](size_t, int32_t i, int32_t j) { met.push_back(Corrections::pair(i, j)); });
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
      scores_(parts_.keys()),
      single_(parts_.keys()),
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
  current_ = std::make_unique<ChangingEdges>(corpus_.L, form_for(corpus_, options_.dense_edges), corpus_.sets(),
                                             options_.rules);
  hold_runs();
  if (!options_.all_pairs) observe();
  whole_numbers_ = corpus_.node.value.empty() && options_.margin == std::trunc(options_.margin);
  size_t most = 0;
  for (size_t token = 0; token < corpus_.node.end.size(); ++token)
    most = std::max(most, corpus_.features_of(token).size());
  most_added_ = static_cast<double>(most * (1 + parts_.each));
}

// Makes entries of weight 0 for the (feature, label) pairs that the corpus has, and for the labels' parts, those of a
// feature beside each other, so that its row is made once; then for the pairs of labels.
void Perceptron::observe() {
  const size_t L = corpus_.L;
  const LabelsMet met = corpus_.met();
  for (size_t f = 0, at = 0; f < met.end.size(); ++f) {
    for (; at < met.end[f]; ++at) {
      const uint16_t y = met.label[at];
      weights_.nodes.find_or_add(f, y);
      for (size_t k = 0; k < parts_.each; ++k)
        weights_.nodes.find_or_add(f, static_cast<uint16_t>(L + parts_.of[k * L + y]));
    }
  }
  corpus_.each_step([&](size_t token, int32_t i, int32_t j) {
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
  current_->hold_patterns(runs_.labels());
  if (current_->patterns()) runs_.place(*current_->patterns());
}

void Perceptron::score(size_t first, size_t T, double* nodes) {
  const size_t L = corpus_.L, keys = parts_.keys();
  const auto whole = [&](size_t f) { return is_large(weights_.nodes.size(f), keys) ? whole_row(f) : nullptr; };
  const auto sum = [&](size_t token, auto* out) {
    const size_t begin = corpus_.node.begin(token);
    const auto value = [&](size_t n) { return corpus_.node.value_of(begin + n); };
    add_rows(weights_.nodes, corpus_.features_of(token), value, whole, keys, out);
    if (parts_.each) parts_.add_to_labels(out);
  };
  for (size_t t = 0; t < T; ++t) {
    double* const out = nodes + t * L;
    const double* const ties = ties_.data() + t % kTieRows * L;
    if (sums_fit_float()) {
      std::fill(single_.begin(), single_.end(), 0.0F);
      sum(first + t, single_.data());
      for (size_t y = 0; y < L; ++y) out[y] = ties[y] + static_cast<double>(single_[y]);
      for (const int32_t y : corpus_.allowed_of(first + t)) out[y] -= options_.margin;
      continue;
    }
    std::copy(ties, ties + L, scores_.data());
    std::fill(scores_.begin() + static_cast<ptrdiff_t>(L), scores_.end(), 0.0);
    for (const int32_t y : corpus_.allowed_of(first + t)) scores_[static_cast<size_t>(y)] -= options_.margin;
    sum(first + t, scores_.data());
    std::copy_n(scores_.data(), L, out);
  }
}

// Sums of whole numbers are exact in single precision, too, as long as they stay below 2^24.
bool Perceptron::sums_fit_float() const { return whole_numbers_ && largest_ * most_added_ < 0x1p24; }

void Perceptron::note_size(float weight) {
  whole_numbers_ = whole_numbers_ && weight == std::trunc(weight);
  largest_ = std::max(largest_, std::fabs(static_cast<double>(weight)));
}

Perceptron::Seen Perceptron::run(std::span<const int32_t> sentences, const Plan& plan) {
  for (const int32_t s : sentences) need(s >= 0 && static_cast<size_t>(s) < corpus_.sentences(), "no such sentence");
  plan.decoder->need_patterns(*current_);
  Seen seen;
  std::vector<std::vector<int32_t>> on;
  for (const int32_t s : sentences) {
    const size_t first = corpus_.first_token(static_cast<size_t>(s)), T = corpus_.length(static_cast<size_t>(s));
    check_stop();
    seen.tokens += T;
    if (T > 0) {
      arena_.reset();
      double* nodes = arena_.array<double>(times(T, corpus_.L));
      score(first, T, nodes);
      if (corpus_.sets()) corpus_.sets_on(static_cast<size_t>(s), on);
      const Allowed allowed = options_.allowed.columns() ? options_.allowed.view(first) : Allowed{};
      const Lattice lattice(*current_, T, {nullptr, nodes}, corpus_.sets() ? &on : nullptr, 0, allowed);
      const auto best = [&](const Lattice& of) {
        return plan.decoder->lists ? plan.decoder->decode(of, plan.options, arena_)
                                   : unlisted(plan.decoder->decode, of, plan.options, arena_);
      };
      const Answer answer = best(lattice);
      need(!answer.paths.empty(), "sentence " + std::to_string(s) + ": the constraints leave no labelling");
      const std::vector<int32_t>& predicted = answer.paths.at(0).labels;
      size_t errors = 0;
      for (size_t t = 0; t < T; ++t) errors += !corpus_.may_have(first + t, predicted[t]);
      seen.errors += errors;
      seen.wrong_sentences += errors > 0;
      seen.work += answer.work;
      const auto by = static_cast<float>(corpus_.weight_of(static_cast<size_t>(s)));
      if (errors && !corpus_.is_partial(static_cast<size_t>(s))) {
        update(first, T, corpus_.labels.data() + first, predicted.data(), by);
      } else if (errors) {
        corpus_.forbid_others(static_cast<size_t>(s), nodes);
        const Answer right = best(Lattice(*current_, T, {nullptr, nodes}, corpus_.sets() ? &on : nullptr, 0, allowed));
        if (right.paths.empty()) throw std::invalid_argument(no_known_labelling(static_cast<size_t>(s)));
        update(first, T, right.paths[0].labels.data(), predicted.data(), by);
      }
    }
    ++weights_.seen;
  }
  arena_.trim(size_t{64} << 20);
  return seen;
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
  const Patterns& patterns = *current_->patterns();
  const auto change = [&](Patterns::Node at, Patterns::Node other, float own) {
    runs_.each_ending(patterns, at, [&](size_t q) {
      if (runs_.node(q) == other || runs_.node(q) == patterns.suffix(other)) return;  // ends both
      weights_.change_run(q, own);
      current_->change_pattern(runs_.node(q), static_cast<double>(weights_.run_weight[q]));
    });
  };
  Patterns::Node right = labels[0], wrong = predicted[0];
  for (size_t t = 1; t < T; ++t) {
    right = patterns.next(right, labels[t]);
    wrong = patterns.next(wrong, predicted[t]);
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
  corpus_.each_feature(token, [&](size_t f, float value) {
    const double change = static_cast<double>(by) * value;
    const size_t entry = weights_.change(weights_.nodes, f, static_cast<uint16_t>(key), change, options_.all_pairs);
    if (entry == kNoPlace) return;
    const float weight = weights_.nodes.at<0>(entry);
    note_size(weight);
    note_change(f, key, weight);
  });
}

const float* Perceptron::whole_row(size_t f) {
  const auto [found, fresh] = whole_.try_emplace(f);
  if (fresh) {
    found->second.assign(parts_.keys(), 0.0F);
    set_row(weights_.nodes, f, found->second.data());
  }
  return found->second.data();
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
  current_->change_pattern(runs_.node(q), static_cast<double>(w));
}

void Perceptron::start_from(const Weights& old, std::span<const int32_t> label) {
  corpus_.check_known(old);
  const std::vector<uint16_t> renamed = old.renamed_keys(label, parts_);
  runs_.add(old, renamed);
  hold_runs();
  old.each_pattern(renamed, [&](const auto& run, float w) { set_run(runs_.find(run), w, 0); });
  old.each(
      renamed, [&](size_t f, uint16_t key, float w) { set_node(f, key, w, 0); },
      [&](uint16_t i, uint16_t j, float w) { set_edge(i, j, w, 0); },
      [&](size_t set, uint16_t i, uint16_t j, float w) { set_pair(set, i, j, w, 0); });
}

void Perceptron::restore(double seen, const State<Borrowed>& state) {
  need(std::isfinite(seen) && seen >= 0, "state: sentences seen must be a number");
  const auto each = [](const StateArrays<Borrowed>& a, auto&& take) {
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
    need(q != kNoPlace, "state: a pattern that is not there");
    set_run(q, w, u);
  });
  weights_.seen = seen;
}

}  // namespace tagwright
