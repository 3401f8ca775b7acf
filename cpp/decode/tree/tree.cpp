// tree: an exact decoder, 1-best and k-best, that reads node scores once and examines few labels individually.
//
// A forward pass bounds every label (bounds.h); a path of hot labels gives the floor. A backward pass opens the blocks
// and labels whose bound reaches the floor, and only there sums edges in double precision: the surviving nodes contain
// every path that is good enough. On real models they are little more than the answer itself. Where they exceed a
// budget, another round makes more labels hot; in the end the search falls back to Viterbi, so that no input costs much
// more than with it.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/stages.h"
#include "base/stop.h"
#include "decode/tree/search.h"

namespace tagwright {
namespace {

constexpr size_t kFirst = 16;  // hot labels of the first round

class Tree : public TreeSearch {
 public:
  Tree(const Lattice& lattice, const Options& options, Arena& arena, Answer& answer)
      : TreeSearch(lattice, options, arena, answer),
        edges_(lattice.edges),
        costs_(lattice.edges.costs()),
        L_(lattice.L),
        bounds_(lattice, arena) {}

  // Rounds with more and more hot labels, until few enough nodes survive. False where Viterbi is the better choice.
  bool run() {
    bool margin_only = true;  // in the first round; see TreeBounds::make
    for (size_t most = kFirst; !round(most, margin_only); margin_only = false) {
      if (incumbent_.late()) {
        incumbent_.report(answer_);
        return true;
      }
      if (more_hot_labels_are_useless_ && !incumbent_.timed()) return false;
      if (costs_.one_round && !incumbent_.timed()) return false;
      if (margin_only && !flat_) continue;
      // With a deadline, an answer with a gap is better than the time that Viterbi takes.
      if (most >= L_ || (4 * most > costs_.hot_labels && !incumbent_.timed())) return false;
      most *= 4;
    }
    return true;
  }

 private:
  const TreeBounds& bounds() const override { return bounds_; }

  // Whether the answer was found, or that there is none; false where more hot labels are needed, or time is up.
  bool round(size_t most, bool margin_only) {
    ++answer_.work.rounds;
    if (const Outcome outcome = forward(most, margin_only); outcome != Outcome::kOpen)
      return outcome == Outcome::kNoPath;
    if (!greedy()) return false;
    double least = 0;
    if (!floor(least)) return false;
    return prove(least);
  }

  // Makes the bounds of every column. kNoPath: there is no path. kLost: time is up, or the bounds of the rest exceed
  // typical scores by as much as an edge can score, so that they would prune little.
  Outcome forward(size_t most, bool margin_only) {
    const InStage bounds(Stage::bounds);
    double excess = 0;
    for (size_t t = 0; t < T_; ++t) {
      if (incumbent_.late()) return Outcome::kLost;
      meter_.count(4 * L_);
      if (!bounds_.make(t, most, margin_only, answer_.work)) return Outcome::kNoPath;
      excess += t + 1 < T_ ? bounds_.excess(t) : 0;
      flat_ = excess > scale_;
      if (flat_ && !incumbent_.timed()) return Outcome::kLost;
    }
    return Outcome::kOpen;
  }

  // Finds a path through hot labels, from the last column back: each is the best before the next. False where there is
  // none.
  bool greedy() {
    const TreeColumn& last = bounds_[T_ - 1];
    size_t best = 0;
    for (size_t q = 1; q < last.hots; ++q)
      if (last.key[q] > last.key[best]) best = q;
    if (last.hots == 0 || static_cast<double>(last.key[best]) == kForbidden) return false;
    path_[T_ - 1] = last.hot[best];
    incumbent_.limit(bounds_.limit());
    for (size_t t = T_ - 1; t-- > 0;) {
      const TreeColumn& c = bounds_[t];
      double reached = kForbidden;
      for (size_t q = 0; q < c.hots; ++q) {
        if (!(static_cast<double>(c.key[q]) > reached)) continue;
        const size_t i = static_cast<size_t>(c.hot[q]);
        const double score = static_cast<double>(c.hot_sum[q]) + lattice_.edge(t, i, static_cast<size_t>(path_[t + 1]));
        ++answer_.work.edges;
        if (!(score > reached)) continue;
        reached = score;
        path_[t] = c.hot[q];
      }
      if (reached == kForbidden) return false;
    }
    return true;
  }

  double estimate(double score) override {
    // Fewer than k paths may be within half of what an edge can score: then the limit is widened.
    double guess = score;
    for (const double factor : {0.5, 2.0, 8.0})
      if (estimate(score, guess = score - factor * scale_)) break;
    return guess;
  }

  // Collects the best of these scores that reach the guess; returns whether there are k.
  bool estimate(double score, double guess) {
    incumbent_.begin_estimates(score);
    double behind = 0;
    for (size_t t = T_; t-- > 0;) {
      const TreeColumn& c = bounds_[t];
      const size_t next = t + 1 < T_ ? static_cast<size_t>(path_[t + 1]) : 0;
      const size_t n = bounds_.open(t, incumbent_.kth(guess) - behind - c.offset);
      for (size_t q = 0; q < n; ++q) {
        if (bounds_.found()[q] == path_[t]) continue;
        const size_t i = static_cast<size_t>(bounds_.found()[q]);
        const double step = t + 1 < T_ ? lattice_.edge(t, i, next) : edges_.stop(i);
        incumbent_.estimate(c.offset + static_cast<double>(bounds_.found_sum()[q]) + step + behind);
      }
      answer_.work.edges += n;
      const size_t here = static_cast<size_t>(path_[t]);
      behind += (t + 1 < T_ ? lattice_.edge(t, here, next) : edges_.stop(here)) + lattice_.node(t, here);
    }
    return incumbent_.estimated();
  }

  bool back(double least) override {
    if (find_surviving(least)) return true;
    // Tighter bounds do not help where the k-th path itself is far below the first.
    more_hot_labels_are_useless_ = incumbent_.bound() - incumbent_.score() < (incumbent_.bound() - least) / 2;
    return false;
  }

  bool find_surviving(double least) {
    // Sums in double precision that cost as much as Viterbi, about.
    size_t budget = T_ * (64 + 4 * std::min<size_t>(k_, 1024) + L_ * L_ / 256);
    double most = 0;
    for (size_t t = T_; t-- > 0;) {
      const TreeColumn& c = bounds_[t];
      const SurvivingColumn* next = t + 1 < T_ ? &surviving_[t + 1] : nullptr;
      const double needed = least - c.offset - c.error;
      const size_t n = bounds_.open(t, needed - most);
      const size_t pairs = n * (next ? next->size : 1);
      if (pairs > budget || incumbent_.late()) return false;
      meter_.count(L_ + 4 * pairs);
      budget -= pairs;
      answer_.work.edges += pairs;
      SurvivingColumn& here = surviving_[t];
      here = {0, arena_.array<SurvivingState>(n)};
      double* edges = k_ > 1 && next ? arena_.array<double>(pairs) : nullptr;
      most = kForbidden;
      for (size_t q = 0; q < n; ++q) {
        const size_t y = static_cast<size_t>(bounds_.found()[q]);
        double behind = next ? kForbidden : edges_.stop(y);
        size_t best = 0;
        // An edge that cannot reach the floor need not be looked up.
        const double low = needed - bounds_.found_reach(q) - lattice_.slack();
        if (edges) std::fill_n(edges, next->size, kForbidden);
        for (size_t p = 0; next && p < next->size; ++p) {
          const SurvivingState& to = next->states[p];
          if (to.from < low) continue;
          const double step = lattice_.edge(t, y, static_cast<size_t>(to.label)), v = step + to.from;
          if (edges) edges[p] = step;
          if (v > behind) {
            behind = v;
            best = p;
          }
        }
        if (!(static_cast<double>(bounds_.found_sum()[q]) + behind >= needed)) continue;
        const double own = node(t, y), from = own + behind;
        here.states[here.size++] = {.label = bounds_.found()[q],
                                    .best = static_cast<int32_t>(best),
                                    .behind = behind,
                                    .node = own,
                                    .from = from,
                                    .most = from,
                                    .end = next ? next->size : 0,
                                    .edges = edges};
        most = std::max(most, from);
        if (edges) edges += next->size;
      }
      answer_.work.nodes += here.size;
      if (here.size == 0) {
        surviving_[0].size = 0;
        break;
      }
    }
    return true;
  }

  const Edges& edges_;
  const EdgeCosts costs_;
  const size_t L_;
  TreeBounds bounds_;
  bool flat_ = false;  // whether too many labels are alike to be pruned
  bool more_hot_labels_are_useless_ = false;
};

constexpr size_t kLong = 64;  // labels of a list; beyond, bounds of columns are faster

struct Reached {
  double alpha;    // score of the best path that ends in the label
  double at_best;  // alpha and the label's best edge out
  int32_t label;
  int32_t place;  // in its list
};

bool all_short(const Lattice& lattice) {
  for (size_t t = 0; t < lattice.T; ++t)
    if (lattice.allowed[t].empty() || lattice.allowed[t].size() > kLong) return false;
  return true;
}

// Viterbi over lists of allowed labels; nothing where a column is wide, lists are long, or k paths are requested.
//
// Predecessors are tried in the order of what their best edges would reach, so that the first that cannot improve ends
// the search: as in CarpeDiem (Esposito and Radicioni 2009), but over lists. Rounding is monotone, so a sum with an
// edge is no more than the sum with the best edge, and the answer is that of Viterbi in double precision.
std::optional<Answer> viterbi_over_lists(const Lattice& lattice, const Options& options, Arena& arena) {
  if (options.k > 1 || !lattice.allowed || !all_short(lattice)) return std::nullopt;
  const Edges& edges = lattice.edges;
  const float* const reach = lattice.reach();  // nullptr: not known before the step
  Answer answer;
  answer.work.rounds = 1;
  const size_t* const begin = lattice.allowed.begin;
  int32_t* const before = arena.array<int32_t>(begin[lattice.T] - begin[0]);  // [place]: that of its best predecessor
  Reached reached[kLong], next[kLong];
  size_t size = 0;
  for (size_t t = 0; t < lattice.T; ++t) {
    const std::span<const int32_t> list = lattice.allowed[t];
    int32_t* const back = before + (begin[t] - begin[0]);
    size_t n = 0;
    for (size_t q = 0; q < list.size(); ++q) {
      const auto j = static_cast<size_t>(list[q]);
      double best = t ? kForbidden : edges.start(j);
      for (size_t p = 0; p < size && reached[p].at_best > best; ++p) {
        const double score = reached[p].alpha + lattice.edge(t - 1, static_cast<size_t>(reached[p].label), j);
        ++answer.work.edges;
        if (!(score > best)) continue;
        best = score;
        back[q] = reached[p].place;
      }
      best += lattice.node(t, j);
      if (best == kForbidden) continue;
      if (t + 1 == lattice.T) best += edges.stop(j);
      const double out = t + 1 == lattice.T ? 0
                         : reach            ? static_cast<double>(reach[j])
                                            : std::numeric_limits<double>::infinity();
      next[n++] = {best, best + out, list[q], static_cast<int32_t>(q)};
    }
    answer.work.nodes += n;
    size = n;
    std::copy_n(next, n, reached);
    for (size_t p = 0; p < n && t + 1 < lattice.T; ++p) edges.step(t).prefetch(static_cast<size_t>(next[p].label));
    std::sort(reached, reached + n, [](const Reached& a, const Reached& b) { return a.at_best > b.at_best; });
  }
  if (size == 0 || reached[0].alpha == kForbidden) return answer;
  std::vector<int32_t> labels(lattice.T);
  int32_t place = reached[0].place;
  for (size_t t = lattice.T; t-- > 0;) {
    labels[t] = lattice.allowed[t][static_cast<size_t>(place)];
    place = before[begin[t] - begin[0] + static_cast<size_t>(place)];
  }
  answer.paths.push_back({std::move(labels)});
  return answer;
}

// Returns whether the search succeeded; false where Viterbi is the better choice. The work is counted in any case.
bool try_tree(const Lattice& lattice, const Options& options, Arena& arena, Answer& answer) {
  if (std::optional<Answer> found = viterbi_over_lists(lattice, options, arena)) {
    answer = std::move(*found);
    return true;
  }
  if (!TreeBounds::can(lattice)) return false;
  return Tree(lattice, options, arena, answer).run();
}

// Returns the answer of a search, or of Viterbi where it gives up.
template <class Search>
Answer with_fallback(Search&& search, const Lattice& lattice, const Options& options, Arena& arena) {
  Answer answer;
  if (search(lattice, options, arena, answer)) return answer;
  Answer exact = fallback_decoder(options).search(lattice, options, arena);
  exact.work += answer.work;
  return exact;
}

}  // namespace

Answer tree(const Lattice& lattice, const Options& options, Arena& arena) {
  return with_fallback(try_tree, lattice, options, arena);
}

Answer ngram_tree(const Lattice& lattice, const Options& options, Arena& arena) {
  return with_fallback(try_ngram_tree, lattice, options, arena);
}

// Sentences whose search gives up are decoded in one batch by the fallback.
std::vector<Answer> tree_batch(std::span<const Lattice* const> lattices, const Options& options, Arena& arena) {
  std::vector<Answer> answers(lattices.size());
  std::vector<const Lattice*> given_up;
  std::vector<size_t> index;
  thread_local Arena own;  // of one sentence at a time
  const Trimmed trimmed(own, size_t{4} << 20);
  for (size_t s = 0; s < lattices.size(); ++s) {
    own.reset();
    if (try_tree(*lattices[s], options, own, answers[s])) continue;
    given_up.push_back(lattices[s]);
    index.push_back(s);
  }
  if (given_up.empty()) return answers;
  std::vector<Answer> exact = fallback_decoder(options).search(given_up, options, arena);
  for (size_t q = 0; q < exact.size(); ++q) {
    exact[q].work += answers[index[q]].work;
    answers[index[q]] = std::move(exact[q]);
  }
  return answers;
}

}  // namespace tagwright
