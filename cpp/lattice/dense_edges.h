// DenseEdges: a matrix of edge scores.
#pragma once

#include "lattice/step_edges.h"

namespace tagwright {

class DenseEdges : public StepEdges {
 public:
  using StepEdges::StepEdges;

  // Returns edges with default and exceptions where enough of a matrix has one value, and the matrix elsewhere. always:
  // whatever the matrix holds.
  static std::shared_ptr<StepEdges> in_best_form(std::shared_ptr<DenseEdges> matrix, bool always = false);

  void column(size_t j, double* out) const override;
  void max_step(std::span<const MaxStep<double>> runs, Arena& arena) const override;
  void max_step(std::span<const MaxStep<float>> runs, Arena& arena) const override;
  bool has_float_steps() const override { return table_.f; }
  void bound_step(const BoundStep& step, float* before, float* scores, Work& work) const override;
  EdgeCosts costs() const override;

 private:
  double find(size_t i, size_t j) const override { return table_[i * stride_ + j]; }
  void fill_row(size_t i, double* out) const override { row(i, out); }
};

}  // namespace tagwright
