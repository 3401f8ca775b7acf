// Sums over lattices whose edges have ngrams: log Z, the probabilities of labels, of pairs of labels and of runs.
//
// The states of a column are the contexts (lattice/contexts.h) that its labels and those before them can make: as much
// of the past as a ngram can still see. Sums are exact over the labels that each column is given. Where there are
// few, it is stored which state each label leads to; otherwise it is looked up on every pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sums/forward_backward.h"

namespace tagwright {

// Can be used for one sentence after the other; what it holds is kept for the next.
class NgramSums {
 public:
  using Node = LabelNgrams::Node;
  // What is summed. Labels of a column rise, and there is at least one.
  struct Input {
    const LabelNgrams& ngrams;
    std::span<const std::span<const int32_t>> labels;  // [t]
    std::function<void(size_t t, double* out)> nodes;  // fills the scores of column t, [q]
    std::function<void(size_t t, double* out)> edges;  // those of the step into column t, [p * labels of t + q]
    bool factors = false;                              // whether edges() fills exp(score) instead
  };
  // One summand of the step into a column.
  struct Move {
    size_t p, q;  // places of the labels before and of the column
    size_t from;  // state of the column before; of all those of label p, the first
    size_t to;    // state of the column
    Node node;    // of ngrams.h: what was completed; kNoNode where no ngram knows the pair of labels
    double probability;
  };

  // The ngrams, and what the functions read, must not go away before the sums.
  void sum(const Input& input);
  // As where there is no path.
  void clear() { log_z_ = kForbidden; }

  double log_z() const { return log_z_; }  // kForbidden: no path
  size_t T() const { return column_.size() - 1; }
  size_t kept() const { return label_.size(); }
  std::span<const int32_t> labels(size_t t) const { return std::span(label_).subspan(column_[t], width(t)); }
  std::span<const double> nodes(size_t t) const { return std::span(label_p_).subspan(column_[t], width(t)); }
  // The states of labels(t)[q] are numbered state(t, q) .. state(t, q + 1) - 1, from the first of the sentence on.
  size_t state(size_t t, size_t q) const { return state_begin_[column_[t] + q]; }
  double state_p(size_t s) const { return state_p_[s]; }

  // Calls take(Move) for the step into column t. Where no ngram knows a pair of labels, all states of the first are
  // one summand; single: one each.
  template <class Take>
  void for_each_move(size_t t, bool single, Take&& take) const;
  // Probabilities of pairs of labels of the step into column t, [p * labels of t + q].
  void pairs(size_t t, std::vector<double>& out) const;

 private:
  template <class Numbers>
  bool run();
  template <class Numbers>
  bool forward();
  template <class Numbers>
  bool backward();
  // Calls group(p, q, edge) where all states of p go to the label of q, one(p, q, state, node, factor) elsewhere.
  template <class Numbers, class Group, class One>
  void for_each_step(size_t t, Group&& group, One&& one) const;
  // Returns whether the numbers are large enough.
  template <class Numbers>
  bool fill_edges(size_t t) const;
  // A step between states: of one, or (node: kNoNode) of all of label p, the first of which is `from`.
  struct Step {
    uint32_t p, q, from, to;
    Node node;
    double factor;
  };
  // Calls take(Step) for the step into column t, whose states are known.
  template <class Numbers, class Take>
  void for_each_known(size_t t, Take&& take) const;
  void find_places(size_t t, bool known) const;
  size_t width(size_t t) const { return column_[t + 1] - column_[t]; }

  std::optional<Input> input_;
  std::vector<size_t> column_ = {0};          // [t], and one more: its first label
  std::vector<int32_t> label_;                // of all columns
  std::vector<double> psi_, label_p_;         // beside label_
  std::vector<size_t> state_begin_;           // beside label_, and one more
  std::vector<Node> node_;                    // [state]
  std::vector<double> alpha_, to_, state_p_;  // [state]; to: psi * beta
  std::vector<double> total_;                 // beside label_: the alphas of its states
  std::vector<double> sum_, scale_;           // [t]: what alpha was divided by; what a step's products are
  std::vector<double> beta_, group_;          // of a column
  mutable std::vector<double> edges_;         // of a step
  mutable std::vector<int32_t> place_;        // [node]: the state of the column, -1 where it is none
  std::vector<Step> steps_;                   // of all columns, one behind the other, where they are stored
  std::vector<size_t> step_begin_;            // [t], and one more
  bool stored_ = false;
  bool logs_ = false;
  double log_z_ = kForbidden;
};

// Sums of a lattice with ngrams. A rule chooses labels by what they are believed without ngrams (Pal et al. 2006;
// Mueller, Schmid and Schuetze 2013 prune a CRF of higher order so), and the sums go over the runs of those. also: [t],
// labels that are kept whatever the rule says, or nullptr. The lattice and what is in the arena must not go away
// before.
void sum_ngrams(const Lattice& lattice, const Keep& keep, const int32_t* also, Arena& arena, NgramSums& sums);

// Sums of any lattice, of which only log Z and the probabilities of labels may be read where the edges have ngrams:
// for the rest there is `ngrams`, which is filled then. factors, most: as for forward_backward().
Sums label_sums(const Lattice& lattice, const Factors* factors, const Keep& keep, const int32_t* also, Arena& arena,
                NgramSums& ngrams, size_t most = SIZE_MAX);

// The entropy of the distribution over labellings, in nats.
double entropy(const NgramSums& sums);
// n labellings drawn from it, as sums/posterior.h has them.
std::vector<int32_t> samples(const NgramSums& sums, size_t n, uint64_t seed);

// --- how it is done ---

namespace ngram_numbers {

// Products of factors, columns scaled to a sum of 1.
struct Scaled {
  static constexpr bool kLogs = false;
  static constexpr double kZero = 0;
  static double add(double a, double b) { return a + b; }
  static double times(double a, double b) { return a * b; }
  static double factor(double score);
  static double plain(double a) { return a; }
};
// The same by logarithms, for scores that are far apart.
struct Logs {
  static constexpr bool kLogs = true;
  static constexpr double kZero = kForbidden;
  static double add(double a, double b);
  static double times(double a, double b) { return a + b; }
  static double factor(double score) { return score; }
  static double plain(double a);
};

}  // namespace ngram_numbers

template <class Numbers, class Group, class One>
void NgramSums::for_each_step(size_t t, Group&& group, One&& one) const {
  const LabelNgrams& ngrams = input_->ngrams;
  const size_t n = width(t), before = width(t - 1);
  for (size_t q = 0; q < n; ++q) {
    const int32_t k = label_[column_[t] + q];
    for (size_t p = 0; p < before; ++p) {
      const double edge = edges_[p * n + q];
      const size_t begin = state(t - 1, p), end = state(t - 1, p + 1);
      if (edge == Numbers::kZero || begin == end) continue;
      const Node pair = ngrams.pair(label_[column_[t - 1] + p], k);
      if (pair == LabelNgrams::kNoNode) {
        group(p, q, edge);
        continue;
      }
      for (size_t s = begin; s < end; ++s) {
        const Node node = ngrams.next(node_[s], k, pair);
        const double more = ngrams.more(node);
        one(p, q, s, node, more == 0 ? edge : Numbers::times(edge, Numbers::factor(more)));
      }
    }
  }
}

template <class Numbers, class Take>
void NgramSums::for_each_known(size_t t, Take&& take) const {
  if (stored_) {
    for (size_t n = step_begin_[t]; n < step_begin_[t + 1]; ++n) take(steps_[n]);
    return;
  }
  fill_edges<Numbers>(t);
  find_places(t, true);
  const auto place = [&](Node node) { return static_cast<uint32_t>(place_[static_cast<size_t>(node)]); };
  for_each_step<Numbers>(
      t,
      [&](size_t p, size_t q, double edge) {
        take(Step{static_cast<uint32_t>(p), static_cast<uint32_t>(q), static_cast<uint32_t>(state(t - 1, p)),
                  place(label_[column_[t] + q]), LabelNgrams::kNoNode, edge});
      },
      [&](size_t p, size_t q, size_t s, Node node, double factor) {
        if (factor == Numbers::kZero) return;
        take(Step{static_cast<uint32_t>(p), static_cast<uint32_t>(q), static_cast<uint32_t>(s),
                  place(input_->ngrams.context(node)), node, factor});
      });
  find_places(t, false);
}

template <class Take>
void NgramSums::for_each_move(size_t t, bool single, Take&& take) const {
  const auto visit = [&]<class Numbers>(Numbers) {
    for_each_known<Numbers>(t, [&](const Step& step) {
      const auto give = [&](size_t from, double alpha) {
        const double product = Numbers::times(Numbers::times(alpha, step.factor), to_[step.to]);
        const double probability = Numbers::kLogs ? Numbers::plain(product - scale_[t]) : product / scale_[t];
        take(Move{step.p, step.q, from, step.to, step.node, probability});
      };
      if (step.node != LabelNgrams::kNoNode) return give(step.from, alpha_[step.from]);
      if (!single) return give(step.from, total_[column_[t - 1] + step.p]);
      for (size_t s = step.from; s < state(t - 1, step.p + 1); ++s) give(s, alpha_[s]);
    });
  };
  logs_ ? visit(ngram_numbers::Logs{}) : visit(ngram_numbers::Scaled{});
}

}  // namespace tagwright
