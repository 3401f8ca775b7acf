// Rows of weights, and how they are added to the scores of a token.
//
// A sparse row costs about as many cycles per entry as a vector loop needs for a few keys. So a row that names enough
// of the keys is also held whole. There are few such rows, but nearly every token has some of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "features/index.h"
#include "kernels/kernels.h"

namespace tagwright {

inline constexpr size_t kNoPlace = static_cast<size_t>(-1);

// Rows that do not grow, one behind the other, wherever they lie. Keys rise within a row.
template <class Weight>
struct PackedRows {
  std::span<const uint64_t> end;  // [row]
  std::span<const uint16_t> key;
  std::span<const Weight> weight;

  size_t rows() const { return end.size(); }
  size_t begin(size_t r) const { return r ? end[r - 1] : 0; }
  size_t size(size_t r) const { return end[r] - begin(r); }
  std::span<const uint16_t> keys(size_t r) const { return key.subspan(begin(r), size(r)); }
  std::span<const Weight> values(size_t r) const { return weight.subspan(begin(r), size(r)); }
  void prefetch(size_t r) const {
    __builtin_prefetch(key.data() + begin(r));
    __builtin_prefetch(weight.data() + begin(r));
  }
};

// Where there are few keys, nearly every row would be large, and holding them twice would cost more than it gains.
inline bool is_large(size_t entries, size_t keys) { return keys >= 64 && 3 * entries >= keys; }

// out[key] += row[key] * value for all keys, of a row held whole.
inline void add_whole(const float* row, float value, size_t keys, float* out) {
  kernels().add_scaled_f(row, value, keys, out);
}
inline void add_whole(const float* row, double value, size_t keys, double* out) {
  kernels().add_scaled_d(row, value, keys, out);
}
inline void add_whole(const double* row, double value, size_t keys, double* out) {
  kernels().add_scaled_dd(row, value, keys, out);
}

// out[key] = weight for the entries of a row.
template <class Rows, class Score>
void set_row(const Rows& rows, size_t r, Score* out) {
  const auto key = rows.keys(r);
  const auto weight = rows.values(r);
  for (size_t q = 0; q < key.size(); ++q) out[key[q]] = weight[q];
}

// Adds to out, [key], the rows of a token's features: weight times the feature's value. Rows are PackedRows or
// SparseRows. ids: kNoId for none; value(n): of the n-th of them; whole(f): row f held whole, or nullptr.
template <class Rows, class Value, class Whole, class Score>
void add_rows(const Rows& rows, std::span<const int32_t> ids, Value&& value, Whole&& whole, size_t keys, Score* out) {
  constexpr size_t kAhead = 4;
  for (size_t n = 0; n < ids.size(); ++n) {
    if (n + kAhead < ids.size() && ids[n + kAhead] != kNoId) rows.prefetch(static_cast<size_t>(ids[n + kAhead]));
    if (ids[n] == kNoId) continue;
    const auto f = static_cast<size_t>(ids[n]);
    const auto times = static_cast<Score>(value(n));
    if (const auto* row = whole(f)) {
      add_whole(row, times, keys, out);
    } else {
      const auto key = rows.keys(f);
      const auto weight = rows.values(f);
      if (times == 1) {
        for (size_t q = 0; q < key.size(); ++q) out[key[q]] += weight[q];
      } else {
        for (size_t q = 0; q < key.size(); ++q) out[key[q]] += weight[q] * times;
      }
    }
  }
}

}  // namespace tagwright
