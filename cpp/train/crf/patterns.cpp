// Weights for runs of labels: where each is found, and what they count.
#include "train/crf/crf.h"

namespace tagwright {

void Crf::hold_runs() {
  if (keys_.patterns() == 0) return;
  constexpr size_t kLongest = PatternRuns::kLongest;
  std::vector<int32_t> labels;
  for (const uint16_t label : keys_.runs) labels.push_back(label == kNoLabel ? -1 : label);
  runs_ = std::make_unique<ChangingPatterns>(corpus_.L, labels);
  run_of_node_.assign(runs_->nodes(), -1);
  for (size_t q = 0; q < keys_.patterns(); ++q) {
    const std::span<const int32_t> run = std::span<const int32_t>(labels).subspan(q * kLongest, kLongest);
    run_of_node_[static_cast<size_t>(runs_->find(run.first(run.back() < 0 ? kLongest - 1 : kLongest)))] =
        static_cast<int32_t>(q);
  }
}

// Adds the runs of the step into column t to the counts, so many times, and leaves its pairs in strand.step.
void Crf::step_runs(size_t t, double times, Strand& strand) const {
  const PatternSums& sums = strand.patterns;
  double* const counts = strand.counts.data() + keys_.size() - keys_.patterns();
  const size_t n = sums.labels(t).size();
  strand.step.assign(sums.labels(t - 1).size() * n, 0.0);
  sums.each_move(t, false, [&](const PatternSums::Move& move) {
    strand.step[move.p * n + move.q] += move.probability;
    if (move.node != Patterns::kNoNode)
      each_run(move.node, [&](size_t q) { counts[q] += to_grain(times * move.probability, scale_.grain); });
  });
}

}  // namespace tagwright
