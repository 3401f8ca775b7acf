// The loops over scores against plain ones. A maximum has no order and each sum here has two or three terms, so they
// must be equal to the last bit.
#include <algorithm>
#include <cmath>

#include "levels.h"

namespace tagwright {
namespace {

using namespace test;

template <class E>
std::vector<double> widened(const std::vector<E>& values) {
  return {values.begin(), values.end()};
}

// --- steps over a matrix ---

template <class A, class E>
void check_dense_step(void (*Kernels::*step)(const E*, size_t, size_t, StepOf<A>*, size_t), Draw& draw, size_t L,
                      size_t stride, size_t count, Kind kind) {
  const auto edges = draw_scores<E>(draw, kind, L * stride);
  const auto previous = draw_scores<A>(draw, kind, count * L);
  const auto found = at_every_level([&](const Kernels& level) {
    std::vector<A> best(count * stride, A{99});
    std::vector<StepOf<A>> steps;
    for (size_t s = 0; s < count; ++s) steps.push_back({previous.data() + s * L, best.data() + s * stride});
    (level.*step)(edges.data(), L, stride, steps.data(), count);
    return best;
  });
  std::vector<A> expected(count * stride, -std::numeric_limits<A>::infinity());
  for (size_t s = 0; s < count; ++s)
    for (size_t i = 0; i < L; ++i)
      for (size_t j = 0; j < stride; ++j) {
        const A reached = previous[s * L + i] + static_cast<A>(edges[i * stride + j]);
        expected[s * stride + j] = std::max(expected[s * stride + j], reached);
      }
  CHECK(found == expected);
}

TEST(dense_step) {
  Draw draw(1);
  const auto check_all = [&](size_t L, size_t stride, size_t count, Kind kind) {
    doing("L = " + std::to_string(L) + ", stride " + std::to_string(stride) + ", count " + std::to_string(count));
    check_dense_step(&Kernels::dense_step_ff, draw, L, stride, count, kind);
    check_dense_step(&Kernels::dense_step_df, draw, L, stride, count, kind);
    check_dense_step(&Kernels::dense_step_dd, draw, L, stride, count, kind);
  };
  for (size_t L = 0; L <= 70; ++L)
    for (const Kind kind : kKinds) check_all(L, L + L % 4, 1 + L % 3, kind);
  for (size_t count = 0; count < 4; ++count) {
    check_all(9, 513, count, Kind::kMasked);
    check_all(17, 1100, count, Kind::kWhole);
    check_all(20, 4100, count, Kind::kReal);
    check_all(200, 200, count, Kind::kMasked);
  }
}

template <class E>
void check_raise(double (*Kernels::*raise)(double, const E*, size_t, const int32_t*, size_t, double*), Draw& draw,
                 size_t n, Kind kind) {
  const size_t L = n + 5, stride = 1 + draw.below(3);
  const auto row = draw_scores<E>(draw, kind, L * stride);
  const auto index = draw_labels(draw, L, n);
  const auto before = draw_scores<double>(draw, kind, n);
  const double score = draw.normal();
  const auto found = at_every_level([&](const Kernels& level) {
    std::vector<double> best = before;
    const double least = (level.*raise)(score, row.data(), stride, index.data(), n, best.data());
    best.push_back(least);
    return best;
  });
  std::vector<double> expected = before;
  double least = kInfinity;
  for (size_t q = 0; q < n; ++q) {
    const double edge = row[static_cast<size_t>(index[q]) * stride];
    expected[q] = std::max(expected[q], score + edge);
    least = std::min(least, expected[q]);
  }
  expected.push_back(least);
  CHECK(found == expected);
}

TEST(raise) {
  for_every_size(2, [](Draw& draw, size_t n, Kind kind) {
    check_raise(&Kernels::raise_f, draw, n, kind);
    check_raise(&Kernels::raise_d, draw, n, kind);
  });
}

template <class B>
void check_scatter(void (*Kernels::*scatter)(B, const int32_t*, const double*, size_t, B*), Draw& draw, size_t n,
                   Kind kind) {
  const size_t L = n + 3;
  const auto label = draw_labels(draw, L, n);
  const auto edge = draw_scores<double>(draw, kind, n);
  const auto before = draw_scores<B>(draw, kind, L);
  const B score = static_cast<B>(draw.normal());
  const auto found = at_every_level(
      before, [&](const Kernels& level, B* best) { (level.*scatter)(score, label.data(), edge.data(), n, best); });
  std::vector<B> expected = before;
  for (size_t q = 0; q < n; ++q) {
    B& best = expected[static_cast<size_t>(label[q])];
    best = std::max(best, score + static_cast<B>(edge[q]));
  }
  CHECK(found == expected);
}

TEST(scatter) {
  for_every_size(3, [](Draw& draw, size_t n, Kind kind) {
    check_scatter(&Kernels::scatter_d, draw, n, kind);
    check_scatter(&Kernels::scatter_f, draw, n, kind);
  });
}

TEST(raise_all) {
  for_every_size(3, [](Draw& draw, size_t n, Kind kind) {
    const auto by = draw_scores<double>(draw, kind, n), before = draw_scores<double>(draw, kind, n);
    const auto found =
        at_every_level(before, [&](const Kernels& level, double* best) { level.raise_all_d(by.data(), n, best); });
    for (size_t j = 0; j < n; ++j) CHECK(found[j] == std::max(before[j], by[j]));
  });
}

template <class E>
void check_extend(void (*Kernels::*extend)(double, const E*, const E*, size_t, double*), Draw& draw, size_t n,
                  Kind kind) {
  const auto row = draw_scores<E>(draw, kind, n), nodes = draw_scores<E>(draw, kind, n);
  const double score = draw.normal();
  const auto found = at_every_level([&](const Kernels& level) {
    std::vector<double> out(n, 99);
    (level.*extend)(score, row.data(), nodes.data(), n, out.data());
    return out;
  });
  for (size_t j = 0; j < n; ++j) CHECK(found[j] == (score + double{row[j]}) + double{nodes[j]});
}

TEST(extend) {
  for_every_size(4, [](Draw& draw, size_t n, Kind kind) {
    check_extend(&Kernels::extend_ff, draw, n, kind);
    check_extend(&Kernels::extend_dd, draw, n, kind);
  });
}

template <class R, class A>
void check_add_scaled(void (*Kernels::*add)(const R*, A, size_t, A*), Draw& draw, size_t n, Kind kind) {
  const auto row = draw_scores<R>(draw, kind, n);
  const auto before = draw_scores<A>(draw, Kind::kReal, n);
  const A value = static_cast<A>(std::abs(draw.normal()));
  const auto found =
      at_every_level(before, [&](const Kernels& level, A* out) { (level.*add)(row.data(), value, n, out); });
  for (size_t j = 0; j < n; ++j) {
    const A product = static_cast<A>(row[j]) * value;
    CHECK(found[j] == before[j] + product);
  }
}

TEST(add_scaled) {
  for_every_size(5, [](Draw& draw, size_t n, Kind kind) {
    check_add_scaled(&Kernels::add_scaled_f, draw, n, kind);
    check_add_scaled(&Kernels::add_scaled_d, draw, n, kind);
    check_add_scaled(&Kernels::add_scaled_dd, draw, n, kind);
  });
}

TEST(add_blocks) {
  for_every_size(6, [](Draw& draw, size_t n, Kind kind) {
    std::vector<uint16_t> first;
    for (size_t j = 0; j + kBlockKeys <= n; j += kBlockKeys)
      if (draw.chance(0.5)) first.push_back(static_cast<uint16_t>(j));
    // The last block may reach into the one before it.
    if (n >= kBlockKeys && n % kBlockKeys) first.push_back(static_cast<uint16_t>(n - kBlockKeys));
    const auto rows = draw_scores<float>(draw, kind, first.size() * kBlockKeys);
    const auto before = draw_scores<float>(draw, Kind::kReal, n);
    const float value = static_cast<float>(std::abs(draw.normal()));
    const auto found = at_every_level(before, [&](const Kernels& level, float* out) {
      level.add_blocks_f(first.data(), rows.data(), first.size(), value, out);
    });
    std::vector<float> truth(before);
    for (size_t b = 0; b < first.size(); ++b)
      for (size_t q = 0; q < kBlockKeys; ++q) truth[first[b] + q] += rows[b * kBlockKeys + q] * value;
    CHECK(found == truth);
  });
}

TEST(multiply_panels) {
  for_every_size(6, [](Draw& draw, size_t n, Kind) {
    const size_t d = n % 70, panels = n % 5;
    const auto weights = draw_scores<float>(draw, Kind::kReal, panels * d * kProductKeys);
    const auto vector = draw_scores<float>(draw, Kind::kReal, d);
    const auto found = at_every_level(std::vector<float>(panels * kProductKeys), [&](const Kernels& level, float* out) {
      level.multiply_panels_f(weights.data(), vector.data(), d, panels, out);
    });
    std::vector<float> truth(panels * kProductKeys, 0.0F);
    for (size_t p = 0; p < panels; ++p)
      for (size_t k = 0; k < d; ++k)
        for (size_t q = 0; q < kProductKeys; ++q)
          truth[p * kProductKeys + q] += weights[(p * d + k) * kProductKeys + q] * vector[k];
    CHECK(found == truth);
  });
}

// --- tree ---

size_t padded(size_t L) { return (L + kGroup - 1) / kGroup * kGroup; }

template <class N>
void check_bound_column(float (*Kernels::*bound)(const N*, const float*, const float*, size_t, float*, float*),
                        Draw& draw, size_t L, Kind kind) {
  const size_t all = padded(L);
  const auto nodes = draw_scores<N>(draw, kind, L);
  const auto before = draw_scores<float>(draw, kind, all), out = draw_scores<float>(draw, kind, all);
  const auto found = at_every_level([&](const Kernels& level) {
    std::vector<float> sum(all, 99), blocks(all / kTreeLanes, 99);
    const float top = (level.*bound)(nodes.data(), before.data(), out.data(), L, sum.data(), blocks.data());
    sum.insert(sum.end(), blocks.begin(), blocks.end());
    sum.push_back(top);
    return sum;
  });
  constexpr float kForbidden = -std::numeric_limits<float>::infinity();
  std::vector<float> sum(all, kForbidden), blocks(all / kTreeLanes, kForbidden);
  for (size_t j = 0; j < L; ++j) {
    sum[j] = static_cast<float>(nodes[j]) + before[j];
    float& block = blocks[j / kGroup * (kGroup / kTreeLanes) + j % kTreeLanes];
    block = std::max(block, sum[j] + out[j]);
  }
  const float top = L ? *std::ranges::max_element(sum) : kForbidden;
  std::vector<float> expected = sum;
  expected.insert(expected.end(), blocks.begin(), blocks.end());
  expected.push_back(top);
  CHECK(found == expected);

  for (const float least : {kForbidden, -5.0F, 0.0F, 3.0F, top + 100}) {
    std::vector<float> right;
    for (size_t j = 0; j < all; ++j)
      if (sum[j] + out[j] >= least) {
        right.push_back(static_cast<float>(j));
        right.push_back(sum[j] + out[j]);
      }
    const auto opened = at_every_level([&](const Kernels& level) {
      std::vector<int32_t> labels(right.size() / 2 + kTreeLanes);
      std::vector<float> keys(labels.size()), both;
      const size_t n = level.open_blocks(blocks.data(), sum.data(), out.data(), all, least, labels.data(), keys.data());
      for (size_t q = 0; q < n; ++q) {
        both.push_back(static_cast<float>(labels[q]));
        both.push_back(keys[q]);
      }
      return both;
    });
    CHECK(opened == right);
  }
}

TEST(bound_column_and_open_blocks) {
  for_every_size(6, [](Draw& draw, size_t n, Kind kind) {
    check_bound_column(&Kernels::bound_column_f, draw, n, kind);
    check_bound_column(&Kernels::bound_column_d, draw, n, kind);
  });
}

template <class E>
void check_follow_rows(void (*Kernels::*follow)(const E* const*, const float*, size_t, size_t, float*), Draw& draw,
                       size_t n, Kind kind) {
  for (const size_t count : {0, 1, 3, 4, 5, 9}) {
    const auto matrix = draw_scores<E>(draw, kind, count * n);
    const auto score = draw_scores<float>(draw, kind, count), before = draw_scores<float>(draw, kind, n);
    std::vector<const E*> rows;
    for (size_t r = 0; r < count; ++r) rows.push_back(matrix.data() + r * n);
    const auto found = at_every_level(
        before, [&](const Kernels& level, float* best) { (level.*follow)(rows.data(), score.data(), count, n, best); });
    std::vector<float> expected = before;
    for (size_t r = 0; r < count; ++r)
      for (size_t j = 0; j < n; ++j) expected[j] = std::max(expected[j], score[r] + static_cast<float>(rows[r][j]));
    CHECK(found == expected);
  }
}

TEST(follow_rows) {
  for_every_size(7, [](Draw& draw, size_t n, Kind kind) {
    check_follow_rows(&Kernels::follow_rows_f, draw, n, kind);
    check_follow_rows(&Kernels::follow_rows_d, draw, n, kind);
  });
}

TEST(reached_by_16) {
  for_every_size(8, [](Draw& draw, size_t n, Kind kind) {
    n = n / kTreeLanes * kTreeLanes;
    const auto values = draw_scores<float>(draw, kind, n);
    const float least =
        at_every_level([&](const Kernels& level) { return std::vector{level.reached_by_16(values.data(), n)}; })[0];
    const auto reach = std::ranges::count_if(values, [&](float value) { return value >= least; });
    CHECK(least == -kInfinity || reach >= 16);
    if (n >= 16 && kind != Kind::kMasked) CHECK(least > -kInfinity);
    if (n == 16) CHECK(least == *std::ranges::min_element(values));
  });
}

// --- looks at a run of scores ---

template <class E>
void check_scan(Scan (*Kernels::*scan)(const E*, size_t), double (*Kernels::*max)(const E*, size_t), Draw& draw,
                size_t n, Kind kind) {
  std::vector<E> scores = draw_scores<E>(draw, kind, n);
  const auto look = [&](const Kernels& level) {
    const Scan found = (level.*scan)(scores.data(), n);
    return std::vector{found.max, found.magnitude, found.valid ? 1.0 : 0.0, (level.*max)(scores.data(), n)};
  };
  const auto look_for_bad = [&](const Kernels& level) {
    return std::vector{(level.*scan)(scores.data(), n).valid ? 1.0 : 0.0};
  };
  double most = -kInfinity, magnitude = 0;
  for (const double score : scores) {
    most = std::max(most, score);
    if (score > -kInfinity) magnitude = std::max(magnitude, std::abs(score));
  }
  CHECK(at_every_level(look) == std::vector{most, magnitude, 1.0, most});
  // Every place of the shorter runs, some of the longer ones.
  for (size_t at = 0; at < n; at += n > 70 ? 1 + draw.below(n / 8) : 1) {
    const E before = scores[at];
    for (const double bad : {kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
      scores[at] = static_cast<E>(bad);
      CHECK(at_every_level(look_for_bad)[0] == 0);
    }
    scores[at] = before;
  }
}

TEST(scan_and_max) {
  for_every_size(9, [](Draw& draw, size_t n, Kind kind) {
    check_scan(&Kernels::scan_f, &Kernels::max_f, draw, n, kind);
    check_scan(&Kernels::scan_d, &Kernels::max_d, draw, n, kind);
  });
}

template <class E>
void check_argmax_sum(size_t (*Kernels::*argmax)(const E*, const E*, size_t), Draw& draw, size_t n, Kind kind) {
  const auto row = draw_scores<E>(draw, kind, n), nodes = draw_scores<E>(draw, kind, n);
  std::vector<E> sums(n);
  for (size_t j = 0; j < n; ++j) sums[j] = row[j] + nodes[j];
  const auto found = at_every_level([&](const Kernels& level) {
    return std::vector{static_cast<double>((level.*argmax)(row.data(), nodes.data(), n))};
  });
  CHECK(found[0] == static_cast<double>(std::ranges::max_element(sums) - sums.begin()));
}

TEST(argmax_is_the_first) {
  for_every_size(10, [](Draw& draw, size_t n, Kind kind) {
    if (n == 0) return;
    auto values = draw_scores<double>(draw, kind, n);
    const auto check_values = [&] {
      const auto found = at_every_level(
          [&](const Kernels& level) { return std::vector{static_cast<double>(level.argmax_d(values.data(), n))}; });
      CHECK(found[0] == static_cast<double>(std::ranges::max_element(values) - values.begin()));
    };
    check_values();
    std::ranges::fill(values, -kInfinity);
    check_values();
    check_argmax_sum(&Kernels::argmax_sum_ff, draw, n, kind);
    check_argmax_sum(&Kernels::argmax_sum_dd, draw, n, kind);
  });
}

template <class E>
void check_at_least(size_t (*Kernels::*at_least)(const E*, size_t, double, int32_t*), Draw& draw, size_t n, Kind kind) {
  const auto scores = draw_scores<E>(draw, kind, n);
  std::vector<double> bounds = {-kInfinity, -1, 0, 15, 100, kInfinity};
  if (n) {  // one that a score has, and the two doubles beside it, of which no float can be the bound
    const double score = scores[draw.below(n)];
    for (const double toward : {-kInfinity, score, kInfinity}) bounds.push_back(std::nextafter(score, toward));
  }
  for (const double bound : bounds) {
    const auto found = at_every_level([&](const Kernels& level) {
      std::vector<int32_t> out(n);
      out.resize((level.*at_least)(scores.data(), n, bound, out.data()));
      return widened(out);
    });
    std::vector<double> expected;
    for (size_t j = 0; j < n; ++j)
      if (double{scores[j]} >= bound) expected.push_back(static_cast<double>(j));
    CHECK(found == expected);
  }
}

TEST(at_least) {
  for_every_size(11, [](Draw& draw, size_t n, Kind kind) {
    check_at_least(&Kernels::at_least_f, draw, n, kind);
    check_at_least(&Kernels::at_least_d, draw, n, kind);
  });
}

}  // namespace
}  // namespace tagwright
