// The label n-grams that get weights: those that a corpus has often enough, those of a model, those of a checkpoint.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "train/corpus.h"

namespace tagwright {

struct NgramOptions {
  size_t order = 1;      // labels before one that its score depends on: 2 gives n-grams of 3 labels, 3 also of 4
  size_t min_count = 1;  // n-grams that occur less often get no weight
};

// N-grams in the order in which weights hold them. The add functions return whether there are more than before.
class NgramIndex {
 public:
  using Ngram = std::array<uint16_t, NgramList::kLongest>;  // kNoLabel behind the last label

  // Those of a corpus; n-grams with a label that is not known do not count.
  NgramIndex(const Corpus& corpus, const NgramOptions& options);
  // Those of a corpus; occurrences in all corpora count.
  bool add(const Corpus& corpus);
  // Those of a model, whose labels have other numbers here. Throws std::invalid_argument where one is longer than the
  // order allows.
  bool add(const Weights& model, std::span<const uint16_t> renamed);
  // Packed ones, which are valid.
  bool add(std::span<const uint64_t> packed);

  size_t size() const { return ngrams_.size(); }
  bool empty() const { return ngrams_.empty(); }
  // One after the other, as NgramList has them.
  std::vector<int32_t> labels() const;
  // [n-gram * kLongest + n], as weights hold them.
  std::vector<uint16_t> keys() const;
  // Four labels of 16 bits each, for checkpoints; they rise.
  uint64_t packed(size_t q) const { return packed(ngrams_[q]); }
  bool is_valid(uint64_t packed, size_t L) const;
  // The number of an n-gram, or kNoPlace.
  size_t find_packed(uint64_t packed) const;
  size_t find(const std::array<int32_t, NgramList::kLongest>& ngram) const;  // -1 behind the last label

  // Looks up the node of the trie that each n-gram is.
  void place(const LabelNgrams& trie);
  LabelNgrams::Node node(size_t q) const { return node_[q]; }
  // Calls visit(q) for the n-grams that end with the last label of a path that comes to this node.
  template <class Visit>
  void for_each_ending(const LabelNgrams& trie, LabelNgrams::Node at, Visit&& visit) const {
    if (const int32_t q = of_node_[static_cast<size_t>(at)]; q >= 0) visit(static_cast<size_t>(q));
    const LabelNgrams::Node shorter = trie.suffix(at);
    if (const int32_t q = of_node_[static_cast<size_t>(shorter)]; q >= 0 && shorter != at)
      visit(static_cast<size_t>(q));
  }

 private:
  static uint64_t packed(const Ngram& ngram);
  static Ngram unpacked(uint64_t packed);
  bool merge(std::vector<Ngram> more);

  NgramOptions options_;
  std::vector<Ngram> ngrams_;
  std::vector<std::pair<Ngram, size_t>> rare_;  // those that did not occur often enough yet, in order, and how often
  std::vector<LabelNgrams::Node> node_;
  std::vector<int32_t> of_node_;  // [node], -1 where it is no n-gram that has a weight
};

}  // namespace tagwright
