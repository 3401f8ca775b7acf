// The averaged perceptron of Collins (2002), with any decoder.
//
// Averaging is lazy: beside each weight w stands u, the sum of its changes times the number of sentences seen before
// them, and the average over n sentences is w - u / n. So an update costs what it touches.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/sparse_rows.h"
#include "decode/table.h"
#include "features/encode.h"
#include "model/parts.h"

namespace tagwright {

struct PerceptronOptions {
  size_t L = 0;
  size_t parts = 0;  // how many there are, and how many a label has
  size_t parts_each = 0;
  bool edges = true;         // weights for pairs of labels
  bool all_pairs = false;    // an update may give weights to (feature, label) pairs that the corpus does not have
  double margin = 0;         // the right label of a token must win by this much: it is scored so much lower
  bool sparse_edges = true;  // edges are held as default + exceptions, beside the matrix
};

class Perceptron {
 public:
  // corpus and labels: of every token, in order.
  Perceptron(Encoded corpus, std::vector<int32_t> labels, size_t node_features, size_t edge_features,
             std::vector<uint16_t> parts, const PerceptronOptions& options);

  // key: a label or part for nodes, a label for edges (row: a feature, or the previous label); a pair of labels for
  // sets.
  // Values: weight w; u.
  using Rows = SparseRows<uint16_t, float, double>;
  using PairRows = SparseRows<uint64_t, float, double>;

  struct Seen {
    size_t tokens = 0, errors = 0, wrong_sentences = 0;
    Work work;
  };
  // Goes over these sentences once: decodes each, and where that is wrong adds its right features and takes away the
  // others.
  Seen run(std::span<const int32_t> sentences, const Decoder& decoder, const Options& options);

  const Rows& nodes() const { return nodes_; }
  const Rows& edges() const { return edges_; }
  const PairRows& sets() const { return sets_; }
  double seen() const { return seen_; }
  size_t sentences() const { return corpus_.sentences(); }

  // To go on where another left off: values of single entries, then how many sentences were seen.
  void set_node(size_t feature, size_t label, float weight, double sum);
  void set_edge(size_t i, size_t j, float weight, double sum);
  void set_pair(size_t set, size_t i, size_t j, float weight, double sum);
  void set_seen(double sentences) { seen_ = sentences; }
  const PerceptronOptions& options() const { return options_; }
  const Parts& parts() const { return parts_; }

 private:
  void observe();
  void score(size_t first, size_t T, double* nodes);
  void update(size_t first, size_t T, const int32_t* predicted);
  void change_nodes(size_t token, int32_t right, int32_t wrong);
  void change_node(size_t token, size_t key, float by);
  const float* whole_row(size_t feature);
  void note_change(size_t feature, size_t key, float weight);
  void change_edge(size_t token, int32_t i, int32_t j, float by);
  template <class AnyRows, class Key>
  size_t touch(AnyRows& rows, size_t row, Key key, double by);

  PerceptronOptions options_;
  Encoded corpus_;
  std::vector<int32_t> labels_;  // [token]
  std::vector<uint16_t> part_of_;
  Parts parts_;
  std::vector<double> scores_;  // [key]: of one token
  // Large rows, held whole and kept up to date.
  std::unordered_map<size_t, std::vector<float>> whole_;  // [feature]: [key]
  Rows nodes_, edges_;
  PairRows sets_;
  std::unique_ptr<Edges> current_;  // the scores of edges_ and sets_
  std::vector<double> ties_;        // [kTieRows][L]
  double seen_ = 0;
  Arena arena_;
};

}  // namespace tagwright
