// EdgeScores: the scores of edges in one of their forms. They do not change once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/sparse_rows.h"
#include "lattice/edge_form.h"
#include "lattice/ngrams.h"
#include "lattice/pair_rules.h"
#include "lattice/patch.h"
#include "lattice/scores.h"

namespace tagwright {

// default + exceptions: for each row (or column) the labels whose edge differs from the default.
class Exceptions : public SparseRows<int32_t, double> {
 public:
  void reset(size_t rows, std::span<const size_t> room) {
    SparseRows::reset(rows, room);
    largest_.assign(rows, kForbidden);
  }
  void set(size_t i, int32_t label, double score);
  void drop(size_t i, int32_t label);
  // [i]: the best of row i.
  const std::vector<double>& largest() const { return largest_; }

 private:
  void find_largest(size_t i);
  std::vector<double> largest_;
};

// Sparse corrections in named sets: switching a set on adds its scores to its edges. Row: a set; key: a pair of labels.
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

// What may stand beside the scores.
struct EdgeExtras {
  std::optional<std::span<const double>> start = {}, stop = {};  // [label]
  std::optional<std::span<const int32_t>> order = {};            // [rank]: the labels, most frequent first
  size_t correction_sets = 0;
  std::span<const int32_t> correction_set = {};  // [q]: the set that correction q belongs to
  EdgeTriples corrections = {};
  std::optional<NgramList> ngrams = {};
};

// Edge scores [previous][current] of L labels, with start and stop scores, corrections and ngrams.
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
  // The same without start and stop scores; a matrix is shared.
  EdgeScores without_ends() const;

  size_t L() const { return L_; }
  bool is_stepwise() const { return stepwise_; }
  size_t matrices() const { return stepwise_ ? steps_ : has_matrix(); }
  bool has_matrix() const { return bool(matrix_); }
  bool is_sparse() const { return sparse_; }
  double fallback() const { return fallback_; }  // of the pairs that the rules allow
  // What was forbidden beside the scores, or nullptr.
  const PairRules* rules() const { return rules_.get(); }
  // The same where it limits which pairs have the default; nullptr where all have that are no exceptions.
  const PairRules* default_rules() const { return default_is_limited_ ? rules_.get() : nullptr; }
  const Exceptions& rows() const { return rows_; }        // by previous label
  const Exceptions& columns() const { return columns_; }  // by current label
  const Exceptions& better() const { return better_; }    // by previous label, those above the default
  const Exceptions& worse() const { return worse_; }      // by previous label, those below it
  const Corrections& corrections() const { return corrections_; }
  // NgramIndex of labels that have scores, or nullptr where there are none.
  const LabelNgrams* ngrams() const { return ngrams_.get(); }
  double start(size_t y) const { return start_.empty() ? 0.0 : start_[y]; }
  double stop(size_t y) const { return stop_.empty() ? 0.0 : stop_[y]; }
  std::span<const double> start() const { return start_; }
  std::span<const double> stop() const { return stop_; }
  std::span<const int32_t> order() const { return order_; }  // empty: 0, 1, 2, ...

  // [i * stride + j]. Rows of our own copy start on cache lines and do not all fall into the same set of the cache;
  // what they have beyond L is -inf.
  Scores matrix(size_t t) const { return matrix_.from(stepwise_ ? t * L_ * L_ : 0); }
  size_t stride() const { return stride_; }
  // The score of an edge before corrections.
  double base(size_t t, size_t i, size_t j) const {
    return has_matrix() ? matrix(t)[i * stride_ + j] : exception(i, j);
  }
  void row(size_t t, size_t i, double* out) const;     // out: [j]
  void column(size_t t, size_t j, double* out) const;  // out: [i]

  // No edge, start or stop score has a larger finite magnitude. Matrices per step are not looked at; see below.
  double magnitude() const { return magnitude_; }
  // Returns the largest finite magnitude of the matrices; throws std::invalid_argument for the first number that is no
  // score. Borrowed numbers may have changed since they were last looked at, so every lattice looks again.
  double check_matrices() const;

 protected:
  explicit EdgeScores(size_t L) : L_(L), stride_(L) {}

  size_t L_, stride_, steps_ = 0;
  bool stepwise_ = false;
  Scores matrix_;
  std::shared_ptr<void> owner_;  // of the matrix; where that is our own copy, its first number
  bool sparse_ = false;
  double fallback_ = 0;
  Exceptions rows_, columns_, better_, worse_;
  Corrections corrections_;
  std::vector<double> start_, stop_;
  std::vector<int32_t> order_;
  double magnitude_ = 0;
  std::shared_ptr<const PairRules> rules_;
  std::shared_ptr<const LabelNgrams> ngrams_;
  bool default_is_limited_ = false;  // by these

 private:
  double exception(size_t i, size_t j) const;
  void fill_default(size_t side, size_t y, double* out) const;
  template <class E>
  void forbid_in_matrix(const E* from);
  template <class E, class Fill>
  const E* make_matrix(Fill&& fill);
  void find_exceptions(bool choose);
  void hold_exceptions(const std::vector<Override>& sorted);
  void add(const EdgeExtras& extras);
  std::vector<double> ends(std::span<const double> score, const char* what);
  void add_order(std::span<const int32_t> labels);
  void add_corrections(const EdgeExtras& extras);
};

}  // namespace tagwright
