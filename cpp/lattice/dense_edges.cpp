#include "lattice/dense_edges.h"

#include <algorithm>

#include "kernels/kernels.h"
#include "lattice/edge_form.h"
#include "lattice/sparse_edges.h"

namespace tagwright {
namespace {

// Calls kernel(steps, count) for some sentences at a time.
template <class A, class Kernel>
void for_some(std::span<const MaxStep<A>> runs, size_t edges, Kernel&& kernel) {
  constexpr size_t kAtOnce = 32;
  StepOf<A> steps[kAtOnce];
  for (size_t first = 0; first < runs.size(); first += kAtOnce) {
    const size_t n = std::min(kAtOnce, runs.size() - first);
    for (size_t q = 0; q < n; ++q) {
      steps[q] = {runs[first + q].previous, runs[first + q].best};
      runs[first + q].work->edges += edges;
    }
    kernel(steps, n);
  }
}

}  // namespace

std::shared_ptr<StepEdges> DenseEdges::in_best_form(std::shared_ptr<DenseEdges> matrix, bool always) {
  const size_t L = matrix->L_, stride = matrix->stride_;
  const Scores table = matrix->table_;
  // Boyer and Moore's vote: a value that more than half of the matrix has is the one left over.
  double candidate = 0;
  size_t votes = 0;
  for (size_t i = 0; i < L; ++i) {
    for (size_t j = 0; j < L; ++j) {
      const double v = table[i * stride + j];
      if (votes == 0) candidate = v;
      votes += v == candidate ? 1 : -1;
    }
  }
  std::vector<Override> entries;
  for (size_t i = 0; i < L; ++i) {
    for (size_t j = 0; j < L; ++j) {
      const double v = table[i * stride + j];
      if (v != candidate) entries.push_back({static_cast<int32_t>(i), static_cast<int32_t>(j), v});
    }
    if (!always && choose_edge_form(L, entries.size(), EdgeUse::kGiven) == EdgeForm::kDense) return matrix;
  }
  auto made = std::make_shared<SparseEdges>(L, candidate, entries);
  made->share_table(*matrix);
  return made;
}

void DenseEdges::column(size_t j, double* out) const {
  const Scores column = table_.from(j);
  for (size_t i = 0; i < L_; ++i) out[i] = column[i * stride_];
}

void DenseEdges::max_step(std::span<const MaxStep<double>> runs, Arena&) const {
  for_some(runs, L_ * L_, [&](StepOf<double>* steps, size_t n) {
    table_.f ? kernels().dense_step_df(table_.f, L_, stride_, steps, n)
             : kernels().dense_step_dd(table_.d, L_, stride_, steps, n);
  });
}

void DenseEdges::max_step(std::span<const MaxStep<float>> runs, Arena& arena) const {
  if (!table_.f) return StepEdges::max_step(runs, arena);
  for_some(runs, L_ * L_,
           [&](StepOf<float>* steps, size_t n) { kernels().dense_step_ff(table_.f, L_, stride_, steps, n); });
}

void DenseEdges::bound_step(const BoundStep& step, float* before, float* scores, Work& work) const {
  constexpr size_t kRows = 64;  // that a kernel is given at a time
  const void* rows[kRows];
  std::fill(before, before + L_, step.rest - step.top);
  for (size_t first = 0; first < step.hot.size(); first += kRows) {
    const size_t n = std::min(kRows, step.hot.size() - first);
    for (size_t q = 0; q < n; ++q) {
      const Scores row = table_row(static_cast<size_t>(step.hot[first + q]));
      scores[q] = step.hot_sum[first + q] - step.top;
      rows[q] = row.f ? static_cast<const void*>(row.f) : row.d;
    }
    table_.f ? kernels().follow_rows_f(reinterpret_cast<const float* const*>(rows), scores, n, L_, before)
             : kernels().follow_rows_d(reinterpret_cast<const double* const*>(rows), scores, n, L_, before);
  }
  work.edges += step.hot.size() * L_;
}

EdgeCosts DenseEdges::costs() const {
  return {.max_step = L_ * L_,
          .shared_bytes = L_ * L_ * (table_.f ? sizeof(float) : sizeof(double)),
          .hot_labels = L_ / 16};
}

}  // namespace tagwright
