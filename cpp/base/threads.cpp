#include "base/threads.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/stop.h"

namespace tagwright {
namespace {

// Helpers that are still at work.
class Busy {
 public:
  void begin() { change(1); }
  void end() {
    change(-1);
    none_.notify_one();
  }
  // Whether none was left within a while.
  bool wait() {
    std::unique_lock lock(mutex_);
    return none_.wait_for(lock, std::chrono::milliseconds(50), [&] { return count_ == 0; });
  }

 private:
  void change(int by) {
    const std::scoped_lock lock(mutex_);
    count_ += by;
  }
  std::mutex mutex_;
  std::condition_variable none_;
  int count_ = 0;
};

}  // namespace

void in_parallel(size_t count, size_t threads, const std::function<void(size_t)>& work) {
  std::vector<std::exception_ptr> errors(count);
  std::atomic<size_t> next{0};
  Stopper* const stopper = Stopper::current();
  const auto worker = [&] {
    for (size_t n = next++; n < count && !(stopper && stopper->stopped()); n = next++) {
      try {
        check_stop();
        work(n);
      } catch (...) {
        errors[n] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> pool;
  const size_t useful = std::min(threads, count);
  pool.reserve(useful);
  Busy busy;
  const auto helper = [&] {
    const StopScope takes_part(stopper);
    worker();
    busy.end();
  };
  try {
    for (size_t n = 1; n < useful; ++n) {
      busy.begin();
      pool.emplace_back(helper);
    }
  } catch (...) {
    // The system has no more threads, or no memory for one: those that were started do the work.
    busy.end();
  }
  worker();
  while (stopper && !pool.empty() && !stopper->stopped() && !busy.wait()) {
    try {
      stopper->check();
    } catch (...) {
      // Rethrown below, when the others have stopped.
    }
  }
  for (std::thread& thread : pool) thread.join();
  if (stopper) stopper->rethrow();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace tagwright
