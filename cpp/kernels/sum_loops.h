// The loops of sums/, one source for every kernel level, as loops.h has those of decoding.
//
// A sum is taken in parts whose number does not depend on the registers, so that all levels give bit-equal results.
#pragma once

#include "loops.h"

namespace tagwright {
namespace {

// How exp() is computed in a precision: log(2) in two parts, the first number that is not 0, and the terms of the
// series, which is as long as the precision needs.
template <class E>
struct ExpParts;
template <>
struct ExpParts<double> {
  static constexpr double kLog2e = 1.4426950408889634, kHigh = 0x1.62e42fee00000p-1, kLow = 0x1.a39ef35793c76p-33;
  static constexpr double kAnchor = 0x1.8p52, kLeast = -700;
  static constexpr int kMantissa = 52;
  static constexpr double kOver[] = {1.0 / 6227020800.0,
                                     1.0 / 479001600.0,
                                     1.0 / 39916800.0,
                                     1.0 / 3628800.0,
                                     1.0 / 362880.0,
                                     1.0 / 40320.0,
                                     1.0 / 5040.0,
                                     1.0 / 720.0,
                                     1.0 / 120.0,
                                     1.0 / 24.0,
                                     1.0 / 6.0,
                                     0.5,
                                     1.0,
                                     1.0};
};
template <>
struct ExpParts<float> {
  static constexpr float kLog2e = 1.44269504F, kHigh = 0x1.62e4p-1F, kLow = 0x1.7f7d1cp-20F;
  static constexpr float kAnchor = 0x1.8p23F, kLeast = -80;
  static constexpr int kMantissa = 23;
  static constexpr float kOver[] = {1.0F / 5040, 1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F};
};

// exp(x) = 2^n exp(r) with |r| <= log(2) / 2, the latter by its Taylor series; 0 below e^kLeast. Nothing but sums,
// products and shifts of bits, so that all levels agree.
template <class E>
typename Lanes<E>::Vector exp_lanes(typename Lanes<E>::Vector x) {
  using V = Lanes<E>;
  using Parts = ExpParts<E>;
  const auto alive = x >= Parts::kLeast;
  x = select(alive, x, V::all(Parts::kLeast));
  const typename V::Vector shifted = x * Parts::kLog2e + Parts::kAnchor;
  const typename V::Vector n = shifted - Parts::kAnchor;
  const typename V::Vector r = (x - n * Parts::kHigh) - n * Parts::kLow;
  typename V::Vector p = V::all(Parts::kOver[0]);
  for (size_t k = 1; k < std::size(Parts::kOver); ++k) p = p * r + Parts::kOver[k];
  VectorOf<MaskOf<E>> whole, bits;
  std::memcpy(&whole, &shifted, sizeof whole);  // n stands in the lowest bits.
  std::memcpy(&bits, &p, sizeof bits);
  bits += whole << Parts::kMantissa;
  std::memcpy(&p, &bits, sizeof p);
  return select(alive, p, V::all(0));
}

template <class E>
void exp_less(const E* scores, double shift, size_t n, double* out) {
  using V = Lanes<double>;
  size_t j = 0;
  for (; j + 4 <= n; j += 4) {
    const V::Vector x = V::of(static_cast<double>(scores[j]), static_cast<double>(scores[j + 1]),
                              static_cast<double>(scores[j + 2]), static_cast<double>(scores[j + 3]));
    V::store(out + j, exp_lanes<double>(x - shift));
  }
  if (j == n) return;
  double x[4] = {0, 0, 0, 0};
  for (size_t q = j; q < n; ++q) x[q - j] = static_cast<double>(scores[q]) - shift;
  const V::Vector last = exp_lanes<double>(V::load(x));
  for (size_t q = j; q < n; ++q) out[q] = last[q - j];
}

// 2^x by reading whole and fraction of x as exponent and mantissa of a float: 1 + f is never less than 2^f, and by no
// more than 6.2 %.
double exp_below(const float* __restrict a, const float* __restrict b, size_t n, float least, float shift) {
  using V = Lanes<float>;
  constexpr float kStep = 0x1p23F * 1.44269504F, kOne = 0x1p23F * 127, kLeast = -80;
  V::Vector sum = V::all(0);
  for (size_t j = 0; j < n; j += V::kCount) {
    const V::Vector key = V::load(a + j) + V::load(b + j), less = key - shift;
    const auto bits = to_ints(select(less > kLeast, less, V::all(kLeast)) * kStep + kOne);
    V::Vector value;
    std::memcpy(&value, &bits, sizeof value);
    sum += select(key < least, value, V::all(0));
  }
  double all = 0;
  for (size_t r = 0; r < V::kCount; ++r) all += static_cast<double>(sum[r]);
  return all * 1.001;
}

double total(Lanes<double>::Vector parts) { return (parts[0] + parts[1]) + (parts[2] + parts[3]); }

double multiply(const double* a, const double* b, size_t n, double* out) {
  using V = Lanes<double>;
  V::Vector sum = V::all(0);
  size_t j = 0;
  for (; j + 4 <= n; j += 4) {
    const V::Vector v = V::load(a + j) * V::load(b + j);
    V::store(out + j, v);
    sum += v;
  }
  double rest = 0;
  for (; j < n; ++j) rest += out[j] = a[j] * b[j];
  return total(sum) + rest;
}

double sum(const double* __restrict values, size_t n) {
  using V = Lanes<double>;
  V::Vector parts = V::all(0);
  size_t j = 0;
  for (; j + 4 <= n; j += 4) parts += V::load(values + j);
  double rest = 0;
  for (; j < n; ++j) rest += values[j];
  return total(parts) + rest;
}

void spread_rows(const double* __restrict matrix, size_t stride, const int32_t* __restrict row,
                 const double* __restrict value, size_t n, double* __restrict out) {
  const auto at = [&](size_t r) { return matrix + static_cast<size_t>(row[r]) * stride; };
  size_t r = 0;
  for (; r + 4 <= n; r += 4) {
    const double *a = at(r), *b = at(r + 1), *c = at(r + 2), *d = at(r + 3);
    const double va = value[r], vb = value[r + 1], vc = value[r + 2], vd = value[r + 3];
    for (size_t j = 0; j < stride; ++j) out[j] += (va * a[j] + vb * b[j]) + (vc * c[j] + vd * d[j]);
  }
  for (; r < n; ++r) {
    const double* a = at(r);
    const double va = value[r];
    for (size_t j = 0; j < stride; ++j) out[j] += va * a[j];
  }
}

void count_one_row(double value, const double* __restrict factor, const double* __restrict b, size_t n, double grain,
                   double* __restrict count) {
  const double anchor = grain * 0x1.8p52;
  for (size_t j = 0; j < n; ++j) count[j] += (value * factor[j] * b[j] + anchor) - anchor;
}

}  // namespace
}  // namespace tagwright
