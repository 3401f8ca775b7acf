#include "lattice/step_edges.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "kernels/kernels.h"
#include "lattice/dense_edges.h"

namespace tagwright {
namespace {

template <class A>
void max_by_rows(const StepEdges& edges, std::span<const MaxStep<A>> runs, Arena& arena) {
  const size_t L = edges.L();
  double* const row = arena.array<double>(L);
  for (const MaxStep<A>& run : runs) {
    std::fill(run.best, run.best + L, static_cast<A>(kForbidden));
    run.work->edges += L * L;
  }
  for (size_t i = 0; i < L; ++i) {
    edges.row(i, row);
    for (const MaxStep<A>& run : runs)
      for (size_t j = 0; j < L; ++j) run.best[j] = std::max(run.best[j], run.previous[i] + static_cast<A>(row[j]));
  }
}

}  // namespace

void StepEdges::row(size_t i, double* out) const {
  if (!table_) return fill_row(i, out);
  const Scores row = table_row(i);
  for (size_t j = 0; j < L_; ++j) out[j] = row[j];
}

void StepEdges::gather(size_t side, size_t i, std::span<const int32_t> labels, double* out) const {
  if (table_) {
    const Scores from = table_.from(side ? i : i * stride_);
    const size_t stride = side ? stride_ : 1;
    for (size_t q = 0; q < labels.size(); ++q) out[q] = from[static_cast<size_t>(labels[q]) * stride];
    return;
  }
  for (size_t q = 0; q < labels.size(); ++q) {
    const auto j = static_cast<size_t>(labels[q]);
    out[q] = side ? find(j, i) : find(i, j);
  }
}

double StepEdges::raise(size_t side, double value, size_t i, std::span<const int32_t> labels, double* bound,
                        double* room) const {
  if (table_) {
    const Scores from = table_.from(side ? i : i * stride_);
    const size_t stride = side ? stride_ : 1, n = labels.size();
    return from.f ? kernels().raise_f(value, from.f, stride, labels.data(), n, bound)
                  : kernels().raise_d(value, from.d, stride, labels.data(), n, bound);
  }
  gather(side, i, labels, room);
  double least = std::numeric_limits<double>::infinity();
  for (size_t q = 0; q < labels.size(); ++q) least = std::min(least, bound[q] = std::max(bound[q], value + room[q]));
  return least;
}

void StepEdges::extend(double value, size_t i, Scores nodes, double* out) const {
  if (table_) {
    const Scores row = table_row(i);
    if (row.f && nodes.f) return kernels().extend_ff(value, row.f, nodes.f, L_, out);
    if (row.d && nodes.d) return kernels().extend_dd(value, row.d, nodes.d, L_, out);
  }
  row(i, out);
  for (size_t j = 0; j < L_; ++j) out[j] = (value + out[j]) + nodes[j];
}

size_t StepEdges::best_extension(double value, size_t i, Scores nodes, double* room) const {
  if (table_) {
    const Scores row = table_row(i);
    if (row.f && nodes.f) return kernels().argmax_sum_ff(row.f, nodes.f, L_);
    if (row.d && nodes.d) return kernels().argmax_sum_dd(row.d, nodes.d, L_);
  }
  extend(value, i, nodes, room);
  return kernels().argmax_d(room, L_);
}

void StepEdges::max_step(std::span<const MaxStep<double>> runs, Arena& arena) const { max_by_rows(*this, runs, arena); }
void StepEdges::max_step(std::span<const MaxStep<float>> runs, Arena& arena) const { max_by_rows(*this, runs, arena); }

float StepEdges::best_out(size_t i) const {
  if (table_) return rounded_up(largest_of(table_row(i), L_));
  std::vector<double> scores(L_);
  row(i, scores.data());
  return rounded_up(*std::max_element(scores.begin(), scores.end()));
}

void StepEdges::best_in(double* out) const {
  std::vector<double> scores(L_);
  std::fill(out, out + L_, kForbidden);
  for (size_t i = 0; i < L_; ++i) {
    row(i, scores.data());
    for (size_t j = 0; j < L_; ++j) out[j] = std::max(out[j], scores[j]);
  }
}

void StepEdges::fill_bounds(const Chain& chain, Bounds& b) const {
  const auto raise = [&](double* bound, const double* by) {
    for (size_t j = 0; j < L_; ++j) bound[j] = std::max(bound[j], by[j]);
  };
  std::vector<double> scores(L_);
  for (size_t i = 0; i < L_; ++i) {
    row(i, scores.data());
    block_scores(chain, {nullptr, scores.data()}, b.to.data() + i * b.B);
    b.out[i] = *std::max_element(scores.begin(), scores.end());
    raise(b.in.data(), scores.data());
    // A label's row belongs to the last block that contains it; that block's bounds then raise those around it.
    if (chain.inside[i]) raise(b.from.data() + (chain.inside[i] - 1) * L_, scores.data());
  }
  for (size_t m = b.B; m-- > 1;) raise(b.from.data() + (m - 1) * L_, b.from.data() + m * L_);
}

void StepEdges::bound_step(const BoundStep& step, float* before, float*, Work& work) const {
  std::vector<double> scores(L_);
  std::fill(before, before + L_, step.rest - step.top);
  for (size_t q = 0; q < step.hot.size(); ++q) {
    row(static_cast<size_t>(step.hot[q]), scores.data());
    const float value = step.hot_sum[q] - step.top;
    for (size_t j = 0; j < L_; ++j) before[j] = std::max(before[j], value + static_cast<float>(scores[j]));
  }
  work.edges += step.hot.size() * L_;
}

Factors StepEdges::factors() const {
  return dense_factors(L_, [&](size_t i, double* out) { row(i, out); });
}

EdgeCosts StepEdges::costs() const { return {.max_step = L_ * L_, .hot_labels = L_ / 16}; }

std::vector<double> StepEdges::typical_scores() const {
  // A few hundred, from rows and columns that have nothing to do with each other.
  std::vector<double> some;
  const size_t n = std::min<size_t>(L_ * L_, 512);
  for (size_t q = 0; q < n; ++q) some.push_back(score(q * L_ / n, (q * 7919 + q * L_ / n) % L_));
  std::erase_if(some, [](double score) { return !std::isfinite(score); });
  return some;
}

std::shared_ptr<StepEdges> StepEdges::constrained(const std::shared_ptr<const PairRules>& rules,
                                                  bool choose_form) const {
  auto made = std::make_shared<DenseEdges>(L_);
  made->copy_table(*this, *rules);
  return choose_form ? DenseEdges::in_best_form(std::move(made)) : made;
}

void StepEdges::change(size_t i, size_t j, double score) {
  if (table_) static_cast<float*>(owner_.get())[i * stride_ + j] = static_cast<float>(score);
}

double StepEdges::check(const std::string& where) const {
  double magnitude = 0;
  for (size_t i = 0; i < L_; ++i) {
    const Scores row = table_row(i);
    const ScoreCheck found = check_scores(row, L_);
    if (found.bad < L_)
      throw std::invalid_argument("edge score " + std::to_string(i) + " -> " + std::to_string(found.bad) + where +
                                  why_no_score(row[found.bad]));
    magnitude = std::max(magnitude, found.magnitude);
  }
  return magnitude;
}

void StepEdges::borrow_table(Scores table, std::shared_ptr<void> owner) {
  stride_ = L_;
  table_ = table;
  owner_ = std::move(owner);
}

void StepEdges::copy_table(const StepEdges& from, const PairRules& rules) {
  const auto forbid = [&](size_t i, auto* row) {
    using E = std::remove_pointer_t<decltype(row)>;
    for (size_t j = 0; j < L_; ++j)
      if (!rules.allows(i, j)) row[j] = -std::numeric_limits<E>::infinity();
    const auto first =
        std::lower_bound(rules.forbidden().begin(), rules.forbidden().end(), std::pair(static_cast<int32_t>(i), 0));
    for (auto at = first; at != rules.forbidden().end() && at->first == static_cast<int32_t>(i); ++at)
      row[at->second] = -std::numeric_limits<E>::infinity();
  };
  if (from.table_.f) {
    make_table<float>([&](size_t i, float* row) {
      std::copy_n(from.table_row(i).f, L_, row);
      forbid(i, row);
    });
  } else {
    make_table<double>([&](size_t i, double* row) {
      from.row(i, row);
      forbid(i, row);
    });
  }
}

Bounds edge_bounds(const StepEdges& edges, const Chain& chain) {
  const size_t L = chain.L, B = chain.B;
  Bounds b{.L = L,
           .B = B,
           .to = std::vector<double>(L * B, kForbidden),
           .from = std::vector<double>(B * L, kForbidden),
           .between = std::vector<double>(B * B, kForbidden),
           .out = std::vector<double>(L + B, kForbidden),
           .in = std::vector<double>(L + B, kForbidden)};
  edges.fill_bounds(chain, b);
  for (size_t m = 0; m < B; ++m) {
    const double* from = b.from.data() + m * L;
    block_scores(chain, {nullptr, from}, b.between.data() + m * B);
    b.out[L + m] = *std::max_element(from, from + L);
  }
  block_scores(chain, {nullptr, b.in.data()}, b.in.data() + L);
  b.largest = *std::max_element(b.out.begin(), b.out.end());
  return b;
}

}  // namespace tagwright
