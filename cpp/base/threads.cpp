#include "base/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace tagwright {

void in_parallel(size_t count, size_t threads, const std::function<void(size_t)>& work) {
  std::vector<std::exception_ptr> errors(count);
  std::atomic<size_t> next{0};
  const auto worker = [&] {
    for (size_t n = next++; n < count; n = next++) {
      try {
        work(n);
      } catch (...) {
        errors[n] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> crew;
  const size_t useful = std::min(threads, count);
  crew.reserve(useful);
  try {
    for (size_t n = 1; n < useful; ++n) crew.emplace_back(worker);
  } catch (...) {
    // The system has no more threads, or no memory for one: those that were started do the work.
  }
  worker();
  for (std::thread& thread : crew) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace tagwright
