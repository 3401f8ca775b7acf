// The loops over padded batches against plain ones in double precision, in both precisions and with one and two vectors
// per line.
#include <algorithm>
#include <cmath>

#include "levels.h"

namespace tagwright {
namespace {

using namespace test;

const std::vector<size_t> kSizes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 17, 33, 64, 97, 260, 521};

template <class E>
const BatchKernels<E>& of(const Kernels& level) {
  if constexpr (sizeof(E) == 4) {
    return level.batch_f;
  } else {
    return level.batch_d;
  }
}

// What a sum of positive numbers may lose of itself, and exp of its result.
template <class E>
constexpr double kLoss = sizeof(E) == 4 ? 3e-6 : 1e-14;

template <class E>
bool near(E found, double right, double all) {
  return std::abs(static_cast<double>(found) - right) <= kLoss<E> * all;
}

// Columns with room up to a whole tile, which holds 0.
template <class E>
std::vector<E> columns(Draw& draw, size_t steps, size_t L, size_t lanes) {
  const size_t stride = (L + 11) / 12 * 12 * lanes;
  std::vector<E> made(steps * stride, 0);
  for (size_t t = 0; t < steps; ++t)
    for (size_t q = 0; q < L * lanes; ++q) made[t * stride + q] = static_cast<E>(std::abs(draw.normal()));
  return made;
}

// Calls work(draw, L, vectors, lanes, E()) for all of them.
template <class Work>
void each(size_t seed, const Work& work) {
  Draw draw(seed);
  for (const size_t L : kSizes)
    for (const size_t vectors : {1, 2}) {
      doing("L = " + std::to_string(L) + ", vectors " + std::to_string(vectors));
      work(draw, L, vectors, vectors * 8, float());
      work(draw, L, vectors, vectors * 4, double());
    }
}

TEST(batch_exp) {
  each(40, []<class E>(Draw& draw, size_t L, size_t, size_t lanes, E) {
    std::vector<std::vector<E>> rows(lanes, std::vector<E>(L));
    std::vector<const E*> at;
    std::vector<E> shift(lanes, 0);
    for (size_t lane = 0; lane < lanes; ++lane) {
      for (E& score : rows[lane]) score = static_cast<E>(draw.chance(0.1) ? -kInfinity : draw.normal(20));
      shift[lane] = std::max(E{-50}, *std::ranges::max_element(rows[lane]));
      at.push_back(lane % 5 == 4 ? nullptr : rows[lane].data());
    }
    const auto found = at_every_level([&](const Kernels& level) {
      std::vector<E> out(L * lanes, 99);
      of<E>(level).exp(at.data(), shift.data(), L, lanes, out.data());
      return out;
    });
    for (size_t y = 0; y < L; ++y)
      for (size_t lane = 0; lane < lanes; ++lane) {
        const double x = at[lane] ? static_cast<double>(rows[lane][y]) - static_cast<double>(shift[lane]) : -kInfinity;
        const double right = std::exp(x), close = sizeof(E) == 4 ? 2e-7 * (1 - std::max(x, -80.0)) : 1e-15;
        CHECK(std::abs(static_cast<double>(found[y * lanes + lane]) - right) <= close * right + (x < -79 ? right : 0));
      }
  });
}

TEST(batch_spread) {
  each(41, []<class E>(Draw& draw, size_t L, size_t vectors, size_t lanes, E) {
    const auto from = columns<E>(draw, 1, L, lanes);
    std::vector<E> panels((L + kPanel - 1) / kPanel * kPanel * L, 0), factor, rest(lanes);
    std::vector<size_t> begin = {0};
    std::vector<int32_t> index;
    std::vector<double> right(L * lanes, 0), some(L * lanes);
    for (E& value : rest) value = static_cast<E>(std::abs(draw.normal()));
    for (size_t q = 0; q < some.size(); ++q) some[q] = rest[q % lanes];
    for (size_t j = 0; j < L; ++j) {
      for (size_t i = 0; i < L; ++i) {
        const E value = static_cast<E>(std::abs(draw.normal()));
        panels[(j / kPanel * L + i) * kPanel + j % kPanel] = value;
        const bool one = draw.chance(0.3);
        for (size_t lane = 0; lane < lanes; ++lane) {
          const double more = static_cast<double>(value) * static_cast<double>(from[i * lanes + lane]);
          right[j * lanes + lane] += more;
          if (one) some[j * lanes + lane] += more;
        }
        if (!one) continue;
        index.push_back(static_cast<int32_t>(i));
        factor.push_back(value);
      }
      begin.push_back(index.size());
    }
    const auto dense = at_every_level(columns<E>(draw, 1, L, lanes), [&](const Kernels& level, E* to) {
      of<E>(level).spread_dense(panels.data(), L, vectors, from.data(), to);
    });
    const auto sparse = at_every_level(columns<E>(draw, 1, L, lanes), [&](const Kernels& level, E* to) {
      of<E>(level).spread_sparse(begin.data(), index.data(), factor.data(), L, vectors, rest.data(), from.data(), to);
    });
    for (size_t q = 0; q < L * lanes; ++q) {
      CHECK(near(dense[q], right[q], right[q]));
      CHECK(near(sparse[q], some[q], some[q]));
    }
    for (size_t q = L * lanes; q < (L + kPanel - 1) / kPanel * kPanel * lanes; ++q) CHECK(dense[q] == 0);
  });
}

TEST(batch_multiply_scale_and_below) {
  each(42, []<class E>(Draw& draw, size_t L, size_t vectors, size_t lanes, E) {
    const auto by = columns<E>(draw, 1, L, lanes), before = columns<E>(draw, 1, L, lanes);
    std::vector<double> total(lanes);
    const auto product = at_every_level(
        before, [&](const Kernels& level, E* to) { of<E>(level).multiply(by.data(), L, vectors, to, total.data()); });
    const auto scaled =
        at_every_level(before, [&](const Kernels& level, E* to) { of<E>(level).scale(by.data(), L, vectors, to); });
    const auto labels = at_every_level([&](const Kernels& level) {
      std::vector<int32_t> out(L);
      out.resize(of<E>(level).below(by.data(), L, vectors, before.data(), out.data()));
      return std::vector<double>(out.begin(), out.end());
    });
    std::vector<double> sum(lanes, 0), expected;
    for (size_t y = 0; y < L; ++y) {
      bool below = false;
      for (size_t lane = 0; lane < lanes; ++lane) {
        const size_t q = y * lanes + lane;
        CHECK(product[q] == before[q] * by[q]);
        CHECK(scaled[q] == before[q] * by[lane]);
        sum[lane] += static_cast<double>(product[q]);
        below = below || before[q] < by[lane];
      }
      if (below) expected.push_back(static_cast<double>(y));
    }
    for (size_t lane = 0; lane < lanes; ++lane) CHECK(std::abs(total[lane] - sum[lane]) <= kLoss<E> * sum[lane]);
    CHECK(labels == expected);
  });
}

TEST(batch_store) {
  each(43, []<class E>(Draw& draw, size_t L, size_t, size_t lanes, E) {
    const auto alpha = columns<E>(draw, 1, L, lanes), beta = columns<E>(draw, 1, L, lanes);
    const auto weight = columns<E>(draw, 1, 1, lanes);
    const auto check = [&]<class Out>(auto kernel, Out) {
      const auto found = at_every_level([&](const Kernels& level) {
        std::vector<Out> out(L * lanes, 99);
        std::vector<Out*> rows;
        for (size_t lane = 0; lane < lanes; ++lane) rows.push_back(lane % 3 == 2 ? nullptr : out.data() + lane * L);
        (of<E>(level).*kernel)(alpha.data(), beta.data(), weight.data(), L, lanes, rows.data());
        return out;
      });
      for (size_t lane = 0; lane < lanes; ++lane)
        for (size_t y = 0; y < L; ++y) {
          const size_t q = y * lanes + lane;
          CHECK(found[lane * L + y] == (lane % 3 == 2 ? Out{99} : static_cast<Out>(alpha[q] * beta[q] * weight[lane])));
        }
    };
    check(&BatchKernels<E>::store_f, float());
    check(&BatchKernels<E>::store_d, double());
  });
}

TEST(batch_count) {
  each(44, []<class E>(Draw& draw, size_t L, size_t vectors, size_t lanes, E) {
    if (L > 100) return;
    for (const size_t steps : {1, 2, 3, 7, 9}) {
      const auto left = columns<E>(draw, steps, L, lanes), right = columns<E>(draw, steps, L, lanes);
      const size_t stride = left.size() / steps;
      const BatchColumns<E> both{left.data(), right.data(), steps, stride, vectors};
      std::vector<size_t> begin = {0}, first_of;
      std::vector<int32_t> index;
      for (size_t i = 0; i < L; ++i) {
        for (size_t j = 0; j < L; ++j)
          if (draw.chance(0.4)) index.push_back(static_cast<int32_t>(j));
        begin.push_back(index.size());
      }
      const size_t first = L / 3 / 4 * 4;
      std::vector<E> before(L * L, 1), few(index.size(), 2);
      const auto dense = at_every_level(before, [&](const Kernels& level, E* count) {
        of<E>(level).count_dense(both, 0, first, L, count);
        of<E>(level).count_dense(both, first, L, L, count);
      });
      const auto sparse = at_every_level(few, [&](const Kernels& level, E* count) {
        of<E>(level).count_sparse(both, begin.data(), index.data(), 0, first, count);
        of<E>(level).count_sparse(both, begin.data(), index.data(), first, L, count);
      });
      size_t entry = 0;
      for (size_t i = 0; i < L; ++i)
        for (size_t j = 0; j < L; ++j) {
          double sum = 0;
          for (size_t t = 0; t < steps; ++t)
            for (size_t lane = 0; lane < lanes; ++lane)
              sum += static_cast<double>(left[t * stride + i * lanes + lane]) *
                     static_cast<double>(right[t * stride + j * lanes + lane]);
          CHECK(near(dense[i * L + j], 1 + sum, 1 + sum));
          if (entry == begin[i + 1] || index[entry] != static_cast<int32_t>(j)) continue;
          CHECK(near(sparse[entry], 2 + sum, 2 + sum));
          ++entry;
        }
    }
  });
}

}  // namespace
}  // namespace tagwright
