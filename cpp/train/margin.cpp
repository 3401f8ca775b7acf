#include "train/margin.h"

#include <algorithm>
#include <cmath>

#include "base/arena.h"
#include "base/need.h"
#include "base/stop.h"
#include "model/attributes.h"

namespace tagwright {

MarginTrainer::MarginTrainer(Corpus corpus, WeightLayout layout, const MarginRule& rule)
    : corpus_(std::move(corpus)), layout_(std::move(layout)), rule_(rule) {
  const WeightKeys<Borrowed>& keys = layout_.keys();
  need(keys.corrections() == 0 && keys.ngrams() == 0 && layout_.parts().each == 0 && corpus_.partial.empty(),
       "these learners have weights of features and pairs of labels alone");
  const size_t L = corpus_.L;
  weights_.assign(layout_.size(), 0.0);
  sums_ = delta_ = weights_;
  if (rule_.kind == MarginRule::Kind::arow) variance_.assign(weights_.size(), rule_.variance);
  edges_.assign(times(L, L), 0.0);
  edge_place_.assign(edges_.size(), kNoPlace);
  for (size_t q = 0; q < keys.edges(); ++q) {
    edge_at_.push_back(size_t{keys.previous[q]} * L + keys.current[q]);
    edge_place_[edge_at_[q]] = layout_.first_edge() + q;
  }
}

std::vector<double> MarginTrainer::average() const {
  std::vector<double> made = weights_;
  for (size_t at = 0; at < made.size(); ++at) made[at] -= sums_[at] / visited_;
  return made;
}

double MarginTrainer::epoch(std::span<const int32_t> sentences) {
  double loss = 0;
  for (const int32_t s : sentences) {
    need(s >= 0 && static_cast<size_t>(s) < corpus_.sentences(), "no such sentence");
    check_stop();
    const auto sentence = static_cast<size_t>(s);
    const size_t T = corpus_.length(sentence);
    const std::span<const int32_t> gold = corpus_.labels.subspan(corpus_.first_token(sentence), T);
    score(sentence);
    best_.resize(T);
    best_path(edges_, corpus_.L, nodes_, best_.data(), room_);
    size_t wrong = 0;
    for (size_t t = 0; t < T; ++t) wrong += best_[t] != gold[t];
    if (wrong) {
      const double difference = path_score(best_) - path_score(gold);
      collect(sentence, gold, 1.0);
      collect(sentence, best_, -1.0);
      const double cost = step(difference, wrong);
      loss += rule_.kind == MarginRule::Kind::perceptron ? static_cast<double>(wrong) / static_cast<double>(T) : cost;
      for (const size_t at : touched_) delta_[at] = 0;
      touched_.clear();
    }
    ++visited_;
  }
  return loss;
}

void MarginTrainer::score(size_t sentence) {
  const size_t L = corpus_.L, first = corpus_.first_token(sentence), T = corpus_.length(sentence);
  nodes_.assign(times(T, L), 0.0);
  for (size_t t = 0; t < T; ++t) {
    double* const nodes = nodes_.data() + t * L;
    corpus_.for_each_feature(first + t, [&](size_t feature, float value) {
      const std::span<const uint16_t> row = layout_.row_keys(feature);
      const double* const weight = weights_.data() + layout_.row_begin(feature);
      for (size_t q = 0; q < row.size(); ++q) nodes[row[q]] += weight[q] * value;
    });
  }
}

double MarginTrainer::path_score(std::span<const int32_t> labels) const {
  double made = 0;
  for (size_t t = 0; t < labels.size(); ++t) {
    const auto y = static_cast<size_t>(labels[t]);
    if (t > 0) made += edges_[static_cast<size_t>(labels[t - 1]) * corpus_.L + y];
    made += nodes_[t * corpus_.L + y];
  }
  return made;
}

// Adds sign times the features of a labelling to delta_.
void MarginTrainer::collect(size_t sentence, std::span<const int32_t> labels, double sign) {
  const size_t first = corpus_.first_token(sentence);
  const auto add = [&](size_t at, double by) {
    if (at == kNoPlace) return;
    touched_.push_back(at);
    delta_[at] += by;
  };
  for (size_t t = 0; t < labels.size(); ++t) {
    const auto y = static_cast<size_t>(labels[t]);
    corpus_.for_each_feature(first + t,
                             [&](size_t feature, float value) { add(layout_.node(feature, y), sign * value); });
    if (t > 0) add(edge_place_[static_cast<size_t>(labels[t - 1]) * corpus_.L + y], sign);
  }
}

// Changes the weights by a multiple of delta_; returns the cost: score difference and margin.
double MarginTrainer::step(double difference, size_t wrong) {
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  const auto distance = static_cast<double>(wrong);
  switch (rule_.kind) {
    case MarginRule::Kind::perceptron: {
      for (const size_t at : touched_) change(at, delta_[at]);
      return difference;
    }
    case MarginRule::Kind::passive_aggressive: {
      const double cost = difference + (rule_.error_sensitive ? std::sqrt(distance) : 1.0), c = rule_.aggressiveness;
      double norm = 0;
      for (const size_t at : touched_) norm += delta_[at] * delta_[at];
      // No step separates labellings that have no weights of their own.
      if (norm == 0) return cost;
      const double tau = rule_.type == 1 ? std::min(c, cost / norm) : cost / (norm + (rule_.type == 2 ? 0.5 / c : 0.0));
      for (const size_t at : touched_) change(at, tau * delta_[at]);
      return cost;
    }
    case MarginRule::Kind::arow:
      break;
  }
  const double cost = difference + distance;
  double spread = rule_.gamma;
  for (const size_t at : touched_) spread += delta_[at] * delta_[at] * variance_[at];
  for (const size_t at : touched_) {
    change(at, cost / spread * variance_[at] * delta_[at]);
    variance_[at] = 1 / (1 / variance_[at] + delta_[at] * delta_[at] / rule_.gamma);
  }
  return cost;
}

void MarginTrainer::change(size_t at, double by) {
  weights_[at] += by;
  sums_[at] += visited_ * by;
  if (at >= layout_.first_edge()) edges_[edge_at_[at - layout_.first_edge()]] += by;
}

}  // namespace tagwright
