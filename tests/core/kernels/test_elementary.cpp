// exp, log, log1p and expm1 against the C library's in extended precision.
#include <cmath>

#include "check.h"
#include "kernels/elementary.h"

using namespace tagwright;
using namespace tagwright::test;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// The distance of two numbers in units of the last place of the second.
double units_apart(double found, long double truth) {
  const double near = std::fabs(static_cast<double>(truth));
  if (std::isinf(near)) return found == static_cast<double>(truth) ? 0 : kInf;
  return static_cast<double>(std::fabs(static_cast<long double>(found) - truth) / (std::nextafter(near, kInf) - near));
}

template <class Function, class Truth>
void compare(double low, double high, double most, Function&& function, Truth&& truth) {
  Draw draw(1);
  std::uniform_real_distribution<> between(low, high);
  doing("from " + std::to_string(low) + " to " + std::to_string(high));
  for (int n = 0; n < 100000; ++n) {
    const double x = between(draw.bits);
    CHECK(units_apart(function(x), truth(static_cast<long double>(x))) <= most);
  }
}

TEST(exp_is_that_of_extended_precision) {
  const auto truth = [](long double x) { return std::exp(x); };
  for (const double width : {1e-9, 1e-3, 1.0, 40.0, 708.0}) compare(-width, width, 1, portable_exp, truth);
  compare(-745.1, -708, 1, portable_exp, truth);  // denormal
  compare(709, 709.78, 1, portable_exp, truth);
  CHECK(portable_exp(0) == 1 && portable_exp(-0.0) == 1);
  CHECK(portable_exp(-kInf) == 0 && portable_exp(kInf) == kInf && portable_exp(710) == kInf);
  CHECK(portable_exp(-746) == 0 && portable_exp(-1e300) == 0 && std::isnan(portable_exp(NAN)));
}

TEST(log_is_that_of_extended_precision) {
  const auto truth = [](long double x) { return std::log(x); };
  compare(0.5, 2, 1, portable_log, truth);
  compare(1 - 1e-6, 1 + 1e-6, 1, portable_log, truth);
  compare(0, 1e-300, 1, portable_log, truth);
  compare(0, 2e-308, 1, portable_log, truth);  // denormal
  compare(1, 1e308, 1, portable_log, truth);
  for (int n = -1074; n < 1024; ++n)
    CHECK(units_apart(portable_log(std::ldexp(1.0, n)), std::log(std::ldexp(1.0L, n))) <= 1);
  CHECK(portable_log(1) == 0 && portable_log(0) == -kInf && portable_log(kInf) == kInf);
  CHECK(std::isnan(portable_log(-1)) && std::isnan(portable_log(NAN)));
}

TEST(log1p_and_expm1_are_those_of_extended_precision) {
  for (const double width : {1e-300, 1e-9, 1e-3, 0.9}) {
    compare(-width, width, 2, portable_log1p, [](long double x) { return std::log1p(x); });
    compare(-width, width, 3, portable_expm1, [](long double x) { return std::expm1(x); });
  }
  compare(0, 1e300, 1, portable_log1p, [](long double x) { return std::log1p(x); });
  compare(-50, 700, 3, portable_expm1, [](long double x) { return std::expm1(x); });
  CHECK(portable_log1p(0) == 0 && portable_log1p(-1) == -kInf && portable_log1p(kInf) == kInf);
  CHECK(portable_expm1(0) == 0 && portable_expm1(-kInf) == -1 && portable_expm1(kInf) == kInf);
}

}  // namespace
