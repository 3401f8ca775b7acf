// A trained model, ready to tag: read from a file or from memory, without Python.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "features/lines.h"
#include "features/tag_dictionary.h"
#include "features/template_parser.h"
#include "lattice/pair_rules.h"
#include "model/model_file.h"
#include "model/tag.h"

namespace tagwright {

struct TagOptions {
  size_t k = 1;  // labellings per sentence
  std::string_view decoder = "auto";
  size_t threads = 1;
  bool probabilities = false;  // throws std::invalid_argument if the model has none
};

// A labelling of a sentence.
struct Labelling {
  std::vector<int32_t> labels;
  double score = 0;
  double log_probability = 0;             // where probabilities were requested
  std::vector<double> label_probability;  // [token], likewise
};

inline constexpr const char* kNoProbabilities =
    "the scores of this model are not probabilities: they only rank labellings";

// A linear model (perceptron, CRF or HMM): one lattice per sentence. All methods may be called by several threads.
class Model {
 public:
  // Throws ModelFileError for a damaged file and for models of other kinds, std::system_error if it cannot be read.
  static Model load(const std::string& path) { return Model(ModelFile::load(path)); }
  // The bytes of a file, which are copied.
  static Model from_memory(std::string_view bytes);
  explicit Model(const ModelFile& file);
  // A model without constraints of its own. start, stop: scores of being the first or the last label; empty: 0. Throws
  // std::invalid_argument if the parts do not fit together.
  Model(std::vector<std::string> labels, Templates templates, Weights weights, const std::vector<double>& start,
        const std::vector<double>& stop);

  const std::vector<std::string>& labels() const { return labels_; }
  const std::string& learner() const { return learner_; }
  // Whether exp(score - log Z) is a probability that was trained to be one.
  bool probabilistic() const { return learner_ == "crf" || learner_ == "hmm"; }
  // How many columns a token must have; 0: features are ready-made.
  size_t columns() const { return scorer_->templates().columns(); }
  bool ready_made() const { return ready_made_; }
  const Scorer& scorer() const { return *scorer_; }
  // Those of all sentences, under the rules of the model.
  const Edges& edges() const { return *edges_; }

  // The labels that the tokens of a text may have by the tag dictionary; none where there is no dictionary.
  std::optional<AllowedLists> allowed(const Text& text) const {
    return dictionary_ ? std::optional(dictionary_->allowed(text)) : std::nullopt;
  }

  // Returns the best labellings of each sentence, best first. Throws std::invalid_argument for a text of too few
  // columns and for a sentence without a labelling that the model's constraints allow.
  std::vector<std::vector<Labelling>> tag(const Text& text, const TagOptions& options = {}) const;
  // Returns the probabilities of all labels of each sentence, [t * L + y]. Throws std::invalid_argument if the model
  // has none.
  std::vector<std::vector<float>> marginals(const Text& text, size_t threads = 1) const;
  // Returns the best labels of one sentence of words.
  std::vector<std::string_view> tag(std::span<const std::string> words) const;
  // The same for words between blanks, TABs and line ends.
  std::vector<std::string_view> tag(std::string_view sentence) const;
  // Returns the lines of a block with the best labels; none if it is malformed (lines.h).
  std::optional<std::string> tag_lines(std::string_view block, const LineFormat& format,
                                       const TagOptions& options = {}) const;

 private:
  std::vector<std::string> labels_;
  std::string learner_;
  bool ready_made_ = false;
  std::unique_ptr<Scorer> scorer_;
  std::unique_ptr<Edges> edges_;
  std::shared_ptr<const TagDictionary> dictionary_;  // nullptr: none
};

}  // namespace tagwright
