// Which labels of each column enter the sums of an online CRF.
//
// Labels are opened by bounds: node score, best edge into the label and best edge out of it. Nothing else is computed
// for labels too far below the best one. Of the opened labels those are kept whose belief, by the messages of the
// labels kept before, is large enough. What the others could contribute is bounded on the way (sums/pruned_sums.h).
#pragma once

#include <cstdint>
#include <vector>

#include "sums/pruned_sums.h"
#include "sums/pruning.h"
#include "train/edge_factors.h"

namespace tagwright {

struct PruningOptions {
  // kDivergence: log Z of a sentence is at most epsilon per token below the exact one. kSize, kRatio: by the beliefs on
  // the forward pass. kAll: exact sums.
  Keep rule;
  // The most labels that a column may keep, 0: any. Where the rule would keep more, they are dropped, and the rule
  // guarantees nothing.
  size_t max_labels = 0;
};

// Of one thread.
class ColumnPruner {
 public:
  ColumnPruner(const EdgeFactors& factors, const PruningOptions& options) : factors_(factors), options_(options) {}

  // Fills the forward pass of `sums` for a sentence. scores: its node scores, [t * padded + y], -inf for labels that it
  // may not have. The labels that the corpus allows for a token are always kept: what is learnt is to tell them from
  // the others. Returns whether pruning worked: exact sums take over where too many labels matter, or no path is left.
  bool choose(const Corpus& corpus, size_t sentence, const float* scores, PrunedSums& sums);

 private:
  // How far below the best the labels may be that are opened, by bounds, and kept, by beliefs.
  struct Width {
    double open, keep;
  };
  // What the labels of a column that are not opened, or not kept, could contribute.
  struct Dropped {
    float top = 0;        // the best bound of the column
    double unopened = 0;  // at most the sum of exp(bound - top) of the labels that are not opened
    double lost = 0;      // the sum of the beliefs of labels that are opened and not kept, ...
    double shift = 0;     // ... as multiples of exp(shift)
  };

  bool forward(const Corpus& corpus, size_t sentence, const float* scores, const Width& width, PrunedSums& sums);
  size_t open_column(const float* scores, double width, Dropped& dropped);
  size_t best_opened(size_t opened, size_t most, Dropped& dropped);
  size_t keep_best(size_t opened, double width, Dropped& dropped);
  void send(const Corpus& corpus, size_t token, const PrunedSums& sums, std::span<const int32_t> to, double* out);
  bool guarantees() const { return options_.rule.rule == Keep::Rule::kDivergence && options_.max_labels == 0; }

  const EdgeFactors& factors_;
  const PruningOptions& options_;
  std::vector<float> sum_, blocks_, keys_, bounds_;  // [y], of a column
  std::vector<int32_t> opened_;
  std::vector<double> messages_, beliefs_, node_;  // beside opened_
  std::vector<double> order_, step_;
};

}  // namespace tagwright
