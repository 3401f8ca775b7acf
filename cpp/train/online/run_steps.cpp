// Weights for runs of labels: sums over the labels that were chosen, and steps.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/need.h"
#include "train/online/online_crf.h"

namespace tagwright {

void OnlineCrf::hold_runs() {
  run_weight_.assign(runs_.size(), 0.0F);
  run_past_.assign(runs_.size(), Past{});
  patterns_.reset();
  if (runs_.empty()) return;
  patterns_ = std::make_unique<ChangingPatterns>(corpus_.L, runs_.labels());
  runs_.place(*patterns_);
}

void OnlineCrf::set_run(size_t q, float weight) {
  run_weight_[q] = weight;
  patterns_->change(runs_.node(q), static_cast<double>(weight));
}

void OnlineCrf::sum_runs(size_t s, bool few, Strand& strand, Asked& asked) const {
  const size_t first = corpus_.first_token(s), T = corpus_.length(s), L = corpus_.L;
  // The labels in their order, one column behind the other.
  strand.labels.resize(T);
  strand.sorted.clear();
  strand.sorted.reserve(few ? strand.sums.kept() : T * L);
  for (size_t t = 0; t < T; ++t) {
    const size_t begin = strand.sorted.size();
    if (few) {
      const std::span<const int32_t> kept = strand.sums.labels(t);
      strand.sorted.insert(strand.sorted.end(), kept.begin(), kept.end());
      std::sort(strand.sorted.begin() + static_cast<ptrdiff_t>(begin), strand.sorted.end());
    } else {
      strand.sorted.resize(begin + L);
      std::iota(strand.sorted.begin() + static_cast<ptrdiff_t>(begin), strand.sorted.end(), 0);
    }
    strand.labels[t] = std::span(strand.sorted).subspan(begin);
  }
  PatternSums& sums = strand.patterns;
  sums.sum(
      {.patterns = *patterns_,
       .labels = strand.labels,
       .nodes =
           [&](size_t t, double* out) {
             for (const int32_t y : strand.labels[t]) *out++ = strand.scores[t * padded_ + static_cast<size_t>(y)];
           },
       .edges = [&](size_t t, double* out) { fill_factors(first + t, strand.labels[t - 1], strand.labels[t], out); },
       .factors = true});
  need(sums.log_z() != kForbidden, "a sentence has no path");
  asked.seen.loss = sums.log_z();
  asked.seen.kept = sums.kept();
  asked.seen.exact = !few;
  for (size_t t = 0; t < T; ++t) {
    const int32_t right = corpus_.labels[first + t];
    const std::span<const int32_t> labels = sums.labels(t);
    for (size_t q = 0; q < labels.size(); ++q) {
      const double g = sums.nodes(t)[q] - (labels[q] == right);
      if (std::fabs(g) >= kStepFrom) asked.nodes.emplace_back(static_cast<uint16_t>(labels[q]), static_cast<float>(g));
    }
    end_token(asked);
    if (t > 0) ask_runs(s, t, strand, asked);
  }
}

// What the step into column t asks for, of pairs and of runs.
void OnlineCrf::ask_runs(size_t s, size_t t, Strand& strand, Asked& asked) const {
  const size_t first = corpus_.first_token(s);
  const PatternSums& sums = strand.patterns;
  const int32_t previous = corpus_.labels[first + t - 1], right = corpus_.labels[first + t];
  const size_t n = sums.labels(t).size();
  strand.step.assign(sums.labels(t - 1).size() * n, 0.0);
  strand.runs.resize(runs_.size(), 0.0);
  strand.met.clear();
  const auto count = [&](Patterns::Node node, double by) {
    runs_.each_ending(*patterns_, node, [&](size_t q) {
      if (strand.runs[q] == 0) strand.met.push_back(static_cast<uint32_t>(q));
      strand.runs[q] += by;
    });
  };
  sums.each_move(t, false, [&](const PatternSums::Move& move) {
    strand.step[move.p * n + move.q] += move.probability;
    if (move.node != Patterns::kNoNode && move.probability > 0) count(move.node, move.probability);
  });
  Patterns::Node at = corpus_.labels[first + (t < PatternRuns::kLongest ? 0 : t + 1 - PatternRuns::kLongest)];
  for (size_t u = t < PatternRuns::kLongest ? 1 : t + 2 - PatternRuns::kLongest; u <= t; ++u)
    at = patterns_->next(at, corpus_.labels[first + u]);
  count(at, -1);
  for (const uint32_t q : strand.met) {
    if (std::fabs(strand.runs[q]) >= kStepFrom) asked.runs.emplace_back(q, static_cast<float>(strand.runs[q]));
    strand.runs[q] = 0;
  }
  if (!options_.edges && corpus_.sets() == 0) return;
  const double* edge = strand.step.data();
  for (const int32_t i : sums.labels(t - 1)) {
    for (const int32_t j : sums.labels(t)) {
      const double g = *edge++ - (i == previous && j == right);
      if (std::fabs(g) < kStepFrom) continue;
      asked.edges.push_back(
          {static_cast<uint32_t>(t), static_cast<uint16_t>(i), static_cast<uint16_t>(j), static_cast<float>(g)});
    }
  }
}

void OnlineCrf::step_runs(const Stepper& stepper, size_t sentences) {
  for (size_t n = 0; n < sentences; ++n) {
    for (const auto& [q, gradient] : asked_[n].runs) {
      stepper.step(static_cast<double>(gradient), run_weight_[q], run_past_[q]);
      set_run(q, std::clamp(run_weight_[q], -kMostEdge, kMostEdge));
    }
  }
}

}  // namespace tagwright
