// The loops over factors and probabilities against plain ones: equal where whole numbers make every sum exact, else
// within rounding.
#include <algorithm>
#include <cmath>

#include "levels.h"

namespace tagwright {
namespace {

using namespace test;

constexpr double kRounding = 1e-13;  // of a sum

// found[q] against expected[q].
void check_sums(const std::vector<double>& found, const std::vector<double>& expected, Kind kind, double more = 0) {
  CHECK(found.size() == expected.size());
  for (size_t q = 0; q < expected.size(); ++q)
    CHECK(std::abs(found[q] - expected[q]) <= (kind == Kind::kWhole ? 0 : kRounding * expected[q] + more));
}

double rounded(double x, double grain) { return std::nearbyint(x / grain) * grain; }

template <class E>
void check_exp(void (*Kernels::*exp)(const E*, double, size_t, double*), Draw& draw, size_t n) {
  std::vector<E> scores(n);
  for (E& score : scores)
    score = static_cast<E>(draw.chance(0.1) ? -kInfinity : draw.normal(draw.chance(0.5) ? 1 : 300));
  const double shift =
      draw.chance(0.2) || n == 0 ? 1000.0 : double{*std::ranges::max_element(scores)} + draw.whole(-3, 3);
  if (shift == -kInfinity) return;
  const auto found = at_every_level([&](const Kernels& level) {
    std::vector<double> out(n, 99);
    (level.*exp)(scores.data(), shift, n, out.data());
    return out;
  });
  constexpr double kFewUnits = 4 * std::numeric_limits<double>::epsilon();
  for (size_t j = 0; j < n; ++j) {
    const double x = double{scores[j]} - shift, right = x < -700 ? 0.0 : std::exp(x);
    CHECK(std::abs(found[j] - right) <= kFewUnits * right);
  }
}

TEST(exp_below) {
  Draw draw(23);
  for (size_t round = 0; round < 200; ++round) {
    const size_t n = kTreeLanes * static_cast<size_t>(draw.whole(1, 20));
    std::vector<float> a(n), b(n);
    for (float& x : a)
      x = draw.chance(0.1) ? -std::numeric_limits<float>::infinity() : static_cast<float>(draw.normal(9));
    for (float& x : b) x = static_cast<float>(draw.whole(0, 4));
    float shift = -1000;
    for (size_t j = 0; j < n; ++j) shift = std::max(shift, a[j] + b[j]);
    const float least = shift - static_cast<float>(draw.whole(0, 12));
    const auto found = at_every_level([&](const Kernels& level) {
      return std::vector<double>{level.exp_below(a.data(), b.data(), n, least, shift)};
    });
    double right = 0;
    for (size_t j = 0; j < n; ++j)
      if (a[j] + b[j] < least) right += std::exp(double{a[j] + b[j]} - shift);
    // Never too low.
    CHECK(found[0] >= right);
    CHECK(found[0] <= 1.07 * right + 1e-30);
  }
}

TEST(exp_within_a_few_units_of_the_last_place) {
  for_every_size(20, [](Draw& draw, size_t n, Kind) {
    check_exp(&Kernels::exp_f, draw, n);
    check_exp(&Kernels::exp_d, draw, n);
  });
}

TEST(exp_at_the_ends_of_its_range) {
  std::vector<double> scores = {
      -700,  std::nextafter(-700, -kInfinity), std::nextafter(-700, 0), -701, -1e300, -kInfinity, 700, 0, -0.0, 1e-300,
      -1e-17};
  const auto found = at_every_level([&](const Kernels& level) {
    std::vector<double> out(scores.size());
    level.exp_d(scores.data(), 0, scores.size(), out.data());
    return out;
  });
  for (size_t j = 0; j < scores.size(); ++j) {
    const double right = scores[j] < -700 ? 0.0 : std::exp(scores[j]);
    CHECK(std::abs(found[j] - right) <= 1e-15 * right);
  }
}

TEST(multiply_and_sum) {
  for_every_size(21, [](Draw& draw, size_t n, Kind kind) {
    const auto a = draw_factors(draw, kind, n), b = draw_factors(draw, kind, n);
    const auto found = at_every_level([&](const Kernels& level) {
      std::vector<double> out(n, 99);
      const double total = level.multiply_d(a.data(), b.data(), n, out.data());
      out.push_back(total);
      out.push_back(level.sum_d(a.data(), n));
      return out;
    });
    double products = 0, plain = 0;
    for (size_t j = 0; j < n; ++j) {
      CHECK(found[j] == a[j] * b[j]);
      products += a[j] * b[j];
      plain += a[j];
    }
    check_sums({found[n], found[n + 1]}, {products, plain}, kind);
  });
}

TEST(spread_rows) {
  for_every_size(22, [](Draw& draw, size_t stride, Kind kind) {
    const size_t rows = 12;
    const auto matrix = draw_factors(draw, kind, rows * stride), before = draw_factors(draw, kind, stride);
    for (const size_t n : {0, 1, 3, 4, 5, 11}) {
      const auto row = draw_labels(draw, rows, n);
      const auto value = draw_factors(draw, kind, n);
      const auto found = at_every_level(before, [&](const Kernels& level, double* out) {
        level.spread_rows(matrix.data(), stride, row.data(), value.data(), n, out);
      });
      std::vector<double> expected = before;
      for (size_t r = 0; r < n; ++r)
        for (size_t j = 0; j < stride; ++j) expected[j] += value[r] * matrix[static_cast<size_t>(row[r]) * stride + j];
      check_sums(found, expected, kind);
    }
  });
}

TEST(count_row) {
  for_every_size(23, [](Draw& draw, size_t n, Kind kind) {
    const auto factor = draw_factors(draw, kind, n), b = draw_factors(draw, kind, n);
    const double value = std::abs(draw.normal()), grain = std::ldexp(1.0, -draw.whole(3, 40));
    std::vector<double> before(n);
    for (double& count : before) count = rounded(draw.normal(), grain);
    const auto found = at_every_level(before, [&](const Kernels& level, double* count) {
      level.count_row(value, factor.data(), b.data(), n, grain, count);
    });
    for (size_t j = 0; j < n; ++j) CHECK(found[j] == before[j] + rounded(value * factor[j] * b[j], grain));
  });
}

}  // namespace
}  // namespace tagwright
