// n log n of whole numbers, most of them from a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/elementary.h"

namespace tagwright {

class NLogN {
 public:
  static constexpr size_t kTable = size_t{1} << 16;

  NLogN() : table_(table().data()) {}
  double operator()(uint64_t n) const {
    return n < kTable ? table_[n] : static_cast<double>(n) * portable_log(static_cast<double>(n));
  }
  // For n < kTable.
  double small(uint64_t n) const { return table_[n]; }

 private:
  static const std::vector<double>& table() {
    static const std::vector<double> made = [] {
      std::vector<double> values(kTable, 0.0);
      for (size_t n = 1; n < kTable; ++n) values[n] = static_cast<double>(n) * portable_log(static_cast<double>(n));
      return values;
    }();
    return made;
  }

  const double* table_;
};

}  // namespace tagwright
