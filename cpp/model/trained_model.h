// A model of any kind that a file holds, ready to tag: linear (perceptron, CRF, HMM), MEMM, or two that must agree.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace tagwright {

// A model or an operation that the core does not implement.
struct Unsupported : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// All methods may be called by several threads.
class TrainedModel {
 public:
  using Labellings = std::vector<std::vector<Labelling>>;  // [sentence], best first

  // Throw ModelFileError for a file that is damaged or not a model, Unsupported, and std::system_error if it cannot be
  // read. Models of CRFsuite and CRF++ are read, too.
  static std::shared_ptr<const TrainedModel> load(const std::string& path);
  // The bytes of a file, which are copied.
  static std::shared_ptr<const TrainedModel> from_memory(std::string_view bytes);

  virtual ~TrainedModel() = default;

  const std::vector<std::string>& labels() const { return labels_; }
  const std::string& learner() const { return learner_; }
  // The tokeniser of its training; empty if that is not known.
  const std::string& tokenizer() const { return tokenizer_; }
  bool probabilistic() const { return learner_ == "crf" || learner_ == "hmm"; }
  // How many columns a token must have; 0: features are ready-made.
  virtual size_t columns() const = 0;
  virtual bool ready_made() const = 0;

  // As those of Model.
  virtual Labellings tag(const Text& text, const TagOptions& options) const = 0;
  virtual std::vector<std::vector<float>> marginals(const Text& text, size_t threads) const;
  // The linear model, whose scores are a lattice; nullptr: this is of another kind.
  virtual const Model* linear() const { return nullptr; }

 protected:
  TrainedModel(std::vector<std::string> labels, std::string learner, std::string tokenizer)
      : labels_(std::move(labels)), learner_(std::move(learner)), tokenizer_(std::move(tokenizer)) {}

 private:
  std::vector<std::string> labels_;
  std::string learner_, tokenizer_;
};

}  // namespace tagwright
