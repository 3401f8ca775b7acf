// Allowed: the labels that tokens may have, where not all are allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/arena.h"
#include "base/csr.h"
#include "lattice/scores.h"

namespace tagwright {

// For each column of a sentence a list of labels in rising order, or no list: then every label is allowed, and the
// column is wide. A view.
struct Allowed {
  const size_t* begin = nullptr;  // [t], and one more; nullptr where every column is wide
  const int32_t* label = nullptr;

  explicit operator bool() const { return begin != nullptr; }
  // The list of column t; empty where it is wide.
  std::span<const int32_t> operator[](size_t t) const {
    if (!begin) return {};
    return {label + begin[t], begin[t + 1] - begin[t]};
  }
  // That of the columns from t on.
  Allowed from(size_t t) const { return begin ? Allowed{begin + t, label} : Allowed{}; }
};

// Lists of allowed labels, column after column.
class AllowedLists {
 public:
  // One more column.
  void add_wide() { lists_.add_row({}); }
  void add(std::span<const int32_t> labels) { lists_.add_row(labels); }
  void clear() { lists_ = {}; }
  size_t columns() const { return lists_.rows(); }
  bool any() const { return lists_.entries(); }
  // Valid until another column is added.
  Allowed view(size_t first = 0) const { return {lists_.begin.data() + first, lists_.index.data()}; }

 private:
  Csr lists_;
};

// Node scores [t * L + y] with -inf where labels are not allowed: for algorithms that do not read lists.
Scores masked(Scores nodes, size_t T, size_t L, const Allowed& allowed, Arena& arena);

}  // namespace tagwright
