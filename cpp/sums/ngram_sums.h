// Sums over lattices whose edges have label n-grams: log Z, the probabilities of labels, of pairs of labels and of
// n-grams.
//
// The states of a column are the contexts (lattice/contexts.h) that its labels and those before them can form: as much
// of the past as an n-gram can still depend on. Sums are exact over the labels that each column is given. Transitions
// between states are stored unless there are too many; then each pass looks them up again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sums/forward_backward.h"

namespace tagwright {

// Can be used for one sentence after the other; its memory is reused.
class NgramSums {
 public:
  using Node = LabelNgrams::Node;
  // What is summed. The labels of a column are sorted, and there is at least one.
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
    size_t from;  // state of the column before; where it stands for all states of label p, the first
    size_t to;    // state of the column
    Node node;    // of ngrams.h: what is completed; kNoNode where the pair of labels is no node
    double probability;
    double alpha;  // of what it comes from; see alpha()
  };

  // The n-grams, and what the functions read, must outlive the sums.
  void sum(const Input& input);
  // The same with the best in the place of the sum: log_z() is the score of the best path, and what is a probability
  // below is the score of the best path through a label, state or move less that.
  void maximise(const Input& input);
  // Makes the result that of a lattice without a path.
  void clear() { log_z_ = kForbidden; }

  // log Z, the probabilities of labels, and a pointer to these sums. lattice: or nullptr.
  Sums sums(const Lattice* lattice) const;
  double log_z() const { return log_z_; }  // kForbidden: no path
  size_t T() const { return column_.size() - 1; }
  size_t kept() const { return label_.size(); }
  std::span<const int32_t> labels(size_t t) const { return std::span(label_).subspan(column_[t], width(t)); }
  std::span<const double> nodes(size_t t) const { return std::span(label_p_).subspan(column_[t], width(t)); }
  // The states of labels(t)[q] are state(t, q) .. state(t, q + 1) - 1, numbered through the sentence.
  size_t state(size_t t, size_t q) const { return state_begin_[column_[t] + q]; }
  double state_p(size_t s) const { return state_p_[s]; }
  // Up to a factor that a column has in common; a logarithm where is_scaled() is false.
  double alpha(size_t s) const { return alpha_[s]; }
  bool is_scaled() const { return mode_ == Mode::kScaled; }

  // Calls visit(Move) for the step into column t. Where a pair of labels is no node, all states of the first label are
  // one summand; single: one each.
  template <class Visit>
  void for_each_move(size_t t, bool single, Visit&& visit) const;
  // The probabilities of pairs of labels of the step into column t, [p * labels of t + q].
  void pairs(size_t t, std::vector<double>& out) const;

 private:
  // A transition between states: from one, or (node: kNoNode) from all of label p, the first of which is `from`.
  struct Step {
    uint32_t p, q, from, to;
    Node node;
    double factor;
  };

  enum class Mode { kScaled, kLogs, kMaxima };

  void prepare(const Input& input);
  // Return false where a number left the range that the arithmetic can hold.
  template <class Numbers>
  bool run();
  template <class Numbers>
  bool forward();
  template <class Numbers>
  bool backward();
  template <class Numbers>
  bool fill_nodes(size_t t, double& shift);
  template <class Numbers>
  bool fill_edges(size_t t, double& shift) const;
  template <class Numbers>
  bool scale_column(size_t t, size_t begin, double& log_sum);

  template <class Numbers>
  void reach_states(size_t t);
  // Adds to a state of label q of column t, which is made where there is none; returns its number. Labels come in their
  // order.
  template <class Numbers>
  uint32_t add_to_state(size_t t, size_t q, Node context, double alpha);
  uint32_t make_state(size_t t, size_t q, Node context, double alpha);
  template <class Numbers>
  void spread_beta(size_t t);
  double log_sum_of_moves(size_t t) const;
  void store(const Step& step);
  // Calls group(p, q, edge) where all states of p go to the label of q, and one(p, q, state, node, factor) elsewhere.
  template <class Numbers, class Group, class One>
  void for_each_step(size_t t, Group&& group, One&& one) const;
  // Calls visit(Step) for the step into column t, whose states are known.
  template <class Numbers, class Visit>
  void for_each_known(size_t t, Visit&& visit) const;
  void find_places(size_t t, bool known) const;
  size_t width(size_t t) const { return column_[t + 1] - column_[t]; }

  std::optional<Input> input_;
  std::vector<size_t> column_ = {0};          // [t], and one more: its first label
  std::vector<int32_t> label_;                // of all columns
  std::vector<double> psi_, label_p_;         // beside label_
  std::vector<size_t> state_begin_;           // beside label_, and one more
  std::vector<Node> node_;                    // [state]
  std::vector<double> alpha_, to_, state_p_;  // [state]; to: psi * beta
  std::vector<double> total_;                 // beside label_: the sum of the alphas of its states
  std::vector<double> sum_, scale_;           // [t]: divisor of alpha; normaliser of a step's products
  std::vector<double> beta_, group_;          // of a column
  mutable std::vector<double> edges_;         // of a step
  mutable std::vector<int32_t> place_;        // [node]: the state of the column, -1 where it is none
  std::vector<Step> steps_;                   // of all columns, where they are stored
  std::vector<size_t> step_begin_;            // [t], and one more
  Mode mode_ = Mode::kScaled;
  bool stored_ = false;
  double log_z_ = kForbidden;
};

// Sums of a lattice with n-grams: see forward_backward(). The lattice and what is in the arena must outlive the sums.
void sum_ngrams(const Lattice& lattice, const SumPruning& pruning, Arena& arena, NgramSums& sums);
// The same with the best in the place of the sum, over all allowed labels.
void maximise_ngrams(const Lattice& lattice, Arena& arena, NgramSums& sums);

// --- implementation of the templates ---

namespace ngram_numbers {

// Products of factors, columns scaled to a sum of 1.
struct Scaled {
  static constexpr bool kLogs = false, kMaxima = false;
  static constexpr double kZero = 0;
  static double add(double a, double b) { return a + b; }
  static double times(double a, double b) { return a * b; }
  static double factor(double score);
  static double plain(double a) { return a; }
};
// The same in the log domain, for scores that are far apart.
struct Logs {
  static constexpr bool kLogs = true, kMaxima = false;
  static constexpr double kZero = kForbidden;
  static double add(double a, double b);
  static double times(double a, double b) { return a + b; }
  static double factor(double score) { return score; }
  static double plain(double a);
};
// The best in the place of the sum.
struct Maxima : Logs {
  static constexpr bool kMaxima = true;
  static double add(double a, double b) { return a > b ? a : b; }
  static double plain(double a) { return a; }
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

template <class Numbers, class Visit>
void NgramSums::for_each_known(size_t t, Visit&& visit) const {
  if (stored_) {
    for (size_t n = step_begin_[t]; n < step_begin_[t + 1]; ++n) visit(steps_[n]);
    return;
  }
  double shift;
  fill_edges<Numbers>(t, shift);
  find_places(t, true);
  const auto place = [&](Node node) { return static_cast<uint32_t>(place_[static_cast<size_t>(node)]); };
  for_each_step<Numbers>(
      t,
      [&](size_t p, size_t q, double edge) {
        visit(Step{static_cast<uint32_t>(p), static_cast<uint32_t>(q), static_cast<uint32_t>(state(t - 1, p)),
                   place(label_[column_[t] + q]), LabelNgrams::kNoNode, edge});
      },
      [&](size_t p, size_t q, size_t s, Node node, double factor) {
        if (factor == Numbers::kZero) return;
        visit(Step{static_cast<uint32_t>(p), static_cast<uint32_t>(q), static_cast<uint32_t>(s),
                   place(input_->ngrams.context(node)), node, factor});
      });
  find_places(t, false);
}

template <class Visit>
void NgramSums::for_each_move(size_t t, bool single, Visit&& visit) const {
  const auto visit_all = [&]<class Numbers>(Numbers) {
    for_each_known<Numbers>(t, [&](const Step& step) {
      const auto give = [&](size_t from, double alpha) {
        const double product = Numbers::times(Numbers::times(alpha, step.factor), to_[step.to]);
        const double probability = Numbers::kLogs ? Numbers::plain(product - scale_[t]) : product / scale_[t];
        visit(Move{step.p, step.q, from, step.to, step.node, probability, alpha});
      };
      if (step.node != LabelNgrams::kNoNode) return give(step.from, alpha_[step.from]);
      if (!single) return give(step.from, total_[column_[t - 1] + step.p]);
      for (size_t s = step.from; s < state(t - 1, step.p + 1); ++s) give(s, alpha_[s]);
    });
  };
  if (mode_ == Mode::kScaled) return visit_all(ngram_numbers::Scaled{});
  mode_ == Mode::kLogs ? visit_all(ngram_numbers::Logs{}) : visit_all(ngram_numbers::Maxima{});
}

}  // namespace tagwright
