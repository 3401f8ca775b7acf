// tree: our own exact decoder, 1-best and k-best. Node scores are read once; most labels are never examined
// individually.
//
// Bounds for every label come first (bounds.h), then a path of labels that they lead to, which gives the floor. Going
// back, blocks and labels whose bound reaches the floor are opened, and only there edges are summed in double
// precision: what is left holds every path that is good enough. On real models that is little more than the answer
// itself. Where it is more than a budget allows, another round makes more labels hot, and in the end Viterbi takes
// over, so that no input costs much more than with it.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/stages.h"
#include "base/stop.h"
#include "decode/graph.h"
#include "decode/ngrams/ngrams.h"
#include "decode/tree/bounds.h"
#include "decode/tree/lists.h"
#include "decode/tree/reached.h"

namespace tagwright {
namespace {

constexpr size_t kFirst = 16;  // hot labels of the first round

// What is left of a column on the way back.
struct Left {
  size_t size = 0;
  int32_t* label = nullptr;
  double* behind = nullptr;  // [q]: score of the best path behind label[q], its own node not counted
  double* node = nullptr;    // [q]: its node score, with the start score in the first column
  double* from = nullptr;    // [q]: behind and node
  int32_t* next = nullptr;   // [q]: where that path continues in the next column
  double* edges = nullptr;   // [q][p]: to what is left of the next column; for k > 1
};

class Tree {
 public:
  Tree(const Lattice& lattice, const Options& options, Arena& arena)
      : lattice_(lattice),
        edges_(lattice.edges),
        costs_(lattice.edges.costs()),
        k_(options.k),
        T_(lattice.T),
        L_(lattice.L),
        bounds_(lattice, arena),
        arena_(arena),
        left_(arena.array<Left>(lattice.T)),
        path_(arena.array<int32_t>(lattice.T)),
        reached_(lattice, options) {}

  // Rounds with more and more hot labels, until little enough is left. None where Viterbi is the better choice.
  std::optional<Answer> run() {
    bool margin_only = true;  // in the first round; see TreeBounds::make
    for (size_t most = kFirst; !round(most, margin_only); margin_only = false) {
      if (reached_.late()) {
        reached_.give(answer_);
        return std::move(answer_);
      }
      if (more_hot_labels_are_useless_ && !reached_.timed()) return std::nullopt;
      if (costs_.one_round && !reached_.timed()) return std::nullopt;
      if (margin_only && !flat_) continue;
      // With a deadline, an answer with a gap is better than falling back to Viterbi.
      if (most >= L_ || (4 * most > costs_.hot_labels && !reached_.timed())) return std::nullopt;
      most *= 4;
    }
    return std::move(answer_);
  }

  const Work& work() const { return answer_.work; }

 private:
  // Whether the answer was found, or that there is none; false where more hot labels are needed, or time is up.
  bool round(size_t most, bool margin_only) {
    ++answer_.work.rounds;
    if (const Outcome outcome = forward(most, margin_only); outcome != Outcome::kOpen)
      return outcome == Outcome::kNoPath;
    if (!greedy()) return false;
    double least = 0;
    if (!floor(least)) return false;
    for (int tries = 0; tries < 8 && !reached_.late(); ++tries) {
      if (!back(least)) {
        // Tighter bounds do not help where the k-th path itself is far below the first.
        more_hot_labels_are_useless_ = reached_.bound() - reached_.score() < (reached_.bound() - least) / 2;
        return false;
      }
      if (k_ == 1) {
        if (left_[0].size > 0) answer_.paths.push_back(best());
        return left_[0].size > 0;
      }
      answer_.paths = enumerate();
      if (reached_.proven(answer_.paths, bounds_.scale(), least)) return true;
      answer_.paths.clear();
    }
    return false;
  }

  enum class Outcome { kOpen, kNoPath, kLost };

  // Makes the bounds of every column. kNoPath: there is no path. kLost: time is up, or the bounds of the rest exceed
  // what is usual by as much as an edge can score, so that they would prune little.
  Outcome forward(size_t most, bool margin_only) {
    const InStage bounds(Stage::bounds);
    double excess = 0;
    for (size_t t = 0; t < T_; ++t) {
      if (reached_.late()) return Outcome::kLost;
      meter_.count(4 * L_);
      if (!bounds_.make(t, most, margin_only, answer_.work)) return Outcome::kNoPath;
      excess += t + 1 < T_ ? bounds_.excess(t) : 0;
      flat_ = excess > bounds_.scale();
      if (flat_ && !reached_.timed()) return Outcome::kLost;
    }
    return Outcome::kOpen;
  }

  // Finds a path through hot labels from the last column back, each the best before the next; false where none
  // continues.
  bool greedy() {
    const TreeColumn& last = bounds_[T_ - 1];
    size_t best = 0;
    for (size_t q = 1; q < last.hots; ++q)
      if (last.key[q] > last.key[best]) best = q;
    if (last.hots == 0 || static_cast<double>(last.key[best]) == kForbidden) return false;
    path_[T_ - 1] = last.hot[best];
    // The bound of all paths: of the best hot label, or of the rest. Keys are rounded, so they are not bounds.
    double most = last.rest;
    for (size_t q = 0; q < last.hots; ++q)
      most = std::max(most, static_cast<double>(last.hot_sum[q]) +
                                static_cast<double>(rounded_up(edges_.stop(static_cast<size_t>(last.hot[q])))));
    reached_.limit(last.offset + last.error + most);
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

  // least: the k-th best score, if bounds were scores, of the paths that leave the greedy path at one label, going
  // back, and do not return to it. A guess where these are too few; what is left in the end proves it or not.
  bool floor(double& least) {
    const double score = reached_.note({path_, T_});
    least = reached_.score() - lattice_.slack();
    if (k_ == 1 || score == kForbidden) return reached_.score() != kForbidden;
    // Few paths may be as close as half an edge can score; then those that are farther are considered, too.
    double guess = score;
    for (double far = bounds_.scale() / 2; !promises(score, guess = score - far) && far < 8 * bounds_.scale();)
      far *= 4;
    least = reached_.kth(guess) - lattice_.slack() - bounds_[T_ - 1].error;
    return least != kForbidden;
  }

  // Collects the best of these scores, as far as they reach the guess; returns whether there are k.
  bool promises(double score, double guess) {
    reached_.begin_promises(score);
    double behind = 0;
    for (size_t t = T_; t-- > 0;) {
      const TreeColumn& c = bounds_[t];
      const size_t next = t + 1 < T_ ? static_cast<size_t>(path_[t + 1]) : 0;
      const size_t n = bounds_.open(t, reached_.kth(guess) - behind - c.offset);
      for (size_t q = 0; q < n; ++q) {
        if (bounds_.found()[q] == path_[t]) continue;
        const size_t i = static_cast<size_t>(bounds_.found()[q]);
        const double step = t + 1 < T_ ? lattice_.edge(t, i, next) : edges_.stop(i);
        reached_.promise(c.offset + static_cast<double>(bounds_.found_sum()[q]) + step + behind);
      }
      answer_.work.edges += n;
      const size_t here = static_cast<size_t>(path_[t]);
      behind += (t + 1 < T_ ? lattice_.edge(t, here, next) : edges_.stop(here)) + lattice_.node(t, here);
    }
    return reached_.promised();
  }

  // Finds everything that lies on a path of at least this score; false where it is too much.
  bool back(double least) {
    // What a sum in double costs, against an edge in Viterbi's inner loop.
    size_t budget = T_ * (64 + 4 * std::min<size_t>(k_, 1024) + L_ * L_ / 256);
    double most = 0;
    for (size_t t = T_; t-- > 0;) {
      const TreeColumn& c = bounds_[t];
      const Left* next = t + 1 < T_ ? &left_[t + 1] : nullptr;
      const double needed = least - c.offset - c.error;
      const size_t n = bounds_.open(t, needed - most);
      const size_t pairs = n * (next ? next->size : 1);
      if (pairs > budget || reached_.late()) return false;
      meter_.count(L_ + 4 * pairs);
      budget -= pairs;
      answer_.work.edges += pairs;
      Left& left = left_[t];
      left.size = 0;
      left.label = arena_.array<int32_t>(n);
      left.next = arena_.array<int32_t>(n);
      left.behind = arena_.array<double>(n);
      left.node = arena_.array<double>(n);
      left.from = arena_.array<double>(n);
      left.edges = k_ > 1 && next ? arena_.array<double>(pairs) : nullptr;
      most = kForbidden;
      for (size_t q = 0; q < n; ++q) {
        const size_t y = static_cast<size_t>(bounds_.found()[q]);
        double behind = next ? kForbidden : edges_.stop(y);
        int32_t where = 0;
        double* edges = left.edges ? left.edges + left.size * next->size : nullptr;
        // What its best edge would not take to the floor need not be looked up.
        const double low = needed - bounds_.found_reach(q) - lattice_.slack();
        if (edges) std::fill_n(edges, next->size, kForbidden);
        for (size_t p = 0; next && p < next->size; ++p) {
          if (next->from[p] < low) continue;
          const double step = lattice_.edge(t, y, static_cast<size_t>(next->label[p])), v = step + next->from[p];
          if (edges) edges[p] = step;
          if (v > behind) {
            behind = v;
            where = static_cast<int32_t>(p);
          }
        }
        if (!(static_cast<double>(bounds_.found_sum()[q]) + behind >= needed)) continue;
        double node = lattice_.node(t, y);
        if (t == 0) node = edges_.start(y) + node;
        left.label[left.size] = static_cast<int32_t>(y);
        left.next[left.size] = where;
        left.behind[left.size] = behind;
        left.node[left.size] = node;
        left.from[left.size] = node + behind;
        most = std::max(most, left.from[left.size]);
        ++left.size;
      }
      answer_.work.nodes += left.size;
      if (left.size == 0) {
        left_[0].size = 0;
        break;
      }
    }
    return true;
  }

  Path best() const {
    std::vector<int32_t> labels(T_);
    size_t q = 0;
    for (size_t p = 1; p < left_[0].size; ++p)
      if (left_[0].from[p] > left_[0].from[q]) q = p;
    for (size_t t = 0; t < T_; ++t) {
      labels[t] = left_[t].label[q];
      q = static_cast<size_t>(left_[t].next[q]);
    }
    return {std::move(labels)};
  }

  // Node scores are those that were read on the way back, even if another thread has changed them since: what is ahead
  // of a path was summed of them, and must be the truth, or the search would never end.
  std::vector<Path> enumerate() {
    if (left_[0].size == 0) return {};
    Graph graph;
    graph.T = T_;
    graph.size = [&](size_t t) { return left_[t].size; };
    graph.first = [&](double* out) { std::copy_n(left_[0].node, left_[0].size, out); };
    graph.next = [&](size_t t, size_t p, double* out) {
      const Left& next = left_[t + 1];
      for (size_t q = 0; q < next.size; ++q) out[q] = left_[t].edges[p * next.size + q] + next.node[q];
    };
    graph.ahead = [&](size_t t) { return left_[t].behind; };
    std::vector<Path> paths;
    for (GraphPath& path : enumerate_paths(graph, k_, answer_.work)) {
      for (size_t t = 0; t < T_; ++t) path.at[t] = left_[t].label[path.at[t]];
      paths.push_back(scored(lattice_, std::move(path.at)));
    }
    return paths;
  }

  const Lattice& lattice_;
  const Edges& edges_;
  const EdgeCosts costs_;
  const size_t k_, T_, L_;
  TreeBounds bounds_;
  Arena& arena_;
  Left* left_;
  int32_t* path_;
  Answer answer_;
  bool flat_ = false;  // whether too many labels are alike to be pruned
  bool more_hot_labels_are_useless_ = false;
  Reached reached_;
  Meter meter_;
};

// Returns whether the search succeeded; false where Viterbi is the better choice. The work is counted in any case.
bool try_tree(const Lattice& lattice, const Options& options, Arena& arena, Answer& answer) {
  if (std::optional<Answer> found = viterbi_over_lists(lattice, options, arena)) {
    answer = std::move(*found);
    return true;
  }
  if (!TreeBounds::can(lattice)) return false;
  return answered(Tree(lattice, options, arena), answer);
}

Answer or_fallback(bool found, Answer answer, const Lattice& lattice, const Options& options, Arena& arena) {
  if (found) return answer;
  Answer exact = fallback_decoder(options).search(lattice, options, arena);
  exact.work += answer.work;
  return exact;
}

}  // namespace

Answer tree(const Lattice& lattice, const Options& options, Arena& arena) {
  Answer answer;
  const bool found = try_tree(lattice, options, arena, answer);
  return or_fallback(found, std::move(answer), lattice, options, arena);
}

Answer ngram_tree(const Lattice& lattice, const Options& options, Arena& arena) {
  Answer answer;
  const bool found = try_ngram_tree(lattice, options, arena, answer);
  return or_fallback(found, std::move(answer), lattice, options, arena);
}

// Sentences that the search gives up are left to one batch of the fallback.
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
