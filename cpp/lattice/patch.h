// Edges whose score at one step is not the shared one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tagwright {

// An edge and its score. i, j: previous and current label, or blocks of labels.
struct Override {
  int32_t i, j;
  double score;
};

// By previous, then by current label.
inline bool before(const Override& a, const Override& b) { return a.i != b.i ? a.i < b.i : a.j < b.j; }

// The overrides of one step, found by row and by column.
struct Patch {
  std::vector<Override> by_row;     // sorted by (i, j)
  std::vector<Override> by_column;  // sorted by (j, i)

  // Fills by_column from by_row, which is sorted already.
  void index_columns();
  bool empty() const { return by_row.empty(); }
  std::span<const Override> row(int32_t i) const;
  std::span<const Override> column(int32_t j) const;
};

}  // namespace tagwright
