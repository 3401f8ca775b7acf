// Weights for runs of labels: sums over the labels that were chosen, and steps.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/need.h"
#include "train/online/online_crf.h"

namespace tagwright {

void OnlineCrf::hold_runs() {
  run_weight_.assign(runs_.size(), 0.0F);
  run_past_.assign(runs_.size(), OptimizerState{});
  ngrams_.reset();
  if (runs_.empty()) return;
  ngrams_ = std::make_unique<MutableNgrams>(corpus_.L, runs_.labels());
  runs_.place(*ngrams_);
}

void OnlineCrf::set_run(size_t q, float weight) {
  run_weight_[q] = weight;
  ngrams_->change(runs_.node(q), static_cast<double>(weight));
}

void OnlineCrf::sum_runs(size_t s, bool few, Workspace& workspace, SparseGradient& asked) const {
  const size_t first = corpus_.first_token(s), T = corpus_.length(s), L = corpus_.L;
  // The labels in their order, one column behind the other.
  workspace.labels.resize(T);
  workspace.sorted.clear();
  workspace.sorted.reserve(few ? workspace.sums.kept() : T * L);
  for (size_t t = 0; t < T; ++t) {
    const size_t begin = workspace.sorted.size();
    if (few) {
      const std::span<const int32_t> kept = workspace.sums.labels(t);
      workspace.sorted.insert(workspace.sorted.end(), kept.begin(), kept.end());
      std::sort(workspace.sorted.begin() + static_cast<ptrdiff_t>(begin), workspace.sorted.end());
    } else {
      workspace.sorted.resize(begin + L);
      std::iota(workspace.sorted.begin() + static_cast<ptrdiff_t>(begin), workspace.sorted.end(), 0);
    }
    workspace.labels[t] = std::span(workspace.sorted).subspan(begin);
  }
  NgramSums& sums = workspace.ngrams;
  sums.sum({.ngrams = *ngrams_,
            .labels = workspace.labels,
            .nodes =
                [&](size_t t, double* out) {
                  for (const int32_t y : workspace.labels[t])
                    *out++ = workspace.scores[t * padded_ + static_cast<size_t>(y)];
                },
            .edges = [&](size_t t,
                         double* out) { fill_factors(first + t, workspace.labels[t - 1], workspace.labels[t], out); },
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
    if (t > 0) ask_runs(s, t, workspace, asked);
  }
}

// What the step into column t asks for, of pairs and of runs.
void OnlineCrf::ask_runs(size_t s, size_t t, Workspace& workspace, SparseGradient& asked) const {
  const size_t first = corpus_.first_token(s);
  const NgramSums& sums = workspace.ngrams;
  const int32_t previous = corpus_.labels[first + t - 1], right = corpus_.labels[first + t];
  const size_t n = sums.labels(t).size();
  workspace.step.assign(sums.labels(t - 1).size() * n, 0.0);
  workspace.runs.resize(runs_.size(), 0.0);
  workspace.met.clear();
  const auto count = [&](LabelNgrams::Node node, double by) {
    runs_.for_each_ending(*ngrams_, node, [&](size_t q) {
      if (workspace.runs[q] == 0) workspace.met.push_back(static_cast<uint32_t>(q));
      workspace.runs[q] += by;
    });
  };
  sums.for_each_move(t, false, [&](const NgramSums::Move& move) {
    workspace.step[move.p * n + move.q] += move.probability;
    if (move.node != LabelNgrams::kNoNode && move.probability > 0) count(move.node, move.probability);
  });
  LabelNgrams::Node at = corpus_.labels[first + (t < NgramList::kLongest ? 0 : t + 1 - NgramList::kLongest)];
  for (size_t u = t < NgramList::kLongest ? 1 : t + 2 - NgramList::kLongest; u <= t; ++u)
    at = ngrams_->next(at, corpus_.labels[first + u]);
  count(at, -1);
  for (const uint32_t q : workspace.met) {
    if (std::fabs(workspace.runs[q]) >= kStepFrom) asked.runs.emplace_back(q, static_cast<float>(workspace.runs[q]));
    workspace.runs[q] = 0;
  }
  if (!options_.edges && corpus_.sets() == 0) return;
  const double* edge = workspace.step.data();
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
