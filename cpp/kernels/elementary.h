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

// exp(x) is read off a table of 2^(i / 64), log(x) off one of the logarithms of centres of intervals, each with what
// its value lacks.
inline constexpr uint64_t kExpSteps = 64, kLogSteps = 128;
inline constexpr uint64_t kLogLeast = 0x3fe6000000000000;  // the bits of 11/16
inline constexpr double kLogUnit = 0x1.8p10;               // added and subtracted, it rounds to multiples of 2^-42
struct Tables {
  struct {
    double high, low;
  } exp[kExpSteps];
  struct {
    double inverse, high, low;  // high: a multiple of 2^-42, so that sums with multiples of kLn2High are exact
  } log[kLogSteps];
};
extern const Tables kTables;

constexpr double log_center(uint64_t i) { return std::bit_cast<double>(kLogLeast + (i << 45) + (uint64_t{1} << 44)); }

// 2^n for -1022 <= n <= 1023.
inline double power_of_2(int64_t n) { return std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52); }

}  // namespace elementary

// exp(x) = 2^n 2^(i / 64) exp(r) with |r| <= log(2) / 128, the latter by its Taylor series.
inline double portable_exp(double x) {
  using namespace elementary;
  if (!(x < 709.8)) return x != x ? x : std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0;
  constexpr double kRound = 0x1.8p52;  // added and subtracted, it rounds to a whole number
  const double k = (x * (0x1.71547652b82fep+0 * kExpSteps) + kRound) - kRound;
  const double r = (x - k * (kLn2High / kExpSteps)) - k * (kLn2Low / kExpSteps), q = r * r;
  const double p = r + (q * (0.5 + r * (1.0 / 6)) + (q * q) * (1.0 / 24 + r * (1.0 / 120)));
  const auto whole = static_cast<int64_t>(k);
  const auto& step = kTables.exp[static_cast<uint64_t>(whole) % kExpSteps];
  const double value = step.high + (step.low + step.high * p);
  const int64_t n = whole >> 6;
  if (n >= -1020 && n <= 1023) return value * power_of_2(n);
  return value * power_of_2(n / 2) * power_of_2(n - n / 2);
}

// Near 1, log(x) = 2 atanh(s) with s = f / (2 + f) and f = x - 1, by its Taylor series. Else x = 2^n z with z from
// 11/16 to 11/8, and log(z) = log(c) + log(1 + r) with the centre c of an interval of the table.
inline double portable_log(double x) {
  using namespace elementary;
  constexpr uint64_t kLeastNormal = uint64_t{1} << 52, kInfinity = uint64_t{0x7ff} << 52;
  if (x > 1 - 0.0625 && x < 1 + 0.0625) {
    const double f = x - 1, s = f / (2 + f), q = s * s, r = q * q, half = 0.5 * f * f;
    const double even = 2.0 / 3 + r * (2.0 / 7 + r * (2.0 / 11)), odd = 2.0 / 5 + r * (2.0 / 9 + r * (2.0 / 13));
    return f - (half - s * (half + q * (even + q * odd)));
  }
  auto bits = std::bit_cast<uint64_t>(x);
  if (bits - kLeastNormal >= kInfinity - kLeastNormal) {
    if (!(x > 0)) return x == 0 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    if (bits >= kInfinity) return x;
    bits = std::bit_cast<uint64_t>(x * 0x1p52) - (uint64_t{52} << 52);  // denormal
  }
  const uint64_t above = bits - kLogLeast;
  const auto i = (above >> 45) % kLogSteps;
  const auto n = static_cast<double>(static_cast<int64_t>(above) >> 52);
  const auto z = std::bit_cast<double>(bits - (above & uint64_t{0xfff} << 52));
  const auto& step = kTables.log[i];
  const double r = (z - log_center(i)) * step.inverse, q = r * r;
  const double tail = (-0.5 + r * (1.0 / 3)) + q * ((-0.25 + r * 0.2) + q * (-1.0 / 6));
  return (n * kLn2High + step.high) + (r + (q * tail + (step.low + n * kLn2Low)));
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
