// The training loop of all online learners: for each mini-batch, the gradient of each sentence, in threads; then the
// steps, in the order of the sentences.
//
// A learner is a gradient and a step rule: the averaged perceptron of Collins (2002) is the best path and +1/-1, the
// online CRF is sums over pruned labels and AdaGrad. Results do not depend on the number of threads: the gradients of a
// batch are computed with the same weights, and every row of weights is stepped by one thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/pool.h"
#include "base/thread_pool.h"
#include "train/best_path_gradient.h"
#include "train/step_rules.h"
#include "train/sum_gradient.h"

namespace tagwright {

struct TrainerOptions {
  std::variant<BestPathOptions, SumOptions> gradient;
  StepRule step;
  size_t batch = 1;   // sentences whose gradients are computed with the same weights
  bool edges = true;  // weights for pairs of labels
  NgramOptions ngrams = {};
  PathLimits limits = {};
};

class Trainer {
 public:
  // parts: of labels, [k * L + y], or none.
  Trainer(Corpus corpus, std::vector<uint16_t> parts, TrainerOptions options);

  // One pass over these sentences, of the corpus or, where it is given, of a cut of it.
  EpochStats run(std::span<const int32_t> sentences, size_t threads, const Corpus* cut = nullptr);
  // The same in two halves, which may be done in different places: the gradients of sentences, as bytes; and the steps
  // of a batch, whose n-th sentence is sentence number[n] of gradients[which[n]].
  std::vector<uint8_t> gradient(std::span<const int32_t> sentences, size_t threads);
  EpochStats apply(std::span<const std::span<const uint8_t>> gradients, std::span<const int32_t> which,
                   std::span<const int32_t> number, size_t threads);
  // After each pass over the corpus: the step of the penalty, and bounds anew.
  void end_epoch();
  // log Z of sentences as it is summed in training, and what it lacks at most.
  std::vector<std::pair<double, double>> log_z(std::span<const int32_t> sentences) const;

  // Weights, their growth, and what training resumes from.
  WeightStore& store() { return store_; }
  const WeightStore& store() const { return store_; }
  // With the state of the store, what an unfinished epoch resumes from.
  std::vector<float> bounds() const { return gradient_->bounds(); }
  void set_bounds(std::span<const float> bounds) { gradient_->set_bounds(bounds); }
  // Continues with other sentences, which may have new features. allowed: one list per token of these, or no column.
  void extend(Corpus corpus, AllowedLists allowed = {});

 private:
  using Workspaces = Pool<Gradient::Workspace>;
  // Fills gradients_ for these sentences.
  void compute(const Corpus& corpus, std::span<const int32_t> sentences, ThreadPool& pool, Workspaces& workspaces);
  // Steps by gradients_, which are those of these sentences of a corpus; on this thread where there is no pool.
  EpochStats step(const Corpus& corpus, std::span<const int32_t> sentences, ThreadPool* pool);

  TrainerOptions options_;
  WeightStore store_;
  std::unique_ptr<Gradient> gradient_;
  std::vector<SparseGradient> gradients_;  // [sentence of the batch]
};

}  // namespace tagwright
