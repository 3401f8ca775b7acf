// tree over label n-grams: the three passes of decode/tree/tree.cpp, with states of hot labels (bounds.h) in place of
// the labels themselves, and label sequences in the backward pass.
//
// Unlike without n-grams, few labels are hot at first, and more where they are needed. Whenever the best value of a
// column is not that of a path, the source of the gap is tightened, so that in the end the bound of all paths mostly is
// the score of one.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/stages.h"
#include "base/stop.h"
#include "decode/ngrams/bounds.h"
#include "decode/tree/search.h"

namespace tagwright {
namespace {

using Node = LabelNgrams::Node;

// The backward pass: sums in double precision for everything that reaches the floor.
//
// A state is a suffix: a label and those that follow it, as far as an n-gram that began before it can extend. The
// scores of all steps behind its first label are therefore known; n-grams that begin further left are added when the
// label before is known, and bounded until then.
class BackwardSearch {
 public:
  BackwardSearch(const Lattice& lattice, NgramTreeBounds& bounds, SurvivingColumn* surviving, size_t k, Arena& arena)
      : lattice_(lattice),
        ngrams_(*lattice.edges.ngrams()),
        limits_(lattice.edges.ngram_bounds()),
        bounds_(bounds),
        k_(k),
        long_(ngrams_.order() > 2),
        arena_(arena),
        surviving_(surviving) {}

  // Finds every suffix on a path of at least this score; false where that takes more than `budget` sums.
  bool find(double least, size_t budget, Work& work) {
    double most = 0;
    for (size_t t = lattice_.T; t-- > 0;) {
      const TreeColumn& c = bounds_[t];
      const bool last = t + 1 == lattice_.T;
      const double needed = least - c.offset - c.error;
      find_candidates(t, needed - most);
      find_groups(last ? SurvivingColumn() : surviving_[t + 1]);
      const size_t sums = find_pairs(needed, budget);
      if (sums > budget) return false;
      budget -= sums;
      meter_.count(lattice_.L + 4 * sums);
      work.edges += sums;
      SurvivingColumn& here = surviving_[t];
      here = {0, arena_.array<SurvivingState>(last ? candidates_.size() : pairs_.size())};
      for (size_t q = 0; q < candidates_.size() && last; ++q) {
        const int32_t y = candidates_[q].label;
        add(t, candidates_[q], {.label = y, .behind = lattice_.edges.stop(static_cast<size_t>(y))}, needed);
      }
      for (const auto& [q, g] : pairs_) extend(t, candidates_[q], groups_[g], needed);
      work.nodes += here.size;
      if (here.size == 0) {
        surviving_[0].size = 0;
        break;
      }
      most = kForbidden;
      for (size_t q = 0; q < here.size; ++q) most = std::max(most, here.states[q].most);
    }
    return true;
  }

  // Returns the score of continuing from label i of column t with labels next, after and last, including n-grams that
  // begin with i; its stop score where next is -1.
  double step(size_t t, int32_t i, int32_t next, int32_t after, int32_t last) const {
    if (next < 0) return lattice_.edges.stop(static_cast<size_t>(i));
    double score = lattice_.edge(t, static_cast<size_t>(i), static_cast<size_t>(next));
    Node at = after < 0 ? LabelNgrams::kNoNode : ngrams_.child(i, next);
    if (at == LabelNgrams::kNoNode || (at = ngrams_.child(at, after)) == LabelNgrams::kNoNode) return score;
    score += ngrams_.score(at);
    if (last < 0 || (at = ngrams_.child(at, last)) == LabelNgrams::kNoNode) return score;
    return score + ngrams_.score(at);
  }

 private:
  // A label of a column that may be on such a path.
  struct Candidate {
    int32_t label, hot;  // hot: its place among the hot labels, or -1
    double sum, reach;   // bounds of a path that ends in it; with its best outgoing edge and what n-grams add to it
  };
  // Suffixes of the next column that no n-gram which begins in this column distinguishes.
  struct Group {
    size_t begin, end;
    int32_t label;
    double most;
  };

  // Finds the labels of column t whose sum + out is at least this.
  void find_candidates(size_t t, double least) {
    const TreeColumn& c = bounds_[t];
    candidates_.clear();
    for (size_t q = 0; q < c.hots; ++q) {
      const double reach = TreeBounds::reach_of(c.key[q]);
      if (reach >= least && static_cast<double>(c.key[q]) != kForbidden)
        candidates_.push_back({c.hot[q], static_cast<int32_t>(q), static_cast<double>(c.hot_sum[q]), reach});
    }
    if (!(static_cast<double>(c.rest) >= least)) return;
    const size_t n = bounds_.open(t, least);
    for (size_t q = 0; q < n; ++q) {
      const int32_t y = bounds_.found()[q];
      if (std::find(c.hot, c.hot + c.hots, y) == c.hot + c.hots)
        candidates_.push_back({y, -1, static_cast<double>(bounds_.found_sum()[q]), bounds_.found_reach(q)});
    }
  }

  // Groups the suffixes of the next column; equal ones are consecutive.
  void find_groups(const SurvivingColumn& next) {
    groups_.clear();
    const auto alike = [&](const SurvivingState& a, const SurvivingState& b) {
      return a.label == b.label && (!long_ || a.next == b.next);
    };
    for (size_t begin = 0, end = 0; begin < next.size; begin = end) {
      double most = kForbidden;
      for (; end < next.size && alike(next.states[begin], next.states[end]); ++end)
        most = std::max(most, next.states[end].most);
      groups_.push_back({begin, end, next.states[begin].label, most});
    }
  }

  // Finds the candidates and groups that bounds do not separate; returns the number of sums between them, plus what the
  // comparisons cost.
  size_t find_pairs(double needed, size_t budget) {
    constexpr size_t kCompared = 8;  // comparisons that cost as much as a sum
    pairs_.clear();
    size_t sums = 0;
    for (size_t q = 0; q < candidates_.size(); ++q) {
      const Candidate& one = candidates_[q];
      for (size_t g = 0; g < groups_.size(); ++g) {
        const double into = one.sum + static_cast<double>(limits_.into(groups_[g].label));
        if (std::min(into, one.reach) + groups_[g].most < needed - lattice_.slack()) continue;
        pairs_.emplace_back(static_cast<uint32_t>(q), static_cast<uint32_t>(g));
        sums += groups_[g].end - groups_[g].begin;
      }
      if (sums + q * groups_.size() / kCompared > budget) return SIZE_MAX;
    }
    return sums + candidates_.size() * groups_.size() / kCompared;
  }

  void extend(size_t t, const Candidate& candidate, const Group& group, double needed) {
    const SurvivingState* const suffixes = surviving_[t + 1].states;
    const double low = needed - candidate.reach - lattice_.slack();
    SurvivingState made{.label = candidate.label, .next = group.label, .begin = group.begin, .end = group.end};
    if (long_) made.after = suffixes[group.begin].next;
    if (k_ > 1) made.edges = arena_.array<double>(group.end - group.begin);
    for (size_t p = group.begin; p < group.end; ++p) {
      // An edge that cannot reach the floor need not be looked up; k best need all edges.
      if (k_ == 1 && suffixes[p].most < low) continue;
      const double edge = step(t, candidate.label, group.label, suffixes[p].next, suffixes[p].after);
      if (made.edges) made.edges[p - group.begin] = edge;
      if (!(edge + suffixes[p].from > made.behind)) continue;
      made.behind = edge + suffixes[p].from;
      made.best = static_cast<int32_t>(p);
    }
    if (made.behind != kForbidden) add(t, candidate, made, needed);
  }

  void add(size_t t, const Candidate& candidate, SurvivingState made, double needed) {
    const double required = needed - made.behind;
    const bool hot = candidate.hot >= 0;
    if (hot && !bounds_.reaches(t, static_cast<size_t>(candidate.hot), made.next, made.after, required)) return;
    const double across = bounds_.most_across(made.label, made.next, made.after);
    if (!hot && !(candidate.sum + across >= required)) return;
    const auto y = static_cast<size_t>(made.label);
    made.node = t ? lattice_.node(t, y) : lattice_.edges.start(y) + lattice_.node(t, y);
    made.from = made.node + made.behind;
    made.most = made.from + across;
    surviving_[t].states[surviving_[t].size++] = made;
  }

  const Lattice& lattice_;
  const LabelNgrams& ngrams_;
  const NgramBounds& limits_;
  NgramTreeBounds& bounds_;
  const size_t k_;
  const bool long_;  // whether n-grams distinguish the third label of a suffix
  Arena& arena_;
  SurvivingColumn* surviving_;  // [t]
  std::vector<Candidate> candidates_;
  std::vector<Group> groups_;
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;  // a candidate and a group that it may continue with
  Meter meter_;
};

class NgramTree : public TreeSearch {
 public:
  NgramTree(const Lattice& lattice, const Options& options, Arena& arena, Answer& answer)
      : TreeSearch(lattice, options, arena, answer),
        bounds_(lattice, arena),
        back_(lattice, bounds_, surviving_, options.k, arena) {}

  // Rounds that close smaller and smaller gaps until few enough labels survive. False where Viterbi is the better
  // choice.
  bool run() {
    constexpr size_t kRounds = 3, kRoundsTimed = 8;
    for (; round_ < (incumbent_.timed() ? kRoundsTimed : kRounds); ++round_) {
      if (round()) return true;
      if (incumbent_.late()) {
        incumbent_.report(answer_);
        return true;
      }
      if (answer_.work.edges > most_work() && !incumbent_.timed()) break;
      wide_ = std::max(2 * wide_, static_cast<float>(scale_ / 8));
      tightened_ = 0;
    }
    return false;
  }

 private:
  const TreeBounds& bounds() const override { return bounds_; }
  // Edges that cost as much as Viterbi over contexts, about.
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
    if (k_ > 1 && round_ && static_cast<float>(incumbent_.score() - least) > wide_) {
      // Bounds must be as tight down to the k-th path as they are for the best.
      wide_ = static_cast<float>(incumbent_.score() - least);
      if (const Outcome outcome = forward(false); outcome != Outcome::kOpen) return outcome == Outcome::kNoPath;
      if (!greedy() || !floor(least)) return false;
    }
    return prove(least);
  }

  bool back(double least) override { return back_.find(least, budget(), answer_.work); }

  // Makes the bounds of every column, or tightens those that were made. kNoPath: there is no path. kLost: time is up,
  // or it takes too long.
  Outcome forward(bool anew) {
    const InStage bounds(Stage::bounds);
    const size_t before = tightened_;
    for (size_t t = 0; t < T_; ++t) {
      if (incumbent_.late() || (!anew && !incumbent_.timed() && answer_.work.edges > most_work()))
        return Outcome::kLost;
      meter_.count(4 * lattice_.L);
      if ((anew || tightened_ > before) && !make(t)) return Outcome::kNoPath;
      if (!tighten(t)) return Outcome::kNoPath;
    }
    return Outcome::kOpen;
  }

  bool make(size_t t) {
    constexpr size_t kFirst = 8;  // hot labels, at first
    return bounds_.make(t, kFirst, true, answer_.work);
  }

  // Closes the gaps of column t; false where no path reaches it.
  bool tighten(size_t t) {
    const size_t most_hot = std::max<size_t>(64, lattice_.L / 8), most_tightened = 2 * T_ + 8;
    const float little = static_cast<float>(scale_) / 256;
    for (;;) {
      const BoundGap gap = bounds_.gap(t, wide_);
      if (!(gap.size > little)) return true;
      const bool better = tightened_ < most_tightened &&
                          (gap.merged ? bounds_.split_states(gap.column, gap.size, answer_.work)
                                      : bounds_.add_hot_labels(gap.column, gap.size, most_hot, answer_.work));
      ++tightened_;
      for (size_t u = gap.column + 1; u <= t; ++u)
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
    const StateColumn& own = bounds_.states(T_ - 1);
    double best = kForbidden;
    const HotState* state = nullptr;
    for (size_t q = 0; q < last.hots; ++q) {
      const double stop = lattice_.edges.stop(static_cast<size_t>(last.hot[q]));
      for (size_t s = own.begin[q]; s < own.begin[q + 1]; ++s) {
        if (!(static_cast<double>(own.states[s].value) + stop > best)) continue;
        best = static_cast<double>(own.states[s].value) + stop;
        state = own.states + s;
      }
    }
    incumbent_.limit(bounds_.limit());
    for (size_t t = T_ - 1; state; --t) {
      path_[t] = state->label;
      if (t == 0) return true;
      // Where the best comes from the rest, the best hot state replaces it.
      const StateColumn& c = bounds_.states(t - 1);
      if (bounds_[t - 1].hots == 0) return false;
      state = c.states + (state->before >= 0 ? static_cast<size_t>(state->before) : c.begin[c.order[0]]);
    }
    return false;
  }

  // Of hot labels.
  double estimate(double score) override {
    incumbent_.begin_estimates(score);
    double behind = 0;
    const auto at = [&](size_t t) { return t < T_ ? path_[t] : -1; };
    for (size_t t = T_; t-- > 0;) {
      const TreeColumn& c = bounds_[t];
      const auto step = [&](int32_t i) { return back_.step(t, i, at(t + 1), at(t + 2), at(t + 3)); };
      for (size_t q = 0; q < c.hots; ++q)
        if (c.hot[q] != path_[t])
          incumbent_.estimate(c.offset + static_cast<double>(c.hot_sum[q]) + step(c.hot[q]) + behind);
      answer_.work.edges += c.hots;
      behind += step(path_[t]) + lattice_.node(t, static_cast<size_t>(path_[t]));
    }
    return score - scale_ / 2;
  }

  NgramTreeBounds bounds_;
  BackwardSearch back_;
  size_t round_ = 0, tightened_ = 0;
  float wide_ = 0;  // see NgramTreeBounds::gap
};

}  // namespace

bool try_ngram_tree(const Lattice& lattice, const Options& options, Arena& arena, Answer& answer) {
  // Edge kind: states have bounds of edges that all steps share.
  if (!lattice.is_uniform() || !TreeBounds::can(lattice)) return false;
  return NgramTree(lattice, options, arena, answer).run();
}

}  // namespace tagwright
