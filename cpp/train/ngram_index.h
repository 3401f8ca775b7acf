// The runs of labels that get weights, as ngrams: those that a corpus has often enough.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "train/corpus.h"

namespace tagwright {

struct NgramOptions {
  size_t order = 1;      // how many labels before one count: with 2 there are runs of three, with 3 also of four
  size_t min_count = 1;  // runs that occur less often are left out
};

// NgramIndex in the order in which weights hold them.
class NgramIndex {
 public:
  using Run = std::array<uint16_t, NgramList::kLongest>;

  // Those of a corpus; runs with a label that is not known do not count.
  NgramIndex(const Corpus& corpus, const NgramOptions& options);
  // The same with those of a model, whose labels have other numbers here. Throws std::invalid_argument where one is
  // longer than the order allows.
  void add(const Weights& model, std::span<const uint16_t> renamed);

  size_t size() const { return runs_.size(); }
  bool empty() const { return runs_.empty(); }
  // One behind the other, as NgramList has them.
  std::vector<int32_t> labels() const;
  // [run * kLongest + n], as weights hold them.
  std::vector<uint16_t> keys() const;
  // Four labels of 16 bits each, for checkpoints.
  uint64_t packed(size_t q) const;
  // Which run this is, or kNoPlace.
  size_t find_packed(uint64_t run) const;
  size_t find(const std::array<int32_t, NgramList::kLongest>& run) const;  // -1 behind one of three

  // Looks up which node of the ngrams each run is.
  void place(const LabelNgrams& ngrams);
  LabelNgrams::Node node(size_t q) const { return node_[q]; }
  // Calls take(q) for the runs that end with the last label of a labelling which comes to this node.
  template <class Take>
  void for_each_ending(const LabelNgrams& ngrams, LabelNgrams::Node at, Take&& take) const {
    if (const int32_t q = of_node_[at]; q >= 0) take(static_cast<size_t>(q));
    const LabelNgrams::Node shorter = ngrams.suffix(at);
    if (const int32_t q = of_node_[shorter]; q >= 0 && shorter != at) take(static_cast<size_t>(q));
  }

 private:
  size_t order_;
  std::vector<Run> runs_;
  std::vector<LabelNgrams::Node> node_;
  std::vector<int32_t> of_node_;  // [node], -1 where it is no run
};

}  // namespace tagwright
