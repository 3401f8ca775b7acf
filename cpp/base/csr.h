// Csr: where the entries of a sparse matrix are, row by row (compressed sparse rows). Values lie beside it, one per
// entry. Rows that change have a type of their own, SparseRows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tagwright {

struct Csr {
  static constexpr size_t kNoPlace = static_cast<size_t>(-1);

  std::vector<size_t> begin = {0};  // [row]: its first entry; one more for the end
  std::vector<int32_t> index;       // [entry]: its column, rising within a row

  size_t rows() const { return begin.size() - 1; }
  size_t entries() const { return index.size(); }
  std::span<const int32_t> operator[](size_t row) const {
    return std::span(index).subspan(begin[row], begin[row + 1] - begin[row]);
  }
  void add_row(std::span<const int32_t> columns) {
    index.insert(index.end(), columns.begin(), columns.end());
    begin.push_back(index.size());
  }
  // Returns the entry, or kNoPlace.
  size_t find(size_t row, size_t column) const {
    const std::span<const int32_t> in = (*this)[row];
    const auto found = std::lower_bound(in.begin(), in.end(), static_cast<int32_t>(column));
    if (found == in.end() || *found != static_cast<int32_t>(column)) return kNoPlace;
    return begin[row] + static_cast<size_t>(found - in.begin());
  }
};

}  // namespace tagwright
