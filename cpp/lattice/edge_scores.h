// EdgeScores: the edges of all steps, with start and stop scores, corrections and n-grams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/need.h"
#include "base/sparse_rows.h"
#include "lattice/edge_form.h"
#include "lattice/labelling_rules.h"
#include "lattice/ngrams.h"
#include "lattice/pair_rules.h"
#include "lattice/patch.h"
#include "lattice/scores.h"
#include "lattice/sparse_edges.h"
#include "lattice/step_edges.h"

namespace tagwright {

// Sparse corrections in numbered sets: an active set adds its scores to its edges. Row: a set; key: a pair of labels.
class Corrections : public SparseRows<uint64_t, double> {
 public:
  static uint64_t pair(int32_t i, int32_t j) { return static_cast<uint64_t>(i) << 32 | static_cast<uint32_t>(j); }
  static int32_t previous(uint64_t pair) { return static_cast<int32_t>(pair >> 32); }
  static int32_t current(uint64_t pair) { return static_cast<int32_t>(pair & 0xffffffffU); }
};

// Some edges: score[q] is that of previous[q] -> current[q].
struct EdgeTriples {
  std::span<const int32_t> previous, current;
  Scores score;

  size_t size() const { return previous.size(); }
};

// Optional parts of edges.
struct EdgeExtras {
  std::optional<std::span<const double>> start = {}, stop = {};  // [label]
  std::optional<std::span<const int32_t>> order = {};            // [rank]: the labels, most frequent first
  size_t correction_sets = 0;
  std::span<const int32_t> correction_set = {};  // [q]: the set that correction q belongs to
  EdgeTriples corrections = {};
  std::optional<NgramList> ngrams = {};
};

// What users see of edges.
struct EdgeFacts {
  bool sparse, stepwise;            // default + exceptions; one matrix per step
  double fallback;                  // the default, or 0
  size_t exceptions, ngrams, sets;  // numbers of exceptions, label n-grams and correction sets
};

// Edge scores [previous][current] of L labels. They do not change once made.
class EdgeScores {
 public:
  // One matrix for all steps, [i * L + j]; copied. form: kDense or kBoth; chosen where there is none.
  static EdgeScores from_matrix(size_t L, Scores matrix, std::optional<EdgeForm> form, const EdgeExtras& extras = {});
  // One matrix per step, [t][i][j], for sentences of steps + 1 tokens. The numbers are borrowed: `owner` holds them.
  static EdgeScores from_steps(size_t L, size_t steps, Scores matrices, std::shared_ptr<void> owner,
                               const EdgeExtras& extras = {});
  // One score everywhere but at the given edges. form: chosen for a model where there is none. A matrix has the
  // precision of the triples.
  static EdgeScores from_triples(size_t L, double fallback, const EdgeTriples& triples, std::optional<EdgeForm> form,
                                 const EdgeExtras& extras = {});

  // The same with -inf where these rules forbid, or earlier ones did. Where there is a default, it holds for the pairs
  // that the rules allow, and exceptions stay few. choose_form: whether a matrix may have exceptions beside it from now
  // on.
  EdgeScores constrained(std::shared_ptr<const PairRules> rules, bool choose_form = true) const;
  // The same with rules about whole labellings beside those that there were, or without any: decoders apply them
  // (decode/rules.h), and scores stay what they are.
  EdgeScores with_labelling_rules(std::shared_ptr<const LabellingRules> rules) const;
  EdgeScores without_labelling_rules() const;
  // The same without start and stop scores; a matrix is shared.
  EdgeScores without_ends() const;

  size_t L() const { return L_; }
  // The edges of step t, before corrections.
  const StepEdges& step(size_t t) const { return per_step_ ? *steps_[t] : *shared_; }
  // How many steps the edges are for; none where the same edges serve sentences of any length.
  std::optional<size_t> steps() const { return per_step_ ? std::optional(steps_.size()) : std::nullopt; }
  // The number of states of a column in an exact search: labels, or contexts of label n-grams.
  size_t states() const { return ngrams_ ? ngrams_->contexts() : L_; }
  // Numbers that the result of a max step has room for.
  size_t stride() const { return stride_; }
  EdgeCosts costs() const;
  // Whether scores are float32.
  bool is_float() const { return !steps_.empty() && steps_[0]->is_float(); }

  // The score of an edge before corrections.
  double base(size_t t, size_t i, size_t j) const { return table_ ? table_[i * stride_ + j] : step(t).score(i, j); }
  void row(size_t t, size_t i, double* out) const { step(t).row(i, out); }        // out: [j]
  void column(size_t t, size_t j, double* out) const { step(t).column(j, out); }  // out: [i]

  // The constraints so far, or nullptr: for messages.
  const PairRules* rules() const { return rules_.get(); }
  // Rules about whole labellings, or nullptr.
  const LabellingRules* labelling_rules() const { return labelling_rules_.get(); }
  const Corrections& corrections() const { return corrections_; }
  // Label n-grams that have scores, or nullptr where there are none.
  const LabelNgrams* ngrams() const { return ngrams_.get(); }
  double start(size_t y) const { return start_.empty() ? 0.0 : start_[y]; }
  double stop(size_t y) const { return stop_.empty() ? 0.0 : stop_[y]; }
  std::span<const double> start() const { return start_; }
  std::span<const double> stop() const { return stop_; }
  std::span<const int32_t> order() const { return order_; }  // empty: 0, 1, 2, ...

  // No edge, start or stop score has a larger finite magnitude. Edges per step are left out; see below.
  double magnitude() const { return magnitude_; }
  // Returns the largest finite magnitude of edges per step; throws std::invalid_argument for the first number that is
  // not a score. Borrowed numbers may have changed since they were last checked, so every lattice checks them again.
  double check_steps() const;

  // Default + exceptions, or nullptr where the edges have another form.
  const SparseEdges* sparse() const { return per_step_ ? nullptr : shared_->sparse(); }
  EdgeFacts facts() const;
  // Throw std::invalid_argument with this message where edges differ from step to step, or where there are n-grams.
  void need_same_steps(const char* message) const { need(!per_step_, message); }
  void need_no_ngrams(const char* message) const { need(!ngrams_, message); }

 protected:
  explicit EdgeScores(size_t L) : L_(L), stride_(L) {}

  size_t L_, stride_;
  bool per_step_ = false;
  std::vector<std::shared_ptr<StepEdges>> steps_;  // one, or one per step
  const StepEdges* shared_ = nullptr;              // the one, where there is one
  Scores table_;                                   // of the one, where it has a table: single edges are looked up often
  Corrections corrections_;
  std::vector<double> start_, stop_;
  std::vector<int32_t> order_;
  double magnitude_ = 0;
  std::shared_ptr<const PairRules> rules_;
  std::shared_ptr<const LabellingRules> labelling_rules_;
  std::shared_ptr<const LabelNgrams> ngrams_;

 private:
  void share(std::shared_ptr<StepEdges> step);
  void add(const EdgeExtras& extras);
  std::vector<double> ends(std::span<const double> score, const char* what);
  void add_order(std::span<const int32_t> labels);
  void add_corrections(const EdgeExtras& extras);
};

// t: the step, where edges differ from step to step.
inline Factors factors_of(const EdgeScores& edges, size_t t = 0) { return edges.step(t).factors(); }

}  // namespace tagwright
