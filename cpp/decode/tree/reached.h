// What a search of `tree` has reached: the best path so far, a bound for all paths, time, and what the k-th may score.
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

class Reached {
 public:
  Reached(const Lattice& lattice, const Options& options)
      : lattice_(lattice), k_(options.k), timed_(options.deadline < std::numeric_limits<double>::infinity()) {
    if (timed_) deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(options.deadline));
  }

  bool timed() const { return timed_; }
  // Whether time is up. It never is before there is a path to return.
  bool late() const { return timed_ && score_ != kForbidden && Clock::now() > deadline_; }
  // Of the best path so far; -inf where there is none.
  double score() const { return score_; }
  double bound() const { return bound_; }
  void limit(double bound) { bound_ = std::min(bound_, bound); }

  // Notes a path; returns its score.
  double note(std::span<const int32_t> path) {
    const double score = path_score(lattice_, path);
    if (score > score_) {
      score_ = score;
      if (timed_) path_.assign(path.begin(), path.end());
    }
    return score;
  }

  // Makes the best path so far the answer, which may not be the best of all.
  void give(Answer& answer) const {
    answer.paths.assign(1, {path_, score_});
    answer.gap = std::max(0.0, bound_ + lattice_.slack() - score_);
    answer.exact = false;
  }

  // Collects the k best of some scores, beginning with this one.
  void begin_promises(double score) { promises_.assign(1, score); }
  void promise(double score) {
    if (score == kForbidden) return;
    if (promised()) {
      if (score <= promises_.front()) return;
      std::pop_heap(promises_.begin(), promises_.end(), std::greater<>());
      promises_.pop_back();
    }
    promises_.push_back(score);
    std::push_heap(promises_.begin(), promises_.end(), std::greater<>());
  }
  // Whether there are k of them; the k-th, or the guess.
  bool promised() const { return promises_.size() == k_; }
  double kth(double guess) const { return promised() ? promises_.front() : guess; }

  // Whether these paths, all that reach the floor `least`, are the k best. If not, the floor was a guess made from
  // bounds, and too high: it is lowered. If there are k paths, the k-th gives a true floor, which may be far too low.
  // scale: what an edge can score.
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
  std::vector<double> promises_;
};

// Runs a search; false where it gives up. The work is counted in any case.
template <class Search>
bool answered(Search&& search, Answer& answer) {
  std::optional<Answer> found = search.run();
  if (found) {
    answer = std::move(*found);
  } else {
    answer.work += search.work();
  }
  return found.has_value();
}

}  // namespace tagwright
