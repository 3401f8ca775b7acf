// TreeSearch: what the searches of `tree` over labels (tree.cpp) and over label n-grams (decode/ngrams/tree.cpp) share.
//
// Each makes bounds from left to right, finds a path through hot labels, which gives a floor, and goes back over the
// states that reach it: labels, or with n-grams labels and those that follow them.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/stop.h"
#include "decode/table.h"
#include "decode/tree/bounds.h"

namespace tagwright {

// The best path found so far, with a bound for all paths, the deadline, and an estimate of the k-th best score.
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

// A state that survives the backward pass.
struct SurvivingState {
  int32_t label, next = -1, after = -1;  // of its column and, as far as n-grams need them, of the two that follow
  int32_t best = 0;                      // the state of the next column that the best path continues with
  double behind = kForbidden;            // score of the best path behind the label, its own node not counted
  double node = 0;                       // its node score, with the start score in the first column
  double from = 0;                       // behind + node
  double most = 0;            // from, and the most that n-grams add that begin before the label and end behind it
  size_t begin = 0, end = 0;  // states of the next column that it may continue with
  double* edges = nullptr;    // the steps to these, [state - begin]; for k > 1
};

struct SurvivingColumn {
  size_t size = 0;
  SurvivingState* states = nullptr;
};

class TreeSearch {
 public:
  virtual ~TreeSearch() = default;

 protected:
  enum class Outcome { kOpen, kNoPath, kLost };

  // answer: filled; where the search gives up, it has no paths, but counts the work.
  TreeSearch(const Lattice& lattice, const Options& options, Arena& arena, Answer& answer)
      : lattice_(lattice),
        k_(options.k),
        T_(lattice.T),
        scale_(lattice.edge_scale()),
        arena_(arena),
        surviving_(arena.array<SurvivingColumn>(lattice.T)),
        path_(arena.array<int32_t>(lattice.T)),
        answer_(answer),
        incumbent_(lattice, options) {}

  virtual const TreeBounds& bounds() const = 0;
  // Collects estimates of the best scores of paths that differ from path_ up to one label, if bounds were scores.
  // score: that of path_. Returns a guess of the k-th best score where these are fewer than k.
  virtual double estimate(double score) = 0;
  // Finds the states on paths of at least this score; false where there are too many.
  virtual bool back(double least) = 0;

  // Offers path_. least: the k-th best estimate, or a guess; the surviving paths prove it or not. False where there is
  // no floor.
  bool floor(double& least);
  // Goes back from this floor, or from lower ones. Whether that gives the answer.
  bool prove(double least);
  double node(size_t t, size_t y) const {
    return t ? lattice_.node(t, y) : lattice_.edges.start(y) + lattice_.node(t, y);
  }

  const Lattice& lattice_;
  const size_t k_, T_;
  const double scale_;  // how much edges matter
  Arena& arena_;
  SurvivingColumn* surviving_;  // [t]
  int32_t* path_;               // through hot labels
  Answer& answer_;
  Incumbent incumbent_;
  Meter meter_;

 private:
  Path best() const;
  std::vector<Path> enumerate();
};

// tree over label n-grams (decode/ngrams/tree.cpp): the same for a lattice whose edges have some.
bool try_ngram_tree(const Lattice& lattice, const Options& options, Arena& arena, Answer& answer);

}  // namespace tagwright
