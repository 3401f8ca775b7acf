#include <map>
#include <utility>

#include "base/sparse_rows.h"
#include "check.h"

namespace tagwright {
namespace {

using Rows = SparseRows<int32_t, double, uint32_t>;
using Truth = std::vector<std::map<int32_t, std::pair<double, uint32_t>>>;

void compare(const Rows& rows, const Truth& truth) {
  size_t entries = 0;
  CHECK(rows.rows() == truth.size());
  for (size_t r = 0; r < truth.size(); ++r) {
    CHECK(rows.size(r) == truth[r].size());
    CHECK(rows.keys(r).size() == truth[r].size());
    CHECK(rows.values(r).size() == truth[r].size());
    size_t q = 0;
    for (const auto& [key, values] : truth[r]) {
      CHECK(rows.keys(r)[q] == key);
      CHECK(rows.values<0>(r)[q] == values.first);
      CHECK(rows.values<1>(r)[q] == values.second);
      CHECK(rows.find(r, key) == rows.begin(r) + q);
      CHECK(rows.at<0>(rows.begin(r) + q) == values.first);
      ++q;
    }
    entries += q;
  }
  CHECK(rows.entries() == entries);
}

TEST(rows_hold_what_a_map_holds) {
  for (const bool known : {false, true}) {
    test::Draw draw(known);
    constexpr size_t kRows = 20;
    std::vector<size_t> room(kRows);
    for (size_t& n : room) n = draw.below(12);
    Rows rows;
    rows.reset(kRows, known ? std::span<const size_t>(room) : std::span<const size_t>());
    Truth truth(kRows);
    for (int step = 0; step < 6000; ++step) {
      // In the first third nearly everything is added, in the last third nearly everything is erased.
      const size_t r = draw.below(kRows);
      const int32_t key = draw.whole(-40, 40);
      if (draw.chance(step < 2000 ? 0.1 : step < 4000 ? 0.5 : 0.9)) {
        rows.erase(r, key);
        truth[r].erase(key);
        CHECK(rows.find(r, key) == Rows::kNoPlace);
      } else {
        const size_t entry = rows.find_or_add(r, key);
        const auto [at, added] = truth[r].try_emplace(key, 0.0, 0);
        if (added) CHECK(rows.at<0>(entry) == 0 && rows.at<1>(entry) == 0);
        rows.at<0>(entry) += step;
        rows.at<1>(entry) = static_cast<uint32_t>(step);
        at->second = {at->second.first + step, static_cast<uint32_t>(step)};
      }
      if (step % 50 == 0) compare(rows, truth);
    }
    compare(rows, truth);
    rows.reset(3);
    compare(rows, Truth(3));
  }
}

TEST(keys_in_order_and_in_reverse) {
  SparseRows<int32_t, float> rows;
  rows.reset(2);
  for (int32_t n = 0; n < 300; ++n) {
    rows.at(rows.find_or_add(0, n)) = static_cast<float>(n);
    rows.at(rows.find_or_add(1, 299 - n)) = static_cast<float>(299 - n);
  }
  for (int32_t n = 0; n < 300; ++n)
    for (size_t r = 0; r < 2; ++r) {
      CHECK(rows.keys(r)[static_cast<size_t>(n)] == n);
      CHECK(rows.values(r)[static_cast<size_t>(n)] == static_cast<float>(n));
    }
}

TEST(a_row_that_fits_does_not_move) {
  SparseRows<int32_t, double> rows;
  const std::vector<size_t> room = {5, 0, 7};
  rows.reset(3, room);
  const size_t first = rows.begin(0), last = rows.begin(2);
  for (int32_t key = 0; key < 5; ++key) rows.find_or_add(0, key);
  for (int32_t key = 0; key < 7; ++key) rows.find_or_add(2, -key);
  CHECK(rows.begin(0) == first);
  CHECK(rows.begin(2) == last);
  rows.find_or_add(1, 3);
  rows.find_or_add(0, 9);
  CHECK(rows.begin(2) == last);
  CHECK(rows.size(0) == 6 && rows.size(1) == 1 && rows.size(2) == 7);
  CHECK(rows.entries() == 14);
}

}  // namespace
}  // namespace tagwright
