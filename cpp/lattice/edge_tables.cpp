// What is kept beside the scores of edges: exceptions, overrides, and each label's best edge out.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernels.h"
#include "lattice/chain.h"
#include "lattice/lattice.h"

namespace tagwright {
namespace {

double middle(std::vector<double>& values) {
  if (values.empty()) return kForbidden;
  const auto at = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

void Patch::index_columns() {
  by_column = by_row;
  std::sort(by_column.begin(), by_column.end(),
            [](const Override& a, const Override& b) { return a.j != b.j ? a.j < b.j : a.i < b.i; });
}

std::span<const Override> Patch::row(int32_t i) const {
  const auto range = std::equal_range(by_row.begin(), by_row.end(), Override{i, 0, 0},
                                      [](const Override& a, const Override& b) { return a.i < b.i; });
  return {range.first, range.second};
}

std::span<const Override> Patch::column(int32_t j) const {
  const auto range = std::equal_range(by_column.begin(), by_column.end(), Override{0, j, 0},
                                      [](const Override& a, const Override& b) { return a.j < b.j; });
  return {range.first, range.second};
}

void Exceptions::set(size_t i, int32_t label, double score) {
  const size_t before = size(i);
  double& held = at(find_or_add(i, label));
  const bool was_largest = size(i) == before && held == largest_[i];
  held = score;
  if (score >= largest_[i]) {
    largest_[i] = score;
  } else if (was_largest) {
    find_largest(i);
  }
}

void Exceptions::drop(size_t i, int32_t label) {
  erase(i, label);
  find_largest(i);
}

void Exceptions::find_largest(size_t i) {
  largest_[i] = kForbidden;
  for (const double score : values(i)) largest_[i] = std::max(largest_[i], score);
}

const std::vector<float>& Edges::reach() const {
  std::call_once(reach_once_, [&] {
    std::vector<float> made((L_ + kGroup - 1) / kGroup * kGroup, -std::numeric_limits<float>::infinity());
    for (size_t i = 0; i < L_; ++i) made[i] = best_out(*this, 0, i);
    std::vector<double> some;
    if (sparse_) {
      middle_ = fallback_;
      for (size_t i = 0; i < L_ && fallback_ == kForbidden; ++i)
        for (const double score : rows_.values(i)) some.push_back(score);
    } else {
      // A few hundred, from rows and columns that have nothing to do with each other.
      const size_t n = std::min<size_t>(L_ * L_, 512);
      for (size_t q = 0; q < n; ++q) some.push_back(matrix_[q * L_ / n * stride_ + (q * 7919 + q * L_ / n) % L_]);
    }
    std::erase_if(some, [](double score) { return !std::isfinite(score); });
    if (!some.empty()) middle_ = middle(some);
    std::vector<double> sizes;
    for (size_t i = 0; i < L_; ++i) {
      if (!std::isfinite(made[i])) continue;
      sizes.push_back(std::fabs(static_cast<double>(made[i])));
      scale_ = std::max(scale_, static_cast<double>(made[i]));
    }
    if (!sizes.empty()) scale_ = std::max(scale_, middle(sizes));
    reach_ = std::move(made);
  });
  return reach_;
}

double Edges::usual() const {
  reach();
  return middle_;
}

double Edges::scale() const {
  reach();
  return scale_;
}

}  // namespace tagwright
