#include "lattice/patch.h"

#include <algorithm>

namespace tagwright {

void Patch::index_columns() {
  int32_t last = 0;
  for (const Override& e : by_row) last = std::max(last, e.j);
  if (by_row.size() < static_cast<size_t>(last) / 8) {
    by_column = by_row;
    std::sort(by_column.begin(), by_column.end(),
              [](const Override& a, const Override& b) { return a.j != b.j ? a.j < b.j : a.i < b.i; });
    return;
  }
  // Counted: behind[j] is where the next entry of column j belongs.
  thread_local std::vector<size_t> behind;
  behind.assign(static_cast<size_t>(last) + 2, 0);
  for (const Override& e : by_row) ++behind[static_cast<size_t>(e.j) + 1];
  for (size_t j = 1; j < behind.size(); ++j) behind[j] += behind[j - 1];
  by_column.resize(by_row.size());
  for (const Override& e : by_row) by_column[behind[static_cast<size_t>(e.j)]++] = e;
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

}  // namespace tagwright
