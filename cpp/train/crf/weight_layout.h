// WeightLayout: which weights a CRF has, and the position of each in the weight vector.
//
// The vector holds the weights of rows (feature; label or label part), edges, corrections and n-grams, in the order of
// model/weights.h. Positions of all four kinds count from the beginning of the vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "train/corpus.h"
#include "train/ngram_index.h"

namespace tagwright {

struct LayoutOptions {
  bool edges = true;       // whether pairs of labels have weights
  bool all_pairs = false;  // every label for every feature and every pair of labels, not only those that occur
  NgramOptions ngrams = {};
  std::vector<uint16_t> parts = {};  // of labels, [k * L + y], or none
};

class WeightLayout {
 public:
  // The weights that a corpus calls for.
  WeightLayout(const Corpus& corpus, const LayoutOptions& options);
  // Given keys. Throws std::invalid_argument unless they are sorted and within the range of the corpus' features,
  // labels and correction sets.
  WeightLayout(WeightKeys<Owned> keys, const Corpus& corpus, std::vector<uint16_t> parts = {});

  const WeightKeys<Borrowed>& keys() const { return keys_; }
  const Parts& parts() const { return parts_; }
  size_t size() const { return keys_.size(); }
  size_t first_edge() const { return keys_.nodes(); }
  size_t first_correction() const { return first_edge() + keys_.edges(); }
  size_t first_ngram() const { return first_correction() + keys_.corrections(); }

  size_t row_begin(size_t feature) const { return feature ? keys_.row_end[feature - 1] : 0; }
  size_t row_size(size_t feature) const { return keys_.row_end[feature] - row_begin(feature); }
  std::span<const uint16_t> row_keys(size_t feature) const {
    return keys_.row_label.subspan(row_begin(feature), row_size(feature));
  }
  // Positions of the corrections of a set: from begin to end.
  size_t set_begin(size_t set) const { return first_correction() + (set ? set_end_[set - 1] : 0); }
  size_t set_end(size_t set) const { return first_correction() + set_end_[set]; }

  // Return the position of a weight, or kNoPlace.
  size_t node(size_t feature, size_t key) const;
  size_t edge(int32_t i, int32_t j) const;
  size_t correction(size_t set, int32_t i, int32_t j) const;

  // The n-grams that have weights, and their trie, in which all score 0; nullptr where there are none.
  const NgramIndex& ngrams() const { return ngrams_; }
  const LabelNgrams* trie() const { return trie_.get(); }
  // Calls visit(position) for the n-grams that end where a labelling reaches this node.
  template <class Visit>
  void for_each_ngram(LabelNgrams::Node at, Visit&& visit) const {
    ngrams_.for_each_ending(*trie_, at, [&](size_t q) { visit(first_ngram() + q); });
  }

  // Rows with weights for many of the keys are also held with one entry per key, which is faster to add: their
  // number, and the number of a feature's row among them (-1: it is not).
  size_t dense_rows() const { return dense_rows_; }
  int32_t dense_row(size_t feature) const { return dense_row_[feature]; }

  // Copies the weights of a model to where they have a position. label: [label of the model] its number here.
  void warm_start(const Weights& model, std::span<const int32_t> label, std::span<double> weights) const;
  const std::shared_ptr<const PartKeys>& held() const { return held_; }

 private:
  void find_ngrams();

  size_t L_, sets_;
  std::shared_ptr<const PartKeys> held_;  // shared with models made from it
  WeightKeys<Borrowed> keys_;
  Parts parts_;
  std::vector<size_t> set_end_;  // [set], counted from the first correction
  std::vector<int32_t> dense_row_;
  size_t dense_rows_ = 0;
  NgramIndex ngrams_;
  std::shared_ptr<const MutableNgrams> trie_;
};

}  // namespace tagwright
