// How rows of weights are added to the scores of a token.
//
// A sparse row costs about as many cycles an entry as a vector loop needs for a few keys. So a row that names
// enough of the keys is also held whole. There are few such rows, but nearly every token has some of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernels.h"

namespace tagwright {

// Where there are few keys, nearly every row would be large, and holding them twice would cost more than it brings.
inline bool is_large(size_t entries, size_t keys) { return keys >= 64 && 3 * entries >= keys; }

// out[key] += weight * value for the entries of a sparse row.
template <class Score>
void add_sparse(std::span<const uint16_t> keys, std::span<const float> weights, Score value, Score* out) {
  for (size_t q = 0; q < keys.size(); ++q) out[keys[q]] += weights[q] * value;
}

// The same for all keys, of a row held whole.
inline void add_whole(const float* row, float value, size_t keys, float* out) {
  kernels().add_scaled_f(row, value, keys, out);
}
inline void add_whole(const float* row, double value, size_t keys, double* out) {
  kernels().add_scaled_d(row, value, keys, out);
}

}  // namespace tagwright
