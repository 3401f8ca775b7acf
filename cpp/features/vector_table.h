// Word vectors: a list that gives each of its words real numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/arrays.h"
#include "features/index.h"

namespace tagwright {

class VectorTable {
 public:
  static constexpr size_t kMostDimensions = 10'000;
  static constexpr float kLargest = 1e30F;  // of a component, as of the value of any feature

  // words: an index; values: [word][component]. `owner` holds the numbers. Throws std::invalid_argument unless there
  // are as many vectors as words, of finite components.
  VectorTable(NameArrays<Borrowed> words, Borrowed<float> values, std::shared_ptr<const void> owner);

  size_t size() const { return words_.size(); }
  size_t dimensions() const { return dimensions_; }
  // The row of a word as it is, with its digits as 0, in lower case, or both, whichever comes first; kNoId for none.
  int32_t find(std::string_view word) const;
  std::span<const float> row(size_t at) const { return values_.subspan(at * dimensions_, dimensions_); }

 private:
  IndexView words_;
  Borrowed<float> values_;
  size_t dimensions_;
  std::shared_ptr<const void> owner_;
};

}  // namespace tagwright
