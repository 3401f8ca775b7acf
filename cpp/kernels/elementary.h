// exp, log, log1p and expm1 in double precision, to about one unit of the last place. The C library's choose their code
// by the CPU, and with it the last digit; these are sums and products in one order, the same everywhere.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace tagwright {

namespace elementary {

// log(2) in two parts; products of the first with whole numbers up to 2^11 are exact.
inline constexpr double kLn2High = 0x1.62e42fefap-1, kLn2Low = 0x1.cf79abc9e3b3ap-40;

// 2^n for -1022 <= n <= 1023.
inline double power_of_2(int64_t n) { return std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52); }

}  // namespace elementary

// exp(x) = 2^n exp(r) with |r| <= log(2) / 2, the latter by its Taylor series, even and odd terms apart.
inline double portable_exp(double x) {
  using namespace elementary;
  if (!(x < 709.8)) return x != x ? x : std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0;
  constexpr double kRound = 0x1.8p52;  // added and subtracted, it rounds to a whole number
  const double n = (x * 0x1.71547652b82fep+0 + kRound) - kRound;
  const double high = x - n * kLn2High, low = n * kLn2Low, r = high - low, lost = (high - r) - low, q = r * r;
  const double even =
      0.5 + q * (1.0 / 24 + q * (1.0 / 720 + q * (1.0 / 40320 + q * (1.0 / 3628800 + q * (1.0 / 479001600)))));
  const double odd =
      1.0 / 6 + q * (1.0 / 120 + q * (1.0 / 5040 + q * (1.0 / 362880 + q * (1.0 / 39916800 + q * (1.0 / 6227020800)))));
  const double value = 1 + (r + (q * (even + r * odd) + lost));
  const auto whole = static_cast<int64_t>(n);
  return value * power_of_2(whole / 2) * power_of_2(whole - whole / 2);
}

// x = 2^n (1 + f) with 1 + f near 1, and log(1 + f) = 2 atanh(s) with s = f / (2 + f), by its Taylor series.
inline double portable_log(double x) {
  using namespace elementary;
  constexpr uint64_t kFraction = 0xfffffffffffff, kRoot = 0x6a09e667f3bcc;  // of sqrt(2)
  if (!(x > 0)) return x == 0 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (x == std::numeric_limits<double>::infinity()) return x;
  const bool denormal = x < 0x1p-1022;
  const auto bits = std::bit_cast<uint64_t>(denormal ? x * 0x1p54 : x);
  const uint64_t upper = (bits & kFraction) > kRoot;
  const double n = static_cast<double>(static_cast<int64_t>((bits >> 52) + upper) - (denormal ? 1077 : 1023));
  const double f = std::bit_cast<double>((bits & kFraction) | (0x3ff - upper) << 52) - 1;
  const double s = f / (2 + f), q = s * s, r = q * q, half = 0.5 * f * f;
  const double even = 2.0 / 3 + r * (2.0 / 7 + r * (2.0 / 11 + r * (2.0 / 15 + r * (2.0 / 19 + r * (2.0 / 23)))));
  const double odd = 2.0 / 5 + r * (2.0 / 9 + r * (2.0 / 13 + r * (2.0 / 17 + r * (2.0 / 21))));
  return n * kLn2High - ((half - (s * (half + q * (even + q * odd)) + n * kLn2Low)) - f);
}

inline double portable_log1p(double x) {
  const double u = 1 + x;
  if (u == 0 || !(u < std::numeric_limits<double>::infinity())) return portable_log(u);
  return u == 1 ? x : portable_log(u) + (x - (u - 1)) / u;
}

inline double portable_expm1(double x) {
  const double u = portable_exp(x);
  if (u == 1) return x;
  if (u == 0 || u == std::numeric_limits<double>::infinity()) return u - 1;
  return u - 1 == -1 ? -1 : (u - 1) * (x / portable_log(u));
}

}  // namespace tagwright
