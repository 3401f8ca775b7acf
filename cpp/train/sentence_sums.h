// The sums of a sentence from which the gradient of a CRF comes, online and in batches: over all labellings, exact or
// pruned, and, where it is partially labelled, over the labellings that its labels allow. The gradient is the
// difference of the two expectations, or of the first and the counts of the correct labelling (Pal et al. 2006,
// equation 4).
#pragma once

#include <optional>
#include <vector>

#include "sums/forward_backward.h"
#include "sums/ngram_sums.h"
#include "train/corpus.h"

namespace tagwright {

// The distribution over some labellings of a sentence.
struct Expectation {
  Sums sums;
  NgramSums ngrams;  // of `sums`, where there are n-grams

  std::span<const int32_t> labels(size_t t) const { return sums.columns[t].labels; }
  const double* nodes(size_t t) const { return sums.columns[t].node; }
  // Whether pairs have the probability from * factor * to.
  bool has_products() const { return !sums.logs; }
  // To be called before pair(), for the step into column t. Calls visit(node of the trie, probability) for the n-grams
  // that end in it.
  template <class Visit>
  void enter_step(size_t t, Visit&& visit) {
    t_ = t;
    width_ = labels(t).size();
    if (!sums.ngrams) {
      if (sums.logs) sums.step(t - 1, pairs_);
      return;
    }
    pairs_.assign(labels(t - 1).size() * width_, 0.0);
    ngrams.for_each_move(t, false, [&](const NgramSums::Move& move) {
      pairs_[move.p * width_ + move.q] += move.probability;
      if (move.node != LabelNgrams::kNoNode && move.probability > 0) visit(move.node, move.probability);
    });
  }
  // The probability of labels(t - 1)[p] and labels(t)[q].
  double pair(size_t p, size_t q) const { return sums.logs ? pairs_[p * width_ + q] : sums.edge(t_ - 1, p, q); }

 private:
  size_t t_ = 0, width_ = 0;
  std::vector<double> pairs_;
};

// What one thread computes for one sentence after the other; memory is reused.
struct SentenceSums {
  Expectation all, allowed;
  Arena arena;

  // Sums over the lattice of a sentence, whose scores may lie in the arena. The labels that pruning must leave: the
  // correct ones, or those of the best allowed path. Returns false, and sums nothing, where the rule keeps more labels
  // than `most`. Throws std::invalid_argument, naming the sentence, where there is no path.
  bool sum(const Corpus& corpus, size_t sentence, const Lattice& lattice, const PruningRule& rule,
           size_t most = SIZE_MAX);
  // The correction sets active at each step of a sentence, for its lattice; nullptr where the corpus has none.
  const std::vector<std::vector<int32_t>>* active_sets(const Corpus& corpus, size_t sentence);

 private:
  std::optional<Lattice> allowed_lattice_;
  std::vector<std::vector<int32_t>> active_;
  AllowedLists lists_;
};

}  // namespace tagwright
