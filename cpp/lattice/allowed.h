// Allowed: the labels that tokens may have, where not all are allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/arena.h"
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

// Lists that are made one behind the other.
class AllowedLists {
 public:
  AllowedLists() : begin_{0} {}

  // One more column.
  void add_wide() { begin_.push_back(label_.size()); }
  void add(std::span<const int32_t> labels) {
    label_.insert(label_.end(), labels.begin(), labels.end());
    begin_.push_back(label_.size());
  }
  void clear() {
    begin_.assign(1, 0);
    label_.clear();
  }
  size_t columns() const { return begin_.size() - 1; }
  bool any() const { return !label_.empty(); }
  // Valid until another column is added.
  Allowed view(size_t first = 0) const { return {begin_.data() + first, label_.data()}; }

 private:
  std::vector<size_t> begin_;
  std::vector<int32_t> label_;
};

// Node scores [t * L + y] with -inf where labels are not allowed: for whatever knows no lists.
Scores masked(Scores nodes, size_t T, size_t L, const Allowed& allowed, Arena& arena);

}  // namespace tagwright
