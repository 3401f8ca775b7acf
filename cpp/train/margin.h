// Online learners with one weight vector in double precision over a given layout, as CRFsuite defines them: averaged
// perceptron (Collins 2002), passive aggressive (Crammer et al. 2006) and AROW (Mejer and Crammer 2010). The weights
// are those of the layout and no others, and every sentence is decoded by Viterbi; for large label sets, trainer.h is
// faster.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/corpus.h"
#include "train/crf/weight_layout.h"

namespace tagwright {

struct MarginRule {
  enum class Kind : uint8_t { perceptron, passive_aggressive, arow };
  Kind kind = Kind::perceptron;
  int type = 1;                 // of passive aggressive: without slack, or PA-I or PA-II
  double aggressiveness = 1;    // the largest step of PA-I, the slack of PA-II
  bool error_sensitive = true;  // whether the margin is the root of the number of wrong labels, or 1
  double variance = 1;          // of every weight, in the beginning
  double gamma = 1;             // how much a step changes weights and variances
};

class MarginTrainer {
 public:
  // The layout has rows and edges alone. Throws std::invalid_argument for other layouts and partial labels.
  MarginTrainer(Corpus corpus, WeightLayout layout, const MarginRule& rule);

  // One pass over sentences, in this order. Returns the loss: for the perceptron, the sum of the sentences' shares of
  // wrong labels; otherwise the sum of score difference and margin.
  double epoch(std::span<const int32_t> sentences);
  const std::vector<double>& weights() const { return weights_; }
  // The mean of the weights after each sentence.
  std::vector<double> average() const;

 private:
  void score(size_t sentence);
  double path_score(std::span<const int32_t> labels) const;
  void collect(size_t sentence, std::span<const int32_t> labels, double sign);
  double step(double difference, size_t wrong);
  void change(size_t at, double by);

  Corpus corpus_;
  WeightLayout layout_;
  MarginRule rule_;
  std::vector<double> weights_, sums_, variance_;
  std::vector<double> edges_;       // [previous * L + current], those of weights_
  std::vector<size_t> edge_at_;     // [edge weight]: its place in edges_
  std::vector<size_t> edge_place_;  // [previous * L + current]: its weight, or kNoPlace
  double visited_ = 1;
  std::vector<double> nodes_, room_;
  std::vector<int32_t> best_;
  std::vector<double> delta_;  // [weight], 0 but for those of touched_
  std::vector<size_t> touched_;
};

}  // namespace tagwright
