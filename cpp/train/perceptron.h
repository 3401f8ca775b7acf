// The averaged perceptron of Collins (2002), with any decoder.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "decode/table.h"
#include "lattice/changing_edges.h"
#include "train/averaged_weights.h"

namespace tagwright {

struct PerceptronOptions {
  bool edges = true;       // weights for pairs of labels
  bool all_pairs = false;  // an update may give weights to (feature, label) pairs that the corpus does not have
  double margin = 0;       // the right label of a token must win by this much: it is scored so much lower
  RunOptions runs = {};    // weights for runs of labels
  std::optional<bool> dense_edges = {};              // by default chosen by how many pairs of labels the corpus has
  std::shared_ptr<const PairRules> rules = nullptr;  // which every labelling keeps to, the right ones too
  AllowedLists allowed = {};  // one list per token of the corpus that has its right label; or no column at all
};

class Perceptron {
 public:
  // parts: of labels, [k * L + y], or none.
  Perceptron(Corpus corpus, std::vector<uint16_t> parts, const PerceptronOptions& options);

  struct Seen {
    size_t tokens = 0, errors = 0, wrong_sentences = 0;
    Work work;
  };
  // Goes over these sentences once: decodes each, and where that is wrong adds its right features and takes away the
  // others, as many times as the sentence weighs. Where several labels are allowed, the best allowed labelling is
  // right.
  Seen run(std::span<const int32_t> sentences, const Plan& plan);

  const Corpus& corpus() const { return corpus_; }
  double seen() const { return weights_.seen; }
  Weights average() const { return weights_.average(corpus_, runs_, part_of_); }

  // Takes over the weights of a model, whose features come first in the corpus. label: [its label] the number here.
  void start_from(const Weights& old, std::span<const int32_t> label);
  // All that is needed to go on later, beside the corpus, the options and how many sentences were seen.
  State<Owned> state() const { return weights_.state(runs_); }
  void restore(double seen, const State<Borrowed>& state);

 private:
  void observe();
  void score(size_t first, size_t T, double* nodes);
  bool sums_fit_float() const;
  void note_size(float weight);
  // right, predicted: [t]; by: how much weights change.
  void update(size_t first, size_t T, const int32_t* right, const int32_t* predicted, float by);
  void change_nodes(size_t token, int32_t right, int32_t wrong, float by);
  void change_node(size_t token, size_t key, float by);
  const float* whole_row(size_t feature);
  void note_change(size_t feature, size_t key, float weight);
  void change_edge(size_t token, int32_t i, int32_t j, float by);
  void hold_runs();
  void change_runs(size_t T, const int32_t* right, const int32_t* predicted, float by);
  // w and u of single entries, which are made where they are not there.
  void set_node(size_t feature, size_t key, float w, double u);
  void set_edge(size_t i, size_t j, float w, double u);
  void set_pair(size_t set, size_t i, size_t j, float w, double u);
  void set_run(size_t q, float w, double u);

  PerceptronOptions options_;
  Corpus corpus_;
  std::vector<uint16_t> part_of_;
  Parts parts_;
  std::vector<double> scores_;           // [key]: of one token
  std::vector<float> single_;            // [key]: the same, without preferences
  bool whole_numbers_ = false;           // whether all weights, values and margins are
  double largest_ = 0, most_added_ = 0;  // magnitude of a weight; weights that are added for a label
  // Large rows, held whole and kept up to date.
  std::unordered_map<size_t, std::vector<float>> whole_;  // [feature]: [key]
  Runs runs_;
  AveragedWeights weights_;
  std::unique_ptr<ChangingEdges> current_;  // the scores of the weights' edges and sets
  std::vector<double> ties_;                // [kTieRows][L]
  Arena arena_;
};

}  // namespace tagwright
