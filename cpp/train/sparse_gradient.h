// What a sentence contributes to a step: the gradient of its loss, of the labels, pairs of labels and n-grams where it
// is not close to 0; and its form as bytes, in which it is sent to where the weights are.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "lattice/lattice.h"
#include "train/ngram_index.h"

namespace tagwright {

// What a pass over sentences has counted.
struct EpochStats {
  size_t tokens = 0;
  // Of best paths:
  size_t errors = 0, wrong_sentences = 0;
  Work work = {};
  // Of sums:
  double loss = 0;             // log Z less that of the correct paths
  double missing = 0;          // an upper bound of what log Z lacks by pruning
  size_t kept = 0, exact = 0;  // labels in the sums; sentences that were summed exactly

  EpochStats& operator+=(const EpochStats& other);
};

struct SparseGradient {
  struct Edge {
    uint32_t t;  // of the current label
    uint16_t i, j;
    float gradient;
  };
  double weight = 1;                              // of the sentence: multiplies all gradients
  std::vector<size_t> node_end;                   // [t], in nodes
  std::vector<std::pair<uint16_t, float>> nodes;  // label or part, gradient; times the values of the token's features
  std::vector<Edge> edges;                        // of the pair's weight and of those of the active correction sets
  std::vector<std::pair<uint32_t, float>> ngrams;  // number in the index, gradient
  EpochStats stats;
  double log_z = 0;  // of sums

  // Empties it for a sentence.
  void reset(const Corpus& corpus, size_t sentence);
};

// The gradients of some sentences of a corpus, with the features and correction sets that they need.
std::vector<uint8_t> to_bytes(const Corpus& corpus, std::span<const int32_t> sentences,
                              std::span<const SparseGradient> gradients, const NgramIndex& ngrams);

// Gradients that came as bytes.
class ReceivedGradients {
 public:
  // Throws std::invalid_argument unless to_bytes() could have made the bytes for this corpus. keys: labels and parts.
  ReceivedGradients(std::span<const uint8_t> bytes, const Corpus& corpus, size_t keys, const NgramIndex& ngrams);

  size_t sentences() const { return arrays_.sentence_end.size(); }
  // Appends the features and correction sets of a sentence, and fills its gradient.
  void append(size_t sentence, CorpusArrays<Owned>& corpus, SparseGradient& gradient) const;

  template <template <class> class Array>
  struct Arrays {
    Array<uint64_t> sentence_end;  // in tokens
    Array<uint64_t> feature_end;   // [token]
    Array<int32_t> feature;        //
    Array<float> value;            // beside feature; empty where all are 1
    Array<uint64_t> set_end;       // [token]
    Array<int32_t> set;            //
    Array<uint64_t> node_end;      // [token]
    Array<uint16_t> node;          // label or part
    Array<float> node_gradient;    //
    Array<uint64_t> edge_end;      // [sentence]
    Array<uint32_t> edge_token;    // within the sentence
    Array<uint16_t> edge_previous, edge_current;
    Array<float> edge_gradient;
    Array<uint64_t> ngram_end;  // [sentence]
    Array<uint64_t> ngram;      // packed
    Array<float> ngram_gradient;
    Array<double> weight, loss, missing;                            // [sentence]
    Array<uint64_t> errors, kept, exact, rounds, nodes, edge_work;  // [sentence]
  };

 private:
  void check(const Corpus& corpus, size_t keys) const;

  Arrays<Owned> arrays_;
  std::vector<uint32_t> ngram_;  // beside arrays_.ngram: numbers in the index
};

}  // namespace tagwright
