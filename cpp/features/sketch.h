// Approximate counts of very many items in a fixed amount of memory.
//
// A count-min sketch (Cormode and Muthukrishnan 2005) of two rows with conservative updates: counts are never too low,
// and too high only where both rows have a collision. So what is rare by the sketch is rare.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tagwright {

class Sketch {
 public:
  static constexpr size_t kMost = 255;  // it counts no further

  // bits: of the number of counters per row.
  explicit Sketch(unsigned bits = 25) : shift_(64 - bits), rows_{std::vector<uint8_t>(size_t{1} << bits), {}} {
    rows_[1] = rows_[0];
  }

  void add(uint64_t hash) {
    uint8_t &a = rows_[0][place(hash, 0)], &b = rows_[1][place(hash, 1)];
    const uint8_t least = std::min(a, b);
    if (least == kMost) return;
    a = std::max<uint8_t>(a, least + 1);
    b = std::max<uint8_t>(b, least + 1);
  }
  // Whether the count may be at least `often`.
  bool may_be(uint64_t hash, size_t often) const {
    const size_t enough = std::min<size_t>(often, kMost);
    return rows_[0][place(hash, 0)] >= enough && rows_[1][place(hash, 1)] >= enough;
  }

 private:
  size_t place(uint64_t hash, size_t row) const {
    return (hash * (row ? 0x9e3779b97f4a7c15U : 0xd1342543de82ef95U)) >> shift_;
  }

  unsigned shift_;
  std::vector<uint8_t> rows_[2];
};

}  // namespace tagwright
