#include "train/perceptron.h"

#include <algorithm>
#include <cmath>

#include "model/weight_rows.h"

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

EdgeForm form_for(const Encoded& corpus, std::span<const int32_t> labels, size_t L) {
  std::vector<uint64_t> met;
  for (size_t s = 0; s < corpus.sentences(); ++s)
    for (size_t token = corpus.first_token(s) + 1; token < corpus.sentence_end[s]; ++token)
      met.push_back(Corrections::pair(labels[token - 1], labels[token]));
  std::sort(met.begin(), met.end());
  const size_t pairs = static_cast<size_t>(std::unique(met.begin(), met.end()) - met.begin());
  // Wrong guesses give weights to about half as many pairs again.
  return choose_edge_form(L, pairs + pairs / 2, EdgeUse::kTraining);
}

}  // namespace

Perceptron::Perceptron(Encoded corpus, std::vector<int32_t> labels, size_t node_features, size_t edge_features,
                       std::vector<uint16_t> parts, const PerceptronOptions& options)
    : options_(options),
      corpus_(std::move(corpus)),
      labels_(std::move(labels)),
      part_of_(std::move(parts)),
      parts_{options.L, options.parts, options.parts_each, part_of_},
      scores_(parts_.keys()),
      ties_(tie_preferences(options.L)) {
  parts_.check();
  const size_t L = options_.L;
  nodes_.reset(node_features);
  edges_.reset(L);
  sets_.reset(edge_features);
  const EdgeForm form = options_.edge_form ? *options_.edge_form : form_for(corpus_, labels_, L);
  current_ = std::make_unique<ChangingEdges>(L, form, edge_features);
  if (options_.all_pairs) return;
  observe();
  for (size_t s = 0; s < corpus_.sentences(); ++s) {
    for (size_t token = corpus_.first_token(s) + 1; token < corpus_.sentence_end[s]; ++token) {
      const int32_t i = labels_[token - 1], j = labels_[token];
      if (options_.edges) edges_.find_or_add(static_cast<size_t>(i), static_cast<uint16_t>(j));
      for (size_t at = corpus_.edge.begin(token); at < corpus_.edge.end[token]; ++at)
        sets_.find_or_add(static_cast<size_t>(corpus_.edge.id[at]), Corrections::pair(i, j));
    }
  }
}

// Makes entries of weight 0 for the (feature, label) pairs that the corpus has, and for the labels' parts: those of a
// feature beside each other, so that its row is made once.
void Perceptron::observe() {
  const size_t L = options_.L;
  const LabelsMet met = labels_met(corpus_.node, labels_, nodes_.rows());
  for (size_t f = 0, at = 0; f < met.end.size(); ++f) {
    for (; at < met.end[f]; ++at) {
      const uint16_t y = met.label[at];
      nodes_.find_or_add(f, y);
      for (size_t k = 0; k < parts_.each; ++k) nodes_.find_or_add(f, static_cast<uint16_t>(L + parts_.of[k * L + y]));
    }
  }
}

void Perceptron::score(size_t first, size_t T, double* nodes) {
  const size_t L = options_.L;
  for (size_t t = 0; t < T; ++t) {
    double* out = parts_.each ? scores_.data() : nodes + t * L;
    const double* ties = ties_.data() + t % kTieRows * L;
    std::copy(ties, ties + L, out);
    if (parts_.each) std::fill(out + L, out + parts_.keys(), 0.0);
    out[labels_[first + t]] -= options_.margin;
    const size_t begin = corpus_.node.begin(first + t), end = corpus_.node.end[first + t];
    constexpr size_t kAhead = 4;
    for (size_t at = begin; at < end; ++at) {
      if (at + kAhead < end) nodes_.prefetch(static_cast<size_t>(corpus_.node.id[at + kAhead]));
      const size_t f = static_cast<size_t>(corpus_.node.id[at]);
      const double value = corpus_.node.value_of(at);
      if (is_large(nodes_.size(f), parts_.keys())) {
        add_whole(whole_row(f), value, parts_.keys(), out);
      } else {
        add_sparse(nodes_.keys(f), nodes_.values<0>(f), value, out);
      }
    }
    if (parts_.each == 0) continue;
    parts_.add_to_labels(out);
    std::copy(out, out + L, nodes + t * L);
  }
}

Perceptron::Seen Perceptron::run(std::span<const int32_t> sentences, const Decoder& decoder, const Options& options) {
  Seen seen;
  std::vector<std::vector<int32_t>> on;
  for (const int32_t s : sentences) {
    const size_t first = corpus_.first_token(static_cast<size_t>(s));
    const size_t T = corpus_.sentence_end[static_cast<size_t>(s)] - first;
    seen.tokens += T;
    if (T > 0) {
      arena_.reset();
      double* nodes = arena_.array<double>(times(T, options_.L));
      score(first, T, nodes);
      if (sets_.rows()) {
        on.assign(T - 1, {});
        for (size_t t = 1; t < T; ++t)
          on[t - 1].assign(corpus_.edge.id.begin() + static_cast<ptrdiff_t>(corpus_.edge.begin(first + t)),
                           corpus_.edge.id.begin() + static_cast<ptrdiff_t>(corpus_.edge.end[first + t]));
      }
      const Lattice lattice(*current_, T, {nullptr, nodes}, sets_.rows() ? &on : nullptr);
      const Answer answer = decoder.decode(lattice, options, arena_);
      const std::vector<int32_t>& predicted = answer.paths.at(0).labels;
      size_t errors = 0;
      for (size_t t = 0; t < T; ++t) errors += predicted[t] != labels_[first + t];
      seen.errors += errors;
      seen.wrong_sentences += errors > 0;
      seen.work.rounds += answer.work.rounds;
      seen.work.nodes += answer.work.nodes;
      seen.work.edges += answer.work.edges;
      if (errors) update(first, T, predicted.data());
    }
    ++seen_;
  }
  arena_.trim(size_t{64} << 20);
  return seen;
}

void Perceptron::update(size_t first, size_t T, const int32_t* predicted) {
  for (size_t t = 0; t < T; ++t) {
    const size_t token = first + t;
    const int32_t right = labels_[token], wrong = predicted[t];
    if (right != wrong) change_nodes(token, right, wrong);
    if (t == 0 || (right == wrong && labels_[token - 1] == predicted[t - 1])) continue;
    change_edge(token, labels_[token - 1], right, 1.0F);
    change_edge(token, predicted[t - 1], wrong, -1.0F);
  }
}

// The entry, its weight and u changed; kNoPlace where it is none and none may be made.
template <class AnyRows, class Key>
size_t Perceptron::touch(AnyRows& rows, size_t row, Key key, double by) {
  const size_t entry = options_.all_pairs ? rows.find_or_add(row, key) : rows.find(row, key);
  if (entry == AnyRows::kNoPlace) return entry;
  rows.template at<0>(entry) += static_cast<float>(by);
  rows.template at<1>(entry) += seen_ * by;
  return entry;
}

void Perceptron::change_nodes(size_t token, int32_t right, int32_t wrong) {
  change_node(token, static_cast<size_t>(right), 1.0F);
  change_node(token, static_cast<size_t>(wrong), -1.0F);
  for (size_t k = 0; k < parts_.each; ++k) {
    const size_t L = options_.L;
    const uint16_t add = parts_.of[k * L + static_cast<size_t>(right)];
    const uint16_t take = parts_.of[k * L + static_cast<size_t>(wrong)];
    if (add == take) continue;
    change_node(token, L + add, 1.0F);
    change_node(token, L + take, -1.0F);
  }
}

void Perceptron::change_node(size_t token, size_t key, float by) {
  for (size_t at = corpus_.node.begin(token); at < corpus_.node.end[token]; ++at) {
    const size_t f = static_cast<size_t>(corpus_.node.id[at]);
    const double change = static_cast<double>(by) * corpus_.node.value_of(at);
    const size_t entry = touch(nodes_, f, static_cast<uint16_t>(key), change);
    if (entry != Rows::kNoPlace) note_change(f, key, nodes_.at<0>(entry));
  }
}

const float* Perceptron::whole_row(size_t f) {
  const auto [found, fresh] = whole_.try_emplace(f);
  if (fresh) {
    found->second.assign(parts_.keys(), 0.0F);
    for (size_t q = 0; q < nodes_.size(f); ++q) found->second[nodes_.keys(f)[q]] = nodes_.values<0>(f)[q];
  }
  return found->second.data();
}

void Perceptron::note_change(size_t f, size_t key, float weight) {
  if (!is_large(nodes_.size(f), parts_.keys())) return;
  if (const auto found = whole_.find(f); found != whole_.end()) found->second[key] = weight;
}

void Perceptron::change_edge(size_t token, int32_t i, int32_t j, float by) {
  const size_t from = static_cast<size_t>(i), to = static_cast<size_t>(j);
  if (options_.edges) {
    const size_t entry = touch(edges_, from, static_cast<uint16_t>(j), by);
    if (entry != Rows::kNoPlace) current_->change(from, to, edges_.at<0>(entry));
  }
  for (size_t at = corpus_.edge.begin(token); at < corpus_.edge.end[token]; ++at) {
    const size_t set = static_cast<size_t>(corpus_.edge.id[at]);
    const size_t entry = touch(sets_, set, Corrections::pair(i, j), by);
    if (entry != PairRows::kNoPlace) current_->change_correction(set, from, to, sets_.at<0>(entry));
  }
}

void Perceptron::set_node(size_t feature, size_t label, float weight, double sum) {
  const size_t entry = nodes_.find_or_add(feature, static_cast<uint16_t>(label));
  nodes_.at<0>(entry) = weight;
  nodes_.at<1>(entry) = sum;
  note_change(feature, label, weight);
}

void Perceptron::set_edge(size_t i, size_t j, float weight, double sum) {
  const size_t entry = edges_.find_or_add(i, static_cast<uint16_t>(j));
  edges_.at<0>(entry) = weight;
  edges_.at<1>(entry) = sum;
  current_->change(i, j, weight);
}

void Perceptron::set_pair(size_t set, size_t i, size_t j, float weight, double sum) {
  const size_t entry = sets_.find_or_add(set, Corrections::pair(static_cast<int32_t>(i), static_cast<int32_t>(j)));
  sets_.at<0>(entry) = weight;
  sets_.at<1>(entry) = sum;
  current_->change_correction(set, i, j, weight);
}

}  // namespace tagwright
