#include <atomic>
#include <stdexcept>
#include <string>

#include "base/thread_pool.h"
#include "check.h"

namespace tagwright {
namespace {

TEST(every_piece_of_work_is_done_once) {
  for (const size_t count : {0, 1, 2, 3, 100})
    for (const size_t threads : {0, 1, 2, 3, 8}) {
      std::vector<std::atomic<int>> done(count);
      in_parallel(count, threads, [&](size_t n) { ++done[n]; });
      for (const std::atomic<int>& times : done) CHECK(times == 1);
    }
}

TEST(a_thread_pool_does_every_piece_of_every_round_once) {
  for (const size_t threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (size_t round = 0; round < 200; ++round) {
      std::vector<std::atomic<int>> done(round % 12);
      pool.for_each(done.size(), [&](size_t n) { ++done[n]; });
      for (const std::atomic<int>& times : done) CHECK(times == 1);
    }
  }
}

TEST(the_error_of_the_lowest_number_is_raised_when_all_is_done) {
  for (const size_t threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (size_t round = 0; round < 5; ++round) {
      std::atomic<int> done = 0;
      std::string message;
      try {
        pool.for_each(50, [&](size_t n) {
          ++done;
          if (n == 7 || n == 30 || n == 49) throw std::runtime_error(std::to_string(n));
        });
      } catch (const std::runtime_error& error) {
        message = error.what();
      }
      CHECK(message == "7");
      CHECK(done == 50);
    }
    std::atomic<size_t> sum = 0;
    pool.for_each(5, [&](size_t n) { sum += n; });
    CHECK(sum == 10);
  }
}

TEST(work_of_a_pool_may_use_pools) {
  ThreadPool pool(3);
  std::atomic<size_t> sum = 0;
  pool.for_each(6, [&](size_t) {
    pool.for_each(4, [&](size_t n) { sum += n; });
    in_parallel(4, 2, [&](size_t n) { sum += n; });
  });
  CHECK(sum == 6 * 12);
}

}  // namespace
}  // namespace tagwright
