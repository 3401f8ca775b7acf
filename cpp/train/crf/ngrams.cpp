// Weights for runs of labels: where each is found, and what they count.
#include "train/crf/crf.h"

namespace tagwright {

void Crf::hold_runs() {
  if (keys_.ngrams() == 0) return;
  constexpr size_t kLongest = NgramList::kLongest;
  std::vector<int32_t> labels;
  for (const uint16_t label : keys_.runs) labels.push_back(label == kNoLabel ? -1 : label);
  runs_ = std::make_unique<MutableNgrams>(corpus_.L, labels);
  run_of_node_.assign(runs_->nodes(), -1);
  for (size_t q = 0; q < keys_.ngrams(); ++q) {
    const std::span<const int32_t> run = std::span<const int32_t>(labels).subspan(q * kLongest, kLongest);
    run_of_node_[static_cast<size_t>(runs_->find(run.first(run.back() < 0 ? kLongest - 1 : kLongest)))] =
        static_cast<int32_t>(q);
  }
}

// Adds the runs of the step into column t to the counts, so many times, and leaves its pairs in workspace.step.
void Crf::step_runs(size_t t, double times, Workspace& workspace) const {
  const NgramSums& sums = workspace.ngrams;
  double* const counts = workspace.counts.data() + keys_.size() - keys_.ngrams();
  const size_t n = sums.labels(t).size();
  workspace.step.assign(sums.labels(t - 1).size() * n, 0.0);
  sums.for_each_move(t, false, [&](const NgramSums::Move& move) {
    workspace.step[move.p * n + move.q] += move.probability;
    if (move.node != LabelNgrams::kNoNode)
      for_each_run(move.node, [&](size_t q) { counts[q] += to_grain(times * move.probability, scale_.grain); });
  });
}

}  // namespace tagwright
