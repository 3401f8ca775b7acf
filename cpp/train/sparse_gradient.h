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
  double weight = 1;                               // of the sentence: multiplies all gradients
  std::vector<size_t> node_end;                    // [t], in nodes
  std::vector<std::pair<uint16_t, float>> nodes;   // label or part, gradient; times the values of the token's features
  std::vector<Edge> edges;                         // of the pair's weight and of those of the active correction sets
  std::vector<std::pair<uint32_t, float>> ngrams;  // number in the index, gradient
  EpochStats stats;
  double log_z = 0;  // of sums

  // Empties it for a sentence.
  void reset(const Corpus& corpus, size_t sentence);
};

// The gradients of some sentences of a corpus, with the features and correction sets that they need.
std::vector<uint8_t> to_bytes(const Corpus& corpus, std::span<const int32_t> sentences,
                              std::span<const SparseGradient> gradients, const NgramIndex& ngrams);

// The gradient of a sentence that is somewhere else.
struct ReceivedGradient {
  Ids features, sets;  // of its tokens
  SparseGradient gradient;
};
// Throws std::invalid_argument unless to_bytes() could have made the bytes for this corpus. keys: labels and parts.
std::vector<ReceivedGradient> from_bytes(std::span<const uint8_t> bytes, const Corpus& corpus, size_t keys,
                                         const NgramIndex& ngrams);

}  // namespace tagwright
