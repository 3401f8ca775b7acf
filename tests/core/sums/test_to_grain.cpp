#include <algorithm>
#include <cmath>

#include "check.h"
#include "sums/forward_backward.h"

namespace tagwright {
namespace {

TEST(to_grain_rounds_to_the_nearest_multiple) {
  test::Draw draw(1);
  for (int power = -60; power <= 10; power += 5) {
    const double grain = std::ldexp(1.0, power);
    for (int n = 0; n < 1000; ++n) {
      const double x = grain * draw.normal(std::ldexp(1.0, draw.whole(-3, 45)));
      CHECK(to_grain(x, grain) == std::nearbyint(x / grain) * grain);
    }
    for (int n = -20; n <= 20; ++n) {
      CHECK(to_grain(n * grain, grain) == n * grain);
      CHECK(to_grain((n + 0.5) * grain, grain) == std::nearbyint(n + 0.5) * grain);  // halves go to even
    }
  }
}

TEST(sums_of_grains_do_not_depend_on_their_order) {
  test::Draw draw(2);
  const double grain = 0x1p-40;
  std::vector<double> values(1000);
  for (double& value : values) value = to_grain(draw.normal(), grain);
  double total = 0;
  for (const double value : values) total += value;
  for (int n = 0; n < 20; ++n) {
    std::shuffle(values.begin(), values.end(), draw.bits);
    double other = 0;
    for (const double value : values) other += value;
    CHECK(other == total);
  }
}

}  // namespace
}  // namespace tagwright
