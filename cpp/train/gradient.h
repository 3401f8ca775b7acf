// What a learner learns from: a gradient turns a sentence, under the current weights, into a sparse gradient.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/need.h"
#include "lattice/allowed.h"
#include "train/sparse_gradient.h"
#include "train/weight_store.h"

namespace tagwright {

// What every path must satisfy, the correct ones too.
struct PathLimits {
  std::shared_ptr<const PairRules> rules = nullptr;  // or none
  AllowedLists allowed = {};  // one list per token of the corpus, with its correct label; or no column at all

  // Those of the tokens of a sentence.
  Allowed lists(const Corpus& corpus, size_t sentence) const {
    return allowed.columns() ? allowed.view(corpus.place_of(sentence)) : Allowed{};
  }
};

class Gradient : public WeightView {
 public:
  // Throws std::invalid_argument where the limits are for another corpus.
  Gradient(const Corpus& corpus, PathLimits limits) : limits_(std::move(limits)) { check_limits(corpus); }

  // What one thread works with.
  struct Workspace {
    virtual ~Workspace() = default;
  };
  virtual std::unique_ptr<Workspace> workspace() const = 0;
  // Fills the gradient of a sentence of `corpus`, which is that of the store, or a cut of it. Several threads may call
  // it, each with a workspace of its own, while no weight changes. Throws std::invalid_argument, naming the sentence,
  // where the limits leave no path.
  virtual void compute(const Corpus& corpus, size_t sentence, Workspace& workspace, SparseGradient& gradient) const = 0;

  // To be called after the steps of a batch, and after each pass over the corpus.
  virtual void end_batch() {}
  virtual void end_epoch() {}
  // With the state of the store, what an unfinished epoch resumes from.
  virtual std::vector<float> bounds() const { return {}; }
  virtual void set_bounds(std::span<const float> bounds) { need(bounds.empty(), "this gradient has no bounds"); }

  // For a store that continues with another corpus.
  void replace_allowed(const Corpus& corpus, AllowedLists allowed) {
    limits_.allowed = std::move(allowed);
    check_limits(corpus);
  }

 protected:
  const PathLimits& limits() const { return limits_; }

 private:
  void check_limits(const Corpus& corpus) const {
    need(!limits_.rules || limits_.rules->L() == corpus.L, "the constraints are for another number of labels");
    need(!limits_.allowed.columns() || limits_.allowed.columns() == corpus.labels.size(),
         "allowed: there must be one list per token");
  }

  PathLimits limits_;
};

}  // namespace tagwright
