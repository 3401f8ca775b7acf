#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <span>

#include "base/arena.h"
#include "check.h"

namespace tagwright {
namespace {

// Arrays of random sizes, each filled with a number of its own.
void fill_and_check(Arena& arena, size_t seed, size_t most) {
  test::Draw draw(seed);
  std::vector<std::span<uint32_t>> made;
  for (uint32_t n = 0; n < 200; ++n) {
    const size_t size = draw.below(most);
    made.emplace_back(arena.array<uint32_t>(size), size);
    CHECK(reinterpret_cast<size_t>(made.back().data()) % 64 == 0);
    std::ranges::fill(made.back(), n);
  }
  for (uint32_t n = 0; n < made.size(); ++n) CHECK(std::ranges::count(made[n], n) == std::ssize(made[n]));
}

TEST(arrays_are_aligned_and_do_not_overlap) {
  for (const size_t most : {3, 100, 5000, 100000}) {
    Arena arena;
    fill_and_check(arena, most, most);
  }
}

TEST(memory_is_used_again_after_a_reset) {
  Arena arena;
  const double* first = arena.array<double>(10);
  const double* second = arena.array<double>(100000);
  arena.reset();
  CHECK(arena.array<double>(10) == first);
  CHECK(arena.array<double>(100000) == second);
  for (size_t seed = 0; seed < 5; ++seed) {
    arena.reset();
    fill_and_check(arena, seed, 20000);
  }
}

TEST(an_arena_works_after_a_trim) {
  Arena arena;
  fill_and_check(arena, 1, 50000);
  for (const size_t held : {size_t{1} << 40, size_t{1} << 20, size_t{0}}) {
    arena.trim(held);
    fill_and_check(arena, held, 50000);
  }
}

TEST(sizes_that_no_memory_holds_are_bad_alloc) {
  constexpr size_t kMost = std::numeric_limits<size_t>::max();
  Arena arena;
  CHECK_THROWS(std::bad_alloc, arena.array<double>(kMost));
  CHECK_THROWS(std::bad_alloc, arena.array<double>(kMost / 8));
  CHECK_THROWS(std::bad_alloc, times(kMost / 8, 9));
  CHECK_THROWS(std::bad_alloc, times(size_t{1} << 32, size_t{1} << 32));
  CHECK(times(kMost, 0) == 0);
  CHECK(times(0, kMost) == 0);
  CHECK(times(1000003, 999983) == size_t{1000003} * 999983);
  fill_and_check(arena, 2, 100);
}

TEST(a_product_stops_at_its_limit) {
  constexpr size_t kMost = std::numeric_limits<size_t>::max();
  CHECK(times_up_to(3, 4, 100) == 12);
  CHECK(times_up_to(10, 10, 100) == 100);
  CHECK(times_up_to(10, 11, 100) == 100);
  CHECK(times_up_to(kMost, kMost, 7) == 7);
  CHECK(times_up_to(kMost, 0, 7) == 0);
  CHECK(times_up_to(0, kMost, 7) == 0);
}

TEST(every_thread_has_its_own_arena) {
  Arena* here = &thread_arena();
  CHECK(here == &thread_arena());
}

}  // namespace
}  // namespace tagwright
