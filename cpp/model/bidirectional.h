// Many sentences labelled by two models that are made to agree.
#pragma once

#include <memory>
#include <vector>

#include "decode/table.h"
#include "model/dual.h"
#include "model/memm.h"

namespace tagwright {

// A model whose scores make a lattice (perceptron, CRF, HMM), and any decoder.
class LatticeModel : public PricedModel {
 public:
  LatticeModel(const Scorer& scorer, const Edges& edges, Plan plan);

  const Scorer& scorer() const override { return scorer_; }
  std::unique_ptr<SentenceSearch> search() const override;
  double bytes(size_t tokens) const override;

 private:
  const Scorer& scorer_;
  const Edges& edges_;
  Plan plan_;
};

// The k best labellings of each sentence by a beam.
std::vector<Answer> decode_all(const Memm& model, const Text& text, size_t width, size_t k, size_t threads,
                               const TextLimits& limits = {});

struct Joint {
  Agreement found;
  std::vector<int32_t> labels;  // what they agree on; else the better by the sum of both scores
  double score = 0;             // that sum
};

// One of two models, with its text and the limits of its labels, in its own numbers.
struct Side {
  const PricedModel& model;
  const Text& text;
  TextLimits limits = {};

  // Throws std::invalid_argument where they do not fit together.
  void check() const;
};

// One answer per sentence, the same for any number of threads. to_left: [label of the right model]: its number in the
// left one, which answers use.
std::vector<Joint> agree_all(const Side& left, const Side& right, std::span<const int32_t> to_left,
                             const AgreeOptions& options, size_t threads);

// The scores of labellings without prices: paths[s] of sentence s, one behind the other.
std::vector<double> scores_of_labels(const PricedModel& model, const Text& text, std::span<const int32_t> labels,
                                     const std::vector<size_t>& paths, size_t threads);

}  // namespace tagwright
