// SparseEdges: one score that most edges have, and the edges that differ from it.
#pragma once

#include <span>
#include <vector>

#include "base/sparse_rows.h"
#include "lattice/patch.h"
#include "lattice/step_edges.h"

namespace tagwright {

// For each row (or column) the labels whose edge differs from the default.
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

// Where rules limit the default, it holds for the pairs that they allow and is -inf for all others, so that exceptions
// stay few. A table may exist as well: then single edges and rows come from it.
class SparseEdges : public StepEdges {
 public:
  // sorted: the exceptions, each once. rules: what limits the default, or nullptr.
  SparseEdges(size_t L, double fallback, const std::vector<Override>& sorted,
              std::shared_ptr<const PairRules> rules = nullptr);

  double fallback() const { return fallback_; }
  const PairRules* rules() const { return rules_.get(); }
  const Exceptions& rows() const { return rows_; }        // by previous label
  const Exceptions& columns() const { return columns_; }  // by current label

  void column(size_t j, double* out) const override;
  void prefetch(size_t i) const override {
    if (!table_) rows_.prefetch(i);
  }
  using StepEdges::max_step;
  void max_step(std::span<const MaxStep<double>> runs, Arena& arena) const override;
  float best_out(size_t i) const override { return rounded_up(std::max(fallback_, better_.largest()[i])); }
  void best_in(double* out) const override;
  void fill_bounds(const Chain& chain, Bounds& bounds) const override;
  void bound_step(const BoundStep& step, float* before, float* scores, Work& work) const override;
  Factors factors() const override;
  EdgeCosts costs() const override;
  std::vector<double> typical_scores() const override;
  std::shared_ptr<StepEdges> constrained(const std::shared_ptr<const PairRules>& rules,
                                         bool choose_form) const override;
  void change(size_t i, size_t j, double score) override;
  const SparseEdges* sparse() const override { return this; }

 private:
  class MaxPass;

  double find(size_t i, size_t j) const override;
  double find_in_column(size_t i, size_t j) const override;
  void fill_row(size_t i, double* out) const override;
  void fill_default(size_t side, size_t y, double* out) const;
  void bound_classes(const BoundStep& step, float fallback, float* before, float* best) const;

  double fallback_;
  std::shared_ptr<const PairRules> rules_;
  Exceptions rows_, columns_;
  Exceptions better_, worse_;  // by previous label: those above the default, and those below it
};

}  // namespace tagwright
