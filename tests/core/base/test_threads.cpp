#include <atomic>
#include <stdexcept>

#include "base/threads.h"
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

TEST(the_error_of_the_lowest_number_is_raised_when_all_is_done) {
  for (const size_t threads : {1, 2, 5}) {
    std::atomic<int> done = 0;
    std::string message;
    try {
      in_parallel(50, threads, [&](size_t n) {
        ++done;
        if (n == 7 || n == 30 || n == 49) throw std::runtime_error(std::to_string(n));
      });
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    CHECK(message == "7");
    CHECK(done == 50);
  }
}

}  // namespace
}  // namespace tagwright
