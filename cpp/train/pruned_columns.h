// Which labels of each column enter the sums of an online CRF.
//
// Labels are opened by bounds: node score, best edge into the label and best edge out of it. Nothing else is computed
// for labels too far below the best one. Of the opened labels those are kept whose belief, by the messages of the
// labels kept before, is large enough. Beside alpha, which sums over the labels that are kept, `upper` bounds the sum
// over all labels: so log Z over all labels is bounded before the backward pass.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/elementary.h"
#include "sums/forward_backward.h"
#include "train/edge_factors.h"

namespace tagwright {

struct PruningOptions {
  // kDivergence: log Z of a sentence is at most epsilon per token below the exact one. kSize, kRatio: by the beliefs on
  // the forward pass. kAll: exact sums.
  PruningRule rule;
  // The most labels that a column may keep, 0: any. Where the rule would keep more, they are dropped, and the rule
  // guarantees nothing.
  size_t max_labels = 0;
};

// Of one thread.
class ColumnPruner : ColumnSource {
 public:
  ColumnPruner(const EdgeFactors& factors, const PruningOptions& options) : factors_(factors), options_(options) {}

  // Sums over the labels that it keeps; log Z is kForbidden where exact sums must take over: where too many labels
  // matter, or no path is left. scores: the node scores of a sentence, [t * padded + y], -inf for labels that it may
  // not have. The labels that the corpus allows for a token are always kept: the gradient contrasts them with the
  // others. The arena is reset.
  Sums sum(const Corpus& corpus, size_t sentence, const float* scores, Arena& arena);
  // Upper bound of log Z over all labels, less log Z.
  double missing() const { return portable_log(all_); }

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

  Sums sum(const Width& width);
  Column column(size_t t) override;
  bool reached(size_t t, const ReachedColumn& column) override;
  size_t open_column(const float* scores, Dropped& dropped);
  size_t best_opened(size_t opened, size_t most, Dropped& dropped);
  size_t keep_best(size_t opened, Dropped& dropped);
  size_t add_required(size_t t, const float* scores, size_t kept);
  void send(size_t token, std::span<const int32_t> to, double* out);
  bool guarantees() const { return options_.rule.rule == PruningRule::Rule::kDivergence && options_.max_labels == 0; }

  const EdgeFactors& factors_;
  const PruningOptions& options_;
  struct {
    const Corpus* corpus = nullptr;
    const float* scores = nullptr;
    Arena* arena = nullptr;
    size_t first = 0, T = 0;
    Width width{};
  } sentence_;
  Column last_;
  // Of the last column: upper bounds of alpha, of what the labels that were dropped send to any label of the next
  // column, and of both together; lost_: before alpha was scaled, as a multiple of exp(the first score).
  std::vector<double> upper_;
  double left_out_ = 0, all_ = 1, lost_ = 0;
  bool gave_up_ = false;  // too much was lost: wider columns are needed
  // Of a column that is chosen.
  std::vector<float> sum_, blocks_, keys_, bounds_;  // [y]
  std::vector<int32_t> opened_;
  std::vector<double> messages_, beliefs_;  // beside opened_
  std::vector<double> order_, step_;
};

}  // namespace tagwright
