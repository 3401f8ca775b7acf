#include "decode/tree/search.h"

#include "decode/graph.h"

namespace tagwright {

bool TreeSearch::floor(double& least) {
  const double score = incumbent_.offer({path_, T_});
  least = incumbent_.score() - lattice_.slack();
  if (k_ == 1 || score == kForbidden) return incumbent_.score() != kForbidden;
  const double guess = estimate(score);
  least = incumbent_.kth(guess) - lattice_.slack() - bounds()[T_ - 1].error;
  return least != kForbidden;
}

bool TreeSearch::prove(double least) {
  constexpr int kTries = 8;
  for (int tries = 0; tries < kTries && !incumbent_.late(); ++tries) {
    if (!back(least)) return false;
    const bool any = surviving_[0].size > 0;
    if (k_ == 1) {
      if (any) answer_.paths.push_back(best());
      return any;
    }
    if (any) answer_.paths = enumerate();
    if (incumbent_.proven(answer_.paths, scale_, least)) return true;
    answer_.paths.clear();
  }
  return false;
}

Path TreeSearch::best() const {
  const auto less = [](const SurvivingState& a, const SurvivingState& b) { return a.from < b.from; };
  const SurvivingState* at = std::max_element(surviving_[0].states, surviving_[0].states + surviving_[0].size, less);
  std::vector<int32_t> labels(T_);
  for (size_t t = 0; t < T_; ++t) {
    if (t) at = surviving_[t].states + at->best;
    labels[t] = at->label;
  }
  return {std::move(labels)};
}

// Returns up to k paths that reach the floor, best first. Node scores are those that the backward pass read, even if
// another thread has changed them since: the heuristic was summed from them, and must be exact, or the search would not
// terminate.
std::vector<Path> TreeSearch::enumerate() {
  double** const behind = arena_.array<double*>(T_);
  for (size_t t = 0; t < T_; ++t) {
    behind[t] = arena_.array<double>(surviving_[t].size);
    for (size_t q = 0; q < surviving_[t].size; ++q) behind[t][q] = surviving_[t].states[q].behind;
  }
  Graph graph;
  graph.T = T_;
  graph.size = [&](size_t t) { return surviving_[t].size; };
  graph.first = [&](double* out) {
    for (size_t q = 0; q < surviving_[0].size; ++q) out[q] = surviving_[0].states[q].node;
  };
  graph.next = [&](size_t t, size_t p, double* out) {
    const SurvivingColumn& next = surviving_[t + 1];
    const SurvivingState& from = surviving_[t].states[p];
    std::fill(out, out + from.begin, kForbidden);
    std::fill(out + from.end, out + next.size, kForbidden);
    for (size_t q = from.begin; q < from.end; ++q) out[q] = from.edges[q - from.begin] + next.states[q].node;
  };
  graph.heuristic = [&](size_t t) { return behind[t]; };
  std::vector<Path> paths;
  for (GraphPath& path : enumerate_paths(graph, k_, answer_.work)) {
    for (size_t t = 0; t < T_; ++t) path.at[t] = surviving_[t].states[path.at[t]].label;
    paths.push_back(scored(lattice_, std::move(path.at)));  // proven() needs scores
  }
  return paths;
}

}  // namespace tagwright
