#include "lattice/patterns.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace tagwright {
namespace {

constexpr size_t kLongest = PatternRuns::kLongest;
constexpr size_t kMost = 100'000'000;  // of runs: nodes are numbered in 31 bits, and one run may need five

using Run = std::array<int32_t, kLongest>;  // behind the last label, -1

std::string shown(const int32_t* run) {
  std::string text;
  for (size_t n = 0; n < kLongest && run[n] >= 0; ++n) text += (n ? " -> " : "") + std::to_string(run[n]);
  return text;
}

// Complains about run q where it is none; returns how long it is.
size_t checked_length(size_t L, const PatternRuns& runs, size_t q) {
  const int32_t* const run = runs.labels.data() + q * kLongest;
  const size_t length = run[kLongest - 1] == -1 ? kLongest - 1 : kLongest;
  for (size_t n = 0; n < length; ++n)
    if (run[n] < 0 || static_cast<size_t>(run[n]) >= L)
      throw std::invalid_argument("pattern " + std::to_string(q) + " has label " + std::to_string(run[n]) +
                                  " in place " + std::to_string(n) + ", but labels go from 0 to " +
                                  std::to_string(L - 1) + "; a run of three has -1 in the last place");
  if (!is_score(runs.score[q]))
    throw std::invalid_argument("pattern " + std::to_string(q) + " (" + shown(run) + ")" + why_no_score(runs.score[q]));
  return length;
}

// A run without its last label, or without its first.
Run prefix_of(Run run, size_t length) {
  run[length - 1] = -1;
  return run;
}
Run suffix_of(const Run& run) {
  Run made;
  made.fill(-1);
  std::copy(run.begin() + 1, run.end(), made.begin());
  return made;
}

void sort_unique(std::vector<Run>& runs) {
  std::sort(runs.begin(), runs.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
}

}  // namespace

Patterns::Patterns(size_t L, const PatternRuns& runs, bool keep_all) : L_(L) {
  if (runs.labels.size() != runs.size() * kLongest)
    throw std::invalid_argument("patterns: there must be one score per run");
  if (runs.size() > kMost)
    throw std::invalid_argument("there are " + std::to_string(runs.size()) + " patterns; at most " +
                                std::to_string(kMost) + " can be held, drop rare ones");
  // of[d]: runs of d + 1 labels that are nodes, from the longest on; those given are the first to be known.
  std::array<std::vector<Run>, kLongest> of;
  std::vector<std::pair<Run, double>> given;
  for (size_t q = 0; q < runs.size(); ++q) {
    const size_t length = checked_length(L, runs, q);
    Run run;
    std::copy_n(runs.labels.data() + q * kLongest, kLongest, run.begin());
    given.emplace_back(run, runs.score[q]);
    if (runs.score[q] == 0 && !keep_all) continue;
    of[length - 1].push_back(run);
    order_ = std::max(order_, length - 1);
    ++size_;
  }
  const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(given.begin(), given.end(), before)) std::sort(given.begin(), given.end(), before);
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (const auto twice = std::adjacent_find(given.begin(), given.end(), same); twice != given.end())
    throw std::invalid_argument("pattern " + shown(twice->first.data()) + " is given twice; give each run once");

  for (size_t d = kLongest; d-- > 2;) {
    sort_unique(of[d]);
    for (const Run& run : of[d]) {
      of[d - 1].push_back(prefix_of(run, d + 1));
      of[d - 1].push_back(suffix_of(run));
    }
  }
  sort_unique(of[1]);

  level_[0] = 0;
  level_[1] = static_cast<Node>(L);
  for (size_t d = 1; d < kLongest; ++d) level_[d + 1] = level_[d] + static_cast<Node>(of[d].size());
  const auto nodes = static_cast<size_t>(level_[kLongest]);
  begin_.assign(nodes + 1, level_[kLongest]);
  label_.resize(nodes);
  parent_.resize(nodes);
  suffix_.resize(nodes);
  context_.resize(nodes);
  score_.assign(nodes, 0.0);
  for (size_t y = 0; y < L; ++y) label_[y] = parent_[y] = suffix_[y] = static_cast<Node>(y);
  for (size_t d = 1; d < kLongest; ++d) {
    // Parents, as their children, rise with their labels.
    Node parent = level_[d - 1];
    const auto is_parent = [&](const Run& run) {
      if (d == 1) return run[0] == parent;
      return std::equal(run.begin(), run.begin() + static_cast<ptrdiff_t>(d),
                        of[d - 1][static_cast<size_t>(parent - level_[d - 1])].begin());
    };
    begin_[parent] = level_[d];
    for (size_t q = 0; q < of[d].size(); ++q) {
      const Node node = level_[d] + static_cast<Node>(q);
      while (!is_parent(of[d][q])) begin_[++parent] = node;
      label_[node] = of[d][q][d];
      parent_[node] = parent;
    }
    while (++parent < level_[d]) begin_[parent] = level_[d + 1];
  }
  for (Node node = 0; node < static_cast<Node>(nodes); ++node) {
    // The ending of a node is a child of its parent's ending, which comes before it.
    if (!is_label(node))
      suffix_[node] = is_label(parent_[node]) ? label_[node] : child(suffix_[parent_[node]], label_[node]);
    context_[node] = begin_[node] < begin_[node + 1] || is_label(node) ? node : context_[suffix_[node]];
    contexts_ += context_[node] == node;
  }
  for (const auto& [run, score] : given) {
    if (score == 0) continue;
    const size_t length = run[kLongest - 1] == -1 ? kLongest - 1 : kLongest;
    score_[find(std::span(run).first(length))] = score;
  }
  for (Node node = level_[2]; node < static_cast<Node>(nodes); ++node)
    if (std::isfinite(score_[node]) || std::isfinite(score_[suffix_[node]])) {
      const auto size = [&](Node own) { return std::isfinite(score_[own]) ? std::fabs(score_[own]) : 0.0; };
      magnitude_ = std::max(magnitude_, size(node) + size(suffix_[node]));
    }
}

ChangingPatterns::ChangingPatterns(size_t L, std::span<const int32_t> labels)
    : Patterns(L, {labels, std::vector<double>(labels.size() / kLongest, 0.0)}, true) {}

void ChangingPatterns::change(Node node, double score) {
  score_[node] = score;
  // Never too small: the other of the two patterns that may end with one label is no larger than all so far.
  magnitude_ = std::max(magnitude_, 2 * std::fabs(score));
}

Patterns::Node Patterns::child(Node node, int32_t k) const {
  const int32_t* base = label_.data() + begin_[node];
  auto n = static_cast<size_t>(begin_[node + 1] - begin_[node]);
  if (n == 0) return kNoNode;
  // std::lower_bound without branches: where a label lies cannot be guessed.
  while (n > 1) {
    const size_t half = n / 2;
    base += base[half - 1] < k ? half : 0;
    n -= half;
  }
  return *base == k ? static_cast<Node>(base - label_.data()) : kNoNode;
}

size_t Patterns::depth(Node node) const {
  size_t depth = 1;
  while (node >= level_[depth]) ++depth;
  return depth;
}

Patterns::Node Patterns::find(std::span<const int32_t> run) const {
  Node at = run[0];
  for (size_t n = 1; n < run.size() && at != kNoNode; ++n) at = child(at, run[n]);
  return at;
}

}  // namespace tagwright
