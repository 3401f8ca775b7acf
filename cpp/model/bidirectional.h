// Many sentences labelled by two models that are made to agree.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "decode/table.h"
#include "model/dual.h"
#include "model/memm.h"

namespace tagwright {

// A model whose scores make a lattice (perceptron, CRF, HMM), and any decoder.
class LatticeSearch : public SentenceSearch {
 public:
  LatticeSearch(const Scorer& scorer, const Edges& edges, const Decoder& decoder, const Options& options)
      : scorer_(scorer), edges_(edges), decoder_(decoder), options_(options) {}

  void start(const Text& text, size_t sentence) override;
  size_t length() const override { return T_; }
  void change(size_t t, int32_t label, double by) override;
  const std::vector<int32_t>& find() override;
  const std::vector<int32_t>& confirm() override { return labels_; }
  bool exact() const override { return decoder_.exact; }
  double score(std::span<const int32_t> labels) override;

 private:
  const Scorer& scorer_;
  const Edges& edges_;
  const Decoder& decoder_;
  Options options_;
  size_t T_ = 0;
  std::vector<float> nodes_;    // [t * L + y]
  std::vector<double> priced_;  // the same with prices
  std::vector<std::vector<int32_t>> on_;
  Arena arena_;
  std::vector<int32_t> labels_;
};

// A trained model, and how sentences are searched with it.
class PricedModel {
 public:
  virtual ~PricedModel() = default;
  virtual size_t L() const = 0;
  virtual const Templates& templates() const = 0;
  virtual std::unique_ptr<SentenceSearch> search() const = 0;
};

class LatticeModel : public PricedModel {
 public:
  LatticeModel(const Scorer& scorer, const Edges& edges, const Decoder& decoder, const Options& options);

  size_t L() const override { return scorer_.L(); }
  const Templates& templates() const override { return scorer_.templates(); }
  std::unique_ptr<SentenceSearch> search() const override {
    return std::make_unique<LatticeSearch>(scorer_, edges_, decoder_, options_);
  }

 private:
  const Scorer& scorer_;
  const Edges& edges_;
  const Decoder& decoder_;
  Options options_;
};

class MemmModel : public PricedModel {
 public:
  explicit MemmModel(Memm memm) : memm_(std::move(memm)) { memm_.check(); }

  const Memm& memm() const { return memm_; }
  size_t L() const override { return memm_.L(); }
  const Templates& templates() const override { return memm_.scorer->templates(); }
  std::unique_ptr<SentenceSearch> search() const override { return std::make_unique<MemmSearch>(memm_, memm_.width); }

 private:
  Memm memm_;
};

// The k best labellings of each sentence by a beam.
std::vector<Answer> decode_all(const Memm& model, const Text& text, size_t width, size_t k, size_t threads);

// Calls work(first, last) for pieces of so many sentences, over several threads: what a search remembers serves for all
// sentences of a piece.
void in_pieces(size_t sentences, size_t threads, const std::function<void(size_t, size_t)>& work);

struct Joint {
  Agreement found;
  std::vector<int32_t> labels;  // what they agree on; else the better by the sum of both scores
  double score = 0;             // that sum
};

// One answer per sentence, the same for any number of threads. to_left: [label of the right model] its number in the
// left one, by which labels go here.
std::vector<Joint> agree_all(const PricedModel& left, const Text& left_text, const PricedModel& right,
                             const Text& right_text, std::span<const int32_t> to_left, const AgreeOptions& options,
                             size_t threads);

// The scores of labellings without prices: paths[s] of sentence s, one behind the other.
std::vector<double> scores_of_labels(const PricedModel& model, const Text& text, std::span<const int32_t> labels,
                                     const std::vector<size_t>& paths, size_t threads);

}  // namespace tagwright
