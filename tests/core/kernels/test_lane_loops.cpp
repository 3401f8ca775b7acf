// The loops over sentences side by side against plain ones.
#include <algorithm>
#include <cmath>

#include "levels.h"

namespace tagwright {
namespace {

using namespace test;

const std::vector<size_t> kSizes = {0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 31, 33};
constexpr float kLowest = -std::numeric_limits<float>::infinity();

template <class E>
void check_max(Draw& draw, size_t L, Kind kind, void (*Kernels::*kernel)(const E*, size_t, const E*, E*)) {
  const auto edges = draw_scores<E>(draw, kind, L * L), from = draw_scores<E>(draw, kind, L * kLanes);
  const auto found = at_every_level([&](const Kernels& level) {
    std::vector<E> to(L * kLanes, 99);
    (level.*kernel)(edges.data(), L, from.data(), to.data());
    return to;
  });
  for (size_t j = 0; j < L; ++j)
    for (size_t lane = 0; lane < kLanes; ++lane) {
      E best = -std::numeric_limits<E>::infinity();
      for (size_t i = 0; i < L; ++i) best = std::max(best, from[i * kLanes + lane] + edges[i * L + j]);
      CHECK(found[j * kLanes + lane] == best);
    }
}

TEST(max_lanes) {
  for_every_size(
      45,
      [](Draw& draw, size_t L, Kind kind) {
        check_max<float>(draw, L, kind, &Kernels::max_lanes_f);
        check_max<double>(draw, L, kind, &Kernels::max_lanes_d);
      },
      kSizes);
}

// A row of scores per lane; two lanes have the same.
struct Rows {
  std::vector<std::vector<float>> rows;
  std::vector<const float*> at;

  Rows(Draw& draw, Kind kind, size_t L) {
    for (size_t lane = 0; lane < kLanes; ++lane) rows.push_back(draw_scores<float>(draw, kind, L));
    for (size_t lane = 0; lane < kLanes; ++lane) at.push_back(rows[lane == 3 ? 2 : lane].data());
  }
};

TEST(add_to_lanes) {
  for_every_size(
      46,
      [](Draw& draw, size_t L, Kind kind) {
        const Rows rows(draw, kind, L);
        const auto before = draw_scores<float>(draw, kind, L * kLanes),
                   less = draw_scores<float>(draw, Kind::kReal, kLanes);
        const auto found = at_every_level([&](const Kernels& level) {
          std::vector<float> made = before, most(kLanes);
          const float size = level.add_to_lanes(rows.at.data(), less.data(), L, made.data(), most.data());
          made.insert(made.end(), most.begin(), most.end());
          made.push_back(size);
          return made;
        });
        float size = 0;
        for (size_t lane = 0; lane < kLanes; ++lane) {
          float most = kLowest;
          for (size_t y = 0; y < L; ++y) {
            const float sum = (before[y * kLanes + lane] + rows.at[lane][y]) - less[lane];
            CHECK(found[y * kLanes + lane] == sum);
            most = std::max(most, sum);
            if (sum != kLowest) size = std::max(size, std::fabs(sum));
          }
          CHECK(found[L * kLanes + lane] == most);
        }
        CHECK(found.back() == size);
      },
      kSizes);
}

TEST(best_of_lanes) {
  for_every_size(
      47,
      [](Draw& draw, size_t L, Kind kind) {
        const Rows rows(draw, kind, L);
        const auto column = draw_scores<float>(draw, kind, L * kLanes);
        const auto found = at_every_level([&](const Kernels& level) {
          std::vector<float> best(kLanes), second(kLanes);
          std::vector<int32_t> where(kLanes);
          level.best_of_lanes(rows.at.data(), L, column.data(), best.data(), second.data(), where.data());
          best.insert(best.end(), second.begin(), second.end());
          best.insert(best.end(), where.begin(), where.end());
          return best;
        });
        for (size_t lane = 0; lane < kLanes; ++lane) {
          std::vector<float> sums(2, kLowest);
          size_t first = 0;
          for (size_t y = 0; y < L; ++y) {
            sums.push_back(column[y * kLanes + lane] + rows.at[lane][y]);
            if (sums.back() > *std::max_element(sums.begin(), sums.end() - 1)) first = y;
          }
          std::sort(sums.begin(), sums.end(), std::greater<>());
          CHECK(found[lane] == sums[0]);
          CHECK(found[kLanes + lane] == sums[1]);
          CHECK(found[2 * kLanes + lane] == static_cast<float>(first));
        }
      },
      kSizes);
}

}  // namespace
}  // namespace tagwright
