#include "lattice/ngrams.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

namespace tagwright {
namespace {

constexpr size_t kLongest = NgramList::kLongest;
constexpr size_t kMost = 100'000'000;  // of runs: nodes are numbered in 31 bits, and one run may need five

using Run = std::array<int32_t, kLongest>;  // behind the last label, -1

std::string shown(const int32_t* run) {
  std::string text;
  for (size_t n = 0; n < kLongest && run[n] >= 0; ++n) text += (n ? " -> " : "") + std::to_string(run[n]);
  return text;
}

// Complains about run q where it is none; returns how long it is.
size_t checked_length(size_t L, const NgramList& runs, size_t q) {
  const int32_t* const run = runs.labels.data() + q * kLongest;
  const size_t length = run[kLongest - 1] == -1 ? kLongest - 1 : kLongest;
  for (size_t n = 0; n < length; ++n)
    if (run[n] < 0 || static_cast<size_t>(run[n]) >= L)
      throw std::invalid_argument("ngram " + std::to_string(q) + " has label " + std::to_string(run[n]) + " in place " +
                                  std::to_string(n) + ", but labels go from 0 to " + std::to_string(L - 1) +
                                  "; a trigram has -1 in the last place");
  if (!is_score(runs.score[q]))
    throw std::invalid_argument("ngram " + std::to_string(q) + " (" + shown(run) + ")" + why_no_score(runs.score[q]));
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

// N-grams after checks, and all sequences that are nodes.
struct Sequences {
  std::array<std::vector<Run>, kLongest> of;  // [d]: nodes of d + 1 labels, sorted, from pairs on
  std::vector<std::pair<Run, double>> given;  // sorted
  size_t size = 0, order = 0;                 // of those that are held

  Sequences(size_t L, const NgramList& ngrams) {
    for (size_t q = 0; q < ngrams.size(); ++q) {
      const size_t length = checked_length(L, ngrams, q);
      Run run;
      std::copy_n(ngrams.labels.data() + q * kLongest, kLongest, run.begin());
      given.emplace_back(run, ngrams.score[q]);
      if (ngrams.score[q] == 0 && !ngrams.keep_all) continue;
      of[length - 1].push_back(run);
      order = std::max(order, length - 1);
      ++size;
    }
    const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
    if (!std::is_sorted(given.begin(), given.end(), before)) std::sort(given.begin(), given.end(), before);
    const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
    if (const auto twice = std::adjacent_find(given.begin(), given.end(), same); twice != given.end())
      throw std::invalid_argument("ngram " + shown(twice->first.data()) + " is given twice; give each n-gram once");
    for (size_t d = kLongest; d-- > 2;) {
      sort_unique(of[d]);
      for (const Run& run : of[d]) {
        of[d - 1].push_back(prefix_of(run, d + 1));
        of[d - 1].push_back(suffix_of(run));
      }
    }
    sort_unique(of[1]);
  }
};

}  // namespace

LabelNgrams::LabelNgrams(size_t L, const NgramList& ngrams) : L_(L) {
  if (ngrams.labels.size() != ngrams.size() * kLongest)
    throw std::invalid_argument("ngrams: there must be one score per n-gram");
  if (ngrams.size() > kMost)
    throw std::invalid_argument("there are " + std::to_string(ngrams.size()) + " ngrams; at most " +
                                std::to_string(kMost) + " can be held, drop rare ones");
  const Sequences sequences(L, ngrams);
  const auto& [of, given, size, order] = sequences;
  size_ = size;
  order_ = order;

  level_[0] = 0;
  level_[1] = static_cast<Node>(L);
  for (size_t d = 1; d < kLongest; ++d) level_[d + 1] = level_[d] + static_cast<Node>(of[d].size());
  const auto nodes = static_cast<size_t>(level_[kLongest]);
  facts_.assign(nodes + 1, {.begin = level_[kLongest]});
  label_.resize(nodes);
  for (size_t y = 0; y < L; ++y) label_[y] = facts_[y].parent = facts_[y].suffix = static_cast<Node>(y);
  for (size_t d = 1; d < kLongest; ++d) {
    // Parents, as their children, rise with their labels.
    Node parent = level_[d - 1];
    const auto is_parent = [&](const Run& run) {
      if (d == 1) return run[0] == parent;
      return std::equal(run.begin(), run.begin() + static_cast<ptrdiff_t>(d),
                        of[d - 1][static_cast<size_t>(parent - level_[d - 1])].begin());
    };
    facts_[parent].begin = level_[d];
    for (size_t q = 0; q < of[d].size(); ++q) {
      const Node node = level_[d] + static_cast<Node>(q);
      while (!is_parent(of[d][q])) facts_[++parent].begin = node;
      label_[node] = of[d][q][d];
      facts_[node].parent = parent;
    }
    while (++parent < level_[d]) facts_[parent].begin = level_[d + 1];
  }
  for (Node node = 0; node < static_cast<Node>(nodes); ++node) {
    Facts& own = facts_[node];
    // The ending of a node is a child of its parent's ending, which comes before it.
    if (!is_label(node)) own.suffix = is_label(own.parent) ? label_[node] : child(suffix(own.parent), label_[node]);
    const Range children_of = children(node);
    own.context = children_of.first < children_of.end || is_label(node) ? node : context(own.suffix);
    contexts_ += own.context == node;
  }
  longer_begin_.assign(nodes + 2, 0);
  for (size_t node = L; node < nodes; ++node) ++longer_begin_[static_cast<size_t>(suffix(static_cast<Node>(node))) + 2];
  std::partial_sum(longer_begin_.begin(), longer_begin_.end(), longer_begin_.begin());
  longer_.resize(nodes - L);
  for (size_t node = L; node < nodes; ++node)
    longer_[static_cast<size_t>(longer_begin_[static_cast<size_t>(suffix(static_cast<Node>(node))) + 1]++)] =
        static_cast<Node>(node);
  longer_begin_.pop_back();
  for (Node q = 0; q < longer_begin_[L]; ++q) first_.push_back(parent(longer_[static_cast<size_t>(q)]));

  for (const auto& [run, score] : given) {
    if (score == 0) continue;
    const size_t length = run[kLongest - 1] == -1 ? kLongest - 1 : kLongest;
    facts_[find(std::span(run).first(length))].score = score;
  }
  const auto magnitude = [&](Node node) { return std::isfinite(score(node)) ? std::fabs(score(node)) : 0.0; };
  for (Node node = level_[2]; node < static_cast<Node>(nodes); ++node) {
    facts_[node].more = score(node) + score(suffix(node));
    magnitude_ = std::max(magnitude_, magnitude(node) + magnitude(suffix(node)));
  }
}

MutableNgrams::MutableNgrams(size_t L, std::span<const int32_t> labels)
    : LabelNgrams(L, {labels, std::vector<double>(labels.size() / kLongest, 0.0), true}) {}

void MutableNgrams::change(Node node, double score) {
  facts_[node].score = score;
  facts_[node].more = score + this->score(suffix(node));
  for (const Node longer : longer(node)) facts_[longer].more = this->score(longer) + score;
  // Never too small: the other of the two n-grams that may end with one label is no larger than all so far.
  magnitude_ = std::max(magnitude_, 2 * std::fabs(score));
}

size_t LabelNgrams::depth(Node node) const {
  size_t depth = 1;
  while (node >= level_[depth]) ++depth;
  return depth;
}

LabelNgrams::Node LabelNgrams::find(std::span<const int32_t> run) const {
  Node at = run[0];
  for (size_t n = 1; n < run.size() && at != kNoNode; ++n) at = child(at, run[n]);
  return at;
}

}  // namespace tagwright
