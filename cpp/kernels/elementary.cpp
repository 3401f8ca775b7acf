// Tables of exp and log, computed by the compiler in pairs of doubles.
#include "kernels/elementary.h"

namespace tagwright::elementary {
namespace {

// An unevaluated sum with |low| at most half a unit of high's last place.
struct Pair {
  double high, low;
};

constexpr Pair sum(double a, double b) {
  const double s = a + b, of_b = s - a;
  return {s, (a - (s - of_b)) + (b - of_b)};
}

// Dekker's product: each factor is split into halves of 26 bits.
constexpr Pair product(double a, double b) {
  const auto upper = [](double x) {
    const double shifted = 134217729.0 * x;
    return shifted - (shifted - x);
  };
  const double p = a * b, ah = upper(a), bh = upper(b), al = a - ah, bl = b - bh;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

constexpr Pair operator+(Pair a, Pair b) {
  const Pair s = sum(a.high, b.high);
  return sum(s.high, s.low + (a.low + b.low));
}

constexpr Pair operator*(Pair a, Pair b) {
  const Pair p = product(a.high, b.high);
  return sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

constexpr Pair operator/(Pair a, Pair b) {
  const double first = a.high / b.high;
  const Pair left = a + Pair{-first, 0} * b;
  return sum(first, left.high / b.high);
}

constexpr Pair kLn2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

constexpr Tables make_tables() {
  Tables made{};
  for (uint64_t i = 0; i < kExpSteps; ++i) {
    const Pair x = kLn2 * Pair{static_cast<double>(i) / kExpSteps, 0};
    Pair value{1, 0}, term{1, 0};
    for (int n = 1; n < 30; ++n) {
      term = term * x / Pair{static_cast<double>(n), 0};
      value = value + term;
    }
    made.exp[i] = {value.high, value.low};
  }
  for (uint64_t i = 0; i < kLogSteps; ++i) {
    const double c = log_center(i);
    const Pair s = Pair{c - 1, 0} / Pair{c + 1, 0}, q = s * s;
    Pair value{0, 0}, power = s;
    for (int n = 1; n < 60; n += 2, power = power * q) value = value + power / Pair{static_cast<double>(n), 0};
    const double doubled = 2 * value.high, high = (doubled + kLogUnit) - kLogUnit;
    made.log[i] = {1 / c, high, (doubled - high) + 2 * value.low};
  }
  return made;
}

}  // namespace

constinit const Tables kTables = make_tables();

}  // namespace tagwright::elementary
