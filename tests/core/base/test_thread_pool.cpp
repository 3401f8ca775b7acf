#include <atomic>
#include <stdexcept>
#include <string>

#include "base/thread_pool.h"
#include "check.h"

namespace tagwright {
namespace {

TEST(a_crew_does_every_piece_of_every_round_once) {
  for (const size_t threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (size_t round = 0; round < 200; ++round) {
      std::vector<std::atomic<int>> done(round % 12);
      pool.each(done.size(), [&](size_t n) { ++done[n]; });
      for (const std::atomic<int>& times : done) CHECK(times == 1);
    }
  }
}

TEST(a_crew_raises_an_error_and_goes_on) {
  for (const size_t threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (size_t round = 0; round < 5; ++round) {
      std::string message;
      try {
        pool.each(20, [&](size_t n) {
          if (n == 7) throw std::runtime_error("7");
        });
      } catch (const std::runtime_error& error) {
        message = error.what();
      }
      CHECK(message == "7");
    }
    std::atomic<size_t> sum = 0;
    pool.each(5, [&](size_t n) { sum += n; });
    CHECK(sum == 10);
  }
}

}  // namespace
}  // namespace tagwright
