#include <atomic>
#include <stdexcept>

#include "base/stop.h"
#include "base/thread_pool.h"
#include "check.h"

namespace tagwright {
namespace {

struct Enough : std::exception {};

int asked, limit;
void ask() {
  if (++asked == limit) throw Enough();
}

TEST(work_of_all_threads_stops_with_what_was_thrown) {
  for (const size_t threads : {1, 2, 5})
    for (const int after : {1, 2, 30}) {
      asked = 0, limit = after;
      const Stopper stopper(ask, {});
      std::atomic<size_t> begun = 0;
      // Far more than is ever done.
      CHECK_THROWS(Enough, in_parallel(100'000, threads, [&](size_t) {
                     ++begun;
                     Meter meter;
                     for (size_t n = 0; n < 100'000; ++n) meter.count(size_t{1} << 20);
                   }));
      CHECK(asked == after);
      CHECK(begun < 100'000);
    }
}

TEST(a_thread_that_waits_for_others_asks) {
  asked = 0, limit = 3;
  const Stopper stopper(ask, {});
  const std::thread::id own = std::this_thread::get_id();
  CHECK_THROWS(Enough, in_parallel(1000, 2, [&](size_t) {
                 Meter meter;
                 if (std::this_thread::get_id() != own)
                   for (size_t n = 0; n < 100'000'000'000; ++n) meter.count(size_t{1} << 20);
               }));
  CHECK(asked == limit);
}

TEST(a_stop_comes_before_other_errors) {
  asked = 0, limit = 5;
  const Stopper stopper(ask, {});
  CHECK_THROWS(Enough, in_parallel(100, 2, [&](size_t) { throw std::runtime_error("bad"); }));
}

TEST(nothing_is_asked_within_the_interval_or_without_a_stopper) {
  asked = 0, limit = 1;
  check_stop();
  {
    const Stopper stopper(ask, std::chrono::hours(1));
    in_parallel(100, 3, [](size_t) { check_stop(); });
  }
  CHECK(asked == 0);
  CHECK(Stopper::current() == nullptr);
}

}  // namespace
}  // namespace tagwright
