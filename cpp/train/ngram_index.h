// The label n-grams that get weights: those that a corpus has often enough, those of a model, those of a checkpoint.
#pragma once

#include <algorithm>
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

// An n-gram as one number: four labels of 16 bits each, the first one highest, kNoLabel behind the last.
using PackedNgram = uint64_t;
// labels: the first of them; -1 and kNoLabel are the same.
template <class Label>
PackedNgram packed_ngram(std::span<const Label> labels) {
  PackedNgram made = 0;
  for (size_t n = 0; n < NgramList::kLongest; ++n)
    made = made << 16 | (n < labels.size() ? static_cast<uint16_t>(labels[n]) : kNoLabel);
  return made;
}

// N-grams in the order in which weights hold them: they rise. The add functions return whether there are more than
// before.
class NgramIndex {
 public:
  // Those of a corpus; n-grams with a label that is not known do not count.
  NgramIndex(const Corpus& corpus, const NgramOptions& options);
  // Those of a corpus; occurrences in all corpora count.
  bool add(const Corpus& corpus);
  // Those of a model, whose labels have other numbers here. Throws std::invalid_argument where one is longer than the
  // order allows.
  bool add(const Weights& model, std::span<const uint16_t> renamed);
  // Valid ones.
  bool add(std::span<const PackedNgram> more);

  size_t size() const { return ngrams_.size(); }
  bool empty() const { return ngrams_.empty(); }
  PackedNgram operator[](size_t q) const { return ngrams_[q]; }
  // [n-gram * kLongest + n], as weights hold them; and as NgramList has them.
  std::vector<uint16_t> keys() const;
  std::vector<int32_t> labels() const;
  bool is_valid(PackedNgram ngram, size_t L) const;
  // The number of an n-gram, or kNoPlace.
  size_t find(PackedNgram ngram) const {
    const auto found = std::lower_bound(ngrams_.begin(), ngrams_.end(), ngram);
    return found != ngrams_.end() && *found == ngram ? static_cast<size_t>(found - ngrams_.begin()) : kNoPlace;
  }

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
  NgramOptions options_;
  std::vector<PackedNgram> ngrams_;
  std::vector<std::pair<PackedNgram, size_t>> rare_;  // those that did not occur often enough yet, and how often
  std::vector<LabelNgrams::Node> node_;
  std::vector<int32_t> of_node_;  // [node], -1 where it is no n-gram that has a weight
};

}  // namespace tagwright
