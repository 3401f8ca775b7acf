// Incumbent: the best path that a search of `tree` has found so far, with a bound for all paths, the deadline, and an
// estimate of the k-th best score.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "decode/table.h"

namespace tagwright {

class Incumbent {
 public:
  Incumbent(const Lattice& lattice, const Options& options)
      : lattice_(lattice), k_(options.k), timed_(options.deadline < std::numeric_limits<double>::infinity()) {
    if (timed_) deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(options.deadline));
  }

  bool timed() const { return timed_; }
  // Whether time is up. It never is before there is a path to return.
  bool late() const { return timed_ && score_ != kForbidden && Clock::now() > deadline_; }
  // Returns the score of the best path so far; -inf where there is none.
  double score() const { return score_; }
  // The upper bound of all paths, and lowering it.
  double bound() const { return bound_; }
  void limit(double bound) { bound_ = std::min(bound_, bound); }

  // Returns the score of a path, which becomes the incumbent if it is better.
  double offer(std::span<const int32_t> path) {
    const double score = path_score(lattice_, path);
    if (score > score_) {
      score_ = score;
      if (timed_) path_.assign(path.begin(), path.end());
    }
    return score;
  }

  // Makes the incumbent the answer, with the gap by which another path may be better.
  void report(Answer& answer) const {
    answer.paths.assign(1, {path_, score_});
    answer.gap = std::max(0.0, bound_ + lattice_.slack() - score_);
    answer.exact = false;
  }

  // Collects the k best of some scores, beginning with this one.
  void begin_estimates(double score) { estimates_.assign(1, score); }
  void estimate(double score) {
    if (score == kForbidden) return;
    if (estimated()) {
      if (score <= estimates_.front()) return;
      std::pop_heap(estimates_.begin(), estimates_.end(), std::greater<>());
      estimates_.pop_back();
    }
    estimates_.push_back(score);
    std::push_heap(estimates_.begin(), estimates_.end(), std::greater<>());
  }
  // Whether there are k of them; and the k-th, or the guess.
  bool estimated() const { return estimates_.size() == k_; }
  double kth(double guess) const { return estimated() ? estimates_.front() : guess; }

  // Whether these paths, all that reach the floor `least`, are the k best. If not, the floor was estimated too high and
  // is lowered. If there are k paths, the k-th gives a true floor, which may be far too low. scale: see TreeBounds.
  bool proven(const std::vector<Path>& found, double scale, double& least) const {
    const bool enough = found.size() == k_;
    if (enough && found.back().score >= least + lattice_.slack()) return true;
    least -= std::max((score_ - least) / 2, scale / 32);
    if (enough) least = std::max(least, found.back().score - 2 * lattice_.slack());
    return false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;

  const Lattice& lattice_;
  const size_t k_;
  const bool timed_;
  Clock::time_point deadline_;
  double score_ = kForbidden;
  double bound_ = std::numeric_limits<double>::infinity();
  std::vector<int32_t> path_;
  std::vector<double> estimates_;
};

// Runs a search; false where it gives up. The work is counted in any case.
template <class Search>
bool found_answer(Search&& search, Answer& answer) {
  std::optional<Answer> found = search.run();
  if (found) {
    answer = std::move(*found);
  } else {
    answer.work += search.work();
  }
  return found.has_value();
}

// tree over label n-grams (decode/ngrams/tree.cpp): the same for a lattice whose edges have some.
bool try_ngram_tree(const Lattice& lattice, const Options& options, Arena& arena, Answer& answer);

}  // namespace tagwright
