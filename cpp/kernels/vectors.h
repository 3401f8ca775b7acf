// Vectors of 32 bytes for the kernels of every level, Lanes<E>::Vector: one register of AVX2, else two of 16 bytes.
//
// The number of elements does not depend on the level, so neither do the results. GCC computes on vectors that are
// wider than a register element by element wherever it compares and selects, so Pair is made of registers. What is
// needed of vectors beyond +, -, *, comparisons and [r] is: select, any, to_ints, transpose, sums_of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tagwright {
namespace {

// The integer as wide as E, of which masks are made: all bits set is true.
template <class E>
using MaskOf = std::conditional_t<sizeof(E) == 4, int32_t, int64_t>;

#ifdef __AVX__

template <class E>
struct Native {
  typedef E Type __attribute__((vector_size(32)));
};
template <class E>
using VectorOf = typename Native<E>::Type;
inline constexpr size_t kRegisters = 1;  // per vector

template <class Mask, class V>
V select(Mask mask, V then, V otherwise) {
  return mask ? then : otherwise;
}

template <class Mask>
bool any(Mask mask) {
  typedef long long Words __attribute__((vector_size(32)));
  const Words words = reinterpret_cast<Words>(mask);
  return !__builtin_ia32_ptestz256(words, words);
}

inline VectorOf<int32_t> to_ints(VectorOf<float> v) { return __builtin_convertvector(v, VectorOf<int32_t>); }

// Eight rows of eight numbers become eight columns.
inline void transpose(VectorOf<float> (&v)[8]) {
  VectorOf<float> a[8], b[8];
#pragma GCC unroll 4
  for (size_t r = 0; r < 8; r += 2) {
    a[r] = __builtin_shufflevector(v[r], v[r + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    a[r + 1] = __builtin_shufflevector(v[r], v[r + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma GCC unroll 2
  for (size_t r = 0; r < 8; r += 4) {
    b[r] = __builtin_shufflevector(a[r], a[r + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    b[r + 1] = __builtin_shufflevector(a[r], a[r + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    b[r + 2] = __builtin_shufflevector(a[r + 1], a[r + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    b[r + 3] = __builtin_shufflevector(a[r + 1], a[r + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
#pragma GCC unroll 4
  for (size_t r = 0; r < 4; ++r) {
    v[r] = __builtin_shufflevector(b[r], b[r + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    v[r + 4] = __builtin_shufflevector(b[r], b[r + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

// The sums of the elements of each of some vectors: as many as a vector has. Neighbours are added, then neighbouring
// sums, so that the order is that of Pair.
inline VectorOf<double> sums_of(const VectorOf<double>* v) {
  const auto low = __builtin_shufflevector(v[0], v[1], 0, 4, 2, 6) + __builtin_shufflevector(v[0], v[1], 1, 5, 3, 7);
  const auto high = __builtin_shufflevector(v[2], v[3], 0, 4, 2, 6) + __builtin_shufflevector(v[2], v[3], 1, 5, 3, 7);
  return __builtin_shufflevector(low, high, 0, 1, 4, 5) + __builtin_shufflevector(low, high, 2, 3, 6, 7);
}
inline VectorOf<float> sums_of(const VectorOf<float>* v) {
  VectorOf<float> pair[4], four[2];
  for (size_t q = 0; q < 4; ++q)
    pair[q] = __builtin_shufflevector(v[2 * q], v[2 * q + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
              __builtin_shufflevector(v[2 * q], v[2 * q + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  for (size_t q = 0; q < 2; ++q)
    four[q] = __builtin_shufflevector(pair[2 * q], pair[2 * q + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
              __builtin_shufflevector(pair[2 * q], pair[2 * q + 1], 2, 3, 10, 11, 6, 7, 14, 15);
  return __builtin_shufflevector(four[0], four[1], 0, 1, 2, 3, 8, 9, 10, 11) +
         __builtin_shufflevector(four[0], four[1], 4, 5, 6, 7, 12, 13, 14, 15);
}

#else

template <class E>
struct Pair {
  typedef E Half __attribute__((vector_size(16)));
  typedef Pair<MaskOf<E> > Mask;
  static constexpr size_t kHalf = 16 / sizeof(E);
  Half low, high;

  Pair() = default;
  Pair(Half low, Half high) : low(low), high(high) {}
  Pair(E value) : low(fill(value)), high(low) {}  // implicit: vectors and numbers are combined

  E operator[](size_t r) const { return r < kHalf ? low[r] : high[r - kHalf]; }
  Pair& operator+=(Pair by) { return *this = *this + by; }
  Pair& operator|=(Pair by) { return *this = *this | by; }

  friend Pair operator-(Pair a) { return {-a.low, -a.high}; }
  friend Pair operator~(Pair a) { return {~a.low, ~a.high}; }
  friend Pair operator+(Pair a, Pair b) { return {a.low + b.low, a.high + b.high}; }
  friend Pair operator-(Pair a, Pair b) { return {a.low - b.low, a.high - b.high}; }
  friend Pair operator*(Pair a, Pair b) { return {a.low * b.low, a.high * b.high}; }
  friend Pair operator&(Pair a, Pair b) { return {a.low & b.low, a.high & b.high}; }
  friend Pair operator|(Pair a, Pair b) { return {a.low | b.low, a.high | b.high}; }
  friend Pair operator<<(Pair a, int bits) { return {a.low << bits, a.high << bits}; }
  friend Mask operator<(Pair a, Pair b) { return mask(a.low < b.low, a.high < b.high); }
  friend Mask operator>(Pair a, Pair b) { return mask(a.low > b.low, a.high > b.high); }
  friend Mask operator<=(Pair a, Pair b) { return mask(a.low <= b.low, a.high <= b.high); }
  friend Mask operator>=(Pair a, Pair b) { return mask(a.low >= b.low, a.high >= b.high); }
  friend Mask operator!=(Pair a, Pair b) { return mask(a.low != b.low, a.high != b.high); }

 private:
  static Half fill(E value) {
    if constexpr (kHalf == 4)
      return Half{value, value, value, value};
    else
      return Half{value, value};
  }
  template <class Truth>
  static Mask mask(Truth low, Truth high) {
    typedef typename Mask::Half Bits;
    return {reinterpret_cast<Bits>(low), reinterpret_cast<Bits>(high)};
  }
};
template <class E>
using VectorOf = Pair<E>;
inline constexpr size_t kRegisters = 2;

template <class E>
Pair<E> select(Pair<MaskOf<E> > mask, Pair<E> then, Pair<E> otherwise) {
  return {mask.low ? then.low : otherwise.low, mask.high ? then.high : otherwise.high};
}

template <class E>
bool any(Pair<E> mask) {
  const auto both = mask.low | mask.high;
#ifdef __SSE2__
  typedef char Bytes __attribute__((vector_size(16)));
  return __builtin_ia32_pmovmskb128(reinterpret_cast<Bytes>(both)) != 0;
#else
  uint64_t word[2];
  std::memcpy(word, &both, sizeof word);
  return (word[0] | word[1]) != 0;
#endif
}

inline Pair<int32_t> to_ints(Pair<float> v) {
  typedef Pair<int32_t>::Half Ints;
  return {__builtin_convertvector(v.low, Ints), __builtin_convertvector(v.high, Ints)};
}

// Four rows of four numbers become four columns.
inline void transpose(Pair<float>::Half& a, Pair<float>::Half& b, Pair<float>::Half& c, Pair<float>::Half& d) {
  const auto ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_too = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const auto cd = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_too = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
  b = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
  c = __builtin_shufflevector(ab_too, cd_too, 0, 1, 4, 5);
  d = __builtin_shufflevector(ab_too, cd_too, 2, 3, 6, 7);
}
inline void transpose(Pair<float> (&v)[8]) {
  transpose(v[0].low, v[1].low, v[2].low, v[3].low);
  transpose(v[4].high, v[5].high, v[6].high, v[7].high);
  transpose(v[0].high, v[1].high, v[2].high, v[3].high);
  transpose(v[4].low, v[5].low, v[6].low, v[7].low);
#pragma GCC unroll 4
  for (size_t r = 0; r < 4; ++r) {
    const auto right = v[r].high;
    v[r].high = v[r + 4].low;
    v[r + 4].low = right;
  }
}

// The sums of the elements of each of some vectors: as many as a vector has.
inline Pair<double> sums_of(const Pair<double>* v) {
  const auto two = [](Pair<double>::Half a, Pair<double>::Half b) {
    return __builtin_shufflevector(a, b, 0, 2) + __builtin_shufflevector(a, b, 1, 3);
  };
  return {two(v[0].low, v[1].low) + two(v[0].high, v[1].high), two(v[2].low, v[3].low) + two(v[2].high, v[3].high)};
}
inline Pair<float> sums_of(const Pair<float>* v) {
  typedef Pair<float>::Half Half;
  const auto four = [](Half a, Half b, Half c, Half d) {
    const Half ab = __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
    const Half cd = __builtin_shufflevector(c, d, 0, 4, 2, 6) + __builtin_shufflevector(c, d, 1, 5, 3, 7);
    return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
  };
  return {four(v[0].low, v[1].low, v[2].low, v[3].low) + four(v[0].high, v[1].high, v[2].high, v[3].high),
          four(v[4].low, v[5].low, v[6].low, v[7].low) + four(v[4].high, v[5].high, v[6].high, v[7].high)};
}

#endif

template <class E>
struct Lanes {
  static constexpr size_t kCount = 32 / sizeof(E);
  typedef VectorOf<E> Vector;

  static Vector load(const E* from) {
    Vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
  static void store(E* to, Vector v) { std::memcpy(to, &v, sizeof v); }
  static Vector all(E value) { return Vector{} + value; }
  // Of doubles.
  static Vector of(E a, E b, E c, E d) {
#ifdef __AVX__
    return Vector{a, b, c, d};
#else
    typedef typename Vector::Half Half;
    return {Half{a, b}, Half{c, d}};
#endif
  }
};

}  // namespace
}  // namespace tagwright
