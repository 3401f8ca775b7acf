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

// --- sentences side by side ---

// Edges between L labels, as a matrix and as its rows of non-zero entries.
struct Rows {
  size_t L, stride;
  std::vector<double> matrix;  // [i * stride + j]
  std::vector<size_t> begin = {0};
  std::vector<int32_t> index;
  std::vector<double> factor;

  Rows(Draw& draw, Kind kind, size_t L) : L(L), stride(L + L % 3), matrix(draw_factors(draw, kind, L * stride)) {
    for (size_t i = 0; i < L; ++i) {
      const bool empty = draw.chance(0.2);
      for (size_t j = 0; j < L; ++j) {
        double& own = matrix[i * stride + j];
        if (empty || draw.chance(0.3)) own = 0;
        if (own == 0) continue;
        index.push_back(static_cast<int32_t>(j));
        factor.push_back(own);
      }
      begin.push_back(index.size());
    }
  }
};

const std::vector<size_t> kLaneSizes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 33, 64, 65, 70, 130};

TEST(lanes_spread) {
  const auto check = [](Draw& draw, size_t L, Kind kind) {
    const Rows rows(draw, kind, L);
    const auto from = draw_factors(draw, kind, L * kLanes), before = draw_factors(draw, kind, L * kLanes);
    std::vector<double> expected = before;
    for (size_t i = 0; i < L; ++i)
      for (size_t j = 0; j < L; ++j)
        for (size_t lane = 0; lane < kLanes; ++lane)
          expected[j * kLanes + lane] += from[i * kLanes + lane] * rows.matrix[i * rows.stride + j];
    const auto sparse = at_every_level(before, [&](const Kernels& level, double* to) {
      level.spread_sparse_lanes(L, rows.begin.data(), rows.index.data(), rows.factor.data(), from.data(), to);
    });
    const auto dense = at_every_level(before, [&](const Kernels& level, double* to) {
      level.spread_dense_lanes(L, rows.stride, rows.matrix.data(), from.data(), to);
    });
    check_sums(sparse, expected, kind);
    check_sums(dense, expected, kind);
  };
  for_every_size(24, check, kLaneSizes);
}

TEST(lanes_count) {
  const auto check = [](Draw& draw, size_t L, Kind kind) {
    const Rows rows(draw, kind, L);
    const double grain = std::ldexp(1.0, -draw.whole(0, 35));
    const auto a = draw_factors(draw, kind, L * kLanes), b = draw_factors(draw, kind, L * kLanes);
    std::vector<double> before(L * rows.stride), expected_dense, expected_sparse, sparse_before;
    for (double& count : before) count = rounded(draw.normal(), grain);
    expected_dense = before;
    for (size_t i = 0; i < L; ++i)
      for (size_t j = 0; j < L; ++j) {
        double sum = 0;
        for (size_t lane = 0; lane < kLanes; ++lane) sum += a[i * kLanes + lane] * b[j * kLanes + lane];
        const size_t at = i * rows.stride + j;
        expected_dense[at] += rounded(rows.matrix[at] * sum, grain);
        if (rows.matrix[at] == 0) continue;
        sparse_before.push_back(before[at]);
        expected_sparse.push_back(expected_dense[at]);
      }
    const auto sparse = at_every_level(sparse_before, [&](const Kernels& level, double* count) {
      level.count_sparse_lanes(L, rows.begin.data(), rows.index.data(), rows.factor.data(), a.data(), b.data(), grain,
                               count);
    });
    const auto dense = at_every_level(before, [&](const Kernels& level, double* count) {
      level.count_dense_lanes(L, rows.stride, rows.matrix.data(), a.data(), b.data(), grain, count);
    });
    // The last bit of a sum may decide to which of two grains it is rounded.
    check_sums(sparse, expected_sparse, kind, grain);
    check_sums(dense, expected_dense, kind, grain);
    for (const auto& counts : {sparse, dense})
      for (const double count : counts) CHECK(count == rounded(count, grain));
  };
  for_every_size(25, check, kLaneSizes);
}

TEST(lanes_multiply_and_scale) {
  const auto check = [](Draw& draw, size_t L, Kind kind) {
    const auto by = draw_factors(draw, kind, L * kLanes), before = draw_factors(draw, kind, L * kLanes);
    const auto scale = draw_factors(draw, kind, kLanes);
    const auto multiplied = at_every_level([&](const Kernels& level) {
      std::vector<double> to = before, total(kLanes, 99);
      level.multiply_lanes(by.data(), L, to.data(), total.data());
      to.insert(to.end(), total.begin(), total.end());
      return to;
    });
    const auto scaled = at_every_level(
        before, [&](const Kernels& level, double* values) { level.scale_lanes(scale.data(), L, values); });
    std::vector<double> total(kLanes);
    for (size_t q = 0; q < L * kLanes; ++q) {
      CHECK(multiplied[q] == before[q] * by[q]);
      CHECK(scaled[q] == before[q] * scale[q % kLanes]);
      total[q % kLanes] += before[q] * by[q];
    }
    CHECK(std::equal(total.begin(), total.end(), multiplied.end() - kLanes));
  };
  for_every_size(26, check, kLaneSizes);
}

}  // namespace
}  // namespace tagwright
