// The averaged perceptron of Collins (2002), with any decoder.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "decode/table.h"
#include "lattice/mutable_edges.h"
#include "train/averaged_weights.h"

namespace tagwright {

struct PerceptronOptions {
  bool edges = true;       // weights for pairs of labels
  bool all_pairs = false;  // an update may give weights to (feature, label) pairs that the corpus does not have
  double margin = 0;       // the right label of a token must win by this much: it is scored so much lower
  NgramOptions runs = {};  // weights for runs of labels
  std::optional<bool> dense_edges = {};              // by default chosen by how many pairs of labels the corpus has
  std::shared_ptr<const PairRules> rules = nullptr;  // which every labelling keeps to, the right ones too
  AllowedLists allowed = {};  // one list per token of the corpus that has its right label; or no column at all
  size_t batch = 1;           // sentences that are decoded with the same weights
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
  // right. The sentences of a batch are decoded first, on so many threads, and then change weights by their mean (Zhao
  // and Huang 2013).
  // from: a cut of the corpus that these are the sentences of, or nullptr.
  Seen run(std::span<const int32_t> sentences, const Plan& plan, const Corpus* from = nullptr, size_t threads = 1);

  const Corpus& corpus() const { return corpus_; }
  double seen() const { return weights_.seen; }
  Weights average() const { return weights_.average(corpus_, runs_, part_of_); }

  // Takes over the weights of a model, whose features come first in the corpus. label: [its label] the number here.
  void start_from(const Weights& old, std::span<const int32_t> label);
  // Goes on with other sentences, which may have new features; their numbers follow those of the known ones.
  void extend(Corpus corpus);
  // All that is needed to go on later, beside the corpus, the options and how many sentences were seen.
  State<Owned> state() const { return weights_.state(runs_); }
  // Iterative parameter mixing (McDonald, Hall and Mann 2010): the weights become the mean of those that parts of the
  // corpus ended a pass with, which all began with these. Averages go over all sentences that any part has seen.
  // shards: how many sentences each has seen in the pass, and its state.
  void mix(std::span<const std::pair<double, State<Borrowed>>> shards);
  void restore(double seen, const State<Borrowed>& state);

 private:
  void observe();
  void observe_node(size_t feature, uint16_t label);
  void observe_steps();
  // What decoding a sentence finds.
  struct Workspace {
    std::vector<std::vector<int32_t>> on;   // sets of its edges
    std::vector<int32_t> predicted, right;  // [t]; right: none where they are the same
    size_t errors = 0;
    Work work;
  };
  void decode(size_t s, const Plan& plan, Workspace& workspace);
  void score(size_t first, size_t T, double* nodes, Arena& arena);
  bool is_whole(double weight) const;
  bool sums_fit_float() const;
  void note_sizes();  // of the corpus
  void note_size(float weight);
  // right, predicted: [t]; by: how much weights change.
  void update(size_t first, size_t T, const int32_t* right, const int32_t* predicted, float by);
  void change_nodes(size_t token, int32_t right, int32_t wrong, float by);
  void change_node(size_t token, size_t key, float by);
  const float* whole_row(size_t feature);
  void make_whole_rows(size_t s);
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
  bool whole_numbers_ = false;           // whether all weights, values and margins are, times the size of a batch
  double largest_ = 0, most_added_ = 0;  // magnitude of a weight; weights that are added for a label
  // Large rows, held whole and kept up to date.
  std::unordered_map<size_t, std::vector<float>> whole_;  // [feature]: [key]
  NgramIndex runs_;
  AveragedWeights weights_;
  std::unique_ptr<MutableEdges> current_;  // the scores of the weights' edges and sets
  std::vector<double> ties_;               // [kTieRows][L]
  std::vector<Workspace> workspaces_;      // [sentence of a batch]
};

}  // namespace tagwright
