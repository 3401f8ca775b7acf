// tree over n-grams: the three passes of decode/tree/tree.cpp, with states of hot labels (hot_states.h) in place of
// the labels themselves, and runs in the backward pass (backward_search.h).
//
// Unlike without n-grams, few labels are hot at first, and more where they are needed. Whenever the best value of a
// column is not that of a path, whatever is to blame is repaired, so that in the end the bound of all paths mostly is
// the score of one.
#include <algorithm>
#include <optional>

#include "base/stages.h"
#include "decode/ngrams/backward_search.h"
#include "decode/ngrams/ngrams.h"
#include "decode/tree/reached.h"

namespace tagwright {
namespace {

class NgramTree {
 public:
  NgramTree(const Lattice& lattice, const Options& options, Arena& arena)
      : lattice_(lattice),
        k_(options.k),
        T_(lattice.T),
        bounds_(lattice, arena),
        back_(lattice, bounds_, options.k, arena),
        path_(arena.array<int32_t>(lattice.T)),
        reached_(lattice, options) {}

  // Rounds that repair smaller and smaller leaks, until little enough is left. None where Viterbi is the better choice.
  std::optional<Answer> run() {
    constexpr size_t kRounds = 3, kRoundsTimed = 8;
    for (; round_ < (reached_.timed() ? kRoundsTimed : kRounds); ++round_) {
      if (round()) return std::move(answer_);
      if (reached_.late()) {
        reached_.give(answer_);
        return std::move(answer_);
      }
      if (answer_.work.edges > most_work() && !reached_.timed()) break;
      wide_ = std::max(2 * wide_, static_cast<float>(bounds_.scale() / 8));
      repaired_ = 0;
    }
    return std::nullopt;
  }

  const Work& work() const { return answer_.work; }

 private:
  // What Viterbi over contexts does in about the time of the edges that were visited so far.
  uint64_t most_work() const { return T_ * (512 + lattice_.L + lattice_.edges.ngrams()->nodes() / 8); }
  size_t budget() const {
    const size_t more = round_ || k_ > 1 ? lattice_.edges.ngrams()->nodes() / 16 : 0;
    return T_ * (256 + 16 * std::min<size_t>(k_, 1024) + more);
  }

  // Whether the answer was found, or that there is none; false where bounds must be tighter, or time is up.
  bool round() {
    ++answer_.work.rounds;
    if (const Outcome outcome = forward(true); outcome != Outcome::kOpen) return outcome == Outcome::kNoPath;
    double least = 0;
    if (!greedy() || !floor(least)) return false;
    if (k_ > 1 && round_ && static_cast<float>(reached_.score() - least) > wide_) {
      // Whatever is as good as the k-th path must be known as well as the best.
      wide_ = static_cast<float>(reached_.score() - least);
      if (const Outcome outcome = forward(false); outcome != Outcome::kOpen) return outcome == Outcome::kNoPath;
      if (!greedy() || !floor(least)) return false;
    }
    for (int tries = 0; tries < 8 && !reached_.late(); ++tries) {
      if (!back_.find(least, budget(), answer_.work)) return false;
      if (k_ == 1) {
        if (back_.any()) answer_.paths.push_back(back_.best());
        return back_.any();
      }
      answer_.paths = back_.enumerate(answer_.work);
      if (reached_.proven(answer_.paths, bounds_.scale(), least)) return true;
      answer_.paths.clear();
    }
    return false;
  }

  enum class Outcome { kOpen, kNoPath, kLost };

  // Makes the bounds of every column, or repairs those that were made. kNoPath: there is no path. kLost: time is up, or
  // it takes too long.
  Outcome forward(bool anew) {
    const InStage bounds(Stage::bounds);
    const size_t before = repaired_;
    for (size_t t = 0; t < T_; ++t) {
      if (reached_.late() || (!anew && !reached_.timed() && answer_.work.edges > most_work())) return Outcome::kLost;
      meter_.count(4 * lattice_.L);
      if ((anew || repaired_ > before) && !make(t)) return Outcome::kNoPath;
      if (!repair(t)) return Outcome::kNoPath;
    }
    return Outcome::kOpen;
  }

  bool make(size_t t) {
    constexpr size_t kFirst = 8;  // hot labels, at first
    return bounds_.make(t, kFirst, true, answer_.work);
  }

  // Repairs what leaks in column t; false where no path reaches it.
  bool repair(size_t t) {
    const size_t most_hot = std::max<size_t>(64, lattice_.L / 8), most_repaired = 2 * T_ + 8;
    const float little = static_cast<float>(bounds_.scale()) / 256;
    for (;;) {
      const Leak leak = bounds_.states().leak(bounds_[t], wide_);
      if (!(leak.size > little)) return true;
      const bool better =
          repaired_ < most_repaired && (leak.merged ? bounds_.keep_apart(leak.column, leak.size, answer_.work)
                                                    : bounds_.heat(leak.column, leak.size, most_hot, answer_.work));
      ++repaired_;
      for (size_t u = leak.column + 1; u <= t; ++u)
        if (!make(u)) return false;
      if (better) continue;
      bounds_.accept(t);
      return true;
    }
  }

  // Finds a path through hot states from the last column back, each the best before the next; false where there is
  // none.
  bool greedy() {
    const TreeColumn& last = bounds_[T_ - 1];
    double most = last.rest, best = kForbidden;
    const HotState* state = nullptr;
    for (size_t q = 0; q < last.hots; ++q) {
      const double stop = lattice_.edges.stop(static_cast<size_t>(last.hot[q]));
      most = std::max(most, static_cast<double>(last.hot_sum[q]) + static_cast<double>(rounded_up(stop)));
      for (size_t s = last.state_begin[q]; s < last.state_begin[q + 1]; ++s) {
        if (!(static_cast<double>(last.states[s].value) + stop > best)) continue;
        best = static_cast<double>(last.states[s].value) + stop;
        state = last.states + s;
      }
    }
    reached_.limit(last.offset + last.error + most);
    for (size_t t = T_ - 1; state; --t) {
      path_[t] = state->label;
      if (t == 0) return true;
      // Where the best comes from the rest, the best that is hot will do.
      const TreeColumn& c = bounds_[t - 1];
      if (c.hots == 0) return false;
      state = c.states + (state->before >= 0 ? static_cast<size_t>(state->before) : c.state_begin[c.order[0]]);
    }
    return false;
  }

  // least: the k-th best score, if bounds were scores, of the paths that leave the greedy path at one hot label, going
  // back, and do not return to it. A guess where these are too few; what is left in the end proves it or not.
  bool floor(double& least) {
    const double score = reached_.note({path_, T_});
    least = reached_.score() - lattice_.slack();
    if (k_ == 1 || score == kForbidden) return reached_.score() != kForbidden;
    const double guess = score - bounds_.scale() / 2;
    reached_.begin_promises(score);
    double behind = 0;
    const auto at = [&](size_t t) { return t < T_ ? path_[t] : -1; };
    for (size_t t = T_; t-- > 0;) {
      const TreeColumn& c = bounds_[t];
      const auto step = [&](int32_t i) { return back_.step(t, i, at(t + 1), at(t + 2), at(t + 3)); };
      for (size_t q = 0; q < c.hots; ++q)
        if (c.hot[q] != path_[t])
          reached_.promise(c.offset + static_cast<double>(c.hot_sum[q]) + step(c.hot[q]) + behind);
      answer_.work.edges += c.hots;
      behind += step(path_[t]) + lattice_.node(t, static_cast<size_t>(path_[t]));
    }
    least = reached_.kth(guess) - lattice_.slack() - bounds_[T_ - 1].error;
    return least != kForbidden;
  }

  const Lattice& lattice_;
  const size_t k_, T_;
  TreeBounds bounds_;
  BackwardSearch back_;
  int32_t* path_;
  Answer answer_;
  size_t round_ = 0, repaired_ = 0;
  float wide_ = 0;  // see HotStates::leak
  Reached reached_;
  Meter meter_;
};

}  // namespace

bool try_ngram_tree(const Lattice& lattice, const Options& options, Arena& arena, Answer& answer) {
  if (!lattice.is_uniform() || !TreeBounds::can(lattice)) return false;
  return answered(NgramTree(lattice, options, arena), answer);
}

}  // namespace tagwright
